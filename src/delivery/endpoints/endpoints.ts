import { reserveQuota } from '../../accounts/plans/reserve-quota.ts'
import { type Change, changeEvents } from '../../platform/audit/audit.ts'
import { type Ctx, eventsOf, type System } from '../../platform/context.ts'
import { base64ToBytes, bytesToBase64, isCurrent, type Keyring, openText, sealText } from '../../platform/crypto/keyring.ts'
import { commit, connect, type Database, type Statement } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { idOfUuid, newId, uuidOf } from '../../platform/db/id.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import { targetFault } from '../../platform/target.ts'
import { entitiesFor } from '../../platform/tenant/bound.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { sendHints } from '../../platform/work/send.ts'
import { refuseUnlinked } from '../../taxpayers/connection.ts'
import { unsentWarnings } from '../catalog/recorded-only.ts'
import type { NewWebhook, RotatedSecret, Webhook, WebhookChanges, WebhookDraft, WebhookQuery } from './contract.ts'
import {
  assertSecretUnchanged,
  assertWebhookExists,
  findWebhook,
  insertWebhook,
  listOutdatedDigests,
  listWebhookRows,
  replaceDigests,
  type ShownWebhook,
  updateWebhook,
  type WebhookRow,
  webhooksUsed,
} from './store.ts'

const PREFIX = 'whsec_'
/** Longer than HMAC's block of 64 bytes, as text and as bytes, so that HMAC uses the SHA-256 of the key in its place. */
const SECRET_BYTES = 66

/** SHA-256 of the secret's text (a) and of the bytes that it encodes (b). They can sign like the secret and need the same protection. */
export interface Digests {
  a: Uint8Array
  b: Uint8Array
}

/** The owner of a secret. Wrapped digests are bound to it and cannot be opened for another owner. */
interface Owner {
  environment: string
  organization_id: string
  webhook_id: string
  secret_version: number
}

/** The two digests as stored. Each is `version:base64` of the key's version, and of AES-256-GCM's nonce and ciphertext. */
interface Wrapped {
  a: string
  b: string
}

const secretContextOf = ({ environment, organization_id, webhook_id, secret_version }: Owner, which: 'a' | 'b'): string =>
  JSON.stringify(['webhook-secret', environment, organization_id, webhook_id, secret_version, which])

const sha256 = async (bytes: Uint8Array): Promise<Uint8Array> => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

/** Creates a secret. The caller shows `signing_secret` once and stores only the digests, wrapped, and the hint. */
export async function newSecret(): Promise<{ signing_secret: string; secret_hint: string; digests: Digests }> {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  const signing_secret = PREFIX + bytesToBase64(bytes)
  const digests = { a: await sha256(new TextEncoder().encode(signing_secret)), b: await sha256(bytes) }
  return { signing_secret, secret_hint: signing_secret.slice(-4), digests }
}

/** Encrypts digests under the current key for this owner. */
export async function wrapDigests(keys: Keyring, owner: Owner, { a, b }: Digests): Promise<Wrapped> {
  const wrap = (which: 'a' | 'b', digest: Uint8Array) => sealText(keys, bytesToBase64(digest), secretContextOf(owner, which))
  return { a: await wrap('a', a), b: await wrap('b', b) }
}

/** Opens wrapped digests. Throws when one cannot be opened, so that nothing is ever sent with a wrong signature. */
async function unwrapDigests(keys: Keyring, owner: Owner, wrapped: Wrapped): Promise<Digests> {
  const unwrap = async (which: 'a' | 'b') => {
    const opened = await openText(keys, wrapped[which], secretContextOf(owner, which))
    if (!opened) throw new Error(`The signing digests of ${owner.webhook_id} cannot be opened with any key of WEBHOOK_KEYS.`)
    return base64ToBytes(opened)
  }
  return { a: await unwrap('a'), b: await unwrap('b') }
}

/** The endpoint that a header belongs to. A value sealed for one endpoint cannot be opened for another. */
interface HeaderEndpoint {
  organization_id: string
  webhook_id: string
}

const contextOf = ({ settings }: System, { organization_id, webhook_id }: HeaderEndpoint): string =>
  JSON.stringify(['webhook-header', settings.environment, organization_id, webhook_id])

/** Encrypts the value of a header for an endpoint. */
const sealHeader = (system: System, endpoint: HeaderEndpoint, value: string): Promise<string> =>
  sealText(system.settings.webhookKeys, value, contextOf(system, endpoint))

async function openValue(system: System, endpoint: HeaderEndpoint, sealed: string): Promise<string> {
  const opened = await openText(system.settings.webhookKeys, sealed, contextOf(system, endpoint))
  if (opened === null) throw new Error(`The header of ${endpoint.webhook_id} cannot be opened with any key of WEBHOOK_KEYS.`)
  return opened
}

/** Returns the customer's own header of deliveries. Throws when its value cannot be opened, so that nothing is sent without it. */
export const openHeader = async (
  system: System,
  endpoint: HeaderEndpoint & { header_name: string | null; header_value: string | null },
): Promise<Record<string, string>> =>
  endpoint.header_name === null || endpoint.header_value === null
    ? {}
    : { [endpoint.header_name]: await openValue(system, endpoint, endpoint.header_value) }

/** Names an endpoint outside its database: the number of its events shard, and its own number there. */
export const endpointKey = (shard: number, webhook: number): string => `${shard}.${webhook}`

/** Asks the queue to send the due deliveries of these endpoints, now or after a wait. The sweep finds endpoints whose message is lost. */
export const wakeEndpoints = (system: System, endpoints: Iterable<string>, delaySeconds = 0): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    [...endpoints].map((endpoint) => ({ body: { endpoint }, delaySeconds })),
  )

type Endpoint = Omit<Owner, 'environment'>

/** The owner to which an endpoint's wrapped digests are bound. */
const ownerOf = ({ settings }: System, { organization_id, webhook_id, secret_version }: Endpoint): Owner => ({
  environment: settings.environment,
  organization_id,
  webhook_id,
  secret_version,
})

/** Returns the digests that sign an endpoint's deliveries. Throws when they cannot be opened. */
export const openDigests = (system: System, endpoint: Endpoint & { digests: string }): Promise<Digests> =>
  unwrapDigests(system.settings.webhookKeys, ownerOf(system, endpoint), JSON.parse(endpoint.digests) as Wrapped)

const PAGE = 100

/**
 * Wraps all digests with the current key, so that older keys can leave the keyring. Signatures do not change. Digests that cannot be
 * opened do not stop the others. A task, whose cursor is the shard and the number of the last webhook.
 */
export const rewrapSecrets = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, PAGE + 1, cursor, async (from, fail) => {
    const [shard = 0, after = 0] = from === '' ? [] : from.split('.').map(Number)
    const db = connect(system.settings.events[shard]!)
    const rows = await listOutdatedDigests(db, system.settings.webhookKeys.current.version, after, PAGE)
    for (const row of rows)
      await rewrapSecret(system, db, row).catch((error: unknown) =>
        fail(new Error(`The digests of ${row.webhook_id} are still wrapped with an older key.`, { cause: error })),
      )
    if (rows.length === PAGE) return endpointKey(shard, rows.at(-1)!.webhook)
    return shard + 1 < system.settings.events.length ? endpointKey(shard + 1, 0) : null
  })

async function rewrapSecret(system: System, db: Database, row: WebhookRow): Promise<void> {
  const keys = system.settings.webhookKeys
  const rewrap = async (wrapped: Wrapped, owner: Owner): Promise<Wrapped> =>
    [wrapped.a, wrapped.b].every((one) => isCurrent(keys, one))
      ? wrapped
      : wrapDigests(keys, owner, await unwrapDigests(keys, owner, wrapped))
  const owner = ownerOf(system, row)
  const { digests, next_digests: next, header_value: header } = row
  const rewrapped = {
    header: header && (isCurrent(keys, header) ? header : await sealHeader(system, row, await openValue(system, row, header))),
    digests: await rewrap(digests, owner),
    next: next && (await rewrap(next, { ...owner, secret_version: owner.secret_version + 1 })),
  }
  await commit(db.$client, [replaceDigests(row.webhook, { digests, next, header }, rewrapped)])
}

export { webhooksUsed } from './store.ts'

function view(row: ShownWebhook): Webhook {
  const { webhook_id, name, type, url, event_keys, is_enabled, last_delivery, secret_hint, created_at, updated_at } = row
  return {
    ...{ webhook_id, name, type, url, event_keys },
    fiscal_entity_ids: row.fiscal_entity_uuids?.map((uuid) => idOfUuid('fe', uuid)) ?? null,
    direction: row.direction,
    cfdi_types: row.cfdi_types,
    max_per_minute: row.max_per_minute,
    custom_header: row.header_name === null ? null : { name: row.header_name },
    ...{ is_enabled, last_delivery, secret_hint },
    warnings: unsentWarnings(event_keys),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}

/** Returns an endpoint of the organization. Throws Failure 404 webhook.not_found. */
export async function requireWebhook(ctx: Ctx, webhook_id: string): Promise<ShownWebhook> {
  const row = await findWebhook(eventsOf(ctx), ctx.organization, webhook_id)
  if (!row) throw notFound('webhook')
  return row
}

/** A host that exists only on its author's machine or network. */
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

type Further = Pick<WebhookDraft, 'fiscal_entity_ids' | 'custom_header'>

/** The columns of members that are not stored as they are sent. */
async function columnsOf(ctx: Ctx, webhook_id: string, { fiscal_entity_ids, custom_header }: Partial<Further>) {
  const sealed = custom_header && (await sealHeader(ctx, { organization_id: ctx.organization.id, webhook_id }, custom_header.value))
  return {
    ...(fiscal_entity_ids !== undefined && { fiscal_entity_uuids: entitiesFor(ctx.organization, fiscal_entity_ids)?.map(uuidOf) ?? null }),
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
  await refuseUnlinked(ctx, draft.fiscal_entity_ids, 'fiscal_entity_ids', 'webhook.fiscal_entity')
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
    paced_until: 0,
    created_at: ctx.now,
    updated_at: ctx.now,
    deleted_at: null,
  }
  const db = eventsOf(ctx)
  await reserveQuota({ ...ctx, db }, 'webhooks', webhooksUsed(ctx.organization.id), (reserved) =>
    changeEvents(ctx, { action: 'webhook.created', resource_id: identity.webhook_id, changed: Object.keys(draft) }, [
      ...reserved,
      insertWebhook(db, row),
    ]),
  )
  return { ...view({ ...row, webhook: 0, last_delivery: null }), signing_secret }
}

/** Returns a page of the organization's endpoints, oldest first. */
export async function listWebhooks(ctx: Ctx, query: WebhookQuery) {
  const scope = { list: 'webhooks', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listWebhookRows(eventsOf(ctx), ctx.organization, Number(after ?? 0), query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.webhook], view)
}

/** Returns one endpoint. Throws Failure 404 webhook.not_found. */
export const getWebhook = async (ctx: Ctx, webhook_id: string): Promise<Webhook> => view(await requireWebhook(ctx, webhook_id))

const wake = (ctx: Ctx, webhook: number) => wakeEndpoints(ctx, [endpointKey(ctx.organization.events_shard, webhook)])

/**
 * Commits statements about an endpoint with their audit row, and returns their results. Throws Failure 404 webhook.not_found if the
 * endpoint was deleted in the meantime: its log is being cleared, and nothing may be added to it.
 */
export async function changeEndpoint(ctx: Ctx, what: Change, webhook: number, statements: readonly Statement[]): Promise<D1Result[]> {
  try {
    const [, ...results] = await changeEvents(ctx, what, [assertWebhookExists(webhook), ...statements])
    return results
  } catch (error) {
    throw isGuardViolation(error, 'webhook.exists') ? notFound('webhook') : error
  }
}

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
  await refuseUnlinked(ctx, fiscal_entity_ids, 'fiscal_entity_ids', 'webhook.fiscal_entity')
  const further = await columnsOf(ctx, webhook_id, { ...changes })
  const columns = { ...others, ...further, updated_at: ctx.now } as Partial<WebhookRow>
  const update = updateWebhook(eventsOf(ctx), stored.webhook, columns)
  await changeEndpoint(ctx, { action: 'webhook.updated', resource_id: webhook_id, changed }, stored.webhook, [update])
  if (changes.is_enabled) await wake(ctx, stored.webhook)
  return view({ ...stored, ...columns })
}

/** Deletes an endpoint; a consumer then clears its delivery log. Throws Failure 404 webhook.not_found. */
export async function deleteWebhook(ctx: Ctx, webhook_id: string): Promise<void> {
  const { webhook } = await requireWebhook(ctx, webhook_id)
  const update = updateWebhook(eventsOf(ctx), webhook, { deleted_at: ctx.now })
  await changeEndpoint(ctx, { action: 'webhook.deleted', resource_id: webhook_id }, webhook, [update])
  await wake(ctx, webhook)
}

/** Changes the secret of an endpoint as it was read. Throws Failure 409 webhook.changed. */
async function changeSecret(ctx: Ctx, action: string, stored: WebhookRow, columns: Partial<WebhookRow>): Promise<void> {
  await changeEvents(ctx, { action, resource_id: stored.webhook_id }, [
    assertSecretUnchanged(stored),
    updateWebhook(eventsOf(ctx), stored.webhook, columns),
  ]).catch((error: unknown) => {
    if (!isGuardViolation(error, 'webhook.secret_unchanged')) throw error
    throw new Failure('contention', 'webhook.changed', 'Another request rotated the secret of this webhook at the same time. Try again.')
  })
}

/**
 * Creates the next secret, which signs once it is committed; it replaces a next secret that was not committed. Throws Failure 404
 * webhook.not_found and 409 webhook.changed.
 */
export async function rotateSecret(ctx: Ctx, webhook_id: string): Promise<RotatedSecret> {
  const stored = await requireWebhook(ctx, webhook_id)
  const { signing_secret, secret_hint, digests } = await newSecret()
  const owner = ownerOf(ctx, { ...stored, secret_version: stored.secret_version + 1 })
  const next_digests = await wrapDigests(ctx.settings.webhookKeys, owner, digests)
  await changeSecret(ctx, 'webhook.secret_rotated', stored, { next_digests, next_hint: secret_hint })
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
  await changeSecret(ctx, 'webhook.secret_committed', stored, columns)
  return view({ ...stored, ...columns })
}
