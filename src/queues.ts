import * as z from 'zod'
import { drain } from './downloads/drain.ts'
import { dispatchRuns } from './extractors/runs/dispatch.ts'
import { planPage } from './extractors/ticks/ticks.ts'
import { workOnImport } from './imports/imports.ts'
import { type System, systemOf } from './platform/context.ts'
import { errorMessage, stackOf } from './platform/log.ts'
import { keepDeadLetter } from './platform/queues/dead-letters.ts'
import { runLookups } from './repse/lookups.ts'
import { runRoundPage } from './repse/rounds.ts'
import { deliver } from './webhooks/deliveries/delivery.ts'
import { relayOutbox } from './webhooks/relay/relay.ts'

/**
 * Queue → shape of its messages and what is done with one. A message is a hint about rows of ours, handled so that repeating it,
 * losing it or changing the order changes nothing.
 *
 * What becomes of a message: done, or not a message of ours → acknowledged (the latter with a record of why); anything thrown →
 * retried with a growing wait, then a dead letter. Each message stands alone: one that fails never takes its batch along.
 */
interface Consumer<Message> {
  message: z.ZodType<Message>
  handle(system: System, message: Message): Promise<void>
}

const consumer = <Message>(one: Consumer<Message>): Consumer<unknown> => one as Consumer<unknown>

const CALL = z.strictObject({ shard: z.int().min(0), entity: z.int().positive() })
const PAGE = z.strictObject({ timezone: z.string(), day: z.string(), cadence: z.string() })

const CONSUMERS: Record<string, Consumer<unknown>> = {
  downloads: consumer({ message: CALL, handle: drain }),
  'downloads-spread': consumer({ message: CALL, handle: drain }),
  dispatch: consumer({
    message: z.union([z.strictObject({ page: PAGE }), z.strictObject({ runs: z.array(z.string()) })]),
    handle: (system, it) => ('page' in it ? planPage(system, it.page) : dispatchRuns(system, it.runs)),
  }),
  imports: consumer({ message: z.strictObject({ shard: z.int().min(0), import_id: z.string() }), handle: workOnImport }),
  repse: consumer({
    message: z.union([z.strictObject({ rfcs: z.array(z.string()) }), z.strictObject({ round: z.string() })]),
    handle: (system, it) => ('round' in it ? runRoundPage(system, it.round) : runLookups(system, it.rfcs)),
  }),
  webhooks: consumer({
    message: z.union([
      z.strictObject({ outbox: z.union([z.literal('control'), z.int().min(0)]) }),
      z.strictObject({ webhook: z.int().positive() }),
    ]),
    handle: (system, it) => ('outbox' in it ? relayOutbox(system, it.outbox) : deliver(system, it.webhook)),
  }),
}

const DEAD_LETTERS = 'dead-letters'
const RETRY_SECONDS = 10
const LONGEST_WAIT = 600

/** Names of queues carry their environment: `fiscal-live-downloads`. */
const purposeOf = (queue: string): string => queue.replace(/^fiscal-[a-z]+-/, '')

export async function consume(batch: MessageBatch, env: Env): Promise<void> {
  const purpose = purposeOf(batch.queue)
  await Promise.all(
    batch.messages.map((message) => (purpose === DEAD_LETTERS ? bury(batch.queue, message, env) : attempt(purpose, message, env))),
  )
}

async function attempt(purpose: string, message: Message, env: Env): Promise<void> {
  const system = systemOf(env, new Date(), `msg_${message.id}`)
  const known = CONSUMERS[purpose]
  const parsed = known?.message.safeParse(message.body)
  if (!known || !parsed?.success) {
    await keepDeadLetter(system, { queue: purpose, id: message.id, body: message.body, reason: 'Not a message of this queue.' })
    return message.ack()
  }
  try {
    await known.handle(system, parsed.data)
    message.ack()
  } catch (error) {
    console.error(
      JSON.stringify({ level: 'error', request_id: system.requestId, queue: purpose, error: errorMessage(error), stack: stackOf(error) }),
    )
    message.retry({ delaySeconds: Math.min(RETRY_SECONDS * 2 ** (message.attempts - 1), LONGEST_WAIT) })
  }
}

async function bury(queue: string, message: Message, env: Env): Promise<void> {
  const system = systemOf(env, new Date(), `msg_${message.id}`)
  await keepDeadLetter(system, {
    queue,
    id: message.id,
    body: message.body,
    reason: 'Every attempt failed; the log of its request_id says how.',
  })
  message.ack()
}
