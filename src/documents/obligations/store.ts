import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { ObligationList } from '../../authority/port/fields-contract.ts'
import { commit } from '../../platform/db/commit.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { connections } from '../../taxpayers/tables.ts'
import { requestersOf } from '../../taxpayers/visibility/jobs.ts'
import { type DocumentReader, type DocumentRow, d, documentOf, fieldsOf, readerJson, versionsOf } from '../store.ts'
import { obligationRules } from '../tables.ts'
import type { Filing } from './obligations-of.ts'

/** The document that names the obligations of a taxpayer. */
export type Source = Pick<DocumentRow, 'document_id' | 'source' | 'document_date'>

/** The obligations and returns that a reader can read. */
export interface RegisteredObligations {
  source: Source | null
  obligations: ObligationList['obligations']
  returns: Filing[]
  downloaded: { monthly: boolean; annual: boolean }
}

type Row = Source & Pick<DocumentRow, 'kind' | 'period_end' | 'attributes' | 'fields'> & { n: number; version: number }

const RETURNS = { monthly: 'sat_declaracion_mensual', annual: 'sat_declaracion_anual' } as const

const { due_rule } = obligationRules
const o = alias(obligationRules, 'o')
const [c, organization] = [alias(connections, 'c'), alias(organizations, 'o')]

/** Reads the obligations and returns that these readers can read, in their order; the returns since a day. One call. */
export async function readRegistrations(d1: D1Database, readers: readonly DocumentReader[], since = ''): Promise<RegisteredObligations[]> {
  const json = JSON.stringify(readers.map(readerJson))
  const [documents, jobs] = await commit(d1, [
    sql`with ${versionsOf(
      json,
      sql`${d.kind} in ('csf', 'obligations', 'declaracion')
          and (${d.kind} <> 'declaracion' or ${d.document_date} >= ${since})`,
    )},
        ranked as (
          select *, row_number() over (partition by n, kind order by version desc) as place from versions
          where kind <> 'declaracion' and fields_status = 'read'),
        wanted as (
          select n, kind, version, entity, document_id from versions where kind = 'declaracion'
          union all select n, kind, version, entity, document_id from ranked where place = 1)
        select r.n, r.kind, r.version, ${d.document_id}, ${d.source}, ${d.document_date}, ${d.period_end}, ${d.attributes},
          iif(r.kind = 'declaracion', null, ${fieldsOf(d)}) as fields
        from wanted r ${documentOf('r')}`,
    sql`select distinct a.key as n, s.source from json_each(${json}) a cross join sync_jobs s
        where s.entity = a.value->>0 and s.source in (${RETURNS.monthly}, ${RETURNS.annual}) and s.month = '' and s.status = 'succeeded'
          and (a.value->>2 is null or exists (select 1 from json_each(${requestersOf({ organizations: sql`s.organizations`, entity: sql`s.entity` })}) o where o.value = a.value->>2))`,
  ])
  const rows = Map.groupBy(documents!.results as unknown as Row[], ({ n }) => n)
  const ended = Map.groupBy(jobs!.results as unknown as { n: number; source: string }[], ({ n }) => n)
  return readers.map((_, n) => registrationOf(rows.get(n) ?? [], [...(rows.get(n) ?? []), ...(ended.get(n) ?? [])]))
}

function registrationOf(rows: readonly Row[], delivered: readonly { source: string }[]): RegisteredObligations {
  const named = ['obligations', 'csf'].map((kind) => rows.find((one) => one.kind === kind)).find((one) => one !== undefined)
  const has = (source: string): boolean => delivered.some((one) => one.source === source)
  return {
    source: named ?? null,
    obligations: named ? (JSON.parse(named.fields!) as ObligationList).obligations : [],
    returns: rows
      .filter(({ kind }) => kind === 'declaracion')
      .map(({ attributes, ...row }) => ({ ...row, attributes: JSON.parse(attributes) as Record<string, string> })),
    downloaded: { monthly: has(RETURNS.monthly), annual: has(RETURNS.annual) },
  }
}

/** Returns the texts that say when something is due, as the documents of any taxpayer have them. Costs one seek for each. */
export const dueTexts = (): SQL<string> =>
  sql<string>`with recursive texts (text) as (
          select (select min(${due_rule}) from ${obligationRules})
          union all
          select (select min(${due_rule}) from ${obligationRules} where ${due_rule} > texts.text) from texts where text is not null)
        select text from texts where text is not null`

/** Returns the first entities after one whose documents have one of these texts. */
export const entitiesWith = (texts: readonly string[], after: number, limit: number): SQL<number> =>
  sql<number>`select distinct ${o.entity} from json_each(${JSON.stringify(texts)}) t cross join ${obligationRules} ${o}
        on ${o.due_rule} = t.value and ${o.entity} > ${after} order by ${o.entity} limit ${sql.raw(String(limit))}`

/** An active connection whose organization may be notified of obligations. */
export interface Listener extends Pick<Connection, 'entity' | 'rfc' | 'issued_from' | 'issued_to' | 'received_from' | 'received_to'> {
  organization_id: string
  extractor_count: number
}

/** Returns the active connections to these entities. */
export const listenersOf = (entities: readonly number[]): SQL<Listener> =>
  sql<Listener>`select ${c.entity}, ${c.organization_id}, ${c.rfc}, ${organization.extractor_count}, ${c.issued_from}, ${c.issued_to},
          ${c.received_from}, ${c.received_to}
        from json_each(${JSON.stringify(entities)}) e cross join ${connections} ${c} indexed by connections_entity
        cross join ${organizations} ${organization}
        where ${c.entity} = e.value and ${c.state} = 'active' and ${organization.id} = ${c.organization_id}`

/** Reads the contents of the readable versions of the documents about a taxpayer, oldest first. */
export const readVersions = (ledger: DocumentReader & { d1: D1Database }): SQL<{ kind: string; document_date: string; fields: string }> =>
  sql<{
    kind: string
    document_date: string
    fields: string
  }>`with ${versionsOf(JSON.stringify([readerJson(ledger)]), sql`${d.kind} in ('csf', 'opinion_32d', 'certificates')`)}
        select v.kind, ${d.document_date}, ${fieldsOf(d)} as fields
        from versions v ${documentOf('v')}
        where v.fields_status = 'read' order by v.kind, v.version`
