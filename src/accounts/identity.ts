import { withdrawOpenings } from '../documents/mailbox/requests/requests.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx, System } from '../platform/context.ts'
import { isGuardViolation } from '../platform/db/guard.ts'
import { Failure, notFound } from '../platform/failures.ts'
import { countActiveConnections } from '../taxpayers/taxpayers.ts'
import { endSessionsOf } from './console/store.ts'
import { requireCredential, requireOwnerFor } from './credentials/credentials.ts'
import { assertCredentialActive, assertOwnerCredentialLeft, findCredential, markRevoked } from './credentials/store.ts'
import type { OrganizationStats } from './organization/contract.ts'
import { findOrganization } from './organization/organization.ts'
import { requireInvitation } from './team/invitations.ts'
import { countActiveMembers, findMember, withdrawInvitationsOf } from './team/store.ts'

/**
 * Revokes a credential, so that its next request fails, and ends its sessions of the console. Withdraws the pending invitations that were sent with it, and the waiting openings
 * of notifications that were acknowledged with it. Throws Failure 403 credential.owner_only, 404 credential.not_found, and 409
 * credential.last_owner.
 */
export async function revokeCredential(ctx: Ctx, api_key: string): Promise<void> {
  const { db, organization, now } = ctx
  requireOwnerFor(ctx, (await requireCredential(ctx, api_key)).role)
  try {
    await change(ctx, { action: 'credential.revoked', resource_id: api_key }, [
      assertCredentialActive(organization.id, api_key),
      assertOwnerCredentialLeft(organization.id, api_key, now),
      markRevoked(db, organization.id, api_key, now),
      endSessionsOf(db, api_key),
      withdrawInvitationsOf(organization.id, api_key),
      ...withdrawOpenings(ctx),
    ])
  } catch (error) {
    if (isGuardViolation(error, 'credential.active')) throw notFound('credential')
    if (!isGuardViolation(error, 'credential.owner_left')) throw error
    throw new Failure(
      'conflict',
      'credential.last_owner',
      'No other credential with the role owner is valid for as long as this one. Create another one first.',
    )
  }
}

/** The member behind a credential, and when the credential expires; nulls where there is none. */
export async function holderOf({ db }: System, organization_id: string, api_key: string) {
  const credential = await findCredential(db, organization_id, api_key)
  const member = credential && (await findMember(db, organization_id, credential.member_id))
  return { person: member ? { name: member.name, email: member.email } : null, expires_at: credential?.expires_at ?? null }
}

/** Shows an invitation to whoever holds its token, before it is accepted. Throws Failure 404 invitation.not_found. */
export async function viewInvitation(system: System, token: string) {
  const { organization_id, email, role, name, invited_by, expires_at } = await requireInvitation(system, token)
  const [organization, { person }] = await Promise.all([
    findOrganization(system.db, organization_id),
    holderOf(system, organization_id, invited_by),
  ])
  return { organization: { name: organization.name }, invited_by: person, email, role, name, expires_at: expires_at.toISOString() }
}

/** Counts the active members and the active connections of the organization, now. */
export async function getOrganizationStats({ db, organization }: Ctx): Promise<OrganizationStats> {
  const [members, rfcs] = await db.batch([countActiveMembers(db, organization.id), countActiveConnections(db, organization)])
  return { total_members: members[0]!.n, active_rfcs: rfcs[0]!.n }
}
