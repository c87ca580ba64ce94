import { type Fragment, raw, sql } from '../../../platform/db/fragment.ts'
import { MEANING_IN_WORDS, meaningOf } from '../meanings.ts'
import { UNANSWERED_IN_WORDS, type UnansweredKind } from '../unanswered.ts'
import { DENIED, isUnfinished, type RequestState, SHORT, saysShort, UNREADABLE } from './rules/requests.ts'
import { nextCheck } from './rules/schedule.ts'

/** A request as it is told of. */
export interface ToldRequest {
  family: string
  source: string
  /** A JSON array. */
  months: string
  state: RequestState
  code: string | null
  message: string | null
  asked_at: number
  attempts: number
  /** When the conversation goes on; null while nothing is waited for. */
  due_at: number | null
}

/** So many requests, the newest ones, are looked at. The first download of all years has a dozen, and a day has a few. */
const LOOKED_AT = 100

/** Selects the newest requests about a taxpayer. */
export const toldRequests = (entity: number): Fragment =>
  sql`select family, source, months, state, code, message, asked_at, attempts,
      (select due_at from authority_conversations c where c.entity = ${entity}) as due_at
    from authority_requests where entity = ${entity} order by n desc limit ${raw(String(LOOKED_AT))}`

const WRONG_IN_WORDS: Readonly<Record<string, string>> = {
  [SHORT]: 'The metadata lists fewer documents than the tax authority announced. The next run asks for it again.',
  [DENIED]: 'The tax authority says that it has no documents for a period in which it had some. It is asked again.',
  [UNREADABLE]: 'A package of the tax authority could not be read. It is asked for anew.',
}

/**
 * A code of the authority, or the kind of an answer that is none, with what it says. `message` is the authority's own, on which the meaning
 * of a few codes depends.
 */
const codeInWords = (code: string, message: string | null): string =>
  `${code}: ${WRONG_IN_WORDS[code] ?? UNANSWERED_IN_WORDS[code as UnansweredKind] ?? MEANING_IN_WORDS[meaningOf(code, message ?? '')]}`

/** What is told of the conversation about a month. */
export interface ToldMonth {
  /** The last code of the authority, in words. */
  last_code: string | null
  /** Whether a request was given up. */
  hasFailed: boolean
  attempts: number
  /** When the authority is asked next, in milliseconds; null when nothing is waited for. */
  next_check_at: number | null
}

/** How much what was answered to a request says of its month: most what keeps that from being complete, least that there is nothing. */
function weightOf({ family, state, code }: ToldRequest, own: readonly ToldRequest[]): number {
  if (state === 'stored' && saysShort(code)) return 5
  if (state === 'failed') return 4
  if (own.some((one) => one.family === family && isUnfinished(one))) return 3
  return state === 'empty' ? 1 : 2
}

/**
 * Tells of the conversation about a month what has happened since an instant, in milliseconds: requests from before may be for others.
 * `factor` multiplies all waits.
 */
export function toldOf(
  requests: readonly ToldRequest[],
  { source, month, since, now, factor }: { source: string; month: string; since: number; now: number; factor: number },
): ToldMonth {
  const own = requests.filter(
    (one) => one.source === source && one.asked_at >= since && (JSON.parse(one.months) as string[]).includes(month),
  )
  // Among those that say as much, the newest.
  const [coded] = own.filter(({ code }) => code !== null).sort((one, other) => weightOf(other, own) - weightOf(one, own))
  const checks = own.flatMap(({ state, asked_at, due_at }) => {
    if (!isUnfinished({ state })) return []
    const next = state === 'waiting' ? nextCheck(asked_at, now, factor) : state === 'planned' ? Math.max(asked_at, now) : due_at
    return next === null ? [] : [Math.max(next, now)]
  })
  return {
    last_code: coded ? codeInWords(coded.code!, coded.message) : null,
    hasFailed: own.some(({ state }) => state === 'failed'),
    attempts: Math.max(0, ...own.map(({ attempts }) => attempts)),
    next_check_at: checks.length === 0 ? null : Math.min(...checks),
  }
}
