import { measure } from '../measures.ts'
import { BUSY, connect, rfcOf, signUp } from '../platform/customer.ts'
import { DAY_MS, dayOf } from '../platform/days.ts'
import { nothing, notify, plus, rowsRead, rowsWritten, type Spent, usdOf } from '../platform/prices.ts'
import { World } from '../platform/world.ts'

/** Midnight in Mexico City. */
const FIRST = Date.parse('2026-11-10T06:00:00Z')
/** The first days look at documents that nobody has asked about. */
const DAYS = 4
const WHAT = 'of an RFC with 20 to 60 invoices received a month'

/** What the last of some days of an RFC takes when so many questions look for requests for cancellation. */
const daysWith = (questions: number): Promise<Spent> =>
  World.with(
    new Date(FIRST - DAY_MS / 2).toISOString(),
    async (world) => {
      await connect(world, await signUp(world), rfcOf(0), BUSY)
      await world.settle()
      let last = nothing()
      const base = { minute: nothing(), daily: { spent: nothing(), forgotten: nothing() } }
      for (let n = 0; n < DAYS; n++) last = (await dayOf(world, FIRST + n * DAY_MS, base)).spent
      return last
    },
    { CANCELLATION_QUESTIONS_PER_DAY: String(questions) },
  )

/** What looking for requests for cancellation costs: a day with the standard budget beside the same day with none. */
export const cancellations = measure({
  figures: {
    'cancellations.rows_written': {
      atMost: 9,
      meaning: `Rows that D1 writes in a day to look for requests for cancellation ${WHAT}, with 20 questions`,
    },
    'cancellations.rows_read': { atMost: 400, meaning: 'Rows that it reads for that' },
    'cancellations.usd_per_1000_rfcs_month': {
      atMost: 0.35,
      digits: 2,
      meaning: 'Price of a month of that for 1,000 such RFCs, with queues, by the prices below',
    },
  },
  take: async () => {
    const [looking, none] = [await daysWith(20), await daysWith(0)]
    const difference = plus(looking, none, -1)
    notify('Looking for requests for cancellation, a day', difference)
    return {
      'cancellations.rows_written': rowsWritten(difference),
      'cancellations.rows_read': rowsRead(difference),
      'cancellations.usd_per_1000_rfcs_month': 30 * 1_000 * usdOf(difference),
    }
  },
})
