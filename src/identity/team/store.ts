import { and, asc, eq, gt, inArray, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import type { Role } from '../../platform/tenant.ts'
import { credentials } from '../credentials/tables.ts'
import { organizations } from '../organization/tables.ts'
import { invitations, members } from './tables.ts'

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

export const listActiveMembers = (db: Database, organization_id: string, after: string | undefined, limit: number) =>
  db
    .select()
    .from(members)
    .where(and(active(organization_id), after === undefined ? undefined : gt(members.member_id, after)))
    .orderBy(asc(members.member_id))
    .limit(limit)

/** Whether the organization has, beside this member, another owner and a credential of an owner's that works for as long as theirs. */
const anotherOwner = ({ organization_id, member_id }: MemberRow, now: Date): SQL => sql`
  exists (select 1 from members o where o.organization_id = ${organization_id} and o.member_id <> ${member_id}
    and o.status = 'active' and o.role = 'owner')
  and exists (select 1 from credentials c where c.organization_id = ${organization_id} and c.member_id is not ${member_id}
    and c.role = 'owner' and c.revoked_at is null and (c.expires_at is null or (c.expires_at > ${now.getTime()} and not exists (
      select 1 from credentials m where m.organization_id = ${organization_id} and m.member_id = ${member_id} and m.role = 'owner'
        and m.revoked_at is null and (m.expires_at is null or m.expires_at > c.expires_at)))))`

/** A value for a member that is still as it was read, and is not the last owner; else null, which refuses the whole batch. */
const unlessLast = (row: MemberRow, staysOwner: boolean, now: Date, value: string): SQL =>
  row.role === 'owner' && !staysOwner
    ? sql`case when status = 'active' and role = 'owner' and ${anotherOwner(row, now)} then ${value} end`
    : sql`case when status = 'active' and role = ${row.role} then ${value} end`

/** Each of these two refuses its whole batch with a guard violation when the member is not as read any more, or the last owner. */
export const updateMember = (db: Database, row: MemberRow, changes: { name?: string; role?: Role }, now: Date) =>
  db
    .update(members)
    .set({ ...changes, role: unlessLast(row, (changes.role ?? row.role) === 'owner', now, changes.role ?? row.role) })
    .where(and(eq(members.member_id, row.member_id), eq(members.organization_id, row.organization_id)))

export const removeMember = (db: Database, row: MemberRow, now: Date) =>
  db
    .update(members)
    .set({ status: unlessLast(row, false, now, 'removed') })
    .where(and(eq(members.member_id, row.member_id), eq(members.organization_id, row.organization_id)))

export const insertInvitation = (db: Database, row: InvitationRow) => db.insert(invitations).values(row)

/** Refuses its whole batch with a guard violation when the address is an active member's. */
export const assertNotMember = (db: Database, organization_id: string, email: string) =>
  db
    .update(organizations)
    .set({
      extractor_count: sql`case when not exists (select 1 from members where organization_id = ${organization_id}
        and lower(email) = lower(${email}) and status = 'active') then extractor_count end`,
    })
    .where(eq(organizations.id, organization_id))

const pendingOf = (organization_id: string) => and(eq(invitations.organization_id, organization_id), eq(invitations.status, 'pending'))

/** Frees the address for a new invitation. What invites as an owner and has not expired stays, unless an owner asks. */
export const replacePending = (db: Database, organization_id: string, email: string, byOwner: boolean, now: Date) =>
  db
    .update(invitations)
    .set({ status: 'replaced' })
    .where(
      and(
        pendingOf(organization_id),
        sql`lower(email) = lower(${email})`,
        byOwner ? undefined : sql`(role <> 'owner' or expires_at <= ${now.getTime()})`,
      ),
    )

/** What a member has sent out and, with the role that is left to them, may not have. */
export const withdrawSent = (db: Database, organization_id: string, member_id: string, left: Role | null) =>
  db
    .update(invitations)
    .set({ status: 'withdrawn' })
    .where(
      and(
        pendingOf(organization_id),
        inArray(
          invitations.invited_by,
          db
            .select({ api_key: credentials.api_key })
            .from(credentials)
            .where(and(eq(credentials.organization_id, organization_id), eq(credentials.member_id, member_id))),
        ),
        left === 'owner' ? sql`0` : left === 'admin' ? eq(invitations.role, 'owner') : undefined,
      ),
    )

/** The invitation that a token is of, if it can still be accepted. */
export const findOpenInvitation = async (db: Database, digests: readonly string[], now: Date): Promise<InvitationRow | undefined> =>
  (
    await db
      .select()
      .from(invitations)
      .where(and(inArray(invitations.digest, [...digests]), eq(invitations.status, 'pending'), gt(invitations.expires_at, now)))
      .limit(1)
  )[0]

/** Accepts an invitation; refuses its whole batch with a guard violation when that is not possible any more. */
export const takeInvitation = (db: Database, invitation_id: string, now: Date) =>
  db
    .update(invitations)
    .set({ status: sql`case when status = 'pending' and expires_at > ${now.getTime()} then 'accepted' end` })
    .where(eq(invitations.invitation_id, invitation_id))
