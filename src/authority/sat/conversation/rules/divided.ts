import { halvesOf, oldestAt, type Period, secondsAfter } from './periods.ts'
import { type AuthorityRequest, isDone, isUnfinished, SHORT } from './requests.ts'

/** In seconds: how much longer than its period a request for it may be. Each that is asked for again is a second longer. */
const LONGER = 600

type Asked = Pick<AuthorityRequest, 'n' | 'family' | 'source' | 'kind' | 'first' | 'last' | 'state' | 'code' | 'announced' | 'asked_at'>

/** Whether a request for metadata listed fewer documents than the authority announced, and was divided. */
export const isDivided = ({ kind, state, code }: Pick<Asked, 'kind' | 'state' | 'code'>): boolean =>
  kind === 'metadata' && state === 'replaced' && code === SHORT

/**
 * What was asked for in the place of a request: of each half what has its period, without what the authority no longer gives, or is up to some
 * minutes longer, or else what is in the place of that. The last part of a period that reaches the present may go on to any later time.
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

/** Whether the authority has not answered for all parts of a divided request yet: until then it is not known whether it announces less now. */
export const isOpen = (divided: Asked, requests: readonly Asked[]): boolean => replacementsOf(divided, requests).some(isUnfinished)

/**
 * Whether the authority announces fewer documents of all parts of a divided request than it announced of the request. What is missing can be
 * of any of them.
 */
export const fellShort = (divided: Asked, requests: readonly Asked[]): boolean =>
  replacementsOf(divided, requests)
    .filter(isDone)
    .reduce((sum, { announced }) => sum + (announced ?? 0), 0) < (divided.announced ?? 0)
