import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { configOf } from './connector.ts'
import { openCredentials, sealCredentials } from './credentials.ts'
import type { DestinationSpec, Learned } from './drivers/adapters.ts'
import { type Destination, DestinationError } from './drivers/port.ts'
import type { Destinations, SessionAnswer } from './drivers/session.ts'
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
 * Opens the destination of a connector in its events shard, in the Worker of destinations/; whoever opens it disposes of it. Paths are
 * relative to its prefix. Credentials that the provider issues in the place of those are stored, and the drive of the account, which becomes
 * a part of the row's config.
 */
export async function openDestination(system: System, d1: D1Database, row: Opened): Promise<Destination & Disposable> {
  const config = configOf(row)
  const spec = { provider: row.provider, config, credentials: await openCredentials(system, row) } as DestinationSpec
  const failure: { error?: unknown } = {}
  const store = async (learned: Learned): Promise<void> => {
    if ('drive_id' in learned) {
      await commit(d1, [keepDrive(d1, row, learned.drive_id)])
      row.config = JSON.stringify({ ...config, ...learned })
    } else {
      const sealed = await sealCredentials(system, row, learned.credentials as ConnectorCredentials)
      await commit(d1, [replaceCredentials(d1, row, sealed)])
    }
  }
  const keep = (learned: Learned): Promise<void> =>
    store(learned).catch((error: unknown) => {
      failure.error = error
      throw new Error('What the driver has learned was not stored.')
    })
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
      limited(
        system.budget.left + GRACE_MS,
        resultOf(session.put(placed(path), { ...object, bytes: bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes })),
      ),
    read: (path) => resultOf(session.read(placed(path))),
    remove: (path) => resultOf(session.remove(placed(path))),
    [Symbol.dispose]: () => session[Symbol.dispose](),
  }
}
