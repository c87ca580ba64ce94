import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { commit } from '../../src/platform/db/commit.ts'
import { changesOf } from '../../src/platform/db/statement.ts'
import { addMonths } from '../../src/platform/time/months.ts'
import { parseGrantedRanges } from '../../src/taxpayers/visibility/granted-ranges.ts'
import { MOST_GRANTED_RANGES, revokeGrantedRanges, widenWindows } from '../../src/taxpayers/widen-windows.ts'
import { grantedRangesOf, type Kept, keptOf } from '../support/granted-ranges.ts'
import { randomOf } from '../support/random.ts'

const DAY = 86_400_000
const BEGIN = Date.parse('2025-01-01T06:00:00Z')
const dayOf = (instant: number): string => new Date(instant).toISOString().slice(0, 10)

/** A daily run: it reaches ninety days back, unless another floor is said. */
const daily = (n: number, floor = dayOf(BEGIN + (n - 90) * DAY)): Kept => [BEGIN + n * DAY, floor]

beforeAll(() => applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS))

let made = 900_000

async function connection(issued: readonly Kept[] = [], state = 'active') {
  const id = ++made
  await env.DB.prepare(
    `insert into connections (connection, organization_id, fiscal_entity_id, entity, rfc, shard, state, ciec, issued_granted_ranges, linked_at, updated_at)
     values (?1, 'org_reaches_' || ?1, 'fe_reaches_' || ?1, ?1, 'x', 0, ?2, 'sealed', ?3, 0, 0)`,
  )
    .bind(id, state, grantedRangesOf(issued))
    .run()
  const read = async () => {
    const row = await env.DB.prepare('select * from connections where connection = ?').bind(id).first<Record<string, string>>()
    return {
      ...row!,
      stored: row!['issued_granted_ranges']!,
      issued: keptOf(row!['issued_granted_ranges']!),
      received: keptOf(row!['received_granted_ranges']!),
    }
  }
  return { id, read }
}

const widen = async (direction: 'issued' | 'received', runs: readonly (readonly [connection: number, run: Kept])[]) => {
  const rows = runs.map(([id, [to, from]]) => ({ connection: id, from, to }))
  const [result] = await commit<{ connection: number }>(env.DB, [widenWindows(direction, rows, Date.now())])
  return result!
}

describe('what a connection’s runs reached', () => {
  it('is noted with the window of the source and connection that widen, in one row written', async () => {
    const [one, other, paused] = [await connection(), await connection(), await connection([], 'paused')]
    const { results, meta } = await widen('issued', [
      [one.id, daily(0)],
      [other.id, daily(1)],
      [paused.id, daily(1)],
    ])
    expect(results.map(({ connection: id }) => id).sort()).toEqual([one.id, other.id])
    expect(meta.rows_written).toBe(2)
    expect(await one.read()).toMatchObject({ issued: [daily(0)], received: [], issued_from: daily(0)[1], issued_to: daily(0)[0] })
    expect(await other.read()).toMatchObject({ issued: [daily(1)], received: [] })
    expect(await paused.read()).toMatchObject({ issued: [], issued_to: null })
    await widen('received', [[one.id, daily(2)]])
    await widen('issued', [[one.id, daily(3)]])
    expect(await one.read()).toMatchObject({ issued: [daily(0), daily(3)], received: [daily(2)] })
  })

  it('is noted once however often a run is dispatched, also between other runs and when its range has become shorter', async () => {
    const { id, read } = await connection()
    for (const run of [daily(0), daily(0), daily(1), daily(0), daily(0, '2024-12-20')]) await widen('issued', [[id, run]])
    expect((await read()).issued).toEqual([daily(0), daily(1)])
    // Two extractors can run at the same instant. What the second one reaches beyond the first is kept.
    await widen('issued', [[id, daily(1, '2018-01-01')]])
    expect((await read()).issued).toEqual([daily(0), daily(1), daily(1, '2018-01-01')])
  })

  it('has the last day of a run that was asked for a range of days, once however often it is dispatched, of 64 runs at most', async () => {
    const { id, read } = await connection()
    const ranged = (n: number) => [{ connection: id, from: daily(n)[1], to: daily(n)[0], last: '2024-12-31' }]
    const rangesKept = async () => {
      const { issued_granted_ranges, asked_ranges } = (await read()) as unknown as Record<string, string>
      return parseGrantedRanges(issued_granted_ranges!, asked_ranges).flatMap(({ at, to }) => (to === undefined ? [] : [[at, to]]))
    }
    for (const direction of ['issued', 'received', 'issued'] as const)
      await changesOf(env.DB, widenWindows(direction, ranged(0), Date.now()))
    await widen('issued', [[id, daily(1)]])
    expect(await rangesKept()).toEqual([[daily(0)[0], '2024-12-31']])
    for (let n = 2; n <= 66; n++) await changesOf(env.DB, widenWindows('issued', ranged(n), Date.now()))
    expect((await rangesKept()).map(([at]) => at)).toEqual(Array.from({ length: 64 }, (_, n) => daily(n + 3)[0]))
  })

  it('is kept of many runs; then every second one of the older half goes, but none that reached further back than all before', async () => {
    const before = Array.from({ length: MOST_GRANTED_RANGES }, (_, n) => daily(n, n === 11 ? '2018-01-01' : undefined))
    const { id, read } = await connection(before.slice(0, -1))
    await widen('issued', [[id, before.at(-1)!]])
    expect((await read()).issued).toEqual(before)
    const { meta } = await widen('issued', [[id, daily(MOST_GRANTED_RANGES)]])
    expect(meta.rows_written).toBe(1)
    const kept = before.filter((_, n) => n >= MOST_GRANTED_RANGES / 2 || n % 2 === 0 || n === 11)
    expect(kept).toHaveLength((MOST_GRANTED_RANGES * 3) / 4 + 1)
    expect((await read()).issued).toEqual([...kept, daily(MOST_GRANTED_RANGES)])
    // A repetition of the run that did it does not do it again.
    await widen('issued', [[id, daily(MOST_GRANTED_RANGES)]])
    expect((await read()).issued).toHaveLength(kept.length + 1)
  })

  it('is kept when without it a month would no longer be reached from its first day beyond its end', async () => {
    // Every 45 days, 75 days back: without every second run, some months are left out.
    const sparse = Array.from({ length: MOST_GRANTED_RANGES }, (_, n): [number, string] => {
      const instant = Date.UTC(2018, 0, 1, 6) + n * 45 * DAY
      return [instant, new Date(instant - 75 * DAY).toISOString().slice(0, 10)]
    })
    const { id, read } = await connection(sparse)
    await widen('issued', [[id, [sparse.at(-1)![0] + 45 * DAY, sparse.at(-1)![1]]]])
    const { issued } = await read()
    expect(issued.length).toBeLessThan(MOST_GRANTED_RANGES)
    // Eight hours behind UTC, a month is over in all of Mexico.
    const monthsOf = (grantedRanges: typeof issued) => {
      const months = new Set<string>()
      for (const [at, floor] of grantedRanges)
        for (let month = floor.slice(0, 7); month < new Date(at - 8 * 3_600_000).toISOString().slice(0, 7); month = addMonths(month, 1))
          months.add(month)
      return [...months].sort()
    }
    expect(monthsOf(issued.slice(0, -1))).toEqual(monthsOf(sparse))
  })

  it('never grows beyond its bound, and its first run stays', async () => {
    const { id, read } = await connection(Array.from({ length: MOST_GRANTED_RANGES - 5 }, (_, n) => daily(n)))
    for (let n = MOST_GRANTED_RANGES - 5; n < MOST_GRANTED_RANGES + 210; n++) await widen('issued', [[id, daily(n)]])
    const { issued } = await read()
    expect(issued.length).toBeLessThanOrEqual(MOST_GRANTED_RANGES)
    expect(issued[0]).toEqual(daily(0))
    expect(issued.at(-1)).toEqual(daily(MOST_GRANTED_RANGES + 209))
    expect(issued).toEqual(issued.toSorted(([a], [b]) => a - b))
  })

  it('is what a plain list of the runs would be, whatever instants and floors they have, and a refusal strikes what it stopped', async () => {
    const month = (day: number): string => new Date(day).toISOString().slice(0, 7)
    /** The rules of the list, in the plainest way. */
    const added = (kept: readonly Kept[], [at, floor]: Kept): Kept[] => {
      if (kept.slice(-3).some((one) => one[0] === at && one[1] <= floor)) return [...kept]
      const isKept = ([, from]: Kept, n: number): boolean =>
        kept.length < MOST_GRANTED_RANGES ||
        n >= MOST_GRANTED_RANGES / 2 ||
        n % 2 === 0 ||
        kept.slice(0, n).every((one) => from < one[1]) ||
        kept[n + 1]![1].slice(0, 7) > month(kept[n - 1]![0] - 8 * 3_600_000)
      return [...kept.filter(isKept), [at, floor]]
    }
    const random = randomOf(20261122)
    const [one, other] = [await connection(), await connection([daily(0, '2022-01-01')])]
    let [kept, now] = [[] as Kept[], BEGIN]
    const inOrder = (list: readonly Kept[]) => list.toSorted(([a], [b]) => a - b)
    for (let n = 0; n < 400; n++) {
      // Mostly every day; at times together with another extractor, a little later, or dispatched late.
      const step = [DAY, DAY, DAY, DAY, 0, 1_234_567, -DAY, 40 * DAY][Math.floor(random() * 8)]!
      now += step
      const floor = random() < 0.8 ? dayOf(now - 90 * DAY) : dayOf(now - Math.floor(random() * 900) * DAY)
      await widen('received', [[one.id, [now, floor]]])
      kept = added(kept, [now, floor])
      if (n % 97 === 96) {
        const since = kept.at(-5)![0]
        const revoked = [
          { connection: one.id, since },
          { connection: other.id, since: BEGIN + 400 * DAY },
        ]
        await changesOf(env.DB, revokeGrantedRanges(revoked))
        kept = kept.filter(([at]) => at < since)
      }
      if (n % 7 === 0) expect((await one.read()).received).toEqual(inOrder(kept))
    }
    expect((await one.read()).received).toEqual(inOrder(kept))
    expect((await one.read()).issued).toEqual([])
    // Each connection loses what its own runs were stopped at.
    expect((await other.read()).issued).toEqual([daily(0, '2022-01-01')])
  })

  it('that a range of days left out is asked for by the next run, and a range makes up for nothing', async () => {
    const { id, read } = await connection()
    const revoked = async () => ((await read()) as unknown as Record<string, string | null>)['issued_revoked']
    const range = (n: number) =>
      changesOf(env.DB, widenWindows('issued', [{ connection: id, from: '2023-06-01', to: daily(n)[0], last: '2023-06-30' }], Date.now()))
    await range(0)
    expect(await revoked()).toBe(null)
    await widen('issued', [[id, daily(1)]])
    await range(9)
    // Late stamps, in the last of Mexico's zones.
    expect(await revoked()).toBe(dayOf(daily(1)[0] - 3 * DAY - 8 * 3_600_000))
    await range(9)
    await range(20)
    expect(await revoked()).toBe(dayOf(daily(1)[0] - 3 * DAY - 8 * 3_600_000))
    await widen('issued', [[id, daily(21)]])
    expect(await revoked()).toBe(null)
  })

  it('that was revoked is asked for again as far back as the earliest of it, until a run has reached that', async () => {
    const { id, read } = await connection([daily(0), daily(1, '2022-03-04'), daily(2, '2022-05-06')])
    const strike = (since: number) => changesOf(env.DB, revokeGrantedRanges([{ connection: id, since }]))
    const revokedOf = async () => {
      const { issued_revoked, received_revoked } = (await read()) as unknown as Record<string, string | null>
      return [issued_revoked, received_revoked]
    }
    expect(await revokedOf()).toEqual([null, null])
    await strike(BEGIN + 3 * DAY)
    expect(await revokedOf()).toEqual([null, null])
    await strike(BEGIN + 2 * DAY)
    expect(await revokedOf()).toEqual(['2022-05-06', null])
    await strike(BEGIN + DAY)
    expect(await revokedOf()).toEqual(['2022-03-04', null])
    await widen('issued', [[id, daily(3, '2022-03-05')]])
    expect(await revokedOf()).toEqual(['2022-03-04', null])
    await widen('issued', [[id, daily(3, '2022-03-04')]])
    expect(await revokedOf()).toEqual([null, null])
  })

  it('of a year of daily or weekly runs takes two hundred and fifty bytes at most', async () => {
    for (const every of [1, 7]) {
      const { id, read } = await connection([daily(-1, '2022-01-01')])
      for (let n = 0; n < 365; n += every) await widen('issued', [[id, daily(n)]])
      const { issued, stored } = await read()
      expect(issued.length).toBeGreaterThan(Math.min(MOST_GRANTED_RANGES / 2, 365 / every - 1))
      expect(stored.length).toBeLessThanOrEqual(250)
    }
  })
})
