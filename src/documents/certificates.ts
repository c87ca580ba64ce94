import { type AddressedDraft, raiseAlerts } from '../platform/alerts/alerts.ts'
import type { System } from '../platform/context.ts'
import { readRows } from '../platform/db/statement.ts'
import { dayOfEpoch, epochDayOf, localDayOf } from '../platform/time/calendar.ts'
import { pageByPage } from '../platform/work/pages.ts'
import {
  type CertificatePosition,
  type CertificateRecipient,
  type ExpiringCertificate,
  holdersOf,
  nextCertificates,
  recipientsOf,
} from './keep-store.ts'

/** Certificates of one page. */
const PAGE = 50
/** The statements of a page, besides one for each events shard. */
const STATEMENTS = 3
/** An alert is raised when so many days are left, once for each number. */
const [EARLY, LATE] = [30, 7] as const

const NAMES = { efirma: 'e.firma', csd: 'CSD' }

/**
 * Raises an alert 30 and 7 days before a certificate expires, for every organization with an active connection whose latest list of
 * certificates names it. A task; its cursor is a ledger and the last certificate.
 */
export const alertCertificates = (system: System, cursor: string): Promise<string | null> => {
  // West of UTC, yesterday may not be over.
  const today = epochDayOf(localDayOf(system.now, 'UTC'))
  const first: CertificatePosition = [dayOfEpoch(today - 1), 0, '']
  return pageByPage(system, STATEMENTS + system.settings.events.length, cursor, async (from, fail) => {
    const [shard, after] = from === '' ? ([0, first] as const) : (JSON.parse(from) as [number, CertificatePosition])
    const ledger = system.settings.ledgers[shard]!
    const page = await readRows(ledger, nextCertificates(after, dayOfEpoch(today + EARLY + 1), PAGE))
    await alertPage(system, ledger, page).catch(fail)
    const last = page.at(-1)
    if (last && page.length === PAGE) return JSON.stringify([shard, [last.valid_to, last.entity, last.serial]])
    return shard + 1 < system.settings.ledgers.length ? JSON.stringify([shard + 1, first]) : null
  })
}

async function alertPage(
  system: System,
  ledger: D1Database,
  page: readonly Pick<ExpiringCertificate, 'entity' | 'serial'>[],
): Promise<void> {
  if (page.length === 0) return
  const stored = await holdersOf(ledger, page)
  const recipients = stored.length === 0 ? [] : await readRows(system.db.$client, recipientsOf(stored))
  await raiseAlerts(
    system,
    recipients.flatMap((recipient) => alertOf(stored[recipient.n]!, recipient, system.now) ?? []),
    system.now,
  )
}

/** The alert of a certificate on a day of the organization; null while more than 30 days are left, and when it has expired. */
export function alertOf(
  { serial, kind, valid_to }: Omit<ExpiringCertificate, 'entity' | 'organizations'>,
  { organization_id, events_shard, timezone, fiscal_entity_id, rfc }: Omit<CertificateRecipient, 'n'>,
  now: Date,
): AddressedDraft | null {
  const left = epochDayOf(valid_to) - epochDayOf(localDayOf(now, timezone))
  if (left < 0 || left > EARLY) return null
  const isLate = left <= LATE
  return {
    ...{ organization_id, events_shard, kind: 'certificate.expiring', severity: isLate ? 'critical' : 'warning' },
    dedupe_key: `certificate:${rfc}:${serial}:${isLate ? LATE : EARLY}`,
    resource_id: fiscal_entity_id,
    ...{ fiscal_entity_id, rfc },
    message: `The ${NAMES[kind]} ${serial} of ${rfc} expires on ${valid_to}.`,
    message_es: `${kind === 'efirma' ? 'La e.firma' : 'El CSD'} ${serial} de ${rfc} vence el ${valid_to}.`,
  }
}
