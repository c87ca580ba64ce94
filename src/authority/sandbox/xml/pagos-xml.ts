import { type SandboxDoctoRelacionado, type SandboxPago, shareOf, type TaxLine } from '../world/comprobante.ts'
import { decimal, element, group, money, rate } from './markup.ts'

/** EquivalenciaDR has ten decimals. */
const ONE = 10_000_000_000n

/** A tax of the payment, in millionths of the payment's currency. */
interface PaidTax {
  impuesto: string
  factor: TaxLine['factor']
  tasa: number
  base: bigint
  importe: bigint
}

/** Returns the complement pagos 2.0, or 1.0, with one payment. The totals of 2.0 are in pesos; 1.0 has no taxes. */
export function pagosXml(pago: SandboxPago, old: boolean): string {
  const documentos = pago.documentos.map((documento) => ({
    ...documento,
    ...partOf(documento),
    equivalencia: equivalenceOf(pago, documento, old),
  }))
  const exact = documentos.reduce((total, { pagado, equivalencia }) => total + divide(BigInt(pagado) * 10_000n * ONE, equivalencia), 0n)
  const monto = divide(exact, 10_000n)
  const isPesos = pago.moneda === 'MXN'
  const attributes = {
    FechaPago: pago.fecha,
    FormaDePagoP: pago.forma,
    MonedaP: pago.moneda,
    TipoCambioP: isPesos ? (old ? null : '1') : decimal(pago.tipo_cambio, 4),
    Monto: money(Number(monto)),
    NumOperacion: pago.num_operacion,
  }
  if (old) {
    const list = documentos.map((documento) => element('pago10:DoctoRelacionado', doctoAttributes(documento, true)))
    return element('pago10:Pagos', { Version: '1.0' }, element('pago10:Pago', attributes, ...list))
  }
  const traslados = inPaymentCurrency(documentos.flatMap(({ traslados, equivalencia }) => traslados.map((tax) => ({ tax, equivalencia }))))
  const retenciones = inPaymentCurrency(
    documentos.flatMap(({ retenciones, equivalencia }) => retenciones.map((tax) => ({ tax, equivalencia }))),
  )
  const pesos = (millionths: bigint) => money(Number(divide(millionths * BigInt(pago.tipo_cambio), 100_000_000n)))
  return element(
    'pago20:Pagos',
    { Version: '2.0' },
    element('pago20:Totales', { ...totals(traslados, retenciones, pesos), MontoTotalPagos: pesos(monto * 10_000n) }),
    element(
      'pago20:Pago',
      attributes,
      ...documentos.map(documentoXml),
      group(
        'pago20:ImpuestosP',
        {},
        group(
          'pago20:RetencionesP',
          {},
          ...byTax(retenciones).map((tax) => element('pago20:RetencionP', { ImpuestoP: tax.impuesto, ImporteP: decimal(tax.importe, 6) })),
        ),
        group('pago20:TrasladosP', {}, ...traslados.map(trasladoXml)),
      ),
    ),
  )
}

const divide = (dividend: bigint, divisor: bigint): bigint => (2n * dividend + divisor) / (2n * divisor)

/**
 * Units of the document's currency for one unit of the payment's, in 10^-10. The payer has a rate of its own; TipoCambioDR has six
 * decimals.
 */
function equivalenceOf(pago: SandboxPago, { invoice }: SandboxDoctoRelacionado, old: boolean): bigint {
  if (invoice.moneda === pago.moneda) return ONE
  const own = invoice.moneda === 'MXN' ? 10_000 : (invoice.tipo_cambio ?? 10_000) + (Number(pago.num_operacion) % 2_000) - 1_000
  const exact = divide(ONE * BigInt(pago.tipo_cambio), BigInt(own))
  return old ? divide(exact, 10_000n) * 10_000n : exact
}

/** Returns the part of the invoice's taxes that the payment covers. */
function partOf({ invoice, pagado }: SandboxDoctoRelacionado): { traslados: TaxLine[]; retenciones: TaxLine[] } {
  const part = (tax: TaxLine): TaxLine => shareOf(tax, pagado, invoice.amounts.total)
  return { traslados: invoice.amounts.traslados.map(part), retenciones: invoice.amounts.retenciones.map(part) }
}

function inPaymentCurrency(taxes: { tax: TaxLine; equivalencia: bigint }[]): PaidTax[] {
  const groups = new Map<string, PaidTax>()
  for (const { tax, equivalencia } of taxes) {
    const { impuesto, factor, tasa } = tax
    const paid = (cents: number) => (BigInt(cents) * 10_000n * ONE) / equivalencia
    const key = `${impuesto}|${factor}|${tasa}`
    const before = groups.get(key) ?? { impuesto, factor, tasa, base: 0n, importe: 0n }
    groups.set(key, { ...before, base: before.base + paid(tax.base), importe: before.importe + paid(tax.importe) })
  }
  return [...groups.values()]
}

const byTax = (taxes: PaidTax[]): PaidTax[] =>
  ['001', '002'].flatMap((impuesto) => {
    const lines = taxes.filter((tax) => tax.impuesto === impuesto)
    return lines.length === 0 ? [] : { ...lines[0]!, importe: lines.reduce((total, tax) => total + tax.importe, 0n) }
  })

function totals(traslados: PaidTax[], retenciones: PaidTax[], pesos: (millionths: bigint) => string): Record<string, string> {
  const list: Record<string, string> = {}
  for (const { impuesto, importe } of byTax(retenciones).reverse())
    list[`TotalRetenciones${impuesto === '001' ? 'ISR' : 'IVA'}`] = pesos(importe)
  for (const percent of [16, 8, 0]) {
    const tax = traslados.find(({ impuesto, factor, tasa }) => impuesto === '002' && factor === 'Tasa' && tasa === percent * 10_000)
    if (!tax) continue
    list[`TotalTrasladosBaseIVA${percent}`] = pesos(tax.base)
    list[`TotalTrasladosImpuestoIVA${percent}`] = pesos(tax.importe)
  }
  const exempt = traslados.find(({ factor }) => factor === 'Exento')
  if (exempt) list.TotalTrasladosBaseIVAExento = pesos(exempt.base)
  return list
}

interface PaidDocument extends SandboxDoctoRelacionado {
  equivalencia: bigint
  traslados: TaxLine[]
  retenciones: TaxLine[]
}

const doctoAttributes = ({ invoice, equivalencia, parcialidad, saldo_anterior, pagado }: PaidDocument, old: boolean) => ({
  IdDocumento: invoice.uuid,
  Serie: invoice.serie,
  Folio: invoice.folio,
  MonedaDR: invoice.moneda,
  ...(old
    ? { TipoCambioDR: equivalencia === ONE ? null : decimal(equivalencia / 10_000n, 6), MetodoDePagoDR: 'PPD' }
    : { EquivalenciaDR: equivalencia === ONE ? '1' : decimal(equivalencia, 10) }),
  NumParcialidad: parcialidad,
  ImpSaldoAnt: money(saldo_anterior),
  ImpPagado: money(pagado),
  ImpSaldoInsoluto: money(saldo_anterior - pagado),
  ObjetoImpDR: old ? null : '02',
})

function documentoXml(documento: PaidDocument): string {
  const taxXml = (name: string, tax: TaxLine) =>
    element(name, {
      BaseDR: money(tax.base),
      ImpuestoDR: tax.impuesto,
      TipoFactorDR: tax.factor,
      TasaOCuotaDR: tax.factor === 'Exento' ? null : rate(tax.tasa),
      ImporteDR: tax.factor === 'Exento' ? null : money(tax.importe),
    })
  return element(
    'pago20:DoctoRelacionado',
    doctoAttributes(documento, false),
    element(
      'pago20:ImpuestosDR',
      {},
      group('pago20:RetencionesDR', {}, ...documento.retenciones.map((tax) => taxXml('pago20:RetencionDR', tax))),
      group('pago20:TrasladosDR', {}, ...documento.traslados.map((tax) => taxXml('pago20:TrasladoDR', tax))),
    ),
  )
}

const trasladoXml = (tax: PaidTax): string =>
  element('pago20:TrasladoP', {
    BaseP: decimal(tax.base, 6),
    ImpuestoP: tax.impuesto,
    TipoFactorP: tax.factor,
    TasaOCuotaP: tax.factor === 'Exento' ? null : rate(tax.tasa),
    ImporteP: tax.factor === 'Exento' ? null : decimal(tax.importe, 6),
  })
