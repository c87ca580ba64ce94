import { and, count, isNotNull, sql } from 'drizzle-orm'
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

const among = (letters: readonly DeadLetter[]) =>
  sql`${deadLetters.dead_letter_id} in (select value
    from json_each(${JSON.stringify(letters.map(({ dead_letter_id }) => dead_letter_id))}))`

/** Deletes letters, except those that were put aside again after the operator's decision. */
export async function deleteLetters({ db }: System, letters: readonly DeadLetter[]): Promise<void> {
  await db.delete(deadLetters).where(and(among(letters), isNotNull(deadLetters.wanted)))
}

/** Undoes the decision to retry letters that cannot be retried. */
export async function refuseRetry({ db }: System, letters: readonly DeadLetter[]): Promise<void> {
  await db.update(deadLetters).set({ wanted: null, reason: 'No queue takes this message: it can only be dropped.' }).where(among(letters))
}

/** Reminds the operator of what is still put aside. */
export async function reportLetters(system: System): Promise<void> {
  const [row] = await system.db.select({ letters: count() }).from(deadLetters)
  if (row && row.letters > 0) log.error(system, 'Something is still put aside: see npm run letters.', { letters: row.letters })
}
