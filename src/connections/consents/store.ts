import { and, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../platform/context.ts'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { bare } from '../../platform/db/statement.ts'
import { isAbout } from '../../platform/tenant/bound.ts'
import type { Tenant } from '../../platform/tenant/tenant.ts'
import type { ConnectionRow } from '../../taxpayers/taxpayers.ts'
import { consents } from '../tables.ts'

export type ConsentRow = typeof consents.$inferSelect

/** The connection that a consent is about. */
export type OfConsent = Pick<ConnectionRow, 'organization_id' | 'fiscal_entity_id' | 'entity' | 'rfc' | 'data_source_keys'>

const activeOf = ({ organization_id, fiscal_entity_id }: Pick<OfConsent, 'organization_id' | 'fiscal_entity_id'>): SQL =>
  sql`${consents.organization_id} = ${organization_id} and ${consents.fiscal_entity_id} = ${fiscal_entity_id} and ${consents.status} = 'active'`

const COLUMNS = Object.values(getTableColumns(consents))

/** Records that the customer declares to have the consent of the taxpayer, unless there is a consent already. */
export const declareConsent = (ctx: Pick<Ctx, 'now'>, of: OfConsent, reference: string | null): SQL => {
  const values: Partial<Record<keyof ConsentRow, string | number | null>> = {
    ...{ consent_id: newId('cns'), organization_id: of.organization_id, fiscal_entity_id: of.fiscal_entity_id },
    ...{ entity: of.entity, rfc: of.rfc, consent_reference: reference, purposes: '[]' },
    sources: of.data_source_keys && JSON.stringify(of.data_source_keys),
    ...{ granted_at: ctx.now.getTime(), method: 'declared_by_customer', status: 'active' },
  }
  const selected = COLUMNS.map(({ name }) => sql`${values[name as keyof ConsentRow] ?? null}`)
  return sql`insert into ${consents} ${COLUMNS.map(bare)} select ${sql.join(selected, sql`, `)}
    where not exists (select 1 from ${consents} where ${activeOf(of)})`
}

/** Puts a consent in the place of the one that counts, if any. */
export const replaceConsent = (db: Database, row: ConsentRow) => [
  sql`update ${consents} set ${bare(consents.status)} = 'superseded', ${bare(consents.ended_at)} = ${row.granted_at.getTime()}
    where ${activeOf(row)}`,
  db.insert(consents).values(row),
]

export const assertConsent = (of: Pick<OfConsent, 'organization_id' | 'fiscal_entity_id'>): SQL =>
  assertThat(sql`exists (select 1 from ${consents} where ${activeOf(of)})`, 'consent.of_connection')

/** Ends the consent of a connection that the organization unlinks. */
export const endWithConnection = (of: Pick<OfConsent, 'organization_id' | 'fiscal_entity_id'>, now: Date): SQL =>
  sql`update ${consents} set ${bare(consents.status)} = 'withdrawn', ${bare(consents.ended_at)} = ${now.getTime()},
      ${bare(consents.withdrawn_by)} = 'customer'
    where ${activeOf(of)}`

/** Ends a consent. Refuses its batch unless the consent counts. */
export const endConsent = (
  db: Database,
  { consent_id }: Pick<ConsentRow, 'consent_id'>,
  end: Pick<ConsentRow, 'status' | 'ended_at' | 'withdrawn_by'>,
) => [
  assertThat(
    sql`exists (select 1 from ${consents} where ${consents.consent_id} = ${consent_id} and ${consents.status} = 'active')`,
    'consent.active',
  ),
  db.update(consents).set(end).where(eq(consents.consent_id, consent_id)),
]

const ofTenant = (tenant: Tenant) => and(eq(consents.organization_id, tenant.id), isAbout(tenant, consents.fiscal_entity_id))

export const findConsent = async (db: Database, tenant: Tenant, consent_id: string): Promise<ConsentRow | undefined> =>
  (
    await db
      .select()
      .from(consents)
      .where(and(eq(consents.consent_id, consent_id), ofTenant(tenant)))
      .limit(1)
  )[0]

/** The consent that counts for a connection. */
export const findActive = async (db: Database, of: Pick<OfConsent, 'organization_id' | 'fiscal_entity_id'>) =>
  (await db.select().from(consents).where(activeOf(of)).limit(1))[0]

export const findByCode = async (db: Database, code_digest: string): Promise<ConsentRow | undefined> =>
  (await db.select().from(consents).where(eq(consents.code_digest, code_digest)).limit(1))[0]

/** A page of an organization's consents, newest first, before one. */
export const listConsentRows = (
  db: Database,
  tenant: Tenant,
  { fiscal_entity_id, status }: { fiscal_entity_id?: string | undefined; status?: ConsentRow['status'] | undefined },
  before: string | undefined,
  limit: number,
): Promise<ConsentRow[]> =>
  db
    .select()
    .from(consents)
    .where(
      and(
        ofTenant(tenant),
        fiscal_entity_id === undefined ? undefined : eq(consents.fiscal_entity_id, fiscal_entity_id),
        status === undefined ? undefined : eq(consents.status, status),
        before === undefined ? undefined : lt(consents.consent_id, before),
      ),
    )
    .orderBy(desc(consents.consent_id))
    .limit(limit)
    .all()

/** Consents whose time has ended. */
export const endedConsents = (db: Database, now: Date, limit: number): Promise<ConsentRow[]> =>
  db
    .select()
    .from(consents)
    .where(sql`${consents.status} = 'active' and ${consents.ends_at} <= ${now.getTime()}`)
    .orderBy(consents.ends_at)
    .limit(limit)
    .all()
