import { createExecutionContext, createMessageBatch, createScheduledController, getQueueResult, type QueueResult } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import type { Run } from '../../../../src/connections/extractors/runs/contract.ts'
import type { Dispatch } from '../../../../src/connections/extractors/ticks/ticks.ts'
import worker from '../../../../src/index.ts'
import { dayOfEpoch } from '../../../../src/platform/time/calendar.ts'
import { at } from '../../../support/clock.ts'
import { daily } from '../../../support/crons.ts'
import type { Organization } from '../../../support/tenants.ts'
import { EXTRACTORS } from './extractors.ts'

/** Called around each write and each send, with what it is; what it throws is how that ends. */
export type Watch = (step: string, when: 'before' | 'after') => void

/** What runs by itself, in the test's hands: crons at any time, and dispatch messages, which wait in `sent` until it delivers them. */
export class Clockwork {
  readonly sent: Dispatch[] = []
  readonly tasks: unknown[] = []
  watch: Watch = () => {}
  #messages = 0
  readonly env: Env

  constructor() {
    const queue = (name: string, take: (body: unknown) => void) => ({
      sendBatch: (messages: Iterable<{ body: unknown }>) =>
        this.#step(name, async () => {
          for (const { body } of messages) take(structuredClone(body))
        }),
    })
    const nobody = () => {}
    this.env = {
      ...env,
      DB: this.#watched('DB', env.DB),
      LEDGER_0: this.#watched('LEDGER_0', env.LEDGER_0),
      DISPATCH: queue('DISPATCH', (body) => this.sent.push(body as Dispatch)),
      TASKS: queue('TASKS', (body) => this.tasks.push(body)),
      DOWNLOADS: queue('DOWNLOADS', nobody),
      DOWNLOADS_SPREAD: queue('DOWNLOADS_SPREAD', nobody),
    } as unknown as Env
  }

  async #step<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.watch(name, 'before')
    const result = await work()
    this.watch(name, 'after')
    return result
  }

  #watched(name: string, database: D1Database): D1Database {
    return new Proxy(database, {
      get: (target, key: keyof D1Database) => {
        if (key === 'batch') return (statements: D1PreparedStatement[]) => this.#step(name, () => target.batch(statements))
        const value = target[key] as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  #cron(cron: string, time: string): Promise<void> {
    at(time)
    return worker.scheduled(createScheduledController({ cron, scheduledTime: new Date(time) }), this.env)
  }

  /** The cron that evaluates cadences. */
  tick = async (time: string): Promise<void> => {
    await this.#cron('*/15 * * * *', time)
    // What a quarter of an hour had no budget left for comes as a message of its own.
    while (this.tasks.length > 0) await this.deliver(this.tasks.splice(0, 1), { queue: 'tasks' })
  }

  /** The cron that finishes what was left. */
  sweep = (time: string): Promise<void> => this.#cron('* * * * *', time)

  /** The cron of every day. */
  daily = (time: string): Promise<string[]> => {
    at(time)
    return daily(this.env, new Date(time))
  }

  /** One batch of the dispatch queue, or of another. */
  async deliver(
    bodies: readonly unknown[],
    { queue = 'dispatch', attempts = 1 } = {},
  ): Promise<QueueResult & { delays: (number | undefined)[] }> {
    const messages = bodies.map((body) => ({ id: `m${++this.#messages}`, timestamp: new Date(), attempts, body }))
    const batch = createMessageBatch(`fiscal-local-${queue}`, messages)
    const delays: (number | undefined)[] = []
    for (const message of batch.messages) {
      const retry = message.retry.bind(message)
      message.retry = (options) => {
        delays.push(options?.delaySeconds)
        retry(options)
      }
    }
    const context = createExecutionContext()
    await worker.queue(batch, this.env)
    return { ...(await getQueueResult(batch, context)), delays }
  }

  /** Delivers what was sent, and what that sends, until nothing is left. */
  async settle(): Promise<void> {
    while (this.sent.length > 0) await this.deliver(this.sent.splice(0, 5))
  }

  /** A tick at this time with everything that it sends. */
  async pass(time: string): Promise<void> {
    await this.tick(time)
    await this.settle()
  }
}

/** No zone, extractor, tick or run of an earlier test is left to be due. */
export const forget = () =>
  env.DB.batch(['zones', 'extractors', 'tick_pages', 'runs', 'dead_letters'].map((table) => env.DB.prepare(`delete from ${table}`)))

export const runsOf = async (of: Organization, extractor_id: string): Promise<Run[]> =>
  (await of.ask('GET', `${EXTRACTORS}/${extractor_id}/runs?limit=100`)).body.data

/** The local dates that it ran for, oldest first. */
export const datesOf = async (of: Organization, extractor_id: string): Promise<(string | null)[]> =>
  (await runsOf(of, extractor_id)).map(({ local_date }) => local_date).reverse()

export interface Scheduled {
  extractor_id: string
  timezone: string
  cadence: string
  armed_day: string
}

const ID = 'ext_00000000000000000000000000'

/** So many scheduled extractors at once, past the front door; their zones have been evaluated up to a day. */
export async function insertMany(
  count: number,
  of: (n: number) => Omit<Scheduled, 'extractor_id'>,
  evaluated_day: string,
): Promise<Scheduled[]> {
  const rows = Array.from({ length: count }, (_, n) => ({ extractor_id: ID.slice(0, -String(n).length) + n, ...of(n) }))
  for (let from = 0; from < rows.length; from += 5_000)
    await env.DB.prepare(
      `insert into extractors (extractor_id, organization_id, name, is_enabled, trigger_kind, schedule_kind, schedule_spec, timezone, scope,
         data_source_keys, cadence, armed_day, created_at)
       select value->>0, 'org_of_' || (value->>0), 'Uno', 1, 'schedule', 'daily', '{}', value->>1, 'full_history', '["sat_csf"]', value->>2, value->>3, 0
       from json_each(?)`,
    )
      .bind(
        JSON.stringify(
          rows
            .slice(from, from + 5_000)
            .map(({ extractor_id, timezone, cadence, armed_day }) => [extractor_id, timezone, cadence, armed_day]),
        ),
      )
      .run()
  await env.DB.prepare('insert into zones select distinct value, ?2 from json_each(?1) where true on conflict do nothing')
    .bind(JSON.stringify(rows.map(({ timezone }) => timezone)), evaluated_day)
    .run()
  return rows
}

/** Days after one, as text. */
export const daysAfter = (day: string, days: number): string => dayOfEpoch(Date.parse(day) / 86_400_000 + days)
