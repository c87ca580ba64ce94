import { change } from '../../platform/audit/audit.ts'
import { type Ctx, eventsOf } from '../../platform/context.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { Failure, invalid } from '../../platform/failures.ts'
import { isHosted, isLive } from '../../platform/settings.ts'
import { clock } from '../../platform/time/clock.ts'
import { sendHints } from '../../platform/work/send.ts'
import type { ClockMove, ServiceClock } from '../test-helpers/contract.ts'
import { beginMove, type ClockRow, countHappened, findClock } from './store.ts'

/** The message that has a worker move the clock on. */
export const MOVE = { clock: 'move' }

const LONGEST_MS = 366 * 86_400_000

/** What this isolate knows of the row: whether it was read, and whether a move goes on. */
let known: { isMoving: boolean } | null = null

export function setClock({ ahead, target }: Pick<ClockRow, 'ahead' | 'target'>): void {
  clock.ahead = ahead
  known = { isMoving: target !== null }
}

/**
 * Sets the clock of this isolate as the service's is. Returns whether a move goes on. In `live` there is nothing to read. A local service has
 * one isolate, which reads the row once, unless `isFresh` is asked for: an operator moves the clock without it.
 */
export async function keepTime(env: Env, d1 = env.DB, isFresh = isHosted(env)): Promise<boolean> {
  if (isLive(env)) return false
  if (known === null || isFresh) {
    // Without its database the service cannot do anything that would need the time.
    const row = await findClock(d1).catch(() => undefined)
    if (row !== undefined) setClock(row ?? { ahead: clock.ahead, target: null })
  }
  return known?.isMoving ?? false
}

/** Returns the service's clock, and what the last move of it has done to the organization. */
export async function getClock(ctx: Ctx): Promise<ServiceClock> {
  const row = await findClock(ctx.db.$client)
  const now = clock.now()
  const view = { now: new Date(now).toISOString(), ahead_seconds: Math.round(clock.ahead / 1_000) }
  if (!row) return { ...view, status: 'ready', move: null }
  const { began_at, ends_at, target } = row
  const isMoving = target !== null
  const happened = await countHappened(
    ctx.db.$client,
    eventsOf(ctx).$client,
    ctx.organization.id,
    began_at,
    isMoving ? now : Math.max(ends_at, now),
  )
  const percent = isMoving ? Math.max(0, Math.min(99, Math.floor(((now - began_at) / Math.max(1, ends_at - began_at)) * 100))) : 100
  const [from, to] = [new Date(began_at).toISOString(), new Date(ends_at).toISOString()]
  return { ...view, status: isMoving ? 'moving' : 'ready', move: { from, to, percent, happened } }
}

/**
 * Begins to move the service's clock. Throws Failure 409 clock.several_organizations and clock.moving, and 422 clock.past and clock.too_far.
 */
export async function moveClock(ctx: Ctx, { advance, to }: ClockMove): Promise<ServiceClock> {
  const now = clock.now()
  const by = advance === undefined ? Date.parse(to!) - now : millisecondsOf(advance)
  const path = advance === undefined ? 'to' : 'advance'
  if (by <= 0) throw invalid('clock.past', [{ path, message: `Must be after ${new Date(now).toISOString()}, the service’s time.` }])
  if (by > LONGEST_MS) throw invalid('clock.too_far', [{ path, message: 'Must be at most 366 days ahead. Move the clock several times.' }])
  const { ahead } = clock
  const move = { ahead, target: ahead + by, began_at: now, ends_at: now + by }
  try {
    await change(ctx, { action: 'test_helper.clock_moved', resource_id: ctx.organization.id }, beginMove(move))
  } catch (error) {
    if (isGuardViolation(error, 'clock.alone'))
      throw new Failure(
        'conflict',
        'clock.several_organizations',
        'The service has several organizations, and its clock is the same for all of them. Only its operator moves it, with npm run clock.',
      )
    if (!isGuardViolation(error, 'clock.still')) throw error
    throw new Failure('conflict', 'clock.moving', 'The clock is moving. GET /v1/test-helpers/clock says how far it is.')
  }
  setClock(move)
  await sendHints(ctx, ctx.env.TASKS, [{ body: MOVE }])
  return getClock(ctx)
}

const UNITS = [7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1_000]

/** The form of a duration of weeks, days, hours, minutes and seconds. */
const DURATION = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/

const millisecondsOf = (duration: string): number =>
  UNITS.reduce((sum, unit, n) => sum + unit * Number(DURATION.exec(duration)?.[n + 1] ?? 0), 0)
