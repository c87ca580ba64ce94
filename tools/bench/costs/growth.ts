import { measure } from '../measures.ts'
import { connect, QUIET, rfcOf, signUp } from '../platform/customer.ts'
import { DAY_MS } from '../platform/days.ts'
import { World } from '../platform/world.ts'
import { sized } from '../sizes.ts'

const RFCS = sized(5, 1)
const FIRST = Date.parse('2026-11-21T06:00:00Z')
const DAYS = sized(100, 2)
const KINDS = ['control', 'ledger', 'events'] as const
const OF = `after three years of history and ${DAYS} quiet days of an organization with ${RFCS === 1 ? 'one connection' : `${RFCS} connections`}`

/** What a connection adds to the files of the databases, which grow by pages of 4,096 bytes. */
export const growth = measure({
  figures: {
    [`control.bytes_per_connection_${DAYS}_days`]: {
      atMost: 8_000,
      meaning: `Bytes in the file of the control database for each connection, its share of the organization included, ${OF}`,
    },
    [`events.bytes_per_connection_${DAYS}_days`]: {
      atMost: 190_000,
      meaning: 'The same in the databases of events, the events of its history included',
    },
    [`ledger.bytes_per_rfc_${DAYS}_quiet_days`]: {
      atMost: 100_000,
      meaning:
        'Bytes by which the file of the ledger grows in those days, for each RFC; the first three documents of each month and direction are new',
    },
  },
  take: () =>
    World.with(new Date(FIRST - DAY_MS / 2).toISOString(), async (world) => {
      const sizes = async () => ({
        control: await world.bytesOf('control'),
        events: await world.bytesOf('events'),
        ledger: await world.bytesOf('ledger'),
      })
      // What a service has without customers: the lists of the sandbox.
      await world.cron('0 10 * * *', FIRST - DAY_MS / 2)
      const pages = async () => Object.fromEntries(await Promise.all(KINDS.map(async (kind) => [kind, await world.pagesOf(kind)] as const)))
      const empty = await sizes()
      const before = await pages()
      const authorization = await signUp(world)
      for (let n = 0; n < RFCS; n++) await connect(world, authorization, rfcOf(n), QUIET)
      await world.settle()
      const connected = await sizes()
      const then = await pages()
      for (let n = 0; n < DAYS; n++) {
        await world.cron('*/15 * * * *', FIRST + n * DAY_MS)
        await world.cron('0 10 * * *', FIRST + n * DAY_MS + DAY_MS / 6)
      }
      const grown = await sizes()
      if (process.env['BENCH_VERBOSE']) {
        const after = await pages()
        for (const kind of KINDS)
          for (const [name, count] of Object.entries(after[kind]!).sort())
            if (count > (before[kind]![name] ?? 0))
              console.error(
                `  ${kind} ${name}: ${before[kind]![name] ?? 0} pages, ${then[kind]![name] ?? 0} connected, ${count} at the end`,
              )
        console.error({ empty, connected, grown })
      }
      return {
        [`control.bytes_per_connection_${DAYS}_days`]: (grown.control - empty.control) / RFCS,
        [`events.bytes_per_connection_${DAYS}_days`]: (grown.events - empty.events) / RFCS,
        [`ledger.bytes_per_rfc_${DAYS}_quiet_days`]: (grown.ledger - connected.ledger) / RFCS,
      }
    }),
})
