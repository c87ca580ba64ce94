import { addMonths } from '../../../../platform/time/months.ts'
import type { Family } from '../../exchange.ts'
import { fellShort, isDivided, isOpen } from './divided.ts'
import {
  afterOthers,
  DAY_SECONDS,
  earlier,
  isCovered,
  lastAskable,
  later,
  literalOf,
  oldestAt,
  overlap,
  type Period,
  periodOfMonth,
  secondsAfter,
  secondsBetween,
  unusedPeriod,
} from './periods.ts'
import {
  type AuthorityRequest,
  type CfdiSource,
  type DayCounts,
  deadlineOf,
  FAMILIES,
  heardAt,
  isDone,
  isLong,
  isUnfinished,
  nextCheck,
  type RequestKind,
  togetherMs,
  type WantedMonth,
} from './requests.ts'

const DAY_MS = 1_000 * DAY_SECONDS
/** Documents are stamped up to 72 hours after their Fecha, and cancelled at any time, so recent days are requested again. */
const AGAIN_SECONDS = 7 * DAY_SECONDS
/** The months whose metadata is requested again as a whole, and how often; a run that comes a little early does so too. */
const SWEPT_MONTHS_MS = 13 * 30.5 * DAY_MS
const SWEPT_EVERY_MS = 6.5 * DAY_MS
/** A month without requests for so long is not requested every day, so each request is for the whole month. */
const RARE_MS = 1.5 * DAY_MS
/** A request that was asked for "until now" ends a little before. */
const LATE_SECONDS = 300

/** Requests so close together count as one time. */
const TOGETHER_MS = 2 * DAY_MS

const isFor = (month: WantedMonth, request: AuthorityRequest): boolean =>
  request.source === month.source && request.months.includes(month.month)

/**
 * Whether a request answers for a month: it was sent after the month was asked for, or is still to be sent. Metadata that takes long was
 * asked for by a run whose jobs have ended; when it comes, it says how things are then.
 */
export const isAnsweredBy = (month: WantedMonth, request: AuthorityRequest): boolean =>
  isFor(month, request) &&
  request.state !== 'replaced' &&
  (request.state === 'planned' || isLong(request) || heardAt(request) >= month.asked_at)

/** The requests for metadata of a month, since it was asked for, that were divided because they listed less than was announced. */
const dividedOf = (month: WantedMonth, requests: readonly AuthorityRequest[]): AuthorityRequest[] =>
  requests.filter((one) => isDivided(one) && isFor(month, one) && heardAt(one) >= month.asked_at)

/** Whether the authority announces less of a month, or of others in the same request, than when it listed too little. */
export const isLessAnnounced = (month: WantedMonth, requests: readonly AuthorityRequest[]): boolean =>
  dividedOf(month, requests).some((one) => fellShort(one, requests))

/**
 * The period whose metadata a month needs of a family: the whole month when somebody may wait for it, it is not complete, or no request was
 * for the whole month for long; else the part from seven days before the last request on. Null when it needs nothing. It does not depend on
 * how often it is asked.
 */
export function wantedOf(month: WantedMonth, family: Family, requests: readonly AuthorityRequest[]): Period | null {
  const whole = periodOfMonth(month.month)
  const until = lastAskable(month.asked_at)
  const start = later(whole.first, oldestAt(month.asked_at))
  const before = requests.filter(
    (one) => one.kind === 'metadata' && one.family === family && isFor(month, one) && isDone(one) && heardAt(one) < month.asked_at,
  )
  const reached = before.filter(({ last, asked_at }) => last >= earlier(whole.last, secondsAfter(literalOf(asked_at), -LATE_SECONDS)))
  /** When this request and those before it asked for the whole month. */
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
  const isWhole = month.is_interactive || isNew || isRare || month.asked_at - swept >= SWEPT_EVERY_MS
  const first = isWhole ? start : later(start, secondsAfter(literalOf(last), -AGAIN_SECONDS))
  const end = earlier(whole.last, until)
  return first < end ? { first, last: end } : null
}

/** A period without what the authority no longer gave at the last request about the month. */
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
export const hasBegun = ({ month, asked_at }: WantedMonth): boolean => periodOfMonth(month).first < lastAskable(asked_at)

interface MonthProgress {
  /** `unplanned`: something is to be asked for. */
  state: 'ready' | 'waiting' | 'failed' | 'unplanned'
  /**
   * The requests that brought the documents of a month, metadata first, in the order of their creation. While the month waits, those of
   * each family whose metadata is there.
   */
  requests: AuthorityRequest[]
  /** What is to be asked for, by family: metadata, or XML without it. */
  unplanned: (Period & Pick<PlannedRequest, 'family' | 'kind'>)[]
  /** Whether there is a family whose metadata takes long, and of which only XML came. */
  isUnlisted: boolean
  /** The request for which it failed, or whose XML will not come. */
  failed: AuthorityRequest | null
}

/** How far the conversation about a month is. */
export function progressOf(month: WantedMonth, requests: readonly AuthorityRequest[]): MonthProgress {
  const whole = periodOfMonth(month.month)
  const serving = requests.filter((one) => isAnsweredBy(month, one) && overlap(one, whole))
  const divided = dividedOf(month, requests)
  const progress: MonthProgress = { state: 'ready', requests: [], unplanned: [], isUnlisted: false, failed: null }
  /** The families that wait for XML, and those without their metadata. */
  const [waiting, unlisted] = [new Set<Family>(), new Set<Family>()]
  for (const family of FAMILIES) {
    const wanted = stillGiven(wantedOf(month, family, requests), month, family, requests)
    const own = serving.filter((one) => one.family === family)
    const metadata = own.filter(({ kind }) => kind === 'metadata')
    const listed = metadata.filter(isDone).map(broughtFor(month))
    if (wanted === null || isCovered(wanted, listed)) {
      if (own.some((one) => isUnfinished(one) && !isLong(one)) || divided.some((one) => one.family === family && isOpen(one, requests)))
        waiting.add(family)
      continue
    }
    const failed = metadata.find((one) => one.state === 'failed' && overlap(one, wanted))
    // What earlier runs still wait for is asked for anew: the authority may have lost it.
    const asked = metadata.filter((one) => !isLong(one) || one.asked_at >= month.asked_at)
    if (failed && [...asked, ...own.filter(({ kind }) => kind === 'xml')].some(isUnfinished)) unlisted.add(family)
    else if (failed) Object.assign(progress, { state: 'failed', failed })
    else if (!isCovered(wanted, asked.map(broughtFor(month)))) progress.unplanned.push({ ...wanted, family, kind: 'metadata' })
    else if (metadata.some((one) => isUnfinished(one) && !isLong(one))) unlisted.add(family)
    else {
      const xml = afterOthers(wanted, deliveredXml(month, family, requests))
      if (xml !== null) progress.unplanned.push({ ...xml, family, kind: 'xml' })
      else if (own.some((one) => isUnfinished(one) && !isLong(one))) waiting.add(family)
      else if (metadata.some((one) => isLong(one) && heardAt(one) < month.asked_at)) unlisted.add(family)
      else progress.isUnlisted = true
    }
  }
  progress.failed ??= serving.find(({ kind, state }) => kind === 'xml' && state === 'failed') ?? null
  if (progress.unplanned.length > 0) return { ...progress, state: 'unplanned' }
  if (waiting.size + unlisted.size > 0) progress.state = 'waiting'
  progress.requests = serving
    .filter(({ state, family }) => state === 'stored' && !unlisted.has(family))
    .sort((one, other) => (one.kind === other.kind ? one.n - other.n : one.kind === 'metadata' ? -1 : 1))
  return progress
}

/** The part of a request's period of which it brings all that is stamped when a month is asked for: before, recent days may lack some. */
const broughtFor =
  ({ asked_at: at }: WantedMonth) =>
  ({ first, last, state, asked_at }: AuthorityRequest): Period => ({
    first,
    last: state === 'planned' || asked_at >= at ? last : earlier(last, secondsAfter(literalOf(asked_at), -AGAIN_SECONDS)),
  })

/**
 * The parts of a month whose XML was asked for already, by period or by a list that came. What failed is not asked for again by the same
 * run.
 */
const deliveredXml = (month: WantedMonth, family: Family, requests: readonly AuthorityRequest[]): Period[] =>
  requests
    .filter((one) => (one.kind === 'xml' || isDone(one)) && one.family === family && isFor(month, one))
    .filter(({ state, asked_at }) => state !== 'replaced' && (state !== 'failed' || asked_at >= month.asked_at))
    .map(broughtFor(month))

const MINUTE_MS = 60_000
/** When to look again at requests without a login, and at packages that jobs still read. */
const IDLE_MS = 60 * MINUTE_MS
const READING_MS = 10 * MINUTE_MS
/**
 * How long one family waits for the other, and metadata for its XML. Then the available part of a month is taken in twice: now, and with
 * the rest.
 */
const DELAYED_MS = 30 * MINUTE_MS

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

/** Whether the wait for a request has ended. */
export const isExpired = ({ state, asked_at }: AuthorityRequest, now: number, factor: number): boolean =>
  state === 'waiting' && deadlineOf(asked_at, factor) <= now

/** Whether packages of a request are in the bucket, or may be. */
export const isStoredAway = ({ packages }: AuthorityRequest): boolean =>
  packages.some(({ size, attempts }) => size !== undefined || attempts !== undefined)

/** Whether a part of a month has been there for long, and the rest is still missing. */
export const isDelayed = ({ state, requests }: MonthProgress, now: number, factor: number): boolean =>
  state === 'waiting' &&
  requests.length > 0 &&
  Math.max(...requests.map(({ asked_at }) => asked_at)) + Math.ceil(DELAYED_MS * factor) <= now

/** Whether the sleeping job of a month has to end, or to take in an available part. */
export const isToWake = (
  { is_asleep, lists }: Asleep,
  progress: MonthProgress,
  { now, factor }: { now: number; factor: number },
): boolean =>
  is_asleep &&
  (progress.state === 'ready' || progress.state === 'failed' || (lists < listsOf(progress) && isDelayed(progress, now, factor)))

/** Whether months need anything but checks: a plan, or a report. */
export const hasNews = (
  months: readonly (WantedMonth & Asleep)[],
  requests: readonly AuthorityRequest[],
  at: { now: number; factor: number },
): boolean =>
  months.some((month) => {
    const progress = progressOf(month, requests)
    return progress.state === 'unplanned' || isToWake(month, progress, at)
  })

/** When the conversation continues, in milliseconds, after the work that is due now; null when nothing is left of it. */
export function dueOf(
  requests: readonly AuthorityRequest[],
  months: readonly WantedMonth[],
  { now, factor, isIdle }: { now: number; factor: number; isIdle: (request: AuthorityRequest) => boolean },
): number | null {
  const due = requests.flatMap((request): number | never[] => {
    const isNeeded = months.some((month) => isAnsweredBy(month, request))
    if (!isUnfinished(request)) return isStoredAway(request) ? (isNeeded ? now + Math.ceil(READING_MS * factor) : now) : []
    if (!isNeeded) return isLong(request) ? [] : now
    if (isIdle(request)) return now + Math.ceil(IDLE_MS * factor)
    if (request.state === 'planned') return Math.max(now, request.asked_at)
    if (request.state !== 'waiting') return now
    return Math.max(now, nextCheck(request.asked_at, now + togetherMs(factor), factor) ?? deadlineOf(request.asked_at, factor))
  })
  return due.length === 0 ? null : Math.min(...due)
}

/** A request that is to be made. */
export interface PlannedRequest extends Period {
  family: Family
  source: CfdiSource
  kind: RequestKind
  months: string[]
}

/** Periods this close are requested together: a request costs more than rows that are known. */
const GAP_SECONDS = 92 * DAY_SECONDS
/** The authority delivers no more documents with one request. */
export const MOST_DOCUMENTS = 200_000

/** Makes one period of those that overlap, or have little between them. */
export function merged(periods: readonly Period[]): Period[] {
  const all: Period[] = []
  for (const { first, last } of periods.toSorted((one, other) => (one.first < other.first ? -1 : 1))) {
    const before = all.at(-1)
    if (before && secondsBetween({ first: before.last, last: first }) <= GAP_SECONDS) before.last = later(before.last, last)
    else all.push({ first, last })
  }
  return all
}

/** How many months one request for XML without metadata is for: each of their jobs opens all of its files. */
const UNLISTED_MONTHS = 6

/** The requests for the XML of these months whose metadata takes long: as few as there can be for each family and source. */
export function unlistedRequests(months: readonly WantedMonth[], requests: readonly AuthorityRequest[]): PlannedRequest[] {
  const wanted = months.flatMap((month) =>
    progressOf(month, requests).unplanned.flatMap((one) =>
      one.kind === 'xml' ? [{ ...one, source: month.source, month: month.month }] : [],
    ),
  )
  const planned: PlannedRequest[] = []
  for (const some of Map.groupBy(wanted, ({ family, source }) => `${family} ${source}`).values()) {
    let open: PlannedRequest | undefined
    for (const { month, ...one } of some.toSorted((one, other) => (one.month < other.month ? -1 : 1))) {
      if (open && month < addMonths(open.months[0]!, UNLISTED_MONTHS)) {
        open.months.push(month)
        open.last = later(open.last, one.last)
      } else {
        open = { ...one, months: [month] }
        planned.push(open)
      }
    }
  }
  return planned.map((one, n) => unused(one, [...requests, ...planned.slice(0, n)]))
}

/** A period of its kind that was never requested and that no other planned request has. */
export function unused(wanted: PlannedRequest, others: readonly Omit<PlannedRequest, 'months'>[]): PlannedRequest {
  const same = others.filter(({ family, source, kind }) => family === wanted.family && source === wanted.source && kind === wanted.kind)
  const period = unusedPeriod(wanted, ({ first, last }) => same.some((one) => one.first === first && one.last === last))
  return { ...wanted, ...period }
}

/**
 * The metadata requests for these months, which have one login: as few as there can be for each family and source, from the first wanted
 * second to the last one. A period that reaches the present extends to a minute before `now`.
 */
export function metadataRequests(months: readonly WantedMonth[], requests: readonly AuthorityRequest[], now: number): PlannedRequest[] {
  const wanted = months.flatMap((month) =>
    progressOf(month, requests).unplanned.flatMap((one) => (one.kind === 'metadata' ? [{ ...one, month }] : [])),
  )
  const planned: PlannedRequest[] = []
  for (const some of Map.groupBy(wanted, ({ family, month }) => `${family} ${month.source}`).values()) {
    const [{ family, month }] = some as [(typeof some)[0], ...typeof some]
    const presents = new Set(some.filter((one) => one.last === lastAskable(one.month.asked_at)).map(({ last }) => last))
    for (const { first, last } of merged(some)) {
      const end = presents.has(last) ? later(last, lastAskable(now)) : last
      const within = some.filter((one) => first <= one.first && one.last <= last)
      const named = { family, source: month.source, kind: 'metadata', months: within.map((one) => one.month.month).sort() } as const
      planned.push(unused({ ...named, first, last: end }, [...requests, ...planned]))
    }
  }
  return planned
}

/**
 * A request as it is sent for these months. Metadata up to the present of a month extends to a minute before `now`: the authority may have
 * refused to answer for days since the plan.
 */
export function upToNow(
  request: AuthorityRequest,
  months: readonly WantedMonth[],
  requests: readonly AuthorityRequest[],
  now: number,
): AuthorityRequest {
  const ends = months.flatMap(({ month, asked_at }) => {
    const { last } = periodOfMonth(month)
    const until = lastAskable(asked_at)
    return until < last && until <= request.last ? [earlier(last, lastAskable(now))] : []
  })
  if (request.kind !== 'metadata' || ends.length === 0) return request
  const others = requests.filter(({ n }) => n !== request.n)
  return { ...request, last: unused({ ...request, last: ends.reduce(later, request.last) }, others).last }
}

/**
 * A request without what the authority no longer gives at `now`: a day may have begun there since the plan, and it refuses a period that
 * begins too early as a whole. A request of which nothing is left stays as it is.
 */
export function fromOldest(request: AuthorityRequest, requests: readonly AuthorityRequest[], now: number): AuthorityRequest {
  const first = oldestAt(now)
  if (request.first >= first || request.last <= first) return request
  const others = requests.filter(({ n }) => n !== request.n)
  return { ...request, first, last: unused({ ...request, first }, others).last }
}

/** The days of some packages together. */
export function addDays(all: readonly DayCounts[]): DayCounts {
  const sum: Record<string, [number, number, string, string]> = {}
  for (const days of all)
    for (const [day, [deliverable, missing, first, last]] of Object.entries(days)) {
      const before = sum[day]
      if (!before) sum[day] = [deliverable, missing, first, last]
      else {
        const isOther = missing > 0 && before[1] > 0
        const [from, to] = isOther
          ? [before[2] < first ? before[2] : first, later(before[3], last)]
          : before[1] > 0
            ? [before[2], before[3]]
            : [first, last]
        sum[day] = [before[0] + deliverable, before[1] + missing, from, to]
      }
    }
  return sum
}

/**
 * The periods whose XML is to be requested: from the first missing document to the last one, cut between days where more than `most` would
 * be delivered. Nothing when nothing is missing. Everything in a period is delivered, also stored documents.
 */
export function xmlPeriods(days: DayCounts, most = MOST_DOCUMENTS): Period[] {
  const periods: Period[] = []
  let open: (Period & { count: number }) | null = null
  let between = 0
  for (const [day, [deliverable, missing, first, last]] of Object.entries(days).sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (missing === 0) {
      between += deliverable
      continue
    }
    const [from, to] = [`${day}T${first}`, `${day}T${last}`]
    if (open && open.count + between + deliverable <= most) {
      open.count += between + deliverable
      open.last = to
    } else {
      open = { first: from, last: to, count: deliverable }
      periods.push(open)
    }
    between = 0
  }
  // A request is for more than one second.
  return periods.map((period) => ({ first: period.first, last: secondsAfter(period.last, 1) }))
}
