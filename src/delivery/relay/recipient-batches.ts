import type { StoredOutboxEvent } from '../../platform/outbox/outbox.ts'
import type { PendingEvent } from '../../platform/outbox/pending.ts'
import type { RecipientRequest, RecipientRow } from './fan-out-store.ts'

/** An outbox event that is in memory. */
export type RelayEvent = StoredOutboxEvent & PendingEvent & { body: string }

/** The part of an event that is relayed at once: its next recipients. */
export interface RecipientBatch {
  event: RelayEvent
  /** Recipients that may be notified now. */
  rows: RecipientRow[]
  /** How far the event is relayed after this recipient batch; null when that is all. */
  progress: number | null
  /** Whether a recipient must be considered again, because a run may still widen its window. */
  isWaiting: boolean
}

/** Recipients of an event that one page considers at most. */
export const RECIPIENTS_AT_ONCE = 50
/** Recipients whom one page notifies at most, and then those of one more recipient batch. Each gets an event and at most twenty deliveries. */
const MAX_WEIGHT = 250
/** A recipient batch that notifies more gives way to all that notify fewer. */
const LIGHT_WEIGHT = 20
/** How long an outbox event waits at most for runs that may widen a recipient's window. */
const MAX_WAIT_MS = 120_000

/** The organizations that an event names; null when it names none. Throws unless it is a list of names. */
export function namedOrganizations({ organizations }: Pick<RelayEvent, 'organizations'>): string[] | null {
  if (organizations === null) return null
  const names: unknown = JSON.parse(organizations)
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) throw new Error('The organizations are not a list of names.')
  return names
}

/** Returns the request for an event's next recipients. */
export function requestOf(event: RelayEvent): RecipientRequest {
  const names = namedOrganizations(event)
  const { entity, progress } = event
  return names === null ? { entity, after: progress } : { entity, organizations: names.slice(progress, progress + RECIPIENTS_AT_ONCE) }
}

/** Cuts the next recipient batch of an event from the answer to its request, which has one row more than a batch when the event names nobody. */
export function recipientBatchOf(event: RelayEvent, answer: readonly RecipientRow[], now: number): RecipientBatch {
  const names = namedOrganizations(event)
  const considered = answer.slice(0, RECIPIENTS_AT_ONCE)
  const rows = considered.filter((row) => !isEarly(event, row, now))
  const isWaiting = rows.length < considered.length
  const isLast = names === null ? answer.length <= RECIPIENTS_AT_ONCE : event.progress + RECIPIENTS_AT_ONCE >= names.length
  const next = names === null ? (considered.at(-1)?.connection ?? event.progress) : event.progress + RECIPIENTS_AT_ONCE
  return { event, rows, isWaiting, progress: isWaiting ? event.progress : isLast ? null : next }
}

/**
 * Whether a planned run of a recipient may still widen its window. A run widens windows after it has written its jobs. Until then, it is
 * unknown what the organization may see of a download or a cancellation.
 */
const isEarly = ({ created_at }: RelayEvent, { has_planned_run }: RecipientRow, now: number): boolean =>
  has_planned_run === 1 && created_at > now - MAX_WAIT_MS

const weightOf = ({ rows }: RecipientBatch): number => rows.length

/**
 * Selects the recipient batches of a page. Events with few recipients come first, and at least one of the others. The rest waits for the next page.
 */
export function selectRecipientBatches(batches: readonly RecipientBatch[]): RecipientBatch[] {
  const isLight = (batch: RecipientBatch): boolean => weightOf(batch) <= LIGHT_WEIGHT && (batch.progress === null || batch.isWaiting)
  const selected: RecipientBatch[] = []
  let weight = 0
  const take = (batch: RecipientBatch): void => {
    selected.push(batch)
    weight += weightOf(batch)
  }
  for (const batch of batches.filter(isLight)) if (weight + weightOf(batch) <= MAX_WEIGHT) take(batch)
  const [first, ...others] = batches.filter((batch) => !isLight(batch))
  if (first) take(first)
  for (const batch of others) if (weight + weightOf(batch) <= MAX_WEIGHT) take(batch)
  return selected
}
