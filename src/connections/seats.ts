import { findSubscription, type StoredSubscription } from '../billing/subscription/subscription-store.ts'
import { TRIAL_PLAN } from '../plans/plans.ts'
import type { Ctx } from '../platform/context.ts'
import { openCursor, pageOf } from '../platform/paging/cursor.ts'
import { type ConnectionRow, listConnections } from '../taxpayers/taxpayers.ts'
import { setActive } from './pause.ts'
import type { BillingRfc, BillingRfcQuery } from './seats-contract.ts'

const seatSource = ({ state }: ConnectionRow, { plan, rfc_allowance }: StoredSubscription): BillingRfc['seat_source'] => {
  if (state !== 'active' && state !== 'invalid_ciec') return null
  if (rfc_allowance !== null) return 'allowance'
  return plan === TRIAL_PLAN ? 'trial' : 'plan'
}

const viewWith =
  (terms: StoredSubscription) =>
  (row: ConnectionRow): BillingRfc => ({
    id: row.fiscal_entity_id,
    rfc: row.rfc,
    active: row.state === 'active',
    connection_status: row.state as BillingRfc['connection_status'],
    seat_source: seatSource(row, terms),
    active_since: row.state === 'active' ? ((row.active_since ?? row.first_active_at)?.toISOString() ?? null) : null,
  })

const termsOf = async ({ db, organization }: Ctx): Promise<StoredSubscription> => (await findSubscription(db, organization.id))!

/** The organization's RFCs with their seats, in the order of their ids. */
export async function listRfcs(ctx: Ctx, query: BillingRfcQuery) {
  const scope = { list: 'billing_rfcs', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const from = after === undefined ? undefined : String(after)
  const rows = await listConnections(ctx.db, ctx.organization.id, undefined, from, query.limit + 1)
  return pageOf(ctx, scope, query.limit, rows, (row) => [row.fiscal_entity_id], viewWith(await termsOf(ctx)))
}

/** Suspends an RFC or resumes it. 404; 402 and 409 as entities/pause.ts says. */
export async function changeRfc(ctx: Ctx, fiscal_entity_id: string, { active }: { active: boolean }): Promise<BillingRfc> {
  const row = await setActive(ctx, fiscal_entity_id, active)
  return viewWith(await termsOf(ctx))(row)
}
