import { Failure } from '../failures.ts'
import { planOf } from '../plans/plans.ts'
import type { Ctx } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { seatCheckout } from './provider.ts'
import { type SubscriptionStatus, subscriptionStatus } from './subscription/status.ts'
import { assertSeat, findSubscription, type StoredSubscription } from './subscription/subscription-store.ts'

interface Position extends SubscriptionStatus {
  terms: StoredSubscription
}

const refused = (code: string, detail: string, checkout_url?: string | null): Failure =>
  new Failure('payment_required', code, detail, checkout_url ? { checkout_url } : {})

async function positionOf({ db, organization, now }: Ctx, rfc: string | null = null): Promise<Position> {
  const terms = (await findSubscription(db, organization.id, rfc))!
  const standing = subscriptionStatus(terms, now)
  return { ...standing, suspension: standing.suspension ?? terms.suspension, terms }
}

function refuseOverdue({ suspension, grace_until }: Position): void {
  if (suspension === 'payment')
    throw refused(
      'billing.overdue',
      `An invoice is overdue beyond its grace of 3 days, which ended ${grace_until?.toISOString() ?? 'before'}. Pay it: GET /v1/billing/invoices lists what is open.`,
    )
}

const rfcs = (count: number): string => (count === 1 ? '1 RFC' : `${count} RFCs`)

/** Asked for before a refusal is thrown, because a checkout may have to be opened for it. */
async function refuseSeat(ctx: Ctx, { allowance, suspension, terms }: Position): Promise<void> {
  const isOver = suspension === 'trial'
  if (!isOver && (allowance === null || terms.held < allowance)) return
  const rule = isOver
    ? 'The free trial is over and leaves no seat.'
    : `All seats are taken, on the plan ${planOf(terms.plan).name}: ${terms.held} of ${allowance}.`
  const otherwise = isOver ? 'Choose a plan' : 'Suspend or unlink another RFC, or add a seat'
  throw refused('billing.seats', `${rule} ${otherwise}: checkout_url leads there.`, await seatCheckout(ctx, terms))
}

function refuseTrial({ allowance, isTrial, suspension, terms }: Position): void {
  if (suspension === 'trial') throw refused('billing.trial_ended', 'The free trial is over. Choose a plan to connect RFCs with a CIEC.')
  if (isTrial && allowance !== null && terms.connected >= allowance)
    throw refused(
      'billing.trial_rfcs',
      `The free trial is for ${rfcs(allowance)}. Choose a plan to connect another, unlink what is connected, or connect this one as a draft.`,
    )
}

/** The seat that a gate found free, for the commit that takes it: another one may have been faster. */
const seat = ({ db, organization }: Ctx, rfc: string, { allowance, terms }: Position, isTrial: boolean): Statement =>
  assertSeat(db, organization.id, { plan: terms.plan, rfc, allowance, isTrial })

/**
 * What a CIEC for an RFC must pass before the authority sees it: no invoice beyond grace, a trial that goes on and covers it where it
 * is new, a seat where it takes one. 402. Answers the statement that holds what was found.
 */
export async function admitCiec(ctx: Ctx, rfc: string, { isNew, takesSeat } = { isNew: true, takesSeat: true }): Promise<Statement> {
  const position = await positionOf(ctx, rfc)
  refuseOverdue(position)
  const without = { ...position, allowance: null }
  refuseTrial(isNew ? position : without)
  const asked = takesSeat ? position : without
  await refuseSeat(ctx, asked)
  return seat(ctx, rfc, isNew && position.isTrial ? position : asked, position.isTrial)
}

/** What resuming an RFC must pass: no invoice beyond grace, and a seat where the RFC will hold one. 402. Answers what takes it. */
export async function admitResumption(ctx: Ctx, rfc: string, holdsSeat: boolean): Promise<Statement[]> {
  const position = await positionOf(ctx, rfc)
  refuseOverdue(position)
  if (!holdsSeat) return []
  await refuseSeat(ctx, position)
  return [seat(ctx, rfc, position, false)]
}

/** What unlinking a connection that is not a draft must pass: it is not paused, and no invoice is beyond grace. 402. */
export async function admitUnlinking(ctx: Ctx, isPaused: boolean): Promise<void> {
  const position = await positionOf(ctx)
  refuseOverdue(position)
  if (!isPaused) return
  const how =
    position.suspension === 'trial' ? 'The free trial is over: choose a plan first' : 'Resume it first with PATCH /v1/billing/rfcs/{id}'
  throw refused('billing.connection_paused', `A paused connection cannot be unlinked. ${how}.`)
}
