/** What every list answers. */
export interface Page<Row> {
  data: readonly Row[]
  has_more: boolean
  next_cursor: string | null
}

/**
 * The pages of a list, one after the other. `read` gets the cursor of each, which is undefined for the first:
 * `pages((cursor) => api.searchCfdi({ query: { fiscal_entity_id, cursor } }))`.
 */
export async function* pages<P extends Page<unknown>>(
  read: (cursor: string | undefined) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  let cursor: string | undefined
  do {
    const page = await read(cursor)
    yield page
    cursor = page.has_more ? (page.next_cursor ?? undefined) : undefined
  } while (cursor !== undefined)
}

/** The rows of all pages of a list. */
export async function* rows<Row>(read: (cursor: string | undefined) => Promise<Page<Row>>): AsyncGenerator<Row, void, undefined> {
  for await (const page of pages(read)) yield* page.data
}
