import type { AddressedDraft } from '../../platform/alerts/alerts.ts'
import { epochDayOf, localDayOf } from '../../platform/time/calendar.ts'
import type { RepseStatus } from './contract.ts'
import type { RegistryRecord } from './registry/registry.ts'

/** How long an answer of the registry stays fresh. */
export const FRESH_MS = 86_400_000

/** The alert of a registration is raised this many days before its end. */
export const ALERT_DAYS = 60

/** Returns the status of a registration on a local day. */
export function registrationStatus(
  { is_registered, vigencia_hasta }: Pick<RegistryRecord, 'is_registered' | 'vigencia_hasta'>,
  today: string,
): Pick<RepseStatus, 'is_expired' | 'days_to_expiry'> {
  if (!is_registered || vigencia_hasta === null) return { is_expired: false, days_to_expiry: null }
  const days_to_expiry = epochDayOf(vigencia_hasta) - epochDayOf(today)
  return { is_expired: days_to_expiry < 0, days_to_expiry }
}

/** Whether the registry's answer is older than a day. */
export const isStale = (checked_at: Date, now: Date): boolean => now.getTime() - checked_at.getTime() > FRESH_MS

/** A registration with an end, for one organization with an active connection to the fiscal entity. */
export interface Registration {
  organization_id: string
  events_shard: number
  timezone: string
  fiscal_entity_id: string
  rfc: string
  vigencia_hasta: string
}

/** Returns the alert of a registration that has ended or ends within 60 days, else null. There is one alert per registration end. */
export function alertOf({ timezone, fiscal_entity_id, rfc, vigencia_hasta, ...of }: Registration, now: Date): AddressedDraft | null {
  const { is_expired, days_to_expiry } = registrationStatus({ is_registered: true, vigencia_hasta }, localDayOf(now, timezone))
  if (days_to_expiry === null || days_to_expiry > ALERT_DAYS) return null
  return {
    ...of,
    kind: is_expired ? 'repse.expired' : 'repse.expiring',
    severity: is_expired ? 'critical' : 'warning',
    dedupe_key: `repse:${rfc}:${vigencia_hasta}`,
    resource_id: fiscal_entity_id,
    ...{ fiscal_entity_id, rfc },
    message: `The REPSE registration of ${rfc} ${is_expired ? 'ended' : 'ends'} on ${vigencia_hasta}.`,
    message_es: `El registro REPSE de ${rfc} ${is_expired ? 'terminó' : 'termina'} el ${vigencia_hasta}.`,
  }
}
