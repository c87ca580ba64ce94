import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Certificate } from '../authority/port/fields-contract.ts'
import { bare, prepared } from '../platform/db/statement.ts'
import { organizations } from '../platform/tenant/tables.ts'
import { connections } from '../taxpayers/tables.ts'
import { d } from './store.ts'
import { certificates, documents } from './tables.ts'

const { entity, serial, valid_to } = certificates
const [c, o] = [alias(connections, 'c'), alias(organizations, 'o')]
const PLACE = sql`${valid_to}, ${entity}, ${serial}`

/** Keeps until when certificates are valid. */
export const insertCertificates = (ledger: D1Database, taxpayer: number, listed: readonly Certificate[]) =>
  prepared(
    ledger,
    sql`insert into ${certificates} ${[entity, serial, valid_to].map(bare)}
      select ${taxpayer}, value->>0, value->>1 from json_each(${JSON.stringify(listed.map((one) => [one.serial, one.valid_to]))}) where true
      on conflict do nothing`,
  )

/** A certificate with the organizations whose latest list names it as active. */
export interface ExpiringCertificate {
  entity: number
  serial: string
  kind: Certificate['kind']
  valid_to: string
  /** JSON array. */
  organizations: string
}

/** The place of a certificate in the order of the days on which they expire. */
export type CertificatePlace = readonly [valid_to: string, entity: number, serial: string]

/** Returns the first certificates after a place that expire up to a day. */
export const nextCertificates = async (ledger: D1Database, after: CertificatePlace, until: string, limit: number) =>
  (
    await prepared(
      ledger,
      sql`select ${PLACE} from ${certificates} indexed by certificates_expiring
        where (${PLACE}) > ${after} and ${valid_to} <= ${until} order by ${PLACE} limit ${limit}`,
    ).all<Pick<ExpiringCertificate, 'entity' | 'serial' | 'valid_to'>>()
  ).results

/** Returns for whom these certificates expire: the organizations whose latest list of certificates still names them as active. */
export const holdersOf = async (ledger: D1Database, page: readonly Pick<ExpiringCertificate, 'entity' | 'serial'>[]) => {
  const json = JSON.stringify(page.map((one) => [one.entity, one.serial]))
  const { results } = await prepared(
    ledger,
    sql`with lists as materialized (
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
  ).all<ExpiringCertificate>()
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
export const recipientsOf = async (control: D1Database, held: readonly ExpiringCertificate[]): Promise<CertificateRecipient[]> =>
  (
    await prepared(
      control,
      sql`select h.key as n, ${c.organization_id}, ${o.events_shard}, ${o.timezone}, ${c.fiscal_entity_id}, ${c.rfc}
        from json_each(${JSON.stringify(held.map((one) => [one.entity, JSON.parse(one.organizations) as string[]]))}) h
        cross join json_each(h.value->1) named
        cross join ${connections} ${c} indexed by connections_rfc
          on ${c.organization_id} = named.value and ${c.entity} = h.value->>0 and ${c.state} = 'active'
        cross join ${organizations} ${o} on ${o.id} = ${c.organization_id}`,
    ).all<CertificateRecipient>()
  ).results
