import { fits, type Micros, micros } from '../../platform/money.ts'
import type { CfdiRow } from '../columns.ts'
import { inMxn, rateOf } from '../totals.ts'
import type { CfdiDocument, Concepto, DoctoRelacionado, Retencion, Tax } from '../xml/document.ts'
import { taxCode } from '../xml/document.ts'
import {
  addTax,
  BREAKDOWN,
  type Breakdown,
  type Groups,
  groupsOf,
  NOT_SUBJECT,
  noneOfLines,
  OF_THIRD_PARTIES,
  transferred,
  WITHHELD,
  writeBreakdown,
  writeWithheld,
} from './breakdown.ts'

type Taxes = Pick<CfdiRow, 'iva_trasladado' | 'iva_retenido' | 'isr_retenido' | 'ieps_trasladado'>

type Which = 'traslados' | 'retenciones'

/** The taxes of the lines of a document, added up as they come. */
export class LineTaxes {
  readonly #sums = new Map<string, Micros>()
  /** The IVA that the lines transfer. */
  readonly transferred: Groups = new Map()
  readonly #ofThirdParties: Groups = new Map()
  readonly #ofLines = noneOfLines()

  add({ impuestos, objeto_imp, importe, descuento, a_cuenta_terceros_rfc }: Concepto): void {
    const isOfThirdParty = a_cuenta_terceros_rfc !== null
    for (const tax of impuestos.traslados) {
      addTax(this.transferred, tax)
      if (isOfThirdParty) addTax(this.#ofThirdParties, tax)
    }
    const net = (micros(importe) ?? 0n) - (micros(descuento) ?? 0n)
    if (isOfThirdParty) this.#ofLines.tercero += net
    if (objeto_imp !== null && !impuestos.traslados.some(({ impuesto }) => impuesto === '002')) {
      this.#ofLines[objeto_imp === NOT_SUBJECT ? 'base_no_objeto' : 'base_sin_traslado'] += net
      if (isOfThirdParty && objeto_imp === NOT_SUBJECT) this.#ofLines.tercero_base_no_objeto += net
    }
    for (const which of ['traslados', 'retenciones'] as const)
      for (const { impuesto, importe } of impuestos[which])
        this.#sums.set(`${which} ${impuesto}`, this.sum(which, impuesto) + (micros(importe) ?? 0n))
  }

  sum = (which: Which, impuesto: string): Micros => this.#sums.get(`${which} ${impuesto}`) ?? 0n

  /** What only the lines tell of a breakdown. */
  ofLines(): ReturnType<typeof noneOfLines> {
    const byRate = { ...transferred(this.#ofThirdParties, new Map()), base_no_objeto: this.#ofLines.tercero_base_no_objeto }
    return { ...this.#ofLines, ...Object.fromEntries(OF_THIRD_PARTIES.map((name) => [`tercero_${name}`, byRate[name]])) }
  }
}

/**
 * The taxes of a document in micros of its currency: those of the header, or the sums over the lines when the header has none. The ISR of
 * payroll is what its Nómina withholds.
 */
export function taxesOf({ kind, tipo_comprobante, impuestos, nominas, retencion }: CfdiDocument, lines: LineTaxes): Taxes {
  if (kind === 'retenciones') {
    const withheld = (impuesto: string) =>
      sum((retencion?.impuestos ?? []).filter((tax) => taxCode(tax.impuesto ?? '') === impuesto).map(({ monto }) => monto))
    return { iva_trasladado: 0n, iva_retenido: withheld('002'), isr_retenido: withheld('001'), ieps_trasladado: 0n }
  }
  if (tipo_comprobante === 'P') return { iva_trasladado: 0n, iva_retenido: 0n, isr_retenido: 0n, ieps_trasladado: 0n }
  const of = (which: Which, impuesto: string): Micros =>
    impuestos[which].length > 0 ? sumOf(impuestos[which], impuesto) : lines.sum(which, impuesto)
  const isr = nominas.flatMap(({ isr_retenido }) => isr_retenido ?? [])
  return {
    iva_trasladado: of('traslados', '002'),
    iva_retenido: of('retenciones', '002'),
    isr_retenido: isr.length > 0 ? sum(isr) : of('retenciones', '001'),
    ieps_trasladado: of('traslados', '003'),
  }
}

type Amounts = Pick<CfdiRow, 'net_mxn' | 'taxes'>

const NO_AMOUNTS: Amounts = { net_mxn: null, taxes: null }

/** The amount before taxes of a document in MXN, and its taxes by rate. `taxes` are those of `taxesOf`. */
export function breakdownOf(document: CfdiDocument, lines: LineTaxes, taxes: Taxes): Amounts {
  const { kind, tipo_comprobante, currency, tipo_cambio, impuestos } = document
  const isInvoice = tipo_comprobante === 'I' || tipo_comprobante === 'E'
  if (document.retencion) return { net_mxn: null, taxes: withheldBy(document.retencion) }
  if (kind !== 'cfdi' || !(isInvoice || tipo_comprobante === 'N')) return NO_AMOUNTS
  const rate = rateOf(currency, tipo_cambio)
  const net = (micros(document.subtotal) ?? 0n) - (micros(document.descuento) ?? 0n)
  const net_mxn = inMxn(net, rate)
  // When one of its amounts does not fit, the document is in no sum at all, as it is in none of its month (totals.ts).
  const amounts = [net, ...[document.subtotal, document.descuento, document.total].map((one) => micros(one) ?? 0n), ...Object.values(taxes)]
  if (!amounts.every((one) => fits(inMxn(one ?? 0n, rate) ?? 0n))) return NO_AMOUNTS
  if (!isInvoice) {
    const taxed = document.nominas.reduce((all, { total_gravado }) => all + (micros(total_gravado) ?? 0n), 0n)
    const [base, isr] = [inMxn(taxed, rate), inMxn(taxes.isr_retenido ?? 0n, rate)]
    return { net_mxn, taxes: base === null || isr === null ? null : writeWithheld([[base, isr]]) }
  }
  const { iva_retenido, isr_retenido, ieps_trasladado } = taxes
  const stated: Breakdown = {
    ...transferred(groupsOf(impuestos.traslados), lines.transferred),
    iva_retenido: iva_retenido ?? 0n,
    isr_retenido: isr_retenido ?? 0n,
    ieps: ieps_trasladado ?? 0n,
    ieps_retenido: impuestos.retenciones.length > 0 ? sumOf(impuestos.retenciones, '003') : lines.sum('retenciones', '003'),
    ...lines.ofLines(),
  }
  const isPlain = BREAKDOWN.every((name) => stated[name] === (name === 'base_16' ? net : name === 'iva_16' ? taxes.iva_trasladado : 0n))
  if (isPlain && rate === '1') return { net_mxn, taxes: null }
  const own = rate === null || rate === '1' ? undefined : { net, breakdown: stated }
  const text = writeBreakdown(
    mapAmounts(stated, (amount) => inMxn(amount, rate) ?? amount),
    own,
  )
  return text === null ? NO_AMOUNTS : { net_mxn, taxes: text }
}

/**
 * The taxes that a payment complement states of a paid part, converted; as they are when there is no rate. Null when it states none although
 * the part may transfer some: then they are in proportion to those of the invoice.
 */
export function paidTaxesOf(
  { impuestos_dr: { traslados, retenciones }, objeto_imp_dr }: Pick<DoctoRelacionado, 'impuestos_dr' | 'objeto_imp_dr'>,
  convert: (amount: Micros) => Micros | null,
): string | null {
  if (traslados.length + retenciones.length === 0) return TRANSFERS_NOTHING.has(objeto_imp_dr ?? '') ? '[]' : null
  const stated: Breakdown = {
    ...transferred(groupsOf(traslados), new Map()),
    iva_retenido: sumOf(retenciones, '002'),
    isr_retenido: sumOf(retenciones, '001'),
    ieps: sumOf(traslados, '003'),
    ieps_retenido: sumOf(retenciones, '003'),
    ...noneOfLines(),
  }
  return writeBreakdown(mapAmounts(stated, (amount) => convert(amount) ?? amount))
}

const withheldBy = ({ impuestos }: Retencion): string | null =>
  writeWithheld(
    WITHHELD.map((code) => {
      const taxes = impuestos.filter((tax) => taxCode(tax.impuesto ?? '') === code)
      return [sum(taxes.map(({ base }) => base)), sum(taxes.map(({ monto }) => monto))]
    }),
  )

/** ObjetoImpDR of what transfers no IVA: not subject, or subject (02 to 08) without a tax (04) or without its transfer (06, 07, 08). */
const TRANSFERS_NOTHING: ReadonlySet<string> = new Set([NOT_SUBJECT, '04', '06', '07', '08'])

const mapAmounts = (breakdown: Breakdown, change: (amount: Micros) => Micros): Breakdown =>
  Object.fromEntries(BREAKDOWN.map((name) => [name, change(breakdown[name])])) as Breakdown

const sumOf = (taxes: readonly Tax[], impuesto: string): Micros =>
  sum(taxes.filter((tax) => tax.impuesto === impuesto).map(({ importe }) => importe))

const sum = (amounts: readonly (string | null)[]): Micros => amounts.reduce((all, amount) => all + (micros(amount) ?? 0n), 0n)
