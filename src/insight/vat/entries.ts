import { type OpenRow, partOf } from '../../cfdi/cash/balance-on.ts'
import { accruedEvents } from '../../cfdi/cash/events.ts'
import { openInvoices } from '../../cfdi/cash/open.ts'
import type { Micros } from '../../cfdi/money.ts'
import type { Ctx } from '../../platform/context.ts'
import { type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import type { DirectionNumber, Partition } from '../../visibility/scoped-ledger.ts'
import type { EntriesPage } from '../common/contract.ts'
import { type Insight, openInsight } from '../common/insight.ts'
import { isLeftOut, pageOfLeftOut } from '../common/left-out.ts'
import { ivaOf, measurer } from '../common/measured.ts'
import { isUnmatched, unmatchedAmount, unmatchedRows } from '../common/omitted.ts'
import { pageOfPairs } from '../common/pairs.ts'
import type { VatEntriesQuery } from './contract.ts'
import { type Exclusions, exclusionsOf, isOverLimit, rateOfLimit } from './exclusions.ts'
import type { Odd } from './odd.ts'
import { pendingOn } from './pending.ts'
import { type KnownSuppliers, lookUp, monthsOf, readParties } from './reading.ts'
import { IVA, movements, type Sum } from './store.ts'
import { PATH, rangeOf } from './vat.ts'

interface Figure {
  name: string
  /** The supplier whose part of it is meant. */
  rfc: string | undefined
  insight: Insight
  exclusions: Exclusions
  /** Of the figures that depend on them. */
  suppliers: KnownSuppliers | null
}

const RISKS = ['no_deducible_excluded', 'at_risk_69b', 'at_risk_repse']
const list = (values: Iterable<string>): Fragment => sql`(select value from json_each(${JSON.stringify([...values])}))`

/** The condition of a figure that depends on suppliers. What is over the limit in cash is only known when it is measured. */
function riskOf({ name, suppliers }: Figure): Fragment {
  const { presumed, definitive, registrations } = suppliers!
  const isExcluded = sql`(is_excluded = 1 or party in ${list(definitive)})`
  if (name === 'no_deducible_excluded') return sql`(${isExcluded} or as_json->>'cash_of' is not null)`
  if (name === 'at_risk_69b') return sql`not ${isExcluded} and party in ${list(presumed)}`
  const rows = [...registrations.values()].map((one) => [one.rfc, one.is_registered, one.vigencia_hasta, one.has_activities])
  return sql`not ${isExcluded} and exists (select 1 from json_each(${JSON.stringify(rows)}) r where r.value->>0 = party
    and (in_scope = 1 or r.value->>3 = 1) and (r.value->>1 = 0 or r.value->>2 < day))`
}

const rowsOf = (from: Fragment, amount: string, where: Fragment): Fragment =>
  sql`select uuid, applies_to, issued_at, cast(${raw(amount)} as text) as amount, is_odd, as_json from (${from}) where ${where}`

const WITHHELD = ['cobrado.retenido_por_clientes', 'pagado.retenido_a_terceros']

/** The column, or sum of columns, of a cash event that a figure adds up. */
const columnOf = (name: string): Sum | typeof IVA =>
  WITHHELD.includes(name) ? 'iva_retenido' : RISKS.includes(name) ? IVA : (name.slice(name.indexOf('.') + 1) as Sum)

/** The rows of a figure in a partition and direction; null when it has none there. */
function streamOf(figure: Figure, partition: Partition, direction: DirectionNumber): Fragment | null {
  const { name, rfc, insight, exclusions } = figure
  const { span } = insight
  const side =
    name.startsWith('cobrado') || name.endsWith('trasladado') || name.endsWith('cobrar_iva') || name.endsWith('iva_cobrado') ? 0 : 1
  if (name !== 'pagos_sin_conciliar' && side !== direction) return null
  if (name.startsWith('pendiente')) {
    const end = monthsOf(insight).at(-1)?.end
    const open = end === undefined ? null : openInvoices(partition, direction, end, end)
    const json = raw("json_object('uuid', uuid, 'issued_at', issued_at, 'day', day, 'applied', applied, 'source', source)")
    return open && sql`select uuid, null as applies_to, issued_at, '0' as amount, 1 as is_odd, ${json} as as_json from (${open})`
  }
  if (name.startsWith('devengado')) {
    const events = accruedEvents(partition, direction, span)
    const json = raw("json_object('uuid', uuid, 'tipo', tipo, 'day', day, 'source', source)")
    return events && rowsOf(sql`select *, ${json} as as_json from (${events})`, IVA, raw('reason is null'))
  }
  const from = movements(partition, direction, span, exclusions)
  if (from === null) return null
  if (name.startsWith('pagos_sin_conciliar'))
    return rowsOf(from, `iif(source->>3 is null, 0, ${IVA})`, raw("reason is not null or (is_odd = 1 and tipo = 'P')"))
  return rowsOf(
    from,
    columnOf(name),
    sql`reason is null ${figure.suppliers ? sql`and ${riskOf(figure)}` : raw('')}
    ${rfc === undefined ? raw('') : sql`and party = ${rfc}`}`,
  )
}

function streamsOf(figure: Figure, partition: Partition, direction: DirectionNumber): Fragment[] {
  const { name, insight } = figure
  return isUnmatched(name) ? unmatchedRows(name, partition, direction, insight.span) : [streamOf(figure, partition, direction) ?? []].flat()
}

/** What an item that SQL leaves to us adds to a figure. */
async function measureAll({ name, insight, exclusions, suppliers }: Figure, odds: readonly (Odd | OpenRow)[]) {
  const end = monthsOf(insight).at(-1)?.end ?? insight.span.last
  if (name.startsWith('pendiente')) {
    const parts = (odds as readonly OpenRow[]).map((row) => partOf(row, 1n))
    const { outcomeOf } = await measurer(insight.ctx, parts)
    return (odd: Odd | OpenRow): Micros | null => pendingOn(odd as OpenRow, end, outcomeOf)
  }
  const events = odds as readonly Odd[]
  const { outcomeOf, rateOfDay } = await measurer(insight.ctx, events, suppliers ? events.flatMap(rateOfLimit) : [])
  return (odd: Odd | OpenRow): Micros | null => {
    const event = odd as Odd
    const outcome = outcomeOf(event)
    if (isUnmatched(name)) return unmatchedAmount(event, outcome)
    if (name.startsWith('pagos_sin_conciliar') && outcome === 'missing_rate') return 0n
    if (typeof outcome === 'string') return null
    const taxes = (JSON.parse(event.source) as unknown[])[3]
    if (name.startsWith('pagos_sin_conciliar')) return event.is_unmatched === 0 ? null : taxes === null ? 0n : ivaOf(outcome)
    if (name.startsWith('devengado')) return ivaOf(outcome)
    if (suppliers === null) return outcome[columnOf(name) as Sum]
    const isOver = isOverLimit(event, exclusions, rateOfDay)
    const isExcluded = isOver || event.is_excluded === 1 || suppliers.definitive.has(event.party!)
    return isExcluded === (name === 'no_deducible_excluded') ? ivaOf(outcome) : null
  }
}

/**
 * Returns a page of the documents behind a figure of the VAT position: their amounts add up to it exactly. Throws Failure 404 without a
 * readable connection, 400 cursor.invalid and 422 range.invalid.
 */
export async function listVatEntries(ctx: Ctx, query: VatEntriesQuery): Promise<EntriesPage> {
  const insight = await openInsight(ctx, rangeOf(query))
  const { rules } = insight
  const exclusions = exclusionsOf(rules)
  const { figure: name, rfc, limit, cursor } = query
  const page = { figure: name, rfc, from: insight.span.from, to: insight.span.to, limit, cursor }
  if (isLeftOut(name)) return pageOfLeftOut(insight, PATH, { ...page, figure: name })
  const suppliers = RISKS.includes(name) ? await lookUp(insight, await readParties(insight, exclusions)) : null
  const figure: Figure = { name, rfc, insight, exclusions, suppliers }
  return pageOfPairs(
    insight,
    PATH,
    page,
    (partition) => ([0, 1] as const).flatMap((direction) => streamsOf(figure, partition, direction)),
    (odds: readonly (Odd | OpenRow)[]) => measureAll(figure, odds),
    name === 'pagos_sin_conciliar' || isUnmatched(name),
  )
}
