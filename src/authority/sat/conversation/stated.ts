import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import { meaningForPackage, meaningInWords, meaningOf, unansweredInWords } from '../answers.ts'
import { fellShort, isDivided, isOpen } from './rules/divided.ts'
import {
  type AuthorityRequest,
  checksBetween,
  DISPUTED,
  heardAt,
  isLong,
  isUnfinished,
  nextCheck,
  SHORT,
  saysShort,
  UNREADABLE,
} from './rules/requests.ts'
import { authorityConversations, authorityRequests } from './tables.ts'

/** A request in its reported form. */
export interface StatedRequest extends Omit<AuthorityRequest, 'months' | 'request_id' | 'packages'> {
  /** A JSON array. */
  months: string
  /** When the conversation continues; null while nothing is awaited. */
  due_at: number | null
}

/** How many of the newest requests are read. The first download of all years has a dozen, with XML without metadata some 60, and a day has a few. */
const LOOKED_AT = 200

const r = authorityRequests
const { entity: _, request_id: __, packages: ___, ...STATED } = getTableColumns(r)

/** Selects the newest requests about a taxpayer. */
export const statedRequests = (entity: number): SQL =>
  sql`select ${sql.join(Object.values(STATED), sql`, `)},
      (select ${authorityConversations.due_at} from ${authorityConversations} where ${authorityConversations.entity} = ${entity}) as due_at
    from ${r} where ${r.entity} = ${entity} order by ${r.n} desc limit ${sql.raw(String(LOOKED_AT))}`

const WRONG_IN_WORDS: Readonly<Record<string, string>> = {
  [SHORT]: 'The metadata lists fewer documents than the tax authority announced. The next run asks for it again.',
  [DISPUTED]: 'The tax authority says that it has no documents for a period in which it had some. It is asked again later.',
  [UNREADABLE]: 'A package of the tax authority could not be read. It is asked for anew.',
  // The states Aceptada and En proceso of a list that takes long.
  1: 'The tax authority has accepted the request for the list of documents, and has not begun it. Their XML is asked for without it.',
  2: 'The tax authority is still making the list of documents. Their XML is asked for without it.',
}

/**
 * The last answer to a request: its code, or the kind of a missing answer, in words. A few codes depend on the authority's message, and on
 * whether it had announced documents: then the answer is about a package.
 */
function answerInWords({ code, message, announced }: StatedRequest): string {
  const meaning = ((announced ?? 0) > 0 ? meaningForPackage : meaningOf)(code!, message ?? '')
  return `${code}: ${WRONG_IN_WORDS[code!] ?? unansweredInWords(code!) ?? meaningInWords(meaning)}`
}

/** The end of the words of an answer when the same is asked for again; and when it was given up. */
const AGAIN = 'It is asked again later.'
const NEXT_RUN = 'The next run asks for it again.'

/** The reported state of the conversation about a month. */
export interface StatedMonth {
  /** The last code of the authority, in words. */
  last_code: string | null
  /** Whether a request was given up. */
  hasFailed: boolean
  attempts: number
  /** Since when the authority is asked for a list of documents that takes long; null when there is none. */
  waiting_since: number | null
  /** When the authority is asked next, in milliseconds; null when nothing is waited for. */
  next_check_at: number | null
}

/**
 * How much the answer to a request says of its month: most if it keeps the month from being complete, least if there are no documents.
 * Among waiting requests, and among stored ones, XML says more than its metadata.
 */
function weightOf(request: StatedRequest, own: readonly StatedRequest[], all: readonly StatedRequest[]): number {
  const { family, kind, state, code } = request
  if ((state === 'stored' && saysShort(code)) || (isDivided(request) && !isOpen(request, all) && fellShort(request, all))) return 7
  if (state === 'failed') return 6
  const waiting = own.filter((one) => one.family === family && isUnfinished(one))
  if (waiting.some((one) => one.kind === kind)) return 5
  if (waiting.length > 0) return 4
  if (state === 'empty') return 1
  // Its replacements have said what there is.
  if (state === 'replaced') return 0
  return kind === 'xml' ? 3 : 2
}

/**
 * States what has happened in the conversation about a month since an instant, in milliseconds: requests from before may be for others.
 * `factor` multiplies all waits.
 */
export function statedOf(
  requests: readonly StatedRequest[],
  { source, month, since, now, factor }: { source: string; month: string; since: number; now: number; factor: number },
): StatedMonth {
  const own = requests.filter(
    (one) => one.source === source && (heardAt(one) >= since || isLong(one)) && (JSON.parse(one.months) as string[]).includes(month),
  )
  // Among those that say as much, the newest.
  const [coded] = own
    .filter(({ code }) => code !== null)
    .sort((one, other) => weightOf(other, own, requests) - weightOf(one, own, requests))
  const checks = own.flatMap(({ state, asked_at, due_at }) => {
    if (!isUnfinished({ state })) return []
    const next = state === 'waiting' ? nextCheck(asked_at, now, factor) : state === 'planned' ? asked_at : due_at
    // Nothing happens before the conversation continues.
    return next === null ? [] : [Math.max(next, due_at ?? 0, now)]
  })
  const lists = own.filter(isLong)
  const words = coded ? answerInWords(coded) : null
  return {
    last_code: checks.length === 0 ? (words?.replace(AGAIN, NEXT_RUN) ?? null) : words,
    hasFailed: own.some(({ state }) => state === 'failed'),
    attempts: Math.max(
      0,
      ...own.map((one) => one.attempts + (isLong(one) ? checksBetween(one.asked_at, since, one.heard_at!, factor) : 0)),
    ),
    waiting_since: lists.length === 0 ? null : Math.max(since, Math.min(...lists.map(({ asked_at }) => asked_at))),
    next_check_at: checks.length === 0 ? null : Math.min(...checks),
  }
}
