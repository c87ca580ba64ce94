import { loginsOf } from '../../authority/logins.ts'
import { LOGIN_KINDS, type LoginKind, takesCiecs } from '../../authority/port/login.ts'
import { defaultKeys, refuseUnknownKeys, withMandatory } from '../../authority/sources.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { newId, uuidOf } from '../../platform/db/id.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { insertOutboxEvents, OF_NO_RFC, type OutboxEvent, wakeRelay } from '../../platform/outbox/outbox.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import { clock } from '../../platform/time/clock.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { mergeMetadata } from '../connect.ts'
import { requireConnection } from '../connections.ts'
import { findActive } from '../consents/store.ts'
import { PURPOSE_KEYS } from '../consents/text.ts'
import type { ConnectLink, ConnectLinkDraft, ConnectLinkQuery, NewConnectLink } from './contract.ts'
import {
  assertStatus,
  deleteLinks,
  findLink,
  insertLink,
  type LinkRow,
  listLinkRows,
  MOST_LOGINS,
  overdueLinks,
  updateLink,
} from './store.ts'

const OPEN = ['created', 'opened', 'verifying', 'refused'] as const satisfies readonly LinkRow['status'][]
export const isOpen = ({ status }: Pick<LinkRow, 'status'>): boolean => (OPEN as readonly string[]).includes(status)

/** The status of a link now: the sweep records only later that it has expired. */
export const statusAt = (row: LinkRow, now: Date): LinkRow['status'] => (isOpen(row) && row.expires_at <= now ? 'expired' : row.status)

/** Why nobody can use a link now; null when somebody can. */
export function closedBecause(row: LinkRow, now: Date): 'connected' | 'submitted' | 'expired' | 'revoked' | 'verifying' | 'spent' | null {
  const status = statusAt(row, now)
  if (status === 'created' || status === 'opened' || status === 'refused') return row.attempts >= MOST_LOGINS ? 'spent' : null
  if (status !== 'verifying') return status
  if (row.lease_until !== null && row.lease_until > now) return 'verifying'
  return row.attempts >= MOST_LOGINS ? 'spent' : null
}

function view(row: LinkRow, now: Date): ConnectLink {
  return {
    ...{ connect_link_id: row.connect_link_id, status: statusAt(row, now), rfc: row.rfc, fiscal_entity_id: row.fiscal_entity_id },
    ...{ is_relink: row.is_relink, external_id: row.external_id, metadata: row.metadata, purposes: row.purposes },
    controller: { name: row.controller.name, privacy_notice_url: row.controller.privacy_notice_url },
    ...{ sources: row.sources, logins: row.logins },
    access: { from: row.access_from, until: row.access_until },
    ...{ language: row.language, return_url: row.return_url, state: row.state, code: row.code },
    tries_left: MOST_LOGINS - row.attempts,
    consent_id: row.connected_at !== null && row.purposes.length > 0 ? row.consent_id : null,
    ...{ created_at: row.created_at.toISOString(), expires_at: row.expires_at.toISOString() },
    ...{ opened_at: row.opened_at?.toISOString() ?? null, connected_at: row.connected_at?.toISOString() ?? null },
  }
}

const sha256 = async (text: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toHex()

/** 256 random bits in 43 characters. */
const newToken = (): string => crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: 'base64url', omitPadding: true })

/** The hash under which a token is found; null for what cannot be one. */
export const digestOfToken = async (token: string): Promise<string | null> => (/^[\w-]{43}$/.test(token) ? sha256(token) : null)

/** The outbox event of a link. A link can be for an RFC that is not connected, so that its events are of no RFC. */
export const linkEvent = (
  kind: 'connect_link.opened' | 'connect_link.connected' | 'connect_link.refused' | 'connect_link.expired',
  row: Pick<LinkRow, 'connect_link_id' | 'organization_id' | 'fiscal_entity_id' | 'rfc' | 'external_id' | 'attempts'>,
  refused: { code: string } | null = null,
): OutboxEvent => ({
  outbox_event_id: `${kind}:${row.connect_link_id}${refused ? `:${row.attempts}` : ''}`,
  ...{ kind, entity: OF_NO_RFC, organizations: [row.organization_id] },
  body: {
    fiscal_entity_id: row.fiscal_entity_id && uuidOf(row.fiscal_entity_id),
    ...{ rfc: row.rfc, connect_link_id: row.connect_link_id, external_id: row.external_id },
    ...(refused && { code: refused.code, tries_left: MOST_LOGINS - row.attempts }),
  },
})

function checkPurposes({ purposes = [] }: ConnectLinkDraft): void {
  const unknown = purposes.findIndex(
    ({ key }, n) => !(PURPOSE_KEYS as string[]).includes(key) || purposes.findIndex((one) => one.key === key) < n,
  )
  if (unknown >= 0)
    throw invalid('connect_link.purpose_unknown', [
      { path: `purposes[${unknown}].key`, message: `Must be one of ${PURPOSE_KEYS.join(', ')}, each at most once.` },
    ])
  if (purposes.length > 0 && !purposes.some(({ necessary }) => necessary))
    throw invalid('connect_link.purposes', [{ path: 'purposes', message: 'At least one purpose must be necessary.' }])
}

/** The kinds of logins that the deployment can use. */
function loginsFor(ctx: Ctx, asked: readonly LoginKind[] | undefined): LoginKind[] {
  const usable = LOGIN_KINDS.filter((kind) => kind === 'efirma' || takesCiecs(ctx.settings))
  const unusable = asked?.findIndex((kind) => !usable.includes(kind)) ?? -1
  if (unusable >= 0)
    throw invalid('connect_link.login_unusable', [
      { path: `logins[${unusable}]`, message: 'Must be efirma: nobody in this deployment can log in with a CIEC.' },
    ])
  return usable.filter((kind) => asked?.includes(kind) ?? true)
}

function checkAccess({ access }: ConnectLinkDraft, now: Date): void {
  const { from, until } = access ?? {}
  if (until && until < centralDayOf(now.getTime()))
    throw invalid('connect_link.access', [{ path: 'access.until', message: 'Must not be before today, in Mexico City.' }])
  if (from && until && from > until) throw invalid('connect_link.access', [{ path: 'access.from', message: 'Must not be after `until`.' }])
}

/** The connection that a relink is for, with the sources that it has. Throws Failure 404, 409 connect_link.consent_needed and 422. */
async function relinked(ctx: Ctx, { fiscal_entity_id, rfc, purposes }: ConnectLinkDraft) {
  if (!fiscal_entity_id) {
    if (!purposes) throw invalid('request.invalid', [{ path: 'purposes', message: 'Is required.' }])
    return null
  }
  const row = await requireConnection(ctx, fiscal_entity_id)
  if (rfc && rfc !== row.rfc)
    throw invalid('connect_link.rfc_differs', [{ path: 'rfc', message: 'Must be the RFC of the connection, or be omitted.' }])
  if (!purposes && !(await findActive(ctx.db, row)))
    throw new Failure(
      'conflict',
      'connect_link.consent_needed',
      'The connection has no active consent, so the link must ask for one. Send purposes.',
    )
  return row
}

/**
 * Makes a link. Throws Failure 404 fiscal_entity.not_found, 409 connect_link.consent_needed, and 422 for purposes, logins, an access or data
 * sources that cannot be.
 */
export async function createLink(ctx: Ctx, draft: ConnectLinkDraft, origin: string): Promise<NewConnectLink> {
  checkPurposes(draft)
  checkAccess(draft, ctx.now)
  const logins = loginsFor(ctx, draft.logins)
  const active = loginsOf(ctx).sources
  if (draft.sources) refuseUnknownKeys(draft.sources, 'sources', active)
  const connection = await relinked(ctx, draft)
  const token = newToken()
  const row: LinkRow = {
    ...{ connect_link_id: newId('lnk'), organization_id: ctx.organization.id, digest: await sha256(token), status: 'created' },
    ...{ consent_id: newId('cns'), fiscal_entity_id: connection?.fiscal_entity_id ?? null, is_relink: connection !== null },
    rfc: connection?.rfc ?? draft.rfc ?? null,
    ...{ external_id: draft.external_id ?? null, metadata: mergeMetadata({}, draft.metadata), purposes: draft.purposes ?? [] },
    controller: {
      name: draft.controller?.name ?? ctx.organization.name,
      privacy_notice_url: draft.controller?.privacy_notice_url ?? null,
      organization: ctx.organization.name,
    },
    sources: draft.sources
      ? withMandatory(draft.sources)
      : connection?.data_source_keys
        ? withMandatory(connection.data_source_keys)
        : defaultKeys(active),
    ...{ logins, access_from: draft.access?.from ?? null, access_until: draft.access?.until ?? null },
    ...{ language: draft.language, return_url: draft.return_url ?? null, state: draft.state ?? null },
    ...{ attempts: 0, code: null, token: null, lease_until: null, created_at: ctx.now },
    ...{ expires_at: new Date(ctx.now.getTime() + draft.expires_in * 1_000), opened_at: null, connected_at: null },
  }
  await change(ctx, { action: 'connect_link.created', resource_id: row.connect_link_id, changed: Object.keys(draft) }, [
    insertLink(ctx.db, row),
  ])
  return { ...view(row, ctx.now), url: `${origin}/connect/${token}` }
}

/** Lists the organization's links, newest first. */
export async function listLinks(ctx: Ctx, query: ConnectLinkQuery) {
  const scope = { list: 'connect_links', filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const from = before === undefined ? undefined : String(before)
  const rows = await listLinkRows(ctx.db, ctx.organization, query.status, ctx.now.getTime(), from, query.limit + 1)
  return paginate(
    ctx,
    scope,
    query.limit,
    rows,
    ({ connect_link_id }) => [connect_link_id],
    (row) => view(row, ctx.now),
  )
}

async function requireLink(ctx: Ctx, connect_link_id: string): Promise<LinkRow> {
  const row = await findLink(ctx.db, ctx.organization, connect_link_id)
  if (!row) throw notFound('connect_link')
  return row
}

/** Throws Failure 404 connect_link.not_found. */
export const getLink = async (ctx: Ctx, connect_link_id: string): Promise<ConnectLink> =>
  view(await requireLink(ctx, connect_link_id), ctx.now)

/** Revokes a link: a login that is being verified with it is not stored. Throws Failure 404 and 409 connect_link.ended. */
export async function revokeLink(ctx: Ctx, connect_link_id: string): Promise<void> {
  await requireLink(ctx, connect_link_id)
  try {
    await change(ctx, { action: 'connect_link.revoked', resource_id: connect_link_id }, [
      assertStatus(connect_link_id, OPEN),
      updateLink(ctx.db, connect_link_id, { status: 'revoked', token: null, lease_until: null }),
    ])
  } catch (error) {
    if (!isGuardViolation(error, 'connect_link.status')) throw error
    throw new Failure('conflict', 'connect_link.ended', 'The link was used, has expired or is revoked already: nobody can use it.')
  }
}

const PAGE = 50
/** The statements of a page: four for each link. */
const STATEMENTS = 4 * PAGE + 3
const KEPT_MS = 90 * 86_400_000

/** Records that links have expired, with an event of each, and forgets them 90 days later. A task, which no longer finds what it has done. */
export const expireLinks = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, STATEMENTS, cursor, async () => {
    const { db } = system
    const now = clock.now()
    const rows = await overdueLinks(db, now, PAGE)
    for (const row of rows)
      await commit(db.$client, [
        assertStatus(row.connect_link_id, OPEN),
        updateLink(db, row.connect_link_id, { status: 'expired', token: null, lease_until: null }),
        ...insertOutboxEvents([linkEvent('connect_link.expired', row)], now),
      ]).catch((error: unknown) => {
        if (!isGuardViolation(error, 'connect_link.status')) throw error
      })
    if (rows.length > 0) await wakeRelay(system, 'control')
    const deleted = await deleteLinks(db.$client, new Date(now - KEPT_MS), PAGE)
    return Math.max(rows.length, deleted) < PAGE ? null : ''
  })
