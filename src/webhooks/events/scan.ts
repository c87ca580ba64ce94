/** Number of rows that one page examines when no index serves its filter: the page may then be short although more rows follow. */
export const SCAN_ROWS = 500

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

/** Returns the first rows that match, at most `limit`, and the row after which the next page begins; undefined on the last page. */
export function pageOfScan<Row>({ rows, isLast }: Scan<Row>, limit: number): { matches: Row[]; last: Row | undefined } {
  const matches: Row[] = []
  for (const [n, row] of rows.entries()) {
    if (row.is_match !== 1) continue
    if (matches.length === limit) return { matches, last: rows[n - 1] }
    matches.push(row)
  }
  return { matches, last: isLast ? undefined : rows.at(-1) }
}
