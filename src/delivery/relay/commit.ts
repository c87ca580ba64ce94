import { alertStatements, resolveStatement } from '../../platform/alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { isUniqueViolation } from '../../platform/db/guard.ts'
import { type Appended, insertDeliveries } from '../deliveries/insert-store.ts'
import { endpointKey, wakeEndpoints } from '../endpoints/wake.ts'
import { findTold, insertEvents } from '../events/store.ts'
import { wakeFanOuts } from './fan-out.ts'
import { insertFanOuts } from './fan-out-store.ts'
import type { FeedEvent } from './feed-events.ts'
import type { Portion } from './portions.ts'
import { type Appending, isOvertaken, type Records } from './records.ts'

/** A portion with the events that it creates. */
export interface BuiltPortion extends Portion {
  events: FeedEvent[]
}

export interface Failed {
  portion: BuiltPortion
  error: unknown
  /** Whether an events shard takes no writes at all. */
  isDown: boolean
}

/** How the portions of a page ended. Those in neither list were not tried: for lack of statements, or because another relay was faster. */
export interface Committed {
  done: BuiltPortion[]
  failed: Failed[]
}

/** Counts the D1 statements of a message. */
export interface Meter {
  statements: number
}

/** A message that has made so many statements tries no further halves of a page. */
const MAX_STATEMENTS = 700

/** Portions that are committed together, with what they append to one events shard. */
interface Part {
  shard: number
  portions: readonly BuiltPortion[]
}

/**
 * Appends the events of portions to their events shards, those of a shard together. When that fails, it commits their halves, and theirs,
 * so that only what cannot be committed alone fails. A portion is done when all its shards are.
 */
export async function commitPortions(
  system: System,
  records: Records,
  portions: readonly BuiltPortion[],
  meter: Meter,
): Promise<Committed> {
  const errors = new Map<BuiltPortion, { error: unknown; shard: number }>()
  const left = new Map(portions.map((portion) => [portion, new Set(portion.events.map(({ events_shard }) => events_shard))]))
  const shards = new Set([...left.values()].flatMap((own) => [...own]))
  const parts: Part[] = [...shards].map((shard) => ({ shard, portions: portions.filter((portion) => left.get(portion)!.has(shard)) }))
  const tried = parts.length
  for (const [n, part] of parts.entries()) {
    if (n >= tried && meter.statements >= MAX_STATEMENTS) break
    try {
      await commitPart(system, records, part, meter)
      for (const portion of part.portions) left.get(portion)!.delete(part.shard)
    } catch (error) {
      if (isOvertaken(error)) break
      const [first] = part.portions
      if (part.portions.length === 1) errors.set(first!, { error, shard: part.shard })
      else for (const half of halvesOf(part.portions)) parts.push({ shard: part.shard, portions: half })
    }
  }
  const down = new Map<number, boolean>()
  for (const shard of new Set([...errors.values()].map((one) => one.shard))) down.set(shard, !(await records.isWritable(shard)))
  meter.statements += down.size
  return {
    done: portions.filter((portion) => left.get(portion)!.size === 0),
    failed: [...errors].map(([portion, { error, shard }]) => ({ portion, error, isDown: down.get(shard)! })),
  }
}

const halvesOf = (portions: readonly BuiltPortion[]) => {
  const half = Math.ceil(portions.length / 2)
  return [portions.slice(0, half), portions.slice(half)]
}

/** Commits the events that are not in a feed yet, with their deliveries, and wakes the endpoints. */
async function commitPart(system: System, records: Records, part: Part, meter: Meter): Promise<void> {
  const { shard } = part
  const inOrder = part.portions.toSorted((a, b) => a.event.created_at - b.event.created_at).flatMap(({ events }) => events)
  const ofShard = inOrder.filter(({ events_shard }) => events_shard === shard)
  const events = records.fresh(shard, [...new Map(ofShard.map((event) => [event.event_id, event])).values()])
  const rows = await append(system, records, shard, events, meter).catch(async (error: unknown) => {
    if (!isUniqueViolation(error)) throw error
    meter.statements++
    const told = await findTold(
      system.settings.events[shard]!,
      events.map(({ event_id }) => event_id),
    )
    const untold = events.filter(({ event_id }) => !told.has(event_id))
    return append(system, records, shard, untold, meter)
  })
  await wakeEndpoints(system, new Set(rows.flatMap(({ webhook }) => (webhook === undefined ? [] : [endpointKey(shard, webhook)]))))
  await wakeFanOuts(system, shard, [...new Set(rows.flatMap(({ organization_id }) => organization_id ?? []))])
}

/** Returns the endpoints that got deliveries, and the organizations with endpoints that did not. */
async function append(system: System, records: Records, shard: number, events: readonly FeedEvent[], meter: Meter): Promise<Appending[]> {
  if (events.length === 0) return []
  const d1 = system.settings.events[shard]!
  const now = Date.now()
  const counts = Map.groupBy(events, ({ organization_id }) => organization_id)
  const alerts = alertStatements(
    d1,
    events.flatMap(({ alert }) => alert ?? []),
    new Date(now),
  )
  const resolved = events.flatMap(({ organization_id, resolves }) => (resolves === undefined ? [] : [[organization_id, resolves] as const]))
  const appended = [...counts].map(([organization_id, own]): Appended => [organization_id, own.length])
  const statements = [
    ...insertEvents(d1, events, now),
    ...insertDeliveries(d1, appended, now),
    ...insertFanOuts(d1, appended),
    ...alerts,
    ...(resolved.length > 0 ? [resolveStatement(d1, resolved, new Date(now))] : []),
  ]
  meter.statements += 1 + statements.length
  return (await records.append(shard, events, statements)).flatMap(({ results }) => results)
}
