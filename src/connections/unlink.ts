import { checkUnlinkEntitlement } from '../accounts/billing/entitlements.ts'
import { withdrawOpenings } from '../documents/mailbox/requests/requests.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import { assertConnectionUnchanged, isDraft, isInvalid, unlinkConnection } from '../taxpayers/taxpayers.ts'
import { resolveInvalid } from './activation.ts'
import { commitConnectionChange, requireConnection } from './connections.ts'

/**
 * Unlinks an RFC: the connection disappears from every answer, and its CIEC and e.firma are erased. A draft can always be unlinked, also a paused one.
 * Throws Failure 402 as checkUnlinkEntitlement does, 404 fiscal_entity.not_found, and 409 fiscal_entity.changed.
 */
export const unlinkRfc = (ctx: Ctx, fiscal_entity_id: string): Promise<void> =>
  commitConnectionChange(async () => {
    const row = await requireConnection(ctx, fiscal_entity_id)
    if (!isDraft(row)) await checkUnlinkEntitlement(ctx, fiscal_entity_id, row.state === 'paused')
    await change(ctx, { action: 'fiscal_entity.unlinked', resource_id: fiscal_entity_id }, [
      assertConnectionUnchanged(ctx.db, row),
      unlinkConnection(ctx.db, row.connection, ctx.now),
      ...withdrawOpenings(ctx),
    ])
    if (isInvalid(row)) await resolveInvalid(ctx, row)
  })
