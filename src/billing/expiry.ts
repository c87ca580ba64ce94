import type { System } from '../platform/context.ts'
import { runOperatorCommands } from './operator/commands.ts'
import { reviewOrganizations } from './subscription/review.ts'
import { type ExpiryCursor, findExpired } from './subscription/review-store.ts'

/** The maximum number of organizations of each kind (grace period ended, trial ended) in one commit. */
const PAGE = 50
const FROM_START: ExpiryCursor = [0, '', 0, '']

/**
 * Suspends organizations whose grace period or trial has ended. Runs every quarter of an hour, before the night's downloads. Operator
 * commands that were recorded by then are carried out first.
 */
export async function suspendExpired(system: System): Promise<void> {
  const { db, now } = system
  if ((await findExpired(db, now, FROM_START, 1)).ids.length === 0) return
  const failures: unknown[] = []
  const note = (error: unknown) => failures.push(error)
  await runOperatorCommands(system).catch(note)
  for (let cursor: ExpiryCursor | null = FROM_START; cursor; ) {
    const page = await findExpired(db, now, cursor, PAGE)
    await reviewOrganizations(system, page.ids).catch(note)
    cursor = page.next
  }
  if (failures.length > 0) throw failures[0]
}
