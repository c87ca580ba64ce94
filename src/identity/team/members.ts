import { Failure, notFound } from '../../failures.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { openCursor, pageOf } from '../../platform/paging/cursor.ts'
import type { Role } from '../../platform/tenant.ts'
import { giveRole, revokeAll } from '../credentials/credentials.ts'
import type { Member, MemberChanges, MemberQuery } from './contract.ts'
import { findMember, listActiveMembers, type MemberRow, removeMember, updateMember, withdrawSent } from './store.ts'

export const viewMember = ({ member_id, name, email, role, created_at }: MemberRow): Member => ({
  member_id,
  name,
  email,
  role,
  created_at: created_at.toISOString(),
})

export const isOwner = ({ actor }: Ctx): boolean => actor.kind === 'credential' && actor.role === 'owner'

/** Who is not an owner neither makes one nor changes one. */
export function refuseOwnerWork(ctx: Ctx, ...roles: (Role | undefined)[]): void {
  if (roles.includes('owner') && !isOwner(ctx))
    throw new Failure('forbidden', 'member.owner_only', 'Only an owner invites, promotes, changes or removes owners.')
}

/** The active members, in the order in which they joined. */
export async function listMembers(ctx: Ctx, query: MemberQuery) {
  const scope = { list: 'members', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listActiveMembers(ctx.db, ctx.organization.id, after === undefined ? undefined : String(after), query.limit + 1)
  return pageOf(ctx, scope, query.limit, rows, (row) => [row.member_id], viewMember)
}

/**
 * Works on a member as it was read, and again when others changed it meanwhile. 404; 403 for an owner's, by who is not one; 409 when it
 * would leave the organization without an owner who can act.
 */
async function upon(ctx: Ctx, member_id: string, wanted: Role | undefined, work: (row: MemberRow) => Promise<void>): Promise<MemberRow> {
  const row = await findMember(ctx.db, ctx.organization.id, member_id)
  if (!row) throw notFound('member')
  refuseOwnerWork(ctx, row.role, wanted)
  try {
    await work(row)
    return row
  } catch (error) {
    if (!isGuardViolation(error)) throw error
    const now = await findMember(ctx.db, ctx.organization.id, member_id)
    if (row.role !== 'owner' || now?.role !== 'owner') return upon(ctx, member_id, wanted, work)
    throw new Failure('conflict', 'member.last_owner', 'This is the last owner who can act. Make another member an owner first.')
  }
}

/** Changes a member's name or role; their credentials take the role at once, and invitations that it does not allow are withdrawn. */
export async function changeMember(ctx: Ctx, member_id: string, changes: MemberChanges): Promise<Member> {
  const { db, organization, now } = ctx
  const changed = Object.keys(changes)
  const { role } = changes
  const row = await upon(ctx, member_id, role, async (read) => {
    if (changed.length === 0) return
    await change(ctx, { action: 'member.updated', resource_id: member_id, changed }, [
      updateMember(db, read, changes, now),
      ...(role === undefined || role === read.role
        ? []
        : [giveRole(db, organization.id, member_id, role), withdrawSent(db, organization.id, member_id, role)]),
    ])
  })
  return viewMember({ ...row, ...changes })
}

/** Removes a member. From the next request on their credentials fail; what they invited and nobody accepted is withdrawn. */
export async function deleteMember(ctx: Ctx, member_id: string): Promise<void> {
  const { db, organization, now } = ctx
  await upon(ctx, member_id, undefined, async (read) => {
    await change(ctx, { action: 'member.removed', resource_id: member_id }, [
      removeMember(db, read, now),
      revokeAll(db, organization.id, member_id, now),
      withdrawSent(db, organization.id, member_id, null),
    ])
  })
}
