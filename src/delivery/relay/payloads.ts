import { errorInWords } from '../../authority/port/error-words.ts'
import { hasAppliedPayments, paymentStatusAt } from '../../cfdi/payment-thresholds.ts'
import { deadlinesOf } from '../../documents/mailbox/deadlines.ts'
import type { NotificationBody } from '../../documents/mailbox/keep.ts'
import type { DocumentNews } from '../../documents/news.ts'
import type { DueObligation } from '../../documents/obligations/due-soon.ts'
import type { CancellationBody, NotifiedCfdi } from '../../downloads/cancellation-events.ts'
import type { JobCounts } from '../../downloads/counts/counts.ts'
import type { ExtractionEnd } from '../../downloads/ends/extraction-ends.ts'
import { deadlinesOf as requestDeadlinesOf } from '../../downloads/status/rule.ts'
import type { RequestBody } from '../../downloads/status/watch.ts'
import { severityOf } from '../../lists/catalog.ts'
import { BLACKLIST_CHANGED, type BlacklistChangedBody } from '../../lists/listed/listed.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { offsetText } from '../../platform/time/months.ts'
import type { InvalidBody } from '../../taxpayers/login-answers.ts'
import type { Windows } from '../../taxpayers/visibility/window.ts'
import type { EventPayload } from '../catalog/payload-contract.ts'
import { subjectOf } from '../events/stored-body.ts'

/** The counts of a job for a recipient, the news of its documents, and the end of an extraction. */
export type Brought = JobCounts & { news?: readonly DocumentNews[]; ended?: ExtractionEnd | null }

/** An organization that is notified of a change to one of its fiscal entities. */
export interface Recipient {
  /** The fiscal entity in UUID form. */
  fiscal_entity_uuid: string
  rfc: string
  windows: Windows
  /** When the organization can have known of the change at the earliest, in milliseconds since 1970. */
  known_at: number
}

/** A payload without the identifier and the place of its event. */
export type EventContent = EventPayload extends infer Payload
  ? Payload extends EventPayload
    ? Omit<Payload, 'event_id' | 'ordering'>
    : never
  : never

const MEXICO = 'America/Mexico_City'

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString()
const isoOfSeconds = (seconds: number | null): string | null => (seconds === null ? null : iso(seconds * 1_000))

/** The outbox body of a job that ended. */
export interface SyncBody {
  job_id: string
  data_source_key: string
  period: string | null
  /** `{organization_id: job_id}`: the job under whose identifier an organization knows it. */
  deferred?: Record<string, string>
  error_class: 'invalid_credentials' | 'login_failed' | 'sat_unavailable' | 'rate_limited' | 'internal_error' | null
  completed_at: number
  /** When the job began, in milliseconds; null for an organization that found it finished. */
  begun_at?: number | null
}

/** A job as its event reports it: under the connection's identifier, with its counts for the organization. */
type SyncOfRecipient = SyncBody & JobCounts

/** The second up to which payments and credit notes of a CFDI count for an organization; null without a bound. */
const untilOf = ({ direction }: Pick<CancellationBody, 'direction'>, windows: Windows): number | null => {
  const { ceiling } = windows[direction]
  return ceiling === null ? null : Math.floor(ceiling / 1_000)
}

/** Whether a CFDI had been counted as income: it was issued, and the month of its Fecha was over in Mexico City. */
const isIncome = ({ direction, cfdi_type, fecha }: CancellationBody, known_at: number): boolean =>
  direction === 'issued' && cfdi_type === 'I' && fecha.slice(0, 7) < localDayOf(new Date(known_at), MEXICO).slice(0, 7)

const headOf = ({ fiscal_entity_uuid: fiscal_entity_id, rfc, known_at }: Recipient) => ({
  occurred_at: iso(known_at),
  fiscal_entity_id,
  rfc,
})

/**
 * The events of a cancellation, as far as the organization knows what was applied to the CFDI: `cfdi.cancelled`, and
 * `cfdi.cancelled_after_payment` when payments had been applied or the CFDI had been counted as income.
 */
export function cancellationContents(body: CancellationBody, recipient: Recipient): Extract<EventContent, { cancelled_at: string }>[] {
  const head = headOf(recipient)
  const until = untilOf(body, recipient.windows)
  const isCritical = hasAppliedPayments(body.payments, until) || isIncome(body, Math.max(body.detected_at, recipient.known_at))
  const members = {
    ...head,
    cfdi_uuid: body.cfdi_uuid,
    cancelled_at: body.cancelled_at ?? head.occurred_at,
    cancellation_reason: body.cancellation_reason as '01' | '02' | '03' | '04' | 'unknown',
    severity: isCritical ? 'critical' : 'warning',
    ...cfdiMembers(body, until),
  } as const
  return [{ event: 'cfdi.cancelled', ...members }, ...(isCritical ? [{ event: 'cfdi.cancelled_after_payment', ...members } as const] : [])]
}

/** What events say of the CFDI that they are about, with the payments that were known until then. */
const cfdiMembers = (body: NotifiedCfdi, until: number | null) =>
  ({
    direction: body.direction,
    cfdi_type: body.cfdi_type ?? 'retenciones',
    payment_status: paymentStatusAt(body.payments, until),
    total: body.total ?? '0',
    currency: body.currency ?? 'XXX',
    emisor_rfc: body.emisor_rfc,
    receptor_rfc: body.receptor_rfc,
    issued_at: `${body.fecha}${offsetText(body.utc_offset)}`,
  }) as const

/** The event of a request for cancellation, as far as the organization knows what was applied to the CFDI. */
export function requestContent(body: RequestBody, recipient: Recipient): EventContent & { event: 'cancellation.requested' } {
  const until = untilOf(body, recipient.windows)
  return {
    ...{ event: 'cancellation.requested', ...headOf(recipient), cfdi_uuid: body.cfdi_uuid, detected_at: iso(body.detected_at) },
    ...requestDeadlinesOf(body),
    severity: hasAppliedPayments(body.payments, until) ? 'critical' : 'warning',
    ...cfdiMembers(body, until),
  }
}

/** The event of a job that ended. */
export function syncContent(event: 'sync.completed' | 'sync.failed', body: SyncOfRecipient, recipient: Recipient): EventContent {
  const { job_id, data_source_key, period, created_count, updated_count, cancelled_count } = body
  const members = {
    ...headOf(recipient),
    ...{ job_id, data_source_key, period, ...subjectOf(data_source_key, period), created_count, updated_count, cancelled_count },
    first_issued_at: isoOfSeconds(body.first_issued_at),
    last_issued_at: isoOfSeconds(body.last_issued_at),
    completed_at: iso(body.completed_at),
  }
  if (event === 'sync.completed') return { event, ...members }
  const error_class = body.error_class ?? 'undefined'
  return { event, ...members, error_class, last_code: errorInWords(error_class), will_retry: false, next_attempt_at: null }
}

/** The event of a connection whose logins are refused. */
export const invalidContent = (body: InvalidBody, recipient: Recipient): EventContent & { event: 'connection.ciec_invalid' } => ({
  ...{ event: 'connection.ciec_invalid', ...headOf(recipient), ...body },
})

/** The event of a login or consent of a connection, whose outbox body has the members of the payload. */
export const connectionContent = (event: string, body: Record<string, unknown>, recipient: Recipient): EventContent =>
  ({ event, ...headOf(recipient), ...body }) as EventContent

/** The event of a connect link, whose outbox body names the RFC, if any. */
export const linkContent = (event: string, body: Record<string, unknown>, known_at: number): EventContent =>
  ({ event, occurred_at: iso(known_at), ...body }) as EventContent

/** The event of a change of a list. */
export const listingContent = (
  { changed_at: _, ...change }: BlacklistChangedBody,
  recipient: Recipient,
): EventContent & { event: 'blacklist.changed' } => ({
  ...{ event: BLACKLIST_CHANGED, ...headOf(recipient), ...change },
  severity: change.change === 'removed' ? null : severityOf(change.source, change.situacion),
})

/** The event of an extraction that has ended. It failed when a job of it did. */
export function extractionContent(
  { run_id, sources, error_class, completed_at, failing_since: _, begun: __, ...counts }: ExtractionEnd,
  recipient: Recipient,
): EventContent {
  const members = { run_id, data_source_keys: sources, ...counts, completed_at: iso(completed_at) }
  if (error_class === null) return { event: 'extraction.completed', ...headOf(recipient), ...members }
  return {
    ...{ event: 'extraction.failed', ...headOf(recipient), ...members },
    ...{ error_class: error_class as 'internal_error', last_code: errorInWords(error_class) },
  }
}

/** The event of a document that an organization got. */
export const documentContent = ({ got_at: _, ...news }: DocumentNews, recipient: Recipient): EventContent => ({
  ...headOf(recipient),
  ...news,
})

/** The event of an obligation that is due soon. */
export const dueSoonContent = (due: DueObligation, recipient: Recipient): EventContent => ({
  event: 'obligation.due_soon',
  ...headOf(recipient),
  ...due,
  periodicity: due.periodicity as 'monthly',
})

/** The event of a notification, under the identifier that the recipient's connection knows. */
export function notificationContent(body: NotificationBody & { notification_id: string }, recipient: Recipient): EventContent {
  const { notification_id, kind, title, authority, document_number, ...times } = body
  const [sent_at, opened_at] = [new Date(times.sent_at), times.opened_at === null ? null : new Date(times.opened_at)]
  const { status, severity, open_deadline, deadline_basis, effective_at } = deadlinesOf(
    { kind, sent_at, opened_at },
    new Date(recipient.known_at),
  )
  return {
    ...{ event: 'mailbox.notification_received', ...headOf(recipient), notification_id, kind, title, authority, document_number },
    ...{ sent_at: sent_at.toISOString(), status, severity, open_deadline, deadline_basis },
    effective_at: effective_at?.toISOString() ?? null,
  }
}
