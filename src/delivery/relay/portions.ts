import type { StoredOutboxEvent } from '../../platform/outbox/outbox.ts'
import type { PendingEvent } from '../../platform/outbox/pending.ts'
import type { RecipientRequest, RecipientRow } from './fan-out-store.ts'

/** An outbox event that is in memory. */
export type RelayEvent = StoredOutboxEvent & PendingEvent & { body: string }

/** What is relayed of an event at once: its next recipients. */
export interface Portion {
  event: RelayEvent
  /** Recipients that may be notified now. */
  rows: RecipientRow[]
  /** How far the event is relayed after this portion; null when that is all. */
  progress: number | null
  /** Whether a recipient must be considered again, because a run may still widen its window. */
  isWaiting: boolean
}

/** Recipients of an event that one page considers at most. */
export const RECIPIENTS_AT_ONCE = 50
/** Recipients whom one page notifies at most, and then those of one more portion. Each gets an event and at most twenty deliveries. */
const MAX_WEIGHT = 250
/** A portion that notifies more gives way to all that notify fewer. */
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

/** Returns what to ask for an event's next recipients. */
export function requestOf(event: RelayEvent): RecipientRequest {
  const names = namedOrganizations(event)
  const { entity, progress } = event
  return names === null ? { entity, after: progress } : { entity, organizations: names.slice(progress, progress + RECIPIENTS_AT_ONCE) }
}

/** Cuts the next portion of an event from the answer to its request, which has one row more than a portion when the event names nobody. */
export function portionOf(event: RelayEvent, answer: readonly RecipientRow[], now: number): Portion {
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

const weightOf = ({ rows }: Portion): number => rows.length

/**
 * Selects the portions of a page. Events with few recipients come first, and at least one of the others. The rest waits for the next page.
 */
export function selectPortions(portions: readonly Portion[]): Portion[] {
  const isLight = (portion: Portion): boolean => weightOf(portion) <= LIGHT_WEIGHT && (portion.progress === null || portion.isWaiting)
  const selected: Portion[] = []
  let weight = 0
  const take = (portion: Portion): void => {
    selected.push(portion)
    weight += weightOf(portion)
  }
  for (const portion of portions.filter(isLight)) if (weight + weightOf(portion) <= MAX_WEIGHT) take(portion)
  const [first, ...others] = portions.filter((portion) => !isLight(portion))
  if (first) take(first)
  for (const portion of others) if (weight + weightOf(portion) <= MAX_WEIGHT) take(portion)
  return selected
}
