import type { JobGroup } from '../../downloads/states/states.ts'
import type { ConnectionState, PausedBy } from '../../platform/tenant/tenant.ts'

export const SYNC_STATES = ['idle', 'running', 'waiting', 'blocked'] as const
export type SyncStateName = (typeof SYNC_STATES)[number]

/** What is known of the downloads of one connection. Times are milliseconds. */
export interface KnownOfSync {
  connection: ConnectionState
  paused_by: PausedBy | null
  /** Whether the connection has a login with which runs may download now, and when one that it holds is verified next. */
  isVerified: boolean
  verified_at: number | null
  /** Whether it has a CIEC alone, with which nobody can log in here. */
  lacksFetcher: boolean
  /** Whether it became active a moment ago and no run has covered it yet. */
  isBeginning: boolean
  groups: readonly JobGroup[]
  /** When the next scheduled run begins, and the next one that asks again for all that failed; null without one. */
  next_run_at: number | null
  retried_at: number | null
}

/** Why a connection is in its state: what the sentence about it says. */
export type Cause =
  | 'draft'
  | 'invalid'
  | 'paused'
  | 'payment'
  | 'trial'
  | 'no_fetcher'
  | 'verifying'
  | 'beginning'
  | 'running'
  | 'failing'
  | 'authority'
  | 'login'
  | 'failed'
  | 'given_up'
  | 'done'
  | 'nothing'

/** The state of a connection's downloads. */
export interface Judged {
  state: SyncStateName
  cause: Cause
  error_class: string | null
  attempts: number
  next_attempt_at: number | null
  /** How many jobs the sentence is about. */
  n: number
}

const sum = (groups: readonly JobGroup[]): number => groups.reduce((total, { n }) => total + n, 0)
const most = (groups: readonly JobGroup[]): number => Math.max(0, ...groups.map(({ attempts }) => attempts))
/** The error class of the most jobs. */
const errorOf = (groups: readonly JobGroup[]): string | null =>
  groups.filter(({ error_class }) => error_class !== null).toSorted((a, b) => b.n - a.n)[0]?.error_class ?? null
const firstOf = (groups: readonly JobGroup[]): number | null => {
  const instants = groups.flatMap(({ next_at }) => next_at ?? [])
  return instants.length === 0 ? null : Math.min(...instants)
}

const NOTHING = { error_class: null, attempts: 0, next_attempt_at: null, n: 0 } as const

function inactive({ connection, paused_by }: KnownOfSync): Cause | null {
  if (connection === 'draft') return 'draft'
  if (connection === 'invalid_ciec') return 'invalid'
  if (connection === 'paused') return paused_by === 'payment' || paused_by === 'trial' ? paused_by : 'paused'
  return null
}

/** Judges the downloads of one connection. What a person must end comes first, then what goes on, then what waits, then what has failed. */
export function judge(known: KnownOfSync): Judged {
  const of = (status: JobGroup['status']) => known.groups.filter((group) => group.status === status)
  const cause = inactive(known)
  if (known.lacksFetcher && (cause === 'draft' || cause === null))
    return { ...NOTHING, state: 'blocked', cause: 'no_fetcher', n: sum(of('waiting')) }
  // A login that is stored, and about which the authority is still to be asked, may make it active.
  if (cause === 'draft' && known.verified_at !== null)
    return { ...NOTHING, state: 'waiting', cause: 'verifying', next_attempt_at: known.verified_at }
  if (cause !== null)
    return { ...NOTHING, state: 'blocked', cause, error_class: cause === 'invalid' ? 'invalid_credentials' : null, n: sum(of('waiting')) }
  const [going, waiting, failed] = [[...of('running'), ...of('queued')], of('waiting'), of('failed')]
  if (going.length > 0)
    return {
      state: 'running',
      cause: 'running',
      error_class: errorOf(going),
      attempts: most(going),
      next_attempt_at: null,
      n: sum(going) + sum(waiting),
    }
  if (!known.isVerified) return { ...NOTHING, state: 'waiting', cause: 'verifying', next_attempt_at: known.verified_at, n: sum(waiting) }
  if (waiting.length > 0) {
    const error_class = errorOf(waiting)
    return {
      state: 'waiting',
      cause: error_class === null ? 'authority' : error_class === 'invalid_credentials' ? 'login' : 'failing',
      ...{ error_class, attempts: most(waiting), next_attempt_at: firstOf(waiting), n: sum(waiting) },
    }
  }
  if (known.isBeginning) return { ...NOTHING, state: 'running', cause: 'beginning' }
  if (failed.length > 0) {
    const { retried_at } = known
    return {
      ...(retried_at === null ? ({ state: 'blocked', cause: 'given_up' } as const) : ({ state: 'waiting', cause: 'failed' } as const)),
      ...{ error_class: errorOf(failed), attempts: most(failed), next_attempt_at: retried_at, n: sum(failed) },
    }
  }
  return { ...NOTHING, state: 'idle', cause: known.groups.length > 0 ? 'done' : 'nothing', n: sum(of('succeeded')) }
}
