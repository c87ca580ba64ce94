import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { DATABASES } from '../bindings.ts'
import { startRig } from '../rig.ts'
import type { Objects } from '../workers/metered.ts'
import type { Dispatch } from '../workers/outside.ts'
import { nothing, plus, type Spent, spentOf } from './prices.ts'
import { Queues, type Waiting } from './queues.ts'

/** Messages that are to wait longer than this are left to a later time. */
const SLOW_LIMIT_MS = 15 * 60_000
/** What a request does after its answer takes less. */
const AFTERWARDS_MS = 100

const isForgetting = ({ body }: Waiting): boolean => String((body as { task?: string }).task).startsWith('prune')

type Kind = 'control' | 'ledger' | 'events'

interface Outcome {
  outcome: string
  retryMessages?: { delaySeconds?: number }[]
}

/** The whole service with everything that it is bound to, in the hands of the bench: its clock, its crons, its queues and what it used. */
export class World {
  readonly queues = new Queues(() => this.now())
  #rig!: Awaited<ReturnType<typeof startRig>>
  #ahead = 0
  #operations = 0
  #spent = nothing()
  #forgotten = nothing()

  /** Starts a service whose clock stands at the instant, or at the real one, and some of whose variables differ, and stops it after `work`. */
  static async with<T>(instant: string | null, work: (world: World) => Promise<T>, variables: Record<string, string> = {}): Promise<T> {
    const world = new World()
    try {
      world.#rig = await startRig(await world.queues.listen(), variables)
      if (instant !== null) await world.at(Date.parse(instant))
      return await work(world)
    } finally {
      await world.#rig?.stop()
      world.queues.stop()
    }
  }

  now = (): number => Date.now() + this.#ahead

  /** From here on it is this instant, and time goes on. */
  async at(instant: number): Promise<void> {
    this.#ahead = instant - Date.now()
    await fetch(`${this.#rig.service}/bench/clock?time=${instant}`)
  }

  /** A customer's request: its answer. */
  async ask<Body>(method: string, path: string, authorization?: string, json?: unknown): Promise<Body> {
    const answer = await fetch(this.#rig.service + path, {
      method,
      headers: { ...(authorization && { authorization }), ...(json !== undefined && { 'content-type': 'application/json' }) },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 1_000)}`)
    return JSON.parse(text) as Body
  }

  async #dispatch(asked: Dispatch): Promise<Outcome> {
    const answer = await fetch(this.#rig.outside, { method: 'POST', body: JSON.stringify(asked) })
    if (!answer.ok) throw new Error(`${JSON.stringify(asked)} ended with ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as Outcome
  }

  /** Delivers a message as the platform does. */
  deliver = async (message: Waiting): Promise<number | null> => {
    if (!isForgetting(message)) return this.#hand(message)
    this.#spent = plus(this.#spent, await this.#used())
    const delay = await this.#hand(message)
    this.#forgotten = plus(this.#forgotten, await this.#used())
    return delay
  }

  async #hand({ queue, id, sent, attempts, body }: Waiting): Promise<number | null> {
    const { outcome, retryMessages = [] } = await this.#dispatch({ queue, message: { id, time: sent, attempts, body } })
    if (outcome !== 'ok') throw new Error(`A message of ${queue} ended with ${outcome}.`)
    return retryMessages[0] ? (retryMessages[0].delaySeconds ?? 0) : null
  }

  /** Delivers all messages, one after the other, and those that they send. The clock moves on to those that are to wait for some minutes. */
  async drain(): Promise<void> {
    const slowLimit = this.now() + SLOW_LIMIT_MS
    await this.queues.drain(this.deliver, async (due) => {
      if (due > slowLimit) return false
      await this.at(due)
      return true
    })
  }

  /** Makes requests while messages are delivered as they come, and waits until the work that they cause has ended. */
  live = (work: () => Promise<void>, hasEnded: () => boolean): Promise<void> => this.queues.live(this.deliver, work, hasEnded)

  /** Drains after requests, which send messages when they have been answered. */
  async settle(): Promise<void> {
    await sleep(AFTERWARDS_MS)
    await this.drain()
  }

  /** Fires a cron at an instant, and delivers what it sends. */
  async cron(cron: string, instant: number): Promise<void> {
    await this.at(instant)
    const { outcome } = await this.#dispatch({ cron, time: instant })
    if (outcome !== 'ok') throw new Error(`The cron ${cron} ended with ${outcome}.`)
    await this.drain()
  }

  /** What was used since this was last asked, with what forgetting used apart: the tasks that prune. */
  async spent(): Promise<{ spent: Spent; forgotten: Spent }> {
    const all = { spent: plus(this.#spent, await this.#used()), forgotten: this.#forgotten }
    this.#spent = nothing()
    this.#forgotten = nothing()
    return all
  }

  async #used(): Promise<Spent> {
    const objects = (await (await fetch(`${this.#rig.service}/bench/objects`)).json()) as Objects
    const operations = this.queues.operations - this.#operations
    this.#operations = this.queues.operations
    return spentOf(await this.#rig.used(), objects, operations)
  }

  query: Awaited<ReturnType<typeof startRig>>['query'] = (...args) => this.#rig.query(...args)

  /** The bytes of all databases of a kind: the pages of their files, those that are free included. D1 vacuums no file either. */
  async bytesOf(kind: Kind): Promise<number> {
    const sizes = await this.#inFiles(kind, (file) =>
      ['page_count', 'page_size'].map((pragma) => Number(file.prepare(`pragma ${pragma}`).get()![pragma])),
    )
    return sizes.reduce((bytes, [pages, size]) => bytes + pages! * size!, 0)
  }

  /** The pages of each table and index of the databases of a kind, with the free ones of their files. */
  async pagesOf(kind: Kind): Promise<Record<string, number>> {
    const pages: Record<string, number> = {}
    for (const rows of await this.#inFiles(kind, (file) => [
      ...file.prepare('select name, count(*) as pages from dbstat group by name').all(),
      { name: 'free', pages: file.prepare('pragma freelist_count').get()!['freelist_count'] },
    ]))
      for (const { name, pages: count } of rows) pages[String(name)] = (pages[String(name)] ?? 0) + Number(count)
    return pages
  }

  #inFiles<T>(kind: Kind, read: (file: DatabaseSync) => T): Promise<T[]> {
    return Promise.all(
      DATABASES.filter(({ migrations }) => migrations === kind).map(async ({ name }) => {
        const file = new DatabaseSync(join(this.#rig.state, await this.#rig.fileOf(name)), { readOnly: true })
        try {
          return read(file)
        } finally {
          file.close()
        }
      }),
    )
  }
}
