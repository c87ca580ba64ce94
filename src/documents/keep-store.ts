import { askersOf } from '../visibility/askers.ts'
import { DOCUMENT_READ } from './news.ts'
import { type DocumentRow, fieldsOf } from './store.ts'

/** A row as it is stored. What the job decides is left out. */
export type KeptRow = Omit<DocumentRow, 'organizations' | 'is_current' | 'read_attempts'>

/** Returns the fields_status of those of these documents that are stored. */
export const knownDocuments = async (
  ledger: D1Database,
  entity: number,
  ids: readonly string[],
): Promise<Map<string, DocumentRow['fields_status']>> =>
  new Map(
    (
      await ledger
        .prepare(
          `select d.document_id, d.fields_status from json_each(?2) j cross join documents d on d.entity = ?1 and d.document_id = j.value`,
        )
        .bind(entity, JSON.stringify(ids))
        .all<Pick<DocumentRow, 'document_id' | 'fields_status'>>()
    ).results.map(({ document_id, fields_status }) => [document_id, fields_status]),
  )

/**
 * Stores documents that came at the same time. In stored ones, only the organizations that may read them can change, whether they are current, and the fields that
 * were pending. The organizations are read from the job at commit.
 */
export const upsertDocuments = (ledger: D1Database, rows: readonly KeptRow[], job: { entity: number; source: string; job_id: string }) =>
  ledger
    .prepare(
      `insert into documents (entity, document_id, source, kind, series, name, title, content_type, size, sha256, document_date, period_end,
         attributes, fields_status, fields, fields_base, fields_reason, organizations, created_at)
       with asked as materialized (
         select json_group_object(o.value, ?5) as organizations from sync_jobs s cross join json_each(${askersOf('s')}) o
         where s.entity = ?2 and s.source = ?3 and s.month = '' and s.job_id = ?4 group by s.job_id)
       select d.value->>0, d.value->>1, d.value->>2, d.value->>3, d.value->>4, d.value->>5, d.value->>6, d.value->>7, d.value->>8,
         d.value->>9, d.value->>10, d.value->>11, d.value->>12, d.value->>13, d.value->>14, d.value->>15,
         d.value->>16, asked.organizations, ?5
       from asked cross join json_each(?1) d
       where true
       on conflict (entity, document_id) do update set
         organizations = json_patch(excluded.organizations, documents.organizations), is_current = 1,
         fields = iif(documents.fields_status = 'pending', excluded.fields, documents.fields),
         fields_base = iif(documents.fields_status = 'pending', excluded.fields_base, documents.fields_base),
         fields_reason = iif(documents.fields_status = 'pending', excluded.fields_reason, documents.fields_reason),
         fields_status = iif(documents.fields_status = 'pending', excluded.fields_status, documents.fields_status)
       where is_current = 0 or (documents.fields_status = 'pending' and excluded.fields_status <> 'pending') or exists (
         select 1 from json_each(excluded.organizations) x where json_extract(documents.organizations, '$.' || x.key) is null)`,
    )
    .bind(
      JSON.stringify(
        rows.map((row) => [
          row.entity,
          row.document_id,
          row.source,
          row.kind,
          row.series,
          row.name,
          row.title,
          row.content_type,
          row.size,
          row.sha256,
          row.document_date,
          row.period_end,
          row.attributes,
          row.fields_status,
          row.fields,
          row.fields_base,
          row.fields_reason,
        ]),
      ),
      ...[job.entity, job.source, job.job_id, rows[0]!.created_at],
    )

/** The documents of a source that the authority does not deliver any more are not current. */
export const retireStatement = (ledger: D1Database, { entity, source }: { entity: number; source: string }, rows: readonly KeptRow[]) =>
  ledger
    .prepare(
      `update documents set is_current = 0
       where entity = ?1 and source = ?2 and is_current = 1 and document_id not in (select value from json_each(?3))`,
    )
    .bind(entity, source, JSON.stringify(rows.map(({ document_id }) => document_id)))

/** Tells those who have pending documents that their fields are read, before the statement that stores these. */
export const tellRead = (ledger: D1Database, entity: number, ids: readonly string[], now: number): D1PreparedStatement[] =>
  ids.length === 0
    ? []
    : [
        ledger
          .prepare(
            `insert into outbox (entity, fact_id, kind, organizations, body, created_at)
             select entity, '${DOCUMENT_READ}:' || document_id, '${DOCUMENT_READ}',
               (select json_group_array(key) from json_each(organizations)), json_object('document_id', document_id), ?3
             from documents where entity = ?1 and document_id in (select value from json_each(?2)) and fields_status = 'pending'
             on conflict do nothing`,
          )
          .bind(entity, JSON.stringify(ids), now),
      ]

/** A document that is to be read. */
export type PendingDocument = Pick<
  DocumentRow,
  'entity' | 'document_id' | 'source' | 'series' | 'kind' | 'content_type' | 'sha256' | 'read_attempts'
>

/** Takes the pending document that was tried the least, and counts the attempt. Null when there is none. */
export const takePending = (ledger: D1Database): Promise<PendingDocument | null> =>
  ledger
    .prepare(
      `update documents set read_attempts = read_attempts + 1 where (entity, document_id) = (
         select entity, document_id from documents indexed by documents_pending where fields_status = 'pending'
         order by read_attempts, created_at limit 1)
       returning entity, document_id, source, series, kind, content_type, sha256, read_attempts`,
    )
    .first<PendingDocument>()

/** Stores what was read of a pending document. */
export const readStatement = (
  ledger: D1Database,
  { entity, document_id }: PendingDocument,
  { fields_status, fields, fields_base, fields_reason }: Pick<DocumentRow, 'fields_status' | 'fields' | 'fields_base' | 'fields_reason'>,
) =>
  ledger
    .prepare(
      `update documents set fields_status = ?3, fields = ?4, fields_base = ?5, fields_reason = ?6
       where entity = ?1 and document_id = ?2 and fields_status = 'pending'`,
    )
    .bind(entity, document_id, fields_status, fields, fields_base, fields_reason)

/** Keeps the texts that say when the obligations of these documents are due, after the statement that stores their fields. */
export const insertObligationRules = (ledger: D1Database, entity: number, ids: readonly string[]): D1PreparedStatement[] =>
  ids.length === 0
    ? []
    : [
        ledger
          .prepare(
            `insert into obligation_rules (due_rule, entity)
             select distinct o.value->>'due_rule', d.entity
             from json_each(?2) j cross join documents d on d.entity = ?1 and d.document_id = j.value
             cross join json_each(${fieldsOf('d')}, '$.obligations') o
             where d.fields_status = 'read' and o.value->>'due_rule' is not null on conflict do nothing`,
          )
          .bind(entity, JSON.stringify(ids)),
      ]
