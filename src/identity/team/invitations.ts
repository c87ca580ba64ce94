import { Failure } from '../../failures.ts'
import { takePlace } from '../../plans/place.ts'
import { audited, change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation, isUniqueViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { credentialsUsed, insertCredential, isOwner, mintCredential } from '../credentials/credentials.ts'
import { digestOf, isInvitationToken, newInvitationToken } from '../credentials/key.ts'
import { findOrganization, viewOrganization } from '../organization/organization.ts'
import type { Acceptance, InvitationDraft, NewInvitation, Signup } from './contract.ts'
import { refuseDisposable } from './disposable.ts'
import { requireOwnerFor, viewMember } from './members.ts'
import {
  assertInvitationOpen,
  assertNotMember,
  closeExpired,
  findOpenInvitation,
  type InvitationRow,
  insertInvitation,
  insertMember,
  invitationsUsed,
  type MemberRow,
  markAccepted,
  replacePending,
} from './store.ts'

export { invitationsUsed } from './store.ts'

const VALID_MS = 7 * 86_400_000

/**
 * Invites an e-mail address to the organization. The token is in this answer and is not stored. A pending invitation of the address is
 * replaced, so that a lost token can be issued again. Other organizations play no part. Throws Failure 403 member.owner_only, 409
 * member.exists and invitation.plan_limit, and 422 email.disposable.
 */
export async function inviteMember(ctx: Ctx, draft: InvitationDraft): Promise<NewInvitation> {
  const { db, organization, settings, now, actor } = ctx
  requireOwnerFor(ctx, draft.role)
  await refuseDisposable(ctx, draft.email)
  const token = newInvitationToken(settings.environment)
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
    digest: await digestOf(settings.apiSecretKeys.current, token),
    status: 'pending',
    invited_by: actor.kind === 'credential' ? actor.api_key : actor.process,
  }
  try {
    // The place of an invitation that is replaced is free again.
    await takePlace(ctx, 'invitations', invitationsUsed(organization.id, now), (guard) =>
      change(ctx, { action: 'invitation.created', resource_id: row.invitation_id, changed: Object.keys(draft) }, [
        assertNotMember(db, organization.id, draft.email),
        closeExpired(db, organization.id, now),
        replacePending(db, organization.id, draft.email, isOwner(ctx), now),
        guard,
        insertInvitation(db, row),
      ]),
    )
  } catch (error) {
    if (isGuardViolation(error, 'member.new_address'))
      throw new Failure(
        'conflict',
        'member.exists',
        'A member of the organization has this e-mail address. Remove the member to invite the address again.',
      )
    // Concurrent invitations of an address replace each other, so only an owner's invitation can be in the way.
    if (isUniqueViolation(error)) requireOwnerFor(ctx, 'owner')
    throw error
  }
  return { ...shown, created_at: shown.created_at.toISOString(), expires_at: shown.expires_at.toISOString(), token }
}

/** The same answer for an unknown, used, replaced, withdrawn or expired token. */
const noInvitation = () =>
  new Failure(
    'not_found',
    'invitation.not_found',
    'There is no open invitation with this token. A token can be used once, within 7 days. Ask for a new invitation.',
  )

/** Every digest under which an invitation token may be stored; none for a text that cannot be a token of this environment. */
const digestsOfToken = async ({ settings }: System, token: string): Promise<string[]> =>
  isInvitationToken(settings.environment, token) ? Promise.all(settings.apiSecretKeys.all.map((key) => digestOf(key, token))) : []

/**
 * Makes the invited person a member with a credential. One of several concurrent requests with the same token succeeds. Throws Failure 404
 * invitation.not_found, and 409 credential.plan_limit; the invitation then stays open.
 */
export async function acceptInvitation(system: System, { token, name }: Acceptance): Promise<Signup> {
  const { db, now } = system
  const digests = await digestsOfToken(system, token)
  const invitation = digests.length === 0 ? undefined : await findOpenInvitation(db, digests, now)
  if (!invitation) throw noInvitation()
  const { organization_id, email, role } = invitation
  const member: MemberRow = { member_id: newId('mem'), organization_id, name, email, role, status: 'active', created_at: now }
  const draft = { name: 'Invitation', role, member_id: member.member_id, expires_at: null }
  const [{ row, shown }, organization] = await Promise.all([
    mintCredential(system, organization_id, draft),
    findOrganization(db, organization_id),
  ])
  try {
    await takePlace({ ...system, organization }, 'credentials', credentialsUsed(organization_id), (guard) =>
      commit(db.$client, [
        assertInvitationOpen(db, invitation.invitation_id, now),
        guard,
        markAccepted(db, invitation.invitation_id),
        insertMember(db, member),
        insertCredential(db, row),
        audited({ ...system, actor: { kind: 'credential', api_key: row.api_key, role } }, organization_id, {
          action: 'member.joined',
          resource_id: member.member_id,
        }),
      ]),
    )
  } catch (error) {
    throw isGuardViolation(error, 'invitation.open') || isUniqueViolation(error) ? noInvitation() : error
  }
  return { organization: viewOrganization(organization), member: viewMember(member), credential: shown }
}
