import { fits, type Micros, micros } from '../../platform/money.ts'
import { lineText } from '../chunks/content.ts'
import type { ApplicationRow, CfdiRow } from '../columns.ts'
import { LineProducts } from '../products.ts'
import { converted } from '../taxes/breakdown.ts'
import { LineTaxes, paidTaxesOf } from '../taxes/taxes.ts'
import { inMxn } from '../totals.ts'
import { type CfdiDocument, type Concepto, type DoctoRelacionado, isUuid, type LineReader, type Pago } from '../xml/document.ts'

/** The lines that are kept of a document, and their bytes as JSON. */
const MOST_LINES = 30_000
const MOST_LINE_BYTES = 4 * 1024 * 1024

/**
 * The lines of a document while it is read: each becomes JSON at once, which takes a third of the memory that a line takes as objects, and
 * is added to the sums over lines. The sums are of all lines; beyond the limits no more of them are kept.
 */
export class Lines implements LineReader {
  taxes = new LineTaxes()
  products = new LineProducts()
  texts: string[] = []
  isCut = false
  #size = 0

  begin(): void {
    this.taxes = new LineTaxes()
    this.products = new LineProducts()
    this.texts = []
    this.isCut = false
    this.#size = 0
  }

  take(concepto: Concepto): void {
    this.taxes.add(concepto)
    this.products.add(concepto)
    if (this.isCut) return
    const text = lineText(concepto)
    this.#size += text.length
    if (this.texts.length === MOST_LINES || this.#size > MOST_LINE_BYTES) this.isCut = true
    else this.texts.push(text)
  }
}

const ADVANCE = '07'
const NO_INSTALMENT = { num_parcialidad: null, imp_saldo_ant: null, imp_pagado: null, imp_saldo_insoluto: null }
const ALWAYS = { seen_from: null, seen_until: null }
/** Credit note, return of goods and application of an advance. */
const CREDIT_RELATIONS = ['01', '03', ADVANCE]

/** The applications of a document: each DoctoRelacionado of a P; the total of an E, in equal parts over what it credits until these are known. */
export function applicationsOf(document: CfdiDocument, row: CfdiRow): ApplicationRow[] {
  if (document.tipo_comprobante === 'P') return paymentsOf(document, row.uuid)
  return document.tipo_comprobante === 'E' ? creditsOf(document, row) : []
}

/** The documents that a document substitutes (relation 04), as it states. */
export const substitutesOf = ({ relacionados, uuid }: CfdiDocument): string[] =>
  relatedBy(relacionados, ['04']).filter((substituted) => substituted !== uuid)

/** A document that states no relation of either kind. */
export const NO_RELATIONS = { substitutes: [] as string[], advances: [] as string[] }

/** The documents that an I or E names as an advance, or as the invoice to which one is applied (relation 07), as it states. */
export const advancesOf = ({ relacionados, uuid, tipo_comprobante }: CfdiDocument): string[] =>
  tipo_comprobante === 'I' || tipo_comprobante === 'E' ? relatedBy(relacionados, [ADVANCE]).filter((named) => named !== uuid) : []

const relatedBy = (relacionados: CfdiDocument['relacionados'], relations: readonly string[]): string[] =>
  [...new Set(relacionados.filter(({ tipo_relacion }) => relations.includes(tipo_relacion)).map(({ uuid }) => uuid))].filter(isUuid)

/** The `related` column: the invoices whose balances change when the document is cancelled. */
export const relatedOf = (applications: readonly ApplicationRow[]): string | null =>
  applications.length === 0 ? null : JSON.stringify([...new Set(applications.map(({ invoice }) => invoice))])

function paymentsOf({ pagos }: CfdiDocument, source: string): ApplicationRow[] {
  const rows: ApplicationRow[] = []
  for (const pago of pagos) {
    const parts = pago.documentos.map((docto) => {
      const amount = micros(docto.imp_pagado) ?? 0n
      const conversion = conversionOf(pago, docto)
      const convert = (one: Micros): Micros | null =>
        docto.moneda_dr === 'MXN' ? one : conversion === null ? null : converted(one, conversion)
      return { docto, amount, conversion, convert, pesos: convert(amount) }
    })
    const payment = paymentInMxn(pago, parts)
    for (const { docto, amount, conversion, convert, pesos } of parts) {
      if (!isUuid(docto.uuid)) continue
      const amount_mxn = docto.moneda_dr === 'MXN' ? null : pesos
      rows.push({
        invoice: docto.uuid,
        source,
        n: rows.length + 1,
        kind: 'P',
        amount,
        conversion,
        amount_mxn: amount_mxn !== null && fits(amount_mxn) ? amount_mxn : null,
        payment_mxn: payment !== null && payment !== pesos && fits(payment) ? payment : null,
        taxes: paidTaxesOf(docto, convert),
        currency: docto.moneda_dr,
        tipo_cambio: null,
        fecha_pago: pago.fecha_pago,
        forma_pago: pago.forma_pago_p,
        num_parcialidad: docto.num_parcialidad,
        imp_saldo_ant: docto.imp_saldo_ant,
        imp_pagado: docto.imp_pagado,
        imp_saldo_insoluto: docto.imp_saldo_insoluto,
        ...ALWAYS,
      })
    }
  }
  return rows
}

/** What a payment is of in MXN: its Monto, or what it pays where that is more. Null when its rate is not known. */
function paymentInMxn({ monto, moneda_p, tipo_cambio_p }: Pago, parts: readonly { pesos: Micros | null }[]): Micros | null {
  const rate = moneda_p === null || moneda_p === 'MXN' ? '1' : isPositive(tipo_cambio_p) ? tipo_cambio_p! : null
  const stated = rate === null ? null : inMxn(micros(monto) ?? 0n, rate)
  const paid = parts.reduce<Micros | null>((sum, { pesos }) => (sum === null || pesos === null ? null : sum + pesos), 0n)
  return stated === null || (paid !== null && paid > stated) ? paid : stated
}

/** How amounts of a paid document in another currency become MXN (tables.ts). */
function conversionOf({ moneda_p, tipo_cambio_p }: Pago, { moneda_dr, equivalencia_dr }: DoctoRelacionado): string | null {
  if (moneda_dr === 'MXN' || (moneda_dr ?? moneda_p) === null) return null
  const equivalence = moneda_dr === null || moneda_dr === moneda_p ? '1' : equivalencia_dr
  const rate = moneda_p === 'MXN' ? '1' : isPositive(tipo_cambio_p) ? tipo_cambio_p : moneda_p
  return isPositive(equivalence) && rate !== null ? `${equivalence} ${rate}` : null
}

const isPositive = (text: string | null): boolean => Number(text) > 0

function creditsOf({ relacionados }: CfdiDocument, row: CfdiRow): ApplicationRow[] {
  const invoices = relatedBy(relacionados, CREDIT_RELATIONS)
  if (invoices.length === 0 || row.total_micros === null) return []
  const part = row.total_micros / BigInt(invoices.length)
  const rest = row.total_micros - part * BigInt(invoices.length)
  const { uuid: source, currency, tipo_cambio, fecha: fecha_pago, forma_pago } = row
  return invoices.map((invoice, i) => ({
    ...creditOn({ source, currency, tipo_cambio, fecha_pago, forma_pago }, invoice, i + 1),
    amount: i === 0 ? part + rest : part,
  }))
}

/** What a credit note applies to an invoice, but for the amount. */
export const creditOn = (
  note: Pick<ApplicationRow, 'source' | 'currency' | 'tipo_cambio' | 'fecha_pago' | 'forma_pago'>,
  invoice: string,
  n: number,
): Omit<ApplicationRow, 'amount'> => ({
  invoice,
  source: note.source,
  n,
  kind: 'E',
  conversion: null,
  amount_mxn: null,
  payment_mxn: null,
  taxes: null,
  currency: note.currency,
  tipo_cambio: note.tipo_cambio,
  fecha_pago: note.fecha_pago,
  forma_pago: note.forma_pago,
  ...NO_INSTALMENT,
  ...ALWAYS,
})
