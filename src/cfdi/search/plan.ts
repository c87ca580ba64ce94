import { type SQL, sql } from 'drizzle-orm'
import { all } from '../../platform/db/statement.ts'
import { boundsOf, type DirectionNumber, hasCeiling, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { centralStartOf, earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { cfdiAs } from '../columns.ts'
import { isDay } from '../literal-day.ts'
import { cfdi } from '../tables.ts'
import { areIndexed, type IndexedFilter, indexedConditions, literalDays, scannedConditions } from './conditions.ts'
import type { Filters } from './contract.ts'

const page = cfdiAs('page')

/** Rows read along an index in the order of the page: its leading columns are fixed. */
interface IndexRange {
  index: 'cfdi_dirc' | 'cfdi_cpd' | 'cfdi_tipoc' | 'cfdi_pay'
  direction: DirectionNumber
  fixed: SQL
}

/** An index range between bounds of issued_at in seconds, both inclusive. */
export interface Stream extends IndexRange {
  since: number | null
  until: number | null
}

/** How a page is read: at most four streams, which are merged, and the conditions that are checked row by row. */
export interface SearchPlan {
  streams: Stream[]
  /**
   * When the streams select stored payment statuses, the search without them. With a ceiling it may find other documents: visible balances
   * count only what was issued up to the ceiling.
   */
  invoices?: SearchPlan
  /** Whether SQL passes rows that `isMatch` may refuse: those whose visible balance is another than the stored one. */
  isCompared: boolean
  /** Conditions that the streams leave open. Without any, every row that is read belongs to the page. */
  rest: SQL[]
  /** The conditions of the literal days, to which the bounds of the streams are exact to the hour only. */
  days: SQL[]
  /** The first second of the first, and the last second of the last literal day in UTC−6. Null without these days. */
  central: { from: number | null; to: number | null }
}

/** A direction and a counterparty, as the indexes have them. A search is the union of its branches. */
interface Branch {
  direction?: DirectionNumber
  counterparty?: string
}

// D1 accepts five terms in a compound SELECT, of which strays may take one, and a page may read limit + 9 rows in all.
const MAX_STREAMS = 4

/** Plans a search over a partition of an RFC. No PDF is stored, so has_pdf=true finds nothing. */
export function planSearch(rfc: string, requested: Filters, partition: Partition): SearchPlan {
  const isOfCancelled = requested.cancelled_from !== undefined || requested.cancelled_to !== undefined
  const filters = isOfCancelled ? { ...requested, estatus: requested.estatus ?? ('cancelado' as const) } : requested
  const isNobody = filters.has_pdf === 'true' || filters.counterparties?.length === 0
  const branches = isNobody ? [] : branchesOf(rfc, filters)
  const conditions = indexedConditions(filters, partition)
  const scanned = scannedConditions(filters, partition)
  const { payment_status, balance_min, paid_from, paid_to } = filters
  const planOf = (chosen: readonly Candidate[]): SearchPlan => {
    const left = new Set(chosen.flatMap(({ serves }) => [...conditions.keys()].filter((name) => !serves.includes(name))))
    return {
      streams: chosen.flatMap(({ ranges }) => ranges).flatMap((range) => streamOf(range, filters, partition)),
      isCompared:
        (hasCeiling(partition) || filters.past !== undefined) &&
        [payment_status, balance_min, paid_from, paid_to].some((one) => one !== undefined),
      rest: [...[...left].flatMap((name) => conditions.get(name)!), ...scanned],
      days: literalDays(filters, cfdi.fecha),
      central: {
        from: filters.issued_from && isDay(filters.issued_from) ? centralStartOf(filters.issued_from) : null,
        to: filters.issued_to && isDay(filters.issued_to) ? centralStartOf(filters.issued_to) + 86_399 : null,
      },
    }
  }
  // A past status is no column of an index.
  const chosen = chosenOf(branches, filters.past ? { ...filters, estatus: undefined, payment_status: undefined } : filters)
  const plan = planOf(chosen)
  if (!hasCeiling(partition) || !chosen.some(({ serves }) => serves.includes('payment_status'))) return plan
  // Where a scan stops is told, so that a stored payment status must not decide it. Only invoices have one of these.
  const invoices = planOf(
    chosenOf(branches, { ...filters, payment_status: undefined, tipo_comprobante: filters.tipo_comprobante ?? ['I'] }),
  )
  return plan.rest.length > 0 ? invoices : { ...plan, invoices }
}

function chosenOf(branches: readonly Branch[], filters: Filters): Candidate[] {
  const best = branches.map((branch) => candidatesOf(branch, filters)[0]!)
  if (best.flatMap(({ ranges }) => ranges).length <= MAX_STREAMS) return best
  return branches.map((branch) => candidatesOf(branch, { ...filters, tipo_comprobante: undefined, payment_status: undefined })[0]!)
}

/** Every condition of a search, for rows of the alias `page` that are found by their UUIDs. */
export function conditionsOf(filters: Filters, partition: Partition): SQL[] {
  const { since, until } = issuedBounds(filters)
  return [
    ...[...indexedConditions(filters, partition).values()].flat(),
    ...scannedConditions(filters, partition),
    ...literalDays(filters, page.fecha),
    ...(since === null ? [] : [sql`${page.issued_at} >= ${since}`]),
    ...(until === null ? [] : [sql`${page.issued_at} <= ${until}`]),
  ]
}

const issuedBounds = ({ issued_from, issued_to, last_day }: Filters): { since: number | null; until: number | null } => ({
  since: issued_from === undefined ? null : isDay(issued_from) ? earliestOf(issued_from) : Math.ceil(Date.parse(issued_from) / 1_000),
  until: least(
    issued_to === undefined ? null : isDay(issued_to) ? latestOf(issued_to) : Math.floor(Date.parse(issued_to) / 1_000),
    last_day === undefined ? null : latestOf(last_day),
  ),
})

export const least = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.min(a, b))
export const greatest = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b))

/** The stream of an index range as far as both the search and the window reach; none when the window shows nothing of its direction. */
function streamOf(range: IndexRange, filters: Filters, partition: Partition): Stream[] {
  const bounds = boundsOf(partition, range.direction)
  if (!bounds) return []
  const { since, until } = issuedBounds(filters)
  return [{ ...range, since: greatest(since, bounds.since), until: least(until, bounds.until) }]
}

function branchesOf(rfc: string, filters: Filters): Branch[] {
  const { direction, counterparty_rfc, emisor_rfc, receptor_rfc, counterparties } = filters
  let branches: Branch[] = [{}]
  const narrow = (...alternatives: Branch[]) => {
    branches = branches.flatMap((one) => alternatives.flatMap((other) => both(one, other)))
  }
  if (direction) narrow({ direction: direction === 'issued' ? 0 : 1 })
  if (counterparties && areIndexed(filters)) narrow(...counterparties.map((counterparty) => ({ counterparty })))
  if (counterparty_rfc) narrow({ counterparty: counterparty_rfc })
  if (emisor_rfc) narrow(emisor_rfc === rfc ? { direction: 0 } : { direction: 1, counterparty: emisor_rfc })
  // A document that the RFC issued to itself is stored as issued, and the RFC is its receiver too.
  if (receptor_rfc)
    narrow(
      ...(receptor_rfc === rfc
        ? [{ direction: 1 as const }, { direction: 0 as const, counterparty: rfc }]
        : [{ direction: 0 as const, counterparty: receptor_rfc }]),
    )
  return branches
}

function both(one: Branch, other: Branch): Branch[] {
  const apart = (name: keyof Branch) => one[name] !== undefined && other[name] !== undefined && one[name] !== other[name]
  return apart('direction') || apart('counterparty') ? [] : [{ ...one, ...other }]
}

interface Candidate {
  ranges: IndexRange[]
  serves: IndexedFilter[]
}

/** The ways to read a branch in at most four streams, the most selective first. The last way always exists. */
function candidatesOf({ direction, counterparty }: Branch, { estatus, tipo_comprobante, payment_status }: Filters): Candidate[] {
  const directions: DirectionNumber[] = direction === undefined ? [0, 1] : [direction]
  const states = (estatus === undefined ? [0, 1] : [estatus === 'vigente' ? 0 : 1]).map(
    (one) => sql`${cfdi.cancelled} = ${sql.raw(String(one))}`,
  )
  const isOfInvoices = payment_status !== undefined && !payment_status.includes('not_applicable')
  const statuses = isOfInvoices ? payment_status.map((one) => sql`${cfdi.payment_status} = ${one}`) : undefined
  const tipos = tipo_comprobante?.map((one) => sql`${cfdi.tipo_comprobante} = ${one}`)
  const parties = counterparty === undefined ? undefined : [sql`${cfdi.counterparty_rfc} = ${counterparty}`]
  const along = (index: IndexRange['index'], serves: IndexedFilter[], ...columns: (SQL[] | undefined)[]): Candidate[] => {
    if (columns.includes(undefined)) return []
    const fixed = (columns as SQL[][]).reduce<SQL[][]>(
      (some, column) => some.flatMap((one) => column.map((value) => [...one, value])),
      [[]],
    )
    const ranges = directions.flatMap((one) =>
      fixed.map((values) => ({ index, direction: one, fixed: all([sql`${cfdi.direction} = ${sql.raw(String(one))}`, ...values]) })),
    )
    return ranges.length > MAX_STREAMS ? [] : [{ serves, ranges }]
  }
  const known: IndexedFilter[] = counterparty === undefined ? ['direction', 'party'] : ['direction']
  return [
    ...along('cfdi_cpd', ['direction', 'party'], parties),
    ...along('cfdi_pay', [...known, 'payment_status'], statuses),
    ...along('cfdi_tipoc', [...known, 'tipo_comprobante', 'estatus'], tipos, states),
    ...along('cfdi_dirc', [...known, 'estatus'], states),
  ]
}
