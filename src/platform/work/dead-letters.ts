import { and, count, isNotNull, sql } from 'drizzle-orm'
import type { System } from '../context.ts'
import { log } from '../log.ts'
import { deadLetters } from './tables.ts'

export type DeadLetter = typeof deadLetters.$inferSelect

/** Records, once, a message that no consumer could handle or an outbox event that could not be relayed, and alerts the operator. */
export async function recordDeadLetter(
  system: System,
  { queue, id, body, reason }: { queue: string; id: string; body: unknown; reason: string },
): Promise<void> {
  const dead_letter_id = `${queue}:${id}`
  await system.db
    .insert(deadLetters)
    .values({ dead_letter_id, queue, body: JSON.stringify(body) ?? 'null', reason, created_at: system.now })
    // It failed again before the sweep deleted the dead letter of the first time.
    .onConflictDoUpdate({ target: deadLetters.dead_letter_id, set: { reason, wanted: null } })
  log.error(system, 'A dead letter was recorded. Decide about it with npm run dead-letters.', { dead_letter_id, reason })
}

/** Returns dead letters that an operator has decided on. */
export const listDecidedDeadLetters = ({ db }: System, limit: number): Promise<DeadLetter[]> =>
  db.select().from(deadLetters).where(isNotNull(deadLetters.wanted)).limit(limit).all()

const among = (some: readonly DeadLetter[]) =>
  sql`${deadLetters.dead_letter_id} in (select value
    from json_each(${JSON.stringify(some.map(({ dead_letter_id }) => dead_letter_id))}))`

/** Deletes dead letters, except those that were recorded again after the operator's decision. */
export async function deleteDeadLetters({ db }: System, some: readonly DeadLetter[]): Promise<void> {
  await db.delete(deadLetters).where(and(among(some), isNotNull(deadLetters.wanted)))
}

/** Undoes the decision to retry dead letters that cannot be retried. */
export async function refuseRetry({ db }: System, some: readonly DeadLetter[]): Promise<void> {
  await db.update(deadLetters).set({ wanted: null, reason: 'No queue takes this message: it can only be dropped.' }).where(among(some))
}

/** Reminds the operator of the dead letters that are left. */
export async function reportDeadLetters(system: System): Promise<void> {
  const [row] = await system.db.select({ deadLetters: count() }).from(deadLetters)
  if (row && row.deadLetters > 0)
    log.error(system, 'There are dead letters. Decide about them with npm run dead-letters.', { deadLetters: row.deadLetters })
}
