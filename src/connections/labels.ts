import type { Ctx } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { Failure, invalid } from '../platform/failures.ts'
import { assertMetadataUnchanged, findByExternalId, type WithReaches } from '../taxpayers/taxpayers.ts'

/** What a customer calls a connection, and keeps with it. */
interface Labels {
  external_id?: string | null | undefined
  metadata?: Record<string, string | null> | null | undefined
}

const MOST_KEYS = 50

/**
 * Refuses an external_id that another connection of the organization has; `fiscal_entity_id` is the one that is to have it. Throws Failure 409
 * fiscal_entity.external_id_taken.
 */
export async function refuseTaken(ctx: Ctx, { external_id }: Labels, fiscal_entity_id?: string): Promise<void> {
  if (external_id === null || external_id === undefined) return
  const holder = await findByExternalId(ctx.db, ctx.organization.id, external_id)
  if (holder === undefined || holder === fiscal_entity_id) return
  throw new Failure(
    'conflict',
    'fiscal_entity.external_id_taken',
    `Another RFC of the organization has this external_id. Send another one, or take it from that RFC with PATCH /v1/fiscal-entities/${holder}.`,
    { resource_id: holder },
  )
}

/** What the keys that were sent make of the metadata. */
export const mergeMetadata = (stored: Record<string, string>, given: Labels['metadata']): Record<string, string> =>
  given === null
    ? {}
    : (Object.fromEntries(Object.entries({ ...stored, ...given }).filter(([, value]) => value !== null)) as Record<string, string>)

/**
 * What labels change of a connection, with the guards of that; the unique index guards the external_id. Throws Failure 409 as refuseTaken, and 422 fiscal_entity.metadata_keys when
 * more than 50 keys would result.
 */
export async function labelling(
  ctx: Ctx,
  row: WithReaches,
  labels: Labels,
): Promise<{ columns: Pick<Partial<WithReaches>, 'external_id' | 'metadata'>; guards: Statement[] }> {
  const { external_id, metadata } = labels
  await refuseTaken(ctx, labels, row.fiscal_entity_id)
  const merged = metadata === undefined ? undefined : mergeMetadata(row.metadata, metadata)
  const keys = Object.keys(merged ?? {}).length
  if (keys > MOST_KEYS)
    throw invalid('fiscal_entity.metadata_keys', [
      { path: 'metadata', message: `May have at most ${MOST_KEYS} keys, and ${keys} would result. Erase some with null.` },
    ])
  return {
    columns: { ...(external_id !== undefined && { external_id }), ...(merged && { metadata: merged }) },
    guards: merged ? [assertMetadataUnchanged(ctx.db, row)] : [],
  }
}
