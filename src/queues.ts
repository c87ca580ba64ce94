import * as z from 'zod'
import { drain } from './downloads/drain.ts'
import { tellMissed } from './downloads/missed-cancellations.ts'
import { dispatchRuns } from './extractors/runs/dispatch.ts'
import { planPage } from './extractors/ticks/ticks.ts'
import { workOnImport } from './imports/processing.ts'
import { type System, systemOf } from './platform/context.ts'
import { log } from './platform/log.ts'
import { keepDeadLetter } from './platform/queues/dead-letters.ts'
import { runLookups } from './repse/lookups.ts'
import { runRoundPage } from './repse/rounds.ts'
import { deliver } from './webhooks/deliveries/delivery.ts'
import { relayOutbox } from './webhooks/relay/relay.ts'

/**
 * A queue's consumer: the shape of its messages and the handler of one. A message is a hint about rows of the databases. Handlers bear
 * repeated, lost and reordered messages.
 *
 * A message that was handled is acknowledged. One that does not have the shape is acknowledged and recorded as a dead letter. Any error
 * retries the message with a growing delay; after the last attempt it becomes a dead letter. Each message is handled by itself, so that
 * one that fails does not affect its batch.
 */
interface Consumer<Message> {
  message: z.ZodType<Message>
  handle(system: System, message: Message): Promise<void>
}

const consumer = <Message>(of: Consumer<Message>): Consumer<unknown> => of as Consumer<unknown>

const EntityCall = z.strictObject({ shard: z.int().min(0), entity: z.int().positive() })
const TickPage = z.strictObject({ timezone: z.string(), day: z.string(), cadence: z.string() })

const CONSUMERS: Record<string, Consumer<unknown>> = {
  downloads: consumer({ message: EntityCall, handle: drain }),
  'downloads-spread': consumer({ message: EntityCall, handle: drain }),
  dispatch: consumer({
    message: z.union([z.strictObject({ page: TickPage }), z.strictObject({ runs: z.array(z.string()) })]),
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
      z.strictObject({ untold: z.int().positive() }),
    ]),
    handle: (system, it) => {
      if ('outbox' in it) return relayOutbox(system, it.outbox)
      return 'webhook' in it ? deliver(system, it.webhook) : tellMissed(system, it.untold)
    },
  }),
}

const DEAD_LETTERS = 'dead-letters'
const FIRST_DELAY_SECONDS = 10
const MAX_DELAY_SECONDS = 600

/** The part of a queue's name that does not depend on the environment: `downloads` for `fiscal-live-downloads`. */
const purposeOf = (queue: string): string => queue.replace(/^fiscal-[a-z]+-/, '')

/** Handles a batch of messages of any queue. */
export async function consume({ queue, messages }: MessageBatch, env: Env): Promise<void> {
  const purpose = purposeOf(queue)
  await Promise.all(
    messages.map((message) => {
      const system = systemOf(env, new Date(), `msg_${message.id}`)
      return purpose === DEAD_LETTERS ? bury(system, queue, message) : handle(system, purpose, message)
    }),
  )
}

async function handle(system: System, purpose: string, message: Message): Promise<void> {
  const known = CONSUMERS[purpose]
  const parsed = known?.message.safeParse(message.body)
  if (!known || !parsed?.success) {
    await keepDeadLetter(system, {
      queue: purpose,
      id: message.id,
      body: message.body,
      reason: 'Not a message of this queue.',
    })
    return message.ack()
  }
  try {
    await known.handle(system, parsed.data)
    message.ack()
  } catch (error) {
    log.error(system, 'A message could not be handled. It is retried.', { queue: purpose, attempt: message.attempts }, error)
    message.retry({ delaySeconds: Math.min(FIRST_DELAY_SECONDS * 2 ** (message.attempts - 1), MAX_DELAY_SECONDS) })
  }
}

async function bury(system: System, queue: string, message: Message): Promise<void> {
  const reason = 'Every attempt failed. The log lines with its request_id say why.'
  await keepDeadLetter(system, { queue, id: message.id, body: message.body, reason })
  message.ack()
}
