import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isFenceViolation } from '../../platform/db/guard.ts'
import type { Outbox } from '../../platform/outbox/outbox.ts'
import type { FeedEvent } from './feed-events.ts'
import { findRecord, type RelayRecord, replaceRecord } from './record-store.ts'

/** An event that is older is forgotten, and so is that it was appended. */
const KEPT_MS = 90 * 86_400_000
/** What crashes leave behind is not crossed off by anybody. A record must stay well below 2 MB, the largest value that D1 accepts. */
const MAX_KNOWN = 20_000

/** What an identifier derives from the change and the organization, without its time: a list of jobs can get another one. */
const factOf = ({ event_id }: FeedEvent): string => event_id.slice(-16)

/** Whether another relay of the outbox has committed since its records were read. */
export const isOvertaken = (error: unknown): boolean => isFenceViolation(error, 'relays.version')

interface ShardRecord extends RelayRecord {
  /** Whether `known` has entries that the shard lacks, or lacks entries that the shard has. */
  isChanged: boolean
}

/**
 * What the events shards know of an outbox. Events and outbox lie in different databases, so that a crash can leave an outbox event behind
 * whose events are appended already; the records keep them from being appended again. They are read before outbox events are, and every
 * commit of events is fenced by their version: outbox events that another relay has crossed off since are appended by nobody.
 */
export class Records {
  readonly #shards = new Map<number, ShardRecord>()
  readonly #system: System
  readonly #outbox: Outbox

  constructor(system: System, outbox: Outbox) {
    this.#system = system
    this.#outbox = outbox
  }

  /** Reads the records that are not read yet. Returns the number of statements. */
  async read(): Promise<number> {
    const missing = [...this.#system.settings.events.entries()].filter(([shard]) => !this.#shards.has(shard))
    await Promise.all(
      missing.map(async ([shard, d1]) => {
        const record = await findRecord(d1, this.#outbox)
        const kept = [...record.known].filter(([, at]) => at > Date.now() - KEPT_MS).slice(-MAX_KNOWN)
        this.#shards.set(shard, { ...record, known: new Map(kept), isChanged: false })
      }),
    )
    return missing.length
  }

  /** Returns the events that are not appended yet. */
  fresh = (shard: number, events: readonly FeedEvent[]): FeedEvent[] =>
    events.filter((event) => !this.#shards.get(shard)!.known.has(factOf(event)))

  /**
   * Commits statements that append these events, with the record that they are. Throws when `isOvertaken`; the record is then read again.
   */
  async append(shard: number, events: readonly FeedEvent[], statements: readonly D1PreparedStatement[]): Promise<D1Result<Appending>[]> {
    const d1 = this.#system.settings.events[shard]!
    const record = this.#shards.get(shard)!
    const known = new Map([...record.known, ...events.map((event) => [factOf(event), Date.now()] as const)])
    try {
      const [, ...results] = await commit<Appending>(d1, [replaceRecord(d1, this.#outbox, record.version, known), ...statements])
      this.#shards.set(shard, { version: record.version + 1, known, isChanged: false })
      return results
    } catch (error) {
      if (isOvertaken(error)) this.#shards.delete(shard)
      throw error
    }
  }

  /** Whether a shard takes writes. */
  isWritable = (shard: number): Promise<boolean> =>
    this.append(shard, [], []).then(
      () => true,
      (error: unknown) => isOvertaken(error),
    )

  /** Forgets events whose outbox events are crossed off. */
  crossOff(events: readonly FeedEvent[]): void {
    for (const event of events) {
      const record = this.#shards.get(event.events_shard)
      if (record?.known.delete(factOf(event))) record.isChanged = true
    }
  }

  /** Writes the records that have changed since the last commit. Returns the number of statements. */
  async write(): Promise<number> {
    const changed = [...this.#shards].filter(([, { isChanged }]) => isChanged)
    for (const [shard] of changed)
      await this.append(shard, [], []).catch((error: unknown) => {
        if (!isOvertaken(error)) throw error
      })
    return changed.length
  }
}

/** What the statements that append events return. */
export interface Appending {
  webhook?: number
  organization_id?: string
}
