import { and, asc, eq, getTableColumns, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { uuidOf } from '../../platform/db/id.ts'
import { bare } from '../../platform/db/statement.ts'
import { hasOnly } from '../../platform/tenant/bound.ts'
import type { Tenant } from '../../platform/tenant/tenant.ts'
import { webhooks } from '../tables.ts'

export type WebhookRow = typeof webhooks.$inferSelect

/** An endpoint with the outcome of its newest attempted delivery. */
export type ShownWebhook = WebhookRow & { last_delivery: 'delivered' | 'undelivered' | null }

/** How many of the newest deliveries are searched for an attempted one. */
const LOOKED_AT = 20

const SHOWN = {
  ...getTableColumns(webhooks),
  last_delivery: sql<ShownWebhook['last_delivery']>`(
    select iif(d.status = 'delivered', 'delivered', 'undelivered') from (
      select seq, redelivery, status, attempts from deliveries where webhook = webhooks.webhook
      order by seq desc, redelivery desc limit ${sql.raw(String(LOOKED_AT))}) d
    where d.attempts <> '[]' order by d.seq desc, d.redelivery desc limit 1)`,
}

/** The condition that an endpoint is of a tenant. Who is bound to RFCs has those that are for none but these. */
const isOf = (tenant: Tenant) =>
  and(eq(webhooks.organization_id, tenant.id), isNull(webhooks.deleted_at), hasOnly(tenant, webhooks.fiscal_entity_uuids, uuidOf))

export const findWebhook = async (db: Database, tenant: Tenant, webhook_id: string): Promise<ShownWebhook | undefined> =>
  (
    await db
      .select(SHOWN)
      .from(webhooks)
      .where(and(eq(webhooks.webhook_id, webhook_id), isOf(tenant)))
      .limit(1)
  )[0]

export const listWebhookRows = (db: Database, tenant: Tenant, after: number, limit: number): Promise<ShownWebhook[]> =>
  db
    .select(SHOWN)
    .from(webhooks)
    .where(and(isOf(tenant), gt(webhooks.webhook, after)))
    .orderBy(asc(webhooks.webhook))
    .limit(limit)
    .all()

/** Selects the number of the organization's endpoints. */
export const webhooksUsed = (organization_id: string): SQL =>
  sql`select count(*) from ${webhooks} indexed by webhooks_organization
    where ${webhooks.organization_id} = ${organization_id} and ${webhooks.deleted_at} is null`

export const insertWebhook = (db: Database, row: Omit<WebhookRow, 'webhook'>) => db.insert(webhooks).values(row)

/** Refuses the batch if the endpoint is deleted. */
export const assertWebhookExists = (webhook: number): SQL => assertThat(sql`exists (${existing(webhook)})`, 'webhook.exists')

const existing = (webhook: number): SQL =>
  sql`select 1 from ${webhooks} where ${webhooks.webhook} = ${webhook} and ${webhooks.deleted_at} is null`

/** Refuses the batch if the endpoint was deleted, or another secret was made or committed, since the row was read. */
export const assertSecretUnchanged = ({ webhook, secret_version, next_hint }: WebhookRow): SQL =>
  assertThat(
    sql`exists (${existing(webhook)} and ${webhooks.secret_version} = ${secret_version} and ${webhooks.next_hint} is ${next_hint})`,
    'webhook.secret_unchanged',
  )

export const updateWebhook = (db: Database, webhook: number, changes: Partial<WebhookRow>) =>
  db.update(webhooks).set(changes).where(eq(webhooks.webhook, webhook))

type StoredDigests = WebhookRow['digests'] | null
interface SecretDigests {
  digests: StoredDigests
  next: StoredDigests
  header: WebhookRow['header_value']
}

/** Replaces wrapped digests and a sealed header by the same under another key, unless a request has changed them in the meantime. */
export const replaceDigests = (webhook: number, from: SecretDigests, to: SecretDigests): SQL => {
  const text = (digests: StoredDigests) => digests && JSON.stringify(digests)
  return sql`update ${webhooks} set ${bare(webhooks.digests)} = ${text(to.digests)}, ${bare(webhooks.next_digests)} = ${text(to.next)},
        ${bare(webhooks.header_value)} = ${to.header}
      where ${webhooks.webhook} = ${webhook} and ${webhooks.digests} = ${text(from.digests)}
        and ${webhooks.next_digests} is ${text(from.next)} and ${webhooks.header_value} is ${from.header}`
}

/** Returns a page of endpoints with digests or a header that are wrapped with another version of the key, in the order of their numbers. */
export const listOutdatedDigests = (db: Database, version: string, after: number, limit: number): Promise<WebhookRow[]> =>
  db
    .select()
    .from(webhooks)
    .where(
      and(
        gt(webhooks.webhook, after),
        isNull(webhooks.deleted_at),
        sql`(${webhooks.digests} not like ${`{"a":"${version}:%`} or ${webhooks.next_digests} not like ${`{"a":"${version}:%`}
          or ${webhooks.header_value} not like ${`${version}:%`})`,
      ),
    )
    .orderBy(asc(webhooks.webhook))
    .limit(limit)
    .all()
