import * as z from 'zod'
import { sendAsked, sweepMails } from '../accounts/mails/mails.ts'
import { workOnReports } from '../analytics/reports/work.ts'
import { workOnImport } from '../cfdi/imports/processing.ts'
import { ownName } from '../cfdi/suppliers/suppliers.ts'
import { dispatchRuns, sweepRuns } from '../connections/extractors/runs/dispatch.ts'
import { planPage, sweepTicks } from '../connections/extractors/ticks/ticks.ts'
import { markDue, markReadersDue } from '../copies/due.ts'
import { sweepExports, workOnExport } from '../copies/exports/making/work.ts'
import { sweepConnectors } from '../copies/mirror/review.ts'
import { mirrorInBackground } from '../copies/mirror/work.ts'
import { deliver, sweepDeliveries } from '../delivery/deliveries/delivery.ts'
import { notifyNew, sweepNew } from '../delivery/relay/new-documents.ts'
import { fanOut, relayOutbox } from '../delivery/relay/relay.ts'
import { workOnMailbox } from '../documents/mailbox/fetch.ts'
import { sweepMailboxes } from '../documents/mailbox/requests/requests.ts'
import type { continueConversation } from '../downloads/conversation/converse.ts'
import { sweepVerifications } from '../downloads/downloads.ts'
import { drain } from '../downloads/drain.ts'
import { notifyMissed, sweepUnnotified } from '../downloads/missed-cancellations.ts'
import { resolveRechecks } from '../downloads/status/rechecks.ts'
import { DRAIN_STATEMENTS, drainInTurn } from '../downloads/turns/in-turn.ts'
import { runLookups, sweepLookups } from '../lists/repse/repse.ts'
import { runRoundPage, sweepRounds } from '../lists/repse/rounds.ts'
import { type System, systemOf } from '../platform/context.ts'
import { log } from '../platform/log.ts'
import { clock } from '../platform/time/clock.ts'
import { Budget } from '../platform/work/budget.ts'
import { recordDeadLetter } from '../platform/work/dead-letters.ts'
import { each } from '../platform/work/pages.ts'
import { sendAll } from '../platform/work/send.ts'
import { writeAlerts } from './mails/alerts.ts'
import { writeDigest } from './mails/digest.ts'
import { runTask, TaskMessage } from './tasks.ts'

/** The bindings of the queues. */
export const PRODUCERS = [
  ...(['DOWNLOADS', 'DOWNLOADS_SPREAD', 'DISPATCH', 'IMPORTS', 'REPSE', 'WEBHOOKS', 'STORAGE', 'REPORTS', 'EXPORTS', 'TASKS'] as const),
]
export type Producer = (typeof PRODUCERS)[number]

/**
 * A kind of work in the background: a message is a hint about rows of the databases, and a sweep finds the rows whose hint was lost or
 * whose worker died. Handlers tolerate repeated, lost and reordered messages.
 *
 * A message that was handled is acknowledged. One whose shape matches no kind of its queue is acknowledged and recorded as a dead letter.
 * Any error retries the message with a growing delay; after the last attempt it becomes a dead letter. Messages of a batch are handled one
 * after the other, and one that fails does not affect the others. They share the budget of the invocation: a handler leaves the work beyond
 * its budget to another message, and a message that comes too late to begin is sent again.
 */
export interface WorkKind<Message = unknown> {
  /** The bindings of the queues that carry its messages. */
  queues: readonly Producer[]
  message: z.ZodType<Message>
  /** The most D1 statements that the handler executes before it asks the budget. */
  statements: number
  handle(system: System, message: Message): Promise<void>
  /** Verbs that send messages for work that nobody does, once a minute, and tasks where one invocation may not suffice. */
  sweeps?: readonly (((system: System) => Promise<unknown>) | TaskMessage['task'])[]
}

/** Loads the conversation with the authority on first use. */
const continueConversations = async (...asked: Parameters<typeof continueConversation>): Promise<void> =>
  (await import('../downloads/conversation/converse.ts')).continueConversation(...asked)

const kind = <Message>(of: WorkKind<Message>): WorkKind => of as WorkKind

const EntityCall = z.strictObject({ shard: z.int().min(0), entity: z.int().positive() })
const TickPage = z.strictObject({ timezone: z.string(), day: z.string(), cadence: z.string() })
const DOWNLOADS = ['DOWNLOADS', 'DOWNLOADS_SPREAD'] as const

/** All kinds of work in the background. */
export const WORK: Readonly<Record<string, WorkKind>> = {
  ticks: kind({
    queues: ['DISPATCH'],
    message: z.strictObject({ page: TickPage }),
    statements: 200,
    handle: (system, { page }) => planPage(system, page),
    sweeps: [sweepTicks],
  }),
  runs: kind({
    queues: ['DISPATCH'],
    message: z.strictObject({ runs: z.array(z.string()) }),
    statements: 200,
    handle: (system, { runs }) => dispatchRuns(system, runs),
    sweeps: [sweepRuns],
  }),
  downloads: kind({
    queues: ['DOWNLOADS'],
    message: EntityCall,
    statements: DRAIN_STATEMENTS,
    handle: (system, it) => drainInTurn(system, it, markReadersDue),
    sweeps: [sweepVerifications, 'sweepJobs', 'sweepFetches'],
  }),
  // Nobody waits for these, and each RFC has its slot in the night, so that those of all organizations are mixed without turns.
  spreadDownloads: kind({
    queues: ['DOWNLOADS_SPREAD'],
    message: EntityCall,
    statements: DRAIN_STATEMENTS,
    handle: (system, it) => drain(system, it, markReadersDue),
  }),
  conversations: kind({
    queues: DOWNLOADS,
    message: EntityCall.extend({ conversation: z.literal(true) }),
    statements: 200,
    handle: continueConversations,
    sweeps: ['sweepConversations'],
  }),
  mailbox: kind({
    queues: ['DOWNLOADS'],
    message: z.strictObject({ mailbox: z.strictObject({ organization_id: z.string(), entity: z.int().positive() }) }),
    statements: 200,
    handle: (system, { mailbox }) => workOnMailbox(system, mailbox, markReadersDue),
    sweeps: [sweepMailboxes],
  }),
  rechecks: kind({
    queues: ['DOWNLOADS'],
    message: z.strictObject({ shard: z.int().min(0), partition: z.int() }),
    statements: 200,
    handle: (system, { shard, partition }) => resolveRechecks(system, { shard, entity: partition }),
  }),
  missedCancellations: kind({
    queues: ['WEBHOOKS'],
    message: z.strictObject({ unnotified: z.int().positive() }),
    statements: 700,
    handle: (system, { unnotified }) => notifyMissed(system, unnotified),
    sweeps: [sweepUnnotified],
  }),
  imports: kind({
    queues: ['IMPORTS'],
    message: z.strictObject({ shard: z.int().min(0), import_id: z.string() }),
    statements: 200,
    handle: (system, hint) => workOnImport(system, hint, markDue),
    sweeps: ['sweepImports'],
  }),
  lookups: kind({
    queues: ['REPSE'],
    message: z.strictObject({ rfcs: z.array(z.string()) }),
    statements: 400,
    handle: (system, { rfcs }) => runLookups(system, rfcs, ownName),
    sweeps: [sweepLookups],
  }),
  repseRounds: kind({
    queues: ['REPSE'],
    message: z.strictObject({ round: z.string() }),
    statements: 400,
    handle: (system, { round }) => runRoundPage(system, round, ownName),
    sweeps: [sweepRounds],
  }),
  relay: kind({
    queues: ['WEBHOOKS'],
    message: z.strictObject({ outbox: z.union([z.literal('control'), z.int().min(0)]) }),
    statements: 700,
    handle: (system, { outbox }) => relayOutbox(system, outbox),
    sweeps: ['sweepOutboxes'],
  }),
  fanOuts: kind({
    queues: ['WEBHOOKS'],
    message: z.strictObject({ shard: z.int().min(0), fan_out: z.string() }),
    statements: 700,
    handle: (system, { shard, fan_out }) => fanOut(system, shard, fan_out),
  }),
  newDocuments: kind({
    queues: ['WEBHOOKS'],
    message: z.strictObject({
      shard: z.int().min(0),
      new_documents: z.strictObject({ organization_id: z.string(), fiscal_entity: z.string() }),
    }),
    statements: 100,
    handle: (system, { shard, new_documents }) => notifyNew(system, shard, new_documents),
    sweeps: [sweepNew],
  }),
  mails: kind({
    queues: ['WEBHOOKS'],
    message: z.strictObject({ mail: z.string() }),
    statements: 300,
    handle: async (system, { mail }) => void (await sendAsked(system, mail, { alerts: writeAlerts, digest: writeDigest })),
    sweeps: [sweepMails],
  }),
  deliveries: kind({
    queues: ['WEBHOOKS'],
    message: z.strictObject({ endpoint: z.string() }),
    statements: 700,
    handle: (system, { endpoint }) => deliver(system, endpoint),
    sweeps: [sweepDeliveries],
  }),
  mirror: kind({
    queues: ['STORAGE'],
    message: z.strictObject({ shard: z.int().min(0), connector: z.int().positive(), after: z.string().optional() }),
    statements: 100,
    handle: mirrorInBackground,
    sweeps: [sweepConnectors],
  }),
  reports: kind({
    queues: ['REPORTS'],
    message: z.strictObject({ shard: z.int().min(0), connection: z.int().positive() }),
    statements: 100,
    handle: workOnReports,
    sweeps: ['sweepReports'],
  }),
  exports: kind({
    queues: ['EXPORTS'],
    message: z.strictObject({ export_id: z.string() }),
    statements: 60,
    handle: (system, { export_id }) => workOnExport(system, export_id),
    sweeps: [sweepExports],
  }),
  tasks: kind({ queues: ['TASKS'], message: TaskMessage, statements: 600, handle: runTask }),
}

export const DEAD_LETTERS = 'dead-letters'
const FIRST_DELAY_SECONDS = 10
const MAX_DELAY_SECONDS = 600

/** The part of a queue's name that does not depend on the environment: `downloads` for `fiscal-live-downloads`. */
const purposeOf = (queue: string): string => queue.replace(/^fiscal-[a-z]+-/, '')

/** Handles a batch of messages of any queue. */
export async function consume(
  { queue, messages }: Pick<MessageBatch, 'queue' | 'messages'>,
  env: Env,
  budget = new Budget(),
): Promise<void> {
  const purpose = purposeOf(queue)
  await each(messages, (message) => {
    const system = systemOf(env, clock.date(), `msg_${message.id}`, budget)
    return purpose === DEAD_LETTERS ? recordMessage(system, queue, message) : handle(system, purpose, message)
  })
}

/** The kind of a message, by its queue and its shape, with the message; null for none. */
function readMessage(producer: Producer, body: unknown): { known: WorkKind; data: unknown } | null {
  for (const known of Object.values(WORK)) {
    const read = known.queues.includes(producer) ? known.message.safeParse(body) : null
    if (read?.success) return { known, data: read.data }
  }
  return null
}

async function handle(system: System, purpose: string, message: Message): Promise<void> {
  const producer = purpose.toUpperCase().replace('-', '_') as Producer
  const read = readMessage(producer, message.body)
  if (!read) {
    await recordDeadLetter(system, {
      queue: purpose,
      id: message.id,
      body: message.body,
      reason: 'Not a message of this queue.',
    })
    return message.ack()
  }
  try {
    if (system.budget.allows(read.known.statements)) await read.known.handle(system, read.data)
    else await sendAll(system.env[producer], [{ body: message.body }])
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
 * Resends a message that had become a dead letter, to the first queue whose messages have its shape. Returns false without such a queue.
 */
export async function resend(system: System, body: unknown): Promise<boolean> {
  const known = Object.values(WORK).find(({ message }) => message.safeParse(body).success)
  if (known) await system.env[known.queues[0]!].send(body)
  return known !== undefined
}
