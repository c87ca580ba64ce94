import { and, count, eq, isNotNull } from 'drizzle-orm'
import type { System } from '../context.ts'
import { log } from '../log.ts'
import { deadLetters } from './tables.ts'

export type DeadLetter = typeof deadLetters.$inferSelect

/** Records, once, a message that no consumer could handle or an outbox event that could not be relayed, and alerts the operator. */
export async function keepDeadLetter(
  system: System,
  { queue, id, body, reason }: { queue: string; id: string; body: unknown; reason: string },
): Promise<void> {
  const dead_letter_id = `${queue}:${id}`
  await system.db
    .insert(deadLetters)
    .values({ dead_letter_id, queue, body: JSON.stringify(body) ?? 'null', reason, created_at: system.now })
    // It failed again before the sweep deleted the letter of the first time.
    .onConflictDoUpdate({ target: deadLetters.dead_letter_id, set: { reason, wanted: null } })
  log.error(system, 'Something was put aside that only an operator can bring further: see npm run letters.', { dead_letter_id, reason })
}

/** Returns letters that an operator has decided on. */
export const listDecidedLetters = ({ db }: System, limit: number): Promise<DeadLetter[]> =>
  db.select().from(deadLetters).where(isNotNull(deadLetters.wanted)).limit(limit).all()

/** Deletes a letter, unless it was put aside again after the operator's decision. */
export const deleteLetter = ({ db }: System, { dead_letter_id }: DeadLetter) =>
  db.delete(deadLetters).where(and(eq(deadLetters.dead_letter_id, dead_letter_id), isNotNull(deadLetters.wanted)))

/** Undoes the decision to retry a letter that no queue takes. */
export const refuseRetry = ({ db }: System, { dead_letter_id }: DeadLetter) =>
  db
    .update(deadLetters)
    .set({ wanted: null, reason: 'No queue takes this message: it can only be dropped.' })
    .where(eq(deadLetters.dead_letter_id, dead_letter_id))

/** Reminds the operator of what is still put aside. */
export async function reportLetters(system: System): Promise<void> {
  const [row] = await system.db.select({ letters: count() }).from(deadLetters)
  if (row && row.letters > 0) log.error(system, 'Something is still put aside: see npm run letters.', { letters: row.letters })
}
