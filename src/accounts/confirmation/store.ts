import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, readFirst, readRows } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { type Leased, RowLease } from '../../platform/work/lease.ts'
import { confirmations, members } from '../tables.ts'

type Stored = typeof confirmations.$inferSelect
/** A confirmation as a query returns it: instants are milliseconds since 1970. */
export type ConfirmationRow = Omit<Stored, 'expires_at' | 'sent_at' | 'created_at'> & {
  expires_at: number | null
  sent_at: number | null
  created_at: number
}

const { confirmation_id, organization_id, email, address, network, digest, expires_at, sent_at, attempts, created_at } = confirmations

export const confirmationLease = new RowLease<ConfirmationRow>(confirmations, ['confirmation_id'])

/** How many mails to one address may be asked for in so many milliseconds: from one network, and in all. */
export interface MailLimits {
  milliseconds: number
  network: number
  all: number
}

/** Links that sign in are counted apart from those that confirm. */
const isAlike = (row: Pick<Stored, 'organization_id'>): SQL =>
  row.organization_id === null ? sql`${organization_id} is null` : sql`${organization_id} is not null`

/** Refuses its batch when too many mails to the address were asked for. */
export const assertFewMails = (
  row: Pick<Stored, 'organization_id' | 'address' | 'network' | 'created_at'>,
  limits: MailLimits,
  guard: string,
): SQL =>
  assertThat(
    sql`(select count(*) < ${limits.all} and count(*) filter (where ${network} = ${row.network}) < ${limits.network}
      from ${confirmations} where ${address} = ${row.address} and ${isAlike(row)} and ${created_at} > ${row.created_at.getTime() - limits.milliseconds})`,
    guard,
  )

/** When the mails to an address were asked for since, the newest first: all of them, and which of them from this network. */
export const mailsTo = (d1: D1Database, row: Pick<Stored, 'organization_id' | 'address' | 'network'>, since: number) =>
  readRows<{ at: number; near: number }>(
    d1,
    sql`select ${created_at} as at, ${network} = ${row.network} as near from ${confirmations}
        where ${address} = ${row.address} and ${isAlike(row)} and ${created_at} > ${since} order by ${created_at} desc limit 100`,
  )

export const insertConfirmation = (
  db: Database,
  row: Pick<Stored, 'confirmation_id' | 'organization_id' | 'email' | 'address' | 'network' | 'created_at'>,
) => db.insert(confirmations).values(row)

const isUnsent = (most: number): SQL => sql`${sent_at} is null and ${attempts} < ${most}`

/** Claims a mail that was not sent. */
export const claimConfirmation = async (d1: D1Database, id: string, most: number): Promise<Leased<ConfirmationRow> | undefined> =>
  (await confirmationLease.claim(d1, sql`${confirmation_id} = ${id} and ${isUnsent(most)}`, sql`${bare(attempts)} = ${attempts} + 1`))[0]

/** The mails that were not sent and that nobody is sending. */
export const unsentConfirmations = async (d1: D1Database, most: number, limit: number): Promise<string[]> =>
  (
    await readRows<Pick<ConfirmationRow, 'confirmation_id'>>(
      d1,
      sql`select ${confirmation_id} from ${confirmations} indexed by mailed_links_unsent
        where ${isUnsent(most)} and ${confirmationLease.isFree()} limit ${limit}`,
    )
  ).map(({ confirmation_id: id }) => id)

/** Gives a mail its link, which replaces that of an attempt before. */
export const setLink = (row: Leased<ConfirmationRow>, link: string, until: Date): SQL =>
  confirmationLease.set(row, sql`${bare(digest)} = ${link}, ${bare(expires_at)} = ${until.getTime()}`)

export const markSent = (row: Leased<ConfirmationRow>, now: number): SQL => confirmationLease.set(row, sql`${bare(sent_at)} = ${now}`)

/** The condition for a link that can be used: it has not ended, and its organization waits for it. */
const isOpen = (now: Date): SQL =>
  sql`${expires_at} > ${now.getTime()} and exists (select 1 from ${organizations}
    where ${organizations.id} = ${organization_id} and ${organizations.email_confirmed_at} is null)`

/** The confirmation of a link that can be used, by the digests of its token. */
export const findOpenConfirmation = async (d1: D1Database, digests: readonly string[], now: Date) =>
  (
    await readRows<ConfirmationRow & { organization_id: string }>(
      d1,
      sql`select * from ${confirmations} where ${digest} in ${digests} and ${isOpen(now)} limit 1`,
    )
  )[0]

/** Refuses its batch unless the link can be used. */
export const assertConfirmationOpen = (id: string, now: Date, guard: string): SQL =>
  assertThat(sql`exists (select 1 from ${confirmations} where ${confirmation_id} = ${id} and ${isOpen(now)})`, guard)

/** The member who signed the organization up, also one who was removed since. */
export const findSigner = async (d1: D1Database, id: string): Promise<{ name: string; email: string }> =>
  (await readFirst(
    d1,
    sql<{ name: string; email: string }>`select ${members.name}, ${members.email} from ${members} where ${members.organization_id} = ${id}
      order by ${members.member_id} limit 1`,
  ))!

export const deleteConfirmations = (until: Date): SQL => sql`delete from ${confirmations} where ${created_at} <= ${until.getTime()}`

/** The condition for a link that signs in and can be used. */
const signsIn = (now: Date): SQL => sql`${organization_id} is null and ${expires_at} > ${now.getTime()}`

/** The address of a link that signs in, by the digests of its token. */
export const findSignInLink = async (d1: D1Database, digests: readonly string[], now: Date) =>
  (
    await readRows<Pick<ConfirmationRow, 'confirmation_id' | 'email'>>(
      d1,
      sql`select ${confirmation_id}, ${email} from ${confirmations} where ${digest} in ${digests} and ${signsIn(now)} limit 1`,
    )
  )[0]

/** Uses a link that signs in up: refuses its batch when that was done already. Requests can have begun before the one that uses it. */
export const useSignInLink = (id: string, now: Date, guard: string): SQL[] => [
  assertThat(sql`exists (select 1 from ${confirmations} where ${confirmation_id} = ${id} and ${signsIn(now)})`, guard),
  sql`update ${confirmations} set ${bare(expires_at)} = 0 where ${confirmation_id} = ${id}`,
]
