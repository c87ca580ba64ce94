import type { System } from '../../platform/context.ts'
import { Unavailable } from '../../platform/failures.ts'
import type { AuthorityLogins } from '../port/authority.ts'
import { DATA_SOURCE_KEYS, type DataSourceKey } from '../port/authority.ts'
import { Unanswered } from './answers.ts'
import type { Send } from './exchange.ts'
import { CertificateRefused, type RateLimiter, satSession } from './session.ts'

/**
 * Sends requests to the authority, out of the service. Locally they arrive at SAT_STAND_IN, with the authority's host in the header Host
 * (platform/egress).
 */
export const sendOf =
  ({ env }: Pick<System, 'env'>): Send =>
  (url, init) =>
    env.EGRESS.fetch(url, init)

/** The authority gets at most one request in 2 seconds for an RFC. The rest allows for differing clocks and connections. */
const APART_SECONDS = 2.5
/** In milliseconds, after an answer: a request may be on its way for longer than the next one. */
const AFTER_ANSWER_MS = 2_050
/** When RFCs were answered last in this isolate. */
const answers = new Map<string, number>()
/** In milliseconds: how long a request waits for its turn. */
const SLOW_LIMIT_MS = 30_000

/** The rate limiter of an RFC, which all invocations share, and which a crash leaves as it is. A turn throws Unavailable after 30 seconds. */
export const rateLimiterOf = ({ env }: Pick<System, 'env'>, rfc: string): RateLimiter => ({
  async turn() {
    const rest = (answers.get(rfc) ?? 0) + AFTER_ANSWER_MS - Date.now()
    if (rest > 0) await scheduler.wait(rest)
    const cooldown = env.COOLDOWNS.getByName(`sat:${rfc}`)
    for (const until = Date.now() + SLOW_LIMIT_MS; ; ) {
      const turn = await cooldown.acquire(APART_SECONDS, Date.now())
      if (turn.acquired) return
      if (Date.now() > until) throw new Unavailable('rate_limited', 'The tax authority is being asked about this RFC too often.')
      await scheduler.wait(turn.retry_after_seconds * 1000)
    }
  },
  answered() {
    const now = Date.now()
    for (const [other, at] of answers) if (at + AFTER_ANSWER_MS < now) answers.delete(other)
    answers.set(rfc, now)
  },
})

const CFDI: readonly DataSourceKey[] = ['sat_cfdi_issued', 'sat_cfdi_received']

const sourcesOf = ({ settings: { fetcherKeys, fetcherSources } }: System): readonly DataSourceKey[] =>
  fetcherKeys === null
    ? CFDI
    : DATA_SOURCE_KEYS.filter((key) => fetcherSources === null || CFDI.includes(key) || fetcherSources.includes(key))

/**
 * The logins of the real authority, by its web services. They take e.firmas only, and deliver CFDIs only. A fetcher brings the other sources from
 * the authority's portal, with a CIEC.
 */
export const satLogins = (system: System): AuthorityLogins => ({
  sources: sourcesOf(system),
  kinds: ['efirma'],
  documentKind: 'ciec',
  answersMailbox: false,
  async verify(login) {
    if (!('efirma' in login))
      throw new Unavailable('sat_unavailable', 'The web services of the tax authority take no CIEC, only an e.firma.')
    try {
      await satSession(sendOf(system), login.efirma, rateLimiterOf(system, login.rfc)).login('cfdi')
      return true
    } catch (error) {
      if (error instanceof CertificateRefused) return false
      if (error instanceof Unanswered) throw new Unavailable('sat_unavailable', error.message)
      throw error
    }
  },
})
