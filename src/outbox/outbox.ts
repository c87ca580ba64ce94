import type { Cancellation } from '../cfdi/ingest/ingest.ts'
import { jsonChunks } from '../platform/db/commit.ts'
import { localDayOf } from '../platform/time/calendar.ts'

/** Something that happened and is to be told of. */
export interface Fact {
  fact_id: string
  kind: 'cfdi.cancelled' | 'cfdi.cancelled_after_payment' | 'connection.ciec_invalid'
  entity: number
  organizations: readonly string[] | null
  body: Record<string, unknown>
}

/** Keeps facts with the change that they tell of. The same fact again is no second one. */
export const factStatements = (d1: D1Database, facts: readonly Fact[], now: number): D1PreparedStatement[] =>
  jsonChunks(
    facts.map(({ fact_id, kind, entity, organizations, body }) => [
      fact_id,
      kind,
      entity,
      organizations && JSON.stringify(organizations),
      JSON.stringify(body),
    ]),
  ).map((json) =>
    d1
      .prepare(
        `insert into outbox (fact_id, kind, entity, organizations, body, created_at)
           select value->>0, value->>1, value->>2, value->>3, value->>4, ?2 from json_each(?1) where true on conflict do nothing`,
      )
      .bind(json, now),
  )

const MEXICO = 'America/Mexico_City'

/** An issued income CFDI counts as income once the month of its Fecha is over in Mexico City (decisions.md 7). */
const isCountedAsIncome = ({ direction, tipo_comprobante, fecha }: Cancellation, now: Date): boolean =>
  direction === 0 && tipo_comprobante === 'I' && fecha.slice(0, 7) < localDayOf(now, MEXICO).slice(0, 7)

/** What a cancellation is told as: one fact for each CFDI and entity, and a second one when money had moved or been counted. */
export function cancellationFacts(entity: number, cancellation: Cancellation, now: Date): Fact[] {
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
  const fact = (kind: Fact['kind']): Fact => ({ fact_id: `${kind}:${entity}:${uuid}`, kind, entity, organizations: null, body })
  return [fact('cfdi.cancelled'), ...(isCritical ? [fact('cfdi.cancelled_after_payment')] : [])]
}
