import { and, asc, eq, gt, isNull, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { webhooks } from '../tables.ts'

export type WebhookRow = typeof webhooks.$inferSelect

const one = (organization_id: string, webhook_id: string) =>
  and(eq(webhooks.webhook_id, webhook_id), eq(webhooks.organization_id, organization_id), isNull(webhooks.deleted_at))

export const findWebhook = async (db: Database, organization_id: string, webhook_id: string): Promise<WebhookRow | undefined> =>
  (await db.select().from(webhooks).where(one(organization_id, webhook_id)).limit(1))[0]

export const listWebhookRows = (db: Database, organization_id: string, after: number, limit: number): Promise<WebhookRow[]> =>
  db
    .select()
    .from(webhooks)
    .where(and(eq(webhooks.organization_id, organization_id), isNull(webhooks.deleted_at), gt(webhooks.webhook, after)))
    .orderBy(asc(webhooks.webhook))
    .limit(limit)
    .all()

export const insertWebhook = (db: Database, row: Omit<WebhookRow, 'webhook'>) => db.insert(webhooks).values(row)

/** Changes an endpoint that is still there; otherwise refuses its whole batch with a guard violation, by making the name null. */
export const updateWebhook = (db: Database, { webhook }: WebhookRow, changes: Partial<WebhookRow>) =>
  db
    .update(webhooks)
    .set({ ...changes, name: sql`case when deleted_at is null then coalesce(${changes.name ?? null}, name) end` })
    .where(eq(webhooks.webhook, webhook))

/** The same, as long as no other secret was asked for or committed meanwhile. */
export const updateSecret = (db: Database, { webhook, secret_version, next_hint }: WebhookRow, changes: Partial<WebhookRow>) =>
  db
    .update(webhooks)
    .set({
      ...changes,
      name: sql`case when deleted_at is null and secret_version = ${secret_version} and next_hint is ${next_hint} then name end`,
    })
    .where(eq(webhooks.webhook, webhook))

type Stored = WebhookRow['digests'] | null

/** Puts the same digests, wrapped anew, in the place of these, unless others have come there meanwhile. */
export const rewrap = (db: Database, webhook: number, from: { digests: Stored; next: Stored }, to: { digests: Stored; next: Stored }) =>
  db.$client
    .prepare('update webhooks set digests = ?2, next_digests = ?3 where webhook = ?1 and digests = ?4 and next_digests is ?5')
    .bind(webhook, ...[to.digests, to.next, from.digests, from.next].map((it) => it && JSON.stringify(it)))

/** Endpoints after one with digests that are not wrapped under the current key. */
export const wrappedOtherwise = (db: Database, version: string, after: number, limit: number): Promise<WebhookRow[]> =>
  db
    .select()
    .from(webhooks)
    .where(
      and(
        gt(webhooks.webhook, after),
        isNull(webhooks.deleted_at),
        sql`(digests not like ${`{"a":"${version}:%`} or next_digests not like ${`{"a":"${version}:%`})`,
      ),
    )
    .orderBy(asc(webhooks.webhook))
    .limit(limit)
    .all()
