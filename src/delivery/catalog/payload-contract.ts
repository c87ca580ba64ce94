import * as z from 'zod'
import { QUOTAS, UNITS } from '../../accounts/plans/quotas.ts'
import { DEADLINE_BASES } from '../../authority/port/business-days.ts'
import { SENSES } from '../../authority/port/fields-contract.ts'
import { NOTIFICATION_KINDS } from '../../authority/port/mailbox.ts'
import { NOTIFICATION_SEVERITIES, NOTIFICATION_STATUSES } from '../../documents/mailbox/deadlines.ts'
import { LIST_CHANGES, SEVERITIES, SITUACIONES } from '../../lists/catalog.ts'
import { ALERT_KINDS, SEVERITIES as ALERT_SEVERITIES } from '../../platform/alerts/kinds.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { REFUSED_REASONS } from '../../platform/tenant/tenant.ts'

/** Every event key: those of the specification in its order, then further ones. */
export const EVENT_KEYS = [
  'cfdi.cancelled',
  'cfdi.cancelled_after_payment',
  'sync.completed',
  'sync.failed',
  'connection.ciec_invalid',
  'cfdi.issued',
  'document.csf.updated',
  'document.opinion_32d.changed',
  'obligation.due_soon',
  'storage.failed',
  'mailbox.notification_received',
  'blacklist.changed',
  'extraction.completed',
  'extraction.failed',
  'alert.raised',
  'alert.resolved',
  'quota.warning',
  'cfdi.new',
  'cancellation.requested',
  'connection.relink_needed',
  'connection.relinked',
  'connect_link.opened',
  'connect_link.connected',
  'connect_link.refused',
  'connect_link.expired',
  'consent.granted',
  'consent.withdrawn',
  'consent.expired',
] as const

/** The key of a test event. It is not in the catalog: a test is sent only on request. */
export const TEST_KEY = 'webhook.test'

export const EventKey = z.enum(EVENT_KEYS).meta({
  id: 'EventKey',
  description: 'A key of the event catalog (`GET /v1/webhooks/event-catalog`).',
})
export type EventKey = z.infer<typeof EventKey>

/** The key of an event that was sent: those of the catalog, and a test's. */
export const SentEventKey = z.enum([...EVENT_KEYS, TEST_KEY])

export const EventCatalogItem = z
  .strictObject({
    key: EventKey,
    description: z.string().meta({ description: 'When the event is sent.' }),
    available: z.boolean().meta({
      description:
        'Whether the service sends the event already. You can subscribe to it either way; `warnings` of the webhook then say so.',
    }),
    schema: z.record(z.string(), z.unknown()).nullable().meta({
      description: 'JSON Schema of the payload; null while the event is not available.',
    }),
    sample: z.record(z.string(), z.unknown()).nullable().meta({
      description: 'A complete sample payload; null while the event is not available.',
    }),
  })
  .meta({ id: 'EventCatalogItem' })
export type EventCatalogItem = z.infer<typeof EventCatalogItem>

export const EventCatalog = pageOf(EventCatalogItem).meta({ id: 'EventCatalog' })
export type EventCatalog = z.infer<typeof EventCatalog>

/** What `cfdi_type` of an event can be. */
export const CFDI_TYPES = ['I', 'E', 'T', 'N', 'P', 'retenciones'] as const
export type CfdiType = (typeof CFDI_TYPES)[number]

/** 128 bits in the form of a UUID. `z.uuid()` is too strict: the UUID of a CFDI need not have a version that RFC 9562 defines. */
const Uuid = z.guid()
const Instant = z.iso.datetime({ offset: true })

const head = <K extends string>(key: K) => ({
  event: z.literal(key).meta({ description: 'The event key, as in the header Service-Event.' }),
  event_id: z.string().meta({
    description:
      'The event’s identifier, as in the header Service-Delivery-Id. It is the same on every attempt and redelivery: store it to ' +
      'recognize duplicates.',
  }),
  ordering: z.int().meta({
    description:
      'The place of the event among those of your organization, as in the header Service-Ordering: the later one of two events has the ' +
      'greater number. Deliveries can come in another order.',
  }),
  occurred_at: Instant.meta({ description: 'When the service recorded the change, in UTC.' }),
})

const fiscalEntity = {
  fiscal_entity_id: Uuid.meta({ description: 'The fiscal entity in UUID form: the same 128 bits as its `fe_…` identifier.' }),
  rfc: z.string().meta({ description: 'The RFC of the fiscal entity.' }),
}

/** The payload of an event that is about no RFC. */
const payload = <K extends string, Members extends z.ZodRawShape>(key: K, id: string, members: Members) =>
  z.strictObject({ ...head(key), ...members }).meta({ id })

/** The payload of an event about an RFC. */
const aboutRfc = <K extends string, Members extends z.ZodRawShape>(key: K, id: string, members: Members) =>
  payload(key, id, { ...fiscalEntity, ...members })

const cancellation = {
  cfdi_uuid: Uuid.meta({ description: 'The fiscal folio of the CFDI (UUID of its TimbreFiscalDigital).' }),
  cancelled_at: Instant.meta({
    description:
      'When the CFDI was cancelled, with its UTC offset. The same as `occurred_at` if the tax authority does not report the time.',
  }),
  cancellation_reason: z.enum(['01', '02', '03', '04', 'unknown']).meta({
    description:
      'The tax authority’s code for the reason: `01` issued with errors and replaced, `02` issued with errors and not replaced, `03` ' +
      'the operation did not take place, `04` a named operation that belongs to a global invoice. `unknown` if no reason is reported.',
  }),
  severity: z.enum(['critical', 'warning']).meta({
    description:
      '`critical` if payments were applied to the CFDI (one with MetodoPago PUE counts as paid), or if it is an issued income CFDI ' +
      'of a month that had ended, so that it already counted as income; otherwise `warning`. Payments count as far as your ' +
      'visibility window shows them.',
  }),
  direction: z.enum(['issued', 'received']).meta({ description: 'Whether the fiscal entity issued or received the CFDI.' }),
  cfdi_type: z.string().meta({
    description:
      'TipoDeComprobante: `I` (ingreso), `E` (egreso), `T` (traslado), `N` (nómina) or `P` (pago); `retenciones` for a withholding ' +
      'document.',
  }),
  payment_status: z.enum(['paid', 'partially_paid', 'unpaid', 'not_applicable']).meta({
    description:
      'How much of an income CFDI was paid before its cancellation, as far as your visibility window shows; `not_applicable` for ' +
      'other types.',
  }),
  total: z.string().meta({ description: 'Total of the CFDI as a decimal string.' }),
  currency: z.string().meta({
    description: 'Currency code of the CFDI; `XXX` if the service has only the metadata of the CFDI, which names no currency.',
  }),
  emisor_rfc: z.string().meta({ description: 'RFC of the issuer.' }),
  receptor_rfc: z.string().meta({ description: 'RFC of the receiver.' }),
  issued_at: Instant.meta({ description: 'When the CFDI was issued, with its UTC offset.' }),
}

const sync = {
  job_id: z.string().meta({ description: 'The sync job, as the list of your connection’s sync jobs names it.' }),
  data_source_key: z.string().meta({ description: 'The data source of the job, such as `sat_cfdi_received`.' }),
  period: z.string().nullable().meta({ description: 'The month of the job, `YYYY-MM`; null for sources of documents other than CFDIs.' }),
  document_type: z.string().meta({ description: '`cfdi`, or the kind of document, such as `csf`.' }),
  direction: z.enum(['issued', 'received']).nullable().meta({
    description: 'Whether the job downloads issued or received CFDIs; null for sources of documents other than CFDIs.',
  }),
  created_count: z.int().meta({
    description:
      'Number of documents that are new to you since your previous successful job of this source and month. For CFDIs, this and the ' +
      'other counts cover only your visibility window of the source. A job that failed counts its own download alone.',
  }),
  updated_count: z.int().meta({
    description: 'Number of CFDIs from before your previous job that were known by their metadata alone and have got their XML since then.',
  }),
  cancelled_count: z
    .int()
    .meta({ description: 'Number of CFDIs from before your previous job that were valid and have been found cancelled since then.' }),
  first_issued_at: Instant.nullable().meta({ description: 'When the earliest of the counted CFDIs was issued; null if there is none.' }),
  last_issued_at: Instant.nullable().meta({ description: 'When the latest of the counted CFDIs was issued; null if there is none.' }),
  completed_at: Instant.meta({
    description: 'When the job ended. If the job had already ended when your run asked for it, the time at which the run asked.',
  }),
}

const ERROR_CLASS = z.enum([
  'invalid_credentials',
  'login_failed',
  'sat_unavailable',
  'rate_limited',
  'request_exhausted',
  'range_too_large',
  'internal_error',
  'undefined',
])

const extraction = {
  run_id: z.string().meta({ description: 'The run (`GET /v1/runs/{run_id}`). Other RFCs of the run have events of their own.' }),
  data_source_keys: z
    .array(z.string())
    .meta({ description: 'The data sources that were downloaded. Empty when all downloads were withdrawn.' }),
  succeeded_jobs: z.int().meta({ description: 'Number of downloads, each of a source and month, that succeeded.' }),
  failed_jobs: z.int().meta({ description: 'Number of downloads that failed.' }),
  readable_count: z.int().meta({
    description:
      'Number of CFDIs that became readable for you: those that your visibility window shows since the run and did not show before, whoever ' +
      'downloaded them, and those that came late to what it showed before. No CFDI counts for two of your runs. One that comes later than the ' +
      'run, to a month that your window shows, counts for your next run that asks for the month. One that you had imported counts too: it is ' +
      'the authority’s now.',
  }),
  document_count: z.int().meta({
    description:
      'Number of documents other than CFDIs that became readable for you: those that the run got for you, and those of earlier runs that its ' +
      'lower floor newly shows.',
  }),
  updated_count: z.int().meta({ description: 'Number of CFDIs that you could read before and that have got their XML since then.' }),
  cancelled_count: z
    .int()
    .meta({ description: 'Number of CFDIs that you could read before and that have been found cancelled since then.' }),
  completed_at: Instant.meta({ description: 'When the last of the downloads ended, or was withdrawn.' }),
}
const alert = {
  fiscal_entity_id: fiscalEntity.fiscal_entity_id.nullable().meta({
    description: 'The fiscal entity in UUID form that the alert is about; null when it is about none.',
  }),
  rfc: z.string().nullable().meta({ description: 'The RFC of the fiscal entity; null without one.' }),
  alert_id: z.string().meta({ description: 'The alert, as `GET /v1/alerts` has it.' }),
  kind: z.enum(ALERT_KINDS).meta({ description: 'What the alert is about, as in `GET /v1/alerts`.' }),
  severity: z.enum(ALERT_SEVERITIES).meta({ description: 'How severe it is.' }),
  resource_id: z.string().meta({
    description: 'What it is about: a fiscal entity, webhook, storage connector, notification, the organization, or a CFDI by its UUID.',
  }),
  amount: z.string().nullable().meta({ description: 'The amount at stake, as a decimal; null when the alert is about no amount.' }),
  currency: z.string().nullable().meta({ description: 'The currency of the amount; null without one.' }),
  message: z.string().meta({ description: 'What happened, in English.' }),
  message_es: z.string().meta({ description: 'What happened, in Spanish.' }),
}
const document = {
  document_id: z.string().meta({ description: 'The document, as the list of documents names it.' }),
  document_date: z.iso.date().meta({ description: 'The day on which the document was issued.' }),
  version: z.int().meta({ description: 'Number of the version among those that you can read.' }),
}
const sense = z.enum(SENSES)
const situacion = z.enum(SITUACIONES).nullable()

const link = {
  fiscal_entity_id: fiscalEntity.fiscal_entity_id.nullable().meta({
    description: 'The connection in UUID form that the link is for, or that it made; null before.',
  }),
  rfc: z.string().nullable().meta({ description: 'The RFC of the link; null while the taxpayer has not written it.' }),
  connect_link_id: z.string().meta({ description: 'The link (`GET /v1/connect-links/{connect_link_id}`).' }),
  external_id: z.string().nullable().meta({ description: 'The external_id that the link was made with.' }),
}
const consent = {
  consent_id: z.string().meta({ description: 'The consent (`GET /v1/consents/{consent_id}`).' }),
  method: z
    .enum(['ciec_verified', 'ciec_given', 'efirma_signed', 'declared_by_customer'])
    .meta({ description: 'How it is proven, as the consent says itself.' }),
  purposes: z.array(z.string()).meta({ description: 'The purposes that were accepted.' }),
  access_until: z.iso.date().nullable().meta({ description: 'The last day of the access; null without a bound.' }),
}

/** Payload schemas by event key: flat objects with the key in `event`. */
export const PAYLOADS = {
  'cfdi.cancelled': aboutRfc('cfdi.cancelled', 'CfdiCancelledEvent', cancellation),
  'cfdi.cancelled_after_payment': aboutRfc('cfdi.cancelled_after_payment', 'CfdiCancelledAfterPaymentEvent', cancellation),
  'sync.completed': aboutRfc('sync.completed', 'SyncCompletedEvent', sync),
  'sync.failed': aboutRfc('sync.failed', 'SyncFailedEvent', {
    ...sync,
    error_class: ERROR_CLASS.meta({ description: 'Why the last attempt of the job failed.' }),
    last_code: z.string().meta({ description: 'error_class with a sentence, as in the coverage of the month.' }),
    will_retry: z.boolean().meta({
      description: 'Whether the job is attempted again. If false, the next run that covers the period requests it again.',
    }),
    next_attempt_at: Instant.nullable().meta({ description: 'When the job is attempted again; null if `will_retry` is false.' }),
  }),
  'connection.ciec_invalid': aboutRfc('connection.ciec_invalid', 'ConnectionCiecInvalidEvent', {
    rejected_at: Instant.meta({
      description: 'When the tax authority rejected the CIEC or e.firma, or the e.firma was found to have expired.',
    }),
    invalid_reason: z
      .enum(REFUSED_REASONS)
      .optional()
      .meta({
        description:
          'Why the connection is invalid, as it says itself: the tax authority `rejected` the CIEC or refused the e.firma (`efirma_refused`), or ' +
          'the e.firma has expired (`efirma_expired`). Only events from before this member existed lack it.',
      }),
  }),
  'document.csf.updated': aboutRfc('document.csf.updated', 'DocumentCsfUpdatedEvent', {
    ...document,
    fields_status: z
      .enum(['read', 'unreadable'])
      .meta({ description: 'Whether the fields of the certificate could be read from its PDF.' }),
    changes: z.array(z.strictObject({ field: z.string(), from: z.json(), to: z.json() })).meta({
      description: 'The fields that differ from the version before that you can read, with both values. Empty for the first version.',
    }),
  }),
  'document.opinion_32d.changed': aboutRfc('document.opinion_32d.changed', 'DocumentOpinion32dChangedEvent', {
    ...document,
    folio: z.string().meta({ description: 'The folio of the opinion.' }),
    from: sense.meta({ description: 'The sense of the version before that you can read.' }),
    to: sense.meta({ description: 'The sense of the opinion.' }),
  }),
  'obligation.due_soon': aboutRfc('obligation.due_soon', 'ObligationDueSoonEvent', {
    description: z.string().meta({ description: 'The obligation, in the tax authority’s words.' }),
    periodicity: z.enum(['monthly', 'annual']).meta({ description: 'How often it is due.' }),
    period: z.string().meta({ description: 'The month, `YYYY-MM`, or the year, `YYYY`, that the return is for.' }),
    due_date: z.iso
      .date()
      .meta({ description: 'The last day to file, without the extension: on a weekend or holiday, the next business day.' }),
    extended_due_date: z.iso
      .date()
      .nullable()
      .meta({ description: 'The last day with the extension by the sixth digit of the RFC, which has exceptions; null without one.' }),
    days_left: z.int().meta({ description: 'Days until `due_date` in America/Mexico_City: 5 or 1.' }),
  }),
  'storage.failed': payload('storage.failed', 'StorageFailedEvent', {
    connector_id: z.string().meta({ description: 'The storage connector.' }),
    connector_name: z.string().meta({ description: 'The name of the storage connector.' }),
    provider: z.enum(['s3', 'azure_blob', 'google_drive', 'onedrive']).meta({ description: 'The kind of storage.' }),
    error_code: z.string().meta({ description: 'Why the last attempt failed, as `last_error.code` of the connector.' }),
    error_message: z.string().meta({ description: 'The same in one sentence.' }),
  }),
  'mailbox.notification_received': aboutRfc('mailbox.notification_received', 'MailboxNotificationReceivedEvent', {
    notification_id: z.string().meta({ description: 'The notification, as the list of the tax mailbox names it.' }),
    kind: z.enum(NOTIFICATION_KINDS).meta({
      description: 'A `notificacion` or `requerimiento` takes effect by being opened or by expiry; the other kinds only inform.',
    }),
    title: z.string().meta({ description: 'What the notification is about.' }),
    authority: z.string().meta({ description: 'The unit of the tax authority that sent it.' }),
    document_number: z.string().nullable().meta({ description: 'The number of the letter (oficio); null without one.' }),
    sent_at: Instant.meta({ description: 'When the tax authority sent it.' }),
    status: z.enum(NOTIFICATION_STATUSES).meta({ description: 'Its status when the service recorded it.' }),
    severity: z.enum(NOTIFICATION_SEVERITIES).meta({ description: 'Its severity when the service recorded it.' }),
    open_deadline: z.iso.date().nullable().meta({ description: 'The third business day after it was sent; null if it only informs.' }),
    deadline_basis: z.enum(DEADLINE_BASES).nullable().meta({
      description:
        '`estimated`: the authority may have published days off that are not known, so that the deadline may be later. Null if it only informs.',
    }),
    effective_at: Instant.nullable().meta({ description: 'When it takes or took effect; null if it only informs.' }),
  }),
  'blacklist.changed': aboutRfc('blacklist.changed', 'BlacklistChangedEvent', {
    counterparty_rfc: z.string().meta({ description: 'The RFC that came onto the list, left it, or got another situation there.' }),
    counterparty_name: z.string().meta({ description: 'Its name as the list spells it.' }),
    source: z.string().meta({ description: 'The list: a key such as `sat_69b`, or `custom:<slug>` for your own.' }),
    list_label: z.string().meta({ description: 'The Spanish name of the list.' }),
    change: z.enum(LIST_CHANGES).meta({ description: 'What changed: it came onto the list, got another situation, or left the list.' }),
    situacion_before: situacion.meta({
      description: 'The situation before; null if it was not on the list, or the list has no situations.',
    }),
    situacion: situacion.meta({ description: 'The situation now; null if it left the list, or the list has no situations.' }),
    severity: z.enum(SEVERITIES).nullable().meta({ description: 'How severe its situation on the list is now; null if it left the list.' }),
    purchases_mxn: z
      .string()
      .nullable()
      .meta({
        description:
          'What was bought from the counterparty, net of credit notes and taxes, in all CFDIs that your windows show and whose amount in MXN is ' +
          'known. Null if it left the list.',
      }),
    sales_mxn: z.string().nullable().meta({ description: 'What was sold to the counterparty, alike.' }),
  }),
  'extraction.completed': aboutRfc('extraction.completed', 'ExtractionCompletedEvent', extraction),
  'extraction.failed': aboutRfc('extraction.failed', 'ExtractionFailedEvent', {
    ...extraction,
    error_class: ERROR_CLASS.meta({ description: 'Why most of the failed downloads failed.' }),
    last_code: z.string().meta({ description: 'error_class with a sentence.' }),
  }),
  'alert.raised': payload('alert.raised', 'AlertRaisedEvent', alert),
  'alert.resolved': payload('alert.resolved', 'AlertResolvedEvent', {
    ...alert,
    resolved_at: Instant.meta({ description: 'When the cause ended.' }),
  }),
  'quota.warning': payload('quota.warning', 'QuotaWarningEvent', {
    quota: z.enum(QUOTAS).meta({ description: 'The limit, as `quotas` of `GET /v1/billing/usage` names it.' }),
    period: z
      .string()
      .meta({ description: 'The local day, `YYYY-MM-DD`, of a daily limit, and the local month, `YYYY-MM`, of any other.' }),
    used: z.int().meta({ description: 'How much was used when the service recorded it.' }),
    limit: z.int().meta({ description: 'How much the plan allows.' }),
    unit: z.enum(UNITS).meta({ description: 'What is counted.' }),
  }),
  'cfdi.new': aboutRfc('cfdi.new', 'CfdiNewEvent', {
    run_id: z.string().meta({ description: 'The last run of the RFC that ended before.' }),
    direction: cancellation.direction,
    cfdi_type: cancellation.cfdi_type,
    uuids: z
      .array(Uuid)
      .min(1)
      .max(100)
      .meta({ description: 'The documents, all of this direction and type. `GET /v1/cfdi/{uuid}` has each of them.' }),
  }),
  'cancellation.requested': aboutRfc('cancellation.requested', 'CancellationRequestedEvent', {
    cfdi_uuid: cancellation.cfdi_uuid,
    detected_at: Instant.meta({ description: 'When the tax authority first answered that the cancellation is in process, in UTC.' }),
    deadline: z.iso.date().meta({
      description:
        'The last day on which an answer of the receiver is surely in time. The authority does not say when the request was made: it was after the ' +
        'last answer without it.',
    }),
    latest_deadline: z.iso
      .date()
      .meta({ description: 'The third business day after the request was detected: the last day on which an answer can be in time.' }),
    deadline_basis: z.enum(DEADLINE_BASES).meta({
      description: '`estimated`: the authority may have published days off that are not known, so that the deadlines may be later.',
    }),
    severity: z.enum(['critical', 'warning']).meta({
      description:
        '`critical` if payments were applied to the CFDI, as far as your window shows; one with MetodoPago PUE counts as paid. Otherwise `warning`.',
    }),
    direction: z.enum(['issued', 'received']).meta({
      description:
        '`received`: the fiscal entity can accept or reject the request, and silence accepts it. `issued`: the fiscal entity made it.',
    }),
    cfdi_type: cancellation.cfdi_type,
    payment_status: z.enum(['paid', 'partially_paid', 'unpaid', 'not_applicable']).meta({
      description: 'How much of an income CFDI is paid, as far as your visibility window shows; `not_applicable` for other types.',
    }),
    total: cancellation.total,
    currency: cancellation.currency,
    emisor_rfc: cancellation.emisor_rfc,
    receptor_rfc: cancellation.receptor_rfc,
    issued_at: cancellation.issued_at,
  }),
  'connection.relink_needed': aboutRfc('connection.relink_needed', 'ConnectionRelinkNeededEvent', {
    rejected_at: Instant.meta({ description: 'When the last valid login of the connection was refused, or ended.' }),
    invalid_reason: z.enum(REFUSED_REASONS).meta({ description: 'Why, as in `connection.ciec_invalid`.' }),
  }),
  'connection.relinked': aboutRfc('connection.relinked', 'ConnectionRelinkedEvent', {}),
  'connect_link.opened': payload('connect_link.opened', 'ConnectLinkOpenedEvent', link),
  'connect_link.connected': payload('connect_link.connected', 'ConnectLinkConnectedEvent', {
    ...link,
    status: z.enum(['connected', 'submitted']).meta({
      description: '`submitted`: the login is stored, and this deployment could not ask the tax authority about it at once.',
    }),
  }),
  'connect_link.refused': payload('connect_link.refused', 'ConnectLinkRefusedEvent', {
    ...link,
    code: z.string().meta({ description: 'Why, such as `fiscal_entity.ciec_rejected` or `efirma.wrong_password`.' }),
    tries_left: z.int().meta({ description: 'How many more logins can be refused. At 0 the link is of no more use.' }),
  }),
  'connect_link.expired': payload('connect_link.expired', 'ConnectLinkExpiredEvent', link),
  'consent.granted': aboutRfc('consent.granted', 'ConsentGrantedEvent', consent),
  'consent.withdrawn': aboutRfc('consent.withdrawn', 'ConsentWithdrawnEvent', {
    ...consent,
    withdrawn_by: z.enum(['subject', 'customer', 'operator']).meta({ description: 'Who withdrew it.' }),
  }),
  'consent.expired': aboutRfc('consent.expired', 'ConsentExpiredEvent', consent),
  [TEST_KEY]: payload('webhook.test', 'WebhookTestEvent', {
    webhook_id: z.string().meta({ description: 'The webhook that the test is for.' }),
    sample_of: z.string().optional().meta({
      description:
        'The event whose sample the webhook was sent, with the header `Service-Test`. Absent when it was sent this event itself.',
    }),
  }),
} as const

/** The payload of an event: the body of each of its deliveries, and its representation in the feed. */
export const EventPayload = z.discriminatedUnion('event', Object.values(PAYLOADS) as never)
export type EventPayload = { [K in keyof typeof PAYLOADS]: z.infer<(typeof PAYLOADS)[K]> }[keyof typeof PAYLOADS]
