import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { consumeAll, importsOf, post, zipWith } from '../../cfdi/imports/support/imports.ts'
import { plainOf } from '../../cfdi/support/documents.ts'
import { settled } from '../../downloads/status/support/status.ts'
import { cfdiOf, deliver, later, NOW, subscriber, work } from '../../downloads/support/downloads.ts'
import { restore } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'

/**
 * Who reads the changes only when latest_change_at has moved on since the last reading loses none. Deleting the last extractor is not in the
 * histories, nor are runs that are dispatched long after their instants (sync.test.ts): of both the contract says what to do.
 */

const HISTORIES = runs(1, 300)
const STEPS = runs(14, 30)
const FIRST = { issued: ['sat_cfdi_issued'], both: ['sat_cfdi_issued', 'sat_cfdi_received'] }

let sent: unknown[]
beforeEach(() => {
  later(0)
  sent = silenceQueues()
})
afterEach(restore)

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Notified = any
type Subscriber = Awaited<ReturnType<typeof subscriber>>

/** One organization, as a client that follows its RFC: the cursor of its changes, and what it was told of their latest time. */
class Follower {
  cursor = ''
  latest = 0
  /** When it last read both. */
  read = 0
  changes = 0
  isPaused = false
  readonly imports: string[] = []
  readonly one: Subscriber

  constructor(one: Subscriber) {
    this.one = one
  }

  /** Reads both after a step at an instant. */
  async look(now: number, said: string): Promise<void> {
    if (this.isPaused) return
    const { body } = await this.one.ask('GET', '/v1/sync')
    const notified = body.data.find((it: Notified) => it.fiscal_entity_id === this.one.fiscal_entity_id).latest_change_at
    const latest = notified === null ? 0 : Date.parse(notified)
    const fresh = await this.#changes()
    this.changes += fresh
    expect([said, 'goes on', latest >= this.latest]).toEqual([said, 'goes on', true])
    expect([said, 'is not to come', latest <= now]).toEqual([said, 'is not to come', true])
    // What came while the connection was paused is as of then, and later than the last reading too.
    if (fresh > 0)
      expect([said, 'is later than the last reading', latest > this.read]).toEqual([said, 'is later than the last reading', true])
    this.latest = latest
    this.read = now
  }

  async #changes(): Promise<number> {
    for (let count = 0; ; ) {
      const query = `limit=100&fiscal_entity_id=${this.one.fiscal_entity_id}${this.cursor && `&cursor=${this.cursor}`}`
      const { data, has_more, next_cursor } = (await this.one.ask('GET', `/v1/cfdi/changes?${query}`)).body
      this.cursor = next_cursor
      count += data.length
      if (!has_more) return count
    }
  }
}

async function live(seed: number): Promise<number> {
  const random = randomOf(seed + 77)
  const draw = (n: number): number => Math.floor(random() * n)
  const pick = <T>(list: readonly T[]): T => list[draw(list.length)]!
  const rfc = freshRfc()
  const open = async (months: number, data_source_keys: string[]) =>
    new Follower(await subscriber(rfc, cfdiOf(months, { data_source_keys })))
  const all = [await open(1, FIRST.issued), await open(1 + draw(2), pick([FIRST.issued, FIRST.both]))]
  const documentOf = async ({ one }: Follower): Promise<string | null> => {
    const list = (await one.page('&estatus=vigente&kind=cfdi')).body.data ?? []
    return list.length === 0 ? null : pick<Notified>(list).uuid
  }
  const actions: Record<string, (of: Follower) => Promise<unknown>> = {
    run: ({ one }) => one.run(),
    work: () => work(rfc),
    range: ({ one }) =>
      one.ask('POST', `${one.path}/extractions`, {
        data_source_keys: FIRST.issued,
        from: `2026-0${1 + draw(4)}-1${draw(9)}`,
        to: '2026-04-30',
      }),
    widen: ({ one }) => one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: 1 + draw(4) }),
    cancel: async (of) => {
      const uuid = await documentOf(of)
      if (uuid) await of.one.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id: of.one.fiscal_entity_id })
    },
    check: async (of) => {
      const uuid = await documentOf(of)
      if (uuid) await of.one.ask('POST', `/v1/cfdi/${uuid}/status-check?fiscal_entity_id=${of.one.fiscal_entity_id}`)
    },
    settle: () => settled(sent),
    import: async ({ one, imports }) => {
      const documents = Array.from({ length: 2 }, () => plainOf(random, pick(['2026-01', '2026-05']), { emisor: rfc }))
      imports.push((await post(one.owner, one.fiscal_entity_id, zipWith(documents))).body.import_id)
      await consumeAll(sent)
    },
    remove: async ({ one, imports }) => {
      const [import_id] = imports.splice(0, 1)
      if (import_id) await one.ask('DELETE', `${importsOf(one.fiscal_entity_id)}/${import_id}`)
      await consumeAll(sent)
    },
    pause: async (of) => {
      await of.one.ask('PATCH', `/v1/billing/rfcs/${of.one.fiscal_entity_id}`, { active: of.isPaused })
      of.isPaused = !of.isPaused
      // The run that becoming active again plans.
      for (const body of sent.splice(0)) if ('runs' in (body as object)) await deliver([body], 'dispatch')
    },
  }
  const often = [
    'run',
    'run',
    'run',
    'work',
    'work',
    'work',
    'work',
    'range',
    'widen',
    'cancel',
    'check',
    'settle',
    'import',
    'remove',
    'pause',
  ]
  const tale: string[] = [`Seed ${seed}`]
  let seconds = 0
  for (let n = 0; n < STEPS; n++) {
    seconds += pick([60, 700, 3_600, 86_400, 5 * 86_400])
    later(seconds)
    const [name, of] = [pick(often), pick(all)]
    tale.push(`${name} ${all.indexOf(of)} ${seconds}`)
    await actions[of.isPaused && random() < 0.5 ? 'pause' : name]!(of)
    for (const [i, one] of all.entries()) await one.look(Date.parse(NOW) + seconds * 1_000, `${tale.join(', ')}: ${i}`)
  }
  return all.reduce((sum, { changes }) => sum + changes, 0)
}

describe('latest_change_at never goes back, and is later than the last reading when the changes tell anything', () => {
  let changes = 0
  it.each(Array.from({ length: HISTORIES }, (_, seed) => seed))('through history %i', { timeout: 60_000 }, async (seed) => {
    changes += await live(seed)
  })
  it('and the histories were not idle', () => expect(changes).toBeGreaterThan(20 * HISTORIES))
})
