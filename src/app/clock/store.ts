import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { invoices } from '../../accounts/tables.ts'
import { reportStates } from '../../analytics/reports/tables.ts'
import { fetches } from '../../authority/fetcher/tables.ts'
import { authorityConversations } from '../../authority/sat/conversation/tables.ts'
import { imports } from '../../cfdi/imports/tables.ts'
import { statusRechecks } from '../../cfdi/tables.ts'
import { connectLinks, consents, extractors, runs } from '../../connections/tables.ts'
import { exports_ } from '../../copies/exports/tables.ts'
import { storageConnectors } from '../../copies/tables.ts'
import { deliveries, events } from '../../delivery/tables.ts'
import { mailboxRequests } from '../../documents/mailbox/requests/tables.ts'
import { syncWork } from '../../downloads/jobs/tables.ts'
import { repseRecords } from '../../lists/tables.ts'
import type { System } from '../../platform/context.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, changesOf, readColumn, readFirst, readRows } from '../../platform/db/statement.ts'
import { outbox } from '../../platform/outbox/tables.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { connections } from '../../taxpayers/tables.ts'
import { clocks } from './tables.ts'

export type ClockRow = typeof clocks.$inferSelect

export const findClock = (d1: D1Database): Promise<ClockRow | null> => readFirst(d1, sql<ClockRow>`select * from ${clocks}`)

/** Begins a move of the clock, refused with `clock.still` while another one goes on, and with `clock.alone` where there are several organizations. */
export const beginMove = ({ ahead, target, began_at, ends_at }: Record<'ahead' | 'target' | 'began_at' | 'ends_at', number>) => [
  assertThat(sql`not exists (select 1 from ${clocks} where ${clocks.target} is not null)`, 'clock.still'),
  assertThat(sql`not exists (select 1 from ${organizations} limit 1 offset 1)`, 'clock.alone'),
  sql`insert into ${clocks} (${bare(clocks.one)}, ${bare(clocks.ahead)}, ${bare(clocks.target)}, ${bare(clocks.began_at)}, ${bare(clocks.ends_at)})
      values (1, ${ahead}, ${target}, ${began_at}, ${ends_at})
      on conflict do update set ${bare(clocks.target)} = excluded.target, ${bare(clocks.began_at)} = excluded.began_at, ${bare(clocks.ends_at)} = excluded.ends_at`,
]

/** Takes the move that goes on, unless another worker has it. */
export const claimMove = (d1: D1Database, token: string, now: number, until: number): Promise<ClockRow | null> =>
  readFirst(
    d1,
    sql<ClockRow>`update ${clocks} set ${bare(clocks.token)} = ${token}, ${bare(clocks.lease_until)} = ${until}
      where ${clocks.target} is not null and ${clocks.lease_until} < ${now} returning *`,
  )

/** Keeps how far a move has come. Returns whether the worker still has it. */
export const saveMove = async (
  d1: D1Database,
  { ahead, target, entries, token, lease_until }: Omit<ClockRow, 'one' | 'began_at' | 'ends_at'>,
) =>
  (await changesOf(
    d1,
    sql`update ${clocks} set ${bare(clocks.ahead)} = ${ahead}, ${bare(clocks.target)} = ${target}, ${bare(clocks.entries)} = ${entries},
        ${bare(clocks.lease_until)} = ${lease_until} where ${clocks.token} = ${token}`,
  )) > 0

/** A time that never comes. */
const NEVER = 1e15

/** When something happens for which rows wait, in milliseconds: by itself within a minute, or within a quarter of an hour. */
const WAITS: Record<'control' | 'ledger' | 'events', Record<'minute' | 'quarter', readonly SQLiteColumn[]>> = {
  control: {
    minute: [
      ...[
        connections.ciec_verify_at,
        connections.efirma_verify_at,
        repseRecords.due_at,
        mailboxRequests.not_before,
        mailboxRequests.lease_until,
      ],
      ...[exports_.lease_until, invoices.send_at, outbox.retry_at],
    ],
    quarter: [organizations.trial_ends_at, invoices.review_at, connectLinks.expires_at, consents.ends_at],
  },
  ledger: {
    minute: [
      ...[syncWork.due_at, syncWork.lease_until, authorityConversations.due_at, authorityConversations.busy_until, fetches.due_at],
      ...[reportStates.due_at, reportStates.lease_until, imports.lease_until, outbox.retry_at],
    ],
    quarter: [statusRechecks.due_at],
  },
  events: { minute: [deliveries.due_at, deliveries.lease_until, storageConnectors.retry_at, storageConnectors.lease_until], quarter: [] },
}

/** The first times after `now` for which rows wait: what a sweep of every minute finds, and one of every quarter of an hour. */
export async function nextWaits({ db, settings }: System, now: number): Promise<Record<'minute' | 'quarter', number>> {
  const databases = [
    [db.$client, WAITS.control] as const,
    ...settings.ledgers.map((d1) => [d1, WAITS.ledger] as const),
    ...settings.events.map((d1) => [d1, WAITS.events] as const),
  ]
  // min() of SQLite takes at least two.
  const first = (columns: readonly SQLiteColumn[]): SQL => {
    const each = columns.map((column) => sql`coalesce((select min(${column}) from ${column.table} where ${column} > ${now}), ${NEVER})`)
    return sql`min(${sql.join([...each, sql`${NEVER}`, sql`${NEVER}`], sql`, `)})`
  }
  const found = await Promise.all(
    databases.map(([d1, { minute, quarter }]) =>
      readFirst(d1, sql<Record<'minute' | 'quarter', number>>`select ${first(minute)} as minute, ${first(quarter)} as quarter`),
    ),
  )
  const least = (of: 'minute' | 'quarter') => Math.min(...found.map((row) => row![of]))
  return { minute: least('minute'), quarter: least('quarter') }
}

/** The time zones at whose midnights something happens. */
export const zonesInUse = (d1: D1Database): Promise<string[]> =>
  readColumn(d1, sql<string>`select ${organizations.timezone} from ${organizations} union select ${extractors.timezone} from ${extractors}`)

/** What happened to an organization in a time: how many runs and invoices, and how many events of each kind. */
export async function countHappened(control: D1Database, shard: D1Database, organization_id: string, from: number, to: number) {
  const [counts, kinds] = await Promise.all([
    readFirst(
      control,
      sql<{
        runs: number
        invoices: number
      }>`select (select count(*) from ${runs} where ${runs.organization_id} = ${organization_id} and ${runs.created_at} between ${from} and ${to}) as runs,
        (select count(*) from ${invoices} where ${invoices.organization_id} = ${organization_id} and ${invoices.issued_at} between ${from} and ${to}) as invoices`,
    ),
    readRows(
      shard,
      sql<{ event: string; count: number }>`select ${events.body}->>'event' as event, count(*) as count from ${events}
        where ${events.organization_id} = ${organization_id} and ${events.seq} between ${from} and ${to} group by 1 order by 1`,
    ),
  ])
  return { runs: counts!.runs, invoices: counts!.invoices, events: kinds }
}
