import { trialEmailOf } from '../../accounts/billing/subscription/status.ts'
import { originOf, type Writers, wake } from '../../accounts/mails/mails.ts'
import { harmless, unlinked } from '../../accounts/mails/texts.ts'
import { findOrganization } from '../../accounts/organization/organization.ts'
import type { MemberRow } from '../../accounts/team/members.ts'
import type { AlertRow } from '../../platform/alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { deliversMail } from '../../platform/mail/mail.ts'
import { isOwn } from '../../platform/tenant/bound.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import {
  type AlertKey,
  alertReaders,
  alertsOf,
  askForAlerts,
  assertLastAlertMail,
  lastAlertMail,
  markMailed,
  unmailedAlerts,
  unmailedOrganizations,
} from './store.ts'

const HOUR_MS = 3_600_000
const PAGE = 50
/** Statements for one organization. */
const STATEMENTS = 8
/** Alerts that one mail is about, and those that it spells out. */
const MOST = 200
const SPELLED = 20

/**
 * Decides who gets which alerts by mail: those that were raised since, in one mail to each member, and in the next one at the earliest after an
 * hour. A task of every quarter of an hour, whose cursor is an events shard and an organization.
 */
export async function mailAlerts(system: System, cursor = ''): Promise<string | null> {
  if (!deliversMail(system)) return null
  return pageByPage(system, STATEMENTS * PAGE, cursor, async (from, fail) => {
    const [shard, after] = from === '' ? ([0, ''] as const) : (JSON.parse(from) as [number, string])
    const ids = await unmailedOrganizations(system.settings.events[shard]!, after, PAGE)
    for (const id of ids) await decide(system, system.settings.events[shard]!, id).catch(fail)
    if (ids.length === PAGE) return JSON.stringify([shard, ids.at(-1)!])
    return shard + 1 < system.settings.events.length ? JSON.stringify([shard + 1, '']) : null
  })
}

const keyOf = ({ alert_id, created_at }: AlertRow): AlertKey => [alert_id, created_at.getTime()]

/**
 * The mails are committed first, and the alerts are marked afterwards, in their own database. After a crash between both, the last mails say which
 * alerts were decided about, so that none is decided about twice.
 */
async function decide(system: System, shard: D1Database, organization_id: string): Promise<void> {
  const { db, now } = system
  const last = await lastAlertMail(db.$client, organization_id)
  const decided = new Set((last ? (JSON.parse(last.about) as AlertKey[]) : []).map(String))
  const rows = await unmailedAlerts(shard, organization_id, MOST)
  const mark = async (marked: readonly AlertRow[]) => {
    if (marked.length > 0) await commit(shard, [markMailed(organization_id, marked.map(keyOf))])
  }
  await mark(rows.filter((row) => decided.has(String(keyOf(row)))))
  if (last && last.created_at > now.getTime() - HOUR_MS) return
  const fresh = rows.filter((row) => !decided.has(String(keyOf(row))))
  const open = fresh.filter((row) => row.resolved_at === null && row.created_at.getTime() > now.getTime() - 24 * HOUR_MS)
  const readers = open.length === 0 ? [] : (await alertReaders(db, organization_id)).filter((member) => open.some(isFor(member)))
  const asked = readers.map(({ member_id, email }) => [newId('eml'), member_id, email, trialEmailOf(email)] as const)
  const about = JSON.stringify(open.map(keyOf))
  try {
    if (asked.length > 0)
      await commit(db.$client, [
        assertLastAlertMail(organization_id, last?.created_at ?? 0),
        ...askForAlerts(asked, organization_id, about, now),
      ])
  } catch (error) {
    if (isGuardViolation(error, 'alerts.unmailed')) return
    throw error
  }
  await wake(
    system,
    asked.map(([mail_id]) => mail_id),
  )
  await mark(fresh)
}

/** Whether a member gets an alert by mail. */
const isFor =
  ({ mail_alerts }: MemberRow) =>
  ({ severity }: AlertRow): boolean =>
    mail_alerts === 'all' || (mail_alerts === 'critical' && severity === 'critical')

/** Writes the mail about the alerts that were decided about, as far as they are not resolved meanwhile. */
export const writeAlerts: Writers['alerts'] = async (system, { organization_id, about }, reader) => {
  const organization = await findOrganization(system.db, organization_id!)
  const rows = await alertsOf(system.settings.events[organization.events_shard]!, organization.id, JSON.parse(about!) as AlertKey[])
  const told = rows.filter((row) => row.resolved_at === null && isFor(reader)(row) && isOwn(reader, row.fiscal_entity_id))
  if (told.length === 0) return null
  const isSpanish = reader.mail_language === 'es'
  const lines = told.slice(0, SPELLED).map(({ severity, message, message_es }) => {
    const weight = severity === 'critical' ? (isSpanish ? 'Crítica' : 'Critical') : isSpanish ? 'Aviso' : 'Warning'
    return `- ${weight}: ${unlinked(isSpanish ? message_es : message)}`
  })
  const rest = told.length - lines.length
  if (rest > 0) lines.push(isSpanish ? `- y ${rest} más` : `- and ${rest} more`)
  const [name, page] = [harmless(organization.name), `${originOf(system)}/console/alerts`]
  return {
    subject: isSpanish ? `Alertas de ${name}: ${told.length}` : `Alerts of ${name}: ${told.length}`,
    text: `${isSpanish ? `Alertas de ${name}:` : `Alerts of ${name}:`}\n\n${lines.join('\n')}\n\n${isSpanish ? 'Todas las alertas' : 'All alerts'}: ${page}\n`,
  }
}
