import { Unavailable } from '../../../platform/failures.ts'
import { CertificateRefused, type SatSession } from '../session.ts'
import { Unanswered } from '../unanswered.ts'
import type { HeldConversation, Said } from './held.ts'
import { again, outcomeOfCheck, outcomeOfPackage, outcomeOfRequest, outcomeOfTooLarge, type RequestOutcome } from './rules/outcomes.ts'
import { fromOldest, upToNow } from './rules/plan.ts'
import { type AuthorityRequest, DENIED, packageKey, type RequestPackage, type WantedMonth } from './rules/requests.ts'
import { roundsOf } from './rules/rounds.ts'
import { waitAfter } from './rules/schedule.ts'
import type { Surroundings } from './surroundings.ts'
import { ObjectWriter } from './upload.ts'

/** What an exchange with the authority is about: a request, all others, and since when somebody waits for it. */
export interface Exchange {
  held: HeldConversation
  around: Surroundings
  session: SatSession
  request: AuthorityRequest
  requests: readonly AuthorityRequest[]
  since: number
}

/** What is left of an invocation after a package came, in milliseconds: what was waited for does not count. */
const AFTER_PACKAGE_MS = 20_000

/** How often the lease on the conversation is looked after while a package is waited for, in milliseconds. */
const HOLD_EVERY_MS = 10_000

/** How often the authority delivers a package. */
const MOST_DELIVERIES = 2

/** That there are no documents where there were some is asked again so often, before the month is left to the next run. */
const MOST_DENIED_ROUNDS = 4

/** Whether the authority has told of documents that a metadata request asks for: some are held, or other metadata announces them. */
const isKnownOf = async ({ around, requests, since }: Exchange, request: AuthorityRequest): Promise<boolean> =>
  requests.some(
    ({ kind, family, source, state, announced, asked_at, first, last }) =>
      kind === 'metadata' &&
      family === request.family &&
      source === request.source &&
      state === 'stored' &&
      (announced ?? 0) > 0 &&
      asked_at >= since &&
      first >= request.first &&
      last <= request.last,
  ) || around.holdsAny(request)

/** Records what became of a request. That there are no documents is not believed where there were some: it never makes a month complete. */
async function settle(exchange: Exchange, request: AuthorityRequest, outcome: RequestOutcome, said: Said): Promise<void> {
  const { held, requests, since } = exchange
  held.failures = 0
  if (outcome?.state !== 'empty' || request.kind !== 'metadata' || !(await isKnownOf(exchange, request)))
    return held.record(request, requests, outcome, said)
  const denied = { code: DENIED, message: said.message }
  const rounds = roundsOf({ request, requests, since }, { state: 'replaced', code: DENIED })
  await held.record(request, requests, rounds < MOST_DENIED_ROUNDS ? { state: 'replaced', how: 'later' } : { state: 'stored' }, denied)
}

/** Sends a request. It is noted before, so that its period is known as used whatever happens. Throws CertificateRefused. */
export async function ask(exchange: Exchange, months: readonly WantedMonth[]): Promise<void> {
  const { held, session, request, requests: before } = exchange
  const asked_at = held.now
  const asked = { ...fromOldest(upToNow(request, months, before, asked_at), before, asked_at), attempts: request.attempts + 1 }
  const requests = before.map((one) => (one.n === asked.n ? asked : one))
  const { family, source, kind, first, last, attempts } = asked
  await held.commit([held.update(request, { state: 'asked', first, last, asked_at, attempts })])
  try {
    const answer = await session.request(family, source, {
      TipoSolicitud: kind === 'xml' ? 'CFDI' : 'Metadata',
      ...{ FechaInicial: first, FechaFinal: last },
      EstadoComprobante: kind === 'xml' && source === 'sat_cfdi_received' ? 'Vigente' : 'Todos',
    })
    await settle({ ...exchange, requests }, asked, outcomeOfRequest(answer, attempts), answer)
  } catch (error) {
    const later = held.now + waitAfter(attempts, held.factor)
    // It was not sent.
    if (error instanceof Unavailable) return held.commit([held.update(request, { state: 'planned', asked_at: later })])
    if (error instanceof Unanswered) {
      const said = { code: error.code, message: error.message }
      const outcome = again(attempts)
      if (error.isOfLogin && outcome?.state === 'replaced')
        await held.commit([held.update(request, { state: 'planned', asked_at: later, ...said })])
      else await held.record(asked, requests, outcome, said)
      held.failures++
      return
    }
    if (error instanceof CertificateRefused) await held.replace(asked, requests, 'moved', error)
    throw error
  }
}

/** Asks what has become of a request. One that is still waiting is left as it is. Throws CertificateRefused. */
export async function check(exchange: Exchange): Promise<void> {
  const { held, session, request } = exchange
  try {
    const answer = await session.verification(request.family, request.request_id!)
    const { code, message, state, stateCode } = answer
    // Why a request was rejected says its own code.
    const said = { code: code === '5000' && state === '5' && stateCode !== '' ? stateCode : code, message }
    await settle(exchange, request, outcomeOfCheck(answer, request.attempts), said)
  } catch (error) {
    // The schedule asks again.
    if (!(error instanceof Unanswered || error instanceof Unavailable)) throw error
    if (error instanceof Unanswered) held.failures++
  }
}

/** The platform's own answers when the authority closes a connection without an answer, and when it does not answer in time. */
const WITHOUT_ANSWER: readonly (number | null)[] = [520, 524]

/**
 * Whether the authority may have counted a download of which nothing came. It did not when it was not asked, or answered with a page, a fault
 * or an error of HTTP.
 */
const mayCount = (error: Unanswered | Unavailable): boolean => {
  if (error instanceof Unavailable || error.isOfLogin) return false
  const { kind, status } = error
  return WITHOUT_ANSWER.includes(status) || ((status ?? 200) < 400 && kind !== 'html' && kind !== 'fault')
}

/**
 * Brings the first package that is not in the bucket there. One that was delivered twice, and broke off, or whose connection was closed without a
 * byte, is not asked for again. Throws CertificateRefused.
 */
export async function download({ held, session, request, requests }: Exchange): Promise<void> {
  const { FILES } = held.system.env
  const k = request.packages.findIndex(({ size }) => size === undefined)
  const { id, attempts: before = 0, deliveries = 0 } = request.packages[k]!
  const key = packageKey(held.entity, request.n, k)
  const attempts = before + 1
  const note = (change: RequestPackage) =>
    held.commit([held.update(request, { packages: request.packages.map((one, i) => (i === k ? change : one)) })])
  // An object is there as a whole or not at all: a worker may have died before it noted that.
  const stored = before > 0 ? await FILES.head(key) : null
  if (stored) return note({ id, attempts, size: stored.size })
  if (deliveries >= MOST_DELIVERIES)
    return held.record(request, requests, outcomeOfPackage({ meaning: 'package_used_up' }, request.attempts, before), request)
  await note({ id, attempts, deliveries: deliveries + 1 })
  const writer = new ObjectWriter(FILES, key, () => held.hold())
  // Before the first part is written, nothing else extends the lease.
  const holding = setInterval(() => held.hold().catch(() => {}), HOLD_EVERY_MS)
  try {
    const answer = await session.packageInto(request.family, id, (bytes) => writer.write(bytes))
    const outcome = outcomeOfPackage(answer, request.attempts, attempts)
    if (outcome?.state === 'stored') {
      await writer.complete()
      held.failures = 0
      await note({ id, attempts, size: writer.size })
    } else {
      await writer.abort()
      await note({ id, attempts, deliveries })
      if (outcome === null) held.pause()
      await held.record(request, requests, outcome, answer)
    }
  } catch (error) {
    await writer.abort()
    if (!(error instanceof Unanswered || error instanceof Unavailable)) throw error
    if (writer.size === 0 && !mayCount(error)) await note({ id, attempts, deliveries })
    held.pause()
    if (error instanceof Unanswered) {
      const isTooLarge = error.kind === 'too_large'
      const outcome = isTooLarge
        ? outcomeOfTooLarge(request.attempts)
        : outcomeOfPackage({ meaning: 'unknown' }, request.attempts, attempts)
      await held.record(request, requests, outcome, { code: error.code, message: error.message })
    }
  } finally {
    clearInterval(holding)
  }
  held.system.budget.restart(AFTER_PACKAGE_MS)
}
