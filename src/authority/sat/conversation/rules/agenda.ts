import { type AuthorityRequest, isUnfinished, type WantedMonth } from './requests.ts'
import { deadlineOf, nextCheck, togetherMs } from './schedule.ts'
import { isAnsweredBy, progressOf } from './wanted.ts'

const MINUTE_MS = 60_000
/** When requests are looked at again for which there is no login, and packages that jobs still read. */
const IDLE_MS = 60 * MINUTE_MS
const READING_MS = 10 * MINUTE_MS

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

/** Whether anything but checks is to be done for months: to plan, or to tell of. */
export const hasNews = (months: readonly (WantedMonth & { is_asleep: boolean })[], requests: readonly AuthorityRequest[]): boolean =>
  months.some((month) => {
    const { state } = progressOf(month, requests)
    return state === 'unplanned' || (month.is_asleep && state !== 'waiting')
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
