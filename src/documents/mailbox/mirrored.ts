import { AUTHORITY_ZONE } from '../../authority/port/business-days.ts'
import type { System } from '../../platform/context.ts'
import { readColumn, readRows } from '../../platform/db/statement.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import type { ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { visibleSince } from './deadlines.ts'
import { objectOf } from './keep.ts'
import { findNotification, notificationIdOf } from './notifications.ts'
import { type NotificationReader, readersOf } from './requests/store.ts'
import { listersOfFetched, listNotifications, type NotificationRow } from './store.ts'

export { fetchedSince } from './store.ts'

/** A notification that an organization may read, for those that copy its document elsewhere. */
export interface MirroredNotification extends Pick<NotificationRow, 'content_type' | 'size'> {
  document_id: string
  /** The day on which it was sent. */
  document_date: string
  /** When the organization could first read the document, in milliseconds. */
  got_at: number
  /** The object that holds its bytes; null while there is none. */
  object: string | null
}

/** Returns notifications that the organization may read, the latest first, after one. */
export async function mirroredNotifications(ledger: ScopedLedger, after: string | null, limit: number): Promise<MirroredNotification[]> {
  const last = after === null ? null : await findNotification(ledger, after)
  const rows = await readRows(
    ledger.d1,
    listNotifications(ledger, {
      floor: visibleSince(ledger.window.floor),
      before: last && [last.sent_at, last.notification],
      ...{ status: undefined, kind: undefined, since: null, pendingSince: 0 },
      limit,
    }),
  )
  return Promise.all(
    rows.map(async ({ sent_at, notification, organizations, content_type, size, sha256, fetched_at }) => {
      const listed_at = (JSON.parse(organizations) as Record<string, number>)[ledger.organization_id] ?? ledger.first_active_at
      return {
        document_id: await notificationIdOf(ledger.fiscal_entity_id, sent_at, notification),
        ...{ content_type, size },
        document_date: localDayOf(new Date(sent_at), AUTHORITY_ZONE),
        got_at: Math.max(listed_at, fetched_at ?? 0),
        object: sha256 === null ? null : objectOf(sha256),
      }
    }),
  )
}

/** Finds the readers of a mailbox's documents that were fetched at an instant or later, as far as floors let them. */
export async function readersOfFetched(system: System, ledger: D1Database, entity: number, since: Date): Promise<NotificationReader[]> {
  const [listers] = await readColumn(ledger, listersOfFetched(entity, since.getTime()))
  return readRows(system.db.$client, readersOf(entity, listers!))
}
