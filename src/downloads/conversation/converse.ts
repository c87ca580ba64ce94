import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Efirma } from '../../authority/efirma/efirma.ts'
import { efirmaOf } from '../../authority/sat/conversation/adapter.ts'
import { announceConversations, type ConversationHint, converse } from '../../authority/sat/conversation/conversation.ts'
import type { AwaitedMonth, ConversationPorts } from '../../authority/sat/conversation/ports.ts'
import type { AuthorityRequest } from '../../authority/sat/conversation/rules/requests.ts'
import { stuckConversations } from '../../authority/sat/conversation/upkeep.ts'
import { cfdi } from '../../cfdi/tables.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { bare, readFirst, readRows } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { ledgerByLedger } from '../../platform/work/pages.ts'
import { Logins } from '../../taxpayers/login.ts'
import { isWhole, type MonthCoverage } from '../../taxpayers/visibility/coverage.ts'
import { earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { ALL_REQUESTERS } from '../awaited.ts'
import { announce } from '../downloads.ts'
import { LISTED } from '../jobs/key.ts'
import { coverage, syncJobs, syncWork } from '../jobs/tables.ts'
import { hastenWork, JOBS_OF_WORK } from '../lease-store.ts'
import { readMetadata, readXml } from './compare.ts'

/** How long a login is used without being read again, in milliseconds. */
const KEPT_MS = 5_000

/** Continues the conversation about a taxpayer for the jobs that wait for it. */
export async function continueConversation(system: System, { shard, entity }: ConversationHint): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const location = { ledger, files: system.env.FILES, entity }
  const logins = new Logins(system, entity)
  const efirmas = new Map<string, { efirma: Efirma | null; read_at: number }>()
  const around: ConversationPorts = {
    async months() {
      const now = clock.now()
      return (await readRows(ledger, openMonths(entity))).map(
        (row): AwaitedMonth => ({
          ...{ source: row.source, month: row.month, asked_at: row.asked_at, ahead: row.ahead, is_complete: isWhole(coveredOf(row)) },
          organizations: JSON.parse(row.organizations) as string[],
          is_interactive: row.is_interactive === 1,
          lists: Math.max(0, row.is_continued - 1),
          is_asleep: row.error_class === null && row.not_before > now,
        }),
      )
    },
    async efirmaOf(organizations) {
      const key = JSON.stringify(organizations)
      const known = efirmas.get(key)
      if (known && Date.now() - known.read_at < KEPT_MS) return known.efirma
      const found = await logins.of(organizations)
      const efirma = found === null ? null : efirmaOf(found.login)
      efirmas.set(key, { efirma, read_at: Date.now() })
      return efirma
    },
    async wake(months) {
      if (months.length === 0) return
      await commit(ledger, wakeStatements(entity, months))
      await announce(system, [{ shard, entity }])
    },
    holdsAny: (request) => holdsAny(ledger, entity, request),
    readMetadata: (request, k) => readMetadata(location, request, k),
    readXml: (request, metadata) => readXml(location, request, metadata),
  }
  await converse(system, { shard, entity }, around)
}

/** A conversation that is overdue by this much has lost its message. */
const LATE_MS = 60_000
const SWEEP_LIMIT = 1_000

/** Announces conversations again after a lost message or the death of a worker. A task, whose cursor is a ledger. */
export const sweepConversations = async (system: System, cursor = ''): Promise<string | null> =>
  system.settings.taxAuthority === 'sandbox'
    ? null
    : ledgerByLedger(system, cursor, async (shard, ledger) => {
        const now = clock.now()
        const stuck = await readRows(ledger, stuckConversations(now, now - LATE_MS, SWEEP_LIMIT))
        await announceConversations(
          system,
          stuck.map(({ entity }) => ({ shard, entity })),
          now,
        )
      })

export interface MonthRow {
  source: 'sat_cfdi_issued' | 'sat_cfdi_received'
  month: string
  /** When it was asked for by the clock of its run, and how far that was ahead of the real one. */
  asked_at: number
  ahead: number
  not_before: number
  error_class: string | null
  is_interactive: number
  is_continued: number
  /** The organizations that asked for it, including those that wait for a login, as a JSON array. */
  organizations: string
  /** A MonthCoverage as JSON; null when nothing is known of the month. */
  covered: string | null
}

const [s, w, c] = [alias(syncJobs, 's'), alias(syncWork, 'w'), alias(coverage, 'c')]
const own = alias(cfdi, 'own')

/** The open jobs of a taxpayer's months of CFDIs. */
export const openMonths = (entity: number): SQL<MonthRow> =>
  sql<MonthRow>`select ${s.source}, ${s.month}, max(${s.created_at}, ${s.as_of}) as asked_at, max(0, ${s.as_of} - ${s.created_at}) as ahead,
          ${s.not_before}, ${s.error_class}, ${s.is_continued}, ${syncWork.is_interactive}, ${ALL_REQUESTERS} as organizations,
          (select ${c.months} -> ('$."' || ${s.month} || '"') from ${coverage} ${c} where ${c.entity} = ${s.entity} and ${c.source} = ${s.source})
            as covered
        from ${syncWork} cross join ${JOBS_OF_WORK} where ${syncWork.entity} = ${entity} and ${s.open} = 1 and ${s.month} <> ''`

export const coveredOf = ({ covered }: MonthRow): MonthCoverage => JSON.parse(covered ?? '[]') as MonthCoverage

/** The values of tipo_comprobante by which the index finds the documents of a family. Metadata of retenciones has an empty one, or none. */
const TYPES = { cfdi: [sql`in ('I', 'E', 'T', 'N', 'P')`], retenciones: [sql`is null`, sql`= ''`] }

/** Whether documents are stored that a request asks for. It reads a few rows, however many there are. */
export async function holdsAny(
  ledger: D1Database,
  entity: number,
  { family, source, first, last }: Pick<AuthorityRequest, 'family' | 'source' | 'first' | 'last'>,
): Promise<boolean> {
  const direction = source === 'sat_cfdi_issued' ? sql`0` : sql`1`
  const found = TYPES[family].map(
    (types) => sql`exists (
      select 1 from ${cfdi} ${own} indexed by cfdi_tipoc
      where ${own.entity} = ${entity} and ${own.tipo_comprobante} ${types} and ${own.direction} = ${direction} and ${own.cancelled} in (0, 1)
        and ${own.issued_at} >= ${earliestOf(first.slice(0, 10))} and ${own.issued_at} <= ${latestOf(last.slice(0, 10))}
        and ${own.kind} = ${family} and ${own.fecha} >= ${first} and ${own.fecha} <= ${last})`,
  )
  return (await readFirst(ledger, sql<{ holds: number }>`select ${sql.join(found, sql` or `)} as holds`))?.holds === 1
}

/** Makes the sleeping jobs of these months due now. */
export function wakeStatements(entity: number, months: readonly { source: string; month: string }[]): SQL[] {
  const json = JSON.stringify(months.map(({ source, month }) => [source, month]))
  return [
    sql`update ${syncJobs} set ${bare(syncJobs.not_before)} = 0
          where ${[syncJobs.entity, syncJobs.source, syncJobs.month, syncJobs.job_id]} in (
            select ${w.entity}, ${sql.join([...LISTED], sql`, `)} from ${syncWork} ${w} cross join json_each(${w.jobs}) j
            where ${w.entity} = ${entity}
              and exists (select 1 from json_each(${json}) m where m.value->>0 = j.value->>0 and m.value->>1 = j.value->>1))
          and ${syncJobs.open} = 1 and ${syncJobs.error_class} is null`,
    hastenWork(entity),
  ]
}
