import { organizationZones } from '../../accounts/billing/invoices/issue.ts'
import { originOf, type Writers, wake } from '../../accounts/mails/mails.ts'
import { harmless, unlinked } from '../../accounts/mails/texts.ts'
import { actingFor } from '../../accounts/organization/organization.ts'
import { listAttention } from '../../connections/sync/sync.ts'
import { listDueObligations, listOpinions } from '../../documents/portfolio.ts'
import { listAlerts } from '../../platform/alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { deliversMail } from '../../platform/mail/mail.ts'
import { firstInstantOf, localTimeOf } from '../../platform/time/calendar.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { askForDigests, undigestedOrganizations } from './store.ts'

const MONDAY = 1
const AT = '08:00'
const PAGE = 200
const WEEK_MS = 7 * 86_400_000
const DAYS_AHEAD = 14
/** The RFCs that a digest looks at, and the lines of each of its parts. */
const LOOKED_AT = 500
const LINES = 10

/**
 * Asks for the digests of the week, on Monday from 08:00 on in the time zone of the organization: the commit that asks for them notes the day, so
 * that each is asked for once. A task of every quarter of an hour, whose cursor is a time zone.
 */
export async function mailDigests(system: System, cursor = ''): Promise<string | null> {
  if (!deliversMail(system)) return null
  const zones = (await organizationZones(system.db)).filter((zone) => isDue(system.now, zone))
  return pageByPage(system, 4, cursor, async (from) => {
    const zone = zones.find((one) => one >= from)
    if (zone === undefined) return null
    return (await askFor(system, zone)) ? zone : (zones[zones.indexOf(zone) + 1] ?? null)
  })
}

function isDue(now: Date, zone: string): boolean {
  const local = localTimeOf(now, zone)
  return new Date(`${local}Z`).getUTCDay() === MONDAY && local.slice(11) >= AT
}

/** Asks for the digests of a page of a zone's organizations. Returns whether there may be more. */
async function askFor(system: System, zone: string): Promise<boolean> {
  const d1 = system.db.$client
  const monday = localTimeOf(system.now, zone).slice(0, 10)
  const ids = await undigestedOrganizations(d1, zone, monday, firstInstantOf(monday, zone), PAGE)
  if (ids.length === 0) return false
  const [asked] = await commit(d1, askForDigests(ids, monday, system.now))
  await wake(
    system,
    asked!.results.map(({ mail_id }) => String(mail_id)),
  )
  return ids.length === PAGE
}

/** Writes the digest of an organization, as it is when the mail is sent. */
export const writeDigest: Writers['digest'] = async (system, { organization_id }, { mail_language, bound_to }) => {
  const acting = await actingFor(system, organization_id!, 'digest')
  const ctx = bound_to ? { ...acting, organization: { ...acting.organization, bound_to } } : acting
  const isSpanish = mail_language === 'es'
  const [alerts, attention, due, opinions] = await Promise.all([
    listAlerts(ctx, { limit: 100, sort: 'newest', state: 'open' }),
    listAttention(ctx, { limit: LOOKED_AT }),
    listDueObligations(ctx, { limit: LOOKED_AT, days: DAYS_AHEAD }),
    listOpinions(ctx, { limit: LOOKED_AT, sense: 'negativo' }),
  ])
  const of = ({ rfc, name }: { rfc: string; name: string | null }) => (name ? `${rfc} ${harmless(name)}` : rfc)
  const since = new Date(system.now.getTime() - WEEK_MS).toISOString()
  const parts = [
    [
      isSpanish ? 'Alertas de la semana sin resolver' : 'Alerts of the week that are open',
      alerts.data
        .filter(({ created_at }) => created_at > since)
        .sort((a, b) => (a.severity < b.severity ? -1 : a.severity > b.severity ? 1 : 0))
        .map(({ message, message_es }) => (isSpanish ? message_es : message)),
    ],
    [
      isSpanish ? 'RFC que necesitan atención' : 'RFCs that need attention',
      attention.data.map((one) => `${of(one)}: ${isSpanish ? one.message_es : one.summary}`),
    ],
    [
      isSpanish ? `Obligaciones que vencen en ${DAYS_AHEAD} días` : `Obligations that are due within ${DAYS_AHEAD} days`,
      due.data
        .sort((a, b) => a.days_left - b.days_left)
        .map((one) => `${one.due_date} · ${of(one)}: ${one.description}${one.period ? ` (${one.period})` : ''}`),
    ],
    [
      isSpanish ? 'Opiniones de cumplimiento negativas' : 'Negative compliance opinions',
      opinions.data.map((one) => `${of(one)}: ${one.document_date}`),
    ],
  ] as const
  const told = parts.filter(([, lines]) => lines.length > 0).map(([title, lines]) => partOf(title, lines, isSpanish))
  if (told.length === 0) told.push(isSpanish ? 'No hay nada pendiente.\n' : 'Nothing is pending.\n')
  if (attention.has_more)
    told.push(isSpanish ? `Se revisaron los primeros ${LOOKED_AT} RFC.\n` : `The first ${LOOKED_AT} RFCs were looked at.\n`)
  const name = harmless(ctx.organization.name)
  return {
    subject: isSpanish ? `Resumen semanal de ${name}` : `Weekly digest of ${name}`,
    text: `${isSpanish ? `Resumen de ${name}` : `Digest of ${name}`}\n\n${told.join('\n')}\n${isSpanish ? 'Más en la consola' : 'More in the console'}: ${originOf(system)}/console/\n`,
  }
}

function partOf(title: string, lines: readonly string[], isSpanish: boolean): string {
  const rest = lines.length - LINES
  const shown = lines.slice(0, LINES).map((line) => `- ${unlinked(line)}\n`)
  return `${title} (${lines.length}):\n${shown.join('')}${rest > 0 ? `- ${isSpanish ? `y ${rest} más` : `and ${rest} more`}\n` : ''}`
}
