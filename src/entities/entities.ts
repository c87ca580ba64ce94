import { change } from '../audit/audit.ts'
import { authorityOf } from '../authority/adapters.ts'
import { isUniqueViolation, type Statement } from '../db/commit.ts'
import { openCursor, pageOf } from '../db/cursor.ts'
import { newId } from '../db/id.ts'
import { resumeDownloads } from '../downloads/downloads.ts'
import type { Ctx } from '../env.ts'
import { planRuns, startPlanned } from '../extractors/run.ts'
import { Failure, invalid, notFound } from '../failures.ts'
import type { DataSourceKey } from '../sources/catalog.ts'
import { defaultKeys, refuseUnknownKeys, withMandatory } from '../sources/sources.ts'
import { sealCiec } from './ciec.ts'
import type { FiscalEntity, FiscalEntityChanges, FiscalEntityDraft, FiscalEntityQuery } from './contract.ts'
import { hasValidCheckDigit } from './rfc.ts'
import { type ConnectionRow, findConnection, findEver, insertConnection, listConnections, updateConnection, upsertEntity } from './store.ts'

const CHECK_DIGIT = { code: 'rfc.check_digit', message: 'The check digit of the RFC is not the expected one. Real RFCs like that exist.' }

/** The sources enabled on a connection: its own list, or all active ones that are not premium; the mandatory ones always. */
export const sourcesOf = (row: Pick<ConnectionRow, 'data_source_keys'>, active: readonly DataSourceKey[]): DataSourceKey[] =>
  row.data_source_keys === null ? withMandatory(defaultKeys(active)) : withMandatory(row.data_source_keys)

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

/** What becoming active changes, and what it starts: extractors for new connections the first time, for reactivated ones later. */
async function activation(ctx: Ctx, row: Omit<ConnectionRow, 'connection'>, ciec: string) {
  const trigger = row.first_active_at === null ? 'connection_created' : 'connection_reactivated'
  const changes = {
    state: 'active' as const,
    ciec: await sealCiec(ctx.settings.ciecKeys, { organization_id: ctx.organization.id, fiscal_entity_id: row.fiscal_entity_id }, ciec),
    ciec_accepted_at: ctx.now,
    first_active_at: row.first_active_at ?? ctx.now,
  } as const
  const planned = await planRuns(ctx, trigger, row.fiscal_entity_id)
  return { changes, planned }
}

/**
 * Connects an RFC: with a CIEC that the authority accepts the connection is active and its extractors run, without one it is a
 * draft. An RFC that was unlinked comes back with the window that it had. decisions.md 4.
 */
export async function connectRfc(ctx: Ctx, draft: FiscalEntityDraft): Promise<FiscalEntity> {
  const { db, now, organization } = ctx
  const keys = checkedKeys(ctx, draft.data_source_keys)
  const before = await findEver(db, organization.id, draft.rfc)
  if (before && before.state !== 'unlinked') throw alreadyLinked()
  if (draft.ciec !== undefined) await acceptCiec(ctx, draft.rfc, draft.ciec)
  const entity = await upsertEntity(db, {
    fiscal_entity_id: newId('fe'),
    rfc: draft.rfc,
    shard: shardOf(draft.rfc, ctx.settings.ledgers.length),
    created_at: now,
  })
  const { entity: book, fiscal_entity_id, shard } = entity
  const fresh: Omit<ConnectionRow, 'connection'> = {
    organization_id: organization.id,
    fiscal_entity_id,
    entity: book,
    rfc: draft.rfc,
    shard,
    state: 'draft',
    name: draft.name ?? null,
    data_source_keys: keys,
    ciec: null,
    ciec_accepted_at: null,
    first_active_at: before?.first_active_at ?? null,
    visible_from: before?.visible_from ?? null,
    visible_to: before?.visible_to ?? null,
    imported_at: before?.imported_at ?? null,
    linked_at: now,
    updated_at: now,
  }
  const active = draft.ciec === undefined ? undefined : await activation(ctx, fresh, draft.ciec)
  const row = { ...fresh, ...active?.changes }
  const write: Statement = before ? updateConnection(db, before, row) : insertConnection(db, row)
  try {
    await change(ctx, { action: 'fiscal_entity.connected', resource_id: fiscal_entity_id, changed: Object.keys(draft) }, [
      write,
      ...(active?.planned.statements ?? []),
    ])
  } catch (error) {
    throw isUniqueViolation(error) ? alreadyLinked() : error
  }
  if (active) await afterActivation(ctx, entity, active.planned)
  return getFiscalEntity(ctx, fiscal_entity_id)
}

type Planned = Awaited<ReturnType<typeof planRuns>>

/** Runs what was planned. The plan is committed: what fails here is finished by the sweep, and is not the caller's failure. */
async function afterActivation(ctx: Ctx, entity: { entity: number; shard: number }, planned: Planned): Promise<void> {
  try {
    await startPlanned(ctx, planned.runs)
    await resumeDownloads(ctx, entity)
  } catch (error) {
    console.error(
      JSON.stringify({ level: 'error', request_id: ctx.requestId, message: 'A planned run is left to the sweep.', error: String(error) }),
    )
  }
}

async function linkedConnection(ctx: Ctx, fiscal_entity_id: string): Promise<ConnectionRow> {
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

/** Changes a connection. A newly accepted CIEC makes a draft or one with an invalid CIEC active. */
export async function changeFiscalEntity(ctx: Ctx, fiscal_entity_id: string, changes: FiscalEntityChanges): Promise<FiscalEntity> {
  const row = await linkedConnection(ctx, fiscal_entity_id)
  const keys = changes.data_source_keys === undefined ? row.data_source_keys : checkedKeys(ctx, changes.data_source_keys)
  if (changes.ciec !== undefined) await acceptCiec(ctx, row.rfc, changes.ciec)
  const wakes = changes.ciec !== undefined && (row.state === 'draft' || row.state === 'invalid_ciec')
  const active = changes.ciec === undefined ? undefined : await activation(ctx, row, changes.ciec)
  const updates = {
    ...active?.changes,
    ...(!wakes && { state: row.state, first_active_at: row.first_active_at }),
    data_source_keys: keys,
    name: changes.name === undefined ? row.name : changes.name,
    updated_at: ctx.now,
  }
  const [result] = await change(ctx, { action: 'fiscal_entity.updated', resource_id: fiscal_entity_id, changed: Object.keys(changes) }, [
    updateConnection(ctx.db, row, updates),
    ...(wakes ? active!.planned.statements : []),
  ])
  if (result!.meta.changes === 0) return changeFiscalEntity(ctx, fiscal_entity_id, changes)
  if (wakes) await afterActivation(ctx, row, active!.planned)
  return getFiscalEntity(ctx, fiscal_entity_id)
}

/** Unlinks an RFC: gone from every answer, its CIEC erased. */
export async function unlinkRfc(ctx: Ctx, fiscal_entity_id: string): Promise<void> {
  const row = await linkedConnection(ctx, fiscal_entity_id)
  await change(ctx, { action: 'fiscal_entity.unlinked', resource_id: fiscal_entity_id }, [
    updateConnection(ctx.db, row, { state: 'unlinked', ciec: null, ciec_accepted_at: null, updated_at: ctx.now }),
  ])
}
