import { Failure } from '../../failures.ts'
import { actingFor } from '../../identity/organization/acting.ts'
import { PLAN_KEYS } from '../../plans/plans.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { each } from '../../platform/each.ts'
import { providerOf } from '../provider.ts'
import { findSubscription } from '../subscription/subscription-store.ts'
import { changeSubscription } from '../subscription/suspension.ts'
import { payInvoice } from './invoices.ts'
import { finishCommand, isOpen, type OperatorCommandRow, openCommands, takeCommand } from './operator-command-store.ts'

const PAGE = 50

/** Does what operators recorded with `npm run billing`: by the same verbs as any other payment or change of plan, each once. */
export async function runOperatorCommands(system: System): Promise<void> {
  for (let page = await openCommands(system.db, PAGE); page.length > 0; ) {
    await each(page, (order) => carryOut(system, order))
    page = page.length < PAGE ? [] : await openCommands(system.db, PAGE)
  }
}

async function carryOut(system: System, order: OperatorCommandRow): Promise<void> {
  const { db, now } = system
  try {
    if (!(await findSubscription(db, order.organization_id)))
      throw new Failure('not_found', 'organization.not_found', 'There is no such organization.')
    const ctx = await actingFor(system, order.organization_id, 'operator')
    await (order.kind === 'plan' ? place(ctx, order) : pay(ctx, order))
    // What was paid already wrote nothing.
    await finishCommand(db, order, now)
  } catch (error) {
    // Another tick has done it meanwhile.
    if (!(await isOpen(db, order))) return
    // Others were faster, every time: the next minute tries again.
    if (!(error instanceof Failure) || error.kind === 'contention') throw error
    await finishCommand(db, order, now, error.message)
    const message = 'An operator’s order was refused.'
    console.error(
      JSON.stringify({ level: 'error', request_id: system.requestId, message, order_id: order.order_id, refused: error.message }),
    )
  }
}

async function pay(ctx: Ctx, order: OperatorCommandRow): Promise<void> {
  // It would go on asking for the money.
  if (order.kind === 'pay' && providerOf(ctx).collection !== null)
    throw new Failure(
      'conflict',
      'billing.collected',
      'The payment provider collects. Record the payment there: its event pays the invoice here. Or void the invoice there, and settle it here.',
    )
  await payInvoice(ctx, order.invoice_id ?? '', 'invoice.paid', [takeCommand(ctx.db, order, ctx.now)])
}

async function place(ctx: Ctx, order: OperatorCommandRow): Promise<void> {
  const { plan, rfc_allowance } = order
  if (plan === null || !PLAN_KEYS.includes(plan)) throw new Failure('invalid', 'billing.plan', 'There is no such plan.')
  const what = { action: 'billing.plan_changed', resource_id: ctx.organization.id, changed: ['plan', 'rfc_allowance'] }
  await changeSubscription(ctx, what, () => ({ plan, rfc_allowance }), [takeCommand(ctx.db, order, ctx.now)])
}
