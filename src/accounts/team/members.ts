import { withdrawOpenings } from '../../documents/mailbox/requests/requests.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { isGuardViolation, retryOnConflict } from '../../platform/db/guard.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { listPage } from '../../platform/paging/cursor.ts'
import { mayGive } from '../../platform/tenant/scopes.ts'
import { type Role, rolesAbove } from '../../platform/tenant/tenant.ts'
import { endSessionsOfMember } from '../console/store.ts'
import { isOwner, revokeMemberCredentials, setCredentialRole } from '../credentials/credentials.ts'
import type { Member, MemberChanges, MemberQuery, MemberRemoval } from './contract.ts'
import {
  assertMemberUnchanged,
  assertOwnerLeft,
  findMember,
  listActiveMembers,
  type MemberRow,
  updateMember,
  withdrawSent,
} from './store.ts'

export { insertMember, type MemberRow } from './store.ts'

/** Which mails a new member gets. */
export const FIRST_PREFERENCES = { mail_alerts: 'critical', mail_digest: true, mail_language: 'es' } as const

export const viewMember = ({ member_id, name, email, role, created_at }: MemberRow): Member => ({
  ...{ member_id, name, email, role },
  created_at: created_at.toISOString(),
})

/** Throws Failure 403 member.owner_only when one of the roles is owner and the caller is not an owner. */
export function requireOwnerFor(ctx: Ctx, ...roles: (Role | undefined)[]): void {
  if (roles.includes('owner') && !isOwner(ctx))
    throw new Failure('forbidden', 'member.owner_only', 'Only an owner can invite, promote, change or remove owners.')
}

/** Lists the active members in the order in which they joined. */
export async function listMembers(ctx: Ctx, query: MemberQuery) {
  const read = (after: string | undefined, limit: number) => listActiveMembers(ctx.db, ctx.organization.id, after, limit)
  return listPage(ctx, 'members', query, read, (row) => row.member_id, viewMember)
}

/**
 * Reads a member and commits the statements that `statementsOf` derives from it, and does so again when the member has changed. `role` is
 * the new role: undefined keeps it, null removes the member. `keepsMade`: the credentials that the member made stay as they are. Without
 * statements, nothing is committed. Returns the member and the statements' results. Throws Failure 403 member.owner_only and
 * credential.exceeds_maker, 404
 * member.not_found, and 409 member.last_owner when the organization would be left without an owner who can act.
 */
const commitMemberChange = (
  ctx: Ctx,
  member_id: string,
  { action, changed, role, keepsMade = false }: { action: string; changed?: string[]; role: Role | null | undefined; keepsMade?: boolean },
  statementsOf: (row: MemberRow) => Statement[],
): Promise<{ row: MemberRow; results: D1Result<Record<string, unknown>>[] }> =>
  retryOnConflict(
    async () => {
      const { db, organization, now } = ctx
      const row = await findMember(db, organization.id, member_id)
      if (!row) throw notFound('member')
      requireOwnerFor(ctx, row.role, role ?? undefined)
      if (role && rolesAbove(row.role).includes(role) && !mayGive(ctx, role)) throw exceeding()
      const statements = statementsOf(row)
      if (statements.length === 0) return { row, results: [] }
      const guards = [assertMemberUnchanged(row)]
      const losesOwner = row.role === 'owner' && role !== undefined && role !== 'owner'
      if (losesOwner) guards.push(assertOwnerLeft(row, keepsMade, now))
      try {
        const what = { action, resource_id: member_id, ...(changed && { changed }) }
        return { row, results: (await change(ctx, what, [...guards, ...statements])).slice(guards.length) }
      } catch (error) {
        if (isGuardViolation(error, 'member.owner_left'))
          throw new Failure(
            'conflict',
            'member.last_owner',
            'This member is the last owner who can act. Make another member an owner first.',
          )
        throw error
      }
    },
    () => new Failure('contention', 'member.changed', 'Other requests keep changing this member. Try again.'),
  )

const exceeding = () =>
  new Failure('forbidden', 'credential.exceeds_maker', 'The role may do more than the credential of this request, which is limited.')

/**
 * Changes a member's name or role. The member's own credentials take a new role at once. Those that the member made are lowered to it where
 * theirs is higher. The member's sessions of the console end. Invitations and waiting openings of notifications are withdrawn where the role does not allow them.
 */
export async function changeMember(ctx: Ctx, member_id: string, changes: MemberChanges): Promise<Member> {
  const { db, organization } = ctx
  const { role } = changes
  const changed = Object.keys(changes)
  const { row } = await commitMemberChange(ctx, member_id, { action: 'member.updated', changed, role }, (read) => {
    if (changed.length === 0) return []
    const hasNewRole = role !== undefined && role !== read.role
    return [
      updateMember(db, read, changes),
      ...(hasNewRole
        ? [
            setCredentialRole(db, organization.id, member_id, role),
            endSessionsOfMember(organization.id, member_id),
            ...withdrawSent(organization.id, member_id, role),
            ...withdrawOpenings(ctx),
          ]
        : []),
    ]
  })
  return viewMember({ ...row, ...changes })
}

/**
 * Removes a member. The member's credentials fail from their next request on, and so do those that the member made, directly or through
 * other credentials, unless they are kept. The member's sessions of the console end, also those with kept credentials. The pending invitations that were sent with any of them are withdrawn, and so are the waiting
 * openings acknowledged with them. Returns what was revoked.
 */
export async function deleteMember(ctx: Ctx, member_id: string, keepsMade: boolean): Promise<MemberRemoval> {
  const { db, organization, now } = ctx
  const { results } = await commitMemberChange(ctx, member_id, { action: 'member.removed', role: null, keepsMade }, (row) => [
    revokeMemberCredentials(db, organization.id, member_id, keepsMade, now),
    endSessionsOfMember(organization.id, member_id),
    updateMember(db, row, { status: 'removed' }),
    ...withdrawSent(organization.id, member_id, null),
    ...withdrawOpenings(ctx),
  ])
  return { member_id, revoked_api_keys: results[0]!.results.map(({ api_key }) => String(api_key)).sort() }
}
