import { bytesOfObject } from '../../../platform/bytes/bytes.ts'
import type { System } from '../../../platform/context.ts'
import { changesOf } from '../../../platform/db/statement.ts'
import { Unavailable } from '../../../platform/failures.ts'
import { clock } from '../../../platform/time/clock.ts'
import type { Efirma } from '../../efirma/efirma.ts'
import { documentsOfFetch, stepOfFetch } from '../../fetcher/fetched.ts'
import {
  AuthorityFailed,
  type DownloadRequest,
  type Login,
  LoginRejected,
  type Package,
  type Step,
  type TaxAuthority,
} from '../../port/authority.ts'
import { satLogins } from '../send.ts'
import { announceConversations } from './conversation.ts'
import { BEHIND_MS, isWithin } from './rules/periods.ts'
import { hasBegun, isDelayed, isLessAnnounced, isObtainable, listsOf, progressOf } from './rules/plan.ts'
import { type AuthorityRequest, deadlineOf, isShort, packageKey, type WantedMonth } from './rules/requests.ts'
import { makeDue, noteRefusal, readConversation } from './store.ts'

/** The runs that an organization starts together request their months within this time, so that one request asks for them. */
const GATHERING_MS = 5_000

/** How much longer a job waits than its first requests: XML without metadata is asked for some hours later. */
const AFTER_REQUESTS_MS = 5 * 60 * 60_000

const none = () => Promise.reject(new Unavailable('sat_unavailable', 'The web services of the tax authority have no mailbox.'))

export const efirmaOf = (login: Login): Efirma | null => ('efirma' in login ? login.efirma : null)

/** The real authority. The conversation (conversation.ts) does a download; a step looks at its progress. */
export const satAuthority = (system: System): TaxAuthority => ({
  ...satLogins(system),
  async step(request: DownloadRequest): Promise<Step> {
    const { shard, entity, login, direction, month, asked_at, is_complete, is_interactive } = request
    const ledger = system.settings.ledgers[shard]!
    const factor = system.settings.authorityWaitFactor
    const efirma = efirmaOf(login)
    if (efirma === null) return stepOfFetch(system, request)
    const wanted: WantedMonth = {
      source: direction === 'issued' ? 'sat_cfdi_issued' : 'sat_cfdi_received',
      ...{ month, asked_at: asked_at.getTime(), is_complete, is_interactive },
    }
    const { conversation, requests } = await readConversation(ledger, entity, wanted.source)
    if (conversation?.refused === efirma.certificate.number) {
      await changesOf(ledger, noteRefusal(entity, null))
      throw new LoginRejected()
    }
    const progress = progressOf(wanted, requests)
    const { state, failed, requests: own } = progress
    // Metadata that earlier runs asked for says how things are now.
    const since = own.map((one) => one.asked_at).filter((at) => at >= wanted.asked_at)
    const until = new Date(Math.min(...(since.length === 0 ? [wanted.asked_at] : since)) - BEHIND_MS)
    const packages = () => packagesOf(system, entity, month, own, state === 'waiting' ? null : failed)
    // Documents of one family are taken in, even when the other one is not delivered.
    if (state === 'ready' || (state === 'failed' && own.length > 0)) {
      const isListed = !progress.isUnlisted && !own.some(isShort) && !isLessAnnounced(wanted, requests)
      const is_whole = isListed && (is_complete || isObtainable(wanted)) && hasBegun(wanted)
      return { state: 'ready', until, is_whole, packages: packages() }
    }
    if (state === 'failed') throw failureOf(failed!)
    if (state === 'unplanned' || conversation?.due_at == null) {
      const due_at = clock.now() + GATHERING_MS
      if (await makeDue(ledger, entity, due_at)) await announceConversations(system, [{ shard, entity }], due_at)
    }
    // Its requests end the wait before.
    const ask_again_at = new Date(deadlineOf(clock.now(), factor) + Math.ceil(AFTER_REQUESTS_MS * factor))
    const part = isDelayed(progress, request.until.getTime(), factor)
      ? { until, packages: packages(), lists: listsOf(progress) }
      : undefined
    return { state: 'waiting', ask_again_at, ...(part && { part }) }
  },
  async documents(request) {
    if ('ciec' in request.login) return documentsOfFetch(system, request)
    throw new AuthorityFailed('login_failed', 'With an e.firma the tax authority delivers CFDIs only.')
  },
  mailbox: { list: none, open: none, document: none },
})

/** The packages that have documents of a month. */
async function* packagesOf(
  { env }: System,
  entity: number,
  month: string,
  requests: readonly AuthorityRequest[],
  failed: AuthorityRequest | null,
): AsyncGenerator<Package, void, undefined> {
  for (const request of requests) {
    const { n, kind, family, months, packages } = request
    const shared = {
      family,
      is_last: months.at(-1) === month,
      is_short: isShort(request),
      isAsked: (time: string) => months.includes(time.slice(0, 7)) || isWithin(time, request),
    }
    for (const [k, { size, unannounced = [] }] of packages.entries()) {
      const bytes = bytesOfObject(env.FILES, packageKey(entity, n, k), size!)
      try {
        yield { kind, bytes, shared: { unannounced, ...shared } }
      } finally {
        bytes.rest()
      }
    }
  }
  if (failed) throw failureOf(failed)
}

const failureOf = ({ code, message }: AuthorityRequest): AuthorityFailed =>
  new AuthorityFailed(
    code === '5001' ? 'login_failed' : /^30\d$/.test(code ?? '') ? 'internal_error' : 'sat_unavailable',
    `The tax authority does not deliver what it was asked for: ${code ?? ''} ${message ?? ''}`.trim(),
  )
