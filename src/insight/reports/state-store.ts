import { type SQL, sql } from 'drizzle-orm'
import { assertThat } from '../../platform/db/guard.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { ScopedLedger } from '../../visibility/scoped-ledger.ts'
import type { Cell, PartKind } from './parts/cells.ts'
import { parseCells } from './parts/cells.ts'
import type { reportStates } from './tables.ts'

export type StateRow = typeof reportStates.$inferSelect

/** The last commits of the authority's and of the import partition of a connection. */
export interface Sequences {
  sequence: number
  import_sequence: number
  /** When the last one was made, in milliseconds. Null without any. */
  committed_at: number | null
}

const lastOf = (column: string, number: string): string =>
  `(select ${column} from cfdi_commits where entity = ${number} order by sequence desc limit 1)`

const sequences = (entity: number, imports: number): SQL =>
  sql`select coalesce(${sql.raw(lastOf('sequence', String(entity)))}, 0) as sequence, coalesce(${sql.raw(lastOf('sequence', String(imports)))}, 0) as import_sequence,
    max(coalesce(${sql.raw(lastOf('committed_at', String(entity)))}, 0), coalesce(${sql.raw(lastOf('committed_at', String(imports)))}, 0)) as committed_at`

/** Reads the last commits of what a ledger shows. */
export const readSequences = async ({ d1, entity, importPartition }: ScopedLedger): Promise<Sequences> =>
  (await prepared(d1, sequences(entity, importPartition ?? 0)).first<Sequences>())!

/** Reads how far the reports of a connection are, what was committed since, and the cells of some kinds by month. One call. */
export async function readReport(ledger: ScopedLedger, connection: number, kinds: readonly PartKind[]) {
  const [state, last, parts] = await ledger.d1.batch([
    prepared(ledger.d1, sql`select * from report_states where connection = ${connection}`),
    prepared(ledger.d1, sequences(ledger.entity, ledger.importPartition ?? 0)),
    prepared(
      ledger.d1,
      sql`select p.kind, p.month, p.data from json_each(${JSON.stringify(kinds)}) k cross join report_parts p
        on p.connection = ${connection} and p.kind = k.value order by p.kind, p.month, p.n`,
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
    sql`insert into report_states (connection, organization_id, fiscal_entity_id, entity, due_at)
      values (${connection}, ${ledger.organization_id}, ${ledger.fiscal_entity_id}, ${ledger.entity}, ${now})
      on conflict (connection) do update set due_at = min(coalesce(due_at, excluded.due_at), excluded.due_at)`,
  )

/** Takes the reports of a connection when they are due and nobody has them. */
export const claimState = (ledger: D1Database, connection: number, token: string, now: number, until: number): Promise<StateRow | null> =>
  prepared(
    ledger,
    sql`update report_states set token = ${token}, lease_until = ${until}
      where connection = ${connection} and (due_at <= ${now} or round is not null) and lease_until < ${now} returning *`,
  ).first<StateRow>()

const HELD = 'report_states.held'

/** Refuses its batch unless this worker still has the reports. */
export const assertHeld = (ledger: D1Database, connection: number, token: string): D1PreparedStatement =>
  assertThat(ledger, sql`exists (select 1 from report_states where connection = ${connection} and token = ${token})`, HELD)

export const setState = (ledger: D1Database, connection: number, set: SQL): D1PreparedStatement =>
  prepared(ledger, sql`update report_states set ${set} where connection = ${connection}`)

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
    sql`delete from report_parts where connection = ${connection} and month = ${month}
      and kind in (select value from json_each(${JSON.stringify(kinds)}))`,
  ),
  ...parts.map(([kind, n, data]) =>
    prepared(
      ledger,
      sql`insert into report_parts (connection, kind, month, n, data) values (${connection}, ${kind}, ${month}, ${n}, ${data})`,
    ),
  ),
]

/** Returns the connections whose reports are due, or whose worker died. */
export const dueStates = async (ledger: D1Database, now: number, limit: number): Promise<number[]> =>
  (
    await ledger
      .prepare(
        `select connection from report_states indexed by report_states_left
         where (due_at is not null or round is not null) and lease_until < ?1 and (due_at <= ?1 or round is not null)
         order by lease_until limit ?2`,
      )
      .bind(now, limit)
      .all<{ connection: number }>()
  ).results.map(({ connection }) => connection)
