import { Unavailable } from '../../failures.ts'
import { bytesOfObject } from '../../platform/bytes/bytes.ts'
import type { System } from '../../platform/context.ts'
import { AuthorityFailed, type DownloadRequest, type Package, type Step } from '../port/authority.ts'
import { deleteFetch, offer, readFetch } from './fetches.ts'
import { type FetchError, type FetchRow, filesOfKind } from './states.ts'

/** How long a job waits for a fetcher. */
const PATIENCE_MS = 7 * 86_400_000

/**
 * The download of a month with a CIEC, by an external fetcher: it is offered, and waits until the fetcher has brought the packages, or says
 * why it cannot. Throws AuthorityFailed where there is no fetcher.
 */
export async function stepOfFetch(system: System, { shard, entity, direction, month, asked_at }: DownloadRequest): Promise<Step> {
  if (system.settings.fetcherKeys === null)
    throw new AuthorityFailed('login_failed', 'The web services of the tax authority take no CIEC, and there is no fetcher.')
  const ledger = system.settings.ledgers[shard]!
  const key = { entity, source: direction === 'issued' ? 'sat_cfdi_issued' : 'sat_cfdi_received', month }
  const asked = asked_at.getTime()
  const row = await readFetch(ledger, key)
  if (row?.state === 'complete' && row.leased_at! >= asked)
    return { state: 'ready', until: new Date(row.leased_at!), is_whole: row.is_whole === 1, packages: packagesOf(system, row) }
  const deadline = asked + PATIENCE_MS
  if (row?.state === 'failed' && row.leased_at! >= asked) {
    await deleteFetch(ledger, row.fetch).run()
    throw failureOf(row.error_class as FetchError)
  }
  if (deadline <= Date.now()) {
    if (row) await deleteFetch(ledger, row.fetch).run()
    throw new AuthorityFailed('sat_unavailable', 'No fetcher brought the documents in seven days.')
  }
  if (row === null || row.state === 'complete' || row.state === 'failed') await offer(ledger, key, asked).run()
  return { state: 'waiting', ask_again_at: new Date(deadline) }
}

const MESSAGE = 'The fetcher could not download from the portal of the tax authority.'

function failureOf(error: FetchError): Error {
  if (error === 'not_delivered')
    return new AuthorityFailed('sat_unavailable', 'The portal of the tax authority does not deliver the documents.')
  if (error === 'account_locked') return new Unavailable('login_failed', MESSAGE, true)
  return new Unavailable(error, MESSAGE)
}

async function* packagesOf({ env }: System, row: FetchRow): AsyncGenerator<Package, void, undefined> {
  for (const kind of ['metadata', 'xml'] as const)
    for (const { key, size } of filesOfKind(row, kind)) yield { kind, bytes: bytesOfObject(env.FILES, key, size) }
}
