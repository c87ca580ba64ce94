import { audited, change } from '../../platform/audit/audit.ts'
import { awaitsConfirmation, type Ctx, type System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isGuardViolation, isUniqueViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { deliversMail } from '../../platform/mail/mail.ts'
import { listPage } from '../../platform/paging/cursor.ts'
import { changeAsMaker, credentialsUsed, insertCredential, isOwner, mintCredential, requireMaker } from '../credentials/credentials.ts'
import { digestOf, isToken, newToken } from '../credentials/key.ts'
import { limitsOf } from '../credentials/limits.ts'
import { requestMail } from '../mails/mails.ts'
import { findOrganization, viewOrganization } from '../organization/organization.ts'
import { reserveQuota } from '../plans/reserve-quota.ts'
import type { Acceptance, Invitation, InvitationDraft, MemberQuery, NewInvitation, Signup } from './contract.ts'
import { FIRST_PREFERENCES, requireOwnerFor, viewMember } from './members.ts'
import {
  assertInvitationOpen,
  assertNotMember,
  closeExpired,
  findInvitation,
  findOpenInvitation,
  type InvitationRow,
  insertInvitation,
  insertMember,
  invitationsUsed,
  listOpenInvitations,
  type MemberRow,
  markAccepted,
  markWithdrawn,
  replacePending,
} from './store.ts'

/** The list of the package `disposable-email-domains-js`, linked from `assets/`. `npm run domains` installs its newest release. */
const LIST = 'https://assets.invalid/disposable-domains.json'

// Holds lists and not promises, because a request must not await the I/O of another request.
const lists = new WeakMap<Fetcher, ReadonlySet<string>>()

async function listOf({ ASSETS }: Env): Promise<ReadonlySet<string>> {
  const known = lists.get(ASSETS)
  if (known) return known
  const response = await ASSETS.fetch(LIST)
  if (!response.ok) throw new Error(`The list of disposable e-mail domains answered ${response.status}.`)
  const list = new Set((await response.json()) as string[])
  lists.set(ASSETS, list)
  return list
}

/** Throws Failure 422 email.disposable when the address is at a disposable domain or a subdomain of one: by the list, or by its name. */
export async function refuseDisposable({ env }: System, email: string): Promise<void> {
  const list = await listOf(env)
  const domains = domainsOf(email)
  if (hasDisposableName(domains[0]!) || domains.some((domain) => list.has(domain)))
    throw invalid('email.disposable', [{ path: 'email', message: 'Must not be at a disposable e-mail domain.' }])
}

export { invitationsUsed } from './store.ts'

const VALID_MS = 7 * 86_400_000

const viewInvitation = ({ invitation_id, email, role, name, invited_by, ...row }: InvitationRow): Invitation => ({
  ...{ invitation_id, email, role, name, invited_by },
  ...{ scopes: row.scopes, fiscal_entity_ids: row.fiscal_entity_ids, allowed_addresses: row.allowed_addresses },
  ...{ created_at: row.created_at.toISOString(), expires_at: row.expires_at.toISOString() },
})

/**
 * Invites an e-mail address to the organization. The token is in this answer and is not stored. A pending invitation of the address is
 * replaced, so that a lost token can be issued again, and a mail sent again. Other organizations play no part. Neither the invitation nor the
 * credential of whoever accepts it outlives the caller's credential, or may do more. Throws Failure 403 member.owner_only, 409 member.exists,
 * credential.changed and invitation.plan_limit, 422 email.disposable and as `limitsOf` does, and 429 invitation.mail_limit.
 */
export async function inviteMember(ctx: Ctx, draft: InvitationDraft): Promise<NewInvitation> {
  const { db, organization, settings, now } = ctx
  // An organization whose own address is not confirmed has no mail sent to others.
  const is_mailed = deliversMail(ctx) && !awaitsConfirmation(ctx)
  requireOwnerFor(ctx, draft.role)
  await refuseDisposable(ctx, draft.email)
  const inviter = await requireMaker(ctx)
  const limits = await limitsOf(ctx, inviter, draft)
  const token = newToken(settings.environment, 'invitation')
  const row: InvitationRow = {
    invitation_id: newId('ivt'),
    organization_id: organization.id,
    email: draft.email,
    role: draft.role,
    name: draft.name ?? null,
    digest: await digestOf(settings.apiSecretKeys.current, token),
    status: 'pending',
    invited_by: inviter.api_key,
    credential_expires_at: inviter.expires_at,
    ...limits,
    created_at: now,
    expires_at: new Date(Math.min(now.getTime() + VALID_MS, inviter.expires_at?.getTime() ?? Number.POSITIVE_INFINITY)),
  }
  // The unit of an invitation that is replaced is free again.
  const invite = (mail: readonly Statement[]) =>
    reserveQuota(ctx, 'invitations', invitationsUsed(organization.id, now), (reserved) =>
      changeAsMaker(ctx, { action: 'invitation.created', resource_id: row.invitation_id, changed: Object.keys(draft) }, [
        assertNotMember(organization.id, draft.email),
        closeExpired(organization.id, now),
        replacePending(organization.id, draft.email, isOwner(ctx), now),
        ...reserved,
        insertInvitation(db, row),
        ...mail,
      ]),
    )
  const asked = { kind: 'invitation', organization_id: organization.id, email: draft.email, about: row.invitation_id } as const
  try {
    await (is_mailed ? requestMail(ctx, asked, invite) : invite([]))
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
  return { ...viewInvitation(row), token, is_mailed }
}

/** Lists the pending invitations, oldest first. */
export async function listInvitations(ctx: Ctx, query: MemberQuery) {
  const read = (after: string | undefined, limit: number) => listOpenInvitations(ctx.db, ctx.organization.id, after, limit, ctx.now)
  return listPage(ctx, 'invitations', query, read, (row) => row.invitation_id, viewInvitation)
}

/** Withdraws a pending invitation; its token fails at once. Throws Failure 403 member.owner_only and 404 invitation.not_found. */
export async function withdrawInvitation(ctx: Ctx, invitation_id: string): Promise<void> {
  const { db, organization, now } = ctx
  const row = await findInvitation(db, organization.id, invitation_id, now)
  if (!row) throw notFound('invitation')
  requireOwnerFor(ctx, row.role)
  try {
    await change(ctx, { action: 'invitation.withdrawn', resource_id: invitation_id }, [
      assertInvitationOpen(invitation_id, now),
      markWithdrawn(organization.id, invitation_id),
    ])
  } catch (error) {
    throw isGuardViolation(error, 'invitation.open') ? notFound('invitation') : error
  }
}

/** The same answer for an unknown, used, replaced, withdrawn or expired token. */
const noInvitation = () =>
  new Failure(
    'not_found',
    'invitation.not_found',
    'There is no open invitation with this token. A token can be used once, within 7 days. Ask for a new invitation.',
  )

/** The open invitation of a token, and whether the token came in its mail. Throws Failure 404 invitation.not_found. */
export async function requireInvitation({ db, settings, now }: System, token: string): Promise<InvitationRow & { isByMail: boolean }> {
  const { environment, apiSecretKeys } = settings
  const digests = isToken(environment, 'invitation', token) ? await Promise.all(apiSecretKeys.all.map((key) => digestOf(key, token))) : []
  const invitation = digests.length === 0 ? undefined : await findOpenInvitation(db, digests, now)
  if (!invitation) throw noInvitation()
  return { ...invitation, isByMail: !digests.includes(invitation.digest) }
}

/**
 * Makes the invited person a member with a credential. One of several concurrent requests with the same token succeeds. Throws Failure 404
 * invitation.not_found, and 409 credential.plan_limit; the invitation then stays open.
 */
export async function acceptInvitation(system: System, { token, name }: Acceptance): Promise<Signup> {
  const { db, now } = system
  const invitation = await requireInvitation(system, token)
  const { organization_id, email, role, credential_expires_at: expires_at, scopes, fiscal_entity_ids, allowed_addresses } = invitation
  const joined = {
    name,
    email,
    role,
    status: 'active',
    email_confirmed_at: invitation.isByMail ? now : null,
    created_at: now,
    ...FIRST_PREFERENCES,
  } as const
  const member: MemberRow = { member_id: newId('mem'), organization_id, ...joined }
  const limits = { scopes, fiscal_entity_ids, allowed_addresses }
  const draft = { name: 'Invitation', role, member_id: member.member_id, created_by: null, expires_at, ...limits }
  const [{ row, shown }, organization] = await Promise.all([
    mintCredential(system, organization_id, draft),
    findOrganization(db, organization_id),
  ])
  try {
    await reserveQuota({ ...system, organization }, 'credentials', credentialsUsed(organization_id), (reserved) =>
      commit(db.$client, [
        assertInvitationOpen(invitation.invitation_id, now),
        ...reserved,
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

/** The domain of an e-mail address and its parent domains, longest first: `a.b.mx` gives `a.b.mx`, `b.mx`, `mx`. */
export function domainsOf(email: string): string[] {
  const labels = email
    .slice(email.lastIndexOf('@') + 1)
    .toLowerCase()
    .split('.')
  return labels.map((_, n) => labels.slice(n).join('.'))
}

/** Names that temporary mailboxes give themselves, at the start of a label. A list of domains is always some of them behind. */
const DISPOSABLE_NAME = /^(te?mp|trash|fake|throw-?away|disposable|guerr?illa|burner|(\d{1,2}|ten)-?min(ute)?s?|minutes?)-?(e?-?mail|inbox)/

/** Whether a domain or one of its parent domains is named as temporary mailboxes are. */
const hasDisposableName = (domain: string): boolean => domain.split('.').some((label) => DISPOSABLE_NAME.test(label))
