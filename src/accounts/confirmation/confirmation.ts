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
import { membershipsOf } from '../team/store.ts'
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
  findSignInLink,
  insertConfirmation,
  type MailLimits,
  mailsTo,
  markSent,
  setLink,
  unsentConfirmations,
  useSignInLink,
} from './store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const VALID_MS = DAY_MS
const KEPT_MS = 2 * DAY_MS
/** Strangers can have mails sent to an address: few, and from one network so few that its owner, elsewhere, still gets one. */
const LIMITS: MailLimits = { milliseconds: DAY_MS, network: 5, all: 20 }
const SIGN_IN_LIMITS: MailLimits = { milliseconds: HOUR_MS, network: 5, all: 20 }
const SIGN_IN_MS = 15 * 60_000
const FEW = 'email_confirmation.few_mails'
const OPEN = 'email_confirmation.open'
/** A mail that could not be sent is tried again every minute, so often. */
const MOST_ATTEMPTS = 60
const SWEPT = 100

/**
 * Asks for a mail to an address, with a link that confirms the sign-up of an organization, or that signs in. `requested` makes the commit that
 * asks, with the given statements in it. Throws Failure 429.
 */
async function requestMail(
  system: System,
  organization_id: string | null,
  email: string,
  requested: (statements: readonly Statement[]) => Promise<unknown>,
): Promise<string> {
  const { db, now } = system
  const limits = organization_id === null ? SIGN_IN_LIMITS : LIMITS
  const row = {
    ...{ confirmation_id: newId('eco'), organization_id, email, address: trialEmailOf(email) },
    ...{ network: await networkKey(system), created_at: now },
  }
  try {
    await requested([assertFewMails(row, limits, FEW), insertConfirmation(db, row)])
  } catch (error) {
    if (!isGuardViolation(error, FEW)) throw error
    const wait = secondsUntilFew(await mailsTo(db.$client, row, now.getTime() - limits.milliseconds), limits, now)
    throw organization_id === null ? manyLinks(wait) : manyConfirmations(wait)
  }
  if (sendsMail(system)) await wake(system, [row.confirmation_id])
  return row.confirmation_id
}

function secondsUntilFew(mails: readonly { at: number; near: number }[], limits: MailLimits, now: Date): number {
  const near = mails.filter((mail) => mail.near === 1)
  const ends = [mails[limits.all - 1], near[limits.network - 1]].map((mail) => (mail ? mail.at + limits.milliseconds - now.getTime() : 0))
  return Math.max(1, Math.ceil(Math.max(...ends) / 1_000))
}

const manyConfirmations = (retry_after_seconds: number): Failure =>
  new Failure(
    'too_many_requests',
    'email.confirmation_limit',
    'Too many mails were sent to this address within a day. Use the link in one of them: each is good for 24 hours. ' +
      `Or try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )

const manyLinks = (retry_after_seconds: number): Failure =>
  new Failure(
    'too_many_requests',
    'session.link_limit',
    `Too many sign-in links were asked for to this address within an hour. Use the newest one, or try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )

/**
 * Has a link that signs in sent to an address. Nothing tells whether the address is anybody's. A deployment whose data is invented and that
 * sends no mail returns the token to its own machine. Throws Failure 409 session.no_mail and 429 session.link_limit.
 */
export async function requestSignInLink(system: System, email: string, isLocal: boolean): Promise<string | null> {
  const { db, settings } = system
  const isOwnMachine = isLocal && settings.publicHosts.length === 0 && settings.taxAuthority === 'sandbox'
  if (!sendsMail(system) && !isOwnMachine)
    throw new Failure('conflict', 'session.no_mail', 'This service sends no mail. Sign in with a credential.')
  const id = await requestMail(system, null, email, (asked) => commit(db.$client, asked))
  let shown: string | null = null
  if (isOwnMachine && !sendsMail(system))
    await giveLink(system, id, async (_, token) => {
      shown = token
    })
  return shown
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

/** Gives a mail a new link, which is committed before anybody learns it. A repetition of a mail that was sent does nothing. */
async function giveLink(
  system: System,
  confirmation_id: string,
  give: (row: ConfirmationRow, token: string) => Promise<void>,
): Promise<void> {
  const { db, settings, now } = system
  const d1 = db.$client
  const row = await claimConfirmation(d1, confirmation_id, MOST_ATTEMPTS)
  if (!row) return
  await confirmationLease.work(d1, row, async () => {
    const [noun, valid] = row.organization_id === null ? (['signin', SIGN_IN_MS] as const) : (['confirmation', VALID_MS] as const)
    const token = newToken(settings.environment, noun)
    const digest = await digestOf(settings.apiSecretKeys.current, token)
    await commit(d1, [confirmationLease.assertLeased(row), setLink(row, digest, new Date(now.getTime() + valid))])
    await give(row, token)
    await changesOf(d1, markSent(row, clock.now()))
    return false
  })
}

/**
 * Sends a mail with a new link, which ends after 24 hours, or 15 minutes where it signs in. A mail that was sent and, by a crash, not marked is
 * sent again with another link, which replaces it. A link that signs nobody in is sent to nobody.
 */
export async function mailConfirmation(system: System, confirmation_id: string): Promise<void> {
  if (!sendsMail(system)) return
  await giveLink(system, confirmation_id, async ({ organization_id, email }, token) => {
    const page = `${originOf(system)}/console/`
    if (organization_id !== null) await sendMail(system, { to: email, ...mailOf(`${page}#confirm=${token}`) })
    else if ((await membershipsOf(system.db.$client, email, system.now)).length > 0)
      await sendMail(system, { to: email, ...signInMailOf(`${page}#enter=${token}`) })
  })
}

const digestsOf = async ({ settings: { environment, apiSecretKeys } }: System, noun: 'confirmation' | 'signin', token: string) =>
  isToken(environment, noun, token) ? Promise.all(apiSecretKeys.all.map((key) => digestOf(key, token))) : []

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

const signInMailOf = (link: string) => ({
  subject: 'Su enlace para entrar · Your sign-in link',
  text: `Abra este enlace para entrar a la consola. Sirve una vez, durante 15 minutos:

${link}

Si usted no lo pidió, no haga nada: sin el enlace nadie entra.

--

Open this link to sign in to the console. It can be used once, within 15 minutes:

${link}

If you did not ask for it, do nothing: nobody signs in without the link.
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

async function requireConfirmation(system: System, token: string) {
  const digests = await digestsOf(system, 'confirmation', token)
  const row = digests.length === 0 ? undefined : await findOpenConfirmation(system.db.$client, digests, system.now)
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
        await commit(d1, [...useSignInLink(link.confirmation_id, system.now, OPEN), ...statements])
      } catch (error) {
        throw isGuardViolation(error, OPEN) ? unusableLink() : error
      }
    },
  }
}

/** Deletes what no link and no limit needs any more. */
export async function pruneConfirmations({ db, now }: System): Promise<void> {
  await changesOf(db.$client, deleteConfirmations(new Date(now.getTime() - KEPT_MS)))
}
