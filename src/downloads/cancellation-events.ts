import type { CancelledCfdi } from '../cfdi/ingest/ingest.ts'
import type { OutboxEvent } from '../outbox/outbox.ts'
import { localDayOf } from '../platform/time/calendar.ts'

const MEXICO = 'America/Mexico_City'

/** Whether an issued CFDI has been counted as income: the month of its Fecha is over in Mexico City (decisions.md 7). */
const isCountedAsIncome = ({ direction, tipo_comprobante, fecha }: CancelledCfdi, now: Date): boolean =>
  direction === 0 && tipo_comprobante === 'I' && fecha.slice(0, 7) < localDayOf(now, MEXICO).slice(0, 7)

/**
 * Returns the outbox events of a cancellation, whose ids derive from the CFDI and the entity: `cfdi.cancelled`, and
 * `cfdi.cancelled_after_payment` when payments had been applied or the CFDI had been counted as income.
 */
export function cancellationEvents(entity: number, cancellation: CancelledCfdi, now: Date): OutboxEvent[] {
  const { uuid, ...rest } = cancellation
  const isCritical = cancellation.had_applied_payments || isCountedAsIncome(cancellation, now)
  const body = {
    cfdi_uuid: uuid,
    cancelled_at: rest.cancelled_at,
    cancellation_reason: rest.cancellation_reason ?? 'unknown',
    severity: isCritical ? 'critical' : 'warning',
    direction: rest.direction === 0 ? 'issued' : 'received',
    cfdi_type: rest.tipo_comprobante,
    payment_status: rest.payment_status ?? 'not_applicable',
    total: rest.total,
    currency: rest.currency,
    emisor_rfc: rest.emisor_rfc,
    receptor_rfc: rest.receptor_rfc,
    issued_at: rest.issued_at,
    utc_offset: rest.utc_offset,
    fecha: rest.fecha,
  }
  const eventOf = (kind: OutboxEvent['kind']): OutboxEvent => ({
    outbox_event_id: `${kind}:${entity}:${uuid}`,
    kind,
    entity,
    organizations: null,
    body,
  })
  return [eventOf('cfdi.cancelled'), ...(isCritical ? [eventOf('cfdi.cancelled_after_payment')] : [])]
}
