import { env } from 'cloudflare:workers'
import { afterEach, expect, it } from 'vitest'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { reaching } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { organization } from '../../support/tenants.ts'
import { Courier, type Endpoint, endpoint, keptOf, pending } from '../support/deliveries.ts'
import { cancelled, type Linked, link, newEntity, notify } from '../support/relay.ts'

const FACTS = 200
const PAGES = 2
const ENDPOINTS = 3

afterEach(restore)

it('a delivery writes five rows from its fact to its end, a hundred facts take seven statements in four calls', async () => {
  losingMessages()
  const of = await organization()
  const entity = newEntity()
  await link([{ organization_id: of.id, ...entity, state: 'active', ...reaching(null) } as Linked])
  const endpoints: Endpoint[] = []
  for (let n = 0; n < ENDPOINTS; n++) endpoints.push(await endpoint(of, `https://hooks-${n}.cost.example/in`))
  await notify(
    env.LEDGER_0,
    Array.from({ length: FACTS }, () => cancelled(entity.entity, '2026-03-03T10:15:00')),
  )
  const courier = new Courier()
  const relay = await costOf(env.DB, env.FILES, () => relayOutbox(courier.system, 0))
  // For each page: the facts, who listens, the commit of events and deliveries, and that of the outbox.
  expect(relay.cost.d1_calls).toBe(2 + 4 * PAGES + 1 + 2)
  // Two tell who takes turns, and a full page is followed by a look at whether there is another. The record of the shard is read and cleared.
  expect(relay.cost.d1_statements).toBe(2 + 7 * PAGES + 1 + 2)
  const delivery = await costOf(env.DB, env.FILES, () => courier.settle())
  expect(courier.sent.length).toBe(FACTS * ENDPOINTS)
  for (const one of endpoints) expect((await keptOf(one)).every(({ status }) => status === 'delivered')).toBe(true)
  // Of each three deliveries: their event and its id, the fact that is forgotten; of each: itself and its place in the queue; the record.
  expect(relay.cost.rows_written).toBe(3 * FACTS + 2 * FACTS * ENDPOINTS + PAGES + 1)
  // The claim, and what became of it.
  expect(delivery.cost.rows_written).toBe(2 * FACTS * ENDPOINTS)
})

it('a message with any number of deliveries makes fewer than 900 statements and sends itself on', async () => {
  losingMessages()
  const to = await endpoint(await organization(), 'https://hooks.bound.example/in')
  for (let n = 0; n < 150; n++) await pending(to)
  // However fast the receiver is: no time passes.
  at('2027-03-01T00:00:00Z')
  const courier = new Courier()
  // The costliest end: each is refused, is counted, and raises an alert.
  courier.answer = () => new Response(null, { status: 400 })
  const { cost } = await costOf(env.DB, env.FILES, () => courier.deliver(to.webhook))
  expect(courier.sent.length).toBe(120)
  expect(cost.d1_statements).toBeLessThan(900)
  expect(courier.notified.map(({ webhook }) => webhook)).toEqual([to.webhook])
  await courier.settle()
  expect((await keptOf(to)).every(({ status }) => status === 'failed')).toBe(true)
})
