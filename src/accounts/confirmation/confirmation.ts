import { audited, change } from '../../platform/audit/audit.ts'
import { awaitsConfirmation, type Ctx, type System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { Failure } from '../../platform/failures.ts'
import { sendsMail } from '../../platform/mail/mail.ts'
import { keepsMails } from '../../platform/settings.ts'
import { digestOf, isToken } from '../credentials/key.ts'
import { requestMail } from '../mails/mails.ts'
import { assertConfirmationOpen, findConfirmation, findSignInLink, useSignInLink } from '../mails/store.ts'
import { findOrganization, updateOrganization } from '../organization/organization.ts'
import { confirmAddress, findSigner } from '../team/store.ts'
import type { Confirmation, ConfirmedEmail, RequestedConfirmation } from './contract.ts'

const OPEN = 'email_confirmation.open'

/**
 * Has a link that signs in sent to an address. Nothing tells whether the address is anybody's. A deployment whose data is invented and that
 * sends no mail returns the token to its own machine, if it signs anybody in. Throws Failure 409 session.no_mail and 429 session.link_limit.
 */
export async function requestSignInLink(system: System, email: string, isLocal: boolean): Promise<string | null> {
  const isShown = isLocal && !sendsMail(system) && keepsMails(system.settings)
  if (!sendsMail(system) && !isShown)
    throw new Failure('conflict', 'session.no_mail', 'This service sends no mail. Sign in with a credential.')
  const token = await requestMail(system, { kind: 'sign_in', organization_id: null, email }, (asked) => commit(system.db.$client, asked))
  return isShown ? token : null
}

/**
 * Commits a sign-up. Where the deployment sends mail, the same commit asks for the mail that confirms its address; elsewhere
 * `confirmed_at` is now. Throws Failure 429 email.confirmation_limit.
 */
export async function commitSignUp(
  system: System,
  { organization_id, email }: { organization_id: string; email: string },
  statements: readonly Statement[],
): Promise<void> {
  const { db } = system
  const asked = { kind: 'confirmation', organization_id, email } as const
  if (sendsMail(system)) await requestMail(system, asked, (mail) => commit(db.$client, [...mail, ...statements]))
  else await commit(db.$client, statements)
}

/** Has the mail sent again, with a link of its own. Throws Failure 409 email.confirmed and 429 email.confirmation_limit. */
export async function resendConfirmation(ctx: Ctx): Promise<RequestedConfirmation> {
  const { db, organization } = ctx
  if (!awaitsConfirmation(ctx))
    throw new Failure('conflict', 'email.confirmed', 'The e-mail address of the sign-up is confirmed. There is nothing to do.')
  const { email } = await findSigner(db.$client, organization.id)
  await requestMail(ctx, { kind: 'confirmation', organization_id: organization.id, email }, (asked) =>
    change(ctx, { action: 'organization.confirmation_requested', resource_id: organization.id }, asked),
  )
  return { email }
}

const digestsOf = async ({ settings: { environment, apiSecretKeys } }: System, noun: 'confirmation' | 'signin', token: string) =>
  isToken(environment, noun, token) ? Promise.all(apiSecretKeys.all.map((key) => digestOf(key, token))) : []

/** The same answer for an unknown, used or expired token. */
const noConfirmation = () =>
  new Failure(
    'not_found',
    'email_confirmation.not_found',
    'There is no open confirmation with this token. A link can be used once, within 24 hours: perhaps the address is confirmed already. ' +
      'Otherwise have the mail sent again with POST /v1/auth/email/resend.',
  )

async function requireConfirmation(system: System, token: string) {
  const digests = await digestsOf(system, 'confirmation', token)
  const row = digests.length === 0 ? undefined : await findConfirmation(system.db.$client, digests, system.now)
  if (!row) throw noConfirmation()
  return row
}

/**
 * Shows whose address a link confirms, before it is used: a stranger may have signed up with the address. It leaves the link as it is.
 * Throws Failure 404 email_confirmation.not_found.
 */
export async function viewConfirmation(system: System, token: string) {
  const { organization_id, email } = await requireConfirmation(system, token)
  const [organization, { name }] = await Promise.all([
    findOrganization(system.db, organization_id),
    findSigner(system.db.$client, organization_id),
  ])
  return { organization: { name: organization.name }, name, email }
}

/** Confirms the address of a sign-up. A link works once. Throws Failure 404 email_confirmation.not_found. */
export async function confirmEmail(system: System, { token }: Confirmation): Promise<ConfirmedEmail> {
  const { db, now } = system
  const { mail_id, organization_id, email } = await requireConfirmation(system, token)
  try {
    await commit(db.$client, [
      assertConfirmationOpen(mail_id, now, OPEN),
      updateOrganization(db, organization_id, { email_confirmed_at: now }),
      confirmAddress(email, now, organization_id),
      audited({ ...system, actor: { kind: 'system', process: 'confirmation' } }, organization_id, {
        action: 'organization.email_confirmed',
        resource_id: organization_id,
      }),
    ])
  } catch (error) {
    throw isGuardViolation(error, OPEN) ? noConfirmation() : error
  }
  return { organization_id, email, email_confirmed_at: now.toISOString() }
}

const unusableLink = () =>
  new Failure('unauthenticated', 'session.link', 'The sign-in link was used already, or is too old. Ask for another one.')

/** The address of whoever holds a link that signs in, and how it is used up. Throws Failure 401 session.link. */
export async function openSignInLink(system: System, token: string) {
  const d1 = system.db.$client
  const digests = await digestsOf(system, 'signin', token)
  const link = digests.length === 0 ? undefined : await findSignInLink(d1, digests, system.now)
  if (!link) throw unusableLink()
  return {
    email: link.email,
    /** Makes a commit that uses it up. Throws Failure 401 session.link when that was done already. */
    use: async (statements: readonly Statement[]): Promise<void> => {
      try {
        await commit(d1, [...useSignInLink(link.mail_id, system.now, OPEN), confirmAddress(link.email, system.now), ...statements])
      } catch (error) {
        throw isGuardViolation(error, OPEN) ? unusableLink() : error
      }
    },
  }
}
