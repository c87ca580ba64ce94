import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, readRows } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { type Leased, RowLease } from '../../platform/work/lease.ts'
import { mails } from '../tables.ts'

type Stored = typeof mails.$inferSelect
/** A mail as a query returns it: instants are milliseconds since 1970. */
export type MailRow = Omit<Stored, 'expires_at' | 'sent_at' | 'created_at'> & {
  expires_at: number | null
  sent_at: number | null
  created_at: number
}
/** A mail that is asked for. */
export type AskedMail = Pick<
  Stored,
  'mail_id' | 'kind' | 'organization_id' | 'member_id' | 'about' | 'email' | 'address' | 'network' | 'created_at'
>

const { mail_id, kind, organization_id, address, network, digest, expires_at, sent_at, attempts, created_at } = mails

export const mailLease = new RowLease<MailRow>(mails, ['mail_id'])

/** How many mails of a kind may be asked for in so many milliseconds: to one address from one network and in all, and by an organization. */
export interface MailLimits {
  milliseconds: number
  network: number
  all: number
  organization: number
}

/** The condition for a mail of the kind that was asked for since. */
const alike = (row: AskedMail, since: number): SQL => sql`${kind} = ${row.kind} and ${created_at} > ${since}`

/** Refuses its batch when too many mails of the kind to the address, or by the organization, were asked for. */
export const assertFewMails = (row: AskedMail, limits: MailLimits, guard: string): SQL =>
  assertThat(
    sql`(select count(*) < ${limits.all} and count(*) filter (where ${network} = ${row.network}) < ${limits.network}
      from ${mails} where ${address} = ${row.address} and ${alike(row, row.created_at.getTime() - limits.milliseconds)})
    and (select count(*) < ${limits.organization} from ${mails}
      where ${organization_id} = ${row.organization_id} and ${alike(row, row.created_at.getTime() - limits.milliseconds)})`,
    guard,
  )

/**
 * When the mails of the kind to the address, or by the organization, were asked for since, the newest first: which of them to the address, from
 * this network and by the organization.
 */
export const mailsLike = (d1: D1Database, row: AskedMail, since: number) =>
  readRows<{ at: number; same: number; near: number; own: number }>(
    d1,
    sql`select ${created_at} as at, ${address} = ${row.address} as same, ${network} = ${row.network} as near, ${organization_id} is ${row.organization_id} as own
        from ${mails} where (${address} = ${row.address} or ${organization_id} = ${row.organization_id}) and ${alike(row, since)}
        order by ${created_at} desc limit 500`,
  )

export const insertMail = (db: Database, row: AskedMail) => db.insert(mails).values(row)

const isUnsent = (most: number): SQL => sql`${sent_at} is null and ${attempts} < ${most}`

/** Claims a mail that was not sent. */
export const claimMail = async (d1: D1Database, id: string, most: number): Promise<Leased<MailRow> | undefined> =>
  (await mailLease.claim(d1, sql`${mail_id} = ${id} and ${isUnsent(most)}`, sql`${bare(attempts)} = ${attempts} + 1`))[0]

/** The mails that were not sent and that nobody is sending. */
export const unsentMails = async (d1: D1Database, most: number, limit: number): Promise<string[]> =>
  (
    await readRows<Pick<MailRow, 'mail_id'>>(
      d1,
      sql`select ${mail_id} from ${mails} indexed by mails_unsent where ${isUnsent(most)} and ${mailLease.isFree()} limit ${limit}`,
    )
  ).map(({ mail_id: id }) => id)

/** Gives a mail its link, which replaces that of an attempt before. */
export const setLink = (row: Leased<MailRow>, link: string, until: Date): SQL =>
  mailLease.set(row, sql`${bare(digest)} = ${link}, ${bare(expires_at)} = ${until.getTime()}`)

export const markSent = (row: Leased<MailRow>, now: number): SQL => mailLease.set(row, sql`${bare(sent_at)} = ${now}`)

/** Deletes the mails that were asked for until then and whose links have ended. */
export const deleteMails = (until: Date, now: Date): SQL =>
  sql`delete from ${mails} where ${created_at} <= ${until.getTime()} and coalesce(${expires_at}, 0) <= ${now.getTime()}`

/** The condition for a link that can be used to confirm: it has not ended, and its organization waits for it. */
const confirms = (now: Date): SQL =>
  sql`${kind} = 'confirmation' and ${expires_at} > ${now.getTime()} and exists (select 1 from ${organizations}
    where ${organizations.id} = ${organization_id} and ${organizations.email_confirmed_at} is null)`

/** The mail whose link confirms an address, by the digests of its token. */
export const findConfirmation = async (d1: D1Database, digests: readonly string[], now: Date) =>
  (
    await readRows<MailRow & { organization_id: string }>(
      d1,
      sql`select * from ${mails} where ${digest} in ${digests} and ${confirms(now)} limit 1`,
    )
  )[0]

/** Refuses its batch unless the link can be used. */
export const assertConfirmationOpen = (id: string, now: Date, guard: string): SQL =>
  assertThat(sql`exists (select 1 from ${mails} where ${mail_id} = ${id} and ${confirms(now)})`, guard)

/** The condition for a link that signs in and can be used. */
const signsIn = (now: Date): SQL => sql`${kind} = 'sign_in' and ${expires_at} > ${now.getTime()}`

/** The address of a link that signs in, by the digests of its token. */
export const findSignInLink = async (d1: D1Database, digests: readonly string[], now: Date) =>
  (
    await readRows<Pick<MailRow, 'mail_id' | 'email'>>(
      d1,
      sql`select ${mail_id}, ${mails.email} from ${mails} where ${digest} in ${digests} and ${signsIn(now)} limit 1`,
    )
  )[0]

/** Uses a link that signs in up: refuses its batch when that was done already. Requests can have begun before the one that uses it. */
export const useSignInLink = (id: string, now: Date, guard: string): SQL[] => [
  assertThat(sql`exists (select 1 from ${mails} where ${mail_id} = ${id} and ${signsIn(now)})`, guard),
  sql`update ${mails} set ${bare(expires_at)} = 0 where ${mail_id} = ${id}`,
]
