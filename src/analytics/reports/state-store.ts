import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { cfdiCommits } from '../../cfdi/population/aliases.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, prepared } from '../../platform/db/statement.ts'
import type { ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Cell, PartKind } from './parts/cells.ts'
import { parseCells } from './parts/cells.ts'
import { reportParts, reportStates as states } from './tables.ts'

export type StateRow = typeof states.$inferSelect
/** Columns of it with what they become. */
export type StateChange = Partial<Omit<StateRow, 'connection'>>

const p = alias(reportParts, 'p')
const dueAt = bare(states.due_at)
const isHeld = (connection: number, token: string): SQL => sql`${states.connection} = ${connection} and ${states.token} = ${token}`

const assigned = (change: StateChange): SQL =>
  sql.join(
    Object.entries(change).map(([name, value]) => sql`${bare(states[name as keyof StateChange])} = ${value}`),
    sql`, `,
  )

/** The last commits of the authority's and of the import partition of a connection. */
export interface Sequences {
  sequence: number
  import_sequence: number
  /** When the last one was made, in milliseconds. Null without any. */
  committed_at: number | null
}

const lastOf = (column: SQLiteColumn, number: number): SQL =>
  sql`coalesce((select ${column} from ${cfdiCommits} where ${cfdiCommits.entity} = ${number} order by ${cfdiCommits.sequence} desc limit 1), 0)`

const sequences = (entity: number, imports: number): SQL => {
  const { sequence, committed_at } = cfdiCommits
  return sql`select ${lastOf(sequence, entity)} as sequence, ${lastOf(sequence, imports)} as import_sequence,
    max(${lastOf(committed_at, entity)}, ${lastOf(committed_at, imports)}) as committed_at`
}

/** Reads the last commits of what a ledger shows. */
export const readSequences = async ({ d1, entity, importPartition }: ScopedLedger): Promise<Sequences> =>
  (await prepared(d1, sequences(entity, importPartition ?? 0)).first<Sequences>())!

/** Reads how far the reports of a connection are, what was committed since, and the cells of some kinds by month. One call. */
export async function readReport(ledger: ScopedLedger, connection: number, kinds: readonly PartKind[]) {
  const [state, last, parts] = await ledger.d1.batch([
    prepared(ledger.d1, sql`select * from ${states} where ${states.connection} = ${connection}`),
    prepared(ledger.d1, sequences(ledger.entity, ledger.importPartition ?? 0)),
    prepared(
      ledger.d1,
      sql`select ${p.kind}, ${p.month}, ${p.data} from json_each(${JSON.stringify(kinds)}) k cross join ${reportParts} ${p}
        on ${p.connection} = ${connection} and ${p.kind} = k.value order by ${p.kind}, ${p.month}, ${p.n}`,
    ),
  ])
  const rows = parts!.results as { kind: PartKind; month: string; data: string }[]
  return {
    state: (state!.results[0] as StateRow | undefined) ?? null,
    last: last!.results[0] as Sequences,
    cellsOf: <Kind extends PartKind>(kind: Kind): (Cell<Kind> & { of: string })[] =>
      rows.filter((row) => row.kind === kind).flatMap(({ month, data }) => parseCells(kind, data).map((cell) => ({ ...cell, of: month }))),
  }
}

/** Asks for the reports of a connection to be brought up to date. What is asked for already stays as it is. */
export const askStatement = (ledger: ScopedLedger, connection: number, now: number): D1PreparedStatement =>
  prepared(
    ledger.d1,
    sql`insert into ${states} (${bare(states.connection)}, ${bare(states.organization_id)}, ${bare(states.fiscal_entity_id)}, ${bare(states.entity)}, ${dueAt})
      values (${connection}, ${ledger.organization_id}, ${ledger.fiscal_entity_id}, ${ledger.entity}, ${now})
      on conflict (${bare(states.connection)}) do update set ${dueAt} = min(coalesce(${states.due_at}, excluded.${dueAt}), excluded.${dueAt})`,
  )

/** Takes the reports of a connection when they are due and nobody has them. */
export const claimState = (ledger: D1Database, connection: number, token: string, now: number, until: number): Promise<StateRow | null> =>
  prepared(
    ledger,
    sql`update ${states} set ${bare(states.token)} = ${token}, ${bare(states.lease_until)} = ${until}
      where ${states.connection} = ${connection} and (${states.due_at} <= ${now} or ${states.round} is not null) and ${states.lease_until} < ${now}
      returning *`,
  ).first<StateRow>()

const HELD = 'report_states.held'

/** Refuses its batch unless this worker still has the reports. */
export const assertHeld = (ledger: D1Database, connection: number, token: string): D1PreparedStatement =>
  assertThat(ledger, sql`exists (select 1 from ${states} where ${isHeld(connection, token)})`, HELD)

export const setState = (ledger: D1Database, connection: number, set: StateChange): D1PreparedStatement =>
  prepared(ledger, sql`update ${states} set ${assigned(set)} where ${states.connection} = ${connection}`)

/** Gives the reports back, if this worker still has them. */
export const releaseState = (ledger: D1Database, connection: number, token: string): D1PreparedStatement =>
  prepared(ledger, sql`update ${states} set ${assigned({ token: null, lease_until: 0 })} where ${isHeld(connection, token)}`)

/** Replaces the parts of a month. */
export const replaceParts = (
  ledger: D1Database,
  connection: number,
  month: string,
  parts: readonly (readonly [kind: PartKind, n: number, data: string])[],
  kinds: readonly PartKind[],
): D1PreparedStatement[] => [
  prepared(
    ledger,
    sql`delete from ${reportParts} where ${reportParts.connection} = ${connection} and ${reportParts.month} = ${month}
      and ${reportParts.kind} in (select value from json_each(${JSON.stringify(kinds)}))`,
  ),
  ...parts.map(([kind, n, data]) =>
    prepared(
      ledger,
      sql`insert into ${reportParts} (${bare(reportParts.connection)}, ${bare(reportParts.kind)}, ${bare(reportParts.month)}, ${bare(reportParts.n)}, ${bare(reportParts.data)})
        values (${connection}, ${kind}, ${month}, ${n}, ${data})`,
    ),
  ),
]

/** Returns the connections whose reports are due, or whose worker died. */
export const dueStates = async (ledger: D1Database, now: number, limit: number): Promise<number[]> =>
  (
    await prepared(
      ledger,
      sql`select ${states.connection} from ${states} indexed by report_states_left
        where (${states.due_at} is not null or ${states.round} is not null) and ${states.lease_until} < ${now}
          and (${states.due_at} <= ${now} or ${states.round} is not null)
        order by ${states.lease_until} limit ${limit}`,
    ).all<{ connection: number }>()
  ).results.map(({ connection }) => connection)
