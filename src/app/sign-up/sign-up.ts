import { trialSubscription } from '../../accounts/billing/subscription/status.ts'
import { commitSignUp } from '../../accounts/confirmation/confirmation.ts'
import { insertCredential, mintCredential } from '../../accounts/credentials/credentials.ts'
import { NO_LIMITS } from '../../accounts/credentials/limits.ts'
import { insertOrganization, type OrganizationRow, viewOrganization } from '../../accounts/organization/organization.ts'
import type { Signup } from '../../accounts/team/contract.ts'
import { refuseDisposable } from '../../accounts/team/invitations.ts'
import { FIRST_PREFERENCES, insertMember, type MemberRow, viewMember } from '../../accounts/team/members.ts'
import { loginsOf } from '../../authority/logins.ts'
import { defaultExtractors, insertExtractors } from '../../connections/extractors/extractors.ts'
import { audited } from '../../platform/audit/audit.ts'
import type { System } from '../../platform/context.ts'
import { newId } from '../../platform/db/id.ts'
import { shardAmong } from '../../platform/hash.ts'
import { sendsMail } from '../../platform/mail/mail.ts'
import type { SignupDraft } from './contract.ts'

const TIMEZONE = 'America/Mexico_City'

/**
 * Creates an organization on the trial plan, its first owner, the owner's credential and the two default extractors, in one commit. Where
 * the deployment sends mail, a mail asks to confirm the address. Throws Failure 422 email.disposable and 429 email.confirmation_limit.
 */
export async function signUp(system: System, { organization_name, name, email }: SignupDraft): Promise<Signup> {
  await refuseDisposable(system, email)
  const { db, now } = system
  const id = newId('org')
  const organization: OrganizationRow = {
    id,
    name: organization_name,
    contact_email: email,
    logo_url: null,
    timezone: TIMEZONE,
    ...trialSubscription(now, TIMEZONE, email),
    extractor_count: 0,
    email_confirmed_at: sendsMail(system) ? null : now,
    extractors_since: null,
    digest_on: '',
    events_shard: shardAmong(id, system.settings.openEvents),
    created_at: now,
  }
  const member: MemberRow = {
    member_id: newId('mem'),
    organization_id: organization.id,
    name,
    email,
    role: 'owner',
    status: 'active',
    email_confirmed_at: sendsMail(system) ? null : now,
    ...FIRST_PREFERENCES,
    created_at: now,
  }
  const { row, shown } = await mintCredential(system, organization.id, {
    name: 'Sign-up',
    role: 'owner',
    member_id: member.member_id,
    created_by: null,
    expires_at: null,
    ...NO_LIMITS,
  })
  const extractors = defaultExtractors(organization.id, now, loginsOf(system).sources)
  await commitSignUp(system, { organization_id: id, email }, [
    insertOrganization(db, { ...organization, extractor_count: extractors.length }),
    insertMember(db, member),
    insertCredential(db, row),
    ...insertExtractors(system, extractors),
    audited({ ...system, actor: { kind: 'credential', api_key: row.api_key, role: 'owner' } }, organization.id, {
      action: 'organization.created',
      resource_id: organization.id,
    }),
  ])
  return {
    organization: viewOrganization(organization),
    member: viewMember(member),
    credential: shown,
  }
}
