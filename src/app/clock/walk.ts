import { type System, systemOf } from '../../platform/context.ts'
import { log } from '../../platform/log.ts'
import { clock } from '../../platform/time/clock.ts'
import { backgroundEnded } from '../../platform/work/background.ts'
import { tick } from '../schedule.ts'
import { consume, DEAD_LETTERS, PRODUCERS, type Producer } from '../work.ts'
import { after, cronsOf, from, isDaily, MINUTE, nextByCalendar, QUARTER } from './instants.ts'
import { MOVE, setClock } from './moves.ts'
import { type ClockRow, claimMove, findClock, nextWaits, saveMove, zonesInUse } from './store.ts'

/** A worker that says nothing for so long is dead, by the real clock; by then its leases on other rows have ended too. */
const LEASE_MS = 60_000
/** The most statements of what one entry begins with. */
const STATEMENTS = 710
const MOST_ATTEMPTS = 6
/** What was done at a time can leave something for the next minute or quarter of an hour, which can do so again, so often. */
const DEEPEST = 3
/** The longest delay of a message, in seconds. */
const LONGEST_DELAY = 43_200

/** What is to be done at a time of the move: a cron, or a message. `depth`: how many times it follows from something that had one of its own. */
type Entry = { due: number; depth: number } & ({ cron: string } | { queue: Producer; body: unknown; attempts: number })

/**
 * Moves the clock on: from one minute in which something is due to the next one, fires the crons of that minute, and handles the messages that
 * they send, before the clock goes further. What is left when the budget of the invocation ends, or when a worker dies, is in the row of the
 * clock, which is saved after each step; a step that was interrupted is repeated.
 */
export async function walk(env: Env, requestId: string): Promise<void> {
  const system = systemOf(env, clock.date(), requestId)
  const before = await findClock(system.db.$client)
  const row = await claimMove(system.db.$client, crypto.randomUUID(), Date.now(), Date.now() + LEASE_MS)
  if (!row) return
  setClock(row)
  // A worker that ended as it should has given its lease back.
  const walker = new Walker(system, row, before!.lease_until !== 0)
  while (system.budget.allows(STATEMENTS)) if (!(await walker.step())) return
  if (await walker.save(0)) await env.TASKS.send(MOVE)
}

class Walker {
  readonly #system: System
  readonly #row: ClockRow & { target: number }
  readonly #env: Env
  #entries: Entry[]
  #depth = 0
  /** Whether the next step may repeat one whose messages were lost when a worker died. */
  #isRepeated: boolean

  constructor(system: System, row: ClockRow, isRepeated: boolean) {
    this.#isRepeated = isRepeated
    this.#system = system
    this.#row = { ...row, target: row.target! }
    this.#entries = JSON.parse(row.entries) as Entry[]
    // Messages of the work come here, so that all of it is done before the clock moves on.
    this.#env = { ...system.env, ...Object.fromEntries(PRODUCERS.map((queue) => [queue, this.#queue(queue)])) }
  }

  #queue(queue: Producer): Queue {
    const send = async (body: unknown, { delaySeconds = 0 }: QueueSendOptions = {}) => {
      this.#entries.push({ due: clock.now() + delaySeconds * 1_000, depth: this.#depth, queue, body, attempts: 1 })
    }
    const sendBatch = async (messages: Iterable<MessageSendRequest>) => {
      for (const { body, delaySeconds } of messages) await send(body, { delaySeconds: delaySeconds ?? 0 })
    }
    return { send, sendBatch } as unknown as Queue
  }

  /** Does what is due now, or moves the clock to when something is. Returns false at the end, and when another worker has the move. */
  async step(): Promise<boolean> {
    const due = this.#entries.filter((entry) => entry.due <= clock.now()).sort((a, b) => a.due - b.due)[0]
    if (due) {
      await this.#run(due)
      this.#entries = this.#entries.filter((entry) => entry !== due)
      return this.save()
    }
    this.#isRepeated = false
    const at = await this.#next()
    if (at === null) return this.#end()
    clock.ahead = at - Date.now()
    return this.save()
  }

  async save(lease = LEASE_MS, target: number | null = this.#row.target): Promise<boolean> {
    const lease_until = lease === 0 ? 0 : Date.now() + lease
    const [ahead, entries] = [clock.ahead, JSON.stringify(this.#entries)]
    return saveMove(this.#system.db.$client, { token: this.#row.token, ahead, target, entries, lease_until })
  }

  async #run(entry: Entry): Promise<void> {
    this.#depth = entry.depth
    const { budget } = this.#system
    if ('cron' in entry)
      // It logs its own failures, and nothing else fires the cron again.
      await tick({ cron: entry.cron, scheduledTime: entry.due }, this.#env, budget).catch(() => null)
    else await this.#handle(entry)
    await backgroundEnded()
    if (!('cron' in entry) || isDaily(entry.cron) || this.#isRepeated)
      for (const step of [MINUTE, QUARTER]) this.#visit(after(clock.now(), step), entry.depth + 1)
    this.#isRepeated = false
  }

  async #handle({ queue, body, attempts, ...entry }: Extract<Entry, { queue: Producer }>): Promise<void> {
    const message = { id: crypto.randomUUID(), timestamp: clock.date(), body, attempts, ack: () => undefined }
    const given = (purpose: string, retry: Message['retry']) =>
      consume({ queue: `fiscal-clock-${purpose}`, messages: [{ ...message, retry }] }, this.#env, this.#system.budget)
    let wait: number | null = null
    await given(queue.toLowerCase().replace('_', '-'), ({ delaySeconds = 0 } = {}) => {
      wait = delaySeconds
    })
    if (wait === null) return
    if (attempts === MOST_ATTEMPTS) await given(DEAD_LETTERS, () => undefined)
    else this.#entries.push({ ...entry, due: clock.now() + wait * 1_000, queue, body, attempts: attempts + 1 })
  }

  /** Has the crons of a minute fired. */
  #visit(at: number, depth: number): void {
    if (depth > DEEPEST) return
    for (const cron of cronsOf(at))
      if (!this.#entries.some((entry) => 'cron' in entry && entry.cron === cron && entry.due === at))
        this.#entries.push({ due: at, depth, cron })
  }

  /** When something is due next; null at the end of the move. */
  async #next(): Promise<number | null> {
    const now = clock.now()
    const [waits, zones] = [await nextWaits(this.#system, now), await zonesInUse(this.#system.db.$client)]
    const minute = Math.min(from(waits.minute, MINUTE), from(waits.quarter, QUARTER), nextByCalendar(zones, now))
    const at = Math.min(minute, ...this.#entries.map(({ due }) => due))
    if (at > Date.now() + this.#row.target) return null
    if (at === minute) this.#visit(at, 0)
    return at
  }

  /** Leaves to the queues what is due later. */
  async #end(): Promise<false> {
    clock.ahead = this.#row.target
    const later = this.#entries
    this.#entries = []
    if (!(await this.save(0, null))) return false
    setClock({ ahead: clock.ahead, target: null })
    for (const entry of later) {
      const delaySeconds = Math.ceil((entry.due - clock.now()) / 1_000)
      if ('queue' in entry && delaySeconds <= LONGEST_DELAY) await this.#system.env[entry.queue].send(entry.body, { delaySeconds })
    }
    log.info(this.#system, { clock: clock.date().toISOString() })
    return false
  }
}
