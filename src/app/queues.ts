import * as z from 'zod'
import { workOnReports } from '../analytics/reports/work.ts'
import { workOnImport } from '../cfdi/imports/processing.ts'
import { ownName } from '../cfdi/suppliers/suppliers.ts'
import { dispatchRuns } from '../connections/extractors/runs/dispatch.ts'
import { planPage } from '../connections/extractors/ticks/ticks.ts'
import { markDue, markReadersDue } from '../copies/due.ts'
import { workOnExport } from '../copies/exports/making/work.ts'
import { mirrorInBackground } from '../copies/mirror/work.ts'
import { deliver } from '../delivery/deliveries/delivery.ts'
import { fanOut, relayOutbox } from '../delivery/relay/relay.ts'
import { workOnMailbox } from '../documents/mailbox/fetch.ts'
import type { continueConversation } from '../downloads/conversation/converse.ts'
import { drain } from '../downloads/drain.ts'
import { notifyMissed } from '../downloads/missed-cancellations.ts'
import { resolveRechecks } from '../downloads/status/rechecks.ts'
import { runLookups } from '../lists/repse/repse.ts'
import { runRoundPage } from '../lists/repse/rounds.ts'
import { each, type System, systemOf } from '../platform/context.ts'
import { Budget } from '../platform/db/budget.ts'
import { log } from '../platform/log.ts'
import { recordDeadLetter } from '../platform/queues/dead-letters.ts'
import { sendAll } from '../platform/queues/send.ts'
import { runTask, TaskMessage } from './tasks.ts'

/**
 * A queue's consumer: the shape of its messages and the handler of one. A message is a hint about rows of the databases. Handlers bear
 * repeated, lost and reordered messages.
 *
 * A message that was handled is acknowledged. One that does not have the shape is acknowledged and recorded as a dead letter. Any error
 * retries the message with a growing delay; after the last attempt it becomes a dead letter. Messages of a batch are handled one after the
 * other, each by itself, so that one that fails does not affect its batch. They share the budget of the invocation: a handler leaves what
 * it has no budget for to another message, and a message that it is too late to begin with is sent again.
 */
export interface Consumer<Message = unknown> {
  /** The binding that sends to the queue. */
  producer: 'DOWNLOADS' | 'DOWNLOADS_SPREAD' | 'DISPATCH' | 'IMPORTS' | 'REPSE' | 'WEBHOOKS' | 'STORAGE' | 'REPORTS' | 'EXPORTS' | 'TASKS'
  message: z.ZodType<Message>
  /** The most D1 statements that a handler executes before it asks the budget. */
  statements: number
  handle(system: System, message: Message): Promise<void>
}

/** The conversation with the authority is loaded when it is first had. */
const continueConversations = async (...asked: Parameters<typeof continueConversation>): Promise<void> =>
  (await import('../downloads/conversation/converse.ts')).continueConversation(...asked)

const consumer = <Message>(of: Consumer<Message>): Consumer => of as Consumer

const EntityCall = z.strictObject({ shard: z.int().min(0), entity: z.int().positive() })
const ConversationCall = EntityCall.extend({ conversation: z.literal(true) })
const PartitionCall = z.strictObject({ shard: z.int().min(0), partition: z.int() })
const MailboxCall = z.strictObject({ organization_id: z.string(), entity: z.int().positive() })
const TickPage = z.strictObject({ timezone: z.string(), day: z.string(), cadence: z.string() })

/** The consumer of each queue, by the purpose in the queue's name. */
export const CONSUMERS: Readonly<Record<string, Consumer>> = {
  downloads: consumer({
    producer: 'DOWNLOADS',
    message: z.union([EntityCall, ConversationCall, z.strictObject({ mailbox: MailboxCall }), PartitionCall]),
    statements: 200,
    handle: (system, it) => {
      if ('mailbox' in it) return workOnMailbox(system, it.mailbox, markReadersDue)
      if ('partition' in it) return resolveRechecks(system, { shard: it.shard, entity: it.partition })
      return 'conversation' in it ? continueConversations(system, it) : drain(system, it, markReadersDue)
    },
  }),
  'downloads-spread': consumer({
    producer: 'DOWNLOADS_SPREAD',
    message: z.union([EntityCall, ConversationCall]),
    statements: 200,
    handle: (system, it) => ('conversation' in it ? continueConversations(system, it) : drain(system, it, markReadersDue)),
  }),
  dispatch: consumer({
    producer: 'DISPATCH',
    message: z.union([z.strictObject({ page: TickPage }), z.strictObject({ runs: z.array(z.string()) })]),
    statements: 200,
    handle: (system, it) => ('page' in it ? planPage(system, it.page) : dispatchRuns(system, it.runs)),
  }),
  imports: consumer({
    producer: 'IMPORTS',
    message: z.strictObject({ shard: z.int().min(0), import_id: z.string() }),
    statements: 200,
    handle: (system, hint) => workOnImport(system, hint, markDue),
  }),
  repse: consumer({
    producer: 'REPSE',
    message: z.union([z.strictObject({ rfcs: z.array(z.string()) }), z.strictObject({ round: z.string() })]),
    statements: 400,
    handle: (system, it) => ('round' in it ? runRoundPage(system, it.round, ownName) : runLookups(system, it.rfcs, ownName)),
  }),
  webhooks: consumer({
    producer: 'WEBHOOKS',
    message: z.union([
      z.strictObject({ outbox: z.union([z.literal('control'), z.int().min(0)]) }),
      z.strictObject({ shard: z.int().min(0), fan_out: z.string() }),
      z.strictObject({ endpoint: z.string() }),
      z.strictObject({ unnotified: z.int().positive() }),
    ]),
    statements: 700,
    handle: (system, it) => {
      if ('outbox' in it) return relayOutbox(system, it.outbox)
      if ('fan_out' in it) return fanOut(system, it.shard, it.fan_out)
      return 'endpoint' in it ? deliver(system, it.endpoint) : notifyMissed(system, it.unnotified)
    },
  }),
  storage: consumer({
    producer: 'STORAGE',
    message: z.strictObject({ shard: z.int().min(0), connector: z.int().positive(), after: z.string().optional() }),
    statements: 100,
    handle: mirrorInBackground,
  }),
  reports: consumer({
    producer: 'REPORTS',
    message: z.strictObject({ shard: z.int().min(0), connection: z.int().positive() }),
    statements: 100,
    handle: workOnReports,
  }),
  exports: consumer({
    producer: 'EXPORTS',
    message: z.strictObject({ export_id: z.string() }),
    statements: 60,
    handle: (system, { export_id }) => workOnExport(system, export_id),
  }),
  tasks: consumer({ producer: 'TASKS', message: TaskMessage, statements: 600, handle: runTask }),
}

const DEAD_LETTERS = 'dead-letters'
const FIRST_DELAY_SECONDS = 10
const MAX_DELAY_SECONDS = 600

/** The part of a queue's name that does not depend on the environment: `downloads` for `fiscal-live-downloads`. */
const purposeOf = (queue: string): string => queue.replace(/^fiscal-[a-z]+-/, '')

/** Handles a batch of messages of any queue. */
export async function consume({ queue, messages }: MessageBatch, env: Env): Promise<void> {
  const purpose = purposeOf(queue)
  const budget = new Budget()
  await each(messages, (message) => {
    const system = systemOf(env, new Date(), `msg_${message.id}`, budget)
    return purpose === DEAD_LETTERS ? recordMessage(system, queue, message) : handle(system, purpose, message)
  })
}

async function handle(system: System, purpose: string, message: Message): Promise<void> {
  const known = CONSUMERS[purpose]
  const parsed = known?.message.safeParse(message.body)
  if (!known || !parsed?.success) {
    await recordDeadLetter(system, {
      queue: purpose,
      id: message.id,
      body: message.body,
      reason: 'Not a message of this queue.',
    })
    return message.ack()
  }
  try {
    if (system.budget.allows(known.statements)) await known.handle(system, parsed.data)
    else await sendAll(system.env[known.producer], [{ body: message.body }])
    message.ack()
  } catch (error) {
    log.error(system, 'A message could not be handled. It is retried.', { queue: purpose, attempt: message.attempts }, error)
    message.retry({ delaySeconds: Math.min(FIRST_DELAY_SECONDS * 2 ** (message.attempts - 1), MAX_DELAY_SECONDS) })
  }
}

async function recordMessage(system: System, queue: string, message: Message): Promise<void> {
  const reason = 'Every attempt failed. The log lines with its request_id say why.'
  await recordDeadLetter(system, { queue, id: message.id, body: message.body, reason })
  message.ack()
}

/**
 * Sends a message that had become a dead letter again, to the first queue whose messages have its shape. Returns false without such a
 * queue.
 */
export async function resend(system: System, body: unknown): Promise<boolean> {
  const known = Object.values(CONSUMERS).find(({ message }) => message.safeParse(body).success)
  if (known) await system.env[known.producer].send(body)
  return known !== undefined
}
