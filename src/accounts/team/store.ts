import { and, asc, count, eq, gt, inArray, or, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, readFirst, readRows } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import type { Role } from '../../platform/tenant/tenant.ts'
import { credentials, invitations, mails, members } from '../tables.ts'

const [c, m, o] = [alias(credentials, 'c'), alias(credentials, 'm'), alias(members, 'o')]

export type MemberRow = typeof members.$inferSelect
export type InvitationRow = typeof invitations.$inferSelect

export const insertMember = (db: Database, row: MemberRow) => db.insert(members).values(row)

const active = (organization_id: string) => and(eq(members.organization_id, organization_id), eq(members.status, 'active'))

export const findMember = async (db: Database, organization_id: string, member_id: string): Promise<MemberRow | undefined> =>
  (
    await db
      .select()
      .from(members)
      .where(and(active(organization_id), eq(members.member_id, member_id)))
      .limit(1)
  )[0]

/** A member of whichever organization, also one who was removed. */
export const findMemberAnywhere = async (db: Database, member_id: string): Promise<MemberRow | undefined> =>
  (await db.select().from(members).where(eq(members.member_id, member_id)).limit(1))[0]

export const listActiveMembers = (db: Database, organization_id: string, after: string | undefined, limit: number) =>
  db
    .select()
    .from(members)
    .where(and(active(organization_id), after === undefined ? undefined : gt(members.member_id, after)))
    .orderBy(asc(members.member_id))
    .limit(limit)

/** Counts the organization's active members, as `n` of one row. */
export const countActiveMembers = (db: Database, organization_id: string) =>
  db.select({ n: count() }).from(members).where(active(organization_id))

/** Refuses its batch unless the member is active and has the role that was read. */
export const assertMemberUnchanged = ({ organization_id, member_id, role }: MemberRow): SQL =>
  assertThat(
    sql`exists (select 1 from ${members} where ${members.organization_id} = ${organization_id} and ${members.member_id} = ${member_id}
      and ${members.status} = 'active' and ${members.role} = ${role})`,
    'member.unchanged',
  )

/**
 * Refuses its batch unless the organization has, besides this member, another owner, and a credential with the role owner that is valid
 * for as long as those that the member loses: the member's own and, unless they are kept, those that the member made.
 */
export const assertOwnerLeft = ({ organization_id, member_id }: MemberRow, keepsMade: boolean, now: Date): SQL => {
  const isLost = (own: typeof c | typeof m): SQL =>
    sql`(${own.member_id} = ${member_id}${keepsMade ? sql` and ${own.created_by} is null` : undefined})`
  return assertThat(
    sql`exists (select 1 from ${members} ${o} where ${o.organization_id} = ${organization_id} and ${o.member_id} <> ${member_id}
        and ${o.status} = 'active' and ${o.role} = 'owner')
      and exists (select 1 from ${credentials} ${c} where ${c.organization_id} = ${organization_id} and not ${isLost(c)}
        and ${c.role} = 'owner' and ${c.revoked_at} is null and (${c.expires_at} is null or (${c.expires_at} > ${now.getTime()}
          and not exists (
          select 1 from ${credentials} ${m} where ${m.organization_id} = ${organization_id} and ${isLost(m)} and ${m.role} = 'owner'
            and ${m.revoked_at} is null and (${m.expires_at} is null or ${m.expires_at} > ${c.expires_at})))))`,
    'member.owner_left',
  )
}

export const updateMember = (db: Database, { organization_id, member_id }: MemberRow, changes: Partial<MemberRow>) =>
  db
    .update(members)
    .set(changes)
    .where(and(eq(members.member_id, member_id), eq(members.organization_id, organization_id)))

export const insertInvitation = (db: Database, row: InvitationRow) => db.insert(invitations).values(row)

/** Refuses its batch when an active member has this e-mail address. */
export const assertNotMember = (organization_id: string, email: string): SQL =>
  assertThat(
    sql`not exists (select 1 from ${members} where ${members.organization_id} = ${organization_id}
      and lower(${members.email}) = lower(${email}) and ${members.status} = 'active')`,
    'member.new_address',
  )

const pendingOf = (organization_id: string): SQL =>
  sql`${invitations.organization_id} = ${organization_id} and ${invitations.status} = 'pending'`

/**
 * Marks the pending invitation of the address as replaced. One with the role owner that has not expired stays unless an owner replaces
 * it.
 */
export const replacePending = (organization_id: string, email: string, byOwner: boolean, now: Date): SQL =>
  sql`update ${invitations} set ${bare(invitations.status)} = 'replaced' where ${pendingOf(organization_id)}
      and lower(${invitations.email}) = lower(${email})
      and ${byOwner ? sql`true` : sql`(${invitations.role} <> 'owner' or ${invitations.expires_at} <= ${now.getTime()})`}`

/** Closes the pending invitations of the organization that have expired, so that only open ones are counted. */
export const closeExpired = (organization_id: string, now: Date): SQL =>
  sql`update ${invitations} set ${bare(invitations.status)} = 'expired' where ${pendingOf(organization_id)}
      and ${invitations.expires_at} <= ${now.getTime()}`

/** Selects the number of the organization's pending invitations that have not expired. */
export const invitationsUsed = (organization_id: string, now: Date): SQL =>
  sql`select count(*) from ${invitations} indexed by invitations_pending where ${pendingOf(organization_id)}
    and ${invitations.expires_at} > ${now.getTime()}`

const sentBy = (organization_id: string, member_id: string): SQL =>
  sql`${invitations.invited_by} in (select ${credentials.api_key} from ${credentials}
    where ${credentials.organization_id} = ${organization_id} and ${credentials.member_id} = ${member_id})`

/**
 * Withdraws the pending invitations that a member sent, also with credentials that the member made, and that the member's new role does not
 * allow; all of them when the role is null.
 */
export const withdrawSent = (organization_id: string, member_id: string, role: Role | null): SQL[] =>
  role === 'owner'
    ? []
    : [
        sql`update ${invitations} set ${bare(invitations.status)} = 'withdrawn' where ${pendingOf(organization_id)}
            and ${sentBy(organization_id, member_id)}
            and ${role === 'admin' ? sql`${invitations.role} = 'owner'` : sql`true`}`,
      ]

const open = (organization_id: string, now: Date) =>
  and(eq(invitations.organization_id, organization_id), eq(invitations.status, 'pending'), gt(invitations.expires_at, now))

/** Lists the organization's pending invitations that have not expired, oldest first. */
export const listOpenInvitations = (db: Database, organization_id: string, after: string | undefined, limit: number, now: Date) =>
  db
    .select()
    .from(invitations)
    .where(and(open(organization_id, now), after === undefined ? undefined : gt(invitations.invitation_id, after)))
    .orderBy(asc(invitations.invitation_id))
    .limit(limit)

/** The organization's pending invitation with this id, unless it has expired. */
export const findInvitation = async (db: Database, organization_id: string, invitation_id: string, now: Date) =>
  (
    await db
      .select()
      .from(invitations)
      .where(and(open(organization_id, now), eq(invitations.invitation_id, invitation_id)))
      .limit(1)
  )[0]

export const markWithdrawn = (organization_id: string, invitation_id: string): SQL =>
  sql`update ${invitations} set ${bare(invitations.status)} = 'withdrawn' where ${pendingOf(organization_id)}
      and ${invitations.invitation_id} = ${invitation_id}`

/** The invitation of a token or of the link in its mail, by the digests, unless it was used, replaced or withdrawn, or has expired. */
export const findOpenInvitation = async (db: Database, digests: readonly string[], now: Date): Promise<InvitationRow | undefined> =>
  (
    await db
      .select()
      .from(invitations)
      .where(
        and(
          or(
            inArray(invitations.digest, [...digests]),
            sql`${invitations.invitation_id} in (select ${mails.about} from ${mails} where ${mails.digest} in ${digests} and ${mails.kind} = 'invitation')`,
          ),
          ...[eq(invitations.status, 'pending'), gt(invitations.expires_at, now)],
        ),
      )
      .limit(1)
  )[0]

/** Notes that whoever reads the mails to an address has proved it: of a member, or of all members with it. */
export const confirmAddress = (email: string, now: Date, organization_id?: string): SQL =>
  sql`update ${members} set ${bare(members.email_confirmed_at)} = ${now.getTime()} where lower(${members.email}) = lower(${email})
      and ${members.status} = 'active' and ${members.email_confirmed_at} is null
      and ${organization_id === undefined ? sql`true` : sql`${members.organization_id} = ${organization_id}`}`

/** Refuses its batch unless the invitation is pending and has not expired. */
export const assertInvitationOpen = (invitation_id: string, now: Date): SQL =>
  assertThat(
    sql`exists (select 1 from ${invitations} where ${invitations.invitation_id} = ${invitation_id} and ${invitations.status} = 'pending'
      and ${invitations.expires_at} > ${now.getTime()})`,
    'invitation.open',
  )

export const markAccepted = (db: Database, invitation_id: string) =>
  db.update(invitations).set({ status: 'accepted' }).where(eq(invitations.invitation_id, invitation_id))

/** Withdraws the pending invitations that were sent with a credential. */
export const withdrawInvitationsOf = (organization_id: string, api_key: string): SQL =>
  sql`update ${invitations} set ${bare(invitations.status)} = 'withdrawn' where ${pendingOf(organization_id)}
      and ${invitations.invited_by} = ${api_key}`

/** The member who signed the organization up, also one who was removed since. */
export const findSigner = async (d1: D1Database, id: string): Promise<{ name: string; email: string }> =>
  (await readFirst(
    d1,
    sql<{ name: string; email: string }>`select ${members.name}, ${members.email} from ${members} where ${members.organization_id} = ${id}
      order by ${members.member_id} limit 1`,
  ))!

/** An organization that a person is a member of, with the credential that the member has. */
export interface Membership {
  organization_id: string
  name: string
  role: Role
  api_key: string
  expires_at: number | null
  /** JSON, as in the row of the credential. */
  scopes: string | null
  fiscal_entity_ids: string | null
}

/**
 * The organizations whose active member has an e-mail address, in the order of their names, with the member's credential that is valid: with
 * the role of the member if there is one, and the one that lasts longest. A sign-up that was not confirmed may be a stranger's.
 */
export const membershipsOf = (d1: D1Database, email: string, now: Date): Promise<Membership[]> =>
  readRows<Membership>(
    d1,
    sql`select ${o.organization_id}, ${organizations.name}, ${c.role}, ${c.api_key}, ${c.expires_at}, ${c.scopes}, ${c.fiscal_entity_ids}
      from ${members} ${o} indexed by members_address
      cross join ${organizations} on ${organizations.id} = ${o.organization_id} and ${organizations.email_confirmed_at} is not null
      cross join ${credentials} ${c} on ${c.api_key} = (select ${m.api_key} from ${credentials} ${m}
        where ${m.organization_id} = ${o.organization_id} and ${m.member_id} = ${o.member_id} and ${m.revoked_at} is null
          and (${m.expires_at} is null or ${m.expires_at} > ${now.getTime()})
        order by ${m.role} = ${o.role} desc, ${m.created_by} is null desc, ${m.expires_at} is null desc, ${m.expires_at} desc, ${m.api_key}
        limit 1)
      where lower(${o.email}) = lower(${email}) and ${o.status} = 'active'
      order by ${organizations.name}, ${o.organization_id} limit 100`,
  )

/** Refuses its batch unless the credential is valid and of an active member with this e-mail address. */
export const assertMembership = (api_key: string, email: string): SQL =>
  assertThat(
    sql`exists (select 1 from ${credentials} ${c} cross join ${members} ${o} on ${o.member_id} = ${c.member_id} and ${o.organization_id} = ${c.organization_id}
      where ${c.api_key} = ${api_key} and ${c.revoked_at} is null and ${o.status} = 'active' and lower(${o.email}) = lower(${email}))`,
    'membership.active',
  )
