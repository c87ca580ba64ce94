import { addBusinessDays, businessDaysBetween, type DeadlineBasis, deadlineBasisOf } from '../../authority/port/business-days.ts'
import { type CfdiStatus, ES_CANCELABLE } from '../../authority/port/status.ts'
import type { cancellationRequests } from '../../cfdi/tables.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { centralDayOf } from '../../platform/time/months.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type RequestRow = typeof cancellationRequests.$inferSelect

/** How the request for the cancellation of a document stands. */
export type RequestState = Pick<RequestRow, 'status' | 'number' | 'clear_at' | 'detected_at' | 'seen_at' | 'decided_at'>

const ENDS = {
  cancelado_con_aceptacion: 'accepted',
  plazo_vencido: 'expired',
  cancelado_sin_aceptacion: 'cancelled',
  rechazada: 'cancelled',
  en_proceso: 'cancelled',
} as const

/** Whether an answer shows a request that is in process. */
export const isRequested = ({ estatus, estatus_cancelacion }: Pick<CfdiStatus, 'estatus' | 'estatus_cancelacion'>): boolean =>
  estatus === 'vigente' && estatus_cancelacion === 'en_proceso'

/**
 * The state after an answer of the authority at an instant, in milliseconds; the same one when the answer says nothing new, is older than the
 * last one or repeats it. A request begins with the first answer that shows it, `clear_at` being when the last one before did not. It ends
 * with an answer that says how, or when the document is still valid and not in process after its deadline. After a refusal there can be another.
 */
export function requestAfter<State extends RequestState>(
  before: State | null,
  answer: Pick<CfdiStatus, 'estatus' | 'estatus_cancelacion'>,
  at: number,
  clear_at: number | null = null,
): State | RequestState | null {
  const { estatus, estatus_cancelacion } = answer
  if ((estatus !== 'vigente' && estatus !== 'cancelado') || (before !== null && at <= before.seen_at)) return before
  if (before === null || before.status === 'rejected') {
    if (!isRequested(answer)) return before
    const clear = Math.max(clear_at ?? 0, before?.seen_at ?? 0)
    return {
      ...{ status: 'pending', number: (before?.number ?? 0) + 1, clear_at: clear === 0 ? null : clear },
      ...{ detected_at: at, seen_at: at, decided_at: null },
    }
  }
  if (before.status !== 'pending') return before
  const ended = (status: RequestState['status']): RequestState => ({ ...stateOf(before), status, seen_at: at, decided_at: at })
  if (estatus === 'cancelado') return ended(estatus_cancelacion === null ? 'cancelled' : ENDS[estatus_cancelacion])
  const isOver =
    estatus_cancelacion === 'rechazada' || (estatus_cancelacion === null && centralDayOf(at) > deadlinesOf(before).latest_deadline)
  return isOver ? ended('rejected') : { ...stateOf(before), seen_at: at }
}

const stateOf = ({ status, number, clear_at, detected_at, seen_at, decided_at }: RequestState): RequestState => ({
  ...{ status, number, clear_at, detected_at, seen_at, decided_at },
})

/** The business days that the receiver has to answer (RMF 2.7.1.34). Silence accepts the request. */
const DAYS_TO_ANSWER = 3

/** When the receiver has to answer. */
export interface RequestDeadlines {
  /** The last day on which an answer is in time whenever the request was made, and the last on which one can be. */
  deadline: Day
  latest_deadline: Day
  deadline_basis: DeadlineBasis
}

/** The authority does not say when a request was made: it was after the last answer without it, and not after the first one with it. */
export function deadlinesOf({ clear_at, detected_at }: Pick<RequestState, 'clear_at' | 'detected_at'>): RequestDeadlines {
  const detected = centralDayOf(detected_at)
  const earliest = clear_at === null ? detected : centralDayOf(clear_at)
  const [soonest, latest_deadline] = [addBusinessDays(earliest, DAYS_TO_ANSWER), addBusinessDays(detected, DAYS_TO_ANSWER)]
  return {
    // While it is in process its time is not over.
    deadline: clear_at === null || soonest < detected ? detected : soonest,
    latest_deadline,
    deadline_basis: deadlineBasisOf(earliest, latest_deadline),
  }
}

/** Business days after today up to a deadline; 0 on it and after it. */
export const daysLeft = (deadline: Day, now: number): number => businessDaysBetween(centralDayOf(now), deadline)

/** A document about which it may pay to ask. */
export interface Candidate {
  uuid: string
  /** Its total in pesos. */
  pesos: number
  age_days: number
  /** Whether it is not wholly paid, or was paid within the last 30 days. */
  is_open: boolean
}

/** The last answer about a document that may be asked about again: when it was asked, when it was clear, and an index of ES_CANCELABLE. */
export type LastAnswer = readonly [asked_at: number, clear_at: number | null, es_cancelable: number | null]

/** A request that is in process. */
export interface PendingRequest {
  uuid: string
  detected_at: number
  seen_at: number
  replied_at: number | null
}

export interface QuestionRound {
  now: number
  /** The most questions of an RFC and day. */
  budget: number
  /** The questions of the day so far: those that looked for requests, and those about known ones. */
  searched: number
  followed: number
  candidates: readonly Candidate[]
  pending: readonly PendingRequest[]
  answers: ReadonlyMap<string, LastAnswer>
}

/** A quarter of the budget is for known requests. */
const toFollow = (budget: number): number => Math.ceil(budget / 4)

/** A document is asked about at most once in so long. */
const PAUSE_MS = 20 * HOUR_MS
/** A known request is followed closely for so long, and then once a day. */
const CLOSELY_MS = 72 * HOUR_MS

/** How long the rounds of a day with known requests are apart, so that the budget lasts. */
export const followEvery = (budget: number): number => Math.max(HOUR_MS, Math.ceil(DAY_MS / Math.max(1, toFollow(budget))))

/** How much hangs on a document, and how long it has not been asked about. */
function weightOf({ pesos, age_days, is_open }: Candidate, last: LastAnswer | undefined, now: number): number {
  const es_cancelable = last?.[2] == null ? null : ES_CANCELABLE[last[2]]
  // Without acceptance it is cancelled at once, and a download finds that.
  const likely = es_cancelable === 'no_cancelable' ? 0.05 : es_cancelable === 'cancelable_sin_aceptacion' ? 0.2 : 1
  const waited = last === undefined ? 30 : (now - last[0]) / DAY_MS
  return (pesos / (1 + age_days / 10)) * (is_open ? 1 : 0.25) * likely * waited
}

/**
 * Chooses the documents to ask about in a round: known requests whose turn it is, and documents that may have one. Those on which most money
 * hangs come first, if they are recent, open, can be cancelled with acceptance and have not been asked about for long. A fifth of the
 * questions is for those that have waited longest, so that none is forgotten.
 */
export function chooseQuestions(round: QuestionRound): { follow: string[]; search: string[] } {
  const { now, budget, candidates, pending, answers } = round
  const every = followEvery(budget)
  const isReplied = ({ replied_at, seen_at }: PendingRequest) => replied_at !== null && replied_at > seen_at
  const follow = pending
    .filter((one) => isReplied(one) || now - one.seen_at >= (now - one.detected_at < CLOSELY_MS ? every : Math.max(every, PAUSE_MS)))
    .sort((a, b) => Number(isReplied(b)) - Number(isReplied(a)) || a.seen_at - b.seen_at || (a.uuid < b.uuid ? -1 : 1))
    .slice(0, Math.min(Math.ceil((toFollow(budget) * every) / DAY_MS), Math.max(0, toFollow(budget) - round.followed)))
  const known = new Set(pending.map(({ uuid }) => uuid))
  const open = candidates
    .filter(({ uuid }) => !known.has(uuid) && now - (answers.get(uuid)?.[0] ?? Number.NEGATIVE_INFINITY) >= PAUSE_MS)
    .map((one) => ({ ...one, asked_at: answers.get(one.uuid)?.[0] ?? 0, weight: weightOf(one, answers.get(one.uuid), now) }))
    .sort((a, b) => b.weight - a.weight || (a.uuid < b.uuid ? -1 : 1))
  const most = Math.max(0, budget - toFollow(budget) - round.searched)
  const heavy = most < 2 ? most : most - Math.max(1, Math.floor(most / 5))
  const waiting = open.slice(heavy).sort((a, b) => a.asked_at - b.asked_at || b.pesos - a.pesos || (a.uuid < b.uuid ? -1 : 1))
  const search = [...open.slice(0, heavy), ...waiting.slice(0, most - heavy)]
  return { follow: follow.map(({ uuid }) => uuid), search: search.map(({ uuid }) => uuid) }
}
