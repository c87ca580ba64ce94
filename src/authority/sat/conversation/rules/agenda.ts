import { type AuthorityRequest, isUnfinished, type WantedMonth } from './requests.ts'
import { deadlineOf, nextCheck, togetherMs } from './schedule.ts'
import { isAnsweredBy, type MonthProgress, progressOf } from './wanted.ts'

const MINUTE_MS = 60_000
/** When requests are looked at again for which there is no login, and packages that jobs still read. */
const IDLE_MS = 60 * MINUTE_MS
const READING_MS = 10 * MINUTE_MS
/**
 * How long the one waits for the other: of the families, and metadata for its XML. Then what there is of a month is taken in twice: now, and
 * with the rest.
 */
const HELD_UP_MS = 30 * MINUTE_MS

/** The state of the job of a month: whether it sleeps until it is woken, and how many lists of documents it has taken in. */
export interface Asleep {
  is_asleep: boolean
  lists: number
}

/** How many lists of documents there are of a month. */
export const listsOf = ({ requests }: MonthProgress): number => requests.filter(({ kind }) => kind === 'metadata').length

/** Whether a check of a request falls between two instants, or so soon after that it is made with the others. */
export function checksDue(
  { state, asked_at }: AuthorityRequest,
  { now, since, factor }: { now: number; since: number; factor: number },
): boolean {
  const next = nextCheck(asked_at, since - 1, factor)
  return state === 'waiting' && next !== null && next <= now + togetherMs(factor)
}

/** Whether a request is not waited for any longer. */
export const isExpired = ({ state, asked_at }: AuthorityRequest, now: number, factor: number): boolean =>
  state === 'waiting' && deadlineOf(asked_at, factor) <= now

/** Whether packages of a request are in the bucket, or may be. */
export const isStoredAway = ({ packages }: AuthorityRequest): boolean =>
  packages.some(({ size, attempts }) => size !== undefined || attempts !== undefined)

/** Whether some of a month has been there for long, and the rest keeps it waiting. */
export const isHeldUp = ({ state, requests }: MonthProgress, now: number, factor: number): boolean =>
  state === 'waiting' &&
  requests.length > 0 &&
  Math.max(...requests.map(({ asked_at }) => asked_at)) + Math.ceil(HELD_UP_MS * factor) <= now

/** Whether the sleeping job of a month has something to do: its end, or to take in what there is. */
export const isToWake = (
  { is_asleep, lists }: Asleep,
  progress: MonthProgress,
  { now, factor }: { now: number; factor: number },
): boolean =>
  is_asleep && (progress.state === 'ready' || progress.state === 'failed' || (lists < listsOf(progress) && isHeldUp(progress, now, factor)))

/** Whether anything but checks is to be done for months: to plan, or to tell of. */
export const hasNews = (
  months: readonly (WantedMonth & Asleep)[],
  requests: readonly AuthorityRequest[],
  at: { now: number; factor: number },
): boolean =>
  months.some((month) => {
    const progress = progressOf(month, requests)
    return progress.state === 'unplanned' || isToWake(month, progress, at)
  })

/** When the conversation goes on, in milliseconds, after what is due now was done; null when nothing is left of it. */
export function dueOf(
  requests: readonly AuthorityRequest[],
  months: readonly WantedMonth[],
  { now, factor, isIdle }: { now: number; factor: number; isIdle: (request: AuthorityRequest) => boolean },
): number | null {
  const due = requests.flatMap((request): number | never[] => {
    const isNeeded = months.some((month) => isAnsweredBy(month, request))
    if (!isUnfinished(request)) return isStoredAway(request) ? (isNeeded ? now + Math.ceil(READING_MS * factor) : now) : []
    if (!isNeeded) return now
    if (isIdle(request)) return now + Math.ceil(IDLE_MS * factor)
    if (request.state === 'planned') return Math.max(now, request.asked_at)
    if (request.state !== 'waiting') return now
    return Math.max(now, nextCheck(request.asked_at, now + togetherMs(factor), factor) ?? deadlineOf(request.asked_at, factor))
  })
  return due.length === 0 ? null : Math.min(...due)
}
