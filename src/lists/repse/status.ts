import { epochDayOf } from '../../platform/time/calendar.ts'
import type { RegistryRecord } from './registry/registry.ts'

/** How long an answer of the registry stays fresh. */
export const FRESH_MS = 86_400_000

/** The alert of a registration is raised this many days before its end. */
export const ALERT_DAYS = 60

export interface RegistrationStatus {
  /** The registration exists and its last day has passed. */
  is_expired: boolean
  /** Negative after the last day; null when the registry publishes no end. */
  days_to_expiry: number | null
}

/** Returns the status of a registration on a local day. */
export function registrationStatus(
  { is_registered, vigencia_hasta }: Pick<RegistryRecord, 'is_registered' | 'vigencia_hasta'>,
  today: string,
): RegistrationStatus {
  if (!is_registered || vigencia_hasta === null) return { is_expired: false, days_to_expiry: null }
  const days_to_expiry = epochDayOf(vigencia_hasta) - epochDayOf(today)
  return { is_expired: days_to_expiry < 0, days_to_expiry }
}

/** Whether the registry's answer is older than a day. */
export const isStale = (checked_at: Date, now: Date): boolean => now.getTime() - checked_at.getTime() > FRESH_MS
