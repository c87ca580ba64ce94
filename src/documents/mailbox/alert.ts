import { AUTHORITY_ZONE } from '../../authority/port/business-days.ts'
import { type AlertDraft, MOST_OF_GROUP } from '../../platform/alerts/alerts.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { deadlinesOf } from './deadlines.ts'
import type { NotificationBody } from './keep.ts'

/** The connection that a notification was received over, and the notification's identifier there. */
interface Receiver {
  organization_id: string
  fiscal_entity_id: string
  rfc: string
  notification_id: string
}

/**
 * Returns the alert of a notification that takes effect and that nobody has opened; null for any other. The first five of an RFC and day
 * have one each, and all later ones share one, so that hundreds at once make six alerts. A message names its day, because nothing changes
 * it when the notification is opened.
 */
export function alertOf(
  { organization_id, fiscal_entity_id, rfc, notification_id }: Receiver,
  body: NotificationBody,
  now: Date,
): AlertDraft | null {
  const { kind, title, sent_at, opened_at } = body
  const dated = { kind, sent_at: new Date(sent_at), opened_at: opened_at === null ? null : new Date(opened_at) }
  const { status, severity, open_deadline, effective_at, deadline_basis } = deadlinesOf(dated, now)
  if (severity === 'info' || effective_at === null) return null
  const [today, effective] = [localDayOf(now, AUTHORITY_ZONE), localDayOf(effective_at, AUTHORITY_ZONE)]
  const counts = `it counts as notified on ${effective}`
  const end = status === 'pending' && today <= open_deadline! ? `open it by ${open_deadline}, or ${counts}` : counts
  const estimated = deadline_basis === 'estimated' ? ' at the earliest: a vacation of the authority may not be known yet' : ''
  const group = `mailbox:${fiscal_entity_id}:${today}`
  return {
    ...{ organization_id, fiscal_entity_id, rfc },
    kind: 'mailbox.notification_received',
    severity,
    dedupe_key: `${group}:${notification_id}`,
    resource_id: notification_id,
    message: `The tax mailbox of ${rfc} received “${title}” on ${localDayOf(dated.sent_at, AUTHORITY_ZONE)}. As of ${today} nobody has opened it: ${end}${estimated}.`,
    message_es: `El buzón tributario de ${rfc} recibió “${title}” el ${localDayOf(dated.sent_at, AUTHORITY_ZONE)}. Al ${today} nadie la ha abierto; ${
      status === 'pending' && today <= open_deadline! ? `ábrala a más tardar el ${open_deadline} o ` : ''
    }se tendrá por notificada el ${effective}${deadline_basis === 'estimated' ? ' como mínimo' : ''}.`,
    overflow: {
      dedupe_key: group,
      resource_id: fiscal_entity_id,
      message:
        `On ${today} the tax mailbox of ${rfc} reported more than ${MOST_OF_GROUP} unopened notifications. This alert covers all of them after ` +
        `the first ${MOST_OF_GROUP}: GET /v1/fiscal-entities/${fiscal_entity_id}/buzon/notifications lists them with their deadlines.`,
      message_es: `El buzón tributario de ${rfc} avisó el ${today} de más de ${MOST_OF_GROUP} notificaciones que nadie había abierto. Este aviso es por todas las que siguen a las primeras ${MOST_OF_GROUP}.`,
    },
  }
}
