/** What can go wrong, without HTTP: the kind says what a caller can do about it, a dotted code what it was. */
export type Kind =
  | 'malformed'
  | 'unauthenticated'
  | 'payment_required'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  /** Concurrent requests keep changing the same thing; the request may succeed when it is sent again. */
  | 'contention'
  /** The plan allows no more; the request may succeed when there is room again. */
  | 'no_room'
  | 'too_large'
  | 'unsupported_media_type'
  | 'invalid'
  /** A range of content that has none of it. */
  | 'range'
  | 'too_many_requests'

export interface Fault {
  path: string
  message: string
}

interface Extra {
  errors?: Fault[]
  retry_after_seconds?: number
  checkout_url?: string
  /** With too_many_requests: the limit that was exceeded. */
  quota?: { name: string; requests: number; seconds: number }
  /** With conflict: the resource that exists already. */
  resource_id?: string
  /** With would_notify: the deadline of the notification, a day. */
  open_deadline?: string
  /** With method_not_allowed: the methods of the path. */
  allow?: string[]
  /** With range: the bytes that there are. */
  size?: number
}

/**
 * A request that cannot be carried out. It is final: the same request fails again. The kinds `contention` and `no_room` are the exceptions.
 */
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

/** Work that may succeed later. A consumer retries it with a growing delay. */
export class Unavailable extends Error {
  /** error_class of insights.md 8.17. */
  readonly error_class: 'login_failed' | 'sat_unavailable' | 'rate_limited'
  /** Whether the authority has locked the taxpayer's account for a while, which says nothing about the CIEC. */
  readonly isLocked: boolean

  constructor(error_class: Unavailable['error_class'], message: string, isLocked = false) {
    super(message)
    this.error_class = error_class
    this.isLocked = isLocked
  }
}

/** The refusal for a resource that is absent or belongs to another organization. It names no id, so that both read alike. */
export const notFound = (what: string): Failure =>
  new Failure('not_found', `${what}.not_found`, `There is no such ${what.replaceAll('_', ' ')}.`)

/** The refusal of values of the body or query that are well formed but not acceptable in the current state. */
export const invalid = (code: string, errors: [Fault, ...Fault[]]): Failure =>
  new Failure('invalid', code, `${errors[0].path}: ${errors[0].message}`, { errors })
