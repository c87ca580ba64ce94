import { describe, expect, it } from 'vitest'
import { isDue } from '../../src/connections/extractors/rules.ts'
import { dayOfEpoch, epochDayOf, localDayOf } from '../../src/platform/time/calendar.ts'
import { FIRST_DAY, PLATFORM } from './assumptions.ts'
import { FIGURES, KINDS, QUIET_DAY } from './costs.ts'
import { QUEUES } from './engine.ts'
import { populationOf } from './population.ts'
import { documentsOn } from './shards.ts'
import { type Settings, simulationOf } from './simulation.ts'
import { assumptionsTable, databasesTable, hoursTable, limitsTable, queuesTable, summary } from './tables.ts'
import { ticksOf } from './ticks.ts'

const SETTINGS: Settings = {
  ...{ rfcs: 4_000, days: 20, seed: 3, ledgers: 3, events: 2 },
  ...{ spreadSeconds: 7_200, dispatchers: 10, downloaders: 20, connectors: 20 },
}
const simulation = simulationOf(SETTINGS)

const dayAfter = (days: number): string => dayOfEpoch(epochDayOf(FIRST_DAY) + days)

describe('messages', () => {
  it('are handled or left, each once', () => {
    for (const name of QUEUES) {
      const { sent, handled, left } = simulation.messages[name]
      expect(sent > 0, name).toBe(name !== 'downloads')
      expect(handled + left, name).toBe(sent)
      expect(left, name).toBe(0)
    }
  })

  it('of scheduled downloads are as many as RFCs are due, day by day and extractor by extractor', () => {
    const { groups, firstRfc } = populationOf(SETTINGS.rfcs, SETTINGS.seed)
    let due = 0
    for (const { zone, cadence, organizations } of groups) {
      const rfcs = organizations.reduce((sum, one) => sum + firstRfc[one + 1]! - firstRfc[one]!, 0)
      // From the first hours on, it is still the day before in Mexico.
      for (let day = 0; day < SETTINGS.days; day++)
        if (isDue(cadence, dayAfter(-1), localDayOf(new Date(`${dayAfter(day)}T23:59:00Z`), zone))) due += rfcs
    }
    expect(simulation.messages['downloads-spread'].sent).toBe(due)
  })

  it('wait, and are announced again and again, when there are too few consumers', () => {
    const slow = simulationOf({ ...SETTINGS, downloaders: 1, days: 3 })
    expect(slow.doneBy).not.toBeNull()
    expect(slow.longestWait).toBeGreaterThan(60)
    const stuck = simulationOf({ ...SETTINGS, rfcs: 40_000, downloaders: 1, days: 3 })
    expect(stuck.doneBy).toBeNull()
    expect(stuck.messages['downloads-spread'].left).toBeGreaterThan(10_000)
    expect(stuck.messages.downloads.sent).toBeGreaterThan(stuck.messages['downloads-spread'].sent)
  })
})

describe('the same seed', () => {
  it('has the same result, and another seed another one', () => {
    expect(simulationOf(SETTINGS)).toEqual(simulation)
    expect(simulationOf({ ...SETTINGS, seed: 4 }).documents).not.toBe(simulation.documents)
  })
})

describe('twice as many RFCs', () => {
  const twice = simulationOf({ ...SETTINGS, rfcs: 2 * SETTINGS.rfcs })
  const ratio = (of: (one: typeof simulation) => number): number => of(twice) / of(simulation)

  it('take twice the bytes', () => {
    expect(ratio(({ databases }) => databases.control.fullestBytes)).toBe(2)
    for (const kind of KINDS) {
      expect(ratio(({ databases }) => databases[kind].averageBytes)).toBeGreaterThan(1.8)
      expect(ratio(({ databases }) => databases[kind].averageBytes)).toBeLessThan(2.2)
    }
  })

  it('take twice the messages and rows', () => {
    for (const name of ['dispatch', 'downloads-spread', 'webhooks'] as const)
      expect(ratio(({ messages }) => messages[name].sent)).toBeCloseTo(2, 0)
    for (const kind of KINDS) expect(ratio(({ databases }) => databases[kind].rowsWritten.average)).toBeCloseTo(2, 0)
  })
})

describe('databases', () => {
  it('hold what was there at the start and the bytes that were written and not given back', () => {
    for (const kind of ['ledger', 'events'] as const) {
      const { count, averageBytes, bytesAtStart, bytes } = simulation.databases[kind]
      const written = bytes.average * 24 * SETTINGS.days * count
      const gained = averageBytes * count - bytesAtStart
      expect(written / gained, kind).toBeGreaterThan(0.95)
      expect(written / gained, kind).toBeLessThan(1.05)
    }
  })

  it('are as few as hold all RFCs with none more than 80 % full', () => {
    const { ledgers: _, events: __, ...fewest } = { ...SETTINGS, rfcs: 40_000, days: 1 }
    const full = 0.8 * PLATFORM.databaseBytes.value
    const { databases } = simulationOf(fewest)
    for (const kind of ['ledger', 'events'] as const) expect(databases[kind].fullestBytes).toBeLessThanOrEqual(full)
    const fewer = simulationOf({ ...fewest, ledgers: Math.floor(0.6 * databases.ledger.count) })
    expect(fewer.databases.ledger.fullestBytes).toBeGreaterThan(full)
  })

  it('write no more rows on a quiet day than the bench says', () => {
    const rows = [QUIET_DAY.run, ...KINDS.map((kind) => QUIET_DAY[kind])].map(({ rowsWritten }) => rowsWritten)
    expect(rows.reduce((sum, written) => sum + written, 0)).toBeLessThanOrEqual(FIGURES['quiet_day.rows_written.day_1'])
  })
})

describe('time', () => {
  it('has a midnight in each zone, at the quarter of an hour whose cron finds it, also where clocks change', () => {
    const groups = ['America/Mexico_City', 'America/Tijuana'].map((zone) => ({ zone, cadence: 'daily', organizations: [0] }))
    const minutesOf = (zone: string) =>
      ticksOf(groups, 90)
        .filter(({ group }) => group.zone === zone)
        .map(({ minute }) => minute % 1_440)
    expect(new Set(minutesOf('America/Mexico_City'))).toEqual(new Set([6 * 60]))
    // 2027-03-14 in Tijuana.
    expect(minutesOf('America/Tijuana').indexOf(7 * 60)).toBe(73)
    expect(new Set(minutesOf('America/Tijuana').slice(0, 73))).toEqual(new Set([8 * 60]))
  })

  it('brings as many documents in a month as without its peaks, and most of them in its last days', () => {
    const january = Array.from({ length: 31 }, (_, day) => documentsOn(day))
    expect(january.reduce((a, b) => a + b, 0)).toBeCloseTo(31, 9)
    expect(january.flatMap((factor, day) => (factor > 1 ? [day + 1] : []))).toEqual([15, 29, 30, 31])
  })
})

describe('limits', () => {
  it('come in the order in which growth meets them', () => {
    const rfcs = simulation.limits.map((limit) => limit.rfcs ?? Number.POSITIVE_INFINITY)
    expect(rfcs).toEqual([...rfcs].sort((a, b) => a - b))
    expect(simulation.limits.find(({ name }) => name === 'Size of the control database')!.rfcs).toBe(
      Math.floor(PLATFORM.databaseBytes.value / FIGURES['control.bytes_per_connection_100_days']),
    )
  })

  it('that are met are said to be met, with the hour or the day', () => {
    const small = simulationOf({ ...SETTINGS, rfcs: 300_000, days: 1, ledgers: 300, events: 10 })
    const [first] = small.limits
    expect(first).toMatchObject({ name: 'Storage of all databases of an account', at: 'from the start' })
    expect(first!.used).toBeGreaterThan(first!.limit)
  })
})

it('is told in tables whose rows all have their cells', () => {
  for (const table of [databasesTable, limitsTable, queuesTable, hoursTable, assumptionsTable]) {
    const rows = table(simulation).split('\n')
    expect(new Set(rows.map((row) => row.split(' | ').length)).size).toBe(1)
    expect(rows.join('')).not.toMatch(/NaN|Infinity|undefined|null/)
  }
  expect(summary(simulation)).toMatch(/^- 4,000 RFCs of \d+ organizations for 20 days from 2027-01-01, seed 3: /)
})
