import { and, eq, gt, inArray, isNull, sql } from 'drizzle-orm'
import type { Key, Keyring } from '../../platform/crypto/keyring.ts'
import type { Database, Statement } from '../../platform/db/commit.ts'
import { bare } from '../../platform/db/statement.ts'
import { type Login, loginValue } from '../port/login.ts'
import type { MailboxNotification } from '../port/mailbox.ts'
import type { CancellationOverride } from './documents/port.ts'
import type { MailboxOverrides } from './mailbox.ts'
import { sandboxCancellations, sandboxNotifications, sandboxRefusedLogins } from './tables.ts'

/** A keyed digest, because a CIEC is short enough to be guessed from a plain one. */
const digestOf = async (key: Key, login: Login): Promise<string> =>
  (await key.hmac(JSON.stringify(['refused', login.rfc, loginValue(login)]))).toHex()

/** The changes of test helpers in the sandbox, which has no other state: they are in the control plane. */
export const sandboxOverrides = (db: Database, keys: Keyring) => ({
  /** Returns whether a test helper made the sandbox refuse this login. */
  async isRefused(login: Login): Promise<boolean> {
    const digests = await Promise.all(keys.all.map((key) => digestOf(key, login)))
    return (await db.select().from(sandboxRefusedLogins).where(inArray(sandboxRefusedLogins.digest, digests)).limit(1)).length > 0
  },
  /** Returns the cancellations of the RFC's documents by UUID in upper case. */
  async cancellations(rfc: string): Promise<Map<string, CancellationOverride>> {
    const rows = await db.select().from(sandboxCancellations).where(eq(sandboxCancellations.rfc, rfc))
    return new Map(rows.map(({ rfc: _, uuid, ...cancellation }) => [uuid, cancellation]))
  },
  ...mailboxOverrides(db),
})

export type SandboxOverrides = ReturnType<typeof sandboxOverrides>

const mailboxOverrides = (db: Database): MailboxOverrides => ({
  async mailbox(rfc) {
    const rows = await db.select().from(sandboxNotifications).where(eq(sandboxNotifications.rfc, rfc))
    return {
      sent: rows.flatMap(({ sent }) => (sent === null ? [] : readSent(sent))),
      opened: new Map(rows.flatMap(({ notification, opened_at }) => (opened_at === null ? [] : [[notification, opened_at]]))),
    }
  },
  async open(rfc, notification, at) {
    const key = and(eq(sandboxNotifications.rfc, rfc), eq(sandboxNotifications.notification, notification))
    const { opened_at } = sandboxNotifications
    await db
      .insert(sandboxNotifications)
      .values({ rfc, notification, opened_at: at })
      .onConflictDoUpdate({
        target: [sandboxNotifications.rfc, sandboxNotifications.notification],
        set: { opened_at: at },
        setWhere: isNull(opened_at),
      })
    return (await db.select({ opened_at }).from(sandboxNotifications).where(key).limit(1))[0]!.opened_at!
  },
})

/** A notification as a test helper sent it: JSON has no dates. */
function readSent(text: string): MailboxNotification {
  const sent = JSON.parse(text) as MailboxNotification
  return { ...sent, sent_at: new Date(sent.sent_at), opened_at: null }
}

/** Returns the statement after which the sandbox has sent this notification to the RFC. */
export const sendInSandbox = (db: Database, rfc: string, notification: MailboxNotification) =>
  db.insert(sandboxNotifications).values({ rfc, notification: notification.notification, sent: JSON.stringify(notification) })

/** Returns the statement after which the sandbox refuses this login. */
export async function refuseLogin(keys: Keyring, login: Login): Promise<Statement> {
  const digest = await digestOf(keys.current, login)
  // If an async function returned a drizzle query, which is thenable, it would run.
  return sql`insert into ${sandboxRefusedLogins} (${bare(sandboxRefusedLogins.digest)}) values (${digest}) on conflict do nothing`
}

/** Returns the statement after which the receiver has answered a request for cancellation in the sandbox, unless it has ended before. */
export const replyInSandbox = (db: Database, rfc: string, uuid: string, outcome: 'accepted' | 'rejected', at: Date) =>
  db
    .insert(sandboxCancellations)
    .values({ rfc, uuid, cancelled_at: at, cancellation_reason: null, outcome })
    .onConflictDoUpdate({
      target: [sandboxCancellations.rfc, sandboxCancellations.uuid],
      set: { cancelled_at: at, outcome },
      setWhere: gt(sandboxCancellations.cancelled_at, at),
    })

/** Returns the statement after which the sandbox reports a CFDI as cancelled. The first cancellation of a CFDI is kept. */
export const cancelInSandbox = (db: Database, rfc: string, uuid: string, cancellation: CancellationOverride) =>
  db
    .insert(sandboxCancellations)
    .values({ rfc, uuid, ...cancellation })
    .onConflictDoNothing()
