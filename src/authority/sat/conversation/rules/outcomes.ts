import type { Meaning, Requested, SatAnswer, Verified } from '../../answers.ts'
import { MOST_ATTEMPTS } from './requests.ts'

/** What becomes of a request by an answer. */
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

/** So often a period is moved by a second before it is halved instead. */
const MOST_MOVES = 3

const FAILED: RequestOutcome = { state: 'failed', isOurs: false }
const OURS: RequestOutcome = { state: 'failed', isOurs: true }
const MOVED: RequestOutcome = { state: 'replaced', how: 'moved' }
const LATER: RequestOutcome = { state: 'replaced', how: 'later' }
const HALVED: RequestOutcome = { state: 'replaced', how: 'halved' }

/** What every answer can say of a request, whatever was asked; undefined for the rest. */
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
  // An equal request that is alive is none of ours: of ours the identifier is known. A token that has ended is renewed by the next request.
  if (meaning === 'duplicate' || meaning === 'token_refused') return attempts > MOST_MOVES ? again(attempts) : MOVED
  return commonOutcome(meaning, attempts) ?? again(attempts)
}

/** By a verification. */
export function outcomeOfCheck({ meaning, state, announced, packages }: Verified, attempts: number): RequestOutcome {
  if (meaning === 'finished') {
    if (packages.length > 0) return { state: 'ready', announced, packages }
    return announced === 0 ? { state: 'empty' } : again(attempts)
  }
  // As at the request itself, an equal one that is alive is none of ours.
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

/** By a package that is larger than it may be: those of the halves of its period are smaller. Several times, and it is given up. */
export const outcomeOfTooLarge = (attempts: number): RequestOutcome => (attempts > MOST_MOVES ? FAILED : HALVED)

/** A package that cannot be downloaded so often is asked for anew. */
const MOST_DOWNLOADS = 8
