import type { Problem } from './api/index.js'

/** An answer of the service that is no success. `code` is stable; `message` has the code, and says what is wrong and what to do. */
export class FiscalDataError extends Error {
  override readonly name = 'FiscalDataError'
  readonly status: number
  /** Such as `extractor.not_found`; null where something before the service answered. */
  readonly code: string | null
  /** For a question to the operator of the service. */
  readonly requestId: string | null
  /** On 422: what is wrong with the query or the body. */
  readonly errors: readonly { path: string; message: string }[]
  /** The whole body of the answer. */
  readonly problem: unknown

  constructor(status: number, problem: unknown) {
    const told = (typeof problem === 'object' && problem !== null ? problem : {}) as Partial<Problem>
    const detail = typeof told.detail === 'object' ? told.detail.message : told.detail
    const text = detail ?? `The service answered ${status}.`
    super(told.code ? `${told.code}: ${text}` : text)
    this.status = status
    this.code = told.code ?? null
    this.requestId = told.request_id ?? null
    this.errors = told.errors ?? []
    this.problem = problem
  }
}
