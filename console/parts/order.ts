/** The heading that was pressed last. */
export interface Order {
  name: string
  isDown: boolean
}

interface Sortable<Row> {
  name: string
  by?: (row: Row) => string | number | null
}

/** The rows in the order of a column: figures by their size, also those that are text, and texts by the alphabet. */
export function inOrder<Row>(rows: readonly Row[], columns: readonly Sortable<Row>[], order: Order | null): readonly Row[] {
  const by = columns.find(({ name }) => name === order?.name)?.by
  if (!by || !order) return rows
  const sign = order.isDown ? -1 : 1
  return rows.toSorted((one, other) => {
    const [a, b] = [by(one), by(other)]
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return sign * (Number(a) - Number(b) || String(a).localeCompare(String(b)))
  })
}
