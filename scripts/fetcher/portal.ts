import { LoginRejected, type Package } from '../../src/authority/port/authority.ts'
import type { SandboxDocuments } from '../../src/authority/sandbox/documents/port.ts'
import { sandboxAuthority } from '../../src/authority/sandbox/sandbox.ts'
import { Unavailable } from '../../src/failures.ts'
import type { Bytes } from '../../src/platform/bytes/bytes.ts'
import type { FetcherClient, Leased } from './client.ts'

const NO_DOCUMENTS: SandboxDocuments = { files: async () => [] } as never

/** The portal of an authority that generates its taxpayers, as the sandbox does: a CIEC that begins with `rejected` is refused. */
const portal = sandboxAuthority(
  {
    isRefused: async () => false,
    cancellations: async () => new Map(),
    mailbox: async () => ({ sent: [], opened: new Map() }),
    open: async (_rfc, _notification, at) => at,
  },
  NO_DOCUMENTS,
)

/** Logs in, and returns what the portal delivers of a month, if one is leased. Throws LoginRejected and Unavailable. */
async function* packagesOf({ rfc, ciec, source, month }: Leased): AsyncGenerator<Package, void, undefined> {
  if (!(await portal.verify({ rfc, ciec }))) throw new LoginRejected()
  if (month === null) return
  const now = new Date()
  const direction = source === 'sat_cfdi_issued' ? 'issued' : 'received'
  const request = { shard: 0, entity: 0, login: { rfc, ciec }, direction, month, until: now, asked_at: now, is_complete: false } as const
  const step = await portal.step(request)
  if (step.state === 'ready') yield* step.packages
}

/** A copy, because the generator overwrites the bytes with those of the next package. */
const wholeOf = async (bytes: Bytes): Promise<Uint8Array> => (await bytes.read(0, bytes.size)).slice()

/** Leases a job and does it. Returns whether there was one. */
export async function fetchOnce(client: FetcherClient): Promise<boolean> {
  const lease = await client.lease()
  if (lease === null) return false
  const counts = { metadata: 0, xml: 0 }
  try {
    for await (const { kind, bytes } of packagesOf(lease)) {
      await client.upload(lease, kind, counts[kind]++, await wholeOf(bytes))
      await client.renew(lease)
    }
  } catch (error) {
    const error_class = error instanceof LoginRejected ? 'login_rejected' : error instanceof Unavailable ? classOf(error) : null
    if (error_class === null) throw error
    await client.fail(lease, error_class)
    return true
  }
  await client.complete(lease, counts)
  return true
}

const classOf = ({ isLocked, error_class }: Unavailable): string =>
  isLocked || error_class === 'login_failed' ? 'account_locked' : error_class
