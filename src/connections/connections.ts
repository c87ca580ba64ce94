import { authorityOf } from '../authority/adapters.ts'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { refuseUnknownKeys, withMandatory } from '../authority/sources.ts'
import { admitCiec, admitUnlinking } from '../billing/entitlements.ts'
import { resumeDownloads } from '../downloads/downloads.ts'
import { planRuns, startPlanned } from '../extractors/runs/dispatch.ts'
import { Failure, invalid, notFound } from '../failures.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { isGuardViolation, isUniqueViolation } from '../platform/db/guard.ts'
import { newId } from '../platform/db/id.ts'
import { openCursor, pageOf } from '../platform/paging/cursor.ts'
import { sealCiec } from '../taxpayers/ciec.ts'
import { hasValidCheckDigit } from '../taxpayers/rfc.ts'
import { sourcesOf } from '../taxpayers/sources.ts'
import {
  type ConnectionRow,
  type EntityRow,
  findConnection,
  findEver,
  insertConnection,
  listConnections,
  unlinkConnection,
  updateConnection,
  upsertEntity,
} from '../taxpayers/taxpayers.ts'
import type { FiscalEntity, FiscalEntityChanges, FiscalEntityDraft, FiscalEntityQuery } from './contract.ts'

const CHECK_DIGIT = { code: 'rfc.check_digit', message: 'The check digit of the RFC is not the expected one. Real RFCs like that exist.' }

const viewWith =
  (active: readonly DataSourceKey[]) =>
  (row: Omit<ConnectionRow, 'connection'>): FiscalEntity => ({
    fiscal_entity_id: row.fiscal_entity_id,
    rfc: row.rfc,
    name: row.name,
    status: row.state as FiscalEntity['status'],
    data_source_keys: sourcesOf(row, active),
    ciec_set: row.ciec !== null,
    visible_from: row.visible_from,
    visible_to: row.visible_to?.toISOString() ?? null,
    warnings: hasValidCheckDigit(row.rfc) ? [] : [CHECK_DIGIT],
    linked_at: row.linked_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  })

const alreadyLinked = () => new Failure('conflict', 'fiscal_entity.already_linked', 'The organization has connected this RFC already.')

function checkedKeys(ctx: Ctx, keys: readonly string[] | null | undefined): DataSourceKey[] | null {
  if (keys === null || keys === undefined) return null
  refuseUnknownKeys(keys, 'data_source_keys', authorityOf(ctx).sources)
  return withMandatory(keys as DataSourceKey[])
}

async function acceptCiec(ctx: Ctx, rfc: string, ciec: string): Promise<void> {
  if (!(await authorityOf(ctx).verify({ rfc, ciec })))
    throw invalid('fiscal_entity.ciec_rejected', [
      { path: 'ciec', message: 'The tax authority rejected the CIEC for this RFC. Nothing was stored.' },
    ])
}

/** A shard for a new RFC, spread evenly and decided once. */
function shardOf(rfc: string, shards: number): number {
  let hash = 0x811c9dc5
  for (const character of rfc) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0
  return hash % shards
}

/** A CIEC that the authority accepted, as it is kept. */
const kept = async ({ settings, organization, now }: Ctx, fiscal_entity_id: string, ciec: string) => ({
  ciec: await sealCiec(settings.ciecKeys, { organization_id: organization.id, fiscal_entity_id }, ciec),
  ciec_accepted_at: now,
})

/** What becoming active changes, and what it starts: extractors for new connections the first time, for reactivated ones later. */
export async function activation(ctx: Ctx, fiscal_entity_id: string, first_active_at: Date | null) {
  const trigger = first_active_at === null ? 'connection_created' : 'connection_reactivated'
  const planned = await planRuns(ctx, trigger, [fiscal_entity_id])
  return { changes: { state: 'active', first_active_at: first_active_at ?? ctx.now, active_since: ctx.now } as const, planned }
}

/**
 * Connects an RFC: with a CIEC that the authority accepts the connection is active and its extractors run, without one it is a
 * draft. An RFC that was unlinked comes back with the window that it had. decisions.md 4. With a CIEC 402 as gates.ts says, before
 * the authority sees it.
 */
export async function connectRfc(ctx: Ctx, draft: FiscalEntityDraft): Promise<FiscalEntity> {
  const { rfc, ciec } = draft
  const keys = checkedKeys(ctx, draft.data_source_keys)
  if (ciec !== undefined) await admitCiec(ctx, rfc)
  const before = await findEver(ctx.db, ctx.organization.id, rfc)
  if (before && before.state !== 'unlinked') throw alreadyLinked()
  if (ciec !== undefined) await acceptCiec(ctx, rfc, ciec)
  const entity = await upsertEntity(ctx.db, {
    fiscal_entity_id: newId('fe'),
    rfc,
    shard: shardOf(rfc, ctx.settings.ledgers.length),
    created_at: ctx.now,
  })
  return commitLink(ctx, draft, keys, entity, before)
}

/** Of connections at once for the last seat, or of the same RFC, the one that comes too late is told what it would be told now. */
async function commitLink(
  ctx: Ctx,
  draft: FiscalEntityDraft,
  data_source_keys: DataSourceKey[] | null,
  { entity, fiscal_entity_id, shard }: EntityRow,
  before: ConnectionRow | undefined,
  attempt = 1,
): Promise<FiscalEntity> {
  const { db, now, organization } = ctx
  const { rfc, ciec } = draft
  const seat = ciec === undefined ? [] : [await admitCiec(ctx, rfc)]
  const active = ciec === undefined ? undefined : await activation(ctx, fiscal_entity_id, before?.first_active_at ?? null)
  const link = {
    ...({ state: 'draft', ciec: null, ciec_accepted_at: null, paused_from: null, paused_by: null } as const),
    ...(ciec !== undefined && (await kept(ctx, fiscal_entity_id, ciec))),
    ...active?.changes,
    name: draft.name ?? null,
    data_source_keys,
    linked_at: now,
    updated_at: now,
  }
  const tie = { organization_id: organization.id, fiscal_entity_id, entity, rfc, shard }
  const fresh = { first_active_at: null, active_since: null, visible_from: null, visible_to: null, imported_at: null }
  const row = { ...fresh, ...before, ...tie, ...link }
  try {
    await change(ctx, { action: 'fiscal_entity.connected', resource_id: fiscal_entity_id, changed: Object.keys(draft) }, [
      ...seat,
      before ? updateConnection(db, before, link) : insertConnection(db, row),
      ...(active?.planned.statements ?? []),
    ])
  } catch (error) {
    if (!isUniqueViolation(error) && !isGuardViolation(error)) throw error
    const there = await findEver(db, organization.id, rfc)
    if (there && there.state !== 'unlinked') throw alreadyLinked()
    if (attempt === MAX_ATTEMPTS) throw changedMeanwhile()
    return commitLink(ctx, draft, data_source_keys, { entity, fiscal_entity_id, shard, rfc, created_at: now }, there, attempt + 1)
  }
  if (active) await afterActivation(ctx, tie, active.planned.runs)
  return viewWith(authorityOf(ctx).sources)((await findConnection(db, organization.id, fiscal_entity_id)) ?? row)
}

type Runs = Awaited<ReturnType<typeof planRuns>>['runs']

/** Runs what was planned, and what waited for a CIEC. The plan is committed: what fails here is finished by the sweep, and is not the caller's failure. */
export async function afterActivation(ctx: Ctx, entity: { entity: number; shard: number }, runs: Runs): Promise<void> {
  try {
    await startPlanned(ctx, runs)
    await resumeDownloads(ctx, entity)
  } catch (error) {
    console.error(
      JSON.stringify({ level: 'error', request_id: ctx.requestId, message: 'A planned run is left to the sweep.', error: String(error) }),
    )
  }
}

/** The connection of the organization; 404 when it has none to the fiscal entity. */
export async function linkedConnection(ctx: Ctx, fiscal_entity_id: string): Promise<ConnectionRow> {
  const row = await findConnection(ctx.db, ctx.organization.id, fiscal_entity_id)
  if (!row) throw notFound('fiscal_entity')
  return row
}

/** One connection of the organization. */
export const getFiscalEntity = async (ctx: Ctx, fiscal_entity_id: string): Promise<FiscalEntity> =>
  viewWith(authorityOf(ctx).sources)(await linkedConnection(ctx, fiscal_entity_id))

/** The organization's connections, in the order of their ids. */
export async function listFiscalEntities(ctx: Ctx, query: FiscalEntityQuery) {
  const scope = { list: 'fiscal_entities', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listConnections(
    ctx.db,
    ctx.organization.id,
    query.status,
    after === undefined ? undefined : String(after),
    query.limit + 1,
  )
  return pageOf(ctx, scope, query.limit, rows, (row) => [row.fiscal_entity_id], viewWith(authorityOf(ctx).sources))
}

/** Changes what is sent. A newly accepted CIEC makes a draft or one with an invalid CIEC active. */
export async function changeFiscalEntity(ctx: Ctx, fiscal_entity_id: string, changes: FiscalEntityChanges): Promise<FiscalEntity> {
  const { ciec, data_source_keys, name } = changes
  const row = await linkedConnection(ctx, fiscal_entity_id)
  const keys = checkedKeys(ctx, data_source_keys)
  if (ciec !== undefined) {
    await seatOf(ctx, row)
    await acceptCiec(ctx, row.rfc, ciec)
  }
  const sent = {
    ...(ciec !== undefined && (await kept(ctx, fiscal_entity_id, ciec))),
    ...(data_source_keys !== undefined && { data_source_keys: keys }),
    ...(name !== undefined && { name }),
  }
  const changed = Object.keys(changes)
  if (changed.length > 0) await commitChanges(ctx, row, changed, sent)
  return getFiscalEntity(ctx, fiscal_entity_id)
}

/** Only a change of state at the same time asks for another round. */
export const MAX_ATTEMPTS = 10

export const changedMeanwhile = () =>
  new Failure('contention', 'fiscal_entity.changed', 'The connection is being changed by others at the same time. Try again.')

const isAsleep = ({ state }: ConnectionRow): boolean => state === 'draft' || state === 'invalid_ciec'

/** A draft, also one that is paused, is no connection yet: a CIEC makes it one. */
const isDraft = ({ state, paused_from }: ConnectionRow): boolean => state === 'draft' || (state === 'paused' && paused_from === 'draft')

/** The gates of a CIEC, the same in every state; what holds a seat takes none, nor does what stays paused. */
const seatOf = async (ctx: Ctx, row: ConnectionRow): Promise<Statement[]> => [
  await admitCiec(ctx, row.rfc, { isNew: isDraft(row), takesSeat: row.state === 'draft' }),
]

type Sent = Partial<Pick<ConnectionRow, 'ciec' | 'ciec_accepted_at' | 'data_source_keys' | 'name'>>

async function commitChanges(ctx: Ctx, row: ConnectionRow, changed: readonly string[], sent: Sent, attempt = 1): Promise<void> {
  const { fiscal_entity_id, state, first_active_at } = row
  const wakes = sent.ciec !== undefined && isAsleep(row)
  const seat = wakes || (sent.ciec !== undefined && isDraft(row)) ? await seatOf(ctx, row) : []
  const active = wakes ? await activation(ctx, fiscal_entity_id, first_active_at) : undefined
  const paused = sent.ciec !== undefined && state === 'paused' ? { paused_from: 'active' as const } : {}
  try {
    await change(ctx, { action: 'fiscal_entity.updated', resource_id: fiscal_entity_id, changed }, [
      ...seat,
      updateConnection(ctx.db, row, { ...sent, ...active?.changes, ...paused, updated_at: ctx.now }),
      ...(active?.planned.statements ?? []),
    ])
  } catch (error) {
    if (!isGuardViolation(error)) throw error
    if (attempt === MAX_ATTEMPTS) throw changedMeanwhile()
    return commitChanges(ctx, await linkedConnection(ctx, fiscal_entity_id), changed, sent, attempt + 1)
  }
  // Also an active connection can have been without a CIEC that opens.
  if (sent.ciec !== undefined && state !== 'paused') await afterActivation(ctx, row, active?.planned.runs ?? [])
}

/** Unlinks an RFC: gone from every answer, its CIEC erased. 402 for one that is paused or beyond the grace of an invoice; a draft that is not paused always goes. */
export async function unlinkRfc(ctx: Ctx, fiscal_entity_id: string, attempt = 1): Promise<void> {
  const row = await linkedConnection(ctx, fiscal_entity_id)
  if (row.state !== 'draft') await admitUnlinking(ctx, row.state === 'paused')
  try {
    await change(ctx, { action: 'fiscal_entity.unlinked', resource_id: fiscal_entity_id }, [unlinkConnection(ctx.db, row, ctx.now)])
  } catch (error) {
    if (!isGuardViolation(error)) throw error
    if (attempt === MAX_ATTEMPTS) throw changedMeanwhile()
    await unlinkRfc(ctx, fiscal_entity_id, attempt + 1)
  }
}
