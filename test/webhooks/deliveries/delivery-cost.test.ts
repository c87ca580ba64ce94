import { env } from 'cloudflare:workers'
import { afterEach, expect, it, vi } from 'vitest'
import { relayOutbox } from '../../../src/webhooks/relay/relay.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { reaching } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { organization } from '../../support/tenants.ts'
import { Courier, type Endpoint, endpoint, keptOf } from '../support/deliveries.ts'
import { cancelled, type Linked, link, newEntity, tell } from '../support/relay.ts'

const FACTS = 200
const PAGES = 2
const ENDPOINTS = 3

afterEach(() => vi.restoreAllMocks())

it('a delivery writes five rows from its fact to its end, a hundred facts take five statements', async () => {
  losingMessages()
  const of = await organization()
  const entity = newEntity()
  await link([{ organization_id: of.id, ...entity, state: 'active', ...reaching(null) } as Linked])
  const endpoints: Endpoint[] = []
  for (let n = 0; n < ENDPOINTS; n++) endpoints.push(await endpoint(of, `https://hooks-${n}.cost.example/in`))
  await tell(
    env.LEDGER_0,
    Array.from({ length: FACTS }, () => cancelled(entity.entity, '2026-03-03T10:15:00')),
  )
  const courier = new Courier()
  const relay = await costOf(env.DB, env.FILES, () => relayOutbox(courier.system, 0))
  // A full page is followed by a look at whether there is another.
  expect(relay.cost.d1_statements).toBe(5 * PAGES + 1)
  const delivery = await costOf(env.DB, env.FILES, () => courier.settle())
  expect(courier.sent.length).toBe(FACTS * ENDPOINTS)
  for (const one of endpoints) expect((await keptOf(one)).every(({ status }) => status === 'delivered')).toBe(true)
  // Of each three deliveries: their event and its id, the fact that is forgotten; of each: itself and its place in the queue.
  expect(relay.cost.rows_written).toBe(3 * FACTS + 2 * FACTS * ENDPOINTS)
  // The claim, and what became of it.
  expect(delivery.cost.rows_written).toBe(2 * FACTS * ENDPOINTS)
})
