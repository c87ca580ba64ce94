/** Carries out what operators decide about dead letters with `npm run letters`. */
import * as z from 'zod'
import { databaseOf, wakeRelay } from './outbox/outbox.ts'
import { dropStatement, putBackStatements } from './outbox/pending.ts'
import type { System } from './platform/context.ts'
import { each } from './platform/each.ts'
import { type DeadLetter, deleteLetter, listDecidedLetters, refuseRetry } from './platform/queues/dead-letters.ts'
import { resend } from './queues.ts'

const PAGE = 50

/** What the relay writes into the letter of an outbox event. */
const PutAside = z.object({ outbox: z.union([z.literal('control'), z.int().min(0)]), entity: z.int(), outbox_event_id: z.string() })

/** Puts letters back or drops them as an operator has decided. The letter goes last, so that a crash only repeats the work. */
export async function carryOutLetters(system: System): Promise<void> {
  await each(await listDecidedLetters(system, PAGE), async (letter) => {
    if (letter.queue === 'outbox') await carryOutEvent(system, letter)
    else if (letter.wanted === 'retry' && !(await resend(system, JSON.parse(letter.body)))) return void (await refuseRetry(system, letter))
    await deleteLetter(system, letter)
  })
}

async function carryOutEvent(system: System, { body, wanted }: DeadLetter): Promise<void> {
  const { outbox, ...key } = PutAside.parse(JSON.parse(body))
  const d1 = databaseOf(system, outbox)
  await d1.batch(wanted === 'retry' ? putBackStatements(d1, key) : [dropStatement(d1, key)])
  if (wanted === 'retry') await wakeRelay(system, outbox)
}
