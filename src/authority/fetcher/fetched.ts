import { bytesOfObject } from '../../platform/bytes/bytes.ts'
import type { System } from '../../platform/context.ts'
import { changesOf } from '../../platform/db/statement.ts'
import { Unavailable } from '../../platform/failures.ts'
import { clock } from '../../platform/time/clock.ts'
import {
  AuthorityFailed,
  type DocumentsRequest,
  type DocumentsStep,
  type DownloadRequest,
  type Package,
  type Step,
} from '../port/authority.ts'
import { deleteFetch, dropFetch, type FetchKey, offer, readFetch } from './fetches.ts'
import { deleteUploads, type FetchError, type FetchedList, type FetchRow, filesOf, filesOfKind } from './states.ts'

/** How long a job waits for a fetcher. */
const SLOW_LIMIT_MS = 7 * 86_400_000

/** The download of a month with a CIEC, by an external fetcher. */
export async function stepOfFetch(system: System, request: DownloadRequest): Promise<Step> {
  const { direction, month } = request
  const row = await broughtFor(system, request, direction === 'issued' ? 'sat_cfdi_issued' : 'sat_cfdi_received', month)
  if (row.state === 'waiting') return row
  return { state: 'ready', until: new Date(row.leased_at!), is_whole: row.is_whole === 1, packages: packagesOf(system, request.shard, row) }
}

/** The download of a document source with a CIEC, by an external fetcher. */
export async function documentsOfFetch(system: System, request: DocumentsRequest): Promise<DocumentsStep> {
  const row = await broughtFor(system, request, request.source, '')
  if (row.state === 'waiting') return row
  const files = filesOf(row)
  const content = async (name: string) => {
    const { key } = files[name]!
    const found = await system.env.FILES.get(key)
    if (found === null) throw new Error(`There is no object ${key}.`)
    return found.bytes()
  }
  const { documents, notifications } = JSON.parse(new TextDecoder().decode(await content('list-0'))) as FetchedList
  return {
    state: 'ready',
    files: documents.map((one) => ({ ...one, ...files[`document-${one.n}`]!, read: () => content(`document-${one.n}`) })),
    mailbox: {
      list: async () =>
        notifications.map((one) => ({
          ...one,
          sent_at: new Date(one.sent_at),
          opened_at: one.opened_at === null ? null : new Date(one.opened_at),
        })),
      async document(_, notification) {
        const document = notifications.find((one) => one.notification === notification)?.document
        return document ? { ...document, bytes: await content(`document-${document.n}`) } : null
      },
    },
  }
}

/**
 * The result of a fetcher for a job. The job is offered, and waits until the fetcher has brought it, or says why it cannot. Throws
 * AuthorityFailed where there is no fetcher.
 */
async function broughtFor(
  system: System,
  { shard, entity, asked_at }: Pick<DownloadRequest, 'shard' | 'entity' | 'asked_at'>,
  source: FetchKey['source'],
  month: string,
): Promise<(FetchRow & { state: 'complete' }) | { state: 'waiting'; ask_again_at: Date }> {
  if (system.settings.fetcherKeys === null)
    throw new AuthorityFailed('login_failed', 'The web services of the tax authority take no CIEC, and there is no fetcher.')
  const ledger = system.settings.ledgers[shard]!
  const key = { entity, source, month }
  const asked = asked_at.getTime()
  const row = await readFetch(ledger, key)
  if (row?.state === 'complete' && row.leased_at! >= asked) return row as FetchRow & { state: 'complete' }
  const deadline = asked + SLOW_LIMIT_MS
  if (row?.state === 'failed' && row.leased_at! >= asked) {
    await changesOf(ledger, deleteFetch(row.fetch))
    throw failureOf(row.error_class as FetchError)
  }
  if (deadline <= clock.now()) {
    if (row) await changesOf(ledger, deleteFetch(row.fetch))
    throw new AuthorityFailed('sat_unavailable', 'No fetcher brought the documents in seven days.')
  }
  if (row === null || row.state === 'complete' || row.state === 'failed') await changesOf(ledger, offer(key, asked))
  return { state: 'waiting', ask_again_at: new Date(deadline) }
}

const MESSAGE = 'The fetcher could not download from the portal of the tax authority.'

function failureOf(error: FetchError): Error {
  if (error === 'not_delivered')
    return new AuthorityFailed('sat_unavailable', 'The portal of the tax authority does not deliver the documents.')
  if (error === 'account_locked') return new Unavailable('login_failed', MESSAGE, true)
  return new Unavailable(error, MESSAGE)
}

async function* packagesOf(system: System, shard: number, row: FetchRow): AsyncGenerator<Package, void, undefined> {
  const { env, settings } = system
  // The month is offered again: another attempt with the same bytes would end alike.
  const discard = async () => {
    await changesOf(settings.ledgers[shard]!, dropFetch(row.fetch, row.token!))
    await deleteUploads(system, row)
  }
  for (const kind of ['metadata', 'xml'] as const)
    for (const { key, size } of filesOfKind(row, kind)) yield { kind, bytes: bytesOfObject(env.FILES, key, size), discard }
}
