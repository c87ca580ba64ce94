import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { commit, jsonChunks } from '../../platform/db/commit.ts'
import { all, bare, preparedWithLiterals, readAll } from '../../platform/db/statement.ts'
import { isAfterCeiling, isVisible, type Partition, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { appliedBeyondCeiling } from '../applied/applied.ts'
import { firstChunkOf } from '../chunks/chunks.ts'
import { cfdiAs, listOf, relatedIn } from '../columns.ts'
import { readTouched, type Touched } from '../commits.ts'
import { type VisibleRange, within } from '../mirrored/visible-ranges.ts'
import { parseRow, READ_ROW_JSON, ROW_JSON, storedColumns } from '../read-row.ts'
import { itemOf, type PageItem } from '../search/store.ts'
import { cfdi, cfdiCommits, cfdiSubstitutions } from '../tables.ts'
import type { LegCheckpoint, NamesLeg, Range, RowsLeg } from './position.ts'

const c = cfdiAs('c')
const d = cfdiAs('d')
const commits = alias(cfdiCommits, 'commits')

export interface StoredCommit {
  number: number
  sequence: number
  committed_at: number
  /** As `readTouched` reads it. */
  touched: string
}

/** A partition, and the commit before which others are asked for; null for its last ones. */
export type CommitsBefore = readonly [number: number, before: number | null]

/** Reads so many commits of each partition, the newest first. One call. */
export const commitsBefore = (d1: D1Database, asked: readonly CommitsBefore[], count: number): Promise<StoredCommit[]> =>
  readAll<StoredCommit>(d1, [
    sql`with asked as materialized (
          select value->>0 as number, coalesce(value->>1, 1 + (
            select ${commits.sequence} from ${cfdiCommits} ${commits} where ${commits.entity} = value->>0 order by ${commits.sequence} desc limit 1)) as before
          from json_each(${JSON.stringify(asked)}))
        select a.number, ${commits.sequence}, ${commits.committed_at}, hex(${commits.touched}) as touched from asked a cross join ${cfdiCommits} ${commits}
          on ${commits.entity} = a.number and ${commits.sequence} < a.before and ${commits.sequence} >= a.before - ${count}
        order by a.number, ${commits.sequence} desc`,
  ])

export type NamedRow = readonly [entity: number, uuid: string]

export interface NamedDocument {
  entity: number
  uuid: string
  direction: 0 | 1
  fecha: string
  issued_at: number
  utc_offset: number
  /** Whether its XML came in a later commit than its metadata. */
  has_later_xml: 0 | 1
}

/** Finds named documents. One call, none without names. */
export const findRows = (d1: D1Database, names: readonly NamedRow[]): Promise<NamedDocument[]> =>
  readAll<NamedDocument>(
    d1,
    jsonChunks(names).map(
      (json) =>
        sql`select ${listOf([c.entity, c.uuid, c.direction, c.fecha, c.issued_at, c.utc_offset])},
            coalesce(${c.chunk} >= (${c.stored_by} + 1) * ${sql.raw(String(firstChunkOf(1)))}, 0) as has_later_xml
          from json_each(${json}) j cross join ${cfdi} ${c} on ${c.entity} = j.value->>0 and ${c.uuid} = j.value->>1`,
    ),
  )

/** The range that the window of a direction shows: between two seconds and from a literal day on, all inclusive. */
export interface ShownRange {
  /** Whose range it is. */
  n: number
  entity: number
  direction: 0 | 1
  floor: string
  since: number
  until: number
}

/**
 * The range that a run newly showed because it reached further back: up to the literal day `before`, exclusive. `at` is the run, in
 * milliseconds.
 */
export interface WidenedRange extends ShownRange {
  before: string
  at: number
}

/** The newest document of a range, vigente or cancelled, with its name for the RFC. */
export type NewestDocument = Pick<ShownRange, 'n' | 'direction'> & { fecha: string; issued_at: number; name: string | null }

const IN_RANGE = sql`${c.entity} = j.value->>'entity' and ${c.direction} = j.value->>'direction'
  and ${c.issued_at} between j.value->>'since' and j.value->>'until' and ${c.fecha} >= j.value->>'floor'`

/** Reads the newest documents of ranges, and which of the widened ones show any. One call, none without ranges. */
export async function readReached(
  d1: D1Database,
  shown: readonly ShownRange[],
  widened: readonly WidenedRange[],
): Promise<{ newest: NewestDocument[]; widened: { n: number; at: number }[] }> {
  if (shown.length === 0) return { newest: [], widened: [] }
  const isAny = (cancelled: SQL) => sql`exists (
    select 1 from ${cfdi} ${c} indexed by cfdi_dirc where ${IN_RANGE} and ${c.cancelled} = ${cancelled} and ${c.fecha} < j.value->>'before')`
  const looked = jsonChunks(shown).map(
    (json) =>
      sql`select j.value->>'n' as n, ${d.direction}, ${d.fecha}, ${d.issued_at}, iif(${d.direction} = 0, ${d.emisor_nombre}, ${d.receptor_nombre}) as name
        from json_each(${json}) j cross join json_each('[0, 1]') k cross join ${cfdi} ${d} on ${d.entity} = j.value->>'entity' and ${d.uuid} = (
          select ${c.uuid} from ${cfdi} ${c} indexed by cfdi_dirc where ${IN_RANGE} and ${c.cancelled} = k.value order by ${c.issued_at} desc limit 1)`,
  )
  const wider = jsonChunks(widened).map(
    (json) =>
      sql`select j.value->>'n' as n, max(j.value->>'at') as at from json_each(${json}) j where ${isAny(sql`0`)} or ${isAny(sql`1`)} group by j.value->>'n'`,
  )
  const results = await commit(d1, [...looked, ...wider])
  const rows = (from: number, to?: number) => results.slice(from, to).flatMap(({ results: list }) => list)
  return { newest: rows(0, looked.length) as NewestDocument[], widened: rows(looked.length) as { n: number; at: number }[] }
}

const page = cfdiAs('page')
const s = alias(cfdiSubstitutions, 's')

/** Rows that a statement of names reads. */
export const NAMES = 1_000
/** Commits that an answer looks at. One more is read, to see whether there are more. */
export const COMMITS = 20

const limited = (rows: number): SQL => sql.raw(`limit ${rows}`)
const statement = ({ d1 }: ScopedLedger, fragment: SQL): D1PreparedStatement => preparedWithLiterals(d1, fragment)

/** Selects documents in at most two visible ranges: all that the partition holds, or the visible ones. */
const inVisibleRanges = (
  visibleRanges: readonly VisibleRange[],
  columns: SQL,
  isMeant: SQL,
  checkpoint: LegCheckpoint | null,
  rows: number,
): SQL => {
  const after = checkpoint && ([Number(checkpoint[0]), String(checkpoint[1])] as const)
  const selects = visibleRanges.flatMap((visibleRange) =>
    [0, 1].map(
      (cancelled) =>
        sql`select ${columns} from ${cfdi} ${c} indexed by cfdi_dirc where ${all([isMeant, sql`${c.cancelled} = ${cancelled}`, ...within(visibleRange, after)])}`,
    ),
  )
  return sql`${sql.join([...selects], sql` union all `)} order by ${bare(c.issued_at)}, ${bare(c.uuid)} ${limited(rows)}`
}

const COLUMNS = sql`${storedColumns('c')}, ${c.stored_by}, ${c.chunk}`

/** A document that was found, and the commit that stored it first. */
export interface FoundChange {
  item: PageItem
  stored_by: number
}

interface SelectedRow {
  row: string
  applied: string | null
  stored_by: number | null
}

const selectRows = (partition: Partition, rows: SQL, more = sql``): SQL =>
  sql`select ${READ_ROW_JSON} as row, ${appliedBeyondCeiling(partition, 'page')} as applied, ${page.stored_by} ${more} from (${rows}) page`

const found = (ledger: ScopedLedger, partition: Partition, { row, applied, stored_by }: SelectedRow): FoundChange => ({
  item: itemOf(ledger, partition, parseRow(row), applied),
  stored_by: stored_by ?? 0,
})

/** Reads the visible documents of legs in one call, the first leg from a checkpoint on, at most so many of each. */
export async function readRows(
  ledger: ScopedLedger,
  legs: readonly (RowsLeg & { partition: Partition })[],
  checkpoint: LegCheckpoint | null,
  rows: number,
): Promise<FoundChange[][]> {
  const results = await commit<SelectedRow>(
    ledger.d1,
    legs.map(({ partition, visibleRanges }, n) =>
      statement(
        ledger,
        selectRows(partition, inVisibleRanges(visibleRanges, COLUMNS, isVisible(partition, 'c'), n === 0 ? checkpoint : null, rows)),
      ),
    ),
  )
  return results.map(({ results: list }, n) =>
    list
      .map((row) => found(ledger, legs[n]!.partition, row))
      .sort(({ item: { row: a } }, { item: { row: b } }) => a.issued_at - b.issued_at || (a.uuid < b.uuid ? -1 : 1)),
  )
}

/** The columns that decide whether a window shows a document, and the commit that first stored it. */
export interface HiddenRow {
  direction: 0 | 1
  fecha: string
  issued_at: number
  stored_by: number
}

/**
 * A document that a leg names, and the checkpoint behind it. Without a UUID, only the checkpoint is reported. In a leg of visible ranges,
 * it is a HiddenRow too.
 */
export interface LegName extends Partial<HiddenRow> {
  uuid: string | null
  at: number
  by: string
  nth: number | string
}

const NAME_COLUMNS = sql`${c.uuid}, ${c.issued_at}, ${c.issued_at} as at, ${c.uuid} as by, 0 as nth, ${c.direction}, ${c.fecha}, ${c.stored_by}`

function selectNames({ entity }: ScopedLedger, leg: NamesLeg, checkpoint: LegCheckpoint | null): SQL {
  const isHere = sql`${c.entity} = ${entity}`
  if ('visibleRanges' in leg) return inVisibleRanges(leg.visibleRanges, NAME_COLUMNS, isHere, checkpoint, NAMES)
  const from = checkpoint && ([Number(checkpoint[0]), String(checkpoint[1])] as const)
  const reached = (index: string, column: 'issued_at' | 'substituted_from', isMeant: SQL) =>
    leg.ranges.map(
      ({
        direction,
        since,
        until,
      }: Range) => sql`select ${c[column]} as at, ${c.uuid}, ${c.related}, ${c.entity} from ${cfdi} ${c} indexed by ${sql.raw(index)}
        where ${isHere} and ${isMeant} and ${c.direction} = ${direction} and ${
          from && from[0] >= since ? sql`(${c[column]}, ${c.uuid}) >= (${from[0]}, ${from[1]})` : sql`${c[column]} >= ${since}`
        }${until === null ? sql`` : sql` and ${c[column]} <= ${until}`}`,
    )
  // One more, because the first may already be reported as a whole.
  const sources = (selects: SQL[]) => sql`(${sql.join([...selects], sql` union all `)} order by 1, 2 ${limited(NAMES + 1)}) p`
  const behind = (nth: SQL) =>
    checkpoint ? sql`where (p.at, p.uuid, ${nth}) > (${checkpoint[0]!}, ${checkpoint[1]!}, ${checkpoint[2]!})` : sql``
  const end = sql`order by at, by, nth ${limited(NAMES)}`
  // Each source has itself as its last name, so that none is passed over.
  const p = cfdiAs('p')
  const related = sql`json_each(json_insert(coalesce(${relatedIn(p)}, '[]'), '$[#]', ${p.uuid})) r`
  const selectRelated = (selects: SQL[]) =>
    sql`select r.value as uuid, p.at, p.uuid as by, r.key as nth from ${sources(selects)} cross join ${related} ${behind(sql`r.key`)} ${end}`
  switch (leg.names) {
    case 'applied':
      return selectRelated(
        ['P', 'E'].flatMap((tipo) => reached('cfdi_tipoc', 'issued_at', sql`${c.tipo_comprobante} = ${tipo} and ${c.cancelled} = 0`)),
      )
    case 'substituted':
      return selectRelated(reached('cfdi_substituted', 'substituted_from', sql`${c.substituted_from} is not null`))
    case 'substituting': {
      const source = sql`coalesce(${s.source}, '')`
      return sql`select ${s.source} as uuid, p.at, p.uuid as by, ${source} as nth
        from ${sources(reached('cfdi_dirc', 'issued_at', sql`${c.cancelled} = 0`))}
        left join ${cfdiSubstitutions} ${s} on ${s.entity} = ${entity} and ${s.substituted} = p.uuid ${behind(source)} ${end}`
    }
  }
}

/** A commit with what it names. */
export interface NamedCommit {
  sequence: number
  touched: Touched
}

const { sequence, touched } = cfdiCommits
const selectCommits = (number: number, after: number): SQL =>
  sql`select ${sequence}, hex(${touched}) as touched from ${cfdiCommits} where ${cfdiCommits.entity} = ${number} and ${sequence} > ${after}
    order by ${sequence} ${limited(COMMITS + 1)}`

/** Reads the names of legs, the first from a checkpoint on, and the next commits of partitions. One call, none without either. */
export async function readNames(
  ledger: ScopedLedger,
  legs: readonly NamesLeg[],
  checkpoint: LegCheckpoint | null,
  logs: readonly { number: number; after: number }[],
): Promise<{ names: LegName[][]; commits: NamedCommit[][] }> {
  if (legs.length + logs.length === 0) return { names: [], commits: [] }
  const results = await commit(ledger.d1, [
    ...legs.map((leg, n) => statement(ledger, selectNames(ledger, leg, n === 0 ? checkpoint : null))),
    ...logs.map(({ number, after }) => statement(ledger, selectCommits(number, after))),
  ])
  return {
    names: results.slice(0, legs.length).map(({ results: rows }) => rows as unknown as LegName[]),
    commits: results.slice(legs.length).map(({ results: rows }) =>
      (rows as unknown as { sequence: number; touched: string }[]).map(({ sequence, touched }) => ({
        sequence,
        touched: readTouched(touched),
      })),
    ),
  }
}

/** The most that instants of Mexico's other zones lie behind Mexico City's: metadata does not state the zone. */
const ZONES_SECONDS = 3 * 3_600

/**
 * The condition that a document lies shortly behind the ceiling, and got its XML after it was stored: its metadata may have lain before the
 * ceiling. Null when there is no ceiling.
 */
function hasMoved(partition: Partition): SQL | null {
  const isBeyond = isAfterCeiling(partition, 'c', 'issued_at')
  if (isBeyond === null) return null
  return sql`(${c.chunk} >= (${c.stored_by} + 1) * ${firstChunkOf(1)} and ${isBeyond} and not ${isAfterCeiling(partition, 'c', `issued_at - ${ZONES_SECONDS}`)!})`
}

/** A named document that was found, with the number of its name, and the import shown in its place when it has moved out of the window. */
export interface FoundName extends FoundChange {
  n: number
  import: PageItem | null
}

const inOrder = (rows: FoundName[]): FoundName[] => rows.sort((a, b) => a.n - b.n)

/**
 * Finds the first named documents by the numbers of their names, in this order: those of the authority that are visible or have moved, and
 * visible imports; and which numbers of `shown` the authority's partition shows. One call, or none.
 */
export async function findNamed(
  ledger: ScopedLedger,
  { authority, imports }: { authority: Partition | undefined; imports: Partition | undefined },
  asked: { authority: readonly AskedName[]; imports: readonly AskedName[]; shown: readonly AskedName[] },
  rows: number,
): Promise<{ authority: FoundName[]; imports: FoundName[]; shown: Set<number> }> {
  const moved = authority && hasMoved(authority)
  const isFound =
    authority && (moved ? sql`(${isVisible(authority, 'c')} or ${c.entity} = ${authority.number} and ${moved})` : isVisible(authority, 'c'))
  const twin = imports
    ? sql`, (select ${ROW_JSON} from ${cfdi} where ${cfdi.entity} = ${imports.number} and ${cfdi.uuid} = ${page.uuid}) as import`
    : sql`, null as import`
  const named = (list: readonly AskedName[], columns: SQL, isMeant: SQL, end: SQL) =>
    sql`select j.value->>0 as n, ${columns} from json_each(${JSON.stringify(list)}) j cross join ${cfdi} ${c} where ${c.uuid} = j.value->>1 and ${isMeant} ${end}`
  // The list is read in its order.
  const first = limited(rows)
  const selects = [
    authority && asked.authority.length > 0
      ? selectRows(authority, named(asked.authority, COLUMNS, isFound!, first), sql`, page.n ${moved ? twin : sql`, null as import`}`)
      : null,
    imports && asked.imports.length > 0
      ? selectRows(imports, named(asked.imports, COLUMNS, isVisible(imports, 'c'), first), sql`, page.n, null as import`)
      : null,
    authority && asked.shown.length > 0 ? named(asked.shown, sql`1`, isVisible(authority, 'c'), sql``) : null,
  ]
  const present = selects.filter((one) => one !== null)
  const results =
    present.length === 0
      ? []
      : await commit(
          ledger.d1,
          present.map((one) => statement(ledger, one)),
        )
  const take = <Row>(n: number): Row[] => (selects[n] === null ? [] : (results.shift()!.results as Row[]))
  const view = (partition: Partition, list: (SelectedRow & { n: number; import: string | null })[]): FoundName[] =>
    inOrder(
      list.map((row) => ({
        ...found(ledger, partition, row),
        n: row.n,
        import: row.import === null ? null : itemOf(ledger, imports!, parseRow(row.import), null),
      })),
    )
  return {
    authority: authority ? view(authority, take(0)) : [],
    imports: imports ? view(imports, take(1)) : [],
    shown: new Set(take<{ n: number }>(2).map(({ n }) => n)),
  }
}

/** A UUID that is asked for, after its number. */
export type AskedName = readonly [n: number, uuid: string]
