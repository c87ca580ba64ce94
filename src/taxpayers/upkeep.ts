import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { LOGIN_KINDS } from '../authority/port/login.ts'
import { type AddressedDraft, raiseAlerts } from '../platform/alerts/alerts.ts'
import type { System } from '../platform/context.ts'
import type { Database } from '../platform/db/commit.ts'
import { readRows } from '../platform/db/statement.ts'
import { daysLeft, localDayOf } from '../platform/time/calendar.ts'
import { pageByPage } from '../platform/work/pages.ts'
import { readLogin, rewrap } from './login.ts'
import { type LoginRow, outdatedLogins } from './login-store.ts'
import { connections } from './tables.ts'

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
    ...{ organization_id: of.organization_id, events_shard: of.events_shard, fiscal_entity_id, rfc },
    ...{ kind: 'efirma.expiring', severity: isLate ? 'critical' : 'warning', resource_id: fiscal_entity_id },
    dedupe_key: `efirma.expiring:${fiscal_entity_id}:${number}:${isLate ? LATE : EARLY}`,
    message: `The e.firma ${number}, with which ${rfc} is downloaded, expires on ${localDayOf(end, timezone)}. Send the new one before.`,
    message_es: `La e.firma ${number}, con la que se descarga ${rfc}, vence el ${localDayOf(end, timezone)}. Envíe antes la nueva.`,
  }
}

const c = alias(connections, 'c')

/** The position of an e.firma in the order of their ends: the end, in milliseconds, and the number of the connection. */
type EfirmaPosition = readonly [valid_to: number, connection: number]

/** An e.firma of an active connection, with the facts of its alert. */
interface EndingEfirma extends Pick<typeof connections.$inferSelect, 'connection' | 'organization_id' | 'fiscal_entity_id' | 'rfc'> {
  events_shard: number
  timezone: string
  number: string
  valid_to: number
}

/** The first e.firmas of active connections after a place that end up to an instant, in milliseconds. */
const endingEfirmas = (db: Database, [valid_to, connection]: EfirmaPosition, until: number, limit: number): Promise<EndingEfirma[]> =>
  readRows<EndingEfirma>(
    db.$client,
    sql`select ${c.connection}, ${c.organization_id}, o.events_shard, o.timezone, ${c.fiscal_entity_id}, ${c.rfc},
        ${c.efirma_number} as number,
          ${c.efirma_valid_to} as valid_to
        from ${connections} ${c} indexed by connections_efirmas_ending cross join organizations o on o.id = ${c.organization_id}
        where ${c.state} = 'active' and ${c.efirma_valid_to} >= ${valid_to} and ${c.efirma_valid_to} <= ${until}
          and (${c.efirma_valid_to}, ${c.connection}) > (${valid_to}, ${connection})
        order by ${c.efirma_valid_to}, ${c.connection} limit ${limit}`,
  )

const REWRAPPED_PAGE = 100

/**
 * Encrypts all stored CIECs and e.firmas with the current key, so that older keys can leave the keyring. Those that cannot be opened do not
 * stop the others. Nothing is read while the keyring has one key. A task, whose cursor is the number of the last connection.
 */
export const rewrapLogins = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, 2 * REWRAPPED_PAGE + 1, cursor, async (after, fail) => {
    const { all, current } = system.settings.ciecKeys
    if (all.length === 1) return null
    const page = await outdatedLogins(system.db, current.version, Number(after), REWRAPPED_PAGE)
    for (const row of page) await rewrapConnection(system, row).catch(fail)
    return page.length < REWRAPPED_PAGE ? null : String(page.at(-1)!.connection)
  })

async function rewrapConnection(system: System, row: LoginRow): Promise<void> {
  for (const kind of LOGIN_KINDS.filter((one) => row[one] !== null)) {
    const login = await readLogin(system, row, kind)
    if (login === null) throw new Error(`The ${kind} of ${row.fiscal_entity_id} cannot be opened with any key of CIEC_KEYS.`)
    await rewrap(system, row, kind, login)
  }
}
