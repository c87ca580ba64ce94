import type { System } from '../../platform/context.ts'
import { runOperatorCommands } from '../invoices/operator-commands.ts'
import { findExpired, type ReviewPosition } from './subscription-store.ts'
import { review } from './suspension.ts'

/** Organizations, of each of the two reasons, in one commit. */
const PAGE = 50
const NOTHING: ReviewPosition = [0, '', 0, '']

/**
 * Suspends whose grace or trial has ended since the last time: with the quarter of an hour in which it does, before the night's runs.
 * What an operator has recorded by then counts first.
 */
export async function suspendExpired(system: System): Promise<void> {
  const { db, now } = system
  if ((await findExpired(db, now, NOTHING, 1)).ids.length === 0) return
  const failures: unknown[] = []
  const note = (error: unknown) => failures.push(error)
  await runOperatorCommands(system).catch(note)
  for (let looked: ReviewPosition | null = NOTHING; looked; ) {
    const page = await findExpired(db, now, looked, PAGE)
    await review(system, page.ids).catch(note)
    looked = page.looked
  }
  if (failures.length > 0) throw failures[0]
}
