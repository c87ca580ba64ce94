import type { CancelledCfdi } from '../cfdi/ingest/ingest.ts'
import type { PaymentThresholds } from '../cfdi/payment-thresholds.ts'
import type { OutboxEvent } from '../platform/outbox/outbox.ts'

/** What the body of an outbox event says of the CFDI that it is about. */
export interface NotifiedCfdi {
  cfdi_uuid: string
  direction: 'issued' | 'received'
  cfdi_type: string | null
  payments: PaymentThresholds
  total: string | null
  currency: string | null
  emisor_rfc: string
  receptor_rfc: string
  /** Seconds since 1970. */
  issued_at: number
  utc_offset: number
  /** Literal local time. */
  fecha: string
}

/**
 * The body of an outbox event about a cancellation. It holds the facts for the relay's decision about each organization, and no decision.
 */
export interface CancellationBody extends NotifiedCfdi {
  /** Null when the authority does not report the time. */
  cancelled_at: string | null
  cancellation_reason: string
  /** Since when the document had not changed otherwise, in milliseconds since 1970: it was stored by then. */
  stored_at: number
  /** When it was detected, in milliseconds since 1970. */
  detected_at: number
  /** The instants, in milliseconds since 1970, at which organizations first requested the job that detected it (`requestsOf`). */
  requested: Record<string, number>
}

/** `detected_at` in milliseconds. */
export const cancellationBody = (cancellation: CancelledCfdi, detected_at: number): Omit<CancellationBody, 'requested'> => ({
  cfdi_uuid: cancellation.uuid,
  cancelled_at: cancellation.cancelled_at,
  cancellation_reason: cancellation.cancellation_reason ?? 'unknown',
  direction: cancellation.direction === 0 ? 'issued' : 'received',
  cfdi_type: cancellation.tipo_comprobante,
  payments: cancellation.payments,
  total: cancellation.total,
  currency: cancellation.currency,
  emisor_rfc: cancellation.emisor_rfc,
  receptor_rfc: cancellation.receptor_rfc,
  issued_at: cancellation.issued_at,
  utc_offset: cancellation.utc_offset,
  fecha: cancellation.fecha,
  stored_at: cancellation.updated_at,
  detected_at,
})

/** Returns the outbox event of a cancellation, for every organization whose window shows the CFDI. */
export const cancellationEvent = (entity: number, body: Omit<CancellationBody, 'requested'>): OutboxEvent => ({
  outbox_event_id: `cfdi.cancelled:${entity}:${body.cfdi_uuid}`,
  kind: 'cfdi.cancelled',
  entity,
  organizations: null,
  body: { ...body },
})
