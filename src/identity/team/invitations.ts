import { Failure } from '../../failures.ts'
import { audited, change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation, isUniqueViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { digestsOfToken, insertCredential, mintCredential, mintInvitationToken } from '../credentials/credentials.ts'
import { findOrganization, viewOrganization } from '../organization/organization.ts'
import type { Acceptance, InvitationDraft, NewInvitation, Signup } from './contract.ts'
import { refuseDisposable } from './disposable.ts'
import { isOwner, refuseOwnerWork, viewMember } from './members.ts'
import {
  assertNotMember,
  findOpenInvitation,
  type InvitationRow,
  insertInvitation,
  insertMember,
  type MemberRow,
  replacePending,
  takeInvitation,
} from './store.ts'

const VALID_MS = 7 * 86_400_000

/**
 * Invites an address into the organization. The token is in this answer and nowhere else. A pending invitation of the address is
 * replaced, so that a lost token is no dead end; nothing is looked up of other organizations. 403, 422; 409 for an active member's.
 */
export async function inviteMember(ctx: Ctx, draft: InvitationDraft): Promise<NewInvitation> {
  const { db, organization, now, actor } = ctx
  refuseOwnerWork(ctx, draft.role)
  await refuseDisposable(ctx, draft.email)
  const { token, digest } = await mintInvitationToken(ctx)
  const shown = {
    invitation_id: newId('ivt'),
    email: draft.email,
    role: draft.role,
    name: draft.name ?? null,
    created_at: now,
    expires_at: new Date(now.getTime() + VALID_MS),
  }
  const row: InvitationRow = {
    ...shown,
    organization_id: organization.id,
    digest,
    status: 'pending',
    invited_by: actor.kind === 'credential' ? actor.api_key : actor.process,
  }
  try {
    await change(ctx, { action: 'invitation.created', resource_id: row.invitation_id, changed: Object.keys(draft) }, [
      assertNotMember(db, organization.id, draft.email),
      replacePending(db, organization.id, draft.email, isOwner(ctx), now),
      insertInvitation(db, row),
    ])
  } catch (error) {
    if (isGuardViolation(error))
      throw new Failure(
        'conflict',
        'member.exists',
        'The organization has a member with this e-mail address. Remove them to invite them again.',
      )
    // Two at once of an address take turns, so what stands in the way is an owner’s.
    if (isUniqueViolation(error)) refuseOwnerWork(ctx, 'owner')
    throw error
  }
  return { ...shown, created_at: shown.created_at.toISOString(), expires_at: shown.expires_at.toISOString(), token }
}

/** One answer, whatever the reason: a token that nobody has, was used, replaced or withdrawn, or has expired. */
const closed = () =>
  new Failure('not_found', 'invitation.not_found', 'There is no such invitation, or not any more: it is good once and for seven days.')

/** Makes the invited person a member with a credential of their own. Of several at once with one token, one is let in. 404. */
export async function acceptInvitation(system: System, { token, name }: Acceptance): Promise<Signup> {
  const { db, now } = system
  const digests = await digestsOfToken(system, token)
  const invitation = digests.length === 0 ? undefined : await findOpenInvitation(db, digests, now)
  if (!invitation) throw closed()
  const { organization_id, email, role } = invitation
  const member: MemberRow = { member_id: newId('mem'), organization_id, name, email, role, status: 'active', created_at: now }
  const draft = { name: 'Invitation', role, member_id: member.member_id, expires_at: null }
  const { row, shown } = await mintCredential(system, organization_id, draft)
  try {
    await commit(db.$client, [
      takeInvitation(db, invitation.invitation_id, now),
      insertMember(db, member),
      insertCredential(db, row),
      audited({ ...system, actor: { kind: 'credential', api_key: row.api_key, role } }, organization_id, {
        action: 'member.joined',
        resource_id: member.member_id,
      }),
    ])
  } catch (error) {
    throw isGuardViolation(error) || isUniqueViolation(error) ? closed() : error
  }
  return { organization: viewOrganization(await findOrganization(db, organization_id)), member: viewMember(member), credential: shown }
}
