import { type AddressedDraft, raiseAlerts } from '../../platform/alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { daysLeft, localDayOf } from '../../platform/time/calendar.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { type EfirmaPosition, type EndingEfirma, endingEfirmas } from './ending-efirmas-store.ts'

/** E.firmas of one page. */
const PAGE = 50
const DAY_MS = 86_400_000
/** An alert is raised when so many days are left, once for each certificate. */
const [EARLY, LATE] = [30, 7] as const

/**
 * Raises an alert 30 and 7 days before the e.firma of an active connection ends, for its organization. A task; its cursor is the last e.firma.
 */
export const alertEfirmas = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, 1 + system.settings.events.length, cursor, async (from) => {
    const now = system.now.getTime()
    const after = from === '' ? ([now, 0] as const) : (JSON.parse(from) as EfirmaPosition)
    const page = await endingEfirmas(system.db, after, now + (EARLY + 1) * DAY_MS, PAGE)
    await raiseAlerts(
      system,
      page.flatMap((one) => alertOf(one, system.now) ?? []),
      system.now,
    )
    const last = page.at(-1)
    return last && page.length === PAGE ? JSON.stringify([last.valid_to, last.connection] satisfies EfirmaPosition) : null
  })

/** The alert of an e.firma on a day of the organization; null while more than 30 days are left. */
function alertOf({ valid_to, number, rfc, timezone, fiscal_entity_id, ...of }: EndingEfirma, now: Date): AddressedDraft | null {
  const end = new Date(valid_to)
  const left = daysLeft(end, now, timezone)
  if (left > EARLY) return null
  const isLate = left <= LATE
  return {
    ...{ organization_id: of.organization_id, events_shard: of.events_shard },
    ...{ kind: 'efirma.expiring', severity: isLate ? 'critical' : 'warning', resource_id: fiscal_entity_id },
    dedupe_key: `efirma.expiring:${fiscal_entity_id}:${number}:${isLate ? LATE : EARLY}`,
    message: `The e.firma ${number}, with which ${rfc} is downloaded, expires on ${localDayOf(end, timezone)}. Send the new one before.`,
    message_es: `La e.firma ${number}, con la que se descarga ${rfc}, vence el ${localDayOf(end, timezone)}. Envíe antes la nueva.`,
  }
}
