import type { ScopedLedger } from '../visibility/scoped-ledger.ts'
import type { documents } from './tables.ts'

export type DocumentRow = typeof documents.$inferSelect

/**
 * An organization may read a document when a run of its own fetched it or joined its job, and the document's period, or date, ends on or
 * after its floor. It does not get what only later runs of others fetch. An organization without extractors may read all. Parameters: ?1
 * entity, ?2 floor, ?3 the organization, or null for all.
 */
const VISIBLE = `entity = ?1 and (?2 is null or coalesce(period_end, document_date) >= ?2)
  and (?3 is null or json_extract(organizations, '$.' || ?3) is not null)`

const bounds = ({ entity, window }: ScopedLedger, organization_id: string) =>
  [entity, window.floor, !window.isEmpty && window.floor === null && window.ceiling === null ? null : organization_id] as const

/** Finds documents older than `before`, newest first. */
export const listDocuments = async (
  ledger: ScopedLedger,
  organization_id: string,
  { before, source, limit }: { before: string | null; source: string | null; limit: number },
) =>
  (
    await ledger.d1
      .prepare(
        `select * from documents where ${VISIBLE} and (?4 is null or document_id < ?4) and (?5 is null or source = ?5)
         order by document_id desc limit ?6`,
      )
      .bind(...bounds(ledger, organization_id), before, source, limit)
      .all<DocumentRow>()
  ).results

/** Finds a document that the organization may read. */
export const findDocument = async (ledger: ScopedLedger, organization_id: string, document_id: string) =>
  (
    await ledger.d1
      .prepare(`select * from documents where ${VISIBLE} and document_id = ?4 limit 1`)
      .bind(...bounds(ledger, organization_id), document_id)
      .all<DocumentRow>()
  ).results[0]

/** Returns those of these ids that are stored. */
export const knownDocuments = async (ledger: D1Database, entity: number, ids: readonly string[]): Promise<Set<string>> =>
  new Set(
    (
      await ledger
        .prepare(`select d.document_id from json_each(?2) j cross join documents d on d.entity = ?1 and d.document_id = j.value`)
        .bind(entity, JSON.stringify(ids))
        .all<{ document_id: string }>()
    ).results.map(({ document_id }) => document_id),
  )

/** Stores documents. In stored ones, only the organizations that may read them can change. These are read from the job at commit. */
export const upsertDocuments = (
  ledger: D1Database,
  rows: readonly Omit<DocumentRow, 'organizations'>[],
  job: { source: string; job_id: string },
) =>
  ledger
    .prepare(
      `insert into documents (entity, document_id, source, name, title, content_type, size, sha256, document_date, period_end, attributes,
         organizations, created_at)
       select d.value->>0, d.value->>1, d.value->>2, d.value->>3, d.value->>4, d.value->>5, d.value->>6,
         d.value->>7, d.value->>8, d.value->>9, d.value->>10,
         (select json_group_object(o.value, d.value->>11) from json_each(s.organizations) o), d.value->>11
       from json_each(?1) d cross join sync_jobs s on s.entity = d.value->>0 and s.source = ?2 and s.month = '' and s.job_id = ?3
       where true
       on conflict (entity, document_id) do update set organizations = json_patch(excluded.organizations, documents.organizations)
       where exists (
         select 1 from json_each(excluded.organizations) x where json_extract(documents.organizations, '$.' || x.key) is null)`,
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
