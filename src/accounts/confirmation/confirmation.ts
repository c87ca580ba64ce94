import { audited, change } from '../../platform/audit/audit.ts'
import { awaitsConfirmation, type Ctx, type System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { changesOf } from '../../platform/db/statement.ts'
import { Failure } from '../../platform/failures.ts'
import { sendMail, sendsMail } from '../../platform/mail/mail.ts'
import { networkKey } from '../../platform/network.ts'
import { clock } from '../../platform/time/clock.ts'
import { sendHints } from '../../platform/work/send.ts'
import { trialEmailOf } from '../billing/subscription/status.ts'
import { digestOf, isToken, newToken } from '../credentials/key.ts'
import { findOrganization, updateOrganization } from '../organization/organization.ts'
import type { Confirmation, ConfirmedEmail, RequestedConfirmation } from './contract.ts'
import {
  assertConfirmationOpen,
  assertFewMails,
  type ConfirmationRow,
  claimConfirmation,
  confirmationLease,
  deleteConfirmations,
  findOpenConfirmation,
  findSigner,
  insertConfirmation,
  type MailLimits,
  mailsTo,
  markSent,
  setLink,
  unsentConfirmations,
} from './store.ts'

const DAY_MS = 86_400_000
const VALID_MS = DAY_MS
const KEPT_MS = 2 * DAY_MS
/** Strangers can have mails sent to an address: few, and from one network so few that its owner, elsewhere, still gets one. */
const LIMITS: MailLimits = { milliseconds: DAY_MS, network: 5, all: 20 }
const FEW = 'email_confirmation.few_mails'
const OPEN = 'email_confirmation.open'
/** A mail that could not be sent is tried again every minute, so often. */
const MOST_ATTEMPTS = 60
const SWEPT = 100

/** Asks for a mail to an address. `requested` makes the commit that asks, with the given statements in it. Throws Failure 429. */
async function requestMail(
  system: System,
  organization_id: string,
  email: string,
  requested: (statements: readonly Statement[]) => Promise<unknown>,
): Promise<void> {
  const { db, now } = system
  const row = {
    ...{ confirmation_id: newId('eco'), organization_id, email, address: trialEmailOf(email) },
    ...{ network: await networkKey(system), created_at: now },
  }
  try {
    await requested([assertFewMails(row, LIMITS, FEW), insertConfirmation(db, row)])
  } catch (error) {
    if (!isGuardViolation(error, FEW)) throw error
    throw tooMany(await mailsTo(db.$client, row, now.getTime() - DAY_MS), now)
  }
  await wake(system, [row.confirmation_id])
}

function tooMany(mails: readonly { at: number; near: number }[], now: Date): Failure {
  const near = mails.filter((mail) => mail.near === 1)
  const ends = [mails[LIMITS.all - 1], near[LIMITS.network - 1]].map((mail) => (mail ? mail.at + LIMITS.milliseconds - now.getTime() : 0))
  const retry_after_seconds = Math.max(1, Math.ceil(Math.max(...ends) / 1_000))
  return new Failure(
    'too_many_requests',
    'email.confirmation_limit',
    'Too many mails were sent to this address within a day. Use the link in one of them: each is good for 24 hours. ' +
      `Or try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )
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
  if (sendsMail(system)) await requestMail(system, organization_id, email, (asked) => commit(db.$client, [...asked, ...statements]))
  else await commit(db.$client, statements)
}

/** Has the mail sent again, with a link of its own. Throws Failure 409 email.confirmed and 429 email.confirmation_limit. */
export async function resendConfirmation(ctx: Ctx): Promise<RequestedConfirmation> {
  const { db, organization } = ctx
  if (!awaitsConfirmation(ctx))
    throw new Failure('conflict', 'email.confirmed', 'The e-mail address of the sign-up is confirmed. There is nothing to do.')
  const { email } = await findSigner(db.$client, organization.id)
  await requestMail(ctx, organization.id, email, (asked) =>
    change(ctx, { action: 'organization.confirmation_requested', resource_id: organization.id }, asked),
  )
  return { email }
}

const wake = (system: System, ids: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    ids.map((confirmation) => ({ body: { confirmation } })),
  )

/** Wakes the mails that were not sent: their message was lost, or an attempt failed. */
export async function sweepConfirmations(system: System): Promise<void> {
  if (!sendsMail(system)) return
  const ids = await unsentConfirmations(system.db.$client, MOST_ATTEMPTS, SWEPT)
  if (ids.length > 0) await wake(system, ids)
}

/**
 * Sends a mail with a new link, which ends after 24 hours. The link is committed before: a mail that was sent and, by a crash, not marked is
 * sent again with another link, which replaces it. A repetition of a mail that was sent does nothing.
 */
export async function mailConfirmation(system: System, confirmation_id: string): Promise<void> {
  const { db, settings } = system
  if (!sendsMail(system)) return
  const d1 = db.$client
  const row = await claimConfirmation(d1, confirmation_id, MOST_ATTEMPTS)
  if (!row) return
  await confirmationLease.work(d1, row, async () => {
    const token = newToken(settings.environment, 'confirmation')
    const digest = await digestOf(settings.apiSecretKeys.current, token)
    await commit(d1, [confirmationLease.assertLeased(row), setLink(row, digest, new Date(system.now.getTime() + VALID_MS))])
    await sendMail(system, { to: row.email, ...mailOf(`${originOf(system)}/console/#confirm=${token}`) })
    await changesOf(d1, markSent(row, clock.now()))
    return false
  })
}

const originOf = ({ settings: { publicHosts } }: System): string =>
  publicHosts[0] === undefined ? 'http://localhost:8787' : `https://${publicHosts[0]}`

/** What strangers have typed is not in it: a sign-up sends nobody's words to anybody. */
const mailOf = (link: string) => ({
  subject: 'Confirme su correo · Confirm your e-mail address',
  text: `Alguien creó una cuenta con este correo. Si fue usted, abra este enlace y confirme su correo. El enlace sirve una vez, durante 24 horas:

${link}

Si no fue usted, no haga nada: sin confirmar, esa cuenta no puede conectar ningún RFC, y su correo queda libre para una cuenta suya.

--

Somebody created an account with this e-mail address. If it was you, open this link and confirm your address. It can be used once, within 24 hours:

${link}

If it was not you, do nothing: without the confirmation that account cannot connect any RFC, and your address stays free for an account of yours.
`,
})

/** The same answer for an unknown, used or expired token. */
const noConfirmation = () =>
  new Failure(
    'not_found',
    'email_confirmation.not_found',
    'There is no open confirmation with this token. A link can be used once, within 24 hours: perhaps the address is confirmed already. ' +
      'Otherwise have the mail sent again with POST /v1/auth/email/resend.',
  )

async function requireConfirmation({ db, settings, now }: System, token: string): Promise<ConfirmationRow> {
  const { environment, apiSecretKeys } = settings
  const digests = isToken(environment, 'confirmation', token) ? await Promise.all(apiSecretKeys.all.map((key) => digestOf(key, token))) : []
  const row = digests.length === 0 ? undefined : await findOpenConfirmation(db.$client, digests, now)
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
  const { confirmation_id, organization_id, email } = await requireConfirmation(system, token)
  try {
    await commit(db.$client, [
      assertConfirmationOpen(confirmation_id, now, OPEN),
      updateOrganization(db, organization_id, { email_confirmed_at: now }),
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

/** Deletes what no link and no limit needs any more. */
export async function pruneConfirmations({ db, now }: System): Promise<void> {
  await changesOf(db.$client, deleteConfirmations(new Date(now.getTime() - KEPT_MS)))
}
