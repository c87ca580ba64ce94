import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { commit, jsonChunks } from '../../platform/db/commit.ts'
import type { Chunk } from '../chunks/chunks.ts'
import { type CfdiRow, cfdiAs, countOfRelated, listOf, type MicrosColumn, relatedIn } from '../columns.ts'
import type { PartKey } from '../supplier-totals.ts'
import { cfdi, cfdiAdvances, cfdiChunks, cfdiCommits, cfdiMonths, cfdiPayments, cfdiSubstitutions, cfdiSuppliers } from '../tables.ts'
import type { Applied, MonthKey, Substitution } from '../totals.ts'

const c = cfdiAs('c')
const p = alias(cfdiPayments, 'p')
const s = alias(cfdiSubstitutions, 's')
const a = alias(cfdiAdvances, 'a')
const m = alias(cfdiMonths, 'm')
const t = alias(cfdiSuppliers, 't')
const k = alias(cfdiChunks, 'k')

/** The columns that determine whether a delivered document is known already. */
export interface KnownCfdi {
  uuid: string
  cancelled: number
  cancelled_at: string | null
  /** Both are null when only metadata is known. */
  xml_crc: number | null
  xml_size: number | null
  certified_at: string | null
  updated_at: number
  /** The parts of its import sources (imports/store.ts), and its chunk. */
  stored: string | null
  chunk: number | null
  status_checks: string | null
  beyond_limits: CfdiRow['beyond_limits']
}

const KNOWN = [
  ...([
    'uuid',
    'cancelled',
    'cancelled_at',
    'xml_crc',
    'xml_size',
    'certified_at',
    'updated_at',
    'stored',
    'chunk',
    'status_checks',
    'beyond_limits',
  ] as const),
] satisfies (keyof KnownCfdi)[]

const ROW = [
  ...(['uuid', 'direction', 'cancelled', 'estatus', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion', 'issued_at'] as const),
  ...([
    'utc_offset',
    'fecha',
    'kind',
    'version',
    'tipo_comprobante',
    'tipo_relacion',
    'metodo_pago',
    'forma_pago',
    'beyond_advances',
    'emisor_rfc',
    'receptor_rfc',
  ] as const),
  ...(['counterparty_rfc', 'currency', 'tipo_cambio', 'subtotal', 'descuento', 'total', 'payment_status', 'last_payment_at'] as const),
  ...(['fully_paid_at', 'applied_until', 'substituted_from', 'substitutes_from', 'related', 'products', 'taxes', 'updated_at'] as const),
  ...(['chunk', 'chunk_at', 'chunk_parts'] as const),
]
const ROW_MICROS = [
  ...(['total_micros', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado', 'paid', 'credited'] as const),
] satisfies MicrosColumn[]

/** The columns of a stored document that totals, balances and outbox events depend on. */
export type StoredRow = Pick<CfdiRow, (typeof ROW)[number] | (typeof ROW_MICROS)[number]>

/** A stored application with the columns of its source that decide whether it counts. */
export interface StoredApplication extends Applied {
  invoice: string
  source: string
  n: number
  forma_pago: string | null
  /** How many documents the source pays or credits. */
  names: number
  /** The taxes of a credit note's part, as columns. */
  taxes: string | null
  seen_from: number | null
  seen_until: number | null
}

/** A relation 07: the document `source` names an advance. */
export interface Advance {
  advance: string
  source: string
}

/** The totals of a month and direction. */
export interface StoredMonth {
  month: string
  direction: number
  cells: string
  products: string | null
}

/** A part of the suppliers of a month. */
export interface StoredSuppliers {
  month: string
  part: number
  totals: string
}

/** Reads the rows of a partition that a JSON list names. */
type Select = (entity: number, json: string) => SQL

/** How many applications are read for one slice. A usual one has one or two for each of its documents. */
const MOST_APPLICATIONS = 40_000
/** The same for a document alone, whose invoices have 30,000 of them at the most (relation-limits.ts). */
const MOST_OF_ONE = 2 * MOST_APPLICATIONS
/** To how many documents relations 04 or 07 lead, the nearest ones first, and how many relations are read of them. Real chains have a few. */
const MOST_LED_TO = 12_000
export const MOST_RELATIONS = 20_000

/** More is applied to the documents that a slice names than is read at once: the slice has to be divided. */
export class TooManyApplications extends Error {
  constructor() {
    super('More is applied to the documents that a slice names than is read at once.')
  }
}

// With CROSS JOIN the planner seeks each element; otherwise it walks the whole partition for each.
const selectDocuments =
  (columns: SQL): Select =>
  (entity, json) =>
    sql`select ${columns} from json_each(${json}) j cross join ${cfdi} ${c} where ${c.entity} = ${entity} and ${c.uuid} = j.value`
const selectKnown = selectDocuments(listOf(KNOWN.map((name) => c[name])))
const selectRows = selectDocuments(
  listOf([...ROW, ...ROW_MICROS].map((name) => (name === 'related' ? sql`${relatedIn(c)} as related` : c[name]))),
)
const APPLICATION = listOf([
  ...[p.invoice, p.source, p.n, p.kind, p.amount, p.currency, p.tipo_cambio, p.fecha_pago, p.forma_pago, p.seen_from, p.seen_until],
  sql`iif(${p.kind} = 'E', ${p.taxes}, null) as taxes`,
])
const SOURCE = listOf([c.emisor_rfc, c.receptor_rfc, c.issued_at, c.cancelled, c.substituted_from])
/** Each source is sought once, whatever the number of its applications. */
const selectApplications =
  (most: number): Select =>
  (entity, json) =>
    sql`with a as materialized (
      select ${APPLICATION} from json_each(${json}) j cross join ${cfdiPayments} ${p}
        where ${p.entity} = ${entity} and ${p.invoice} = j.value limit ${sql.raw(String(most + 1))}),
    s as materialized (
      select ${c.uuid} as source, ${SOURCE}, ${countOfRelated(c)} as names
        from (select distinct source from a) d cross join ${cfdi} ${c} where ${c.entity} = ${entity} and ${c.uuid} = d.source)
    select * from a cross join s using (source)`
/** With `also`, also the documents of which it selects something by their UUID; those that nothing names have no source. */
const selectLinked =
  (
    table: SQL,
    relations: { entity: SQLiteColumn; source: SQLiteColumn },
    named: SQLiteColumn,
    also: ((entity: number, uuid: SQL) => SQL) | null = null,
  ): Select =>
  (entity, json) => {
    const from = sql`${table} where ${relations.entity} = ${entity}`
    return sql`with recursive linked (uuid) as (
      select j.value from json_each(${json}) j
        where exists (select 1 from ${from} and ${named} = j.value) or exists (select 1 from ${from} and ${relations.source} = j.value)
          ${also ? sql`or exists (${also(entity, sql`j.value`)})` : sql``}
      union select ${relations.source} from linked cross join ${from} and ${named} = linked.uuid
      union select ${named} from linked cross join ${from} and ${relations.source} = linked.uuid
      limit ${sql.raw(String(MOST_LED_TO))})
    select linked.uuid as ${sql.identifier(named.name)}, ${relations.source} from linked ${sql.raw(also ? 'left' : 'cross')} join ${table} on ${relations.entity} = ${entity} and ${named} = linked.uuid
      limit ${sql.raw(String(also ? MOST_RELATIONS + MOST_LED_TO : MOST_RELATIONS))}`
  }
const selectAdvances = selectLinked(sql`${cfdiAdvances} ${a}`, a, a.advance)
/** One look-up says both what substitutes documents and which of them others name in relation 07, because every document has it. */
const selectSubstitutions = selectLinked(
  sql`${cfdiSubstitutions} ${s}`,
  s,
  s.substituted,
  (entity, uuid) => sql`select 1 from ${cfdiAdvances} ${a} where ${a.entity} = ${entity} and ${a.advance} = ${uuid}`,
)
const selectMonths: Select = (entity, json) =>
  sql`select ${listOf([m.month, m.direction, m.cells, m.products])} from json_each(${json}) j cross join ${cfdiMonths} ${m}
    where ${m.entity} = ${entity} and ${m.month} = j.value->>0 and ${m.direction} = j.value->>1`
const selectSuppliers: Select = (entity, json) =>
  sql`select ${listOf([t.month, t.part, t.totals])} from json_each(${json}) j cross join ${cfdiSuppliers} ${t}
    where ${t.entity} = ${entity} and ${t.month} = j.value->>0 and ${t.part} = j.value->>1`
const selectChunks: Select = (entity, json) =>
  sql`select ${k.chunk}, hex(${k.data}) as data from json_each(${json}) j cross join ${cfdiChunks} ${k}
    where ${k.entity} = ${entity} and ${k.chunk} = j.value`
const selectUnstored: Select = (entity, json) =>
  sql`select j.value->>0 as n from json_each(${json}) j where not exists (select 1 from ${cfdi} ${c}
    where ${c.entity} = ${entity} and ${c.uuid} = j.value->>1 and ${c.xml_crc} = j.value->>2 and ${c.xml_size} = j.value->>3)`

/** Some chunks of a partition. One call, or none. */
export async function readChunks(ledger: D1Database, entity: number, chunks: readonly number[]): Promise<Chunk[]> {
  if (chunks.length === 0) return []
  return resultsOf<Chunk>(await commit(ledger, statementsOf(selectChunks, entity, chunks)))
}

/** The sequence of the partition's next commit, and which of these documents it holds. One call. */
export async function readKnown(
  ledger: D1Database,
  entity: number,
  uuids: readonly string[],
): Promise<{ sequence: number; known: KnownCfdi[] }> {
  const { sequence } = cfdiCommits
  const [commits, ...known] = await commit(ledger, [
    sql`select ${sequence} from ${cfdiCommits} where ${cfdiCommits.entity} = ${entity} order by ${sequence} desc limit 1`,
    ...statementsOf(selectKnown, entity, uuids),
  ])
  const [last] = (commits?.results ?? []) as { sequence: number }[]
  return { sequence: (last?.sequence ?? 0) + 1, known: resultsOf<KnownCfdi>(known) }
}

/** Which of these documents the partition holds, by UUID. One call. */
export async function readStored(ledger: D1Database, entity: number, uuids: readonly string[]): Promise<Map<string, KnownCfdi>> {
  if (uuids.length === 0) return new Map()
  const results = await commit(ledger, statementsOf(selectKnown, entity, uuids))
  return new Map(resultsOf<KnownCfdi>(results).map((row) => [row.uuid, row]))
}

/** A document by its UUID and the CRC and size of its XML, with a number of the caller's. */
export type ContentKey = readonly [n: number, uuid: string, crc: number, size: number]

/** The numbers of the documents that the partition does not hold with these bytes. One call, which reads nothing else into memory. */
export async function readUnstored(ledger: D1Database, entity: number, keys: readonly ContentKey[]): Promise<number[]> {
  if (keys.length === 0) return []
  return resultsOf<{ n: number }>(await commit(ledger, statementsOf(selectUnstored, entity, keys))).map(({ n }) => n)
}

/** The keys of the stored rows that changes affect. */
export interface AffectedKeys {
  rows: readonly string[]
  /** The invoices to read applications of. */
  applied: readonly string[]
  /** The documents to read substitutions of, with everything that these lead to. */
  linked: readonly string[]
  /** The documents to read relations 07 of, with everything that these lead to. */
  advances: readonly string[]
  months: readonly MonthKey[]
  suppliers: readonly PartKey[]
}

/** The stored rows that changes affect. */
export interface AffectedRows {
  rows: StoredRow[]
  applications: StoredApplication[]
  substitutions: Substitution[]
  advances: Advance[]
  /** The linked documents that others may name in relation 07. */
  applied_by_others: string[]
  months: StoredMonth[]
  suppliers: StoredSuppliers[]
}

/** Reads the stored rows that changes affect. One call, or none without keys. Throws TooManyApplications. */
export async function readAffected(
  ledger: D1Database,
  entity: number,
  { rows, applied, linked, advances, months, suppliers }: AffectedKeys,
  isAlone = false,
): Promise<AffectedRows> {
  const most = isAlone ? MOST_OF_ONE : MOST_APPLICATIONS
  const parts = [
    statementsOf(selectRows, entity, rows),
    statementsOf(selectApplications(most), entity, applied),
    statementsOf(selectSubstitutions, entity, linked),
    statementsOf(selectAdvances, entity, advances),
    statementsOf(selectMonths, entity, months.map(pairOf)),
    statementsOf(selectSuppliers, entity, suppliers.map(pairOf)),
  ]
  const statements = parts.flat()
  const results = statements.length === 0 ? [] : await commit(ledger, statements)
  const take = <Row>(part: SQL[] | undefined): Row[] => resultsOf<Row>(results.splice(0, part?.length ?? 0))
  const found = take<Record<string, unknown>>(parts[0])
  const applications = take<Record<keyof StoredApplication, unknown>>(parts[1])
  if (applications.length > most) throw new TooManyApplications()
  const linkedTo = take<{ substituted: string; source: string | null }>(parts[2])
  return {
    rows: found.map(storedRow),
    applications: applications.map(
      (row) => ({ ...row, amount: BigInt(row.amount as string), cancelled: row.cancelled === 1 }) as StoredApplication,
    ),
    substitutions: linkedTo.filter((one): one is Substitution => one.source !== null).slice(0, MOST_RELATIONS),
    advances: take<Advance>(parts[3]),
    applied_by_others: linkedTo.flatMap(({ substituted, source }) => (source === null ? [substituted] : [])),
    months: take<StoredMonth>(parts[4]),
    suppliers: take<StoredSuppliers>(parts[5]),
  }
}

const pairOf = (key: MonthKey | PartKey): [string, number] => {
  const [month = '', number] = key.split('|')
  return [month, Number(number)]
}

const statementsOf = (select: Select, entity: number, values: readonly unknown[]): SQL[] =>
  jsonChunks(values).map((json) => select(entity, json))

const resultsOf = <Row>(results: readonly D1Result[]): Row[] => results.flatMap((result) => result.results as Row[])

const storedRow = (row: Record<string, unknown>): StoredRow => {
  for (const name of ROW_MICROS) if (row[name] !== null) row[name] = BigInt(row[name] as string)
  return row as unknown as StoredRow
}
