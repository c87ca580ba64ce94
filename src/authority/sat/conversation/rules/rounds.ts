import type { AuthorityRequest, RequestState } from './requests.ts'

/** A request that was answered, with all others, and since when somebody waits for it. */
export interface AnsweredRequest {
  request: AuthorityRequest
  requests: readonly AuthorityRequest[]
  since: number
}

/** How often requests for the same have ended so since then. Failures do not count: nothing came then. */
export const roundsOf = ({ request, requests, since }: AnsweredRequest, ended: { state: RequestState; code?: string }): number =>
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
