/** Carries out what operators decide about dead letters with `npm run letters`. */
import * as z from 'zod'
import type { System } from '../platform/context.ts'
import { databaseOf, type Outbox, wakeRelay } from '../platform/outbox/outbox.ts'
import { dropStatement, putBackStatements } from '../platform/outbox/pending.ts'
import { type DeadLetter, deleteLetters, listDecidedLetters, refuseRetry } from '../platform/queues/dead-letters.ts'
import { resend } from './queues.ts'

/** Letters of one sweep. */
const PAGE = 200

/** What the relay writes into the letter of an outbox event. */
const PutAside = z.object({ outbox: z.union([z.literal('control'), z.int().min(0)]), entity: z.int(), outbox_event_id: z.string() })
type PutAside = z.infer<typeof PutAside>

/** Puts letters back or drops them as an operator has decided. The letters go last, so that a crash only repeats the work. */
export async function carryOutLetters(system: System): Promise<void> {
  const letters = await listDecidedLetters(system, PAGE)
  const events = new Map<string, { outbox: Outbox; wanted: DeadLetter['wanted']; keys: PutAside[] }>()
  const refused: DeadLetter[] = []
  for (const letter of letters) {
    const { wanted, queue } = letter
    const body: unknown = JSON.parse(letter.body)
    const event = queue === 'outbox' ? PutAside.safeParse(body).data : undefined
    if (event) {
      const key = `${event.outbox} ${wanted}`
      const same = events.get(key)
      if (same) same.keys.push(event)
      else events.set(key, { outbox: event.outbox, wanted, keys: [event] })
    } else if (wanted === 'retry' && !(await resend(system, body))) refused.push(letter)
  }
  for (const { outbox, wanted, keys } of events.values()) {
    const d1 = databaseOf(system, outbox)
    await d1.batch(wanted === 'retry' ? putBackStatements(d1, keys) : [dropStatement(d1, keys)])
    if (wanted === 'retry') await wakeRelay(system, outbox)
  }
  if (refused.length > 0) await refuseRetry(system, refused)
  if (letters.length > 0) await deleteLetters(system, letters)
}
