import { checkLoginEntitlement } from '../accounts/billing/entitlements.ts'
import { takePlace } from '../accounts/plans/place.ts'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { newId } from '../platform/db/id.ts'
import { Failure } from '../platform/failures.ts'
import { shardAmong } from '../platform/hash.ts'
import {
  assertConnectionUnchanged,
  type ConnectionRow,
  draftsUsed,
  type EntityRow,
  findConnection,
  findConnectionByRfc,
  insertConnection,
  NO_LOGINS,
  updateConnection,
  upsertEntity,
} from '../taxpayers/taxpayers.ts'
import { planActivation, startDownloads } from './activation.ts'
import { commitConnectionChange, type ShownRow, viewConnection } from './connections.ts'
import type { FiscalEntity, FiscalEntityDraft } from './contract.ts'
import { mergeMetadata, refuseTaken } from './labels.ts'
import { checkDataSources, loginsIn, storing, type Taken, verifyLogins } from './validation.ts'

/** Returns the organization's unlinked connection to the RFC, if it had one. Throws Failure 409 fiscal_entity.already_linked. */
async function findUnlinked({ db, organization }: Ctx, rfc: string): Promise<ConnectionRow | undefined> {
  const row = await findConnectionByRfc(db, organization.id, rfc)
  if (!row || row.state === 'unlinked') return row
  const { fiscal_entity_id } = row
  throw new Failure(
    'conflict',
    'fiscal_entity.already_linked',
    `The organization is already connected to this RFC, as ${fiscal_entity_id}. PATCH /v1/fiscal-entities/${fiscal_entity_id} changes the connection.`,
    { fiscal_entity_id },
  )
}

/**
 * Connects an RFC. With a CIEC or an e.firma that the tax authority accepts, the connection is active and its extractors run; without one it
 * is a draft, as it is with one about which the authority cannot be asked. An RFC that was unlinked gets its former visibility window back (decisions.md 4). Throws Failure 402 before the tax authority
 * is asked, as checkLoginEntitlement; 409 fiscal_entity.already_linked, fiscal_entity.external_id_taken, and fiscal_entity.plan_limit for a draft beyond the plan's; 422
 * data_source.unknown or .inactive, fiscal_entity.ciec_rejected, fiscal_entity.efirma_rejected, and as loginsIn; 429 fiscal_entity.ciec_attempts; and
 * Unavailable.
 */
export const connectRfc = async (ctx: Ctx, draft: FiscalEntityDraft): Promise<FiscalEntity> =>
  viewConnection(ctx, await connect(ctx, draft))

/** The same, answered as a row. `read` is the organization's unlinked connection to the RFC, where it was read before. */
export async function connect(ctx: Ctx, draft: FiscalEntityDraft, read?: { former: ConnectionRow | undefined }): Promise<ShownRow> {
  const { rfc } = draft
  const keys = checkDataSources(ctx, draft.data_source_keys)
  const logins = await loginsIn(ctx, rfc, draft)
  if (logins.length > 0) await checkLoginEntitlement(ctx, rfc)
  const known = read ? read.former : await findUnlinked(ctx, rfc)
  if (logins.length > 0) await refuseTaken(ctx, draft)
  const taken = await verifyLogins(ctx, logins, known)
  const entity = await upsertEntity(ctx.db, { rfc, shard: shardAmong(rfc, ctx.settings.openLedgers), created_at: ctx.now })
  let isAgain = false
  return commitConnectionChange(async () => {
    // What was read before is guarded by the commit.
    const former = isAgain ? await findUnlinked(ctx, rfc) : known
    if (isAgain) await refuseTaken(ctx, draft, former?.fiscal_entity_id)
    isAgain = true
    return commitConnection(ctx, draft, keys, entity, former, taken)
  })
}

/** The entitlement is checked again, because a concurrent request may have taken the last seat. */
async function commitConnection(
  ctx: Ctx,
  draft: FiscalEntityDraft,
  data_source_keys: DataSourceKey[] | null,
  { entity, shard, rfc }: EntityRow,
  former: ConnectionRow | undefined,
  taken: Taken,
): Promise<ShownRow> {
  const { db, now, organization } = ctx
  const fiscal_entity_id = former?.fiscal_entity_id ?? newId('fe')
  const isActive = taken.accepted.length > 0
  const seat = isActive ? await checkLoginEntitlement(ctx, rfc) : []
  const active = isActive ? await planActivation(ctx, fiscal_entity_id, former?.first_active_at ?? null) : undefined
  const stored = await storing(ctx, entity, fiscal_entity_id, taken, former?.connection)
  const columns = {
    ...NO_LOGINS,
    ...({ state: 'draft', paused_from: null, paused_by: null } as const),
    ...stored.columns,
    ...active?.changes,
    name: draft.name ?? null,
    external_id: draft.external_id ?? null,
    metadata: mergeMetadata({}, draft.metadata),
    data_source_keys,
    linked_at: now,
    updated_at: now,
  }
  const identity = { organization_id: organization.id, fiscal_entity_id, entity, rfc, shard }
  const noWindows = {
    issued_from: null,
    issued_to: null,
    received_from: null,
    received_to: null,
    issued_struck: null,
    received_struck: null,
    widened_at: null,
    widened_before: null,
  }
  const initial = { first_active_at: null, active_since: null, ...noWindows, imported_at: null, untold: null }
  const row = { ...initial, ...former, ...identity, ...columns }
  const connected = (guards: readonly Statement[]) =>
    change(ctx, { action: 'fiscal_entity.connected', resource_id: fiscal_entity_id, changed: Object.keys(draft) }, [
      ...guards,
      ...stored.statements,
      ...(former ? [assertConnectionUnchanged(db, former), updateConnection(db, former.connection, columns)] : [insertConnection(db, row)]),
      ...(active?.planned.statements ?? []),
    ])
  if (active) await connected(seat)
  else await takePlace(ctx, 'drafts', draftsUsed(organization.id), connected)
  if (active) await startDownloads(ctx, { connection: 0, ...row }, active.planned.runs, stored.areOutstanding)
  return (active && (await findConnection(db, organization.id, fiscal_entity_id))) || row
}
