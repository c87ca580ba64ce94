import { epochDayOf } from '../platform/time/calendar.ts'
import type { RegistryRecord } from './registry/registry.ts'

/** How long an answer of the registry is fresh (service.md, Limits). */
export const FRESH_MS = 86_400_000

/** Days before the end of a registration from which on an alert warns of it. */
export const ALERT_DAYS = 60

export interface RegistrationStatus {
  /** The registration exists and its end is past. Its last day still counts. */
  is_expired: boolean
  /** Negative once expired; null when no end is published. */
  days_to_expiry: number | null
}

/** How a record stands on a local day. */
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
