import { type SandboxComprobante, type SandboxDoctoRelacionado, untaxed } from './comprobante.ts'
import { comprobante, type Direction, exchangeRate, hourOf } from './draft.ts'
import { cancellationAt, isOld } from './eras.ts'
import type { PlannedInvoice } from './payments.ts'
import { later } from './places.ts'
import { isDue, random, uuidOf } from './seed.ts'
import { afterStamp } from './stamp.ts'
import { circleOf, type Taxpayer } from './taxpayers.ts'

const DAY = 86_400

/**
 * Returns one payment per counterparty and currency, for all instalments of the month. `earlier` has the invoices of each month before it.
 */
export function paymentsOf(rfc: string, direction: Direction, month: string, earlier: PlannedInvoice[][]): SandboxComprobante[] {
  const groups = new Map<string, { moneda: string; documentos: SandboxDoctoRelacionado[] }>()
  earlier.forEach((invoices, i) => {
    for (const { invoice, plan } of invoices) {
      for (const due of plan.instalments) {
        if (due.after !== i + 1) continue
        const moneda = currencyOf(invoice, month)
        const key = `${invoice.emisor.rfc}|${invoice.receptor.rfc}|${invoice.receptor.nombre}|${moneda}`
        const group = groups.get(key) ?? { moneda, documentos: [] }
        group.documentos.push({ invoice, parcialidad: due.parcialidad, saldo_anterior: due.saldo_anterior, pagado: due.pagado })
        groups.set(key, group)
      }
    }
  })
  const isCorrected = isDue(`${rfc}|${direction}|correction`, month, 4)
  const clients = circleOf(rfc).clients
  return [...groups].flatMap(([key, { moneda, documentos }], i) => {
    // Now and then a third party pays: another client.
    const payer =
      direction === 'issued' && i === 1 && isDue(`${rfc}|payer`, month, 6) ? random(`${key}|${month}|payer`).pick(clients) : null
    const payment = paymentOf(`${key}|${month}`, month, moneda, documentos, payer)
    return i === 0 && isCorrected ? withCorrection(payment, isDue(`${rfc}|${direction}|correction`, month, 12)) : payment
  })
}

/**
 * The currency in which an invoice is paid. Mexicans may pay a foreign invoice in pesos or dollars, and one of pesos in dollars; foreigners
 * pay in its currency. Pagos 1.0 has no rate for dollars that pay pesos.
 */
function currencyOf({ uuid, moneda, receptor }: SandboxComprobante, month: string): string {
  const draws = random(`${uuid}|currency`)
  if (receptor.foreign || (moneda === 'MXN' && isOld(month))) return moneda
  return moneda === 'MXN' ? (draws.chance(0.05) ? 'USD' : 'MXN') : draws.pick([moneda, moneda, 'MXN', moneda === 'EUR' ? 'USD' : 'MXN'])
}

/** Returns a payment of the invoices, to the issuer of the first one unless another is given. */
export function paymentOf(
  key: string,
  month: string,
  moneda: string,
  documentos: SandboxDoctoRelacionado[],
  payer: Taxpayer | null = null,
  payee: Taxpayer = documentos[0]!.invoice.emisor,
): SandboxComprobante {
  const draws = random(key)
  const fecha = hourOf(draws, month, 12, 22)
  const paid = `${later(fecha, -DAY * draws.int(0, 3)).slice(0, 10)}T12:00:00`
  return comprobante(
    { key, fecha: fecha < paid ? later(paid, 1800) : fecha, emisor: payee, receptor: payer ?? documentos[0]!.invoice.receptor },
    {
      ...{ tipo: 'P', serie: 'P', moneda: 'XXX', conceptos: [untaxed('84111506', 'ACT', 'Pago')] },
      pago: {
        ...{
          fecha: paid,
          forma: draws.pick(['03', '03', '03', '02']),
          num_operacion: String(draws.int(100_000, 999_999)),
          moneda,
          documentos,
        },
        tipo_cambio: exchangeRate(moneda, paid.slice(0, 10)) ?? 10_000,
      },
    },
  )
}

/** Returns a payment with the wrong form of payment, and the correct one that replaces it. The wrong one is cancelled, or forgotten. */
function withCorrection(right: SandboxComprobante, isForgotten: boolean): SandboxComprobante[] {
  const uuid = uuidOf(`${right.uuid}|correction`)
  const fecha = afterStamp(right, 2 * DAY)
  const correction = { ...right, uuid, fecha, folio: `${right.folio}1`, relacion: { tipo: '04', uuid: right.uuid } }
  const cancellation = isForgotten ? null : cancellationAt(afterStamp(correction, 3 * 3600), '01', uuid)
  return [{ ...right, pago: { ...right.pago!, forma: '01' }, isReplaced: true, cancellation }, correction]
}
