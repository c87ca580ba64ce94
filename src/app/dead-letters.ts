/** Carries out what operators decide about dead letters with `npm run dead-letters`. */
import * as z from 'zod'
import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { databaseOf, type Outbox, wakeRelay } from '../platform/outbox/outbox.ts'
import { dropStatement, putBackStatements } from '../platform/outbox/pending.ts'
import { type DeadLetter, deleteDeadLetters, listDecidedDeadLetters, refuseRetry } from '../platform/work/dead-letters.ts'
import { resend } from './work.ts'

/** Letters of one sweep. */
const PAGE = 200

/** The letter of an outbox event, as the relay writes it. */
const Quarantined = z.object({ outbox: z.union([z.literal('control'), z.int().min(0)]), entity: z.int(), outbox_event_id: z.string() })
type Quarantined = z.infer<typeof Quarantined>

/** Puts letters back or drops them as an operator has decided. The letters go last, so that a crash only repeats the work. */
export async function carryOutDeadLetters(system: System): Promise<void> {
  const deadLetters = await listDecidedDeadLetters(system, PAGE)
  const events = new Map<string, { outbox: Outbox; wanted: DeadLetter['wanted']; keys: Quarantined[] }>()
  const refused: DeadLetter[] = []
  for (const deadLetter of deadLetters) {
    const { wanted, queue } = deadLetter
    const body: unknown = JSON.parse(deadLetter.body)
    const event = queue === 'outbox' ? Quarantined.safeParse(body).data : undefined
    if (event) {
      const key = `${event.outbox} ${wanted}`
      const same = events.get(key)
      if (same) same.keys.push(event)
      else events.set(key, { outbox: event.outbox, wanted, keys: [event] })
    } else if (wanted === 'retry' && !(await resend(system, body))) refused.push(deadLetter)
  }
  for (const { outbox, wanted, keys } of events.values()) {
    const d1 = databaseOf(system, outbox)
    await commit(d1, wanted === 'retry' ? putBackStatements(keys) : [dropStatement(keys)])
    if (wanted === 'retry') await wakeRelay(system, outbox)
  }
  if (refused.length > 0) await refuseRetry(system, refused)
  if (deadLetters.length > 0) await deleteDeadLetters(system, deadLetters)
}
