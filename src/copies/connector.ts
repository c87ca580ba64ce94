import { type Ctx, eventsOf, type System } from '../platform/context.ts'
import { openText, sealText } from '../platform/crypto/keyring.ts'
import { commit, connect, type Database } from '../platform/db/commit.ts'
import { notFound } from '../platform/failures.ts'
import { pageByPage } from '../platform/work/pages.ts'
import type { Learned } from './drivers/adapters.ts'
import { type Destination, DestinationError } from './drivers/port.ts'
import type { ConnectorCredentials, ConnectorScope, DestinationSettings, DestinationSpec } from './provider-contract.ts'
import {
  type ConnectorRow,
  type CountedConnector,
  findConnector,
  keepDrive,
  listOutdatedCredentials,
  replaceCredentials,
  rewrapStatement,
} from './store.ts'
import { withPrefix } from './template.ts'

/** The connector that credentials belong to. Credentials sealed for one connector cannot be opened for another. */
interface CredentialsHolder {
  organization_id: string
  connector_id: string
}

const contextOf = ({ settings }: System, { organization_id, connector_id }: CredentialsHolder): string =>
  JSON.stringify(['storage-connector', settings.environment, organization_id, connector_id])

async function open(system: System, holder: CredentialsHolder, sealed: string): Promise<string> {
  const opened = await openText(system.settings.ciecKeys, sealed, contextOf(system, holder))
  if (opened === null) throw new Error(`The credentials of ${holder.connector_id} cannot be opened with any key of CIEC_KEYS.`)
  return opened
}

/** Encrypts credentials for storage. */
export const sealCredentials = (system: System, holder: CredentialsHolder, credentials: ConnectorCredentials): Promise<string> =>
  sealText(system.settings.ciecKeys, JSON.stringify(credentials), contextOf(system, holder))

/** Decrypts the credentials of a connector. Throws when no configured key opens them. */
export const openCredentials = async (system: System, row: CredentialsHolder & { credentials: string }): Promise<ConnectorCredentials> =>
  JSON.parse(await open(system, row, row.credentials)) as ConnectorCredentials

/** Returns a connector of the organization. Throws Failure 404 storage_connector.not_found. */
export async function requireConnector(ctx: Ctx, connector_id: string): Promise<CountedConnector> {
  const row = await findConnector(eventsOf(ctx), ctx.organization, connector_id)
  if (!row) throw notFound('storage_connector')
  return row
}

export const configOf = (row: Pick<ConnectorRow, 'config'>) => JSON.parse(row.config) as DestinationSettings['config']

export const scopeOf = (row: Pick<ConnectorRow, 'scope'>) => JSON.parse(row.scope) as ConnectorScope

type Opened = Pick<
  ConnectorRow,
  'connector' | 'connector_id' | 'organization_id' | 'provider' | 'config' | 'credentials' | 'credentials_version'
>

/** How long the end of a turn waits for work under way: the platform soon ends work that continues after its message is acknowledged. */
const GRACE_MS = 12_000

async function limited<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const clock = setTimeout(() => reject(new DestinationError('timeout', 'The destination did not store an object in time.')), milliseconds)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(clock)
  }
}

/**
 * Opens the destination of a connector in its events shard. Paths are relative to its prefix. Stores credentials with which the provider
 * replaces these, and the drive of the account, which becomes a part of the row's config.
 */
export async function openDestination(system: System, d1: D1Database, row: Opened): Promise<Destination> {
  const config = configOf(row)
  const spec = { provider: row.provider, config, credentials: await openCredentials(system, row) } as DestinationSpec
  const store = async (learned: Learned): Promise<void> => {
    if ('drive_id' in learned) {
      await commit(d1, [keepDrive(row, learned.drive_id)])
      row.config = JSON.stringify({ ...config, ...learned })
    } else {
      const sealed = await sealCredentials(system, row, learned.credentials as ConnectorCredentials)
      await commit(d1, [replaceCredentials(row, sealed)])
    }
  }
  const network = {
    publicHosts: system.settings.publicHosts,
    fetch: (url: string, init: RequestInit) => system.env.STORAGE_EGRESS.fetch(url, init),
  }
  const { destinationOf } = await import('./drivers/adapters.ts')
  const destination = destinationOf(network, spec, store)
  const placed = (path: string) => withPrefix(config.prefix, path)
  return {
    put: (path, object) => limited(system.budget.left + GRACE_MS, destination.put(placed(path), object)),
    read: (path) => destination.read(placed(path)),
    remove: (path) => destination.remove(placed(path)),
  }
}

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

/** Encrypts the same credentials under the current key. */
const rewrap = async (system: System, { $client }: Database, row: ConnectorRow) =>
  commit($client, [rewrapStatement(row, await sealCredentials(system, row, await openCredentials(system, row)))])
