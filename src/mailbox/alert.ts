import type { AlertDraft } from '../alerts/alerts.ts'
import { AUTHORITY_ZONE } from '../authority/port/business-days.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import { deadlinesOf } from './deadlines.ts'
import type { NotificationBody } from './told.ts'

/** The connection that a notification was received over, and the notification's identifier there. */
interface Receiver {
  organization_id: string
  rfc: string
  notification_id: string
}

/** Returns the alert of a notification that takes effect and that nobody has opened; null for any other. There is one for each notification.
 * Its message says of which day it is, because nothing changes it when the notification is opened. */
export function alertOf({ organization_id, rfc, notification_id }: Receiver, body: NotificationBody, now: Date): AlertDraft | null {
  const { kind, title, sent_at, opened_at } = body
  const dated = { kind, sent_at: new Date(sent_at), opened_at: opened_at === null ? null : new Date(opened_at) }
  const { status, severity, open_deadline, effective_at } = deadlinesOf(dated, now)
  if (severity === 'info' || effective_at === null) return null
  const effective = localDayOf(effective_at, AUTHORITY_ZONE)
  const end =
    status === 'pending'
      ? `open it by ${open_deadline}, or it counts as notified on ${effective}.`
      : `it counts as notified on ${effective}.`
  return {
    organization_id,
    kind: 'mailbox.notification_received',
    severity,
    dedupe_key: `mailbox:${notification_id}`,
    resource_id: notification_id,
    message: `The tax mailbox of ${rfc} received “${title}” on ${localDayOf(dated.sent_at, AUTHORITY_ZONE)}. As of ${localDayOf(now, AUTHORITY_ZONE)} nobody has opened it: ${end}`,
  }
}
