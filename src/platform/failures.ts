import { clipped } from './names.ts'

/** Failures without HTTP: the kind says what a caller can do, and a dotted code says what went wrong. */
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

/** A limit that requests are counted against, as answers tell it. */
export interface CountedLimit {
  name: string
  requests: number
  /** The time in which they are counted. */
  seconds: number
  remaining: number
  /** Seconds until the limit is whole again. */
  reset: number
}

/** The most faults that a refusal names: more than anybody reads. */
export const MOST_FAULTS = 20
/** The most characters of the path and the message of a fault, because they can repeat what was sent. */
const MOST_PATH = 100
const MOST_MESSAGE = 500

/** The request that was carried out before, and whose answer was not kept. */
export interface FirstAnswer {
  status: number
  bytes: number
  /** Hexadecimal. */
  sha256: string
}

interface Extra {
  errors?: Fault[]
  /** How many further faults there are. */
  left_out?: number
  retry_after_seconds?: number
  checkout_url?: string
  /** With too_many_requests: the limit that was exceeded, unless it is a cooldown. */
  limit?: CountedLimit
  /** With conflict: the resource that exists already. */
  resource_id?: string
  /** With idempotency.done: what the request was answered, when that was not kept. */
  first_answer?: FirstAnswer
  /** With fiscal_entity.already_linked: the connection that the organization has. */
  fiscal_entity_id?: string
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

  /** A failure of kind `invalid` says where. */
  constructor(kind: 'invalid', code: string, message: string, extra: Extra & { errors: [Fault, ...Fault[]] })
  constructor(kind: Exclude<Kind, 'invalid'>, code: string, message: string, extra?: Extra)
  constructor(kind: Kind, code: string, message: string, extra: Extra = {}) {
    super(message)
    this.kind = kind
    this.code = code
    this.extra = extra
  }
}

/** Work that may succeed later. A consumer retries it with a growing delay. */
export class Unavailable extends Error {
  /** Why, as `error_class` of the API. */
  readonly error_class: 'login_failed' | 'sat_unavailable' | 'rate_limited'
  /** Whether the authority has locked the taxpayer's account for a while, which says nothing about the CIEC. */
  readonly isLocked: boolean

  constructor(error_class: Unavailable['error_class'], message: string, isLocked = false) {
    super(message)
    this.error_class = error_class
    this.isLocked = isLocked
  }
}

/** Why an identifier may name nothing here: it belongs to somebody else, or to nothing any more. */
const ELSEWHERE = 'It may be deleted, or belong to another organization or environment.'
const OF_RFC = 'Identifiers are those of one fiscal entity, so check that the path has the right one.'

/** Why each resource may be absent, and where to find those that exist. */
const CHECK = {
  alert: `${ELSEWHERE} List alerts with GET /v1/alerts.`,
  blacklist: `${ELSEWHERE} GET /v1/blacklists/custom lists your own, and POST makes one.`,
  cancellation_request:
    'Nobody is known to have asked to cancel this CFDI, or your windows do not show it. GET /v1/cancellation-requests lists the requests.',
  cfdi:
    'Your windows may not show it, its month may not be downloaded, or neither party is the RFC of this fiscal entity. visible_from and visible_to of ' +
    'GET /v1/fiscal-entities/{fiscal_entity_id} are the windows; GET /v1/fiscal-entities/{fiscal_entity_id}/coverage shows what is held of each ' +
    'month, and GET /v1/sync what is being downloaded.',
  coverage_month:
    'It is before or after what your windows show of this source. GET /v1/fiscal-entities/{fiscal_entity_id}/coverage lists the months.',
  credential: 'It may be revoked, or belong to another organization. List your credentials with GET /v1/credentials.',
  delivery:
    'The event was not sent to this webhook, or more than 90 days ago. GET /v1/webhooks/{webhook_id}/deliveries lists its deliveries.',
  document: `${OF_RFC} GET /v1/fiscal-entities/{fiscal_entity_id}/documents lists its documents.`,
  event:
    'It may be older than the feed, which keeps events for 90 days and sync.completed without changes for 14, be about an RFC that was unlinked, or ' +
    'belong to another organization or environment. List events with GET /v1/events.',
  export: `${ELSEWHERE} List exports with GET /v1/exports.`,
  extractor: `${ELSEWHERE} List extractors with GET /v1/extractors.`,
  fiscal_entity: 'The organization has no connection to it. List its fiscal entities with GET /v1/fiscal-entities.',
  import: `It may be deleted. ${OF_RFC} GET /v1/fiscal-entities/{fiscal_entity_id}/cfdi/imports lists its imports.`,
  invitation: 'It may be accepted, withdrawn or expired. List the open invitations with GET /v1/team/invitations.',
  invoice: `${ELSEWHERE} List invoices with GET /v1/billing/invoices.`,
  member: 'They may have been removed, or belong to another organization. List members with GET /v1/team/members.',
  notification: `${OF_RFC} GET /v1/fiscal-entities/{fiscal_entity_id}/buzon/notifications lists its notifications.`,
  report: 'GET /v1/reports lists the keys of all reports.',
  connect_link: `It may have expired more than 90 days ago. ${ELSEWHERE} List links with GET /v1/connect-links.`,
  consent: `${ELSEWHERE} List consents with GET /v1/consents.`,
  run: `${ELSEWHERE} List runs with GET /v1/extractors/{extractor_id}/runs or GET /v1/fiscal-entities/{fiscal_entity_id}/runs.`,
  storage_connector: `${ELSEWHERE} List storage connectors with GET /v1/storage-connectors.`,
  supplier:
    'Nothing is set of it. GET /v1/fiscal-entities/{fiscal_entity_id}/diot-settings/suppliers lists the suppliers of which something is.',
  sync_job: `${OF_RFC} GET /v1/fiscal-entities/{fiscal_entity_id}/sync-jobs lists its jobs.`,
  webhook: `${ELSEWHERE} List webhooks with GET /v1/webhooks.`,
} as const

/**
 * The refusal for a resource that is absent or belongs to another organization, with what to check. It names no id, so that both read
 * alike.
 */
export const notFound = (what: keyof typeof CHECK): Failure =>
  new Failure('not_found', `${what}.not_found`, `There is no such ${what === 'cfdi' ? 'CFDI' : what.replaceAll('_', ' ')}. ${CHECK[what]}`)

/** The sentence for the first of several faults. */
export const sentenceOf = ({ path, message }: Fault): string => `${path || 'body'}: ${message}`

/** A fault as a refusal names it, however long what it repeats is. */
export const shownFault = ({ path, message }: Fault): Fault => ({ path: clipped(path, MOST_PATH), message: clipped(message, MOST_MESSAGE) })

/** Refuses values of the body or query when they have faults. Throws Failure 422. */
export function refuseFaults(code: string, faults: readonly Fault[], unlisted = 0): void {
  const [first, ...others] = faults
  if (first) throw invalid(code, [first, ...others], unlisted)
}

/**
 * The refusal of values of the body or query. It names the first faults, and counts the others and those that were not even listed
 * (`unlisted`).
 */
export function invalid(code: string, faults: readonly [Fault, ...Fault[]], unlisted = 0): Failure {
  const [first, ...others] = faults.slice(0, MOST_FAULTS).map(shownFault) as [Fault, ...Fault[]]
  const left_out = faults.length - 1 - others.length + unlisted
  return new Failure('invalid', code, sentenceOf(first), { errors: [first, ...others], left_out })
}
