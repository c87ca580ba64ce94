import { measure } from '../measures.ts'
import { BUSY, connect, rfcOf, signUp, subscribe } from '../platform/customer.ts'
import { rowsWritten, tell, usdOf } from '../platform/prices.ts'
import { World } from '../platform/world.ts'

const RFCS = 3

/** Three RFCs are connected, one after the other, by a customer with one endpoint, and everything about them is downloaded and delivered. */
export const history = measure({
  figures: {
    'cost.rows_written_per_cfdi': { atMost: 5.6, digits: 2, meaning: '' },
    'cost.bytes_per_cfdi': { atMost: 1_500, meaning: '' },
    'cost.usd_per_million_cfdi': { atMost: 6, digits: 2, meaning: '' },
  },
  take: () =>
    World.with('2026-11-20T18:00:00Z', async (world) => {
      const empty = await world.bytesOf('ledger')
      const authorization = await signUp(world)
      await subscribe(world, authorization)
      await world.settle()
      await world.spent()
      let received = 0
      world.queues.received = () => void received++
      for (let n = 0; n < RFCS; n++) {
        await connect(world, authorization, rfcOf(n), BUSY)
        await world.settle()
      }
      const { spent } = await world.spent()
      const documents = Number((await world.query('ledger', 'select count(*) from cfdi')).rows[0]![0])
      tell(`${documents} documents, ${received} deliveries`, spent)
      return {
        'cost.rows_written_per_cfdi': rowsWritten(spent) / documents,
        'cost.bytes_per_cfdi': ((await world.bytesOf('ledger')) - empty) / documents,
        'cost.usd_per_million_cfdi': (usdOf(spent) / documents) * 1e6,
      }
    }),
})
