import type { System } from '../../../platform/context.ts'
import { log } from '../../../platform/log.ts'
import { clock } from '../../../platform/time/clock.ts'
import { sendHints } from '../../../platform/work/send.ts'
import type { Efirma } from '../../efirma/efirma.ts'
import { rateLimiterOf, sendOf } from '../send.ts'
import { CertificateRefused, satSession } from '../session.ts'
import { type AwaitedMonth, ask, type ConversationPorts, check, download, LeasedConversation, NOTHING, PackageUnreadable } from './ports.ts'
import { again } from './rules/outcomes.ts'
import { halvesOf, isCovered } from './rules/periods.ts'
import {
  addDays,
  checksDue,
  dueOf,
  hasNews,
  isAnsweredBy,
  isExpired,
  isStoredAway,
  isToWake,
  metadataRequests,
  type PlannedRequest,
  progressOf,
  unlistedRequests,
  xmlPeriods,
} from './rules/plan.ts'
import {
  type AnsweredRequest,
  type AuthorityRequest,
  heardAt,
  isDone,
  isLong,
  isUnfinished,
  roundsOf,
  SHORT,
  UNREADABLE,
  waitAfter,
} from './rules/requests.ts'
import { conversationLease, insertRequests, noteRefusal, readConversation, releaseLease, takeLease } from './store.ts'

/** How often announced XML that does not come is requested. */
const MOST_XML_ROUNDS = 2
/** How often metadata with fewer documents than announced is requested by halves. */
const MOST_SHORT_ROUNDS = 3
/** How often an unreadable package is requested again at once; then it takes longer. */
const MOST_MOVES = 3

/** Reads the packages of a request, once all are in the bucket: metadata one package at a time; then requests the missing XML. */
async function readPackages(leased: LeasedConversation, around: ConversationPorts, reading: AnsweredRequest): Promise<void> {
  const { request, requests } = reading
  try {
    if (request.kind === 'xml') return await readXml(leased, around, reading)
    const k = request.packages.findIndex(({ rows }) => rows === undefined)
    if (k < 0) return await finishMetadata(leased, reading)
    const read = await around.readMetadata(request, k)
    await leased.commit([leased.update(request, { packages: request.packages.map((one, i) => (i === k ? { ...one, ...read } : one)) })])
  } catch (error) {
    if (!(error instanceof PackageUnreadable)) throw error
    const about = { entity: leased.entity, request: request.n }
    log.error(leased.system, 'A package of the tax authority cannot be read. It is asked for anew.', about, error)
    const outcome = request.attempts > MOST_MOVES ? again(request.attempts) : ({ state: 'replaced', how: 'moved' } as const)
    await leased.record(request, requests, outcome, { code: UNREADABLE, message: error.message })
  }
}

async function finishMetadata(leased: LeasedConversation, reading: AnsweredRequest): Promise<void> {
  const { request, requests } = reading
  const { announced } = request
  const { rows = 0, unread = 0 } = request.packages.at(-1)!
  // A request that is done need not be complete. None with packages announces nothing.
  const isShort = announced ? rows < announced : unread > 0
  const said = isShort ? { code: SHORT, message: `${rows} of ${announced || 'unknown'} documents are listed.` } : {}
  const rounds = roundsOf(reading, { state: 'replaced', code: SHORT })
  if (said.code !== undefined && rounds < MOST_SHORT_ROUNDS && halvesOf(request) !== null)
    return leased.replace(request, requests, 'halved', said)
  const asked = requests.filter(
    (one) => one.kind === 'xml' && one.family === request.family && one.source === request.source && isUnfinished(one),
  )
  // What XML without metadata lacks is seen when it is read.
  const periods = xmlPeriods(addDays(request.packages.map(({ days }) => days!))).filter((one) => !isCovered(one, asked))
  await leased.commit([
    leased.update(request, {
      state: 'stored',
      ...said,
      announced: announced || rows,
      packages: request.packages.map(({ days: _, ...one }) => one),
    }),
    ...leased.plan(request, requests, { kind: 'xml', periods, asked_at: leased.now, attempts: 0 }),
  ])
}

async function readXml(leased: LeasedConversation, around: ConversationPorts, reading: AnsweredRequest): Promise<void> {
  const { request, requests } = reading
  const { family, source, attempts } = request
  const announcing = requests.filter(
    (one) => one.kind === 'metadata' && one.family === family && one.source === source && one.state === 'stored',
  )
  const isListed = announcing.some((one) => isStoredAway(one) && one.first <= request.first && request.first <= one.last)
  const { unannounced, left } = await around.readXml(request, announcing)
  const packages = request.packages.map((one, k) => ({
    ...one,
    ...(unannounced[k]!.length > 0 && { unannounced: isListed ? unannounced[k]! : ('all' as const) }),
  }))
  const isLast = roundsOf(reading, { state: 'stored' }) + 1 >= MOST_XML_ROUNDS
  const periods = isLast ? [] : xmlPeriods(left)
  await leased.commit([
    leased.update(request, { state: 'stored', packages }),
    ...leased.plan(request, requests, { kind: 'xml', periods, asked_at: leased.now, attempts }),
  ])
}

/** Whether later metadata has said all that this request asks for. */
const isSuperseded = (request: AuthorityRequest, requests: readonly AuthorityRequest[]): boolean =>
  isCovered(
    request,
    requests.filter(
      (one) =>
        one.kind === 'metadata' && one.n > request.n && one.family === request.family && one.source === request.source && isDone(one),
    ),
  )

/** A message of the queue of spread downloads: the conversation about a taxpayer may continue. */
export interface ConversationHint {
  shard: number
  entity: number
  conversation: true
}

type Target = Omit<ConversationHint, 'conversation'>

/** The platform delays no message for longer. */
const LONGEST_DELAY_SECONDS = 12 * 3_600
/** The most statements of a step: a package of metadata, of up to a million rows, is compared with what is stored, 5,000 at a time. */
const STEP_STATEMENTS = 220

/** Sends the messages with which conversations continue. The sweep does without them. */
export const announceConversations = (system: System, targets: readonly Target[], due_at: number): Promise<void> => {
  const delaySeconds = Math.min(LONGEST_DELAY_SECONDS, Math.max(0, Math.ceil((due_at - clock.now()) / 1_000)))
  // A session takes as long as the authority's rate requires; here it hinders nobody.
  const messages = targets.map(({ shard, entity }) => ({
    body: { shard, entity, conversation: true } satisfies ConversationHint,
    delaySeconds,
  }))
  return sendHints(system, system.env.DOWNLOADS_SPREAD, messages)
}

/**
 * Continues the conversation about a taxpayer, when it is due: plans requests for the awaited months, sends them, checks them, brings their
 * packages into the bucket, and wakes the jobs whose months are ready or have failed. Every request is noted before it is sent, so that
 * nothing is requested twice after the death of a worker. The token of its holder fences the conversation.
 */
export async function converse(system: System, { shard, entity }: Target, around: ConversationPorts): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const factor = system.settings.authorityWaitFactor
  const { conversation, requests } = await readConversation(ledger, entity)
  const now = clock.now()
  if (conversation === null || conversation.due_at === null || conversation.due_at > now || conversation.busy_until > now) return
  const months = await around.months()
  const ahead = Math.max(0, ...months.map((one) => one.ahead))
  // Assumes that the checks of now find nothing done: then nothing else is written.
  const due_at = dueOf(requests, months, { now: now + ahead, factor, isIdle: () => false })
  const next = due_at === null ? null : due_at - ahead
  const isCheck = next !== null && next > now && !hasNews(months, requests, { now: now + ahead, factor })
  const { end } = conversationLease
  const busy_until = isCheck ? Math.min(end, next - 1) : end
  const lease = { entity, token: crypto.randomUUID(), due_at: isCheck ? next : end }
  if (!(await takeLease(ledger, lease, now, busy_until))) return
  const leased = new LeasedConversation(system, shard, lease, ahead, busy_until, conversation.failures)
  const worker = new ConversationSession(leased, around, conversation.due_at, conversation.refused)
  try {
    await worker.work(requests, months)
  } catch (error) {
    // The worker that holds it now continues.
    if (!conversationLease.isLost(error)) throw error
  }
  const isQuiet = isCheck && !leased.isChanged && !worker.isMore && leased.failures === conversation.failures
  const due = isQuiet && next > clock.now() ? next : await worker.end()
  if (typeof due === 'number') await announceConversations(system, [{ shard, entity }], due)
}

/** Does the work of a session of a conversation. */
class ConversationSession {
  /** Whether the budget ended before the work. */
  isMore = false
  readonly #leased: LeasedConversation
  readonly #around: ConversationPorts
  /** When the session was due: it makes the checks between that and now, each once. */
  readonly #since: number
  readonly #checked = new Set<number>()
  /** Requests for which there is no login now, and the numbers of certificates that the authority refuses. */
  readonly #idle = new Set<number>()
  readonly #refused: Set<string>

  constructor(leased: LeasedConversation, around: ConversationPorts, since: number, refused: string | null) {
    this.#leased = leased
    this.#around = around
    this.#since = since
    this.#refused = new Set(refused === null ? [] : [refused])
  }

  /** Works as far as the budget allows. */
  async work(requests: AuthorityRequest[], months: AwaitedMonth[]): Promise<void> {
    const { system, ledger, entity } = this.#leased
    for (let known = { requests, months }; !this.#leased.isOver; ) {
      if (!system.budget.allows(STEP_STATEMENTS)) {
        this.isMore = true
        return
      }
      const step = await this.#next(known.requests, known.months)
      if (step === null) return
      await this.#leased.hold()
      await step()
      known = { requests: (await readConversation(ledger, entity)).requests, months: await this.#around.months() }
    }
  }

  /** Ends the session. Returns when the conversation continues; null when nothing is awaited. */
  async end(): Promise<number | null | undefined> {
    const { ledger, entity, factor, lease, failures, isOver, ahead } = this.#leased
    const { requests } = await readConversation(ledger, entity)
    const [now, months] = [clock.now(), await this.#around.months()]
    const isIdle = ({ n }: AuthorityRequest) => this.#idle.has(n)
    const due_at = dueOf(requests, months, { now: now + ahead, factor, isIdle })
    const due = due_at === null ? null : due_at - ahead
    const later = isOver && due !== null ? Math.max(due, now + waitAfter(failures, factor)) : due
    return releaseLease(ledger, lease, this.isMore ? now : later, failures)
  }

  /** The first thing to do; null when there is nothing. */
  async #next(requests: AuthorityRequest[], months: AwaitedMonth[]): Promise<(() => Promise<unknown>) | null> {
    const leased = this.#leased
    const { now } = leased
    const lost = requests.find(({ state }) => state === 'asked')
    // Its worker died, and the authority's answer is not known.
    if (lost) return () => leased.replace(lost, requests, 'moved', NOTHING)
    const expired = requests.find((one) => isExpired(one, now, leased.factor))
    if (expired) return () => this.#expire(expired, months)
    const isNeeded = (request: AuthorityRequest) => months.some((month) => isAnsweredBy(month, request))
    const abandoned = requests.filter((one) => isUnfinished(one) && (isLong(one) ? isSuperseded(one, requests) : !isNeeded(one)))
    const left = { state: 'failed', code: null, message: 'Nobody waits for it any more.' } as const
    if (abandoned.length > 0) return () => leased.commit(abandoned.map((one) => leased.update(one, left)))
    const all = months.map((month) => ({ month, progress: progressOf(month, requests) }))
    const unplanned = all.flatMap(({ month, progress }) => (progress.state === 'unplanned' ? month : []))
    const planned = await this.#plan(unplanned, requests)
    if (planned.length > 0) return () => leased.commit(insertRequests(leased.entity, planned, { asked_at: now, attempts: 0 }))
    const news = all.flatMap(({ month, progress }) => (isToWake(month, progress, { now, factor: leased.factor }) ? month : []))
    if (news.length > 0) return () => this.#wake(news)
    const unneeded = requests.filter((one) => isStoredAway(one) && !isNeeded(one))
    if (unneeded.length > 0) return () => this.#forget(unneeded)
    const due = { now, since: this.#since + leased.ahead, factor: leased.factor }
    const isUnheard = (one: AuthorityRequest) =>
      isLong(one) && months.some((month) => isAnsweredBy(month, one) && heardAt(one) < month.asked_at)
    const isDue = (one: AuthorityRequest) =>
      one.state === 'planned' ? one.asked_at <= now : one.state === 'ready' || (checksDue(one, due) && isNeeded(one)) || isUnheard(one)
    const acting = requests.find((one) => !this.#idle.has(one.n) && !(one.state === 'waiting' && this.#checked.has(one.n)) && isDue(one))
    return acting ? () => this.#act(acting, requests, months) : null
  }

  /** Requests for months whose login is the same are made together. */
  async #plan(months: readonly AwaitedMonth[], requests: readonly AuthorityRequest[]): Promise<PlannedRequest[]> {
    const byLogin = new Map<string, AwaitedMonth[]>()
    for (const month of months) {
      const { number } = (await this.#efirmaOf(month))?.certificate ?? {}
      if (number !== undefined) byLogin.set(number, [...(byLogin.get(number) ?? []), month])
    }
    return [...byLogin.values()].flatMap((some) => [
      ...metadataRequests(some, requests, this.#leased.now),
      ...unlistedRequests(some, requests),
    ])
  }

  async #efirmaOf({ organizations }: AwaitedMonth): Promise<Efirma | null> {
    const efirma = await this.#around.efirmaOf(organizations)
    return efirma === null || this.#refused.has(efirma.certificate.number) ? null : efirma
  }

  async #act(request: AuthorityRequest, requests: AuthorityRequest[], months: AwaitedMonth[]): Promise<void> {
    const leased = this.#leased
    const isHere = request.packages.every(({ size }) => size !== undefined)
    const awaiting = months.filter((month) => isAnsweredBy(month, request))
    const since = Math.min(...awaiting.map(({ asked_at }) => asked_at))
    if (request.state === 'ready' && isHere) return readPackages(leased, this.#around, { request, requests, since })
    const efirma = await this.#efirmaOf(awaiting[0]!)
    if (efirma === null) {
      this.#idle.add(request.n)
      return this.#wake(awaiting)
    }
    const session = satSession(sendOf(leased.system), efirma, rateLimiterOf(leased.system, efirma.rfc))
    const exchange = { leased, around: this.#around, session, request, requests, since }
    try {
      if (request.state === 'planned') return await ask(exchange, awaiting)
      if (request.state === 'ready') return await download(exchange)
      this.#checked.add(request.n)
      await check(exchange)
    } catch (error) {
      if (!(error instanceof CertificateRefused)) throw error
      const { number } = efirma.certificate
      this.#refused.add(number)
      // The jobs that log in with it report it to the domain of taxpayers.
      await leased.commit([noteRefusal(leased.entity, number)])
      await this.#wake(months)
    }
  }

  /**
   * Ends a request that was not done in seven days. One without a login for its checks is made again when there is a login, and one of an
   * earlier run by the current one.
   */
  async #expire(request: AuthorityRequest, months: readonly AwaitedMonth[]): Promise<void> {
    const awaiting = months.find((month) => isAnsweredBy(month, request))
    const isOwn = awaiting !== undefined && awaiting.asked_at <= request.asked_at
    const isAsked = isOwn && (await this.#efirmaOf(awaiting)) !== null
    const message = 'The tax authority was not done in seven days.'
    await this.#leased.commit([this.#leased.update(request, { state: isAsked ? 'failed' : 'replaced', message })])
  }

  /** Has sleeping jobs run. */
  async #wake(months: readonly AwaitedMonth[]): Promise<void> {
    const asleep = months.filter(({ is_asleep }) => is_asleep)
    if (asleep.length === 0) return
    this.#leased.isChanged = true
    await this.#around.wake(asleep)
  }

  /** Deletes packages that nobody needs any more. Their requests stay known. */
  async #forget(requests: readonly AuthorityRequest[]): Promise<void> {
    for (const request of requests) await this.#leased.deletePackages(request)
    await this.#leased.commit(requests.map((request) => this.#leased.update(request, { packages: [] })))
  }
}
