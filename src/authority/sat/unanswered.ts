/**
 * Why a request has no answer: a page instead of SOAP, a SOAP fault, any other answer with an error of HTTP, one that ends too early, one that
 * is none, one that is larger than a package may be, no answer in time, or no connection.
 */
export type UnansweredKind = 'html' | 'fault' | 'http_error' | 'truncated' | 'malformed' | 'too_large' | 'timed_out' | 'unreachable'

/** Why a request has no answer, in words. */
const UNANSWERED_IN_WORDS: Readonly<Record<Exclude<UnansweredKind, 'http_error'>, string>> = {
  html: 'The tax authority answered with a page. It is asked again later.',
  fault: 'The tax authority answered with a fault. It is asked again later.',
  truncated: 'The answer of the tax authority ended too early. It is asked again later.',
  malformed: 'The tax authority answered something that is no answer. It is asked again later.',
  too_large: 'The tax authority sent more than a package may have. It is asked for the halves of the period.',
  timed_out: 'The tax authority did not answer in time. It is asked again later.',
  unreachable: 'The tax authority could not be reached. It is asked again later.',
}

/** What the code of an answer with an error of HTTP begins with. */
const HTTP = 'http_'

/** A code of `Unanswered`, in words; undefined for any other code. */
export function unansweredInWords(code: string): string | undefined {
  const [, status] = new RegExp(`^${HTTP}(\\d{3})$`).exec(code) ?? []
  if (status !== undefined) return `The tax authority answered with the HTTP status ${status}. It is asked again later.`
  return UNANSWERED_IN_WORDS[code as keyof typeof UNANSWERED_IN_WORDS]
}

/** The authority did not answer what it was asked. Whether it did what it was asked is not known. */
export class Unanswered extends Error {
  readonly kind: UnansweredKind
  /** Of a fault: its code without prefix, such as InvalidSecurity or ActionNotSupported. */
  readonly fault: string | null
  /** The status of HTTP; null before it is known. */
  status: number | null = null
  /** Whether it was the login, so that what it was for was not asked. */
  isOfLogin = false

  constructor(kind: UnansweredKind, message: string, fault: string | null = null) {
    super(message)
    this.kind = kind
    this.fault = fault
  }

  /** As it is kept in the place of a code of the authority: the kind, or `http_503`. */
  get code(): string {
    return this.kind === 'http_error' ? `${HTTP}${this.status}` : this.kind
  }
}

/** The answer has the right form, and not what it must have. */
export const unexpected = (): Unanswered => new Unanswered('malformed', 'The answer of the tax authority lacks what it must have.')
