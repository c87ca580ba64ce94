import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { configOf } from './connector.ts'
import { openCredentials, sealCredentials } from './credentials.ts'
import type { DestinationSpec } from './drivers/adapters.ts'
import { type Destination, DestinationError } from './drivers/port.ts'
import type { Destinations, SessionAnswer } from './drivers/session.ts'
import type { ConnectorCredentials } from './provider-contract.ts'
import { type ConnectorRow, replaceCredentials } from './store.ts'
import { withPrefix } from './template.ts'

type Opened = Pick<
  ConnectorRow,
  'connector' | 'connector_id' | 'organization_id' | 'provider' | 'config' | 'credentials' | 'credentials_version'
>

/**
 * Opens the destination of a connector in its events shard, in the Worker of destinations/; whoever opens it disposes of it. Paths are
 * relative to its prefix. Credentials that the provider issues in the place of those are stored.
 */
export async function openDestination(system: System, d1: D1Database, row: Opened): Promise<Destination & Disposable> {
  const config = configOf(row)
  const spec = { provider: row.provider, config, credentials: await openCredentials(system, row) } as DestinationSpec
  const failure: { error?: unknown } = {}
  const keep = async (credentials: object): Promise<void> => {
    try {
      const sealed = await sealCredentials(system, row, credentials as ConnectorCredentials)
      await commit(d1, [replaceCredentials(d1, row, sealed)])
    } catch (error) {
      failure.error = error
      throw new Error('The new credentials were not stored.')
    }
  }
  const session = await (system.env.DESTINATIONS as unknown as Destinations).open(spec, system.settings.publicHosts, keep)
  const resultOf = async <T>(answer: Promise<SessionAnswer<T>>): Promise<T> => {
    const told = await answer.catch((error) => Promise.reject('error' in failure ? failure.error : error))
    if ('ok' in told) return told.ok
    const { code, message, retry_after_seconds } = told.fault
    throw new DestinationError(code, message, retry_after_seconds)
  }
  const placed = (path: string) => withPrefix(config.prefix, path)
  return {
    put: (path, { bytes, ...object }) =>
      // Of a part of a buffer, all of the buffer would cross to the other Worker.
      resultOf(session.put(placed(path), { ...object, bytes: bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes })),
    read: (path) => resultOf(session.read(placed(path))),
    remove: (path) => resultOf(session.remove(placed(path))),
    [Symbol.dispose]: () => session[Symbol.dispose](),
  }
}
