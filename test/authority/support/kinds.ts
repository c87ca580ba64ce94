import type { Direction, SandboxComprobante } from '../../../src/authority/sandbox/world/comprobante.ts'
import { stampedAt } from '../../../src/authority/sandbox/world/invoices.ts'
import { documentsOf } from '../../../src/authority/sandbox/world/month.ts'

/** The months from the first to the last, both included. */
export function monthsBetween(first: string, last: string): string[] {
  const months: string[] = []
  for (let at = new Date(`${first}-01T00:00:00Z`); at.toISOString().slice(0, 7) <= last; at.setUTCMonth(at.getUTCMonth() + 1))
    months.push(at.toISOString().slice(0, 7))
  return months
}

/** Everything that an RFC issues and receives in these months. */
export function* worldOf(rfc: string, months: readonly string[]): Generator<{ document: SandboxComprobante; direction: Direction }> {
  for (const direction of ['issued', 'received'] as const)
    for (const month of months) for (const document of documentsOf(rfc, direction, month)) yield { document, direction }
}

const hours = (from: string, to: string): number => (Date.parse(`${to}Z`) - Date.parse(`${from}Z`)) / 3_600_000

/** What is special about a document, in words. */
export function kindsOf({ document, direction }: { document: SandboxComprobante; direction: Direction }): string[] {
  const { tipo, fecha, relacion, amounts, pago, global, retencion, conceptos, cancellation, isReplaced, emisor, receptor } = document
  const version = retencion ? (fecha < '2022' ? 'retenciones 1.0' : 'retenciones 2.0') : fecha < '2022' ? '3.3' : '4.0'
  const lines = conceptos.length
  const kinds = [
    ...[
      version,
      `${version} ${tipo ?? direction}`,
      `${tipo} in ${document.moneda}`,
      `lines ${lines >= 1_000 ? '1,000s' : lines >= 100 ? '100s' : 'few'}`,
    ],
    ...amounts.traslados.map(({ impuesto, factor, tasa }) => `${impuesto} ${factor === 'Exento' ? factor : `${factor} ${tasa}`}`),
    ...amounts.retenciones.map(({ impuesto, tasa }) => `withheld ${impuesto} ${tasa}`),
    ...amounts.locales.map(({ isWithheld }) => `local tax ${isWithheld ? 'withheld' : 'charged'}`),
  ]
  if (lines === 3_000) kinds.push('3,000 lines')
  if (hours(fecha, stampedAt(document)) > 48) kinds.push('late stamp')
  if (relacion) kinds.push(`${tipo} ${relacion.tipo}`)
  if (cancellation) kinds.push(`cancelled ${cancellation.motivo}`)
  if (isReplaced && !cancellation) kinds.push(`replaced and still valid ${tipo}`)
  if (global) kinds.push(`global ${global.periodicidad}`)
  if (global && global.anio < fecha.slice(0, 4)) kinds.push('global of the year before')
  if (receptor.foreign) kinds.push('foreign receiver')
  if (retencion) kinds.push(`retenciones ${retencion.clave}`)
  for (const { invoice } of pago?.documentos ?? []) {
    kinds.push(`${version} ${invoice.moneda} paid in ${pago!.moneda}`)
    if (invoice.emisor.rfc !== emisor.rfc) kinds.push(`${direction} payment of another issuer`)
    else if (invoice.receptor.rfc !== receptor.rfc) kinds.push('payment by a third party')
  }
  return kinds
}
