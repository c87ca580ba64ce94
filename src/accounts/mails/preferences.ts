import { audited, change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { notFound } from '../../platform/failures.ts'
import { digestOf } from '../credentials/key.ts'
import { findCredential } from '../credentials/store.ts'
import type { SUBSCRIPTIONS } from '../tables.ts'
import { findMember, findMemberAnywhere, type MemberRow, updateMember } from '../team/store.ts'
import type { MailPreferenceChanges, MailPreferences } from './contract.ts'

export type MailedKind = (typeof SUBSCRIPTIONS)[number]

/** Whether a member gets such mails. An address that was never confirmed gets none. */
export const isSubscribed = ({ email_confirmed_at, mail_alerts, mail_digest }: MemberRow, kind: MailedKind): boolean =>
  email_confirmed_at !== null && (kind === 'alerts' ? mail_alerts !== 'none' : mail_digest)

const view = ({ email, email_confirmed_at, mail_alerts, mail_digest, mail_language }: MemberRow): MailPreferences => ({
  ...{ email, email_confirmed_at: email_confirmed_at?.toISOString() ?? null },
  ...{ alerts: mail_alerts, weekly_digest: mail_digest, language: mail_language },
})

/** The member whose credential the request presents. Throws Failure 404 member.not_found when the member was removed. */
async function ownMember({ db, organization, actor }: Ctx): Promise<MemberRow> {
  const credential = actor.kind === 'credential' ? await findCredential(db, organization.id, actor.api_key) : undefined
  const member = credential && (await findMember(db, organization.id, credential.member_id))
  if (!member) throw notFound('member')
  return member
}

/** Which mails the caller's own member gets. Throws Failure 404 member.not_found. */
export const getMailPreferences = async (ctx: Ctx): Promise<MailPreferences> => view(await ownMember(ctx))

/** Changes which mails the caller's own member gets. Throws Failure 404 member.not_found. */
export async function changeMailPreferences(ctx: Ctx, changes: MailPreferenceChanges): Promise<MailPreferences> {
  const member = await ownMember(ctx)
  const { alerts, weekly_digest, language } = changes
  const changed = {
    ...(alerts !== undefined && { mail_alerts: alerts }),
    ...(weekly_digest !== undefined && { mail_digest: weekly_digest }),
    ...(language !== undefined && { mail_language: language }),
  }
  if (Object.keys(changed).length > 0)
    await change(ctx, { action: 'mail_preferences.updated', resource_id: member.member_id, changed: Object.keys(changes) }, [
      updateMember(ctx.db, member, changed),
    ])
  return view({ ...member, ...changed })
}

const signed = (member_id: string, kind: MailedKind): string => `unsubscribe ${kind} ${member_id}`

/**
 * What the link of a mail has, with which such mails of this member can be ended, and nothing else done. It works more than once, as the programs that
 * use it need, and it ends with the key.
 */
export const unsubscribeToken = async ({ settings }: System, member_id: string, kind: MailedKind): Promise<string> =>
  `${kind}.${member_id}.${await digestOf(settings.apiSecretKeys.current, signed(member_id, kind))}`

/** Which mails of which member a token ends; null when it is not one of ours. */
export async function openUnsubscribeToken({ settings }: System, token: string): Promise<{ member_id: string; kind: MailedKind } | null> {
  const [, kind, member_id, mac] = /^(alerts|digest)\.(mem_[0-9a-z]{26})\.(\w{1,20}\.[0-9a-f]{64})$/.exec(token) ?? []
  if (kind === undefined || member_id === undefined) return null
  const of = { member_id, kind: kind as MailedKind }
  const key = settings.apiSecretKeys.of(mac!.split('.')[0]!)
  const expected = key && (await digestOf(key, signed(of.member_id, of.kind)))
  const bytes = (text: string) => new TextEncoder().encode(text)
  return expected !== undefined && expected.length === mac!.length && crypto.subtle.timingSafeEqual(bytes(expected), bytes(mac!))
    ? of
    : null
}

/** Ends such mails of a member. Returns false when the token is not one of ours. A repetition changes nothing. */
export async function unsubscribe(system: System, token: string): Promise<boolean> {
  const of = await openUnsubscribeToken(system, token)
  if (!of) return false
  const member = await findMemberAnywhere(system.db, of.member_id)
  const wants = member && (of.kind === 'alerts' ? member.mail_alerts !== 'none' : member.mail_digest)
  if (wants)
    await commit(system.db.$client, [
      updateMember(system.db, member, of.kind === 'alerts' ? { mail_alerts: 'none' } : { mail_digest: false }),
      audited({ ...system, actor: { kind: 'system', process: 'unsubscribe' } }, member.organization_id, {
        action: 'mail_preferences.updated',
        resource_id: member.member_id,
        changed: [of.kind === 'alerts' ? 'alerts' : 'weekly_digest'],
      }),
    ])
  return true
}
