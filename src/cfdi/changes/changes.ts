import { listedOf } from '../../lists/listed/counterparties.ts'
import type { Ctx } from '../../platform/context.ts'
import { type CursorScope, openHidden, sealHidden } from '../../platform/paging/cursor.ts'
import { openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { view } from '../view.ts'
import type { CfdiChange, CfdiChanges, ChangesQuery } from './contract.ts'
import type { ToldChange } from './page.ts'
import type { ChangesPosition } from './position.ts'
import { readChanges } from './read.ts'

/**
 * Returns what changed for the organization since the cursor. One call to the ledger when nothing has, and as many as it takes to fill the answer, within bounds. What a cursor knows,
 * such as the commits of the RFC, tells of the downloads of others: nobody can read it.
 */
export async function listChanges(ctx: Ctx, { cursor, from, limit }: ChangesQuery): Promise<CfdiChanges> {
  const ledger = openLedger(ctx)
  const scope: CursorScope = { list: 'cfdi.changes', filters: { fiscal_entity_id: ledger.fiscal_entity_id } }
  const before = cursor === undefined ? null : await openHidden<ChangesPosition>(ctx, scope, cursor)
  const { changes, position, has_more } = await readChanges(ledger, before, from === 'now', limit)
  const listed = changes.some(({ item }) => item !== null) ? await listedOf(ctx) : undefined
  const viewed = ({ uuid, reasons, item }: ToldChange): CfdiChange => ({
    uuid,
    reasons,
    cfdi: item && view(item.row, item.context, listed),
  })
  return { data: changes.map(viewed), has_more, next_cursor: await sealHidden(ctx, scope, position) }
}
