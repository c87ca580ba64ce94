import type { System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { changesOf } from '../../platform/db/statement.ts'
import { Failure } from '../../platform/failures.ts'
import { LOCAL_ORIGIN, pruneKeptMails } from '../../platform/mail/kept.ts'
import { deliversMail, type Mail, sendMail } from '../../platform/mail/mail.ts'
import { networkKey } from '../../platform/network.ts'
import { keepsMails } from '../../platform/settings.ts'
import type { Scope } from '../../platform/tenant/scopes.ts'
import type { ActingOrganization } from '../../platform/tenant/tenant.ts'
import { clock } from '../../platform/time/clock.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { sendHints } from '../../platform/work/send.ts'
import { trialEmailOf } from '../billing/subscription/status.ts'
import { digestOf, newToken } from '../credentials/key.ts'
import { findOrganization } from '../organization/organization.ts'
import type { LINK_KINDS } from '../tables.ts'
import { findInvitation, findMember, type MemberRow, membershipsOf } from '../team/store.ts'
import { isSubscribed, type MailedKind, unsubscribeToken } from './preferences.ts'
import {
  type AskedMail,
  assertFewMails,
  claimMail,
  deleteMails,
  insertMail,
  type MailLimits,
  type MailRow,
  mailLease,
  mailsLike,
  markSent,
  setLink,
  unsentMails,
} from './store.ts'
import { confirmationMail, invitationMail, leaving, signInMail } from './texts.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const KEPT_MS = 2 * DAY_MS
const FEW = 'mail.few'
/** A mail that could not be sent is tried again every minute, so often. */
const MOST_ATTEMPTS = 60
const SWEPT = 100

/** What alerts and digests tell. */
const MAILED_SCOPES = ['alerts:read', 'documents:read', 'downloads:read'] as const satisfies readonly Scope[]

type Written = Pick<Mail, 'subject' | 'text'>

/** How a kind of mail with a link is limited, and how its link is made. */
interface LinkKind {
  /** Strangers can have mails sent to an address: few, and from one network so few that its owner, elsewhere, still gets one. */
  limits: MailLimits
  refusal(retry_after_seconds: number): Failure
  noun: 'confirmation' | 'signin' | 'invitation'
  valid_ms: number
  /** Where its link leads, in the console, up to the token. */
  path: string
  /** The mail with this link; null when it is sent to nobody. */
  write(system: System, row: MailRow, link: string): Promise<Written | null>
}

const KINDS: Record<(typeof LINK_KINDS)[number], LinkKind> = {
  confirmation: {
    limits: { milliseconds: DAY_MS, network: 5, all: 20, organization: 20 },
    refusal: (retry_after_seconds) =>
      new Failure(
        'too_many_requests',
        'email.confirmation_limit',
        'Too many mails were sent to this address within a day. Use the link in one of them: each is good for 24 hours. ' +
          `Or try again in ${retry_after_seconds} s.`,
        { retry_after_seconds },
      ),
    noun: 'confirmation',
    valid_ms: DAY_MS,
    path: '#confirm=',
    write: async (_, __, link) => confirmationMail(link),
  },
  sign_in: {
    limits: { milliseconds: HOUR_MS, network: 5, all: 20, organization: 1 },
    refusal: (retry_after_seconds) =>
      new Failure(
        'too_many_requests',
        'session.link_limit',
        `Too many sign-in links were asked for to this address within an hour. Use the newest one, or try again in ${retry_after_seconds} s.`,
        { retry_after_seconds },
      ),
    noun: 'signin',
    valid_ms: 15 * MINUTE_MS,
    path: '#enter=',
    // A link that signs nobody in is sent to nobody.
    write: async ({ db, now }, { email }, link) => ((await membershipsOf(db.$client, email, now)).length > 0 ? signInMail(link) : null),
  },
  invitation: {
    limits: { milliseconds: DAY_MS, network: 5, all: 20, organization: 100 },
    refusal: (retry_after_seconds) =>
      new Failure(
        'too_many_requests',
        'invitation.mail_limit',
        'Too many invitations were mailed to this address, or by your organization, within a day. ' +
          `The mails that were sent go on working until their invitation is replaced. Try again in ${retry_after_seconds} s.`,
        { retry_after_seconds },
      ),
    noun: 'invitation',
    valid_ms: 7 * DAY_MS,
    path: 'invitation#token=',
    write: async ({ db, now }, { organization_id, about }, link) => {
      const invitation = await findInvitation(db, organization_id!, about!, now)
      return invitation ? invitationMail((await findOrganization(db, organization_id!)).name, invitation.expires_at, link) : null
    },
  },
}

/**
 * Asks for a mail. `requested` makes the commit that asks, with the given statements in it. A mail that is kept is written at once, and the token of
 * its link returned; null otherwise. Throws Failure 429.
 */
export async function requestMail(
  system: System,
  asked: Pick<AskedMail, 'organization_id' | 'email'> & { kind: keyof typeof KINDS; about?: string },
  requested: (statements: readonly Statement[]) => Promise<unknown>,
): Promise<string | null> {
  const { db, now, settings } = system
  const { limits, refusal } = KINDS[asked.kind]
  const of = {
    member_id: null,
    about: null,
    ...asked,
    address: trialEmailOf(asked.email),
    network: await networkKey(system),
    created_at: now,
  }
  const row: AskedMail = { mail_id: newId('eml'), ...of }
  try {
    await requested([assertFewMails(row, limits, FEW), insertMail(db, row)])
  } catch (error) {
    if (!isGuardViolation(error, FEW)) throw error
    throw refusal(secondsUntilFew(await mailsLike(db.$client, row, now.getTime() - limits.milliseconds), limits, now))
  }
  if (keepsMails(settings)) return sendAsked(system, row.mail_id)
  await wake(system, [row.mail_id])
  return null
}

function secondsUntilFew(mails: Awaited<ReturnType<typeof mailsLike>>, limits: MailLimits, now: Date): number {
  const same = mails.filter((mail) => mail.same === 1)
  const [near, own] = [same.filter((mail) => mail.near === 1), mails.filter((mail) => mail.own === 1)]
  const full = [same[limits.all - 1], near[limits.network - 1], own[limits.organization - 1]]
  const ends = full.map((mail) => (mail ? mail.at + limits.milliseconds - now.getTime() : 0))
  return Math.max(1, Math.ceil(Math.max(...ends) / 1_000))
}

/** Says that these mails are to be sent. */
export const wake = (system: System, ids: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    ids.map((mail) => ({ body: { mail } })),
  )

/** Wakes the mails that were not sent: their message was lost, or an attempt failed. */
export async function sweepMails(system: System): Promise<void> {
  if (!deliversMail(system)) return
  const ids = await unsentMails(system.db.$client, MOST_ATTEMPTS, SWEPT)
  if (ids.length > 0) await wake(system, ids)
}

/** The origin that links in mails lead to. */
export const originOf = ({ settings: { publicHosts } }: Pick<System, 'settings'>): string =>
  publicHosts[0] === undefined ? LOCAL_ORIGIN : `https://${publicHosts[0]}`

/** Whom a mail tells what they may read. */
export type Reader = MemberRow & Pick<ActingOrganization, 'bound_to'>

/** Writes a mail to a member, when it is sent; null when there is nothing to say any more. */
export type Writers = Record<MailedKind, (system: System, row: MailRow, reader: Reader) => Promise<Written | null>>

/**
 * Sends a mail. A repetition of one that was sent does nothing. One that was sent and, by a crash, not marked is sent again: with the same id and,
 * where it has a link, with another one that replaces it. Returns the token of the link; null without one, and when nothing was sent.
 */
export async function sendAsked(system: System, mail_id: string, writers?: Writers): Promise<string | null> {
  const d1 = system.db.$client
  const row = deliversMail(system) ? await claimMail(d1, mail_id, MOST_ATTEMPTS) : undefined
  if (!row) return null
  let sent: string | null = null
  await mailLease.work(d1, row, async () => {
    if (row.kind === 'alerts' || row.kind === 'digest') await sendToMember(system, row, row.kind, writers!)
    else sent = await sendLink(system, row, KINDS[row.kind])
    await changesOf(d1, markSent(row, clock.now()))
    return false
  })
  return sent
}

/** Sends a mail with a new link, which is committed before anybody learns it. Returns its token; null when the mail is for nobody. */
async function sendLink(system: System, row: Leased<MailRow>, { noun, valid_ms, path, write }: LinkKind): Promise<string | null> {
  const { db, settings, now } = system
  const token = newToken(settings.environment, noun)
  const digest = await digestOf(settings.apiSecretKeys.current, token)
  await commit(db.$client, [mailLease.assertLeased(row), setLink(row, digest, new Date(now.getTime() + valid_ms))])
  const mail = await write(system, row, `${originOf(system)}/console/${path}${token}`)
  if (mail) await sendMail(system, { mail_id: row.mail_id, to: row.email, ...mail })
  return mail && token
}

/** Sends a mail to a member who still wants it, and whose address is confirmed. */
async function sendToMember(system: System, row: MailRow, kind: MailedKind, writers: Writers): Promise<void> {
  const member = await findMember(system.db, row.organization_id!, row.member_id!)
  if (!member || !isSubscribed(member, kind)) return
  const reader = await readerFor(system, member)
  const mail = reader && (await writers[kind](system, row, reader))
  if (!mail) return
  const unsubscribe = `${originOf(system)}/console/unsubscribe?token=${await unsubscribeToken(system, member.member_id, kind)}`
  const text = `${mail.text}\n--\n${leaving(member.mail_language, kind, unsubscribe)}`
  await sendMail(system, { mail_id: row.mail_id, to: member.email, subject: mail.subject, text, unsubscribe })
}

/** A member as a session by mail would let them read; null without a credential, or when its scopes leave out what mails tell. */
async function readerFor({ db, now }: System, member: MemberRow): Promise<Reader | null> {
  const memberships = await membershipsOf(db.$client, member.email, now)
  const own = memberships.find(({ organization_id }) => organization_id === member.organization_id)
  if (!own) return null
  const [scopes, bound_to] = [own.scopes, own.fiscal_entity_ids].map((json) => json && (JSON.parse(json) as string[]))
  if (scopes && !MAILED_SCOPES.every((scope) => scopes.includes(scope))) return null
  return bound_to ? { ...member, bound_to } : member
}

/** Deletes what no link and no limit needs any more, and the mails that were kept long enough. */
export async function pruneMails({ db, now }: System): Promise<void> {
  await changesOf(db.$client, deleteMails(new Date(now.getTime() - KEPT_MS), now))
  await pruneKeptMails(db, now)
}
