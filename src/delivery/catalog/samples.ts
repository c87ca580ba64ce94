import type { EventPayload } from './payload-contract.ts'

const event = {
  event_id: 'evt_01kabcdefghjkmnpqrstvwxyz0',
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

const extraction = {
  run_id: 'run_01kabcdefghjkmnpqrstvwxyz0',
  data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf', 'sat_miinformacion'],
  ...{ succeeded_jobs: 16, failed_jobs: 0, readable_count: 214, document_count: 2, updated_count: 3, cancelled_count: 1 },
  completed_at: '2026-11-20T18:00:05.000Z',
}

const alert = {
  ...{ event_id: event.event_id, occurred_at: event.occurred_at, alert_id: 'alr_01kabcdefghjkmnpqrstvwxyz0' },
  kind: 'connection.invalid',
  severity: 'critical',
  ...{ resource_id: 'fe_01k3vcbt8n3h5b09h7rffmzt6r' },
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
    ...{ event: 'quota.warning', event_id: event.event_id, occurred_at: event.occurred_at },
    ...{ quota: 'import_documents_per_day', period: '2026-11-20', used: 812_406, limit: 1_000_000, unit: 'documents' },
  },
  'storage.failed': {
    event: 'storage.failed',
    event_id: event.event_id,
    occurred_at: event.occurred_at,
    connector_id: 'stc_01kabcdefghjkmnpqrstvwxyz0',
    connector_name: 'Respaldo',
    provider: 's3',
    error_code: 'access_denied',
    error_message: 'The provider refuses the credentials.',
  },
} satisfies Record<string, EventPayload>
