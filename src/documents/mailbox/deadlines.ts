import {
  AUTHORITY_ZONE,
  addBusinessDays,
  businessDaysBetween,
  type DeadlineBasis,
  deadlineBasisOf,
} from '../../authority/port/business-days.ts'
import { DAYS_TO_EXPIRY, DAYS_TO_OPEN, EFFECTIVE_KINDS, isPending, type MailboxNotification } from '../../authority/port/mailbox.ts'
import { type Day, dayOfEpoch, epochDayOf, firstInstantOf, localDayOf } from '../../platform/time/calendar.ts'

export const NOTIFICATION_STATUSES = ['pending', 'opened', 'notified_by_expiry', 'informational'] as const
export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number]

export const NOTIFICATION_SEVERITIES = ['info', 'warning', 'critical'] as const
export type NotificationSeverity = (typeof NOTIFICATION_SEVERITIES)[number]

type Dated = Pick<MailboxNotification, 'kind' | 'sent_at' | 'opened_at'>

/** A notification's deadlines at an instant (CFF, article 134, I). Dates, instants and their basis are null for one that only informs. */
export interface Deadlines {
  status: NotificationStatus
  severity: NotificationSeverity
  /** The third business day. On days off after it, up to the fourth, it is still pending. */
  open_deadline: Day | null
  /** An estimated deadline, and the instant after it, are not later than the true ones. */
  deadline_basis: DeadlineBasis | null
  /** When it takes effect, or took effect. */
  effective_at: Date | null
  /** Business days after today up to the deadline; 0 on it and on days off after it. Null unless it is pending. */
  days_left: number | null
}

/** Pending with so few days left is critical. */
const CRITICAL_DAYS = 1

export function statusOf(dated: Dated, now: Date): NotificationStatus {
  if (!EFFECTIVE_KINDS.includes(dated.kind)) return 'informational'
  if (dated.opened_at !== null) return 'opened'
  return isPending(dated, now) ? 'pending' : 'notified_by_expiry'
}

export function deadlinesOf(dated: Dated, now: Date): Deadlines {
  const status = statusOf(dated, now)
  if (status === 'informational')
    return { status, severity: 'info', open_deadline: null, deadline_basis: null, effective_at: null, days_left: null }
  const sent = localDayOf(dated.sent_at, AUTHORITY_ZONE)
  const [open_deadline, expires] = [addBusinessDays(sent, DAYS_TO_OPEN), addBusinessDays(sent, DAYS_TO_EXPIRY)]
  const days_left = status === 'pending' ? businessDaysBetween(localDayOf(now, AUTHORITY_ZONE), open_deadline) : null
  const isCritical = status === 'notified_by_expiry' || (days_left !== null && days_left <= CRITICAL_DAYS)
  return {
    status,
    severity: status === 'opened' ? 'info' : isCritical ? 'critical' : 'warning',
    open_deadline,
    deadline_basis: deadlineBasisOf(sent, expires),
    effective_at: dated.opened_at ?? firstInstantOf(expires, AUTHORITY_ZONE),
    days_left,
  }
}

/** The first instant at which a notification that takes effect and is still pending now can have been sent. */
export function pendingSince(now: Date): Date {
  const tomorrow = dayOfEpoch(epochDayOf(localDayOf(now, AUTHORITY_ZONE)) + 1)
  return firstInstantOf(addBusinessDays(tomorrow, -DAYS_TO_EXPIRY), AUTHORITY_ZONE)
}

/** The first instant of sending, in milliseconds, that a floor does not hide; null without a floor. */
export const visibleSince = (floor: Day | null): number | null => (floor === null ? null : firstInstantOf(floor, AUTHORITY_ZONE).getTime())
