import { localTimeOf } from '../../../../platform/time/calendar.ts'
import { lastDayOf } from '../../../../platform/time/months.ts'
import { AUTHORITY_ZONE } from '../../../port/business-days.ts'

/** A literal local time of the authority, `YYYY-MM-DDTHH:mm:ss`. Times can be compared as texts. */
export type Literal = string

/** From the first second of `Fecha` to the last one, both included. */
export interface Period {
  first: Literal
  last: Literal
}

const MS = 1_000
export const DAY_SECONDS = 86_400
/** How far behind the clock a request ends: it asks for nothing that is still to come. */
export const BEHIND_MS = 60_000
/** How far back the authority gives documents. */
const YEARS = 6

/** The time so many seconds later, or earlier when the number is negative. */
export const secondsAfter = (literal: Literal, seconds: number): Literal =>
  new Date(Date.parse(`${literal}Z`) + seconds * MS).toISOString().slice(0, 19)

export const secondsBetween = ({ first, last }: Period): number => (Date.parse(`${last}Z`) - Date.parse(`${first}Z`)) / MS

/** The time of an instant where the authority is. */
export const literalOf = (milliseconds: number): Literal => localTimeOf(new Date(milliseconds), AUTHORITY_ZONE)

/** The last second that a request at an instant can ask for. */
export const lastAskable = (milliseconds: number): Literal => literalOf(milliseconds - BEHIND_MS)

/** The first second that the authority gives at an instant. */
export function oldestAt(milliseconds: number): Literal {
  const day = literalOf(milliseconds).slice(0, 10)
  const years = `${Number(day.slice(0, 4)) - YEARS}${day.slice(4)}T00:00:00`
  // Six years before 29 February there is none.
  return secondsAfter(years.replace('-02-29', '-03-01'), 0)
}

export const periodOfMonth = (month: string): Period => ({ first: `${month}-01T00:00:00`, last: `${lastDayOf(month)}T23:59:59` })

export const overlap = (one: Period, other: Period): boolean => one.first <= other.last && other.first <= one.last

export const earlier = (one: Literal, other: Literal): Literal => (one < other ? one : other)
export const later = (one: Literal, other: Literal): Literal => (one < other ? other : one)

/** Whether a time, or a day or month, lies in a period, or a part of it does. */
export const isWithin = (time: Literal, { first, last }: Period): boolean =>
  time >= first.slice(0, time.length) && time <= last.slice(0, time.length)

/** Whether every second of a period is in one of the others. */
export function isCovered({ first, last }: Period, others: readonly Period[]): boolean {
  let at = first
  for (const other of others.toSorted((one, next) => (one.first < next.first ? -1 : 1))) {
    if (other.first > at) return false
    if (other.last >= at) at = secondsAfter(other.last, 1)
    if (at > last) return true
  }
  return false
}

/** A period without its beginning that others cover; null when they leave no two seconds of it. */
export function afterOthers({ first, last }: Period, others: readonly Period[]): Period | null {
  let from = first
  for (const other of others.toSorted((one, next) => (one.first < next.first ? -1 : 1)))
    if (other.first <= from && other.last >= from) from = secondsAfter(other.last, 1)
  return from < last ? { first: from, last } : null
}

/** The two halves of a period; null for one of two seconds or less, because a request is for two seconds at least. */
export function halvesOf({ first, last }: Period): [Period, Period] | null {
  const half = Math.floor(secondsBetween({ first, last }) / 2)
  if (half < 1) return null
  const middle = secondsAfter(first, half)
  return [
    { first, last: middle },
    { first: secondsAfter(middle, 1), last },
  ]
}

/** The period itself, or the shortest longer one that was never asked for: the authority refuses exactly the same one for ever. */
export function unusedPeriod({ first, last }: Period, isUsed: (period: Period) => boolean): Period {
  let period = { first, last: first < last ? last : secondsAfter(first, 1) }
  while (isUsed(period)) period = { first, last: secondsAfter(period.last, 1) }
  return period
}
