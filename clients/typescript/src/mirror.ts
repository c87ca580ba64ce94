import type { CfdiChanges } from './api/index.js'

type Change = CfdiChanges['data'][number]

/** What changed, and the cursor to keep in the same transaction as what was made of it. */
export interface MirroredChanges {
  changes: readonly Change[]
  cursor: string
}

interface ChangesReader {
  listCfdiChanges(options: { query: { fiscal_entity_id: string; cursor?: string; limit: number } }): Promise<CfdiChanges>
}

/**
 * Everything that became readable or changed since `cursor`, from the beginning without one, until there is nothing more. Store each
 * batch's changes and its cursor together: what is repeated after a crash is the same, and nothing is lost. A change with the reason
 * `removed` has the UUID alone.
 */
export async function* mirror(
  api: ChangesReader,
  fiscal_entity_id: string,
  { cursor, limit = 100 }: { cursor?: string | undefined; limit?: number } = {},
): AsyncGenerator<MirroredChanges, void, undefined> {
  for (let at = cursor; ; ) {
    const answer = await api.listCfdiChanges({ query: { fiscal_entity_id, limit, ...(at !== undefined && { cursor: at }) } })
    yield { changes: answer.data, cursor: answer.next_cursor }
    if (!answer.has_more) return
    at = answer.next_cursor
  }
}
