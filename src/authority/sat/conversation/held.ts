import type { System } from '../../../platform/context.ts'
import { log } from '../../../platform/log.ts'
import type { RequestOutcome } from './rules/outcomes.ts'
import { halvesOf, type Period } from './rules/periods.ts'
import { type PlannedRequest, unused } from './rules/plan.ts'
import { type AuthorityRequest, packageKey } from './rules/requests.ts'
import { waitAfter } from './rules/schedule.ts'
import { commitTurn, extendTurn, insertRequests, moveTurn, type Turn, updateRequest } from './store.ts'

/** How long a worker holds a conversation; it is extended while a package comes. */
export const HELD_MS = 60_000

/** A period that should be halved, and cannot be shorter, is tried so often. */
const MOST_UNDIVIDED = 5

/** What the authority said, in its code and words. */
export interface Said {
  code: string | null
  message: string | null
}
export const NOTHING: Said = { code: null, message: null }

/** A conversation while a worker holds it: everything that is written of it is fenced by the worker's token. */
export class HeldConversation {
  readonly system: System
  readonly ledger: D1Database
  readonly entity: number
  readonly factor: number
  readonly turn: Turn
  /** How far the conversation is ahead of the real clock, by which it is held. */
  readonly ahead: number
  /** Whether anything was written. */
  isChanged = false
  /** How often in a row the authority did not answer, and whether that ended the turn. */
  failures: number
  isOver = false
  #busyUntil: number

  constructor(system: System, shard: number, turn: Turn, ahead: number, busyUntil: number, failures: number) {
    this.system = system
    this.ledger = system.settings.ledgers[shard]!
    this.entity = turn.entity
    this.factor = system.settings.authorityWaitFactor
    this.turn = turn
    this.ahead = ahead
    this.#busyUntil = busyUntil
    this.failures = failures
  }

  get now(): number {
    return Date.now() + this.ahead
  }

  /** From the first change on, a turn that began as a check is gone on with at the end of its lease when its worker dies, and not at the next check. */
  async commit(statements: readonly D1PreparedStatement[]): Promise<void> {
    this.isChanged = true
    const due_at = Math.min(this.turn.due_at, this.#busyUntil)
    const sooner = due_at < this.turn.due_at ? [moveTurn(this.ledger, this.turn, due_at)] : []
    await commitTurn(this.ledger, this.turn, [...sooner, ...statements])
    this.turn.due_at = due_at
  }

  /** Holds the conversation for longer when half of the time has passed. */
  async hold(): Promise<void> {
    const now = Date.now()
    if (this.#busyUntil - now > HELD_MS / 2) return
    this.isChanged = true
    this.#busyUntil = now + HELD_MS
    await extendTurn(this.ledger, this.turn, this.#busyUntil)
  }

  /** The authority does not answer: the rest of the turn is left for later. */
  pause(): void {
    this.failures++
    this.isOver = true
  }

  update(request: AuthorityRequest, changes: Parameters<typeof updateRequest>[3]): D1PreparedStatement {
    return updateRequest(this.ledger, this.entity, request.n, changes)
  }

  /** Records what became of a request. */
  async record(
    request: AuthorityRequest,
    requests: readonly AuthorityRequest[],
    outcome: RequestOutcome,
    { code, message }: Said,
  ): Promise<void> {
    if (outcome === null) return
    // What is announced and does not come is asked for again, as when packages lack it.
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
      ...(outcome.state === 'waiting' && { request_id: outcome.request_id }),
      ...(outcome.state === 'ready' && { announced: outcome.announced, packages: outcome.packages.map((id) => ({ id })) }),
    }
    await this.commit([this.update(request, { state: outcome.state, code, message, ...changes })])
  }

  /** Puts others in the place of a request, whose period is never sent again. */
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
  ): D1PreparedStatement[] {
    const planned: PlannedRequest[] = []
    for (const { first, last } of periods) {
      const own = months.filter((month) => month >= first.slice(0, 7) && month <= last.slice(0, 7))
      // Between the months of a request may lie some that nobody waits for.
      if (own.length > 0) planned.push(unused({ family, source, kind, months: own, first, last }, [...requests, ...planned]))
    }
    return insertRequests(this.ledger, this.entity, planned, { asked_at, attempts })
  }

  async deletePackages({ n, packages }: AuthorityRequest): Promise<void> {
    const keys = packages.flatMap((one, k) => (one.size === undefined && !one.attempts ? [] : packageKey(this.entity, n, k)))
    for (let at = 0; at < keys.length; at += 1_000) await this.system.env.FILES.delete(keys.slice(at, at + 1_000))
  }
}
