import { secondsAfter } from './periods.ts'
import { type AuthorityRequest, isDone, isUnfinished, SHORT } from './requests.ts'

/** In seconds: how much longer than the request the parts of its period may be, together. Each that is asked for again is a second longer. */
const LONGER = 600

type Asked = Pick<AuthorityRequest, 'n' | 'family' | 'source' | 'kind' | 'first' | 'last' | 'state' | 'code' | 'announced'>

/** Whether a request for metadata listed fewer documents than the authority announced, and was divided. */
export const isDivided = ({ kind, state, code }: Pick<Asked, 'kind' | 'state' | 'code'>): boolean =>
  kind === 'metadata' && state === 'replaced' && code === SHORT

/** What was asked for in the place of a divided request, at last. */
const partsOf = ({ n, family, source, first, last }: Asked, requests: readonly Asked[]): Asked[] =>
  requests.filter(
    (one) =>
      one.kind === 'metadata' &&
      one.n > n &&
      one.family === family &&
      one.source === source &&
      one.state !== 'replaced' &&
      one.first >= first &&
      one.first <= last &&
      one.last <= secondsAfter(last, LONGER),
  )

/** Whether the authority has not answered for all parts of a divided request yet: until then it is not known whether it announces less now. */
export const isOpen = (divided: Asked, requests: readonly Asked[]): boolean => partsOf(divided, requests).some(isUnfinished)

/**
 * Whether the authority announces fewer documents of all parts of a divided request than it announced of the request. What is missing can be
 * of any of them.
 */
export const fellShort = (divided: Asked, requests: readonly Asked[]): boolean =>
  partsOf(divided, requests)
    .filter(isDone)
    .reduce((sum, { announced }) => sum + (announced ?? 0), 0) < (divided.announced ?? 0)
