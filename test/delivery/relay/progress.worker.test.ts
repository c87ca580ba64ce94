import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { fanOut, relayOutbox, sweepOutboxes } from '../../../src/delivery/relay/relay.ts'
import type { OutboxEvent } from '../../../src/platform/outbox/outbox.ts'
import { at, restore } from '../../support/clock.ts'
import { reaching } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import {
  cancelled,
  deliveriesOf,
  endpoints,
  feedOf,
  type Linked,
  left,
  link,
  newEntity,
  notify,
  OUTBOXES,
  organizations,
  systemIn,
  watchedEnv,
} from '../support/relay.ts'
import { inShards } from '../support/shards.ts'

const NOW = '2026-03-20T20:00:00.000Z'
const KEY = 'cfdi.cancelled'
/** Around the sizes of a page: recipients of one portion, endpoints at once, and what is small. */
const SIZES = [0, 1, 2, 3, 49, 50, 51, 100, 101, 120]
const ENDPOINTS = [0, 0, 0, 1, 1, 2, 3, 19, 20, 21, 22, 60]

beforeEach(() => {
  at(NOW)
  silenceQueues()
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(restore)

interface Plan {
  seed: number
  /** For each RFC, how many organizations are connected to it, and its events; true names some of the organizations. */
  rfcs: { size: number; events: boolean[] }[]
  /** After how many round trips the first, the second, … invocation dies; 0 for one that does not. */
  deaths: number[]
}

it('every event reaches every recipient and every endpoint once, wherever invocations die and in whatever order messages come', async () => {
  const plans: fc.Arbitrary<Plan> = fc.record({
    seed: fc.integer(),
    rfcs: fc.array(fc.record({ size: fc.constantFrom(...SIZES), events: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }) }), {
      minLength: 1,
      maxLength: 4,
    }),
    deaths: fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 12 }),
  })
  let deaths = 0
  await fc.assert(
    fc.asyncProperty(plans, async ({ seed, rfcs, deaths: planned }) => {
      const random = randomOf(seed)
      const below = (limit: number): number => Math.floor(random() * limit)
      const ids = await organizations(Array.from({ length: 130 }, () => ({ extractor_count: 0 })))
      const hooks = ids.flatMap((organization_id) =>
        Array.from({ length: ENDPOINTS[below(ENDPOINTS.length)]! }, () => ({
          organization_id,
          event_keys: random() < 0.8 ? [KEY] : ['sync.failed'],
        })),
      )
      const webhooks = hooks.length > 0 ? await endpoints(hooks) : []
      const expected: string[] = []
      const facts: OutboxEvent[] = []
      for (const { size, events } of rfcs) {
        const { entity, rfc } = newEntity()
        const members = ids.toSorted(() => random() - 0.5).slice(0, size)
        const links = members.map((organization_id) => ({
          ...{ organization_id, entity, rfc, fiscal_entity_id: newEntity().fiscal_entity_id },
          ...{ state: random() < 0.9 ? 'active' : 'unlinked', ...reaching(null) },
        }))
        if (links.length > 0) await link(links as Linked[])
        // Whom an event names has it in the feed also while the RFC is unlinked.
        const linked = (isNamed: boolean) =>
          new Set(links.filter(({ state }) => isNamed || state === 'active').map(({ organization_id }) => organization_id))
        for (const isNamed of events) {
          const fact = cancelled(entity, '2026-03-03T10:15:00')
          const named = isNamed ? ids.filter(() => random() < 0.6) : null
          facts.push({ ...fact, organizations: named })
          const notified = linked(isNamed)
          for (const id of named ?? ids) if (notified.has(id)) expected.push(`${id} ${fact.body['cfdi_uuid']}`)
        }
      }
      for (const fact of facts) await notify(OUTBOXES()[1 + (fact.entity % (OUTBOXES().length - 1))]![1], [fact])

      const messages: unknown[] = []
      for (let fairShare = 0; fairShare < 600; fairShare++) {
        if (messages.length === 0) {
          // The sweep of the next minute, when the mutexes of those who died have run out.
          vi.setSystemTime(Date.now() + 61_000)
          const sweeping = watchedEnv()
          await sweepOutboxes(systemIn(sweeping.env))
          messages.push(...sweeping.sent.filter((message) => !('endpoint' in (message as object))))
          if (messages.length === 0) break
        }
        const [message] = messages.splice(below(messages.length), 1) as [
          { outbox: 'control' | number } | { shard: number; fan_out: string },
        ]
        if (random() < 0.2) messages.push(message)
        const death = planned[fairShare] ?? 0
        let [steps, hasDied] = [0, false]
        const when = random() < 0.5 ? 'before' : 'after'
        const dying = watchedEnv((_, now) => {
          if (now === 'before') steps++
          if (death > 0 && steps === death && now === when) hasDied = true
          if (hasDied) throw new Error('Died.')
        })
        const work =
          'outbox' in message
            ? relayOutbox(systemIn(dying.env), message.outbox)
            : fanOut(systemIn(dying.env), message.shard, message.fan_out)
        await work.catch(() => {})
        if (hasDied) deaths++
        messages.push(...dying.sent.filter((one) => !('endpoint' in (one as object))))
      }
      const feed = await feedOf(ids)
      expect(feed.map(({ organization_id, body }) => `${organization_id} ${body.cfdi_uuid}`).sort()).toEqual(expected.sort())
      const due = feed.flatMap(({ organization_id, event_id }) =>
        hooks.flatMap((hook, n) =>
          hook.organization_id === organization_id && hook.event_keys.includes(KEY) ? [`${webhooks[n]} ${event_id}`] : [],
        ),
      )
      expect(await deliveriesOf(webhooks)).toEqual(due.sort())
      for (const [, database] of OUTBOXES()) {
        expect(await left(database)).toEqual([])
        expect(await database.prepare('select count(*) as n from outbox_quarantined').first('n')).toBe(0)
      }
      expect((await inShards<{ n: number }>('select count(*) as n from fan_outs'))[0]!.n).toBe(0)
    }),
    { numRuns: runs(5, 200), seed: 21 },
  )
  expect(deaths).toBeGreaterThan(5)
}, 600_000)
