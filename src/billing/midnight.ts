import type { System } from '../env.ts'
import { carryOutOrders } from './orders.ts'
import { review } from './suspension.ts'
import { findExpired, type Looked } from './terms-store.ts'

/** Organizations, of each of the two reasons, in one commit. */
const PAGE = 50
const START: Looked = [0, '', 0, '']

/**
 * Suspends whose grace or trial has ended since the last time: with the quarter of an hour in which it does, before the night's runs.
 * What an operator has recorded by then counts first.
 */
export async function suspendExpired(system: System): Promise<void> {
  const failures: unknown[] = []
  const note = (error: unknown) => failures.push(error)
  let page = await findExpired(system.db, system.now, START, PAGE)
  if (page.ids.length === 0) return
  await carryOutOrders(system).catch(note)
  page = await findExpired(system.db, system.now, START, PAGE)
  for (;;) {
    await review(system, page.ids).catch(note)
    if (!page.looked) break
    page = await findExpired(system.db, system.now, page.looked, PAGE)
  }
  if (failures.length > 0) throw failures[0]
}
