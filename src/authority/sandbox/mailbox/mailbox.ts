import { Unavailable } from '../../../platform/failures.ts'
import type { Login } from '../../port/authority.ts'
import { isPending, type MailboxNotification, type TaxMailbox, WouldNotify } from '../../port/mailbox.ts'
import { letterOf, notificationsOf } from './notifications.ts'

/** The events in mailboxes. */
export interface MailboxOverrides {
  /** Returns the notifications that a test helper sent to the RFC, and when notifications were opened. */
  mailbox(rfc: string): Promise<{ sent: readonly MailboxNotification[]; opened: ReadonlyMap<string, Date> }>
  /** Records that a notification is opened, and returns when it first was. */
  open(rfc: string, notification: string, at: Date): Promise<Date>
}

/** The mailboxes of the sandbox's taxpayers. `enter` logs in. */
export function sandboxMailbox(enter: (login: Login) => Promise<{ empty: boolean }>, overrides: MailboxOverrides): TaxMailbox {
  const list = async (login: Login, now: Date): Promise<MailboxNotification[]> => {
    const { empty } = await enter(login)
    const { sent, opened } = await overrides.mailbox(login.rfc)
    const shown = [...(empty ? [] : notificationsOf(login.rfc, now)), ...sent.filter(({ sent_at }) => sent_at <= now)]
    return shown.map((one) => ({ ...one, opened_at: opened.get(one.notification) ?? one.opened_at }))
  }
  const find = async (login: Login, notification: string, now: Date): Promise<MailboxNotification> => {
    const found = (await list(login, now)).find((one) => one.notification === notification)
    if (!found) throw new Unavailable('sat_unavailable', 'The mailbox does not show the notification.')
    return found
  }
  return {
    list,
    async open(login, notification, now) {
      const { opened_at } = await find(login, notification, now)
      return opened_at ?? overrides.open(login.rfc, notification, now)
    },
    async document(login, notification, now) {
      const found = await find(login, notification, now)
      if (isPending(found, now)) throw new WouldNotify()
      if (found.document_kind === null) return null
      return { name: `${found.kind}-${notification}.pdf`, content_type: 'application/pdf', bytes: letterOf(login.rfc, found) }
    },
  }
}
