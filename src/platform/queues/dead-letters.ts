import type { System } from '../context.ts'
import { deadLetters } from './tables.ts'

/** Records a message that no consumer could handle, once. */
export const keepDeadLetter = async (
  { db, now }: System,
  letter: { queue: string; id: string; body: unknown; reason: string },
): Promise<void> => {
  await db
    .insert(deadLetters)
    .values({
      dead_letter_id: `${letter.queue}:${letter.id}`,
      queue: letter.queue,
      body: JSON.stringify(letter.body) ?? 'null',
      reason: letter.reason,
      created_at: now,
    })
    .onConflictDoNothing()
}
