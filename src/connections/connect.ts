import type { DataSourceKey } from '../authority/port/catalog.ts'
import { checkCiecEntitlement } from '../billing/entitlements.ts'
import { Failure } from '../failures.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import { newId } from '../platform/db/id.ts'
import { fnv1a } from '../platform/hash.ts'
import {
  assertConnectionUnchanged,
  type ConnectionRow,
  type EntityRow,
  findConnection,
  findConnectionByRfc,
  insertConnection,
  updateConnection,
  upsertEntity,
} from '../taxpayers/taxpayers.ts'
import { planActivation, startDownloads } from './activation.ts'
import { commitConnectionChange, viewConnection } from './connections.ts'
import type { FiscalEntity, FiscalEntityDraft } from './contract.ts'
import { checkDataSources, ciecColumns, verifyCiec } from './validation.ts'

/** Returns the organization's unlinked connection to the RFC, if it had one. Throws Failure 409 fiscal_entity.already_linked. */
async function findUnlinked({ db, organization }: Ctx, rfc: string): Promise<ConnectionRow | undefined> {
  const row = await findConnectionByRfc(db, organization.id, rfc)
  if (row && row.state !== 'unlinked')
    throw new Failure('conflict', 'fiscal_entity.already_linked', 'The organization is already connected to this RFC.')
  return row
}

/** The shard of a new RFC. RFCs are spread evenly; the choice is stored and never changes. */
const shardOf = (rfc: string, shards: number): number => fnv1a(rfc) % shards

/**
 * Connects an RFC. With a CIEC that the tax authority accepts, the connection is active and its extractors run; without one it is a draft.
 * An RFC that was unlinked gets its former visibility window back (decisions.md 4). Throws Failure 402 before the tax authority sees the
 * CIEC, as checkCiecEntitlement; 409 fiscal_entity.already_linked; and 422 data_source.unknown and fiscal_entity.ciec_rejected.
 */
export async function connectRfc(ctx: Ctx, draft: FiscalEntityDraft): Promise<FiscalEntity> {
  const { rfc, ciec } = draft
  const keys = checkDataSources(ctx, draft.data_source_keys)
  if (ciec !== undefined) await checkCiecEntitlement(ctx, rfc)
  await findUnlinked(ctx, rfc)
  if (ciec !== undefined) await verifyCiec(ctx, rfc, ciec)
  const entity = await upsertEntity(ctx.db, { rfc, shard: shardOf(rfc, ctx.settings.ledgers.length), created_at: ctx.now })
  return commitConnectionChange(async () => commitConnection(ctx, draft, keys, entity, await findUnlinked(ctx, rfc)))
}

/** The entitlement is checked again, because a concurrent request may have taken the last seat. */
async function commitConnection(
  ctx: Ctx,
  draft: FiscalEntityDraft,
  data_source_keys: DataSourceKey[] | null,
  { entity, shard, rfc }: EntityRow,
  former: ConnectionRow | undefined,
): Promise<FiscalEntity> {
  const { db, now, organization } = ctx
  const { ciec } = draft
  const fiscal_entity_id = former?.fiscal_entity_id ?? newId('fe')
  const seat = ciec === undefined ? [] : [await checkCiecEntitlement(ctx, rfc)]
  const active = ciec === undefined ? undefined : await planActivation(ctx, fiscal_entity_id, former?.first_active_at ?? null)
  const columns = {
    ...({ state: 'draft', ciec: null, ciec_accepted_at: null, paused_from: null, paused_by: null } as const),
    ...(ciec !== undefined && (await ciecColumns(ctx, fiscal_entity_id, ciec))),
    ...active?.changes,
    name: draft.name ?? null,
    data_source_keys,
    linked_at: now,
    updated_at: now,
  }
  const identity = { organization_id: organization.id, fiscal_entity_id, entity, rfc, shard }
  const noWindows = { issued_from: null, issued_to: null, received_from: null, received_to: null }
  const initial = { first_active_at: null, active_since: null, ...noWindows, imported_at: null, untold: null }
  const row = { ...initial, ...former, ...identity, ...columns }
  await change(ctx, { action: 'fiscal_entity.connected', resource_id: fiscal_entity_id, changed: Object.keys(draft) }, [
    ...seat,
    ...(former ? [assertConnectionUnchanged(db, former), updateConnection(db, former.connection, columns)] : [insertConnection(db, row)]),
    ...(active?.planned.statements ?? []),
  ])
  if (active) await startDownloads(ctx, { connection: 0, ...row }, active.planned.runs)
  return viewConnection(ctx, (await findConnection(db, organization.id, fiscal_entity_id)) ?? row)
}
