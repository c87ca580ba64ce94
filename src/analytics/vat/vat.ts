import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { accruedEvents, creditsOfUnpaid } from '../../cfdi/cash/events.ts'
import { type ExactEvent, shareOf } from '../../cfdi/cash/exact-amounts.ts'
import { exactBalanceOn, partOf } from '../../cfdi/open/applications.ts'
import { openThrough } from '../../cfdi/open/open-through.ts'
import { cfdi, i } from '../../cfdi/population/aliases.ts'
import type { StatusOf } from '../../cfdi/summary/summary.ts'
import type { ReturnRow } from '../../documents/returns.ts'
import type { Ctx } from '../../platform/context.ts'
import { dividedBy, fixed, type Micros, micros, decimal as money, sumAll } from '../../platform/money.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import { addMonths } from '../../platform/time/months.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTION_NAMES } from '../../taxpayers/visibility/window.ts'
import { type Basis, type EntriesPage, UNMATCHED } from '../common/contract.ts'
import { EXCLUSIONS, QUESTIONS_OF } from '../common/deductible.ts'
import { isLeftOut, pageOfLeftOut, pageOfPairs } from '../common/figures.ts'
import { aggregateOf, type Insight, linksOf, openInsight, qualityLinks } from '../common/insight.ts'
import { exactAmountsReader, isUnmatched, ivaOf, REPSE_NOTE, unmatchedAmount, unmatchedRows } from '../common/omitted.ts'
import { readSettings, usesIn } from '../diot/settings.ts'
import {
  CREDITS_OF_UNPAID,
  VAT_FIGURES,
  type VatEntriesQuery,
  type VatFigure,
  type VatMonth,
  type VatPosition,
  type VatQuery,
} from './contract.ts'
import {
  type ExactRow,
  type Exclusions,
  excludedPart,
  exclusionsOf,
  type KnownSuppliers,
  knownSuppliers,
  measured,
  OUTRIGHT,
  outcomeIn,
  parseExactRow,
  REVIEW,
  rateOfLimit,
  reasonOf,
  reviewOf,
  UNKNOWN_SUPPLIERS,
} from './exclusions.ts'
import { declaredIn, type GroupRow, monthsOf, shownOf, statementsOf, type VatReading } from './position.ts'
import {
  addColumns,
  columnsIn,
  isPartOf,
  outOfParts,
  type ProportionFigure,
  proportionOf,
  proportionPart,
  type SignedColumns,
  SPLIT,
  SUMS,
  type Sum,
  whereOf,
} from './proportion.ts'
import { IVA, movements, NO_USES, type SupplierUses, WITHOUT } from './store.ts'

type ExactAmountsReader = Awaited<ReturnType<typeof exactAmountsReader>>

/**
 * What is added up: figures, IVA of purchases that are not excluded, whole and withheld, that is not for exempt sales alone, and IVA by the
 * reason of its exclusion or review.
 */
type Summed = VatFigure | `${'creditable' | 'withheld'}.${'mixed' | 'taxed'}` | `excluded.${string}` | `review.${string}`

/** Sums by figure and month. */
class VatSums {
  readonly #sums = new Map<string, Micros>()
  /** Paid parts that match no invoice, and those among them that name one of other parties, by month. */
  readonly unreconciled = new Map<string, number>()
  readonly otherParties = new Map<string, number>()
  /** The months with payments to suppliers that match no invoice. */
  readonly unpaired = new Set<string>()
  readonly #seen = new Set<string>()
  /** The months that a later refund restates. */
  readonly restated = new Set<string>()
  /** Documents of the range that are converted at the published rate. */
  dof_rate = 0

  add(figure: Summed, month: string, amount: Micros): void {
    this.#sums.set(`${figure}|${month}`, this.of(figure, month) + amount)
  }

  see = (month: string, direction: DirectionNumber): void => void this.#seen.add(`${month}|${direction}`)
  /** Whether anything is known of a month and direction: a document, or a payment. */
  isSeen = (month: string, direction: DirectionNumber): boolean => this.#seen.has(`${month}|${direction}`)

  of = (figure: Summed, month: string): Micros => this.#sums.get(`${figure}|${month}`) ?? 0n
}

const count = (counts: Map<string, number>, month: string, by: number): void => void counts.set(month, (counts.get(month) ?? 0) + by)

/** The amounts that movements add, measured where SQL left that to us; or why they are no cash events. */
interface Added {
  reason: string | null
  amounts: Record<Sum, Micros>
  iva: Micros
  pairs: number
  /** What the law does not let be credited of the IVA and of what is withheld, and what is found of it. */
  without: GroupRow['without']
  found: number
  /** Whether the rate of a day was used for a single document. */
  dof: boolean
}

const NOTHING_OF_IT = Object.fromEntries(WITHOUT.map((name) => [name, 0n])) as Added['without']
const NO_AMOUNTS = Object.fromEntries(SUMS.map((name) => [name, 0n])) as Record<Sum, Micros>

/** The group as a whole, and each row that SQL left out. */
function addedBy(
  row: GroupRow & { direction: DirectionNumber },
  exclusions: Exclusions,
  { outcomeOf, rateOfDay }: ExactAmountsReader,
): Added[] {
  const { reason, is_part, sums, stated, pairs, exactRows, without, found } = row
  const isUnmatched = reason !== null && is_part
  const single = exactRows.map(parseExactRow).flatMap((exactRow): Added[] => {
    const outcome = outcomeIn(exactRow, outcomeOf)
    if (outcome === 'not_counted' || (outcome === 'missing_rate' && exactRow.tipo !== 'P')) return []
    const one = { pairs: isUnmatched ? 0 : 1, dof: false, without: NOTHING_OF_IT, found: 0 }
    if (outcome === 'missing_rate') return [{ ...one, reason: reason ?? outcome, amounts: NO_AMOUNTS, iva: 0n }]
    if (row.direction === 0) {
      one.without = { ...NOTHING_OF_IT, ...outOfParts(exactRow.thing, outcome) }
      exactRow.thing = null
    }
    const excluded = excludedPart(exactRow, outcome.paid, exclusions, rateOfDay)
    const statesTaxes = exactRow.source === null || (JSON.parse(exactRow.source) as unknown[])[3] !== null
    one.found = excluded.found
    one.without = {
      ...one.without,
      excluded_iva: shareOf(ivaOf(outcome), ...excluded.part),
      excluded_retenido: shareOf(outcome.iva_retenido, ...excluded.part),
    }
    return [{ ...one, reason, amounts: outcome, iva: !isUnmatched || statesTaxes ? ivaOf(outcome) : 0n, dof: outcome.dof }]
  })
  return [{ reason, amounts: sums, iva: isUnmatched ? stated : ivaOf(sums), pairs, without, found, dof: false }, ...single]
}

/** Adds up everything that was read. */
function sumsOf(
  { groups, open, exactInvoices, exclusions }: VatReading,
  months: ReturnType<typeof monthsOf>,
  exactAmountsReader: ExactAmountsReader,
  withoutThirdParties: boolean,
): VatSums {
  const sums = new VatSums()
  const first = months[0]?.month ?? ''
  for (const { month, direction } of groups) sums.see(month, direction)
  const addGroup = (group: (typeof groups)[number], added: Added): void => {
    const { month, direction, is_part, is_restated, is_presumed, is_lapsed, is_for_taxed, is_for_exempt } = group
    const { reason, amounts, iva, pairs, without, found, dof } = added
    const isIssued = direction === 0
    if (is_restated && SUMS.some((name) => amounts[name] !== 0n)) sums.restated.add(month)
    if (!is_part) {
      sums.add(`devengado.${isIssued ? 'trasladado' : 'acreditable'}`, month, iva)
      if (dof && month >= first) sums.dof_rate++
      if (reason !== null) return
    }
    if (reason !== null) {
      count(sums.unreconciled, month, pairs)
      if (!isIssued) sums.unpaired.add(month)
      if (reason === 'other_parties') count(sums.otherParties, month, pairs)
      sums.add('pagos_sin_conciliar', month, iva)
      sums.add(`pagos_sin_conciliar.${isIssued ? 'iva_cobrado' : 'iva_pagado'}`, month, iva)
      return
    }
    for (const figure of isIssued ? COLLECTED : PAID) {
      const part = proportionPart(figure)
      if (part === null || isPartOf(part, group)) sums.add(figure, month, addColumns(columnsIn(figure, withoutThirdParties), amounts))
    }
    if (isIssued) {
      for (const name of SPLIT) {
        sums.add(`proporcion.${name}`, month, -without[`fuera_${name}`])
        sums.add('proporcion.fuera', month, without[`fuera_${name}`])
      }
      return
    }
    const [excluded, review] = [without.excluded_iva, reviewOf(found)]
    const withheld = amounts.iva_retenido - without.excluded_retenido
    sums.add('no_deducible_excluded', month, excluded)
    sums.add('retenido_acreditable', month, withheld)
    sums.add(`excluded.${reasonOf(found)}`, month, excluded)
    if (review) {
      sums.add('por_revisar', month, iva)
      sums.add(`review.${review}`, month, iva)
    }
    if (!is_for_exempt) {
      const use = is_for_taxed ? 'taxed' : 'mixed'
      sums.add(`creditable.${use}`, month, iva - excluded)
      sums.add(`withheld.${use}`, month, withheld)
    }
    if (is_presumed) sums.add('at_risk_69b', month, iva - excluded)
    if (is_lapsed) sums.add('at_risk_repse', month, iva - excluded)
  }
  for (const row of groups) for (const added of addedBy(row, exclusions, exactAmountsReader)) addGroup(row, added)
  const figureOf = (direction: 0 | 1) => (direction === 0 ? 'pendiente_por_cobrar_iva' : 'pendiente_por_acreditar_iva')
  const ivaOfPart = (invoice: string, balance: Micros): Micros => {
    const outcome = balance === 0n ? 'missing_rate' : exactAmountsReader.outcomeOf(partOf(invoice, balance))
    return typeof outcome === 'string' ? 0n : ivaOf(outcome)
  }
  for (const row of open) {
    const iva = row.invoice === null ? BigInt(row.iva) : ivaOfPart(row.invoice, BigInt(row.balance!))
    for (const { month } of months)
      if (row.month <= month && (row.until === null || month < row.until)) sums.add(figureOf(row.direction), month, iva)
  }
  for (const { direction, invoice } of exactInvoices)
    for (const { month, end } of months) sums.add(figureOf(direction), month, ivaOfPart(invoice, exactBalanceOn(invoice, end)))
  return sums
}

const COLLECTED = VAT_FIGURES.filter((figure) => /^(cobrado|terceros|proporcion)\./.test(figure))
const PAID = VAT_FIGURES.filter((figure) => figure.startsWith('pagado.'))

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    cobrado:
      'Σ bases and IVA by rate of the cash events of issued documents: PUE on the day of Fecha, global invoices in their period, PPD by complements on FechaPago; what E return is negative.',
    pagado: 'The same of received documents.',
    devengado: 'Σ IVA of I − E, paid or not: of a global invoice in its period, of other documents by Fecha.',
    prorrateo: 'Your own, or gravado ÷ (gravado + exento + no_objeto) of proporcion, never below 0 or above 1; 1 without exempt sales',
    acreditable:
      '(IVA of pagado − no_deducible_excluded − retenido_acreditable) × prorrateo + retenido_acreditable of the month before × its prorrateo. With prorrateo=attributed: × 1 of taxed_suppliers, × 0 of exempt_suppliers; without these lists, as the settings of the DIOT say',
    retenido_acreditable: 'retenido_a_terceros without what is withheld on excluded purchases',
    saldo: 'IVA of cobrado − acreditable − retenido_por_clientes',
    pendiente:
      'Σ IVA × balance ÷ total of PPD invoices, as of the end of the month: less what was paid and credited until then. Documents count as they do now',
    diferencia: 'saldo − (iva_a_cargo − iva_a_favor)',
    no_deducible_excluded:
      'IVA of payments in cash above the limit or for lines of fuel, of uso S01, or to definitive 69-B issuers, and the part of restaurants, bars, cars and rented cars that is not deductible (LIVA 5-I), as amounts before taxes divide it; less what is returned of them',
    por_revisar: 'IVA of what a CFDI cannot decide: questions has the reasons. It is credited or excluded as if nobody answered',
    at_risk:
      'IVA to presumed 69-B issuers, and to suppliers without valid REPSE registration on the day of payment: of what no_deducible_excluded does not hold already, and not excluded itself',
  },
  notes: [
    'LIVA 1-B and 5: IVA counts when it is paid. Taxes of a complement are its own, else in proportion to its invoice.',
    'LIVA 7: a credit note (E) first lowers what is open of its invoice, payments by FechaPago, which is no money; only what goes beyond is returned, on its own Fecha, in proportion of its taxes. A refund of an act whose IVA was withheld restates the months of its payments, the newest first, which no source settles: requires_complementary. A note of an advance (07) lowers the invoice that applies it and counts, on the day of one that is paid at once; without one it returns the advance. What an invoice with relation 07 pays in form 30 is no money again, as far as its advances go; what is beyond them is money.',
    'Withheld IVA is credited the month after by the prorrateo of the month that it belongs to, which no source settles.',
    'LIVA 5-C: imports, fixed assets, land that is no inventory, dividends, shares and credit titles, currency, interest, exchange gain and financial leases take no part in the proportion. The product keys of vat.proportion say which sales are out (fuera) or may be (por_revisar): was a fixed asset sold, or land that was no inventory? What no CFDI tells, such as dividends and exchange gain, is in no figure. Banks, insurers and the like count interest all the same: give your own prorrateo.',
    'ObjetoImp 01 is only a sign of what is not taxed; 02 to 08 without a transfer of IVA (base_sin_traslado) are in no proportion: is this sale taxed?',
    'IVA on imports of goods, and on services and intangibles from abroad, is in no CFDI of a supplier: add it to pagado yourself.',
    'LISR 27-III: each payment is judged by its own form and amount, whatever it pays. Several payments in cash up to the limit, of an invoice above it, are to be reviewed: no source settles it, and cash.several_payments can exclude them.',
    'MXN at the TipoCambio of the document or payment, else the rate published the day before (CFF 20).',
    'What was withheld from third parties the month before is taken as paid to the authority, as far as it is known: month_before says how much each month credits of it, and whether that month is known whole.',
    'acreditable, saldo, resultado and diferencia are null for a month of which nothing issued, or nothing received, is known: data_status says why. Of a direction that is missing, zeros are unknown. Of an RFC that has imports only (imported), figures take them as complete.',
    'A paid part counts as its complement states it, also above the total of its invoice, and on its FechaPago, also when that is still to come.',
    REPSE_NOTE,
    'prorrateo is rounded to six places and multiplied as such. Each amount is rounded once, from six places: a figure can differ by a cent from what the rounded amounts beside it give.',
    'CFDIs de retenciones are not counted here; GET /v1/cfdi/withholdings counts them.',
  ],
}

const PATH = 'analytics/vat-position'

const rangeOf = <Query extends { period?: string | undefined; from?: string | undefined; to?: string | undefined }>({
  period,
  from,
  to,
  ...query
}: Query) => ({ ...query, from: period ?? from, to: period ?? to })

/**
 * Returns the VAT position of each month on a cash basis (LIVA 1-B, 5): what was collected, paid, withheld and excluded, what is pending, and
 * what the return declares. At most six D1 calls with authentication. Throws Failure 404 without a readable connection, and 422 range.invalid.
 */
export async function getVatPosition(ctx: Ctx, query: VatQuery): Promise<VatPosition> {
  const { prorrateo, taxed_suppliers: taxed, exempt_suppliers: exempt } = query
  const insight = await openInsight(ctx, rangeOf(query))
  if (prorrateo !== 'attributed' || taxed !== undefined || exempt !== undefined)
    return vatPositionOf(insight, query, { ...NO_USES, taxed: taxed ?? [], exempt: exempt ?? [] })
  const settings = await readSettings(ctx)
  return vatPositionOf(insight, { ...query, prorrateo: settings.proportion ?? prorrateo }, usesIn(settings))
}

/** What the taxpayer decides of a VAT position. */
type Choices = Pick<VatQuery, 'terceros' | 'no_objeto' | 'prorrateo'>

/** Computes the position of the months of a span. */
export async function vatPositionOf(insight: Insight, query: Choices, uses: SupplierUses = NO_USES): Promise<VatPosition> {
  const { rules } = insight
  const suppliers = await knownSuppliers(insight)
  const reads = statementsOf(insight, suppliers, uses)
  const before = `${addMonths(insight.span.first.slice(0, 7), -1)}-01`
  const { envelope, found, statusOf } = await aggregateOf(insight, reads.statements, before)
  const reading = reads.parse(found)
  const [months, sums] = [monthsOf(insight), await addedUp(insight, reading, query.terceros === 'exclude')]
  const inRange = (counts: Map<string, number>) => months.reduce((sum, { month }) => sum + (counts.get(month) ?? 0), 0)
  const links = linksOf(insight, PATH)
  const omitted = {
    repse_unknown: suppliers.repse_unknown,
    dof_rate: sums.dof_rate,
    unreconciled_payments: inRange(sums.unreconciled),
    other_parties: inRange(sums.otherParties) + reading.notes.of_others,
    drilldown: qualityLinks(links, [...UNMATCHED, CREDITS_OF_UNPAID]),
  }
  const head = envelope(BASIS, rules, omitted)
  return {
    ...head,
    data_quality: { ...head.data_quality, [CREDITS_OF_UNPAID]: reading.notes.of_unpaid },
    data: months.map(({ month }) => rowOf(insight, query, sums, reading.returns, month, statusOf)),
    ...WHOLE,
  }
}

/** Adds up the rows behind the figures of the months. At most one D1 call. */
async function addedUp(insight: Insight, reading: VatReading, withoutThirdParties: boolean): Promise<VatSums> {
  const events = reading.groups.flatMap(({ exactRows }) => exactRows.map(parseExactRow))
  const open = [...reading.open, ...reading.exactInvoices].flatMap(({ invoice }) => (invoice === null ? [] : [partOf(invoice, 1n)]))
  const reader = await exactAmountsReader(insight.ctx, [...measured(events), ...open], events.flatMap(rateOfLimit))
  return sumsOf(reading, monthsOf(insight), reader, withoutThirdParties)
}

const product = (amount: Micros, rate: Micros): Micros => dividedBy(amount * rate, '1000000')

/** The proportion of a month: the taxpayer's own, or the taxed part of sales. */
function prorrateoIn(sums: VatSums, month: string, { prorrateo, no_objeto }: Pick<VatQuery, 'prorrateo' | 'no_objeto'>): Micros {
  if (prorrateo !== undefined && prorrateo !== 'attributed') return micros(prorrateo)!
  const of = (name: ProportionFigure) => sums.of(`proporcion.${name}`, month)
  return proportionOf(of('gravado'), of('exento') + (no_objeto === 'not_taxed' ? of('no_objeto') : 0n))
}

/** The IVA that was withheld from third parties in a month, as far as the month after credits it. */
const withheldIn = (sums: VatSums, month: string, query: Choices): Micros =>
  sums.of('withheld.taxed', month) + product(sums.of('withheld.mixed', month), prorrateoIn(sums, month, query))

export const resultOf = (saldo: string): NonNullable<VatMonth['resultado']> => (saldo.startsWith('-') ? 'a_favor' : 'a_cargo')

function rowOf(
  insight: Insight,
  query: Choices,
  sums: VatSums,
  returns: readonly ReturnRow[],
  period: string,
  statusOf: StatusOf,
): VatMonth {
  const { fiscal_entity_id } = insight.ledger
  const of = (figure: VatFigure) => sums.of(figure, period)
  const side = (name: 'cobrado' | 'pagado' | 'terceros' | 'proporcion') => {
    const figures = VAT_FIGURES.filter((figure) => figure.startsWith(`${name}.`))
    return Object.fromEntries(figures.map((figure) => [figure.slice(name.length + 1), money(of(figure))]))
  }
  const ivas = (name: 'cobrado' | 'pagado') => of(`${name}.iva_16`) + of(`${name}.iva_8`) + of(`${name}.iva_otras`)
  const prorrateo = prorrateoIn(sums, period, query)
  const now = (use: 'taxed' | 'mixed') => sums.of(`creditable.${use}`, period) - sums.of(`withheld.${use}`, period)
  const before = addMonths(period, -1)
  const credited = withheldIn(sums, before, query)
  const acreditable = now('taxed') + product(now('mixed'), prorrateo) + credited
  const saldo = ivas('cobrado') - acreditable - of('cobrado.retenido_por_clientes')
  const data_status = { issued: statusOf(period, 0), received: statusOf(period, 1) }
  // Zeros of a month of which nothing is known yet would be taken for its position.
  const isUnknown = (direction: 0 | 1) =>
    !['complete', 'imported'].includes(data_status[DIRECTION_NAMES[direction]]) && !sums.isSeen(period, direction)
  // The creditable IVA depends on the taxed part of sales.
  const isKnown = !isUnknown(0) && !isUnknown(1)
  const result = isKnown ? saldo : null
  const declarado = declaredIn(returns, period)
  const declared = declarado === null ? null : micros(declarado.iva_a_cargo)! - micros(declarado.iva_a_favor)!
  return {
    period,
    cobrado: side('cobrado') as VatMonth['cobrado'],
    terceros: side('terceros') as VatMonth['terceros'],
    proporcion: side('proporcion') as VatMonth['proporcion'],
    pagado: side('pagado') as VatMonth['pagado'],
    devengado: { trasladado: money(of('devengado.trasladado')), acreditable: money(of('devengado.acreditable')) },
    no_deducible_excluded: money(of('no_deducible_excluded')),
    excluded: EXCLUSIONS.flatMap((reason) => {
      const iva = sums.of(`excluded.${reason}`, period)
      return iva === 0n ? [] : [{ reason, iva: money(iva) }]
    }),
    por_revisar: money(of('por_revisar')),
    questions: (Object.keys(QUESTIONS_OF) as (keyof typeof QUESTIONS_OF)[]).flatMap((reason) => {
      const iva = sums.of(`review.${reason}`, period)
      return iva === 0n ? [] : [{ reason, question: QUESTIONS_OF[reason], iva: money(iva) }]
    }),
    retenido_acreditable: money(of('retenido_acreditable')),
    month_before: { period: before, withheld_credited: money(credited), is_known: isKnownMonth(insight, sums, before, statusOf) },
    at_risk_69b: money(of('at_risk_69b')),
    at_risk_repse: money(of('at_risk_repse')),
    prorrateo: isUnknown(0) ? null : fixed(prorrateo, 6),
    acreditable: isKnown ? money(acreditable) : null,
    saldo: result === null ? null : money(result),
    resultado: result === null ? null : resultOf(money(result)),
    pendiente_por_cobrar_iva: money(of('pendiente_por_cobrar_iva')),
    pendiente_por_acreditar_iva: money(of('pendiente_por_acreditar_iva')),
    pagos_sin_conciliar: {
      count: sums.unreconciled.get(period) ?? 0,
      iva: money(of('pagos_sin_conciliar')),
      iva_cobrado: money(of('pagos_sin_conciliar.iva_cobrado')),
      iva_pagado: money(of('pagos_sin_conciliar.iva_pagado')),
    },
    declarado,
    diferencia: declared === null || result === null ? null : money(result - declared),
    requires_complementary: sums.restated.has(period),
    data_status,
    ...shownOf(insight, period),
    drilldown: Object.fromEntries(
      VAT_FIGURES.flatMap((figure) =>
        namesOf(figure).map((name) => [
          name,
          `/v1/${PATH}/entries?${new URLSearchParams({ fiscal_entity_id, period, figure, ...choicesOf(figure, query) })}`,
        ]),
      ),
    ),
  }
}

/** What a figure needs of the query, so that its entries add up to it. */
const choicesOf = (figure: string, { terceros }: Choices): Record<string, string> =>
  terceros === 'exclude' && /^(cobrado|proporcion)\./.test(figure) ? { terceros } : {}

/** The members of a row that the entries of a figure add up to. */
const namesOf = (figure: VatFigure): string[] => (figure === 'pagos_sin_conciliar' ? [`${figure}.count`, `${figure}.iva`] : [figure])

/** Whether nothing of what suppliers were paid in a month, or of its proportion, is unknown. */
const isKnownMonth = (insight: Insight, sums: VatSums, month: string, statusOf: StatusOf): boolean =>
  !shownOf(insight, month).is_partial && ([0, 1] as const).every((one) => statusOf(month, one) === 'complete') && !sums.unpaired.has(month)

interface Figure {
  name: string
  /** The supplier whose part is meant. */
  rfc: string | undefined
  returned: VatEntriesQuery['returned']
  border_region: VatEntriesQuery['border_region']
  withoutThirdParties: boolean
  insight: Insight
  exclusions: Exclusions
  /** Known for figures that depend on them. */
  suppliers: KnownSuppliers
}

const RISKS = ['no_deducible_excluded', 'retenido_acreditable', 'por_revisar', 'at_risk_69b', 'at_risk_repse']

/** The condition of a figure that depends on suppliers or payments. What rows to be measured add is only known then. */
const riskOf = (name: string): SQL => {
  const isCreditable = sql`not (found & ${sql.raw(String(OUTRIGHT))})`
  if (name === 'no_deducible_excluded') return sql`(excluded_iva <> 0 or as_json is not null)`
  if (name === 'retenido_acreditable') return sql`(iva_retenido <> excluded_retenido or as_json is not null)`
  if (name === 'por_revisar') return sql`(${isCreditable} and (found & ${sql.raw(String(REVIEW))} or as_json is not null))`
  return sql`${isCreditable} and ${name === 'at_risk_69b' ? sql`is_presumed` : sql`is_lapsed`}`
}

/** What a row adds to it. */
const amountAtRisk = (name: string): SQL => {
  if (name === 'no_deducible_excluded') return sql`excluded_iva`
  if (name === 'retenido_acreditable') return sql`(iva_retenido - excluded_retenido)`
  return name === 'por_revisar' ? IVA : sql`(${IVA} - excluded_iva)`
}

const rowsOf = (from: SQL, amount: SQL, where: SQL): SQL =>
  sql`select uuid, applies_to, issued_at, cast(${amount} as text) as amount, needs_exact, as_json from (${from}) where ${where}`

/** The columns of an entry of a figure without risk. What is returned is listed as a positive amount. */
const columnsOfEntries = ({ name, withoutThirdParties, returned }: Figure): SignedColumns =>
  columnsIn(name, withoutThirdParties).map(([sign, column]) => [returned === 'true' ? (-sign as 1 | -1) : sign, column])

const isSplit = (part: ProportionFigure | null): part is (typeof SPLIT)[number] => (SPLIT as readonly unknown[]).includes(part)

/** The condition that an invoice is of a place in a border region, or in none. */
function isBilledIn(region: NonNullable<Figure['border_region']>, rules: Rules, { number }: Partition): SQL {
  const { norte, sur } = rules.get('vat.border_regions')
  const place = sql`coalesce((select substr(${i.lugar_expedicion}, 1, 2) from ${cfdi} ${i} where ${i.entity} = ${number} and ${i.uuid} = invoice), '')`
  const isIn = (codes: readonly string[]) => sql`${place} in (select value from json_each(${JSON.stringify(codes)}))`
  return region === 'unknown' ? sql`not ${isIn([...norte, ...sur])}` : isIn(region === 'norte' ? norte : sur)
}

/** The rows of a figure in a partition and direction; null when it has none there. */
function streamOf(figure: Figure, partition: Partition, direction: DirectionNumber): SQL | null {
  const { name, rfc, returned, border_region, insight, exclusions, suppliers } = figure
  const { span, rules } = insight
  const side =
    /^(cobrado|terceros|proporcion)/.test(name) ||
    name.endsWith('trasladado') ||
    name.endsWith('cobrar_iva') ||
    name.endsWith('iva_cobrado')
      ? 0
      : 1
  if (name !== 'pagos_sin_conciliar' && side !== direction) return null
  if (name.startsWith('pendiente')) {
    const end = monthsOf(insight).at(-1)?.end
    const open = end === undefined ? null : openThrough(partition, direction, { first: end, last: end })
    return open && sql`select uuid, null as applies_to, issued_at, '0' as amount, 1 as needs_exact, invoice as as_json from (${open})`
  }
  if (name.startsWith('devengado')) {
    const events = accruedEvents(partition, direction, span)
    const json = sql`json_object('uuid', uuid, 'tipo', tipo, 'day', day, 'source', source)`
    return events && rowsOf(sql`select *, ${json} as as_json from (${events})`, IVA, sql`reason is null`)
  }
  const from = movements(partition, direction, { rules, days: span, exclusions, suppliers, uses: NO_USES }, ['counterparty', 'invoice'])
  if (from === null) return null
  if (name.startsWith('pagos_sin_conciliar')) return rowsOf(from, sql`stated`, sql`reason is not null or (needs_exact = 1 and tipo = 'P')`)
  const part = proportionPart(name)
  const conditions = [
    sql`reason is null`,
    ...(RISKS.includes(name) ? [riskOf(name)] : []),
    ...(part === null ? [] : [whereOf(part)]),
    ...(rfc === undefined ? [] : [sql`counterparty = ${rfc}`]),
    ...(returned === undefined ? [] : [returned === 'true' ? sql`is_returned` : sql`not is_returned`]),
    ...(border_region === undefined ? [] : [isBilledIn(border_region, rules.in('month', span.last), partition)]),
  ]
  const columns = RISKS.includes(name) ? [] : columnsOfEntries(figure)
  const whole = `0 ${columns.map(([sign, column]) => `${sign < 0 ? '-' : '+'} ${column}`).join(' ')}`
  const amount = sql.raw(
    part === 'fuera'
      ? `iif(is_excluded, ${whole}, ${SPLIT.map((one) => `fuera_${one}`).join(' + ')})`
      : isSplit(part)
        ? `${whole} - fuera_${part}`
        : whole,
  )
  return rowsOf(from, RISKS.includes(name) ? amountAtRisk(name) : amount, sql.join(conditions, sql` and `))
}

function streamsOf(figure: Figure, partition: Partition, direction: DirectionNumber): SQL[] {
  const { name, insight } = figure
  if (name === CREDITS_OF_UNPAID) {
    const notes = creditsOfUnpaid(partition, direction, insight.span)
    return notes ? [sql`select *, 0 as needs_exact, null as as_json from (${notes})`] : []
  }
  return isUnmatched(name) ? unmatchedRows(name, partition, direction, insight.span) : [streamOf(figure, partition, direction) ?? []].flat()
}

/** An invoice, for `exactBalanceOn`. */
type Item = ExactRow | unknown[]

/** Computes the amount that each item adds to a figure. */
async function exactAll(figure: Figure, items: readonly Item[]): Promise<(item: Item) => Micros | null> {
  const { name, insight, exclusions } = figure
  if (name.startsWith('pendiente')) {
    const end = monthsOf(insight).at(-1)?.end ?? insight.span.last
    const parts = items.map((item) => partOf(JSON.stringify(item), 1n))
    const { outcomeOf } = await exactAmountsReader(insight.ctx, parts)
    return (item) => {
      const invoice = JSON.stringify(item)
      const balance = exactBalanceOn(invoice, end)
      const outcome = balance === 0n ? 'missing_rate' : outcomeOf(partOf(invoice, balance))
      return typeof outcome === 'string' ? null : ivaOf(outcome)
    }
  }
  const events = items as readonly ExactRow[]
  const isRisk = RISKS.includes(name)
  const { outcomeOf, rateOfDay } = await exactAmountsReader(insight.ctx, measured(events), isRisk ? events.flatMap(rateOfLimit) : [])
  return (item) => {
    const event = item as ExactRow
    if (isUnmatched(name)) return unmatchedAmount(event as ExactEvent, outcomeOf(event as ExactEvent))
    const outcome = outcomeIn(event, outcomeOf)
    if (name.startsWith('pagos_sin_conciliar') && outcome === 'missing_rate') return 0n
    if (typeof outcome === 'string') return null
    const taxes = event.source === null ? event.sums : (JSON.parse(event.source) as unknown[])[3]
    if (name.startsWith('pagos_sin_conciliar')) return event.is_unmatched === 0 ? null : taxes === null ? 0n : ivaOf(outcome)
    if (name.startsWith('devengado')) return ivaOf(outcome)
    if (!isRisk) {
      const [part, whole] = [proportionPart(name), addColumns(columnsOfEntries(figure), outcome)]
      if (part === null || event.thing === null) return whole
      const out = outOfParts(event.thing, outcome)
      return part === 'fuera' ? sumAll(Object.values(out)) : isSplit(part) ? whole - out[`fuera_${part}`] : whole
    }
    const { part, found } = excludedPart(event, outcome.paid, exclusions, rateOfDay)
    const without = shareOf(ivaOf(outcome), ...part)
    if (name === 'no_deducible_excluded') return part[0] === 0n ? null : without
    if (name === 'retenido_acreditable') {
      const withheld = outcome.iva_retenido - shareOf(outcome.iva_retenido, ...part)
      return withheld === 0n ? null : withheld
    }
    if (name === 'por_revisar') return reviewOf(found) ? ivaOf(outcome) : null
    return part[0] === part[1] ? null : ivaOf(outcome) - without
  }
}

/**
 * Returns a page of the documents behind a figure of the VAT position: their amounts add up to it exactly. Throws Failure 404 without a
 * readable connection, 400 cursor.invalid and 422 range.invalid.
 */
export async function listVatEntries(ctx: Ctx, query: VatEntriesQuery): Promise<EntriesPage> {
  const insight = await openInsight(ctx, rangeOf(query))
  const exclusions = exclusionsOf(insight.rules, insight.span)
  const { figure: name, rfc, returned, border_region, terceros, limit, cursor } = query
  const page = { figure: name, rfc, returned, border_region, terceros, from: insight.span.from, to: insight.span.to, limit, cursor }
  if (isLeftOut(name)) return pageOfLeftOut(insight, PATH, { ...page, figure: name })
  const suppliers = RISKS.includes(name) ? await knownSuppliers(insight) : UNKNOWN_SUPPLIERS
  const figure: Figure = { name, rfc, returned, border_region, withoutThirdParties: terceros === 'exclude', insight, exclusions, suppliers }
  return pageOfPairs(
    insight,
    PATH,
    page,
    (partition) => ([0, 1] as const).flatMap((direction) => streamsOf(figure, partition, direction)),
    (items: readonly Item[]) => exactAll(figure, items),
    name === 'pagos_sin_conciliar' || name === CREDITS_OF_UNPAID || isUnmatched(name),
  )
}
