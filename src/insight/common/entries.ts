import { fixed } from '../../cfdi/decimal.ts'
import type { Micros } from '../../cfdi/money.ts'
import { parseSum } from '../../cfdi/population/sums.ts'
import type { Ctx } from '../../platform/context.ts'
import { type Fragment, prepared, raw, sql } from '../../platform/db/fragment.ts'
import { type CursorScope, openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import type { ScopedLedger } from '../../visibility/scoped-ledger.ts'
import type { Entry } from './contract.ts'

/** A document behind a figure and what it applies to, as SQL has it. */
export interface PairRow {
  uuid: string
  applies_to: string | null
  issued_at: number
  /** For `parseSum`. */
  amount: string
  /** The rows of the pair, and a JSON list of what is to be measured of them. */
  n: number
  odds: string
}

type Place = [issued_at: number, uuid: string, applies_to: string]

/**
 * Groups rows by pair, in the order of entries, and cuts a page. `rows` selects uuid, applies_to, issued_at, amount in micros, is_odd and
 * as_json, what is to be measured when it is odd.
 */
const pairs = (rows: Fragment, after: Place | undefined, limit: number, keepsZeros: boolean): Fragment => sql`
  select uuid, applies_to, issued_at, count(*) as n, group_concat(iif(is_odd, '0', amount), '+') as amount,
    json_group_array(json(as_json)) filter (where is_odd) as odds
  from (${rows}) where ${raw(keepsZeros ? '1' : "(is_odd or amount <> '0')")}
    ${after ? sql`and (issued_at, uuid, coalesce(applies_to, '')) < (${after[0]}, ${after[1]}, ${after[2]})` : raw('')}
  group by issued_at, uuid, coalesce(applies_to, '')
  order by issued_at desc, uuid desc, coalesce(applies_to, '') desc limit ${raw(String(limit))}`

const placeOf = ({ issued_at, uuid, applies_to }: PairRow): Place => [issued_at, uuid, applies_to ?? '']
const isBefore = (a: Place, b: Place): boolean => a[0] > b[0] || (a[0] === b[0] && (a[1] > b[1] || (a[1] === b[1] && a[2] > b[2])))

/**
 * Returns a page of the documents behind a figure, newest first. Takes one call. `measureAll` measures what SQL leaves to it: it returns what
 * an item of `as_json` adds, or null when it does not belong to the figure. `keepsZeros` lists what adds nothing too, for counts. A page may be
 * shorter than its limit. Throws Failure 400 cursor.invalid.
 */
export async function listEntries<Odd>(
  ctx: Ctx,
  ledger: ScopedLedger,
  list: string,
  { limit, cursor, ...filters }: { limit: number; cursor?: string | undefined },
  streams: readonly Fragment[],
  measureAll: (odds: readonly Odd[]) => Promise<(odd: Odd) => Micros | null>,
  keepsZeros = false,
): Promise<Page<Entry>> {
  const scope: CursorScope = { list, filters: { ...filters, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as Place | undefined
  const statements = streams.map((rows) => prepared(ledger.d1, pairs(rows, after, limit + 1, keepsZeros)))
  const results = statements.length === 0 ? [] : await ledger.d1.batch<PairRow>(statements)
  const rows = results.flatMap((one) => one.results).sort((a, b) => (isBefore(placeOf(a), placeOf(b)) ? -1 : 1))
  const page = rows.slice(0, limit).map((row) => ({ row, odds: JSON.parse(row.odds) as Odd[] }))
  const measured = await measureAll(page.flatMap(({ odds }) => odds))
  const data = page.flatMap(({ row: { uuid, applies_to, amount, n }, odds }) => {
    const parts = odds.flatMap((odd) => measured(odd) ?? [])
    const sum = parts.reduce((all, part) => all + part, parseSum(amount))
    const isKept = keepsZeros ? n > odds.length - parts.length : sum !== 0n
    return isKept ? [{ uuid, amount: fixed(sum, 6), applies_to }] : []
  })
  const last = page.at(-1)
  const has_more = rows.length > limit && last !== undefined
  return { data, has_more, next_cursor: has_more ? await sealCursor(ctx, scope, placeOf(last.row)) : null }
}
