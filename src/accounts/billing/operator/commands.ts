import { and, asc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx, System } from '../../../platform/context.ts'
import type { Database, Statement } from '../../../platform/db/commit.ts'
import { assertThat } from '../../../platform/db/guard.ts'
import { Failure, invalid } from '../../../platform/failures.ts'
import { log } from '../../../platform/log.ts'
import { BudgetUsedUp } from '../../../platform/work/budget.ts'
import { each } from '../../../platform/work/pages.ts'
import { actingFor } from '../../organization/organization.ts'
import { PLAN_KEYS } from '../../plans/plans.ts'
import { operatorCommands } from '../../tables.ts'
import { payInvoice } from '../invoices/invoices.ts'
import { APPLIED_ONCE, findSubscription } from '../subscription/store.ts'
import { changeSubscription, type Resume } from '../subscription/subscription.ts'

const PAGE = 50
/** The most statements of a command, apart from one for each ledger, unless concurrent changes make it repeat. */
const COMMAND_STATEMENTS = 40

/**
 * Carries out what operators recorded with `npm run billing`, each command once. Returns false when the budget of the invocation ends
 * first; the next minute continues.
 */
export async function runOperatorCommands(system: System, resume: Resume): Promise<boolean> {
  try {
    for (let page = await listOpenCommands(system.db, PAGE); page.length > 0; ) {
      await each(page, (command) => carryOut(system, command, resume))
      page = page.length < PAGE ? [] : await listOpenCommands(system.db, PAGE)
    }
    return true
  } catch (error) {
    if (error instanceof BudgetUsedUp) return false
    throw error
  }
}

async function carryOut(system: System, command: OperatorCommandRow, resume: Resume): Promise<void> {
  const { db, now, budget } = system
  budget.require(COMMAND_STATEMENTS)
  try {
    if (!(await findSubscription(db, command.organization_id)))
      throw new Failure('not_found', 'organization.not_found', 'There is no such organization.')
    const ctx = await actingFor(system, command.organization_id, 'operator')
    await (command.kind === 'plan' ? changePlan(ctx, command, resume) : pay(ctx, command, resume))
    // An invoice that was paid already changed nothing, so the command is still open.
    await finishCommand(db, command, now)
  } catch (error) {
    // A concurrent run carried it out.
    if (!(await isOpen(db, command))) return
    // After contention the next run tries again.
    if (!(error instanceof Failure) || error.kind === 'contention') throw error
    await finishCommand(db, command, now, error.message)
    log.error(system, 'An operator command was refused.', { command_id: command.command_id, refused: error.message })
  }
}

const finished = (ctx: Ctx, command: OperatorCommandRow): Statement[] => [
  assertCommandOpen(command),
  finishCommand(ctx.db, command, ctx.now),
]

async function pay(ctx: Ctx, command: OperatorCommandRow, resume: Resume): Promise<void> {
  // The provider would continue to request the payment.
  if (command.kind === 'pay' && ctx.settings.billingProvider !== 'manual')
    throw new Failure(
      'conflict',
      'billing.collected',
      'The payment provider collects the invoices. Record the payment at the provider, whose event pays the invoice here; or void the ' +
        'invoice there and use the command settle.',
    )
  await payInvoice(ctx, command.invoice_id ?? '', resume, 'invoice.paid', finished(ctx, command))
}

async function changePlan(ctx: Ctx, command: OperatorCommandRow, resume: Resume): Promise<void> {
  const { plan, rfc_allowance } = command
  if (plan === null || !PLAN_KEYS.includes(plan)) throw invalid('billing.plan', [{ path: 'plan', message: 'There is no such plan.' }])
  const what = { action: 'billing.plan_changed', resource_id: ctx.organization.id, changed: ['plan', 'rfc_allowance'] }
  await changeSubscription(ctx, what, () => ({ plan, rfc_allowance }), resume, finished(ctx, command))
}

export type OperatorCommandRow = typeof operatorCommands.$inferSelect

const open = (command_id: string) => and(eq(operatorCommands.command_id, command_id), isNull(operatorCommands.done_at))

/** Commands that are not done, oldest first. */
export const listOpenCommands = (db: Database, limit: number) =>
  db.select().from(operatorCommands).where(isNull(operatorCommands.done_at)).orderBy(asc(operatorCommands.created_at)).limit(limit)

export const isOpen = async (db: Database, { command_id }: OperatorCommandRow): Promise<boolean> =>
  (await db.select().from(operatorCommands).where(open(command_id)).limit(1)).length > 0

/** Refuses its batch when the command was carried out. */
export const assertCommandOpen = ({ command_id }: OperatorCommandRow): SQL =>
  assertThat(
    sql`exists (select 1 from ${operatorCommands} where ${operatorCommands.command_id} = ${command_id}
      and ${operatorCommands.done_at} is null)`,
    APPLIED_ONCE,
  )

/** Marks the command as done, or as refused for this reason; one that is done stays as it is. */
export const finishCommand = (db: Database, { command_id }: OperatorCommandRow, done_at: Date, refused: string | null = null) =>
  db.update(operatorCommands).set({ done_at, refused }).where(open(command_id))
