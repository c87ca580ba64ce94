import { measure } from '../measures.ts'
import { BUSY, connect, rfcOf, signUp, subscribe } from '../platform/customer.ts'
import { notify, PRICES, rowsWritten, usdOf } from '../platform/prices.ts'
import { World } from '../platform/world.ts'
import { sized } from '../sizes.ts'

const RFCS = sized(3, 1)
const HISTORY = `the full history of ${RFCS === 1 ? 'one RFC' : `${RFCS} RFCs`}, with lines, payments, totals, jobs and the events and deliveries of one endpoint`

/** RFCs are connected, one after the other, by a customer with one endpoint, and everything about them is downloaded and delivered. */
export const history = measure({
  figures: {
    'cost.rows_written_per_cfdi': {
      // A credit note that names an advance is a row, and a document that counts in another period an index entry (insights of 2026-11).
      atMost: 5.7,
      digits: 2,
      meaning: `Rows that D1 and objects write for each new CFDI of ${HISTORY}`,
    },
    'cost.bytes_per_cfdi': { atMost: 1_500, meaning: 'Bytes of the ledger’s file after it, for each CFDI; none has more than 20 lines' },
    'cost.usd_per_million_cfdi': { atMost: 6, digits: 2, meaning: 'Price of a million new CFDIs, counted over it, by the prices below' },
    'cost.usd_to_keep_a_million_a_month': { digits: 2, meaning: 'Price of keeping a million CFDIs in the ledgers for a month' },
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
      notify(`${documents} documents, ${received} deliveries`, spent)
      const bytes = ((await world.bytesOf('ledger')) - empty) / documents
      return {
        'cost.rows_written_per_cfdi': rowsWritten(spent) / documents,
        'cost.bytes_per_cfdi': bytes,
        'cost.usd_per_million_cfdi': (usdOf(spent) / documents) * 1e6,
        'cost.usd_to_keep_a_million_a_month': (bytes / 1e3) * PRICES['D1 GB kept for a month'],
      }
    }),
})
