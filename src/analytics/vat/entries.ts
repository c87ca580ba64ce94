import { type Name, type SQL, sql } from 'drizzle-orm'
import { accruedEvents, creditsOfUnpaid } from '../../cfdi/cash/events.ts'
import { measureOpenOn, partOf } from '../../cfdi/open/measure-open-on.ts'
import { openThrough } from '../../cfdi/open/open-through.ts'
import type { Ctx } from '../../platform/context.ts'
import type { Micros } from '../../platform/money.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from '../common/contract.ts'
import { type Insight, openInsight } from '../common/insight.ts'
import { isLeftOut, pageOfLeftOut } from '../common/left-out.ts'
import { ivaOf, measurer } from '../common/measured.ts'
import { isUnmatched, unmatchedAmount, unmatchedRows } from '../common/omitted.ts'
import { pageOfPairs } from '../common/pairs.ts'
import { CREDITS_OF_UNPAID, type VatEntriesQuery } from './contract.ts'
import { type Exclusions, exclusionsOf, isOverLimit, rateOfLimit } from './exclusions.ts'
import type { Odd } from './odd.ts'
import { monthsOf } from './reading.ts'
import { IVA, movements, type Sum } from './store.ts'
import { type KnownSuppliers, knownSuppliers, UNKNOWN_SUPPLIERS } from './suppliers.ts'
import { PATH, rangeOf } from './vat.ts'

interface Figure {
  name: string
  /** The supplier whose part of it is meant. */
  rfc: string | undefined
  insight: Insight
  exclusions: Exclusions
  /** Known of the figures that depend on them. */
  suppliers: KnownSuppliers
}

const RISKS = ['no_deducible_excluded', 'at_risk_69b', 'at_risk_repse']

/** The condition of a figure that depends on suppliers. What is over the limit in cash is only known when it is measured. */
const riskOf = (name: string): SQL =>
  name === 'no_deducible_excluded'
    ? sql`(is_excluded = 1 or as_json->>'cash_of' is not null)`
    : sql`not is_excluded and ${name === 'at_risk_69b' ? sql`is_presumed` : sql`is_lapsed`}`

const rowsOf = (from: SQL, amount: SQL | Name, where: SQL): SQL =>
  sql`select uuid, applies_to, issued_at, cast(${amount} as text) as amount, is_odd, as_json from (${from}) where ${where}`

const WITHHELD = ['cobrado.retenido_por_clientes', 'pagado.retenido_a_terceros']

/** The column of a cash event that a figure of no risk adds up. */
const columnOf = (name: string): Sum => (WITHHELD.includes(name) ? 'iva_retenido' : (name.slice(name.indexOf('.') + 1) as Sum))

/** The rows of a figure in a partition and direction; null when it has none there. */
function streamOf(figure: Figure, partition: Partition, direction: DirectionNumber): SQL | null {
  const { name, rfc, insight, exclusions } = figure
  const { span } = insight
  const side =
    name.startsWith('cobrado') || name.endsWith('trasladado') || name.endsWith('cobrar_iva') || name.endsWith('iva_cobrado') ? 0 : 1
  if (name !== 'pagos_sin_conciliar' && side !== direction) return null
  if (name.startsWith('pendiente')) {
    const end = monthsOf(insight).at(-1)?.end
    const open = end === undefined ? null : openThrough(partition, direction, { first: end, last: end })
    return open && sql`select uuid, null as applies_to, issued_at, '0' as amount, 1 as is_odd, invoice as as_json from (${open})`
  }
  if (name.startsWith('devengado')) {
    const events = accruedEvents(partition, direction, span)
    const json = sql`json_object('uuid', uuid, 'tipo', tipo, 'day', day, 'source', source)`
    return events && rowsOf(sql`select *, ${json} as as_json from (${events})`, IVA, sql`reason is null`)
  }
  const from = movements(partition, direction, span, exclusions, figure.suppliers)
  if (from === null) return null
  if (name.startsWith('pagos_sin_conciliar')) return rowsOf(from, sql`stated`, sql`reason is not null or (is_odd = 1 and tipo = 'P')`)
  return rowsOf(
    from,
    RISKS.includes(name) ? IVA : sql.identifier(columnOf(name)),
    sql`reason is null ${RISKS.includes(name) ? sql`and ${riskOf(name)}` : sql``}
    ${rfc === undefined ? sql`` : sql`and counterparty = ${rfc}`}`,
  )
}

function streamsOf(figure: Figure, partition: Partition, direction: DirectionNumber): SQL[] {
  const { name, insight } = figure
  if (name === CREDITS_OF_UNPAID) {
    const notes = creditsOfUnpaid(partition, direction, insight.span)
    return notes ? [sql`select *, 0 as is_odd, null as as_json from (${notes})`] : []
  }
  return isUnmatched(name) ? unmatchedRows(name, partition, direction, insight.span) : [streamOf(figure, partition, direction) ?? []].flat()
}

/** An invoice, for `measureOpenOn`. */
type Item = Odd | unknown[]

/** What an item that SQL leaves to us adds to a figure. */
async function measureAll({ name, insight, exclusions }: Figure, items: readonly Item[]): Promise<(item: Item) => Micros | null> {
  if (name.startsWith('pendiente')) {
    const end = monthsOf(insight).at(-1)?.end ?? insight.span.last
    const { outcomeOf } = await measurer(
      insight.ctx,
      items.map((item) => partOf(JSON.stringify(item), 1n)),
    )
    return (item) => {
      const invoice = JSON.stringify(item)
      const balance = measureOpenOn(invoice, end)
      const outcome = balance === 0n ? 'missing_rate' : outcomeOf(partOf(invoice, balance))
      return typeof outcome === 'string' ? null : ivaOf(outcome)
    }
  }
  const events = items as readonly Odd[]
  const isRisk = RISKS.includes(name)
  const { outcomeOf, rateOfDay } = await measurer(insight.ctx, events, isRisk ? events.flatMap(rateOfLimit) : [])
  return (item) => {
    const event = item as Odd
    const outcome = outcomeOf(event)
    if (isUnmatched(name)) return unmatchedAmount(event, outcome)
    if (name.startsWith('pagos_sin_conciliar') && outcome === 'missing_rate') return 0n
    if (typeof outcome === 'string') return null
    const taxes = (JSON.parse(event.source) as unknown[])[3]
    if (name.startsWith('pagos_sin_conciliar')) return event.is_unmatched === 0 ? null : taxes === null ? 0n : ivaOf(outcome)
    if (name.startsWith('devengado')) return ivaOf(outcome)
    if (!isRisk) return outcome[columnOf(name)]
    const isExcluded = isOverLimit(event, exclusions, rateOfDay) || event.is_excluded === 1
    return isExcluded === (name === 'no_deducible_excluded') ? ivaOf(outcome) : null
  }
}

/**
 * Returns a page of the documents behind a figure of the VAT position: their amounts add up to it exactly. Throws Failure 404 without a
 * readable connection, 400 cursor.invalid and 422 range.invalid.
 */
export async function listVatEntries(ctx: Ctx, query: VatEntriesQuery): Promise<EntriesPage> {
  const insight = await openInsight(ctx, rangeOf(query))
  const exclusions = exclusionsOf(insight.rules, insight.span)
  const { figure: name, rfc, limit, cursor } = query
  const page = { figure: name, rfc, from: insight.span.from, to: insight.span.to, limit, cursor }
  if (isLeftOut(name)) return pageOfLeftOut(insight, PATH, { ...page, figure: name })
  const suppliers = RISKS.includes(name) ? await knownSuppliers(insight) : UNKNOWN_SUPPLIERS
  const figure: Figure = { name, rfc, insight, exclusions, suppliers }
  return pageOfPairs(
    insight,
    PATH,
    page,
    (partition) => ([0, 1] as const).flatMap((direction) => streamsOf(figure, partition, direction)),
    (items: readonly Item[]) => measureAll(figure, items),
    name === 'pagos_sin_conciliar' || name === CREDITS_OF_UNPAID || isUnmatched(name),
  )
}
