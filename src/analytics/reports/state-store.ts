import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { type Changed, shownAmong } from '../../cfdi/changes/latest.ts'
import { relatedIn } from '../../cfdi/columns.ts'
import { readTouched } from '../../cfdi/commits.ts'
import { cfdi, cfdiAdvances, cfdiCommits, cfdiMonths, cfdiPayments, cfdiSubstitutions, i, p } from '../../cfdi/population/aliases.ts'
import { commit } from '../../platform/db/commit.ts'
import { bare, readAll, readColumn, readFirst } from '../../platform/db/statement.ts'
import { type Leased, RowLease } from '../../platform/work/lease.ts'
import type { ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTIONS } from '../../taxpayers/visibility/window.ts'
import { type Cell, type PartKind, parseCells } from './parts/month.ts'
import { reportParts, reportStates as states } from './tables.ts'

export type StateRow = typeof states.$inferSelect
/** The columns that change, and their values. */
export type StateChange = Partial<Omit<StateRow, 'connection'>>

const stateP = alias(reportParts, 'p')
const dueAt = bare(states.due_at)

const assigned = (change: StateChange): SQL =>
  sql.join(
    Object.entries(change).map(([name, value]) => sql`${bare(states[name as keyof StateChange])} = ${value}`),
    sql`, `,
  )

/** The last commits of the authority's and of the import partition of a connection. */
export interface Sequences {
  sequence: number
  import_sequence: number
  /** When the last commit was made, in milliseconds. Null without any. */
  committed_at: number | null
}

const lastOf = (column: SQLiteColumn, number: number | SQL): SQL =>
  sql`coalesce((select ${column} from ${cfdiCommits} where ${cfdiCommits.entity} = ${number} order by ${cfdiCommits.sequence} desc limit 1), 0)`

const sequences = (entity: number, imports: number): SQL<Sequences> => {
  const { sequence, committed_at } = cfdiCommits
  return sql<Sequences>`select ${lastOf(sequence, entity)} as sequence, ${lastOf(sequence, imports)} as import_sequence,
    max(${lastOf(committed_at, entity)}, ${lastOf(committed_at, imports)}) as committed_at`
}

/** The commits and ceilings up to which the parts show documents. */
export type PartsState = Pick<Sequences, 'sequence' | 'import_sequence'> & { ceilings: Ceilings }

/** Reads the last commits of the partitions of a ledger. */
export const readSequences = async ({ d1, entity, importPartition }: ScopedLedger): Promise<Sequences> =>
  (await readFirst(d1, sequences(entity, importPartition ?? 0)))!

/** Reads how far the reports of a connection are, what was committed since, and the cells of some kinds by month. One call. */
export async function readReport(ledger: ScopedLedger, connection: number, kinds: readonly PartKind[]) {
  const [state, last, parts] = await commit(ledger.d1, [
    sql`select * from ${states} where ${states.connection} = ${connection}`,
    sequences(ledger.entity, ledger.importPartition ?? 0),
    sql`select ${stateP.kind}, ${stateP.month}, ${stateP.data} from json_each(${JSON.stringify(kinds)}) k cross join ${reportParts} ${stateP}
        on ${stateP.connection} = ${connection} and ${stateP.kind} = k.value order by ${stateP.kind}, ${stateP.month}, ${stateP.n}`,
  ])
  const rows = parts!.results as { kind: PartKind; month: string; data: string }[]
  return {
    state: (state!.results[0] as StateRow | undefined) ?? null,
    last: last!.results[0] as unknown as Sequences,
    cellsOf: <Kind extends PartKind>(kind: Kind): (Cell<Kind> & { of: string })[] =>
      rows.filter((row) => row.kind === kind).flatMap(({ month, data }) => parseCells(kind, data).map((cell) => ({ ...cell, of: month }))),
  }
}

/**
 * Asks for the reports of a connection to be brought up to date. What is asked for already stays as it is. `round` begins a round even if
 * nothing has changed.
 */
export const askStatement = (ledger: ScopedLedger, connection: number, now: number, round: string | null): SQL =>
  sql`insert into ${states} (${bare(states.connection)}, ${bare(states.organization_id)}, ${bare(states.fiscal_entity_id)}, ${bare(states.entity)},
        ${dueAt}, ${bare(states.round)})
      values (${connection}, ${ledger.organization_id}, ${ledger.fiscal_entity_id}, ${ledger.entity}, ${now}, ${round})
      on conflict (${bare(states.connection)}) do update set ${dueAt} = min(coalesce(${states.due_at}, excluded.${dueAt}), excluded.${dueAt}),
        ${bare(states.round)} = coalesce(${states.round}, excluded.${bare(states.round)})`

/** Selects how far the reports of these connections are, each with the last commits of its RFC and of its imports. */
export const statesOf = (connections: readonly number[]): SQL<StateRow & { delivered: number; imported: number }> =>
  sql`select ${states}.*, ${lastOf(cfdiCommits.sequence, sql`${states.entity}`)} as delivered,
      ${lastOf(cfdiCommits.sequence, sql`-${states.connection}`)} as imported from ${states}
    where ${states.connection} in (select value from json_each(${JSON.stringify(connections)}))`

/** The lease of a worker on the reports of a connection. */
export const reportLease = new RowLease<StateRow>(states, ['connection'])

/** Claims the reports of a connection when they are due. Undefined when another worker holds them, or when there is nothing to do. */
export const claimState = async (ledger: D1Database, connection: number, now: number): Promise<Leased<StateRow> | undefined> =>
  (
    await reportLease.claim(
      ledger,
      sql`${states.connection} = ${connection} and (${states.due_at} <= ${now} or ${states.round} is not null)`,
    )
  )[0]

/** Makes changes to the reports that a worker holds. */
export const setState = (row: Leased<StateRow>, set: StateChange): SQL => reportLease.extend(row, assigned(set))

/** Replaces the parts of a month. */
export const replaceParts = (
  connection: number,
  month: string,
  parts: readonly (readonly [kind: PartKind, n: number, data: string])[],
  kinds: readonly PartKind[],
): SQL[] => [
  sql`delete from ${reportParts} where ${reportParts.connection} = ${connection} and ${reportParts.month} = ${month}
      and ${reportParts.kind} in (select value from json_each(${JSON.stringify(kinds)}))`,
  ...parts.map(
    ([kind, n, data]) =>
      sql`insert into ${reportParts} (${bare(reportParts.connection)}, ${bare(reportParts.kind)}, ${bare(reportParts.month)}, ${bare(reportParts.n)}, ${bare(reportParts.data)})
        values (${connection}, ${kind}, ${month}, ${n}, ${data})`,
  ),
]

/** Returns the connections whose reports are due, or whose worker died. */
export const dueStates = (ledger: D1Database, now: number, limit: number): Promise<number[]> =>
  readColumn(
    ledger,
    sql<number>`select ${states.connection} from ${states} indexed by report_states_left
        where (${states.due_at} is not null or ${states.round} is not null) and ${states.lease_until} < ${now}
          and (${states.due_at} <= ${now} or ${states.round} is not null)
        order by ${states.lease_until} limit ${limit}`,
  )

const c = alias(cfdi, 'c')

/** The most commits, and documents between ceilings, that are read. After more, all months are read. */
const MOST_COMMITS = 400
const MOST_BETWEEN = 20_000
/** The documents of one query. */
const DOCUMENTS = 5_000

/** Ceilings of both directions, in milliseconds. */
export type Ceilings = readonly [issued: number | null, received: number | null]

const partitionsOf = ({ entity, importPartition }: ScopedLedger): number[] =>
  importPartition === null ? [entity] : [entity, importPartition]

/**
 * Returns the documents that the organization is newly shown, or shown changed, between two states: by commits, and by its ceilings, because
 * others may have downloaded documents before its own run reached them. What others download beyond its ceilings is not among them. Null
 * when the commits do not say: then all documents may have changed.
 */
export async function changedDocuments(ledger: ScopedLedger, from: PartsState, to: PartsState): Promise<string[] | null> {
  const changed: Changed[] = []
  const uuids = new Set<string>()
  for (const number of partitionsOf(ledger)) {
    const [after, until] = number === ledger.entity ? [from.sequence, to.sequence] : [from.import_sequence, to.import_sequence]
    if (after === until) continue
    const rows = await readColumn(
      ledger.d1,
      sql<string>`select hex(${cfdiCommits.touched}) as touched from ${cfdiCommits}
        where ${cfdiCommits.entity} = ${number} and ${cfdiCommits.sequence} > ${after} and ${cfdiCommits.sequence} <= ${until}
        order by ${cfdiCommits.sequence} limit ${sql.raw(String(MOST_COMMITS + 1))}`,
    )
    // Some are deleted, or there are too many.
    if (rows.length !== until - after) return null
    for (const touched of rows) {
      const { stored = [], cancelled = [], substituted = [], balances = [], advanced = [], removed, isCut } = readTouched(touched)
      // The months of removed documents are no longer known.
      if (isCut || removed) return null
      const named: Changed[] = [
        ...stored.map((uuid) => [uuid, 'stored'] as const),
        ...cancelled.map((uuid) => [uuid, null] as const),
        ...substituted,
        ...balances,
        ...advanced,
      ]
      if (number === ledger.entity) changed.push(...named)
      else for (const [uuid] of named) uuids.add(uuid)
    }
  }
  if (changed.length > 0) for (const uuid of await shownAmong(ledger, changed)) uuids.add(uuid)
  const between = await documentsBetween(ledger, from.ceilings, to.ceilings)
  return between && [...uuids, ...between]
}

/**
 * The documents of the authority that later ceilings newly show, and those that they show substituted. Null when there are too many. One
 * call; none while the ceilings are the same.
 */
async function documentsBetween({ d1, entity }: ScopedLedger, before: Ceilings, now: Ceilings): Promise<string[] | null> {
  const most = sql.raw(String(MOST_BETWEEN + 1))
  const selects = DIRECTIONS.flatMap((direction) => {
    const [after, until] = [before[direction], now[direction]].map((at) => at && Math.floor(at / 1_000))
    if (after == null || until == null || after === until) return []
    const of = sql`${c.entity} = ${entity} and ${c.direction} = ${sql.raw(String(direction))}`
    return [
      sql`select ${c.uuid} from ${cfdi} ${c} indexed by cfdi_dirc
        where ${of} and ${c.cancelled} in (0, 1) and ${c.issued_at} > ${after} and ${c.issued_at} <= ${until} limit ${most}`,
      sql`select ${c.uuid} from ${cfdi} ${c} indexed by cfdi_substituted
        where ${of} and ${c.substituted_from} > ${after} and ${c.substituted_from} <= ${until} limit ${most}`,
    ]
  })
  const uuids = (await readAll<{ uuid: string }>(d1, selects)).map(({ uuid }) => uuid)
  return uuids.length > MOST_BETWEEN ? null : uuids
}

/** Returns the months whose parts these documents change: theirs, of what they pay or credit, and of their payments. */
export async function monthsOf(ledger: ScopedLedger, uuids: readonly string[]): Promise<string[]> {
  const months = new Set<string>()
  for (let at = 0; at < uuids.length; at += DOCUMENTS)
    for (const month of await monthsOfSome(ledger, uuids.slice(at, at + DOCUMENTS))) months.add(month)
  return [...months].sort()
}

const x = alias(cfdiPayments, 'x')
const a = alias(cfdiAdvances, 'a')
const s = alias(cfdiSubstitutions, 's')
const b = alias(cfdiAdvances, 'b')

/**
 * The months of documents, of the payments between them and others, and of everything else that is applied to the same invoices, in both
 * partitions, because an import gives way to the authority's document.
 */
async function monthsOfSome(ledger: ScopedLedger, uuids: readonly string[]): Promise<string[]> {
  const json = JSON.stringify(uuids)
  const of = (number: number): SQL[] => {
    const own = sql`json_each(${json}) j cross join ${cfdi} ${c} on ${c.entity} = ${number} and ${c.uuid} = j.value`
    const paidBy = sql`${own} cross join json_each(${relatedIn(c)}) r cross join ${cfdiPayments} ${p}
      on ${p.entity} = ${c.entity} and ${p.invoice} = r.value and ${p.source} = ${c.uuid}`
    return [
      sql`select substr(${c.fecha}, 1, 7) as month from ${own}`,
      sql`select substr(${c.last_paid_on}, 1, 7) as month from ${own} where ${c.last_paid_on} is not null`,
      sql`select substr(coalesce(${i.last_paid_on}, ${i.fecha}), 1, 7) as month from json_each(${json}) j cross join ${cfdiAdvances} ${a}
        cross join ${cfdi} ${i} where ${a.entity} = ${number} and ${a.source} = j.value and ${i.entity} = ${number} and ${i.uuid} = ${a.advance}`,
      // What else names the same advance may apply to another document now.
      sql`select substr(${i.fecha}, 1, 7) as month from json_each(${json}) j cross join ${cfdiAdvances} ${a}
        cross join ${cfdiAdvances} ${b} cross join ${cfdi} ${i} where ${a.entity} = ${number} and ${a.source} = j.value
        and ${b.entity} = ${number} and ${b.advance} = ${a.advance} and ${i.entity} = ${number} and ${i.uuid} = ${b.source}`,
      // What was paid in form 30 by an advance that one of them substitutes may be money now, or no more.
      sql`select substr(${p.fecha_pago}, 1, 7) as month from json_each(${json}) j cross join ${cfdiSubstitutions} ${s} cross join ${cfdiAdvances} ${a}
        cross join ${cfdiPayments} ${p} where ${s.entity} = ${number} and ${s.source} = j.value and ${a.entity} = ${number} and ${a.advance} = ${s.substituted}
        and ${p.entity} = ${number} and ${p.invoice} = ${a.source}`,
      sql`select substr(${i.fecha}, 1, 7) as month from json_each(${json}) j cross join ${cfdiSubstitutions} ${s} cross join ${cfdiAdvances} ${a}
        cross join ${cfdi} ${i} where ${s.entity} = ${number} and ${s.source} = j.value and ${a.entity} = ${number} and ${a.advance} = ${s.substituted}
        and ${i.entity} = ${number} and ${i.uuid} = ${a.source}`,
      sql`select substr(${p.fecha_pago}, 1, 7) as month from json_each(${json}) j cross join ${cfdiPayments} ${p} on ${p.entity} = ${number} and ${p.invoice} = j.value`,
      sql`select substr(${x.fecha_pago}, 1, 7) as month from ${paidBy} cross join ${cfdiPayments} ${x} on ${x.entity} = ${p.entity} and ${x.invoice} = ${p.invoice}`,
      sql`select substr(coalesce(${i.last_paid_on}, ${i.fecha}), 1, 7) as month from ${paidBy} cross join ${cfdi} ${i} on ${i.entity} = ${p.entity} and ${i.uuid} = ${p.invoice}`,
      sql`select substr(${i.fecha}, 1, 7) as month from ${own} cross join json_each(${relatedIn(c)}) r cross join ${cfdi} ${i}
        on ${i.entity} = ${c.entity} and ${i.uuid} = r.value`,
    ]
  }
  const selects = partitionsOf(ledger).flatMap((number) => of(number).map((one) => sql`select distinct month from (${one})`))
  return (await readAll<{ month: string }>(ledger.d1, selects)).map(({ month }) => month)
}

/** Returns every month in which there is a document or a payment, or of which there is a part. */
export function allMonths(ledger: ScopedLedger, connection: number): Promise<string[]> {
  const numbers = JSON.stringify(partitionsOf(ledger))
  return readColumn(
    ledger.d1,
    sql<string>`select ${cfdiMonths.month} from ${cfdiMonths} where ${cfdiMonths.entity} in (select value from json_each(${numbers}))
      union select substr(${p.fecha_pago}, 1, 7) from ${cfdiPayments} ${p} where ${p.entity} in (select value from json_each(${numbers})) and ${p.kind} = 'P'
      union select substr(${c.last_paid_on}, 1, 7) from ${cfdi} ${c} where ${c.entity} in (select value from json_each(${numbers}))
        and ${c.tipo_comprobante} in ('I', 'E') and ${c.last_paid_on} is not null
      union select ${reportParts.month} from ${reportParts} where ${reportParts.connection} = ${connection} order by 1`,
  )
}
