import { measure } from '../measures.ts'
import { connect, QUIET, rfcOf, signUp } from '../platform/customer.ts'
import { DAY_MS } from '../platform/days.ts'
import { World } from '../platform/world.ts'

const ORGANIZATIONS = 2
const RFCS = 5
const CONNECTIONS = ORGANIZATIONS * RFCS
const FIRST = Date.parse('2026-11-21T06:00:00Z')
const DAYS = 100
const OF = `${DAYS} quiet days of ${ORGANIZATIONS} organizations with ${RFCS} connections each, after three years of history`

/** The files of databases grow by pages, so a figure is the mean of several connections. */
export const growth = measure({
  figures: {
    'control.bytes_per_connection_100_days': {
      atMost: 8_000,
      meaning: `Bytes in the file of the control database for each connection, its organization included, with ${OF}`,
    },
    'events.bytes_per_connection_100_days': {
      atMost: 180_000,
      meaning: 'The same in the databases of events, the events of its history included',
    },
    'ledger.bytes_per_rfc_100_quiet_days': {
      atMost: 100_000,
      meaning: 'Bytes by which the file of the ledger grows in those days, for each RFC',
    },
  },
  take: () =>
    World.with(new Date(FIRST - DAY_MS / 2).toISOString(), async (world) => {
      const sizes = async () => ({
        control: await world.bytesOf('control'),
        events: await world.bytesOf('events'),
        ledger: await world.bytesOf('ledger'),
      })
      const empty = await sizes()
      for (let n = 0; n < ORGANIZATIONS; n++) {
        const authorization = await signUp(world, n)
        for (let rfc = 0; rfc < RFCS; rfc++) await connect(world, authorization, rfcOf(n * RFCS + rfc), QUIET)
      }
      await world.settle()
      const connected = await sizes()
      for (let n = 0; n < DAYS; n++) {
        await world.cron('*/15 * * * *', FIRST + n * DAY_MS)
        await world.cron('0 10 * * *', FIRST + n * DAY_MS + DAY_MS / 6)
      }
      const grown = await sizes()
      if (process.env['BENCH_VERBOSE']) console.error({ empty, connected, grown })
      return {
        'control.bytes_per_connection_100_days': (grown.control - empty.control) / CONNECTIONS,
        'events.bytes_per_connection_100_days': (grown.events - empty.events) / CONNECTIONS,
        'ledger.bytes_per_rfc_100_quiet_days': (grown.ledger - connected.ledger) / CONNECTIONS,
      }
    }),
})
