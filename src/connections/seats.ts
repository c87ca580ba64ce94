import { getSubscription, type StoredSubscription } from '../accounts/billing/subscription/subscription.ts'
import { TRIAL_PLAN } from '../accounts/plans/plans.ts'
import type { Ctx } from '../platform/context.ts'
import { openCursor, paginate } from '../platform/paging/cursor.ts'
import { type ConnectionRow, listConnections } from '../taxpayers/taxpayers.ts'
import { setActive } from './pause.ts'
import type { BillingRfc, BillingRfcQuery } from './seats-contract.ts'

const seatSource = ({ state }: ConnectionRow, { plan, rfc_allowance }: StoredSubscription): BillingRfc['seat_source'] => {
  if (state !== 'active' && state !== 'invalid_ciec') return null
  if (rfc_allowance !== null) return 'allowance'
  return plan === TRIAL_PLAN ? 'trial' : 'plan'
}

const viewWith =
  (subscription: StoredSubscription) =>
  (row: ConnectionRow): BillingRfc => ({
    id: row.fiscal_entity_id,
    rfc: row.rfc,
    active: row.state === 'active',
    connection_status: row.state as BillingRfc['connection_status'],
    seat_source: seatSource(row, subscription),
    active_since: row.state === 'active' ? ((row.active_since ?? row.first_active_at)?.toISOString() ?? null) : null,
  })

/** Lists the organization's RFCs with their seats, in the order of their ids. */
export async function listRfcs(ctx: Ctx, query: BillingRfcQuery) {
  const scope = { list: 'billing_rfcs', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const from = after === undefined ? undefined : String(after)
  const rows = await listConnections(ctx.db, ctx.organization.id, from, query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.fiscal_entity_id], viewWith(await getSubscription(ctx)))
}

/** Pauses or resumes an RFC, and returns it with its seat. Throws Failure 402, 404 and 409 as setActive does. */
export async function changeRfc(ctx: Ctx, fiscal_entity_id: string, { active }: { active: boolean }): Promise<BillingRfc> {
  const row = await setActive(ctx, fiscal_entity_id, active)
  return viewWith(await getSubscription(ctx))(row)
}
