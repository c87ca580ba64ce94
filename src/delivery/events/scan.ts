/** Rows that the first call of a page examines when no index serves its filter, and those of each following one. */
export const SCAN_ROWS = 500
const NEXT_ROWS = 1_500

/** Rows that a page examines: it is short, or empty, only when more rows than these do not pass its filter. */
const MOST_SCANNED = 5_000

/** Consecutive rows, each with 1 for whether it passes the filter; 0 or null, as SQL compares an absent value, if it does not. */
export interface Scan<Row> {
  rows: (Row & { is_match: number | null })[]
  /** Whether no rows follow. */
  isLast: boolean
}

export async function scan<Row>(query: D1PreparedStatement, limit: number): Promise<Scan<Row>> {
  const { results } = await query.all<Scan<Row>['rows'][number]>()
  return { rows: results, isLast: results.length < limit }
}

/** What a page of a scan has. */
interface ScannedPage<Row> {
  matches: Row[]
  /** The row after which the next page begins; undefined on the last page. */
  last: Row | undefined
  /** The last row that was examined. */
  end: Row | undefined
}

/**
 * Reads the first rows that match, at most `limit`, as far as `MOST_SCANNED` rows reach. `read` examines at least so many rows after one;
 * `first` of them in the first call.
 */
export async function fillPage<Row>(
  limit: number,
  first: number,
  read: (after: Row | undefined, rows: number) => Promise<Scan<Row>>,
): Promise<ScannedPage<Row>> {
  const rows: Scan<Row>['rows'] = []
  for (let take = first; ; take = NEXT_ROWS) {
    const found = await read(rows.at(-1), Math.max(take, limit + 1))
    rows.push(...found.rows)
    const matches = rows.filter(({ is_match }) => is_match === 1)
    const end = rows.at(-1)
    if (matches.length > limit) return { matches: matches.slice(0, limit), last: rows[rows.indexOf(matches[limit]!) - 1], end }
    if (found.isLast || rows.length >= MOST_SCANNED) return { matches, last: found.isLast ? undefined : end, end }
  }
}
