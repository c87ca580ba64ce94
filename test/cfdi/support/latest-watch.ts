import { expect } from 'vitest'
import { listChanges } from '../../../src/cfdi/changes/changes.ts'
import { ChangesQuery } from '../../../src/cfdi/changes/contract.ts'
import { latestChanges } from '../../../src/cfdi/changes/latest.ts'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { FISCAL_ENTITY } from '../../support/context.ts'
import type { Changing } from './changing.ts'

/** What a step of a history does to the bounds between which the latest change lies. */
export type Kind = 'plain' | 'loose' | 'anew' | 'forgetting'

/**
 * What an organization is told of when something last changed that it is shown, beside what its list says of that. It is never before the last
 * step that changed the list, for whoever waits for it would lose that change, and never after the last one of which the changes told anything.
 */
export class LatestWatch {
  readonly #one: Changing
  #cursor: string | null = null
  #before: Map<string, string> | null = null
  /** When a step last changed what is listed, and when one last told anything. */
  #changed = 0
  #notified = 0
  /** The instant of the run that changed the list, and how many runs there were since. */
  #ran: { instant: number; since: number } | null = null

  constructor(one: Changing) {
    this.#one = one
  }

  /** After a step in which nothing could be read. */
  skip(): void {
    this.#before = null
    this.#changed = 0
  }

  /**
   * Looks at what is known after a step at an instant. A `loose` one may count although nothing is reported of it: what concerns imports is not looked
   * at closely. `anew` shows or hides what was stored long ago, and of `forgetting` nobody knows afterwards when something was shown. `instant` is
   * that of a run, which was dispatched later; after two more runs the change is as of that instant.
   */
  async expectBetween(listed: ReadonlyMap<string, Cfdi>, now: number, kind: Kind, instant: number | null): Promise<boolean> {
    const { ctx } = this.#one
    const rows = new Map([...listed].map(([uuid, { updated_at: _, ...row }]) => [uuid, JSON.stringify(row)]))
    const isChanged = this.#before !== null && !isSame(this.#before, rows)
    const isNotified = await this.#isNotified()
    if (this.#before === null || kind !== 'plain' || isNotified) this.#notified = Math.max(this.#notified, now)
    if (kind === 'forgetting') this.#notified = Number.POSITIVE_INFINITY
    if (instant !== null && this.#ran !== null && ++this.#ran.since === 2) this.#changed = this.#ran.instant
    if (kind === 'anew' || kind === 'forgetting') this.#changed = 0
    else if (isChanged) this.#changed = now
    if (this.#changed === now) this.#ran = instant === null ? null : { instant, since: 0 }
    this.#before = rows
    const connection = ctx.connection!
    const latest = (await latestChanges(ctx, [{ connection, widened: this.#one.widened }])).get(connection.connection)?.at ?? 0
    const said = `${instantOf(latest)} after ${instantOf(this.#changed)}, and no later than ${instantOf(this.#notified)}`
    expect([said, latest >= this.#changed, latest <= this.#notified]).toEqual([said, true, true])
    return isChanged && latest === now
  }

  /** Whether the changes tell anything that they had not told after the step before. */
  async #isNotified(): Promise<boolean> {
    for (let isNotified = false; ; ) {
      const query = ChangesQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: '100', ...(this.#cursor && { cursor: this.#cursor }) })
      const { data, has_more, next_cursor } = await listChanges(this.#one.ctx, query)
      this.#cursor = next_cursor
      isNotified ||= data.length > 0
      if (!has_more) return isNotified
    }
  }
}

const instantOf = (at: number): string => (Number.isFinite(at) ? new Date(at).toISOString() : 'ever')
const isSame = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean =>
  one.size === other.size && [...one].every(([uuid, row]) => other.get(uuid) === row)
