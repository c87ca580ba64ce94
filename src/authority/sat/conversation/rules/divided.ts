import { halvesOf, oldestAt, type Period, secondsAfter } from './periods.ts'
import { type AuthorityRequest, isDone, isUnfinished, SHORT } from './requests.ts'

/** In seconds: how much longer than its period a request may be. Each repetition is a second longer. */
const LONGER = 600

type Asked = Pick<AuthorityRequest, 'n' | 'family' | 'source' | 'kind' | 'first' | 'last' | 'state' | 'code' | 'announced' | 'asked_at'>

/** Whether a request for metadata listed fewer documents than the authority announced, and was divided. */
export const isDivided = ({ kind, state, code }: Pick<Asked, 'kind' | 'state' | 'code'>): boolean =>
  kind === 'metadata' && state === 'replaced' && code === SHORT

/**
 * The requests in the place of a divided one: for each half of its period, without what the authority no longer gives, the request for it
 * or up to some minutes more, or else those in its place. The last part of a period that reaches the present may end at any later time.
 */
function replacementsOf({ n, family, source, first, last }: Asked, requests: readonly Asked[]): Asked[] {
  const later = requests.filter((one) => one.kind === 'metadata' && one.n > n && one.family === family && one.source === source)
  const replacing = (period: Period, isLast: boolean): Asked[] =>
    (halvesOf(period) ?? []).flatMap((half, k) => {
      const isEnd = isLast && k === 1
      const same = later.filter(
        (one) => isBeginOf(one, half) && one.last >= half.last && (isEnd || one.last <= secondsAfter(half.last, LONGER)),
      )
      const standing = same.find(({ state }) => state !== 'replaced')
      if (standing !== undefined) return [standing]
      return same.length === 0 ? [] : replacing(same.at(-1)!, isEnd)
    })
  return replacing({ first, last }, true)
}

const isBeginOf = ({ first, asked_at }: Asked, half: Period): boolean =>
  first === half.first || (first > half.first && first === oldestAt(asked_at))

/** Whether the authority has not answered for all parts of a divided request yet, so that it is unknown whether it announces less now. */
export const isOpen = (divided: Asked, requests: readonly Asked[]): boolean => replacementsOf(divided, requests).some(isUnfinished)

/**
 * Whether the authority announces fewer documents for all parts of a divided request than for the request. The missing ones can be of any
 * part.
 */
export const fellShort = (divided: Asked, requests: readonly Asked[]): boolean =>
  replacementsOf(divided, requests)
    .filter(isDone)
    .reduce((sum, { announced }) => sum + (announced ?? 0), 0) < (divided.announced ?? 0)
