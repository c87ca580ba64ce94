import type { StoredOutboxEvent } from '../../outbox/outbox.ts'
import { type SliceCounts, visibleCounts } from '../../visibility/visible-counts.ts'
import { shows, type Windows } from '../../visibility/window.ts'
import type { EventPayload } from '../catalog/payload-contract.ts'

/** An organization that may be notified of a change to one of its fiscal entities. */
export interface Recipient {
  organization_id: string
  /** The fiscal entity in UUID form. */
  fiscal_entity_uuid: string
  rfc: string
  windows: Windows
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString()
const isoOfSeconds = (seconds: number | null): string | null => (seconds === null ? null : iso(seconds * 1_000))

/** Returns a literal local time with its offset, in minutes, appended: `2026-03-03T10:15:00-06:00`. */
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
  /** The changes of each slice, counted by what windows can tell apart. */
  brought: SliceCounts[]
  error_class: 'invalid_credentials' | 'login_failed' | 'sat_unavailable' | 'rate_limited' | 'internal_error' | null
  completed_at: number
}

/** Whether an organization is notified of an event: it is named, or its window of the CFDI's direction shows the CFDI. */
export function mayReceive(event: StoredOutboxEvent, { organization_id, windows }: Recipient): boolean {
  if (event.organizations !== null) return (JSON.parse(event.organizations) as string[]).includes(organization_id)
  const body = JSON.parse(event.body) as CancellationBody
  return shows(windows[body.direction], body)
}

/** Returns the payload of an event for one organization; null for an unknown kind. */
export function payloadOf(event: StoredOutboxEvent, recipient: Recipient, event_id: string): EventPayload | null {
  const occurred_at = iso(event.created_at)
  const head = { event_id, occurred_at, fiscal_entity_id: recipient.fiscal_entity_uuid, rfc: recipient.rfc }
  switch (event.kind) {
    case 'cfdi.cancelled':
    case 'cfdi.cancelled_after_payment': {
      const { fecha, utc_offset, issued_at: _, ...body } = JSON.parse(event.body) as CancellationBody
      return {
        event: event.kind,
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
      return { event: event.kind, ...head, ...syncOf(JSON.parse(event.body) as SyncBody, recipient.windows) }
    case 'sync.failed': {
      const body = JSON.parse(event.body) as SyncBody
      const error_class = body.error_class ?? 'undefined'
      return { event: event.kind, ...head, ...syncOf(body, recipient.windows), error_class, will_retry: false, next_attempt_at: null }
    }
    case 'connection.ciec_invalid':
      return { event: event.kind, ...head, rejected_at: (JSON.parse(event.body) as { rejected_at: string }).rejected_at }
    default:
      return null
  }
}

const DIRECTIONS = { sat_cfdi_issued: 'issued', sat_cfdi_received: 'received' } as const

/** Returns the members of a sync event. The window of the source limits the counts of CFDIs; documents of other sources have no window. */
function syncOf({ job_id, data_source_key, period, brought: slices, completed_at, ...all }: SyncBody, windows: Windows) {
  const direction = DIRECTIONS[data_source_key as keyof typeof DIRECTIONS] ?? null
  const counts =
    period === null || direction === null
      ? {
          created_count: all.created_count,
          updated_count: all.updated_count,
          cancelled_count: all.cancelled_count,
          first_issued_at: null,
          last_issued_at: null,
        }
      : visibleCounts(windows[direction], slices)
  return {
    job_id,
    data_source_key,
    period,
    document_type: period === null ? data_source_key.replace(/^sat_/, '') : 'cfdi',
    direction,
    ...counts,
    first_issued_at: isoOfSeconds(counts.first_issued_at),
    last_issued_at: isoOfSeconds(counts.last_issued_at),
    completed_at: iso(completed_at),
  }
}
