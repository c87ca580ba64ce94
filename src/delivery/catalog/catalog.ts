import * as z from 'zod'
import { WHOLE } from '../../platform/paging/cursor.ts'
import { EVENT_KEYS, type EventCatalog, type EventKey, type EventPayload, PAYLOADS } from './payload-contract.ts'
import { RECORDED_ONLY } from './recorded-only.ts'

const event = {
  event_id: 'evt_01kabcdefghjkmnpqrstvwxyz0',
  ordering: 1_763_661_605_000,
  occurred_at: '2026-11-20T18:00:05.000Z',
  fiscal_entity_id: '0198f6c5-6a1b-7c3d-9e4f-5a6b7c8d9e0f',
  rfc: 'EKU9003173C9',
}

const cancelled = {
  ...event,
  cfdi_uuid: '5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60',
  cancelled_at: '2026-11-20T11:42:10-06:00',
  cancellation_reason: '02',
  direction: 'received',
  cfdi_type: 'I',
  total: '11600.00',
  currency: 'MXN',
  emisor_rfc: 'JES900109Q90',
  receptor_rfc: 'EKU9003173C9',
  issued_at: '2026-11-03T10:15:00-06:00',
} as const

const job = {
  ...event,
  job_id: 'job_01kabcdefghjkmnpqrstvwxyz0',
  data_source_key: 'sat_cfdi_received',
  period: '2026-11',
  document_type: 'cfdi',
  direction: 'received',
  created_count: 12,
  updated_count: 0,
  cancelled_count: 1,
  first_issued_at: '2026-11-03T16:15:00.000Z',
  last_issued_at: '2026-11-20T17:58:31.000Z',
  completed_at: '2026-11-20T18:00:05.000Z',
} as const

const link = {
  ...event,
  connect_link_id: 'lnk_01kabcdefghjkmnpqrstvwxyz0',
  external_id: 'credito-8841',
} as const

const consent = {
  ...event,
  consent_id: 'cns_01kabcdefghjkmnpqrstvwxyz0',
  method: 'ciec_verified' as const,
  purposes: ['credit_evaluation'],
  access_until: '2027-11-30',
}

const extraction = {
  run_id: 'run_01kabcdefghjkmnpqrstvwxyz0',
  data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf', 'sat_miinformacion'],
  ...{ succeeded_jobs: 16, failed_jobs: 0, readable_count: 214, document_count: 2, updated_count: 3, cancelled_count: 1 },
  completed_at: '2026-11-20T18:00:05.000Z',
}

const alert = {
  ...{ ...event, alert_id: 'alr_01kabcdefghjkmnpqrstvwxyz0' },
  kind: 'connection.invalid',
  severity: 'critical',
  ...{ resource_id: 'fe_01k3vcbt8n3h5b09h7rffmzt6r', amount: null, currency: null },
  message: 'The tax authority refuses the CIEC of EKU9003173C9. Nothing is downloaded until there is another one.',
  message_es: 'El SAT rechaza la CIEC de EKU9003173C9. No se descarga nada hasta tener otra.',
} as const

const description = 'Pago definitivo mensual de IVA.'

/** A sample payload of each event that the service sends. */
export const SAMPLES = {
  'cfdi.cancelled': { event: 'cfdi.cancelled', ...cancelled, severity: 'warning', payment_status: 'unpaid' },
  'cfdi.cancelled_after_payment': { event: 'cfdi.cancelled_after_payment', ...cancelled, severity: 'critical', payment_status: 'paid' },
  'sync.completed': { event: 'sync.completed', ...job },
  'sync.failed': {
    event: 'sync.failed',
    ...job,
    created_count: 0,
    error_class: 'sat_unavailable',
    last_code: 'sat_unavailable: The tax authority was not available, or did not deliver what it was asked for.',
    will_retry: false,
    next_attempt_at: null,
  },
  'mailbox.notification_received': {
    event: 'mailbox.notification_received',
    ...event,
    notification_id: 'ntf_01kabcdefghjkmnpqrstvwxyz0',
    kind: 'requerimiento',
    title: 'Requerimiento de obligaciones omitidas',
    authority: 'Administración Desconcentrada de Recaudación',
    document_number: '500-12345678',
    sent_at: '2026-11-20T16:04:11.000Z',
    status: 'pending',
    severity: 'warning',
    open_deadline: '2026-11-25',
    deadline_basis: 'published',
    effective_at: '2026-11-26T06:00:00.000Z',
  },
  'connection.ciec_invalid': {
    event: 'connection.ciec_invalid',
    ...event,
    rejected_at: '2026-11-20T18:00:05.000Z',
    invalid_reason: 'efirma_refused',
  },
  'obligation.due_soon': {
    ...{ event: 'obligation.due_soon', ...event, description, periodicity: 'monthly' },
    ...{ period: '2026-10', due_date: '2026-11-17', extended_due_date: '2026-11-20', days_left: 5 },
  },
  'blacklist.changed': {
    ...{ event: 'blacklist.changed', ...event },
    counterparty_rfc: 'JES900109Q90',
    counterparty_name: 'JIMENEZ ESTRADA SALAS A A',
    ...{
      source: 'sat_69b',
      list_label: 'Art. 69-B (EFOS)',
      change: 'situacion_changed',
      situacion_before: 'presunto',
      situacion: 'definitivo',
    },
    severity: 'critical',
    ...{ purchases_mxn: '184500.00', sales_mxn: '0.00' },
  },
  'extraction.completed': { event: 'extraction.completed', ...event, ...extraction },
  'extraction.failed': {
    ...{ event: 'extraction.failed', ...event, ...extraction },
    ...{ succeeded_jobs: 15, failed_jobs: 1, error_class: 'sat_unavailable' },
    last_code: 'sat_unavailable: The tax authority was not available, or did not deliver what it was asked for.',
  },
  'alert.raised': { event: 'alert.raised', ...alert },
  'alert.resolved': { event: 'alert.resolved', ...alert, resolved_at: '2026-11-20T18:00:05.000Z' },
  'quota.warning': {
    ...{ event: 'quota.warning', event_id: event.event_id, ordering: event.ordering, occurred_at: event.occurred_at },
    ...{ quota: 'import_documents_per_day', period: '2026-11-20', used: 812_406, limit: 1_000_000, unit: 'documents' },
  },
  'cfdi.new': {
    ...{ event: 'cfdi.new', ...event, run_id: extraction.run_id, direction: 'received', cfdi_type: 'I' },
    uuids: [cancelled.cfdi_uuid, '6C3F2A1B-0D75-4A1F-9C2E-3B8D4E5F6A71'],
  },
  'cancellation.requested': {
    ...{ event: 'cancellation.requested', ...event, cfdi_uuid: cancelled.cfdi_uuid, detected_at: event.occurred_at },
    ...{ deadline: '2026-11-24', latest_deadline: '2026-11-25', deadline_basis: 'published', severity: 'critical' },
    ...{ direction: 'received', cfdi_type: 'I', payment_status: 'paid', total: cancelled.total, currency: cancelled.currency },
    ...{ emisor_rfc: cancelled.emisor_rfc, receptor_rfc: cancelled.receptor_rfc, issued_at: cancelled.issued_at },
  },
  'connection.relink_needed': {
    ...{ event: 'connection.relink_needed', ...event, rejected_at: '2026-11-20T18:00:05.000Z', invalid_reason: 'rejected' },
  },
  'connection.relinked': { event: 'connection.relinked', ...event },
  'connect_link.opened': { event: 'connect_link.opened', ...link, fiscal_entity_id: null },
  'connect_link.connected': { event: 'connect_link.connected', ...link, status: 'connected' },
  'connect_link.refused': {
    ...{ event: 'connect_link.refused', ...link, fiscal_entity_id: null, code: 'fiscal_entity.ciec_rejected', tries_left: 4 },
  },
  'connect_link.expired': { event: 'connect_link.expired', ...link, fiscal_entity_id: null },
  'consent.granted': { event: 'consent.granted', ...consent },
  'consent.withdrawn': { event: 'consent.withdrawn', ...consent, withdrawn_by: 'subject' },
  'consent.expired': { event: 'consent.expired', ...consent },
  'storage.failed': {
    event: 'storage.failed',
    event_id: event.event_id,
    ordering: event.ordering,
    occurred_at: event.occurred_at,
    connector_id: 'stc_01kabcdefghjkmnpqrstvwxyz0',
    connector_name: 'Respaldo',
    provider: 's3',
    error_code: 'access_denied',
    error_message: 'The provider refuses the credentials.',
  },
} satisfies Record<string, EventPayload>

/** When each event is sent. */
export const DESCRIPTIONS: Record<EventKey, string> = {
  'cfdi.cancelled':
    'The tax authority reports that a CFDI that was valid is now cancelled. Sent once for each CFDI and RFC. What happens while the ' +
    'connection is not active is sent when it is active again. A document that only you imported sends none.',
  'cfdi.cancelled_after_payment':
    'A cancelled CFDI had payments applied to it, or was an issued income CFDI that already counted as income. Sent in addition to ' +
    'cfdi.cancelled.',
  'sync.completed':
    'A sync job ended successfully. Sent once for each RFC, period and document type, so the download of a long period sends many.',
  'sync.failed': 'A sync job failed and is not attempted again; error_class gives the reason.',
  'connection.ciec_invalid':
    'The tax authority rejected the stored CIEC or e.firma, at a login or when it was verified, or the e.firma has expired, and the connection ' +
    'has no other. Downloads stop until one is sent. Sent once for each, not for each failed login, also while the connection is paused.',
  'cfdi.issued': 'A new CFDI was ingested.',
  'document.csf.updated':
    'A run of yours downloaded a tax status certificate (CSF) that is new to you. `changes` says what differs from the one before. The ' +
    'feed has it; webhooks are not sent it.',
  'document.opinion_32d.changed':
    'The sense of the tax compliance opinion (article 32-D) is another one than that of the opinion before. The feed has it; webhooks are ' +
    'not sent it.',
  'obligation.due_soon':
    'A tax obligation is due in five days, or in one, and no return was downloaded that shows it for its period. Sent once for each of both days.',
  'storage.failed':
    'Copying to a storage connector failed five times in a row, and the connector has the status error. Nothing is copied to it until it is ' +
    'activated again. Downloads go on. Sent once each time that a connector gets this status.',
  'mailbox.notification_received':
    'The tax authority sent a notification to the tax mailbox. Sent once for each notification. The first run of a connection reports only ' +
    'notifications of the last four business days that nobody has opened.',
  'blacklist.changed':
    'A counterparty of a CFDI that your windows show came onto a blacklist, left it, or got another situation there, with a new version of the ' +
    'list: a public one or your own. Sent once for each change and fiscal entity. The first load of a public list sends nothing.',
  'extraction.completed':
    'All downloads that a run asked for of one RFC ended successfully. Sent once for each RFC and run, with what became readable for you: what ' +
    'was downloaded, and what another organization had downloaded and the run made visible. A run whose downloads were all withdrawn has it too.',
  'extraction.failed':
    'All downloads that a run asked for of one RFC ended, and at least one of them failed. Sent in the place of extraction.completed.',
  'alert.raised': 'An alert was raised, or a warning became critical (`GET /v1/alerts`). Sent once for each.',
  'alert.resolved': 'The cause of an alert ended, so that nobody has to act on it any more. Sent once for each alert.',
  'quota.warning':
    'At least 80 % of a limit of the plan is used (`quotas` of `GET /v1/billing/usage`). Sent once for each limit and period, when something is ' +
    'made that counts: the period is the day of a daily limit, and the month of any other. What would exceed the limit is refused with 409.',
  'cfdi.new':
    'CFDIs newly became readable for you. Sent after extraction.completed or extraction.failed, once for each 100 documents of one direction and ' +
    'type, and only while an enabled webhook names this event. The first one begins with the run that ended; each later one continues behind ' +
    'the one before. A document that you imported yourself is not in it.',
  'cancellation.requested':
    'The issuer of a CFDI has asked to cancel it, and the tax authority says that this is in process. Sent once for each request that the service ' +
    'sees: it asks about documents on which money hangs, within a daily number for each RFC. `GET /v1/cancellation-requests` says how the request ' +
    'goes on. What happens while the connection is not active is not sent.',
  'connection.relink_needed':
    'A connection has no valid login any more, so that the taxpayer has to give one again: make a link with `POST /v1/connect-links` and the ' +
    'fiscal_entity_id. Sent beside connection.ciec_invalid.',
  'connection.relinked': 'A connection that had no valid login has one again, from whatever way it came. Downloads go on.',
  'connect_link.opened': 'Somebody opened the page of a connect link for the first time.',
  'connect_link.connected': 'A taxpayer gave a login with a connect link. It is stored, and the link is used up.',
  'connect_link.refused':
    'The tax authority refused the login that a taxpayer gave with a connect link, or the password does not open the e.firma. Sent once for each refusal.',
  'connect_link.expired': 'A connect link expired before a login was given with it. Sent within a quarter of an hour.',
  'consent.granted': 'A taxpayer gave a consent on the page of a connect link.',
  'consent.withdrawn': 'A consent was withdrawn, and the logins of the connection were erased. Unlinking an RFC sends none.',
  'consent.expired': 'The last day of a consent is over, and the logins of the connection were erased.',
}

/**
 * Every event that a webhook can subscribe to, in the specification's order, with the JSON Schema and a sample of its payload. `npm run
 * openapi` writes it into `assets`, and the Worker answers with that file: neither this file nor the schemas and samples are in the bundle.
 */
export const listCatalog = (): EventCatalog => ({
  data: EVENT_KEYS.map((key) => {
    const sample = SAMPLES[key as keyof typeof SAMPLES] ?? null
    const payload = PAYLOADS[key as keyof typeof PAYLOADS] as z.ZodType
    const schema = sample ? (z.toJSONSchema(payload) as Record<string, unknown>) : null
    return { key, description: DESCRIPTIONS[key], available: sample !== null, schema, sample }
  }),
  ...WHOLE,
})

const HEADERS = {
  'Service-Event': 'The event key, such as `cfdi.cancelled`.',
  'Service-Delivery-Id': 'The event’s identifier: the same for every attempt, redelivery and endpoint.',
  'Service-Ordering': 'The member `ordering` of the body.',
  'Service-Attempt': 'The number of the attempt, from 1. A redelivery counts from 1 again.',
  'Service-Signature':
    '`v1,` followed by the HMAC-SHA256 of the raw body in lowercase hex. The key is the whole signing secret, including `whsec_`.',
  'webhook-id': 'The same as Service-Delivery-Id, under its Standard Webhooks name.',
  'webhook-timestamp': 'When this attempt was made, in seconds since 1970 (Standard Webhooks).',
  'webhook-signature': '`v1,` followed by the Standard Webhooks signature in base64, made with the same signing secret.',
}

/** Returns a description of each request that webhooks send, for the OpenAPI document. */
export const notices = () =>
  Object.entries(PAYLOADS)
    .filter(([key]) => !RECORDED_ONLY.includes(key))
    .map(([key, schema]) => ({
      key,
      description: DESCRIPTIONS[key as EventKey] ?? 'A test event, sent on request.',
      headers: HEADERS,
      schema,
    }))
