import type { Meaning, Requested, SatAnswer, Verified } from '../../answers.ts'
import { MOST_ATTEMPTS } from './requests.ts'

/** The outcome of a request by an answer. */
export type RequestOutcome =
  | { state: 'waiting'; request_id: string }
  | { state: 'ready'; announced: number | null; packages: string[] }
  | { state: 'empty' | 'stored' }
  /** It will never succeed. `isOurs`: the operator has to do something. */
  | { state: 'failed'; isOurs: boolean }
  /** Others take its place: one whose period differs by a second, now or after a wait, or the two halves of the period. */
  | { state: 'replaced'; how: 'moved' | 'later' | 'halved' }
  /** Nothing: it is asked again. */
  | null

/** How often a period is moved by a second before it is halved instead. */
const MOST_MOVES = 3

const FAILED: RequestOutcome = { state: 'failed', isOurs: false }
const OURS: RequestOutcome = { state: 'failed', isOurs: true }
const MOVED: RequestOutcome = { state: 'replaced', how: 'moved' }
const LATER: RequestOutcome = { state: 'replaced', how: 'later' }
const HALVED: RequestOutcome = { state: 'replaced', how: 'halved' }

/** The outcome of answers that any request can get; undefined for the rest. */
function commonOutcome(meaning: Meaning, attempts: number): RequestOutcome | undefined {
  switch (meaning) {
    case 'nothing':
      return { state: 'empty' }
    case 'too_many':
      return HALVED
    case 'parameters_used_up':
      return attempts > MOST_MOVES ? HALVED : MOVED
    case 'signature_refused':
    case 'request_malformed':
    case 'cancelled_refused':
    case 'receiver_missing':
    case 'too_old':
      return OURS
    case 'not_authorized':
      return FAILED
    default:
      return undefined
  }
}

/** Where there is no answer, or none that can be used. */
export const again = (attempts: number): RequestOutcome => (attempts >= MOST_ATTEMPTS ? FAILED : LATER)

/** By the answer to the request itself. `attempts` counts it. */
export function outcomeOfRequest({ meaning, request }: Requested, attempts: number): RequestOutcome {
  if (request !== null && (meaning === 'accepted' || meaning === 'duplicate')) return { state: 'waiting', request_id: request }
  // A live equal request is not ours: we know the identifiers of ours. The next request renews a token that has ended.
  if (meaning === 'duplicate' || meaning === 'token_refused') return attempts > MOST_MOVES ? again(attempts) : MOVED
  return commonOutcome(meaning, attempts) ?? again(attempts)
}

/** By a verification. */
export function outcomeOfCheck({ meaning, state, announced, packages }: Verified, attempts: number): RequestOutcome {
  if (meaning === 'finished') {
    if (packages.length > 0) return { state: 'ready', announced, packages }
    return announced === 0 ? { state: 'empty' } : again(attempts)
  }
  // As with the request itself, a live equal one is not ours.
  if (meaning === 'request_gone' || meaning === 'duplicate') return attempts > MOST_MOVES ? again(attempts) : MOVED
  // The authority failed with the request, or rejects it, and not only this question.
  const isOver = (meaning === 'failed' && state === '4') || state === '5'
  return commonOutcome(meaning, attempts) ?? (isOver ? again(attempts) : null)
}

/** By the answer to a request for a package. `downloads` counts those of the package that were begun, with this one. */
export function outcomeOfPackage({ meaning }: Pick<SatAnswer, 'meaning'>, attempts: number, downloads: number): RequestOutcome {
  if (meaning === 'accepted') return { state: 'stored' }
  if (meaning === 'package_gone' || meaning === 'package_used_up') return attempts > MOST_MOVES ? again(attempts) : MOVED
  if (downloads > MOST_DOWNLOADS) return again(attempts)
  return commonOutcome(meaning, attempts) ?? null
}

/** By a package that is too large: those of the halves of its period are smaller. After several times it is given up. */
export const outcomeOfTooLarge = (attempts: number): RequestOutcome => (attempts > MOST_MOVES ? FAILED : HALVED)

/** After so many failed downloads a package is requested again. */
const MOST_DOWNLOADS = 8
