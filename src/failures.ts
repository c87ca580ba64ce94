/** What can go wrong, without HTTP: a kind decides what a caller can do about it, a dotted code says what it was. */
export type Kind =
  | 'malformed'
  | 'unauthenticated'
  | 'payment_required'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  /** Others keep changing the same thing at the same time: asked again it may go through. */
  | 'contention'
  | 'too_large'
  | 'unsupported_media_type'
  | 'invalid'
  | 'too_many_requests'

export interface Fault {
  path: string
  message: string
}

interface Extra {
  errors?: Fault[]
  retry_after_seconds?: number
  checkout_url?: string
  /** On too many requests: the limit that was passed. */
  quota?: { name: string; requests: string; seconds: number }
  /** On a conflict: what there is already. */
  resource_id?: string
  /** On a wrong method: those that the path has. */
  allow?: string[]
}

/** Something that was asked for and cannot be done. Final, but for contention: asking again the same way fails the same way. */
export class Failure extends Error {
  readonly kind: Kind
  readonly code: string
  readonly extra: Extra

  constructor(kind: Kind, code: string, message: string, extra: Extra = {}) {
    super(message)
    this.kind = kind
    this.code = code
    this.extra = extra
  }
}

/** Something that may work later. In a consumer it means: try again, with a growing wait. */
export class Unavailable extends Error {
  /** error_class of insights.md 8.17. */
  readonly error_class: 'login_failed' | 'sat_unavailable' | 'rate_limited'

  constructor(error_class: Unavailable['error_class'], message: string) {
    super(message)
    this.error_class = error_class
  }
}

/** Never says which id: what is foreign and what is absent read alike. */
export const notFound = (what: string): Failure =>
  new Failure('not_found', `${what}.not_found`, `There is no such ${what.replaceAll('_', ' ')}.`)

/** A value of the body or query that is well formed but not acceptable as things are. */
export const invalid = (code: string, errors: [Fault, ...Fault[]]): Failure =>
  new Failure('invalid', code, `${errors[0].path}: ${errors[0].message}`, { errors })
