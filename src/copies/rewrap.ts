import type { System } from '../platform/context.ts'
import { connect, type Database } from '../platform/db/commit.ts'
import { pageByPage } from '../platform/work/pages.ts'
import { resealCredentials } from './connector.ts'
import { type ConnectorRow, listOutdatedCredentials, rewrapStatement } from './store.ts'

const PAGE = 100

/**
 * Encrypts all credentials with the current key, so that older keys can leave the keyring. Those that cannot be opened do not stop the
 * others. A task, whose cursor is the shard and the number of the last connector.
 */
export const rewrapCredentials = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, PAGE + 1, cursor, async (from, fail) => {
    const { events, ciecKeys } = system.settings
    const [shard = 0, after = 0] = from === '' ? [] : from.split('.').map(Number)
    const db = connect(events[shard]!)
    const rows = await listOutdatedCredentials(db, ciecKeys.current.version, after, PAGE)
    for (const row of rows)
      await rewrap(system, db, row).catch((error: unknown) =>
        fail(new Error(`The credentials of ${row.connector_id} are still encrypted with an older key.`, { cause: error })),
      )
    if (rows.length === PAGE) return `${shard}.${rows.at(-1)!.connector}`
    return shard + 1 < events.length ? `${shard + 1}.0` : null
  })

const rewrap = async (system: System, { $client }: Database, row: ConnectorRow) =>
  rewrapStatement($client, row, await resealCredentials(system, row)).run()
