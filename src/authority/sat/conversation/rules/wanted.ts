import type { Family } from '../../operations.ts'
import { fellShort, isDivided, isOpen } from './divided.ts'
import {
  DAY_SECONDS,
  earlier,
  isCovered,
  later,
  literalOf,
  oldestAt,
  overlap,
  type Period,
  periodOfMonth,
  reachOf,
  secondsAfter,
} from './periods.ts'
import { type AuthorityRequest, FAMILIES, isDone, isUnfinished, type WantedMonth } from './requests.ts'

const DAY_MS = 1_000 * DAY_SECONDS
/** Documents are stamped up to 72 hours after their Fecha, and cancelled at any time: what was asked for is asked for again. */
const AGAIN_SECONDS = 7 * DAY_SECONDS
/** Months of which the metadata is asked for as a whole again, and how often; a run that comes a little early does so too. */
const SWEPT_MONTHS_MS = 13 * 30.5 * DAY_MS
const SWEPT_EVERY_MS = 6.5 * DAY_MS
/** A month that was not asked for since so long is not asked for every day, so it is asked for as a whole whenever it is. */
const RARE_MS = 1.5 * DAY_MS
/** A request that was asked for "until now" ends a little before. */
const LATE_SECONDS = 300

/** Requests of one time are asked for so close together. */
const TOGETHER_MS = 2 * DAY_MS

const isFor = (month: WantedMonth, request: AuthorityRequest): boolean =>
  request.source === month.source && request.months.includes(month.month)

/** Whether a request answers for a month: it was sent after the month was asked for, or is still to be sent. */
export const isAnsweredBy = (month: WantedMonth, request: AuthorityRequest): boolean =>
  isFor(month, request) && request.state !== 'replaced' && (request.state === 'planned' || request.asked_at >= month.asked_at)

/** The requests for metadata of a month, since it was asked for, that listed less than was announced, and were divided. */
const dividedOf = (month: WantedMonth, requests: readonly AuthorityRequest[]): AuthorityRequest[] =>
  requests.filter((one) => isDivided(one) && isFor(month, one) && one.asked_at >= month.asked_at)

/** Whether the authority announces less of a month, or of others that were asked for with it, than it did when it listed too little. */
export const isLessAnnounced = (month: WantedMonth, requests: readonly AuthorityRequest[]): boolean =>
  dividedOf(month, requests).some((one) => fellShort(one, requests))

/**
 * The period whose metadata a month needs of a family: the whole month when somebody may wait for it, it is not complete, or it was not asked
 * about as a whole for long; else what lies less than seven days before the last request for it.
 * Null when it needs nothing. It is the same however often it is asked.
 */
export function wantedOf(month: WantedMonth, family: Family, requests: readonly AuthorityRequest[]): Period | null {
  const whole = periodOfMonth(month.month)
  const reach = reachOf(month.asked_at)
  const start = later(whole.first, oldestAt(month.asked_at))
  const before = requests.filter(
    (one) => one.kind === 'metadata' && one.family === family && isFor(month, one) && isDone(one) && one.asked_at < month.asked_at,
  )
  const reached = before.filter(({ last, asked_at }) => last >= earlier(whole.last, secondsAfter(literalOf(asked_at), -LATE_SECONDS)))
  /** When the whole month was asked for, by this request and those before it. */
  const sweptAt = ({ asked_at, last }: AuthorityRequest): number => {
    const together = before.filter((one) => one.asked_at <= asked_at && one.asked_at > asked_at - TOGETHER_MS)
    const isWhole = isCovered({ first: start, last: earlier(whole.last, last) }, together)
    return isWhole ? Math.min(...together.map((one) => one.asked_at)) : Number.NEGATIVE_INFINITY
  }
  const isOld = month.asked_at - Date.parse(`${whole.last}Z`) > SWEPT_MONTHS_MS
  const last = Math.max(...reached.map(({ asked_at }) => asked_at))
  const swept = isOld ? month.asked_at : Math.max(...reached.map(sweptAt))
  const isRare = !isOld && month.asked_at - last >= RARE_MS
  const isNew = last === Number.NEGATIVE_INFINITY || (!month.is_complete && isObtainable(month))
  const isWhole = month.is_awaited || isNew || isRare || month.asked_at - swept >= SWEPT_EVERY_MS
  const first = isWhole ? start : later(start, secondsAfter(literalOf(last), -AGAIN_SECONDS))
  const end = earlier(whole.last, reach)
  return first < end ? { first, last: end } : null
}

/** A period without what the authority no longer gave when a request about the month was last sent. */
function stillGiven(wanted: Period | null, month: WantedMonth, family: Family, requests: readonly AuthorityRequest[]): Period | null {
  const sent = requests.filter((one) => one.family === family && one.state !== 'planned' && isFor(month, one)).map((one) => one.asked_at)
  const first = later(wanted?.first ?? '', oldestAt(Math.max(month.asked_at, ...sent)))
  return wanted !== null && first < wanted.last ? { ...wanted, first } : null
}

/** Whether the authority still has the whole of a month. */
export const isObtainable = ({ month, asked_at }: WantedMonth): boolean => periodOfMonth(month).first >= oldestAt(asked_at)

/**
 * Whether a month had begun in the centre of Mexico when it was asked for. In the east it begins an hour earlier, and is asked for then, but
 * the authority is asked for nothing of it yet.
 */
export const hasBegun = ({ month, asked_at }: WantedMonth): boolean => periodOfMonth(month).first < reachOf(asked_at)

export interface MonthProgress {
  /** `unplanned`: something is to be asked for. */
  state: 'ready' | 'waiting' | 'failed' | 'unplanned'
  /**
   * The requests that brought the documents of a month, metadata first, in the order in which they were made. While it waits, those of each
   * family whose metadata is there.
   */
  requests: AuthorityRequest[]
  /** What is to be asked for, by family. */
  unplanned: (Period & { family: Family })[]
  /** The request for which it failed, or whose XML will not come. */
  failed: AuthorityRequest | null
}

/** How far the conversation about a month is. */
export function progressOf(month: WantedMonth, requests: readonly AuthorityRequest[]): MonthProgress {
  const whole = periodOfMonth(month.month)
  const serving = requests.filter((one) => isAnsweredBy(month, one) && overlap(one, whole))
  const divided = dividedOf(month, requests)
  const progress: MonthProgress = { state: 'ready', requests: [], unplanned: [], failed: null }
  /** Those that wait for XML, and those whose metadata is not there. */
  const [waiting, unlisted] = [new Set<Family>(), new Set<Family>()]
  for (const family of FAMILIES) {
    const wanted = stillGiven(wantedOf(month, family, requests), month, family, requests)
    const own = serving.filter((one) => one.family === family)
    const metadata = own.filter(({ kind }) => kind === 'metadata')
    if (wanted === null || isCovered(wanted, metadata.filter(isDone))) {
      if (own.some(isUnfinished) || divided.some((one) => one.family === family && isOpen(one, requests))) waiting.add(family)
      continue
    }
    const failed = metadata.find((one) => one.state === 'failed' && overlap(one, wanted))
    if (own.some(isUnfinished) && (failed || isCovered(wanted, metadata))) unlisted.add(family)
    else if (failed) Object.assign(progress, { state: 'failed', failed })
    else progress.unplanned.push({ ...wanted, family })
  }
  progress.failed ??= serving.find(({ kind, state }) => kind === 'xml' && state === 'failed') ?? null
  if (progress.unplanned.length > 0) return { ...progress, state: 'unplanned' }
  if (waiting.size + unlisted.size > 0) progress.state = 'waiting'
  progress.requests = serving
    .filter(({ state, family }) => state === 'stored' && !unlisted.has(family))
    .sort((one, other) => (one.kind === other.kind ? one.n - other.n : one.kind === 'metadata' ? -1 : 1))
  return progress
}
