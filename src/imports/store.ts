import { sql } from 'drizzle-orm'
import type { EntryResult, XmlContent } from '../cfdi/ingest/ingest.ts'
import { assertThat } from '../platform/db/guard.ts'
import { prepared } from '../platform/db/statement.ts'
import { isVisible, partitionsToRead, type ScopedLedger } from '../visibility/scoped-ledger.ts'
import { rowsOfResults } from './results.ts'
import type { imports } from './tables.ts'

export type ImportRow = typeof imports.$inferSelect

/** Inserts a queued import and its partition, unless they exist. Returns the object that the row refers to. */
export const insertImport = async (
  ledger: D1Database,
  row: Pick<
    ImportRow,
    'import_id' | 'object' | 'organization_id' | 'fiscal_entity_id' | 'book' | 'entity' | 'rfc' | 'bytes' | 'created_at' | 'lease_until'
  >,
) => {
  const results = await ledger.batch<{ object: string }>([
    ledger.prepare('insert into entities (entity, rfc) values (?1, ?2) on conflict do nothing').bind(row.book, row.rfc),
    ledger
      .prepare(
        `insert into imports (import_id, organization_id, fiscal_entity_id, book, entity, rfc, object, bytes, documents, status, lease_until,
           attempts, created_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?10, ?9, 0, 'queued', ?8, 0, ?7) on conflict do nothing`,
      )
      .bind(
        ...[row.import_id, row.organization_id, row.fiscal_entity_id, row.book, row.entity, row.rfc],
        ...[row.created_at, row.lease_until, row.bytes, row.object],
      ),
    ledger.prepare('select object from imports where import_id = ?1').bind(row.import_id),
  ])
  return results.at(-1)!.results[0]!.object
}

/**
 * Finds an import of an organization, with the rows of results that hold its first files, and the number of files in each status. Rows may
 * overlap: those are read that begin before enough others end.
 */
export async function findImport(ledger: D1Database, organization_id: string, fiscal_entity_id: string, import_id: string, limit: number) {
  const [found, files, counts] = await ledger.batch([
    ledger
      .prepare('select * from imports where import_id = ?1 and organization_id = ?2 and fiscal_entity_id = ?3')
      .bind(import_id, organization_id, fiscal_entity_id),
    ledger
      .prepare(
        `select hex(data) as data from import_results where import_id = ?1 and ?2 > 0 and first_n <= coalesce((select min(last_n) from (
           select last_n, sum(created + updated + unchanged + rejected) over (order by last_n) as files from import_results where import_id = ?1)
           where files >= ?2), 1e9)`,
      )
      .bind(import_id, limit),
    ledger
      .prepare(
        `select coalesce(sum(created), 0) as created, coalesce(sum(updated), 0) as updated, coalesce(sum(unchanged), 0) as unchanged,
           coalesce(sum(rejected), 0) as rejected from import_results where import_id = ?1`,
      )
      .bind(import_id),
  ])
  return {
    row: found!.results[0] as ImportRow | undefined,
    results: files!.results as { data: string }[],
    counts: counts!.results[0] as Record<EntryResult['status'], number>,
  }
}

export const readImport = (ledger: D1Database, import_id: string): Promise<ImportRow | null> =>
  prepared(ledger, sql`select * from imports where import_id = ${import_id}`).first<ImportRow>()

/** Sorts after every identifier of an import. */
const LAST = 'imq'

/** Returns a page of the imports in a partition, newest first, before an import. */
export const listImportRows = async (ledger: D1Database, book: number, before: string | undefined, limit: number): Promise<ImportRow[]> =>
  (
    await prepared(
      ledger,
      sql`select * from imports indexed by imports_book where book = ${book} and import_id < ${before ?? LAST} order by import_id desc limit ${limit}`,
    ).all<ImportRow>()
  ).results

/**
 * Claims a queued import, one with an expired lease, or one that is being deleted. Returns undefined when another consumer holds it, or
 * when there is nothing to do.
 */
export const claimImport = async (ledger: D1Database, import_id: string, token: string, now: number, leaseUntil: number) =>
  (
    await ledger
      .prepare(
        `update imports set status = iif(status = 'deleting', 'deleting', 'running'), token = ?2, lease_until = ?4, attempts = attempts + 1
         where import_id = ?1 and (status = 'queued' or (status in ('running', 'deleting') and lease_until < ?3)) returning *`,
      )
      .bind(import_id, token, now, leaseUntil)
      .all<ImportRow>()
  ).results[0]

/** The guard of `assertHeld`. */
export const HELD = 'import.held'

/** Refuses its batch unless the token holds the import: another consumer has not taken it over, and it is not to be deleted. */
export const assertHeld = (ledger: D1Database, import_id: string, token: string): D1PreparedStatement =>
  assertThat(ledger, sql`exists (select 1 from imports where import_id = ${import_id} and token = ${token})`, HELD)

/** Ends the lease of an import that is being deleted and that this token holds, or nobody, so that its deletion can go on. */
export const endLease = (ledger: D1Database, import_id: string, token: string | null): D1PreparedStatement =>
  prepared(
    ledger,
    sql`update imports set token = null, lease_until = 0 where import_id = ${import_id} and status = 'deleting' and token is ${token}`,
  )

/** Inserts the results of files. */
export const insertFileResults = (ledger: D1Database, import_id: string, entries: readonly EntryResult[]): D1PreparedStatement[] =>
  rowsOfResults(entries).map(({ first_n, last_n, counts: { created, updated, unchanged, rejected }, places, data }) =>
    ledger
      .prepare(
        `insert into import_results (import_id, part, first_n, last_n, created, updated, unchanged, rejected, places, data)
         values (?1, (select coalesce(max(part), -1) + 1 from import_results where import_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, unhex(?9))`,
      )
      .bind(import_id, first_n, last_n, created, updated, unchanged, rejected, JSON.stringify(places), data),
  )

/** Extends the lease of an import, and adds documents that count through it from now on, if the token still holds it. */
export const extendLease = (ledger: D1Database, import_id: string, token: string, leaseUntil: number, documents = 0) =>
  ledger
    .prepare('update imports set lease_until = ?3, documents = documents + ?4 where import_id = ?1 and token = ?2')
    .bind(import_id, token, leaseUntil, documents)

/** Completes an import if the token still holds it. Returns how many documents count through it. */
export const completeImport = (ledger: D1Database, import_id: string, token: string, now: number) =>
  ledger
    .prepare(
      `update imports set status = 'completed', token = null, completed_at = ?3 where import_id = ?1 and token = ?2 returning documents`,
    )
    .bind(import_id, token, now)

/** Returns an import to the queue because the budget of the invocation is used up, which is not another attempt. */
export const interruptImport = (ledger: D1Database, import_id: string, token: string, place: string, now: number) =>
  ledger
    .prepare(
      `update imports set status = 'queued', token = null, lease_until = ?4, attempts = attempts - 1, place = ?3
       where import_id = ?1 and token = ?2`,
    )
    .bind(import_id, token, place, now)

/** The places in the upload of the files that have a result. */
export async function filesWithResult(ledger: D1Database, import_id: string): Promise<Set<number>> {
  const rows = await ledger.prepare('select places from import_results where import_id = ?1').bind(import_id).raw<[string]>()
  const ranges = rows.flatMap(([places]) => JSON.parse(places) as [number, number][])
  return new Set(ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, n) => from + n)))
}

/** Finds imports that are not completed and that no consumer holds. */
export const unfinishedImports = async (ledger: D1Database, before: number, limit: number) =>
  (
    await ledger
      .prepare(
        `select import_id from imports indexed by imports_open where status <> 'completed' and lease_until < ?1 order by lease_until limit ?2`,
      )
      .bind(before, limit)
      .all<{ import_id: string }>()
  ).results

/** Returns those of these objects that unfinished imports refer to. */
export async function referredObjects(ledgers: readonly D1Database[], objects: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>()
  for (const ledger of ledgers) {
    const { results } = await ledger
      .prepare(
        `select object from imports indexed by imports_open where status <> 'completed' and object in (select value from json_each(?1))`,
      )
      .bind(JSON.stringify(objects))
      .all<{ object: string }>()
    for (const { object } of results) found.add(object)
  }
  return found
}

/** Returns by what the XML is known of those of these documents that are visible in the authority's partition. */
export async function visibleContents(ledger: ScopedLedger, uuids: readonly string[]): Promise<Map<string, XmlContent>> {
  const partition = partitionsToRead(ledger).find(({ origin }) => origin === 'authority')
  if (!partition || uuids.length === 0) return new Map()
  const { results } = await prepared(
    ledger.d1,
    sql`select c.uuid, c.xml_crc, c.xml_size from json_each(${JSON.stringify(uuids)}) j cross join cfdi c on c.entity = ${partition.number} and c.uuid = j.value where ${isVisible(partition, 'c')}`,
  ).all<{ uuid: string } & XmlContent>()
  return new Map(results.map((row) => [row.uuid, row]))
}
