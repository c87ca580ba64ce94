import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { configOf } from './connector.ts'
import { openCredentials, sealCredentials } from './credentials.ts'
import type { DestinationSpec, Learned } from './drivers/adapters.ts'
import { type Destination, DestinationError } from './drivers/port.ts'
import type { ConnectorCredentials } from './provider-contract.ts'
import { type ConnectorRow, keepDrive, replaceCredentials } from './store.ts'
import { withPrefix } from './template.ts'

type Opened = Pick<
  ConnectorRow,
  'connector' | 'connector_id' | 'organization_id' | 'provider' | 'config' | 'credentials' | 'credentials_version'
>

/** What is under way at the end of a turn is waited for so long: the platform soon ends what goes on after a message was acknowledged. */
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
 * Opens the destination of a connector in its events shard. Paths are relative to its prefix. Credentials that the provider issues in the place of those are stored, and the drive of the account, which becomes
 * a part of the row's config.
 */
export async function openDestination(system: System, d1: D1Database, row: Opened): Promise<Destination> {
  const config = configOf(row)
  const spec = { provider: row.provider, config, credentials: await openCredentials(system, row) } as DestinationSpec
  const store = async (learned: Learned): Promise<void> => {
    if ('drive_id' in learned) {
      await commit(d1, [keepDrive(d1, row, learned.drive_id)])
      row.config = JSON.stringify({ ...config, ...learned })
    } else {
      const sealed = await sealCredentials(system, row, learned.credentials as ConnectorCredentials)
      await commit(d1, [replaceCredentials(d1, row, sealed)])
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
