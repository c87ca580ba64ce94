import type { SQL } from 'drizzle-orm'
import { ObjectWriter } from '../../../platform/bytes/object-writer.ts'
import type { System } from '../../../platform/context.ts'
import type { Statement } from '../../../platform/db/commit.ts'
import { changesOf } from '../../../platform/db/statement.ts'
import { Unavailable } from '../../../platform/failures.ts'
import { log } from '../../../platform/log.ts'
import { clock } from '../../../platform/time/clock.ts'
import type { Efirma } from '../../efirma/efirma.ts'
import { Unanswered } from '../answers.ts'
import { CertificateRefused, type SatSession } from '../session.ts'
import { again, outcomeOfCheck, outcomeOfPackage, outcomeOfRequest, outcomeOfTooLarge, type RequestOutcome } from './rules/outcomes.ts'
import { halvesOf, type Period } from './rules/periods.ts'
import { type Asleep, fromOldest, type PlannedRequest, unused, upToNow } from './rules/plan.ts'
import {
  type AuthorityRequest,
  type DayCounts,
  DISPUTED,
  hasWaitedLong,
  packageKey,
  type RequestPackage,
  roundsOf,
  type WantedMonth,
  waitAfter,
} from './rules/requests.ts'
import { type ConversationLease, conversationLease, insertRequests, moveLease, updateRequest } from './store.ts'

/** How often a period that is too short to be halved is tried. */
const MOST_UNDIVIDED = 5

/** An answer of the authority, in its code and words. */
interface Said {
  code: string | null
  message: string | null
}
export const NOTHING: Said = { code: null, message: null }

/** A conversation while a worker holds it: the worker's token fences all that is written of it. */
export class LeasedConversation {
  readonly system: System
  readonly ledger: D1Database
  readonly entity: number
  readonly factor: number
  readonly lease: ConversationLease
  /** How far the conversation is ahead of the real clock, by which it is held. */
  readonly ahead: number
  /** Whether anything was written. */
  isChanged = false
  /** How often in a row the authority did not answer, and whether that ended the session. */
  failures: number
  isOver = false
  #busyUntil: number

  constructor(system: System, shard: number, lease: ConversationLease, ahead: number, busyUntil: number, failures: number) {
    this.system = system
    this.ledger = system.settings.ledgers[shard]!
    this.entity = lease.entity
    this.factor = system.settings.authorityWaitFactor
    this.lease = lease
    this.ahead = ahead
    this.#busyUntil = busyUntil
    this.failures = failures
  }

  get now(): number {
    return clock.now() + this.ahead
  }

  /**
   * When the worker of a session that began as a check dies after its first change, the conversation continues at the end of the lease, not
   * at the next check.
   */
  async commit(statements: readonly Statement[]): Promise<void> {
    this.isChanged = true
    const due_at = Math.min(this.lease.due_at, this.#busyUntil)
    const sooner = due_at < this.lease.due_at ? [moveLease(this.lease, due_at)] : []
    await conversationLease.commit(this.ledger, this.lease, [...sooner, ...statements])
    this.lease.due_at = due_at
  }

  /** Holds the conversation for longer when half of the time has passed. */
  async hold(): Promise<void> {
    if (this.#busyUntil - clock.now() > conversationLease.milliseconds / 2) return
    this.isChanged = true
    this.#busyUntil = conversationLease.end
    await changesOf(this.ledger, conversationLease.extend(this.lease))
  }

  /** The authority does not answer: the rest of the session is left for later. */
  pause(): void {
    this.failures++
    this.isOver = true
  }

  update(request: AuthorityRequest, changes: Parameters<typeof updateRequest>[2]): SQL {
    return updateRequest(this.entity, request.n, changes)
  }

  /** Records the outcome of a request. */
  async record(
    request: AuthorityRequest,
    requests: readonly AuthorityRequest[],
    outcome: RequestOutcome,
    { code, message }: Said,
  ): Promise<void> {
    if (outcome === null) return
    // Announced XML that does not come is requested again, as when packages lack it.
    const isNothing = outcome.state === 'empty' && request.kind === 'xml'
    if (isNothing) return this.record(request, requests, { state: 'ready', announced: 0, packages: [] }, { code, message })
    if (outcome.state === 'replaced') return this.replace(request, requests, outcome.how, { code, message })
    this.failures = 0
    if (outcome.state === 'failed' && outcome.isOurs)
      log.error(this.system, 'The tax authority refuses a request as wrong. An operator has to look at it.', {
        entity: this.entity,
        code,
        message,
      })
    const changes = {
      ...(request.heard_at !== null && { heard_at: this.now }),
      ...(outcome.state === 'waiting' && { request_id: outcome.request_id }),
      ...(outcome.state === 'ready' && { announced: outcome.announced, packages: outcome.packages.map((id) => ({ id })) }),
    }
    await this.commit([this.update(request, { state: outcome.state, code, message, ...changes })])
  }

  /** Replaces a request, whose period is never sent again, by others. */
  async replace(
    request: AuthorityRequest,
    requests: readonly AuthorityRequest[],
    how: 'moved' | 'later' | 'halved',
    { code, message }: Said,
  ): Promise<void> {
    const { kind, attempts } = request
    const periods = how === 'halved' ? halvesOf(request) : [request]
    if (periods === null) {
      if (attempts < MOST_UNDIVIDED) return this.replace(request, requests, 'later', { code, message })
      return this.commit([this.update(request, { state: 'failed', code, message })])
    }
    const asked_at = this.now + (how === 'later' ? waitAfter(Math.max(1, attempts), this.factor) : 0)
    await this.commit([
      this.update(request, { state: 'replaced', code, message }),
      ...this.plan(request, requests, { kind, periods, asked_at, attempts }),
    ])
    await this.deletePackages(request)
  }

  /** Plans requests for these periods and the months of another one. */
  plan(
    { family, source, months }: AuthorityRequest,
    requests: readonly AuthorityRequest[],
    {
      kind,
      periods,
      asked_at,
      attempts,
    }: { kind: AuthorityRequest['kind']; periods: readonly Period[]; asked_at: number; attempts: number },
  ): SQL[] {
    const planned: PlannedRequest[] = []
    for (const { first, last } of periods) {
      const own = months.filter((month) => month >= first.slice(0, 7) && month <= last.slice(0, 7))
      // Between the months of a request may lie some that nobody waits for.
      if (own.length > 0) planned.push(unused({ family, source, kind, months: own, first, last }, [...requests, ...planned]))
    }
    return insertRequests(this.entity, planned, { asked_at, attempts })
  }

  async deletePackages({ n, packages }: AuthorityRequest): Promise<void> {
    const keys = packages.flatMap((one, k) => (one.size === undefined && !one.attempts ? [] : packageKey(this.entity, n, k)))
    for (let at = 0; at < keys.length; at += 1_000) await this.system.env.FILES.delete(keys.slice(at, at + 1_000))
  }
}

/** A month that somebody waits for, with those who do. */
export interface AwaitedMonth extends WantedMonth, Asleep {
  organizations: readonly string[]
  /** How far ahead of the real clock it was asked for, in milliseconds: only a trial sets the clock ahead. */
  ahead: number
}

/** The services that a conversation needs from the domains that download: they depend on the authority, not it on them. */
export interface ConversationPorts {
  /** The months that somebody waits for. */
  months(): Promise<AwaitedMonth[]>
  /** A verified e.firma of one of these organizations; null when there is none. */
  efirmaOf(organizations: readonly string[]): Promise<Efirma | null>
  /** Has the jobs of these months run. */
  wake(months: readonly AwaitedMonth[]): Promise<void>
  /** Whether documents are stored that a metadata request asks for. */
  holdsAny(request: AuthorityRequest): Promise<boolean>
  /**
   * Reads a package of metadata: which documents of the request's months are missing, and with the last package how many documents of its
   * period all packages list, and how much in them nobody can read or date. Throws PackageUnreadable.
   */
  readMetadata(request: AuthorityRequest, k: number): Promise<{ rows: number; unread: number; days: DayCounts }>
  /**
   * Reads the packages of an XML request: the entries of each whose names none of the metadata requests announces, and the announced
   * documents that are neither there nor stored. Throws PackageUnreadable.
   */
  readXml(request: AuthorityRequest, metadata: readonly AuthorityRequest[]): Promise<{ unannounced: number[][]; left: DayCounts }>
}

/** A package of the authority is no ZIP, or is damaged. */
export class PackageUnreadable extends Error {
  constructor(code: string) {
    super(`A package of the tax authority cannot be read: ${code}.`)
  }
}

/** The subject of an exchange with the authority: a request, all others, and since when somebody waits for it. */
export interface Exchange {
  leased: LeasedConversation
  around: ConversationPorts
  session: SatSession
  request: AuthorityRequest
  requests: readonly AuthorityRequest[]
  since: number
}

/** The time left to an invocation after a package came, in milliseconds: the wait for it does not count. */
const AFTER_PACKAGE_MS = 20_000

/** How often the lease on the conversation is checked during the wait for a package, in milliseconds. */
const HOLD_EVERY_MS = 10_000

/** How often the authority delivers a package. */
const MOST_DELIVERIES = 2

/** How often the authority is asked again when it denies documents that it had, before the month is left to the next run. */
const MOST_DISPUTED_ROUNDS = 4

/** Whether the authority has reported documents that a metadata request asks for: some are stored, or other metadata announces them. */
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

/** Records the outcome of a request. A denial of documents that existed is not believed: it never makes a month complete. */
async function settle(exchange: Exchange, request: AuthorityRequest, outcome: RequestOutcome, said: Said): Promise<void> {
  const { leased, requests, since } = exchange
  leased.failures = 0
  if (outcome?.state !== 'empty' || request.kind !== 'metadata' || !(await isKnownOf(exchange, request)))
    return leased.record(request, requests, outcome, said)
  const disputed = { code: DISPUTED, message: said.message }
  const rounds = roundsOf({ request, requests, since }, { state: 'replaced', code: DISPUTED })
  await leased.record(
    request,
    requests,
    rounds < MOST_DISPUTED_ROUNDS ? { state: 'replaced', how: 'later' } : { state: 'stored' },
    disputed,
  )
}

/** Sends a request. It is noted before, so that its period is known as used whatever happens. Throws CertificateRefused. */
export async function ask(exchange: Exchange, months: readonly WantedMonth[]): Promise<void> {
  const { leased, session, request, requests: before } = exchange
  const asked_at = leased.now
  const asked = { ...fromOldest(upToNow(request, months, before, asked_at), before, asked_at), attempts: request.attempts + 1 }
  const requests = before.map((one) => (one.n === asked.n ? asked : one))
  const { family, source, kind, first, last, attempts } = asked
  await leased.commit([leased.update(request, { state: 'asked', first, last, asked_at, attempts })])
  try {
    const answer = await session.request(family, source, {
      TipoSolicitud: kind === 'xml' ? 'CFDI' : 'Metadata',
      ...{ FechaInicial: first, FechaFinal: last },
      EstadoComprobante: kind === 'xml' && source === 'sat_cfdi_received' ? 'Vigente' : 'Todos',
    })
    await settle({ ...exchange, requests }, asked, outcomeOfRequest(answer, attempts), answer)
  } catch (error) {
    const later = leased.now + waitAfter(attempts, leased.factor)
    // It was not sent.
    if (error instanceof Unavailable) return leased.commit([leased.update(request, { state: 'planned', asked_at: later })])
    if (error instanceof Unanswered) {
      const said = { code: error.code, message: error.message }
      const outcome = again(attempts)
      if (error.isOfLogin && outcome?.state === 'replaced')
        await leased.commit([leased.update(request, { state: 'planned', asked_at: later, ...said })])
      else await leased.record(asked, requests, outcome, said)
      leased.failures++
      return
    }
    if (error instanceof CertificateRefused) await leased.replace(asked, requests, 'moved', error)
    throw error
  }
}

/**
 * Asks for the state of a request. One that is still waiting is left as it is, unless it is metadata that takes long: then the state is noted.
 * Throws CertificateRefused.
 */
export async function check(exchange: Exchange): Promise<void> {
  const { leased, session, request } = exchange
  try {
    const answer = await session.verification(request.family, request.request_id!)
    const { code, message, state, stateCode } = answer
    // A rejection's own code says why.
    const said = { code: code === '5000' && state === '5' && stateCode !== '' ? stateCode : code, message }
    if (answer.meaning === 'waiting' && hasWaitedLong(request, leased.now, leased.factor)) {
      leased.failures = 0
      await leased.commit([leased.update(request, { heard_at: leased.now, code: state, message })])
    } else await settle(exchange, request, outcomeOfCheck(answer, request.attempts), said)
  } catch (error) {
    // The schedule asks again.
    if (!(error instanceof Unanswered || error instanceof Unavailable)) throw error
    if (error instanceof Unanswered) leased.failures++
  }
}

/** The platform's own answers when the authority closes a connection without an answer, and when it does not answer in time. */
const WITHOUT_ANSWER: readonly (number | null)[] = [520, 524]

/**
 * Whether the authority may have counted a download that brought nothing. It did not when it was not asked, or answered with a page, a
 * fault or an HTTP error.
 */
const mayCount = (error: Unanswered | Unavailable): boolean => {
  if (error instanceof Unavailable || error.isOfLogin) return false
  const { kind, status } = error
  return WITHOUT_ANSWER.includes(status) || ((status ?? 200) < 400 && kind !== 'html' && kind !== 'fault')
}

/**
 * Brings the first package that is not in the bucket there. A package is not requested again after two deliveries that broke off, or whose
 * connection was closed without a byte. Throws CertificateRefused.
 */
export async function download({ leased, session, request, requests }: Exchange): Promise<void> {
  const { FILES } = leased.system.env
  const k = request.packages.findIndex(({ size }) => size === undefined)
  const { id, attempts: before = 0, deliveries = 0 } = request.packages[k]!
  const key = packageKey(leased.entity, request.n, k)
  const attempts = before + 1
  const note = (change: RequestPackage) =>
    leased.commit([leased.update(request, { packages: request.packages.map((one, i) => (i === k ? change : one)) })])
  // An object is there as a whole or not at all: a worker may have died before it noted that.
  const stored = before > 0 ? await FILES.head(key) : null
  if (stored) return note({ id, attempts, size: stored.size })
  if (deliveries >= MOST_DELIVERIES)
    return leased.record(request, requests, outcomeOfPackage({ meaning: 'package_used_up' }, request.attempts, before), request)
  await note({ id, attempts, deliveries: deliveries + 1 })
  const writer = new ObjectWriter(FILES, key, () => leased.hold())
  // Before the first part is written, nothing else extends the lease.
  const extending = setInterval(() => leased.hold().catch(() => {}), HOLD_EVERY_MS)
  try {
    const answer = await session.packageInto(request.family, id, (bytes) => writer.write(bytes))
    const outcome = outcomeOfPackage(answer, request.attempts, attempts)
    if (outcome?.state === 'stored') {
      await writer.complete()
      leased.failures = 0
      await note({ id, attempts, size: writer.size })
    } else {
      await writer.abort()
      await note({ id, attempts, deliveries })
      if (outcome === null) leased.pause()
      await leased.record(request, requests, outcome, answer)
    }
  } catch (error) {
    await writer.abort()
    if (!(error instanceof Unanswered || error instanceof Unavailable)) throw error
    if (writer.size === 0 && !mayCount(error)) await note({ id, attempts, deliveries })
    leased.pause()
    if (error instanceof Unanswered) {
      const isTooLarge = error.kind === 'too_large'
      const outcome = isTooLarge
        ? outcomeOfTooLarge(request.attempts)
        : outcomeOfPackage({ meaning: 'unknown' }, request.attempts, attempts)
      await leased.record(request, requests, outcome, { code: error.code, message: error.message })
    }
  } finally {
    clearInterval(extending)
  }
  leased.system.budget.restart(AFTER_PACKAGE_MS)
}
