import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Certificate } from '../authority/port/fields-contract.ts'
import { bare, readRows } from '../platform/db/statement.ts'
import { INTO_OUTBOX } from '../platform/outbox/outbox.ts'
import { organizations } from '../platform/tenant/tables.ts'
import { connections } from '../taxpayers/tables.ts'
import { requestersOf } from '../taxpayers/visibility/jobs.ts'
import { DOCUMENT_READ } from './news.ts'
import { type DocumentRow, d, fieldsOf } from './store.ts'
import { certificates, documents, obligationRules } from './tables.ts'

const { entity, serial, valid_to } = certificates
const [c, o] = [alias(connections, 'c'), alias(organizations, 'o')]
const POSITION = sql`${valid_to}, ${entity}, ${serial}`

/** Stores the last days of certificates. */
export const insertCertificates = (taxpayer: number, listed: readonly Certificate[]) =>
  sql`insert into ${certificates} ${[entity, serial, valid_to].map(bare)}
      select ${taxpayer}, value->>0, value->>1 from json_each(${JSON.stringify(listed.map((one) => [one.serial, one.valid_to]))}) where true
      on conflict do nothing`

/** A certificate with the organizations whose latest list names it as active. */
export interface ExpiringCertificate {
  entity: number
  serial: string
  kind: Certificate['kind']
  valid_to: string
  /** JSON array. */
  organizations: string
}

/** The position of a certificate in the order of the days on which they expire. */
export type CertificatePosition = readonly [valid_to: string, entity: number, serial: string]

/** Returns the first certificates after a place that expire up to a day. */
export const nextCertificates = (
  after: CertificatePosition,
  until: string,
  limit: number,
): SQL<Pick<ExpiringCertificate, 'entity' | 'serial' | 'valid_to'>> =>
  sql<Pick<ExpiringCertificate, 'entity' | 'serial' | 'valid_to'>>`select ${POSITION} from ${certificates} indexed by certificates_expiring
        where (${POSITION}) > ${after} and ${valid_to} <= ${until} order by ${POSITION} limit ${limit}`

/** Returns for whom these certificates expire: the organizations whose latest list of certificates still names them as active. */
export const holdersOf = async (ledger: D1Database, page: readonly Pick<ExpiringCertificate, 'entity' | 'serial'>[]) => {
  const json = JSON.stringify(page.map((one) => [one.entity, one.serial]))
  const results = await readRows(
    ledger,
    sql<ExpiringCertificate>`with lists as materialized (
        select ${d.entity}, o.key as organization_id, max(${d.document_date} || ${d.document_id}) as last
        from (select distinct value->>0 as entity from json_each(${json})) e
        cross join ${documents} ${d} on ${d.entity} = e.entity and ${d.kind} = 'certificates' and ${d.fields_status} = 'read'
        cross join json_each(${d.organizations}) o
        group by ${d.entity}, o.key)
      select c.value->>0 as entity, c.value->>1 as serial, f.value->>'kind' as kind, f.value->>'valid_to' as valid_to,
        json_group_array(l.organization_id) as organizations
      from json_each(${json}) c cross join lists l on l.entity = c.value->>0
      cross join ${documents} ${d} on ${d.entity} = l.entity and ${d.document_id} = substr(l.last, 11)
      cross join json_each(${d.fields}, '$.certificates') f
      where f.value->>'serial' = c.value->>1 and f.value->>'status' = 'active'
      group by c.key`,
  )
  return results
}

/** An active connection of an organization that holds an expiring certificate. */
export interface CertificateRecipient {
  /** The number of the certificate in the question. */
  n: number
  organization_id: string
  events_shard: number
  timezone: string
  fiscal_entity_id: string
  rfc: string
}

/** Finds the active connections of the holders of certificates. */
export const recipientsOf = (stored: readonly ExpiringCertificate[]): SQL<CertificateRecipient> =>
  sql<CertificateRecipient>`select h.key as n, ${c.organization_id}, ${o.events_shard}, ${o.timezone}, ${c.fiscal_entity_id}, ${c.rfc}
        from json_each(${JSON.stringify(stored.map((one) => [one.entity, JSON.parse(one.organizations) as string[]]))}) h
        cross join json_each(h.value->1) named
        cross join ${connections} ${c} indexed by connections_rfc
          on ${c.organization_id} = named.value and ${c.entity} = h.value->>0 and ${c.state} = 'active'
        cross join ${organizations} ${o} on ${o.id} = ${c.organization_id}`

/** A row as it is stored. What the job decides is left out. */
export type KeptRow = Omit<DocumentRow, 'organizations' | 'is_current' | 'read_attempts'>

/** Returns the fields_status of these documents, as far as they are stored. */
export const knownDocuments = async (
  ledger: D1Database,
  entity: number,
  ids: readonly string[],
): Promise<Map<string, DocumentRow['fields_status']>> =>
  new Map(
    (
      await readRows(
        ledger,
        sql<
          Pick<DocumentRow, 'document_id' | 'fields_status'>
        >`select ${d.document_id}, ${d.fields_status} from json_each(${JSON.stringify(ids)}) j
          cross join ${documents} ${d} on ${d.entity} = ${entity} and ${d.document_id} = j.value`,
      )
    ).map(({ document_id, fields_status }) => [document_id, fields_status]),
  )

/** The columns that come with a document, in the order of their values. */
const KEPT = [
  ...(['entity', 'document_id', 'source', 'kind', 'series', 'name', 'title', 'content_type', 'size', 'sha256'] as const),
  ...(['document_date', 'period_end', 'attributes', 'fields_status', 'fields', 'fields_base', 'fields_reason'] as const),
]
const INSERTED = [...KEPT, 'organizations', 'created_at'] as const
const VALUES = sql.raw(KEPT.map((_, i) => `j.value->>${i}`).join(', '))

const IS_PENDING = sql`${documents.fields_status} = 'pending'`
const FIELDS = ['fields_status', 'fields', 'fields_base', 'fields_reason'] as const
const [ORGANIZATIONS, IS_CURRENT] = [bare(documents.organizations), bare(documents.is_current)]

/** Sets columns of a document. */
const setting = <Name extends keyof DocumentRow>(names: readonly Name[], value: (name: Name) => unknown): SQL =>
  sql.join(
    names.map((name) => sql`${bare(documents[name])} = ${value(name)}`),
    sql`, `,
  )

/**
 * Stores documents that came at the same time. In stored ones, only three things can change: the organizations that may read them, whether
 * they are current, and pending fields. The organizations are read from the job at commit.
 */
export const upsertDocuments = (rows: readonly KeptRow[], job: { entity: number; source: string; job_id: string }) => {
  const { created_at } = rows[0]!
  return sql`insert into ${documents} ${INSERTED.map((name) => bare(documents[name]))}
      with asked as materialized (
        select json_group_object(o.value, ${created_at}) as organizations from sync_jobs s cross join json_each(${requestersOf({ organizations: sql`s.organizations`, entity: sql`s.entity` })}) o
        where s.entity = ${job.entity} and s.source = ${job.source} and s.month = '' and s.job_id = ${job.job_id} group by s.job_id)
      select ${VALUES}, asked.organizations, ${created_at}
      from asked cross join json_each(${JSON.stringify(rows.map((row) => KEPT.map((name) => row[name])))}) j
      where true
      on conflict ${[documents.entity, documents.document_id].map(bare)} do update set
        ${ORGANIZATIONS} = json_patch(excluded.${ORGANIZATIONS}, ${documents.organizations}), ${IS_CURRENT} = 1,
        ${setting(FIELDS, (name) => sql`iif(${IS_PENDING}, excluded.${bare(documents[name])}, ${documents[name]})`)}
      where ${documents.is_current} = 0 or (${IS_PENDING} and excluded.${bare(documents.fields_status)} <> 'pending') or exists (
        select 1 from json_each(excluded.${ORGANIZATIONS}) x where json_extract(${documents.organizations}, '$.' || x.key) is null)`
}

/** Marks the documents of a source that the authority no longer delivers as not current. */
export const retireStatement = ({ entity, source }: { entity: number; source: string }, rows: readonly KeptRow[]) =>
  sql`update ${documents} set ${IS_CURRENT} = 0
      where ${documents.entity} = ${entity} and ${documents.source} = ${source} and ${documents.is_current} = 1
        and ${documents.document_id} not in (select value from json_each(${JSON.stringify(rows.map(({ document_id }) => document_id))}))`

/** Notifies the organizations with pending documents that their fields are read, before the statement that stores these. */
export const notifyRead = (entity: number, ids: readonly string[], now: number): SQL[] =>
  ids.length === 0
    ? []
    : [
        sql`${INTO_OUTBOX}
            select ${d.entity}, ${`${DOCUMENT_READ}:`} || ${d.document_id}, ${DOCUMENT_READ},
              (select json_group_array(key) from json_each(${d.organizations})), json_object('document_id', ${d.document_id}), ${now}
            from ${documents} ${d} where ${d.entity} = ${entity} and ${d.document_id} in (select value from json_each(${JSON.stringify(ids)}))
              and ${d.fields_status} = 'pending'
            on conflict do nothing`,
      ]

const PENDING = [...(['entity', 'document_id', 'source', 'series', 'kind', 'content_type', 'sha256', 'read_attempts'] as const)]

/** A document that is to be read. */
export type PendingDocument = Pick<DocumentRow, (typeof PENDING)[number]>

/** Takes the pending document that was tried the least, and counts the attempt. Null when there is none. */
export const takePending = (): SQL<PendingDocument> => {
  const key = [documents.entity, documents.document_id]
  const returned = sql.join(
    PENDING.map((name) => bare(documents[name])),
    sql`, `,
  )
  return sql<PendingDocument>`update ${documents} set ${setting(['read_attempts'], (name) => sql`${documents[name]} + 1`)} where ${key} = (
        select ${sql.join(key, sql`, `)} from ${documents} indexed by documents_pending where ${IS_PENDING}
        order by ${documents.read_attempts}, ${documents.created_at} limit 1)
      returning ${returned}`
}

/** Stores what was read of a pending document. */
export const readStatement = ({ entity, document_id }: PendingDocument, read: Pick<DocumentRow, (typeof FIELDS)[number]>) =>
  sql`update ${documents} set ${setting(FIELDS, (name) => read[name])}
      where ${documents.entity} = ${entity} and ${documents.document_id} = ${document_id} and ${IS_PENDING}`

/** Keeps the texts that say when the obligations of these documents are due, after the statement that stores their fields. */
export const insertObligationRules = (entity: number, ids: readonly string[]): SQL[] =>
  ids.length === 0
    ? []
    : [
        sql`insert into ${obligationRules} ${[obligationRules.due_rule, obligationRules.entity].map(bare)}
            select distinct o.value->>'due_rule', ${d.entity}
            from json_each(${JSON.stringify(ids)}) j cross join ${documents} ${d} on ${d.entity} = ${entity} and ${d.document_id} = j.value
            cross join json_each(${fieldsOf(d)}, '$.obligations') o
            where ${d.fields_status} = 'read' and o.value->>'due_rule' is not null on conflict do nothing`,
      ]
