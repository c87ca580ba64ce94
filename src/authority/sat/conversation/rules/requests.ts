import type { Family } from '../../exchange.ts'
import type { authorityRequests } from '../tables.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** When a request is checked, after it was sent; then every hour. */
const CHECKS_MS = [1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE_MS)
/** The longest wait for anything. */
const SLOW_LIMIT_MS = 7 * 24 * HOUR_MS

/**
 * The first time after `now` at which a request that was sent at an instant is checked, in milliseconds; null after seven days. `factor`
 * multiplies all waits (AUTHORITY_WAIT_FACTOR).
 */
export function nextCheck(asked_at: number, now: number, factor: number): number | null {
  const passed = (now - asked_at) / factor
  const next = CHECKS_MS.find((wait) => wait > passed) ?? CHECKS_MS.at(-1)! + HOUR_MS * hoursAfter(passed)
  return next > SLOW_LIMIT_MS ? null : asked_at + Math.ceil(next * factor)
}

/** The number of the first hour behind the last of the first checks that has not passed. */
const hoursAfter = (passed: number): number => Math.max(1, Math.floor((passed - CHECKS_MS.at(-1)!) / HOUR_MS) + 1)

/** The wait before the next attempt after so many failures: 1, 1, 3, 5, 10, 10, 60, 60 … minutes. */
export const waitAfter = (attempts: number, factor: number): number => {
  const waits = CHECKS_MS.map((check, n) => check - (CHECKS_MS[n - 1] ?? 0))
  return Math.ceil((waits[attempts - 1] ?? HOUR_MS) * factor)
}

/** How often something is tried in seven days. */
export const MOST_ATTEMPTS = CHECKS_MS.length + SLOW_LIMIT_MS / HOUR_MS

/** When the wait for a request of an instant ends. */
export const deadlineOf = (asked_at: number, factor: number): number => asked_at + Math.ceil(SLOW_LIMIT_MS * factor)

/** Requests that are to be checked so soon are checked together. */
export const togetherMs = (factor: number): number => Math.ceil((MINUTE_MS / 3) * factor)

export const FAMILIES: readonly Family[] = ['cfdi', 'retenciones']
export type CfdiSource = AuthorityRequest['source']
export type RequestKind = AuthorityRequest['kind']

/** A package of a request. */
export interface RequestPackage {
  /** IdPaquete. */
  id: string
  /** In bytes, once it is in the bucket. */
  size?: number
  /** Downloads that were begun. */
  attempts?: number
  /** The downloads that the authority may have counted: they came, as a whole or in part, or nobody knows whether they were sent. */
  deliveries?: number
  /** Of metadata, once it is read: its days. Of its last package: how many documents all of them list, and how much nobody can read or date. */
  rows?: number
  unread?: number
  days?: DayCounts
  /** Of XML, once it is read: the locations of the entries whose names no metadata lists; `all` when there was no metadata yet. */
  unannounced?: number[] | 'all'
}

/**
 * The days of the announced documents whose XML the authority delivers: how many there are, how many of them are missing, and the first and
 * last time of the missing ones.
 */
export type DayCounts = Record<string, readonly [deliverable: number, missing: number, first: string, last: string]>

/** A request for documents, as it is stored, with its months in order. Its documents of other months are not kept. */
export type AuthorityRequest = Omit<typeof authorityRequests.$inferSelect, 'entity' | 'months' | 'packages'> & {
  months: string[]
  packages: RequestPackage[]
}

/**
 * The faults of what came, as the code of its request: metadata lists fewer documents than were announced, a package is none, or the
 * authority denies documents that it had.
 */
export const [SHORT, UNREADABLE, DISPUTED] = ['short', 'unreadable', 'denied'] as const

export const isUnfinished = ({ state }: Pick<AuthorityRequest, 'state'>): boolean =>
  state === 'planned' || state === 'asked' || state === 'waiting' || state === 'ready'

/** Whether a code says that the authority listed less than it has. */
export const saysShort = (code: string | null): boolean => code === SHORT || code === DISPUTED

/** How long metadata is waited for before its XML is asked for without it. */
const LONG_MS = 3 * HOUR_MS

/** Whether a request has waited for so long that its XML is asked for without its metadata. */
export const hasWaitedLong = ({ kind, state, asked_at }: AuthorityRequest, now: number, factor: number): boolean =>
  kind === 'metadata' && state === 'waiting' && asked_at + Math.ceil(LONG_MS * factor) <= now

/** Whether the authority has said of metadata, long after it was asked for, that it is not done. Another run may still use it. */
export const isLong = ({ state, heard_at }: Pick<AuthorityRequest, 'state' | 'heard_at'>): boolean =>
  state === 'waiting' && heard_at !== null

/** When the authority was asked for a request, or said of one that takes long how far it is. */
export const heardAt = ({ asked_at, heard_at }: Pick<AuthorityRequest, 'asked_at' | 'heard_at'>): number =>
  Math.max(asked_at, heard_at ?? 0)

/** How often a request is checked, by the schedule, after one instant and up to another one. */
export function checksBetween(asked_at: number, from: number, to: number, factor: number): number {
  let count = 0
  for (let at = nextCheck(asked_at, from, factor); at !== null && at <= to; at = nextCheck(asked_at, at, factor)) count++
  return count
}

/** Whether the authority listed less than it has: then no month of the request is known to be whole. */
export const isShort = ({ kind, code }: AuthorityRequest): boolean => kind === 'metadata' && saysShort(code)

export const isDone = ({ state }: Pick<AuthorityRequest, 'state'>): boolean => state === 'stored' || state === 'empty'

/** Where a package lies in the bucket. */
export const packageKey = (entity: number, n: number, k: number): string => `authority/${entity}/${n}/${k}`

/** A month that somebody waits for. */
export interface WantedMonth {
  source: CfdiSource
  month: string
  /** When it was asked for, in milliseconds. */
  asked_at: number
  /** Whether an earlier download brought everything that the month had. */
  is_complete: boolean
  /** Whether somebody may wait for it, so that the whole month is requested again. */
  is_interactive: boolean
}

/** A request that was answered, with all others, and since when somebody waits for it. */
export interface AnsweredRequest {
  request: AuthorityRequest
  requests: readonly AuthorityRequest[]
  since: number
}

/** How often requests for the same have ended so since then. Failures do not count: nothing came then. */
export const roundsOf = (
  { request, requests, since }: AnsweredRequest,
  ended: { state: AuthorityRequest['state']; code?: string },
): number =>
  requests.filter(
    ({ family, source, kind, first, last, state, code, asked_at }) =>
      family === request.family &&
      source === request.source &&
      kind === request.kind &&
      asked_at >= since &&
      first <= request.first &&
      request.first <= last &&
      state === ended.state &&
      (ended.code === undefined || ended.code === code),
  ).length
