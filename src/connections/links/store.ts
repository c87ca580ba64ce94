import { and, desc, eq, lt, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, changesOf } from '../../platform/db/statement.ts'
import { isAbout } from '../../platform/tenant/bound.ts'
import type { Tenant } from '../../platform/tenant/tenant.ts'
import { connectLinks as links } from '../tables.ts'

export type LinkRow = typeof links.$inferSelect

/** How many logins of a link may be refused. */
export const MOST_LOGINS = 5

const ofTenant = (tenant: Tenant) => and(eq(links.organization_id, tenant.id), isAbout(tenant, links.fiscal_entity_id))

export const insertLink = (db: Database, row: LinkRow) => db.insert(links).values(row)

export const findLink = async (db: Database, tenant: Tenant, connect_link_id: string): Promise<LinkRow | undefined> =>
  (
    await db
      .select()
      .from(links)
      .where(and(eq(links.connect_link_id, connect_link_id), ofTenant(tenant)))
      .limit(1)
  )[0]

export const findByDigest = async (db: Database, digest: string): Promise<LinkRow | undefined> =>
  (await db.select().from(links).where(eq(links.digest, digest)).limit(1))[0]

/** The condition that a link is shown with a status at an instant, in milliseconds. */
const shownAs = (status: LinkRow['status'], now: number): SQL => {
  const isOver = sql`${links.expires_at} <= ${now} and ${links.status} in ('created', 'opened', 'verifying', 'refused')`
  return status === 'expired' ? sql`(${links.status} = 'expired' or (${isOver}))` : sql`(${links.status} = ${status} and not (${isOver}))`
}

/** A page of an organization's links, newest first, before one. */
export const listLinkRows = (
  db: Database,
  tenant: Tenant,
  status: LinkRow['status'] | undefined,
  now: number,
  before: string | undefined,
  limit: number,
): Promise<LinkRow[]> =>
  db
    .select()
    .from(links)
    .where(
      and(
        ofTenant(tenant),
        status === undefined ? undefined : shownAs(status, now),
        before === undefined ? undefined : lt(links.connect_link_id, before),
      ),
    )
    .orderBy(desc(links.connect_link_id))
    .limit(limit)
    .all()

/** Refuses its batch unless a link is in one of these states. */
export const assertStatus = (connect_link_id: string, states: readonly LinkRow['status'][]): SQL =>
  assertThat(
    sql`exists (select 1 from ${links} where ${links.connect_link_id} = ${connect_link_id}
      and ${links.status} in (select value from json_each(${JSON.stringify(states)})))`,
    'connect_link.status',
  )

/** Refuses its batch unless a link is being verified with this token. */
export const assertClaim = (connect_link_id: string, token: string): SQL =>
  assertThat(
    sql`exists (select 1 from ${links} where ${links.connect_link_id} = ${connect_link_id} and ${links.status} = 'verifying'
      and ${links.token} = ${token})`,
    'connect_link.claim',
  )

export const updateLink = (db: Database, connect_link_id: string, changes: Partial<LinkRow>) =>
  db.update(links).set(changes).where(eq(links.connect_link_id, connect_link_id))

/**
 * Takes a link to verify a login, and counts the attempt beforehand, so that a crash does not win one. Returns whether it was free: not used
 * or over, with an attempt left, and verified by nobody else.
 */
export const claimLink = async (
  db: Database,
  connect_link_id: string,
  { token, now, lease_until }: { token: string; now: number; lease_until: number },
): Promise<boolean> =>
  (await changesOf(
    db.$client,
    sql`update ${links} set ${bare(links.status)} = 'verifying', ${bare(links.attempts)} = ${links.attempts} + 1,
          ${bare(links.token)} = ${token}, ${bare(links.lease_until)} = ${lease_until}
        where ${links.connect_link_id} = ${connect_link_id} and ${links.expires_at} > ${now} and ${links.attempts} < ${MOST_LOGINS}
          and (${links.status} in ('created', 'opened', 'refused') or (${links.status} = 'verifying' and ${links.lease_until} <= ${now}))`,
  )) > 0

/** Gives a link back whose login nobody judged. */
export const releaseLink = (connect_link_id: string, token: string): SQL =>
  sql`update ${links} set ${bare(links.status)} = iif(${links.code} is null, 'opened', 'refused'), ${bare(links.attempts)} = ${links.attempts} - 1,
        ${bare(links.token)} = null, ${bare(links.lease_until)} = null
      where ${links.connect_link_id} = ${connect_link_id} and ${links.status} = 'verifying' and ${links.token} = ${token}`

/** Links that have expired without a login, and of which that is not recorded. One that is verified now is left until that ends. */
export const overdueLinks = (db: Database, now: number, limit: number): Promise<LinkRow[]> =>
  db
    .select()
    .from(links)
    .where(
      sql`${links.status} in ('created', 'opened', 'verifying', 'refused') and ${links.expires_at} <= ${now}
        and coalesce(${links.lease_until}, 0) <= ${now}`,
    )
    .orderBy(links.expires_at)
    .limit(limit)
    .all()

/** Deletes links that expired until then. Returns how many. */
export const deleteLinks = (d1: D1Database, until: Date, limit: number): Promise<number> =>
  changesOf(
    d1,
    sql`delete from ${links} where ${links.connect_link_id} in (select ${links.connect_link_id} from ${links}
        where ${links.expires_at} <= ${until.getTime()} order by ${links.expires_at} limit ${limit})`,
  )
