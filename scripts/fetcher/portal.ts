import type { DataSourceKey } from '../../src/authority/port/authority.ts'
import { type DocumentFile, type Login, LoginRejected, type Package } from '../../src/authority/port/authority.ts'
import { isPending, type MailboxNotification } from '../../src/authority/port/mailbox.ts'
import { sandboxAuthority } from '../../src/authority/sandbox/sandbox.ts'
import type { Bytes } from '../../src/platform/bytes/bytes.ts'
import { Unavailable } from '../../src/platform/failures.ts'
import type { Completion, FetcherClient, Leased } from './client.ts'

/** The portal of an authority that generates its taxpayers, as the sandbox does: a CIEC that begins with `rejected` is refused. */
const portal = sandboxAuthority({
  isRefused: async () => false,
  cancellations: async () => new Map(),
  mailbox: async () => ({ sent: [], opened: new Map() }),
  open: async (_rfc, _notification, at) => at,
})

/** What the portal delivers of a month. Throws LoginRejected and Unavailable. */
async function* packagesOf(login: Login, source: string, month: string): AsyncGenerator<Package, void, undefined> {
  const now = new Date()
  const direction = source === 'sat_cfdi_issued' ? 'issued' : 'received'
  const request = {
    shard: 0,
    entity: 0,
    login,
    direction,
    month,
    until: now,
    asked_at: now,
    is_complete: false,
    is_interactive: false,
  } as const
  const step = await portal.step(request)
  if (step.state === 'ready') yield* step.packages
}

/** A copy, because the generator overwrites the bytes with those of the next package. */
const wholeOf = async (bytes: Bytes): Promise<Uint8Array> => (await bytes.read(0, bytes.size)).slice()

/** Uploads the packages of a month. Returns what completes its lease. */
async function bringMonth(client: FetcherClient, lease: Leased, login: Login): Promise<Completion> {
  const counts = { metadata: 0, xml: 0 }
  for await (const { kind, bytes } of packagesOf(login, lease.source!, lease.month!)) {
    await client.upload(lease, kind, counts[kind]++, await wholeOf(bytes))
    await client.renew(lease)
  }
  return counts
}

/** Uploads the documents of a source, and with sat_miinformacion those of the tax mailbox. Returns what completes the lease. */
async function bringDocuments(client: FetcherClient, lease: Leased, login: Login): Promise<Completion> {
  const now = new Date()
  const source = lease.source as DataSourceKey
  const step = await portal.documents({ shard: 0, entity: 0, login, source, now, asked_at: now })
  const files: readonly DocumentFile[] = step.state === 'ready' ? step.files : []
  let uploads = 0
  /** Uploads a document, and returns what the list says of it. */
  const bring = async (bytes: Uint8Array, { name, content_type }: { name: string; content_type: string }) => {
    const n = uploads++
    const sha256 = await client.uploadDocument(lease, n, bytes)
    await client.renew(lease)
    return { n, sha256, rfc: lease.rfc, name, content_type }
  }
  const documents = []
  for (const { read, name, content_type, kind, series, title, document_date, period_end, attributes, fields } of files)
    documents.push({
      ...(await bring(await read(), { name, content_type })),
      kind,
      series,
      title,
      document_date,
      period_end,
      attributes,
      fields,
    })
  const notifications = []
  for (const one of source === 'sat_miinformacion' ? await portal.mailbox.list(login, now) : [])
    notifications.push({ ...one, document: await letterFor(one) })
  return { documents, notifications }

  /** The document of a notification, unless it would have to be opened for it. */
  async function letterFor(one: MailboxNotification) {
    const letter = one.document_kind === null || isPending(one, now) ? null : await portal.mailbox.document(login, one.notification, now)
    return letter && bring(letter.bytes, letter)
  }
}

/** Leases a job and does it. Returns whether there was one. */
export async function fetchOnce(client: FetcherClient): Promise<boolean> {
  const lease = await client.lease()
  if (lease === null) return false
  const { rfc, ciec } = lease
  let completion: Completion
  try {
    if (!(await portal.verify({ rfc, ciec }))) throw new LoginRejected()
    completion =
      lease.task === 'month'
        ? await bringMonth(client, lease, { rfc, ciec })
        : lease.task === 'documents'
          ? await bringDocuments(client, lease, { rfc, ciec })
          : {}
  } catch (error) {
    const error_class = error instanceof LoginRejected ? 'login_rejected' : error instanceof Unavailable ? classOf(error) : null
    if (error_class === null) throw error
    await client.fail(lease, error_class)
    return true
  }
  await client.complete(lease, completion)
  return true
}

const classOf = ({ isLocked, error_class }: Unavailable): string =>
  isLocked || error_class === 'login_failed' ? 'account_locked' : error_class
