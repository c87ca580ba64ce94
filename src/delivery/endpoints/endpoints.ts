import { takePlace } from '../../accounts/plans/place.ts'
import { changeEvents } from '../../platform/audit/audit.ts'
import { type Ctx, eventsOf } from '../../platform/context.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { idOfUuid, newId, uuidOf } from '../../platform/db/id.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import { targetFault } from '../../platform/target.ts'
import { findLinked } from '../../taxpayers/taxpayers.ts'
import { unsentWarnings } from '../catalog/recorded-only.ts'
import type { NewWebhook, RotatedSecret, Webhook, WebhookChanges, WebhookDraft, WebhookQuery } from './contract.ts'
import { sealHeader } from './header.ts'
import { newSecret, wrapDigests } from './secret.ts'
import { ownerOf } from './signing.ts'
import {
  assertSecretUnchanged,
  assertWebhookExists,
  findWebhook,
  insertWebhook,
  listWebhookRows,
  type ShownWebhook,
  updateWebhook,
  type WebhookRow,
  webhooksUsed,
} from './store.ts'
import { endpointKey, wakeEndpoints } from './wake.ts'

export { webhooksUsed } from './store.ts'

const view = ({
  webhook_id,
  name,
  type,
  url,
  event_keys,
  is_enabled,
  last_delivery,
  secret_hint,
  created_at,
  updated_at,
  ...row
}: ShownWebhook): Webhook => ({
  webhook_id,
  name,
  type,
  url,
  event_keys,
  fiscal_entity_ids: row.fiscal_entity_uuids?.map((uuid) => idOfUuid('fe', uuid)) ?? null,
  custom_header: row.header_name === null ? null : { name: row.header_name },
  is_enabled,
  last_delivery,
  secret_hint,
  warnings: unsentWarnings(event_keys),
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})

/** Returns an endpoint of the organization. Throws Failure 404 webhook.not_found. */
export async function requireWebhook(ctx: Ctx, webhook_id: string): Promise<ShownWebhook> {
  const row = await findWebhook(eventsOf(ctx), ctx.organization.id, webhook_id)
  if (!row) throw notFound('webhook')
  return row
}

/** A host that only the machine of who typed it has, or its network. */
const OWN_MACHINE =
  /^(\w+:\/\/)?(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|0\.0\.0\.0|\[|host\.docker\.internal|[^/:]+\.(local|localhost)(?![\w.-]))/i

const SINK =
  ' To receive deliveries on your own machine, run the service there with WEBHOOK_SINK=http://127.0.0.1:{port}, and name any public host, such as ' +
  'https://hooks.example.com: all deliveries go to the sink.'

const refuseTarget = ({ settings }: Ctx, url: string): void => {
  const fault = targetFault(url, settings.publicHosts)
  if (fault === null) return
  const message = settings.environment === 'test' && OWN_MACHINE.test(url) ? fault + SINK : fault
  throw invalid('webhook.url', [{ path: 'url', message }])
}

/** Refuses fiscal entities that the organization is not connected to. */
async function refuseUnlinked({ db, organization }: Ctx, ids: readonly string[] | null | undefined): Promise<void> {
  if (!ids) return
  const linked = await findLinked(db, organization.id, ids)
  const [first, ...others] = ids.flatMap((id, n) =>
    linked.has(id)
      ? []
      : [
          {
            path: `fiscal_entity_ids[${n}]`,
            message: 'The organization has no connection to this fiscal entity. GET /v1/fiscal-entities lists those that it has.',
          },
        ],
  )
  if (first) throw invalid('webhook.fiscal_entity', [first, ...others])
}

type Further = Pick<WebhookDraft, 'fiscal_entity_ids' | 'custom_header'>

/** The columns of what is not stored as it is sent. */
async function columnsOf(ctx: Ctx, webhook_id: string, { fiscal_entity_ids, custom_header }: Partial<Further>) {
  const sealed = custom_header && (await sealHeader(ctx, { organization_id: ctx.organization.id, webhook_id }, custom_header.value))
  return {
    ...(fiscal_entity_ids !== undefined && { fiscal_entity_uuids: fiscal_entity_ids?.map(uuidOf) ?? null }),
    ...(custom_header !== undefined && { header_name: custom_header?.name ?? null, header_value: sealed ?? null }),
  }
}

/**
 * Creates an endpoint; only this result holds its signing secret. Throws Failure 422 webhook.url for a URL that may not be called, 422
 * webhook.fiscal_entity for a fiscal entity that the organization is not connected to, and 409
 * webhook.plan_limit when the organization has as many as its plan allows.
 */
export async function createWebhook(ctx: Ctx, draft: WebhookDraft): Promise<NewWebhook> {
  refuseTarget(ctx, draft.url)
  await refuseUnlinked(ctx, draft.fiscal_entity_ids)
  const identity = { organization_id: ctx.organization.id, webhook_id: newId('wh'), secret_version: 1 }
  const { signing_secret, secret_hint, digests } = await newSecret()
  const { fiscal_entity_ids, custom_header, ...stored } = draft
  const row = {
    ...identity,
    ...stored,
    ...{ fiscal_entity_uuids: null, header_name: null, header_value: null },
    ...(await columnsOf(ctx, identity.webhook_id, { fiscal_entity_ids, custom_header })),
    is_enabled: true,
    digests: await wrapDigests(ctx.settings.webhookKeys, ownerOf(ctx, identity), digests),
    secret_hint,
    next_digests: null,
    next_hint: null,
    undelivered: 0,
    created_at: ctx.now,
    updated_at: ctx.now,
    deleted_at: null,
  }
  const db = eventsOf(ctx)
  await takePlace({ ...ctx, db }, 'webhooks', webhooksUsed(ctx.organization.id), (place) =>
    changeEvents(ctx, { action: 'webhook.created', resource_id: identity.webhook_id, changed: Object.keys(draft) }, [
      ...place,
      insertWebhook(db, row),
    ]),
  )
  return { ...view({ ...row, webhook: 0, last_delivery: null }), signing_secret }
}

/** Returns a page of the organization's endpoints, oldest first. */
export async function listWebhooks(ctx: Ctx, query: WebhookQuery) {
  const scope = { list: 'webhooks', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listWebhookRows(eventsOf(ctx), ctx.organization.id, Number(after ?? 0), query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.webhook], view)
}

/** Returns one endpoint. Throws Failure 404 webhook.not_found. */
export const getWebhook = async (ctx: Ctx, webhook_id: string): Promise<Webhook> => view(await requireWebhook(ctx, webhook_id))

const wake = (ctx: Ctx, webhook: number) => wakeEndpoints(ctx, [endpointKey(ctx.organization.events_shard, webhook)])

const asNotFound = (error: unknown): unknown => (isGuardViolation(error, 'webhook.exists') ? notFound('webhook') : error)

/**
 * Applies changes to an endpoint. Once it is enabled again, its pending deliveries are sent. Throws Failure 404 webhook.not_found, and
 * 422 webhook.url and webhook.fiscal_entity as createWebhook.
 */
export async function changeWebhook(ctx: Ctx, webhook_id: string, changes: WebhookChanges): Promise<Webhook> {
  if (changes.url !== undefined) refuseTarget(ctx, changes.url)
  const stored = await requireWebhook(ctx, webhook_id)
  const changed = Object.keys(changes)
  if (changed.length === 0) return view(stored)
  const { fiscal_entity_ids, custom_header: _, ...others } = changes
  await refuseUnlinked(ctx, fiscal_entity_ids)
  const further = await columnsOf(ctx, webhook_id, { ...changes })
  const columns = { ...others, ...further, updated_at: ctx.now } as Partial<WebhookRow>
  try {
    await changeEvents(ctx, { action: 'webhook.updated', resource_id: webhook_id, changed }, [
      assertWebhookExists(eventsOf(ctx).$client, stored.webhook),
      updateWebhook(eventsOf(ctx), stored.webhook, columns),
    ])
  } catch (error) {
    throw asNotFound(error)
  }
  if (changes.is_enabled) await wake(ctx, stored.webhook)
  return view({ ...stored, ...columns })
}

/** Deletes an endpoint; a consumer then clears its delivery log. Throws Failure 404 webhook.not_found. */
export async function deleteWebhook(ctx: Ctx, webhook_id: string): Promise<void> {
  const { webhook } = await requireWebhook(ctx, webhook_id)
  try {
    await changeEvents(ctx, { action: 'webhook.deleted', resource_id: webhook_id }, [
      assertWebhookExists(eventsOf(ctx).$client, webhook),
      updateWebhook(eventsOf(ctx), webhook, { deleted_at: ctx.now }),
    ])
  } catch (error) {
    throw asNotFound(error)
  }
  await wake(ctx, webhook)
}

const asContention = (error: unknown): unknown =>
  isGuardViolation(error, 'webhook.secret_unchanged')
    ? new Failure('contention', 'webhook.changed', 'Another request rotated the secret of this webhook at the same time. Try again.')
    : error

/**
 * Creates the next secret, which signs once it is committed; it replaces a next secret that was not committed. Throws Failure 404
 * webhook.not_found and 409 webhook.changed.
 */
export async function rotateSecret(ctx: Ctx, webhook_id: string): Promise<RotatedSecret> {
  const stored = await requireWebhook(ctx, webhook_id)
  const { signing_secret, secret_hint, digests } = await newSecret()
  const owner = ownerOf(ctx, { ...stored, secret_version: stored.secret_version + 1 })
  const next = { next_digests: await wrapDigests(ctx.settings.webhookKeys, owner, digests), next_hint: secret_hint }
  try {
    await changeEvents(ctx, { action: 'webhook.secret_rotated', resource_id: webhook_id }, [
      assertSecretUnchanged(eventsOf(ctx).$client, stored),
      updateWebhook(eventsOf(ctx), stored.webhook, next),
    ])
  } catch (error) {
    throw asContention(error)
  }
  return { webhook_id, signing_secret, secret_hint }
}

/**
 * Makes the next secret the current one, for new deliveries and retries alike. Throws Failure 404 webhook.not_found, 409
 * webhook.no_rotation without a next secret, and 409 webhook.changed.
 */
export async function commitSecret(ctx: Ctx, webhook_id: string): Promise<Webhook> {
  const stored = await requireWebhook(ctx, webhook_id)
  const { next_digests, next_hint } = stored
  if (next_digests === null || next_hint === null)
    throw new Failure('conflict', 'webhook.no_rotation', 'There is no new secret to commit. Call rotate-secret first.')
  const columns = {
    secret_version: stored.secret_version + 1,
    digests: next_digests,
    secret_hint: next_hint,
    next_digests: null,
    next_hint: null,
    updated_at: ctx.now,
  }
  try {
    await changeEvents(ctx, { action: 'webhook.secret_committed', resource_id: webhook_id }, [
      assertSecretUnchanged(eventsOf(ctx).$client, stored),
      updateWebhook(eventsOf(ctx), stored.webhook, columns),
    ])
  } catch (error) {
    throw asContention(error)
  }
  return view({ ...stored, ...columns })
}
