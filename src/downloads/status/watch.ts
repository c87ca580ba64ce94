import { type CfdiStatus, ES_CANCELABLE } from '../../authority/port/status.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import { statusesOf } from '../../authority/statuses.ts'
import { nextDaily } from '../../cfdi/checks/rechecks.ts'
import { findWithPayments } from '../../cfdi/detail/detail.ts'
import { type CfdiToRecheck, readToRecheck } from '../../cfdi/ingest/status.ts'
import type { System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { retryOnConflict } from '../../platform/db/guard.ts'
import { prepared, readRows } from '../../platform/db/statement.ts'
import { Failure, Unavailable } from '../../platform/failures.ts'
import { micros } from '../../platform/money.ts'
import { insertOutboxEvents, type OutboxEvent } from '../../platform/outbox/outbox.ts'
import { clock } from '../../platform/time/clock.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { activeEntities } from '../../taxpayers/taxpayers.ts'
import type { NotifiedCfdi } from '../cancellation-events.ts'
import { chooseQuestions, followEvery, isRequested, type LastAnswer, type PendingRequest, requestAfter } from './rule.ts'
import {
  addRounds,
  candidatesOf,
  type DocumentKey,
  findRequest,
  findWatch,
  forgetRequest,
  keepRequest,
  keepWatch,
  pendingRequests,
  type Watch,
} from './store.ts'

/** The most statements that a question takes, with a cancellation that has to be computed again a few times. */
const QUESTION_STATEMENTS = 110
/** RFCs in one page of the task. */
const PAGE = 1_000
/** Rounds begin within so long of the daily work. */
const SPREAD_MS = 6 * 3_600_000
/** A prime: neighbouring numbers begin far from each other. */
const STEP = 7_919_000

/**
 * Gives every RFC with an active connection a round of questions about the documents on which money hangs. A task; its cursor is the last
 * RFC. A repetition adds nothing.
 */
export const watchCancellations = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, 1 + system.settings.ledgers.length, cursor, async (after) => {
    if (system.settings.cancellationQuestionsPerDay === 0) return null
    const page = await readRows(system.db.$client, activeEntities(Number(after), PAGE))
    const now = clock.now()
    for (const [shard, rows] of Map.groupBy(page, (row) => row.shard))
      await commit(system.settings.ledgers[shard]!, [
        addRounds(rows.map(({ entity }) => [entity, now + ((entity * STEP) % SPREAD_MS)] as const)),
      ])
    return page.length === PAGE ? String(page.at(-1)!.entity) : null
  })

/** Cancels a document with everything that follows. Returns whether something is to be reported. */
export type Cancel = (document: CfdiToRecheck) => Promise<boolean>

/** What a round came to: whether something is to be reported, and when the next one begins; null when the daily task gives the next one. */
export interface RoundEnd {
  isNotified: boolean
  next: number | null
}

/**
 * Asks the authority about documents of a partition that may have a request for cancellation, and about known requests, and keeps what it says.
 * What a round may ask is counted before it asks, so that no crash exceeds the budget of the day. Throws Unavailable when the authority stops
 * answering: the answers so far are kept.
 */
export async function askRound(system: System, ledger: D1Database, entity: number, cancel: Cancel): Promise<RoundEnd> {
  const now = clock.now()
  const budget = system.settings.cancellationQuestionsPerDay
  const rules = await rulesAt(system, centralDayOf(now))
  const without_acceptance = micros(rules.find('cancellation.without_acceptance') ?? '0')!
  const [kept, found, known] = await ledger.batch<never>(
    [findWatch(entity), candidatesOf(entity, now, without_acceptance), pendingRequests(entity)].map((one) => prepared(ledger, one)),
  )
  const [candidates, pending] = [found!.results as Candidates, known!.results as PendingRequest[]]
  if (budget === 0 || candidates.length + pending.length === 0) return { isNotified: false, next: null }
  const watch = watchOn(centralDayOf(now), entity, (kept!.results as Watch[])[0])
  const answers = new Map(JSON.parse(watch.answers) as [string, LastAnswer][])
  const { follow, search } = chooseQuestions({ now, budget, ...watch, candidates: candidates.map(asCandidate), pending, answers })
  const chosen = [...follow, ...search]
  if (chosen.length > 0)
    await commit(ledger, [keepWatch({ ...watch, searched: watch.searched + search.length, followed: watch.followed + follow.length })])
  const round: RoundEnd = { isNotified: false, next: null }
  let [asked, stopped]: [number, unknown] = [0, null]
  for (const uuid of chosen) {
    if (!system.budget.allows(QUESTION_STATEMENTS)) break
    asked++
    try {
      const answer = await askAbout(system, ledger, { entity, uuid }, answers.get(uuid)?.[1] ?? null, cancel)
      round.isNotified = answer.isNotified || round.isNotified
      answers.set(uuid, [clock.now(), answer.isClear ? clock.now() : (answers.get(uuid)?.[1] ?? null), answer.es_cancelable])
    } catch (error) {
      stopped = error
      if (error instanceof Unavailable) break
    }
  }
  const isCut = asked < chosen.length
  const [followed, searched] = [Math.min(asked, follow.length), Math.max(0, asked - follow.length)]
  const stays = new Set(candidates.map(({ uuid }) => uuid))
  const left = [...answers].filter(([uuid]) => stays.has(uuid))
  if (chosen.length > 0)
    await commit(ledger, [
      keepWatch({ ...watch, searched: watch.searched + searched, followed: watch.followed + followed, answers: JSON.stringify(left) }),
    ])
  if (stopped !== null) throw stopped
  const open = await readRows(ledger, pendingRequests(entity))
  const following = open.length === 0 ? null : Math.min(now + followEvery(budget), nextDaily(now))
  return { ...round, next: isCut ? now : following }
}

type Candidates = (Omit<Parameters<typeof chooseQuestions>[0]['candidates'][number], 'is_open'> & { is_open: 0 | 1 })[]
const asCandidate = (one: Candidates[number]) => ({ ...one, is_open: one.is_open === 1 })

/** The counts of a day begin at zero. */
const watchOn = (day: string, entity: number, before: Watch | undefined): Watch =>
  before?.day === day ? before : { entity, day, searched: 0, followed: 0, answers: before?.answers ?? '[]' }

interface Told {
  isNotified: boolean
  /** Whether the document is valid and has no request. */
  isClear: boolean
  es_cancelable: number | null
}

/** Asks about a document and keeps what follows. */
async function askAbout(system: System, ledger: D1Database, of: DocumentKey, clear_at: number | null, cancel: Cancel): Promise<Told> {
  const document = await readToRecheck(ledger, of.entity, of.uuid)
  if (!document) {
    await commit(ledger, [forgetRequest(of)])
    return { isNotified: false, isClear: false, es_cancelable: null }
  }
  const answer = await statusesOf(system).status(document, clock.date())
  // The cancellation comes first: while the request is pending, the document is asked about again.
  const isCancelled = answer.estatus === 'cancelado' && document.cancelled === 0 && (await cancel(document))
  const isTold = await keepAnswer(ledger, of, answer, clock.now(), clear_at)
  return {
    isNotified: isCancelled || isTold,
    isClear: answer.estatus === 'vigente' && !isRequested(answer),
    es_cancelable: answer.es_cancelable && ES_CANCELABLE.indexOf(answer.es_cancelable),
  }
}

export const CANCELLATION_REQUESTED = 'cancellation.requested'

/** The body of an outbox event about a request. It holds the facts for the relay's decision about each organization, and no decision. */
export interface RequestBody extends NotifiedCfdi {
  /** Milliseconds since 1970, as the request has them. */
  clear_at: number | null
  detected_at: number
}

/**
 * Keeps what an answer of the authority says of the request about a document, in any order and however often. Returns whether a new request is
 * to be reported; nobody is told of one about an import, which its organization alone sees.
 */
export const keepAnswer = (
  ledger: D1Database,
  of: DocumentKey,
  answer: Pick<CfdiStatus, 'estatus' | 'estatus_cancelacion'>,
  at: number,
  clear_at: number | null = null,
): Promise<boolean> =>
  retryOnConflict(
    async () => {
      const before = await findRequest(ledger, of)
      const next = requestAfter(before, answer, at, clear_at)
      if (next === null || next === before) return false
      const told = next.number !== before?.number && of.entity > 0 ? await eventStatements(ledger, of, next) : []
      await commit(ledger, [...keepRequest(of, before, next), ...told])
      return told.length > 0
    },
    () => new Failure('contention', 'cancellation_request.changed', 'Others keep changing the request at the same time.'),
  )

/** The outbox event of a new request, for every organization whose window shows the CFDI. */
async function eventStatements(
  ledger: D1Database,
  { entity, uuid }: DocumentKey,
  { number, clear_at, detected_at }: { number: number; clear_at: number | null; detected_at: number },
): Promise<Statement[]> {
  const found = await findWithPayments(ledger, entity, uuid)
  if (!found) return []
  const { row, payments } = found
  const { tipo_comprobante, total, currency, emisor_rfc, receptor_rfc, issued_at, utc_offset, fecha } = row
  const body: RequestBody = {
    ...{ cfdi_uuid: uuid, clear_at, detected_at, direction: row.direction === 0 ? 'issued' : 'received', cfdi_type: tipo_comprobante },
    ...{ payments, total, currency, emisor_rfc, receptor_rfc, issued_at, utc_offset, fecha },
  }
  const event: OutboxEvent = {
    outbox_event_id: `${CANCELLATION_REQUESTED}:${entity}:${uuid}:${number}`,
    ...{ kind: CANCELLATION_REQUESTED, entity, organizations: null, body: { ...body } },
  }
  return insertOutboxEvents([event], clock.now())
}
