import type { ScopedLedger } from '../visibility/scoped-ledger.ts'
import type { documents } from './tables.ts'

export type DocumentRow = typeof documents.$inferSelect

/**
 * What of an RFC's documents an organization may see: those that its own runs fetched or joined, whose period, or own date, ends
 * on or after the floor. An organization without extractors sees all. Bound: ?1 entity, ?2 floor, ?3 organization or null for all.
 */
const VISIBLE = `entity = ?1 and (?2 is null or coalesce(period_end, document_date) >= ?2)
  and (?3 is null or exists (select 1 from json_each(organizations) o where o.value = ?3))`

const bounds = ({ entity, window }: ScopedLedger, organization_id: string) =>
  [entity, window.floor, !window.isEmpty && window.floor === null && window.ceiling === null ? null : organization_id] as const

/** Newest first. */
export const listDocuments = async (
  books: ScopedLedger,
  organization_id: string,
  { before, source, limit }: { before: string | null; source: string | null; limit: number },
) =>
  (
    await books.ledger
      .prepare(
        `select * from documents where ${VISIBLE} and (?4 is null or document_id < ?4) and (?5 is null or source = ?5)
         order by document_id desc limit ?6`,
      )
      .bind(...bounds(books, organization_id), before, source, limit)
      .all<DocumentRow>()
  ).results

export const findDocument = async (books: ScopedLedger, organization_id: string, document_id: string) =>
  (
    await books.ledger
      .prepare(`select * from documents where ${VISIBLE} and document_id = ?4 limit 1`)
      .bind(...bounds(books, organization_id), document_id)
      .all<DocumentRow>()
  ).results[0]

export const knownDocuments = async (ledger: D1Database, entity: number, ids: readonly string[]): Promise<Set<string>> =>
  new Set(
    (
      await ledger
        .prepare(`select d.document_id from json_each(?2) j cross join documents d on d.entity = ?1 and d.document_id = j.value`)
        .bind(entity, JSON.stringify(ids))
        .all<{ document_id: string }>()
    ).results.map(({ document_id }) => document_id),
  )

/** Keeps documents; of those known already only who may see them can change. `organizations` are read off the job at commit. */
export const keepStatement = (
  ledger: D1Database,
  rows: readonly Omit<DocumentRow, 'organizations'>[],
  job: { source: string; job_id: string },
) =>
  ledger
    .prepare(
      `insert into documents (entity, document_id, source, name, title, content_type, size, sha256, document_date, period_end, attributes,
         organizations, created_at)
       select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9, value->>10,
         s.organizations, value->>11
       from json_each(?1) cross join sync_jobs s on s.entity = value->>0 and s.source = ?2 and s.month = '' and s.job_id = ?3
       where true
       on conflict (entity, document_id) do update set organizations = (
         select json_group_array(value) from (
           select value from json_each(documents.organizations) union select value from json_each(excluded.organizations)))
       where exists (
         select 1 from json_each(excluded.organizations) x
         where not exists (select 1 from json_each(documents.organizations) k where k.value = x.value))`,
    )
    .bind(
      JSON.stringify(
        rows.map((row) => [
          row.entity,
          row.document_id,
          row.source,
          row.name,
          row.title,
          row.content_type,
          row.size,
          row.sha256,
          row.document_date,
          row.period_end,
          row.attributes,
          row.created_at,
        ]),
      ),
      job.source,
      job.job_id,
    )
