import { type SliceCounts, visibleCounts } from '../../visibility/visible-counts.ts'
import { shows, type Window } from '../../visibility/window.ts'
import type { EventPayload } from './catalog.ts'

/** A fact as it waits in the outbox. */
export interface StoredOutboxEvent {
  fact_id: string
  kind: string
  entity: number
  organizations: string | null
  body: string
  /** Milliseconds. */
  created_at: number
}

/** Who may be told, as they stand now. */
export interface Listener {
  organization_id: string
  /** The fiscal entity as a UUID. */
  fiscal_entity_uuid: string
  rfc: string
  window: Window
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString()
const ofSeconds = (seconds: number | null): string | null => (seconds === null ? null : iso(seconds * 1_000))

/** An instant as its local time with its offset, both as the document has them. */
function withOffset(fecha: string, utc_offset: number): string {
  const minutes = Math.abs(utc_offset)
  const two = (n: number): string => String(n).padStart(2, '0')
  return `${fecha}${utc_offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

interface CancellationBody {
  cfdi_uuid: string
  cancelled_at: string | null
  cancellation_reason: '01' | '02' | '03' | '04' | 'unknown'
  severity: 'critical' | 'warning'
  direction: 'issued' | 'received'
  cfdi_type: string | null
  payment_status: 'paid' | 'partially_paid' | 'unpaid' | 'not_applicable'
  total: string | null
  currency: string | null
  emisor_rfc: string
  receptor_rfc: string
  issued_at: number
  utc_offset: number
  fecha: string
}

interface SyncBody {
  job_id: string
  data_source_key: string
  period: string | null
  created_count: number
  updated_count: number
  cancelled_count: number
  brought: SliceCounts[]
  error_class: 'invalid_credentials' | 'login_failed' | 'sat_unavailable' | 'rate_limited' | 'internal_error' | null
  completed_at: number
}

/** Whether a listener is told of a fact: a CFDI outside the window is none of theirs. */
export function mayReceive(fact: StoredOutboxEvent, { organization_id, window }: Listener): boolean {
  if (fact.organizations !== null) return (JSON.parse(fact.organizations) as string[]).includes(organization_id)
  return shows(window, JSON.parse(fact.body) as CancellationBody)
}

/** What a fact says to one listener; null for a kind that nobody is told of. */
export function payloadOf(fact: StoredOutboxEvent, listener: Listener, event_id: string): EventPayload | null {
  const occurred_at = iso(fact.created_at)
  const head = { event_id, occurred_at, fiscal_entity_id: listener.fiscal_entity_uuid, rfc: listener.rfc }
  switch (fact.kind) {
    case 'cfdi.cancelled':
    case 'cfdi.cancelled_after_payment': {
      const { fecha, utc_offset, issued_at: _, ...body } = JSON.parse(fact.body) as CancellationBody
      return {
        event: fact.kind,
        ...head,
        cfdi_uuid: body.cfdi_uuid,
        cancelled_at: body.cancelled_at ?? occurred_at,
        cancellation_reason: body.cancellation_reason,
        severity: body.severity,
        direction: body.direction,
        cfdi_type: body.cfdi_type ?? 'retenciones',
        payment_status: body.payment_status,
        total: body.total ?? '0',
        currency: body.currency ?? 'XXX',
        emisor_rfc: body.emisor_rfc,
        receptor_rfc: body.receptor_rfc,
        issued_at: withOffset(fecha, utc_offset),
      }
    }
    case 'sync.completed':
      return { event: fact.kind, ...head, ...syncOf(JSON.parse(fact.body) as SyncBody, listener.window) }
    case 'sync.failed': {
      const body = JSON.parse(fact.body) as SyncBody
      const error_class = body.error_class ?? 'undefined'
      return { event: fact.kind, ...head, ...syncOf(body, listener.window), error_class, will_retry: false, next_attempt_at: null }
    }
    case 'connection.ciec_invalid':
      return { event: fact.kind, ...head, rejected_at: (JSON.parse(fact.body) as { rejected_at: string }).rejected_at }
    default:
      return null
  }
}

const DIRECTIONS = { sat_cfdi_issued: 'issued', sat_cfdi_received: 'received' } as const

/** Counts of what the window admits; documents without a month are seen by whoever's run fetched them. */
function syncOf({ job_id, data_source_key, period, brought, completed_at, ...all }: SyncBody, window: Window) {
  const counts =
    period === null
      ? {
          created_count: all.created_count,
          updated_count: all.updated_count,
          cancelled_count: all.cancelled_count,
          first_issued_at: null,
          last_issued_at: null,
        }
      : visibleCounts(window, brought)
  return {
    job_id,
    data_source_key,
    period,
    document_type: period === null ? data_source_key.replace(/^sat_/, '') : 'cfdi',
    direction: DIRECTIONS[data_source_key as keyof typeof DIRECTIONS] ?? null,
    ...counts,
    first_issued_at: ofSeconds(counts.first_issued_at),
    last_issued_at: ofSeconds(counts.last_issued_at),
    completed_at: iso(completed_at),
  }
}
