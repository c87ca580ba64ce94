import { measure } from '../measures.ts'
import { connect, QUIET, rfcOf, signUp } from '../platform/customer.ts'
import { type Base, baseOf, DAY_MS, type Day, dayOf } from '../platform/days.ts'
import { nothing, notify, plus, rowsRead, rowsWritten, type Spent, usdOf } from '../platform/prices.ts'
import { World } from '../platform/world.ts'
import { sized } from '../sizes.ts'

/** Midnight in Mexico City of the first day. The hundredth is the last of February, and the 28 days after it are those of a turn of forgetting. */
const FIRST = Date.parse('2026-11-21T06:00:00Z')
const DAYS = sized(100, 2)
const FORGETTING_DAYS = sized(28, 1)
const MINUTES_A_DAY = 1_440

/** A month of a service with 1,000 of these RFCs. */
const usdAMonth = (day: Spent, { minute, daily }: Base): number =>
  30 * (1_000 * usdOf(day) + MINUTES_A_DAY * usdOf(minute) + usdOf(daily.spent) + usdOf(daily.forgotten))

/** Of the rows read, the end of an extraction takes 300; on the last day of a month, what is not filed takes 450 more. */
const LIMITS = { rows_written: 80, rows_read: 1_800, rows_read_last: 2_300 }
const WHAT = 'of one RFC with three years of history in which nothing changed (one organization, the default extractors, no endpoint)'

export const quietDay = measure({
  figures: {
    'quiet_day.rows_written.day_1': {
      atMost: LIMITS.rows_written,
      meaning: `Rows that D1 and objects write in a day ${WHAT}; forgetting apart`,
    },
    [`quiet_day.rows_written.day_${DAYS}`]: { atMost: LIMITS.rows_written, meaning: `The same on day ${DAYS}` },
    'quiet_day.rows_read.day_1': { atMost: LIMITS.rows_read, meaning: 'Rows that they read on the first day' },
    [`quiet_day.rows_read.day_${DAYS}`]: {
      atMost: sized(LIMITS.rows_read_last, LIMITS.rows_read),
      meaning: `The same on day ${DAYS}${sized(', the last of a month', '')}`,
    },
    'quiet_day.rows_forgotten': {
      atMost: 35,
      digits: 1,
      meaning: `Rows that are written a day to forget such days, the mean of the ${FORGETTING_DAYS} days after`,
    },
    'quiet_day.usd_per_1000_rfcs_month': {
      atMost: 4,
      digits: 2,
      meaning: 'Price of a month of 1,000 such RFCs, with forgetting, queues and objects, by the prices below',
    },
  },
  take: () =>
    World.with(new Date(FIRST - 4 * DAY_MS).toISOString(), async (world) => {
      const base = await baseOf(world, FIRST - DAY_MS)
      notify('The daily work for nobody', base.daily.spent)
      notify('A minute in which there is nothing to do', base.minute)
      await world.at(FIRST - DAY_MS / 2)
      await connect(world, await signUp(world), rfcOf(0), QUIET)
      await world.settle()
      const days: Day[] = []
      for (let n = 0; n < DAYS + FORGETTING_DAYS; n++) days.push(await dayOf(world, FIRST + n * DAY_MS, base))
      const [first, last] = [days[0]!.spent, days[DAYS - 1]!.spent]
      const turn = days.slice(DAYS).reduce((sum, { forgotten }) => plus(sum, forgotten), nothing())
      notify('Day 1', first)
      notify(`Day ${DAYS}`, last)
      notify(`Forgetting, days: ${FORGETTING_DAYS}`, turn)
      if ([first, last].some(({ statements }) => statements['ledger insert cfdi']?.rows_written))
        throw new Error('The days were not quiet.')
      return {
        'quiet_day.rows_written.day_1': rowsWritten(first),
        [`quiet_day.rows_written.day_${DAYS}`]: rowsWritten(last),
        'quiet_day.rows_read.day_1': rowsRead(first),
        [`quiet_day.rows_read.day_${DAYS}`]: rowsRead(last),
        'quiet_day.rows_forgotten': rowsWritten(turn) / FORGETTING_DAYS,
        'quiet_day.usd_per_1000_rfcs_month': usdAMonth(plus(last, turn, 1 / FORGETTING_DAYS), base),
      }
    }),
})
