import { type SQL, sql } from 'drizzle-orm'
import { all, prepared } from '../../platform/db/statement.ts'
import { invalid } from '../../platform/failures.ts'
import { cfdiAs } from '../columns.ts'
import { STORED_COLUMNS } from '../read-row.ts'
import { type Besides, merged, type PageItem, type Planned, readScans, restOf, type SearchInput, scansOf } from './store.ts'

const page = cfdiAs('page')

/** Documents that a sort by total looks at in a partition. */
const MOST_SORTED = 5_000

/** A document among those that are sorted: its total in micros, null without one. */
interface Candidate {
  total: bigint | null
  issued_at: number
  uuid: string
  planned: Planned
  /** Read already, where what decides is compared here. */
  item?: PageItem
}

/** The position of a document by its total: '' without one. */
export type TotalPosition = readonly [total: string, issued_at: number, uuid: string]

type Sorted = Pick<Candidate, 'total' | 'issued_at' | 'uuid'>

/** By total, of equal ones the newest first; those without a total last. */
function compare(a: Sorted, b: Sorted, isAscending: boolean): number {
  if (a.total !== b.total) {
    if (a.total === null || b.total === null) return a.total === null ? 1 : -1
    return a.total < b.total === isAscending ? -1 : 1
  }
  return b.issued_at - a.issued_at || (a.uuid < b.uuid ? 1 : a.uuid > b.uuid ? -1 : 0)
}

const tooMany = () =>
  invalid('cfdi.too_many_to_sort', [
    {
      path: 'sort',
      message:
        'A sort by total looks at 5,000 documents at most. Narrow the search by issued_from and issued_to, or by another indexed filter.',
    },
  ])

const START = { after: undefined, isAscending: false }
const totalOf = (micros: string | null): bigint | null => (micros === null ? null : BigInt(micros))

/**
 * Finds the documents after a position by their totals, at most `limit`. At most two calls: the first looks at all that the indexes leave, and
 * the second reads the page. Throws Failure 422 cfdi.too_many_to_sort.
 */
export async function findByTotal(
  asked: SearchInput,
  plans: readonly Planned[],
  after: TotalPosition | undefined,
  isAscending: boolean,
  limit: number,
  besides: Besides,
): Promise<{ items: PageItem[]; next: TotalPosition | null }> {
  if (plans.length + besides.statements.length === 0) return { items: [], next: null }
  // Only a search without stored payment statuses finds all that a ceiling gives another one.
  const read = plans.map(({ partition, plan }): Planned => ({ partition, plan: plan.invoices ?? plan }))
  const isWhole = asked.filters.uuid !== undefined || read.some(({ plan }) => plan.isCompared)
  const candidates = await (isWhole ? readWhole : readKeys)(asked, read, besides)
  const begin = after && { total: totalOf(after[0] || null), issued_at: after[1], uuid: after[2] }
  const found = candidates
    .filter((one) => begin === undefined || compare(one, begin, isAscending) > 0)
    .sort((a, b) => compare(a, b, isAscending))
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : undefined
  return { items: await itemsOf(asked, page), next: last ? [String(last.total ?? ''), last.issued_at, last.uuid] : null }
}

/** Reads whole rows, because balances decide that are compared here. */
async function readWhole(asked: SearchInput, plans: readonly Planned[], besides: Besides): Promise<Candidate[]> {
  const scans = plans.map((one) => scansOf(asked, one, START, MOST_SORTED + 1, MOST_SORTED))
  const { found, end } = await readScans(asked, scans.flat(), false, besides)
  if (end !== null) throw tooMany()
  return found.map((item) => {
    const { total_micros, issued_at, uuid } = item.row
    return { total: totalOf(total_micros), issued_at, uuid, item, planned: plans[0]! }
  })
}

type Key = [total: string | null, issued_at: number, uuid: string]

/** Reads what the order depends on. Every row that is looked at answers, so that it is known when there are too many. */
async function readKeys({ ledger }: SearchInput, plans: readonly Planned[], { statements, take }: Besides): Promise<Candidate[]> {
  const selects = plans.map(
    ({ partition, plan }) =>
      sql`select case when ${all(restOf(partition, plan))} then json_array(${page.total_micros}, ${page.issued_at}, ${page.uuid}) end as key
        from (${merged(partition, plan, START, STORED_COLUMNS)} limit ${sql.raw(String(MOST_SORTED + 1))}) page`,
  )
  const results = await ledger.d1.batch([...selects, ...statements].map((one: SQL) => prepared(ledger.d1, one)))
  take(results.slice(plans.length).map((one) => one.results))
  return plans.flatMap((planned, n) => {
    const rows = results[n]!.results as { key: string | null }[]
    if (rows.length > MOST_SORTED) throw tooMany()
    return rows.flatMap(({ key }) => {
      if (key === null) return []
      const [total, issued_at, uuid] = JSON.parse(key) as Key
      return { total: totalOf(total), issued_at, uuid, planned }
    })
  })
}

/** The documents of a page in its order. One call, none when they are read already. */
async function itemsOf(asked: SearchInput, page: readonly Candidate[]): Promise<PageItem[]> {
  const isRead = (one: Candidate): one is Candidate & { item: PageItem } => one.item !== undefined
  if (page.every(isRead)) return page.map(({ item }) => item)
  const scans = [...new Set(page.map(({ planned }) => planned))].flatMap((planned) => {
    const uuid = page.filter((one) => one.planned === planned).map((one) => one.uuid)
    return scansOf({ ...asked, filters: { ...asked.filters, uuid } }, planned, START, uuid.length, MOST_SORTED)
  })
  const { found } = await readScans(asked, scans, false, { statements: [], take: () => {} })
  const byUuid = new Map(found.map((item) => [item.row.uuid, item]))
  return page.flatMap(({ uuid }) => byUuid.get(uuid) ?? [])
}
