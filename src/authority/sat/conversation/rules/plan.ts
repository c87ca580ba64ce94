import type { Family } from '../../operations.ts'
import {
  DAY_SECONDS,
  earlier,
  later,
  oldestAt,
  type Period,
  periodOfMonth,
  reachOf,
  secondsAfter,
  secondsBetween,
  unusedPeriod,
} from './periods.ts'
import type { AuthorityRequest, CfdiSource, DayCounts, RequestKind, WantedMonth } from './requests.ts'
import { progressOf } from './wanted.ts'

/** A request that is to be made. */
export interface PlannedRequest extends Period {
  family: Family
  source: CfdiSource
  kind: RequestKind
  months: string[]
}

/** Periods with so little between them are asked for together: a request costs more than rows that are known. */
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

/** A period of its kind that was never asked for, also not by the others that are planned. */
export function unused(wanted: PlannedRequest, others: readonly Omit<PlannedRequest, 'months'>[]): PlannedRequest {
  const same = others.filter(({ family, source, kind }) => family === wanted.family && source === wanted.source && kind === wanted.kind)
  const period = unusedPeriod(wanted, ({ first, last }) => same.some((one) => one.first === first && one.last === last))
  return { ...wanted, ...period }
}

/**
 * The metadata requests for these months, which have one login: as few as there can be for each family and source, from the first second that
 * is wanted to the last one. A period that reaches the present goes on to a minute before `now`.
 */
export function metadataRequests(months: readonly WantedMonth[], requests: readonly AuthorityRequest[], now: number): PlannedRequest[] {
  const wanted = months.flatMap((month) => progressOf(month, requests).unplanned.map((period) => ({ ...period, month })))
  const planned: PlannedRequest[] = []
  for (const some of Map.groupBy(wanted, ({ family, month }) => `${family} ${month.source}`).values()) {
    const [{ family, month }] = some as [(typeof some)[0], ...typeof some]
    const presents = new Set(some.filter((one) => one.last === reachOf(one.month.asked_at)).map(({ last }) => last))
    for (const { first, last } of merged(some)) {
      const end = presents.has(last) ? later(last, reachOf(now)) : last
      const within = some.filter((one) => first <= one.first && one.last <= last)
      const named = { family, source: month.source, kind: 'metadata', months: within.map((one) => one.month.month).sort() } as const
      planned.push(unused({ ...named, first, last: end }, [...requests, ...planned]))
    }
  }
  return planned
}

/**
 * A request as it is sent for these months. Metadata up to the present of a month goes on to a minute before `now`: since it was planned, the
 * authority may have refused to answer for days.
 */
export function upToNow(
  request: AuthorityRequest,
  months: readonly WantedMonth[],
  requests: readonly AuthorityRequest[],
  now: number,
): AuthorityRequest {
  const ends = months.flatMap(({ month, asked_at }) => {
    const { last } = periodOfMonth(month)
    const reach = reachOf(asked_at)
    return reach < last && reach <= request.last ? [earlier(last, reachOf(now))] : []
  })
  if (request.kind !== 'metadata' || ends.length === 0) return request
  const others = requests.filter(({ n }) => n !== request.n)
  return { ...request, last: unused({ ...request, last: ends.reduce(later, request.last) }, others).last }
}

/**
 * A request without what the authority no longer gives at `now`: since it was planned, a day may have begun there, and it refuses a period that
 * begins too early as a whole. One of which nothing is left stays as it is.
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
 * The periods whose XML is to be asked for: from the first missing document to the last one, cut between days where more than `most` would be
 * delivered. Nothing when nothing is missing. All that lies within a period is delivered, also what is held.
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
