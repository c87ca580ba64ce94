import * as z from 'zod'
import { Failure, invalid, notFound } from '../../failures.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { openCursor, pageOf } from '../../platform/paging/cursor.ts'
import type { EventCatalog, NewWebhook, RotatedSecret, Webhook, WebhookChanges, WebhookDraft, WebhookQuery } from '../contract.ts'
import { CATALOG, PAYLOADS } from '../events/catalog.ts'
import { newSecret, wrapDigests } from './secret.ts'
import { ownerOf } from './signing.ts'
import { findWebhook, insertWebhook, listWebhookRows, updateSecret, updateWebhook, type WebhookRow } from './store.ts'
import { targetFault } from './target.ts'
import { wakeEndpoints } from './wake.ts'

const view = ({ webhook_id, name, type, url, event_keys, is_enabled, secret_hint, created_at, updated_at }: WebhookRow): Webhook => ({
  webhook_id,
  name,
  type,
  url,
  event_keys,
  is_enabled,
  secret_hint,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})

/** The endpoint of the organization; 404 when it is absent or another's. */
export async function requireWebhook({ db, organization }: Ctx, webhook_id: string): Promise<WebhookRow> {
  const row = await findWebhook(db, organization.id, webhook_id)
  if (!row) throw notFound('webhook')
  return row
}

const refuseTarget = ({ settings }: Ctx, url: string): void => {
  const message = targetFault(url, settings.publicHosts)
  if (message !== null) throw invalid('webhook.url', [{ path: 'url', message }])
}

/** Registers an endpoint. The secret is in this answer and nowhere else. 422 for a URL that may not be called. */
export async function createWebhook(ctx: Ctx, draft: WebhookDraft): Promise<NewWebhook> {
  refuseTarget(ctx, draft.url)
  const holder = { organization_id: ctx.organization.id, webhook_id: newId('wh'), secret_version: 1 }
  const { signing_secret, secret_hint, digests } = await newSecret()
  const row = {
    ...holder,
    ...draft,
    is_enabled: true,
    digests: await wrapDigests(ctx.settings.webhookKeys, ownerOf(ctx, holder), digests),
    secret_hint,
    next_digests: null,
    next_hint: null,
    undelivered: 0,
    created_at: ctx.now,
    updated_at: ctx.now,
    deleted_at: null,
  }
  await change(ctx, { action: 'webhook.created', resource_id: holder.webhook_id, changed: Object.keys(draft) }, [
    insertWebhook(ctx.db, row),
  ])
  return { ...view({ ...row, webhook: 0 }), signing_secret }
}

/** The organization's endpoints, oldest first. */
export async function listWebhooks(ctx: Ctx, query: WebhookQuery) {
  const scope = { list: 'webhooks', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listWebhookRows(ctx.db, ctx.organization.id, Number(after ?? 0), query.limit + 1)
  return pageOf(ctx, scope, query.limit, rows, (row) => [row.webhook], view)
}

export const getWebhook = async (ctx: Ctx, webhook_id: string): Promise<Webhook> => view(await requireWebhook(ctx, webhook_id))

const gone = (error: unknown): unknown => (isGuardViolation(error) ? notFound('webhook') : error)

/** Changes what is sent. Enabled again, it is sent what waited meanwhile. 404; 422 for a URL that may not be called. */
export async function changeWebhook(ctx: Ctx, webhook_id: string, changes: WebhookChanges): Promise<Webhook> {
  if (changes.url !== undefined) refuseTarget(ctx, changes.url)
  const stored = await requireWebhook(ctx, webhook_id)
  const changed = Object.keys(changes)
  if (changed.length === 0) return view(stored)
  const columns = { ...changes, updated_at: ctx.now } as Partial<WebhookRow>
  try {
    await change(ctx, { action: 'webhook.updated', resource_id: webhook_id, changed }, [updateWebhook(ctx.db, stored, columns)])
  } catch (error) {
    throw gone(error)
  }
  if (changes.is_enabled) await wakeEndpoints(ctx, [stored.webhook])
  return view({ ...stored, ...columns })
}

/** Removes an endpoint: nothing more is sent to it, and its log is cleared. 404. */
export async function deleteWebhook(ctx: Ctx, webhook_id: string): Promise<void> {
  const stored = await requireWebhook(ctx, webhook_id)
  try {
    await change(ctx, { action: 'webhook.deleted', resource_id: webhook_id }, [updateWebhook(ctx.db, stored, { deleted_at: ctx.now })])
  } catch (error) {
    throw gone(error)
  }
  await wakeEndpoints(ctx, [stored.webhook])
}

/** Makes a secret that will sign from its commit on; asked for again, the new one replaces the one that waits. 404. */
export async function rotateSecret(ctx: Ctx, webhook_id: string): Promise<RotatedSecret> {
  const stored = await requireWebhook(ctx, webhook_id)
  const { signing_secret, secret_hint, digests } = await newSecret()
  const owner = ownerOf(ctx, { ...stored, secret_version: stored.secret_version + 1 })
  const next = { next_digests: await wrapDigests(ctx.settings.webhookKeys, owner, digests), next_hint: secret_hint }
  try {
    await change(ctx, { action: 'webhook.secret_rotated', resource_id: webhook_id }, [updateSecret(ctx.db, stored, next)])
  } catch (error) {
    throw isGuardViolation(error) ? busy() : error
  }
  return { webhook_id, signing_secret, secret_hint }
}

const busy = () => new Failure('contention', 'webhook.changed', 'The secret is being rotated by somebody else at the same time. Try again.')

/** From now on the secret of the last rotation signs, of retries as well. 404; 409 when there is none. */
export async function commitSecret(ctx: Ctx, webhook_id: string): Promise<Webhook> {
  const stored = await requireWebhook(ctx, webhook_id)
  const { next_digests, next_hint } = stored
  if (next_digests === null || next_hint === null)
    throw new Failure('conflict', 'webhook.no_rotation', 'No new secret waits to be committed. Call rotate-secret first.')
  const columns = {
    secret_version: stored.secret_version + 1,
    digests: next_digests,
    secret_hint: next_hint,
    next_digests: null,
    next_hint: null,
    updated_at: ctx.now,
  }
  try {
    await change(ctx, { action: 'webhook.secret_committed', resource_id: webhook_id }, [updateSecret(ctx.db, stored, columns)])
  } catch (error) {
    throw isGuardViolation(error) ? busy() : error
  }
  return view({ ...stored, ...columns })
}

/** What can be subscribed to. */
export const listCatalog = (): EventCatalog => ({
  data: CATALOG.map(({ key, description, sample }) => {
    const payload = PAYLOADS[key as keyof typeof PAYLOADS] as z.ZodType | undefined
    const schema = payload ? (z.toJSONSchema(payload) as Record<string, unknown>) : null
    return { key, description, available: sample !== null, schema, sample }
  }),
})
