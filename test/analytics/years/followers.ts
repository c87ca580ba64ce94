import {
  amountsOf,
  cancellationAt,
  comprobante,
  draftAt,
  type SandboxComprobante,
  type SandboxPago,
  share,
  untaxed,
} from '../../../src/authority/sandbox/world/comprobante.ts'
import { partOf } from '../../../src/authority/sandbox/world/month.ts'
import { later } from '../../../src/authority/sandbox/world/places.ts'
import { uuidOf } from '../../../src/authority/sandbox/world/seed.ts'
import type { Draws } from './draws.ts'

const DAY = 86_400
const RATES: Record<string, number> = { MXN: 10_000, USD: 186_500, EUR: 204_000 }

/** What a complement pays of an invoice; seldom in a currency that is not the invoice's. */
function paidOf({ chance }: Draws, invoice: SandboxComprobante, pagado: number, parcialidad: number, saldo_anterior: number) {
  const stated = chance(0.05) ? { ...invoice, moneda: invoice.moneda === 'MXN' ? 'USD' : 'MXN', tipo_cambio: RATES['USD']! } : invoice
  return { invoice: stated, parcialidad, saldo_anterior, pagado }
}

function complement(draws: Draws, invoice: SandboxComprobante, fecha: string, documentos: SandboxPago['documentos']): SandboxComprobante {
  const { circle, chance, pick, int } = draws
  const { self, suppliers } = circle
  // Seldom somebody else than the issuer says that it was paid.
  const emisor = invoice.emisor.rfc !== self.rfc && chance(0.04) ? pick(suppliers) : invoice.emisor
  const moneda = invoice.moneda !== 'MXN' && chance(0.4) ? 'MXN' : invoice.moneda
  const draft = draftAt(draws.key(), later(fecha, int(0, 25) * (chance(0.3) ? DAY * 2 : 600)), emisor, invoice.receptor)
  const tipo_cambio = moneda === 'MXN' ? RATES['MXN']! : RATES[moneda]! + int(-5_000, 5_000)
  const pago = {
    fecha,
    forma: pick(['03', '03', '01', '04', '02']),
    num_operacion: String(int(1_000, 99_999)),
    moneda,
    tipo_cambio,
    documentos,
  }
  return comprobante(draft, {
    ...{ tipo: 'P', serie: 'P', moneda: 'XXX', tipo_cambio: null, pago, conceptos: [untaxed('84111506', 'ACT', 'Pago')] },
  })
}

/** The complements of an invoice, in up to three parts; some also pay another invoice of the same parties. */
export function paymentsOn(draws: Draws, invoice: SandboxComprobante, others: readonly SandboxComprobante[]): SandboxComprobante[] {
  const { chance, int } = draws
  if (invoice.metodo === 'PUE' ? !chance(0.08) : chance(0.2)) return []
  const parts = int(1, 3)
  const payments: SandboxComprobante[] = []
  let [left, fecha] = [invoice.amounts.total, invoice.fecha]
  for (let n = 1; n <= parts && left > 0; n++) {
    const isLast = n === parts && !chance(0.25)
    const pagado = isLast ? left : Math.max(1, share(left, int(20, 60), 100))
    fecha = later(fecha, int(1, 45) * DAY)
    const documentos = [paidOf(draws, invoice, pagado, n, left)]
    const other = others.find(
      (one) =>
        one.metodo === 'PPD' &&
        one.moneda === invoice.moneda &&
        one.emisor.rfc === invoice.emisor.rfc &&
        one.receptor.rfc === invoice.receptor.rfc &&
        one.fecha < fecha &&
        one !== invoice,
    )
    if (other && chance(0.3)) documentos.push(paidOf(draws, other, share(other.amounts.total, 10, 100), 1, other.amounts.total))
    payments.push(complement(draws, invoice, fecha, documentos))
    left -= pagado
  }
  return payments
}

/** A credit note on an invoice, seldom to other parties, in another currency or of none of them. */
export function creditOn(draws: Draws, invoice: SandboxComprobante): SandboxComprobante {
  const { circle, chance, pick, int } = draws
  const isSale = invoice.emisor.rfc === circle.self.rfc
  const isOther = chance(0.1)
  const emisor = isOther && !isSale ? pick(circle.suppliers) : invoice.emisor
  const receptor = isOther && isSale ? pick(circle.clients) : invoice.receptor
  const draft = draftAt(draws.key(), later(invoice.fecha, int(1, 40) * DAY), emisor, receptor)
  const conceptos = [partOf(invoice.conceptos[0]!, int(5, 40), 'Devoluciones, descuentos o bonificaciones')]
  const moneda = chance(0.1) ? 'MXN' : invoice.moneda
  const relacion = chance(0.1) ? null : { tipo: pick(['01', '01', '03']), uuid: invoice.uuid }
  return comprobante(draft, {
    ...{
      tipo: 'E',
      serie: 'NC',
      lugar: invoice.lugar,
      moneda,
      conceptos,
      amounts: amountsOf(conceptos),
      metodo: 'PUE',
      forma: '15',
      relacion,
    },
    tipo_cambio: moneda === 'MXN' ? null : invoice.tipo_cambio,
  })
}

/** A document that replaces another one, which is then cancelled, or forgotten. Its other relation is lost. */
export function substituteOf(draws: Draws, wrong: SandboxComprobante): SandboxComprobante {
  const { chance, int } = draws
  const key = draws.key()
  const fecha = later(wrong.fecha, int(1, 20) * DAY + 600)
  const right = { ...wrong, uuid: uuidOf(key), fecha, folio: `${wrong.folio}1`, relacion: { tipo: '04', uuid: wrong.uuid } }
  if (chance(0.6)) wrong.cancellation = cancellationAt(later(fecha, int(0, 10) * DAY + 10_800), '01', right.uuid)
  return right
}

/** Cancels a document some weeks later, before or after it was paid. */
export function cancel({ int, pick }: Draws, document: SandboxComprobante): void {
  document.cancellation ??= cancellationAt(later(document.fecha, int(0, 60) * DAY + 7_200), pick(['02', '02', '03', '04']))
}
