import { localDayOf } from '../../platform/time/calendar.ts'
import { AUTHORITY_ZONE, addBusinessDays } from './business-days.ts'
import type { Login } from './login.ts'

/** The contents of a tax mailbox. */
export const NOTIFICATION_KINDS = ['notificacion', 'requerimiento', 'mensaje_interes', 'comunicado', 'aviso'] as const
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number]

/** The kinds that take effect when they are opened, or else by expiry (CFF, article 134, I). The others only inform. */
export const EFFECTIVE_KINDS: readonly NotificationKind[] = ['notificacion', 'requerimiento']

/** A notification as the mailbox lists it. */
export interface MailboxNotification {
  /** The authority's identifier of it. It never changes, and no other notification to the RFC has it. */
  notification: string
  kind: NotificationKind
  title: string
  /** The unit of the authority that sent it. */
  authority: string
  document_number: string | null
  /** Never changes. */
  sent_at: Date
  /** When somebody opened it, with the service or in the authority's portal; null before. */
  opened_at: Date | null
  /** The kind of its document, in the authority's words; null without a document. */
  document_kind: string | null
}

/** The document of a notification, byte for byte. */
export interface MailboxDocument {
  name: string
  content_type: string
  bytes: Uint8Array
}

/**
 * The tax mailbox of a taxpayer. Its methods throw `LoginRejected` and
 * `Unavailable` as those of TaxAuthority do. Only `open` opens anything: `list` and `document` change nothing at the authority, whatever the
 * state of a notification.
 */
export interface TaxMailbox {
  /** Returns what the mailbox shows at an instant, in any order. Old notifications may leave the list. */
  list(login: Login, now: Date): Promise<MailboxNotification[]>
  /**
   * Opens a notification, which makes the authority's receipt and begins the periods of the law. Returns when it was opened. One that was
   * opened before is not opened again: the answer is the first instant.
   */
  open(login: Login, notification: string, now: Date): Promise<Date>
  /**
   * Returns the document of a notification that informs, was opened, or was notified by expiry; null when the authority does not have it
   * ready yet. Throws WouldNotify while the authority would have to open the notification first.
   */
  document(login: Login, notification: string, now: Date): Promise<MailboxDocument | null>
}

/** The part that only shows, of a mailbox that may have been listed before. */
export type ListedMailbox = Pick<TaxMailbox, 'list' | 'document'>

/** The authority delivers the document only after the notification is opened. */
export class WouldNotify extends Error {
  constructor() {
    super('The notification must be opened before its document can be read.')
  }
}

/** Business days after the day on which a notification was sent: the last one to open it, and the one on which it counts as notified. */
export const DAYS_TO_OPEN = 3
export const DAYS_TO_EXPIRY = 4

/** Whether a notification takes effect and can still be opened before it does so by expiry. */
export const isPending = ({ kind, sent_at, opened_at }: Pick<MailboxNotification, 'kind' | 'sent_at' | 'opened_at'>, now: Date): boolean =>
  EFFECTIVE_KINDS.includes(kind) &&
  opened_at === null &&
  localDayOf(now, AUTHORITY_ZONE) < addBusinessDays(localDayOf(sent_at, AUTHORITY_ZONE), DAYS_TO_EXPIRY)
