import type { CancelledCfdi } from '../cfdi/ingest/ingest.ts'
import type { OutboxEvent } from '../outbox/outbox.ts'
import { localDayOf } from '../platform/time/calendar.ts'

const MEXICO = 'America/Mexico_City'

/** An issued income CFDI counts as income once the month of its Fecha is over in Mexico City (decisions.md 7). */
const isCountedAsIncome = ({ direction, tipo_comprobante, fecha }: CancelledCfdi, now: Date): boolean =>
  direction === 0 && tipo_comprobante === 'I' && fecha.slice(0, 7) < localDayOf(now, MEXICO).slice(0, 7)

/** What a cancellation is told as: one fact for each CFDI and entity, and a second one when money had moved or been counted. */
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
  const fact = (kind: OutboxEvent['kind']): OutboxEvent => ({
    fact_id: `${kind}:${entity}:${uuid}`,
    kind,
    entity,
    organizations: null,
    body,
  })
  return [fact('cfdi.cancelled'), ...(isCritical ? [fact('cfdi.cancelled_after_payment')] : [])]
}
