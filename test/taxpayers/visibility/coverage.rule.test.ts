import { describe, expect, it } from 'vitest'
import { oldestOf } from '../../../src/authority/oldest.ts'
import type { System } from '../../../src/platform/context.ts'
import {
  coverageAfter,
  dataStatusFor,
  type EndedDownload,
  MONTH_STATUSES,
  type MonthCoverage,
  monthStateOf,
} from '../../../src/taxpayers/visibility/coverage.ts'
import type { GrantedRange } from '../../../src/taxpayers/visibility/granted-ranges.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'

const MONTH = '2026-04'
const OLDEST = '2018-01-01T00:00:00'
const statusOf = (...asked: Parameters<typeof monthStateOf>) => monthStateOf(...asked).status
/** April ends last in Tijuana, where it is seven hours behind UTC in summer, and eight at most. */
const END = Date.parse('2026-05-01T08:00:00Z')
/** Its last stamps come 72 hours later. */
const STAMPED = Date.parse('2026-05-04T08:00:00Z')
const at = (text: string): number => Date.parse(`${text}:00Z`)

const [FIRST, SECOND, THIRD] = ['2026-04-10T06:00', '2026-04-11T06:00', '2026-04-12T06:00'] as const
const [BEFORE, OVER, LATER] = ['2026-05-04T06:00', '2026-05-05T06:00', '2026-05-06T06:00'] as const
type Ended = [outcome: EndedDownload['outcome'], as_of: string, until?: string]
const ended = ([outcome, as_of, until = as_of]: Ended): EndedDownload => ({ outcome, as_of: at(as_of), until: at(until) })
const following = (...all: Ended[]): MonthCoverage =>
  all.reduce<MonthCoverage>((before, one) => coverageAfter(before, MONTH, ended(one)), [])

describe('what is kept of a month', () => {
  it.each<[string, Ended[], [string, string][]]>([
    [
      'that it was complete so far',
      [
        ['failed', FIRST],
        ['complete', SECOND],
      ],
      [
        [FIRST, 'failed'],
        [SECOND, 'so_far'],
      ],
    ],
    ['that it was complete over its last stamps, whenever the run was', [['complete', BEFORE, '2026-05-04T08:00']], [[BEFORE, 'over']]],
    ['that it was not complete up to an instant beyond what was asked for', [['complete', SECOND, FIRST]], [[SECOND, 'incomplete']]],
    ['not so a minute before', [['complete', BEFORE, '2026-05-04T07:59']], [[BEFORE, 'so_far']]],
    [
      'the first of some failures',
      [
        ['complete', FIRST],
        ['failed', SECOND],
        ['failed', THIRD],
      ],
      [
        [FIRST, 'so_far'],
        [SECOND, 'failed'],
      ],
    ],
    [
      'each change',
      [
        ['complete', FIRST],
        ['incomplete', SECOND],
        ['complete', OVER],
        ['failed', LATER],
      ],
      [
        [FIRST, 'so_far'],
        [SECOND, 'incomplete'],
        [OVER, 'over'],
        [LATER, 'failed'],
      ],
    ],
    [
      'in order, also when a run is late',
      [
        ['complete', SECOND],
        ['incomplete', FIRST],
      ],
      [
        [SECOND, 'so_far'],
        [SECOND, 'incomplete'],
      ],
    ],
    [
      'nothing of a failure for a run that a complete download was for as well',
      [
        ['complete', SECOND],
        ['failed', SECOND],
        ['failed', FIRST],
      ],
      [[SECOND, 'so_far']],
    ],
  ])('is %s', (_, all, expected) => {
    expect(following(...all)).toEqual(expected.map(([as_of, end]) => [at(as_of), end]))
  })

  it('is the same object after a quiet day, so that nothing is written', () => {
    const open = following(['complete', FIRST])
    expect(coverageAfter(open, MONTH, ended(['complete', SECOND]))).toBe(open)
    const over = following(['complete', OVER])
    expect(coverageAfter(over, MONTH, ended(['complete', LATER]))).toBe(over)
    const failed = following(['failed', OVER])
    expect(coverageAfter(failed, MONTH, ended(['failed', LATER]))).toBe(failed)
  })

  it('is bounded, and its last changes stay', () => {
    const flapping = Array.from({ length: 100 }, (_, n): Ended => [n % 2 === 0 ? 'complete' : 'incomplete', FIRST])
    expect(following(...flapping)).toHaveLength(30)
    expect(following(...flapping).at(-1)![1]).toBe('incomplete')
  })
})

/** A download of the month as it happened: who asked for it, when, and how it ended, if it has. */
interface Download {
  as_of: number
  by: Set<string>
  ended: { at: number; outcome: EndedDownload['outcome'] } | null
}

/** An organization: its own runs that asked for the month and the instant of its last run. */
interface Seat {
  ran: { at: number; download: Download }[]
  ceiling: number
}

/**
 * The promise, word by word, from the organization's own runs and the downloads that they asked for. Once its window goes beyond the month,
 * the last one counts that began after its end and did not fail, and once it goes beyond the last stamps, the last one that began after them.
 * As long as it does not, the last one counts, and of what was issued since then nothing is known.
 */
function oracle({ ran, ceiling }: Seat): string {
  const isPending = ran.some(({ download }) => download.ended === null)
  const answered = ran.flatMap(({ at: instant, download }) => (download.ended ? [{ instant, ...download.ended }] : []))
  const isLater = (from: number) => answered.findLast(({ instant, outcome }) => instant >= from && outcome !== 'failed')
  const last = ceiling >= STAMPED ? isLater(STAMPED) : ceiling >= END ? isLater(END) : answered.at(-1)
  const isAhead = ceiling < END && answered.length > 0 && answered.at(-1)!.instant < ceiling - 5 * 60_000
  if (last?.outcome === 'complete' && !isAhead) return 'complete'
  if (isPending) return 'requested'
  const brought = answered.findLast(({ outcome }) => outcome !== 'failed')?.outcome
  return brought === 'incomplete' || (isAhead && brought) ? 'partial' : 'missing'
}

/** What breaks without it: a customer takes the zeros of a failed download for a month without business, or sees what others downloaded. */
it(`tells what all that happened to the month tells, through ${runs(2_000, 60_000)} histories of two organizations`, () => {
  const random = randomOf(13)
  const below = (limit: number): number => Math.floor(random() * limit)
  const seen: Record<string, number> = {}
  const wrong: unknown[] = []
  for (let history = 0; history < runs(2_000, 60_000); history++) {
    const downloads: Download[] = []
    const seats = { A: { ran: [], ceiling: 0 } as Seat, B: { ran: [], ceiling: 0 } as Seat }
    let coverage: MonthCoverage = []
    let now = at('2026-03-28T06:00') + below(9) * 3_600_000
    for (let step = 0; step < 14; step++) {
      now +=
        1 +
        (random() < 0.2 ? Math.max(0, (random() < 0.5 ? END : STAMPED) - now - below(3)) * Number(random() < 0.3) : below(9 * 86_400_000))
      const open = downloads.find(({ ended }) => ended === null)
      if (open && random() < 0.6) {
        const outcome = (['complete', 'complete', 'failed', 'incomplete'] as const)[below(4)]!
        open.ended = { at: now, outcome }
        coverage = coverageAfter(coverage, MONTH, { outcome, as_of: open.as_of, until: now })
      } else {
        const who = random() < 0.5 ? 'A' : 'B'
        seats[who].ceiling = now
        // A run later than the month may not reach back to it.
        if (now >= at('2026-04-01T05:00') && (now < END || random() < 0.7)) {
          const download = open ?? { as_of: now, by: new Set<string>(), ended: null }
          if (!open) downloads.push(download)
          download.by.add(who)
          seats[who].ran.push({ at: now, download })
        }
      }
      for (const who of ['A', 'B'] as const) {
        const { ran, ceiling } = seats[who]
        if (ceiling === 0) continue
        const pending = downloads.find(({ by, ended }) => ended === null && by.has(who))
        const status = statusOf(
          MONTH,
          {
            coverage: { [MONTH]: JSON.parse(JSON.stringify(coverage)) as MonthCoverage },
            window: { isEmpty: false, floor: '2018-01-01', ceiling },
            grantedRanges: [
              ...ran.map(({ at: instant }): GrantedRange => ({ at: instant, floor: '2026-03-01', from: '2026-03-01' })),
              { at: ceiling, floor: '2026-05-01', from: '2026-05-01' },
            ],
            open: pending ? { [MONTH]: pending.as_of } : {},
            oldest: OLDEST,
          },
          now,
        )
        const expected = oracle(seats[who])
        if (status !== expected) wrong.push({ history, step, who, status, expected, coverage, ceiling, ran, downloads })
        seen[status] = (seen[status] ?? 0) + 1
      }
    }
  }
  expect(wrong.slice(0, 2)).toEqual([])
  for (const status of ['complete', 'partial', 'requested', 'missing']) expect(seen[status], status).toBeGreaterThan(1_000)
})

describe('a month that was downloaded before its last stamps', () => {
  const [END_OF_MONTH, NEXT_MONTH] = ['2026-05-01T06:30', '2026-06-01T06:30'] as const
  const of = (ran: [instant: string, from: string][], coverage: MonthCoverage, open = {}) =>
    statusOf(
      MONTH,
      {
        coverage: { [MONTH]: coverage },
        window: { isEmpty: false, floor: '2026-04-01', ceiling: at(ran.at(-1)![0]) },
        grantedRanges: ran.map(([instant, from]) => ({ at: at(instant), floor: from, from })),
        open,
        oldest: OLDEST,
      },
      at(ran.at(-1)![0]),
    )

  it('is complete as far as the window goes, and missing once the window goes on without another download of it', () => {
    const coverage = following(['complete', END_OF_MONTH])
    const ran: [string, string] = [END_OF_MONTH, '2026-04-01']
    expect(of([ran], coverage)).toBe('complete')
    // On the day after the end it is fetched again, as it was not before.
    const early = following(['complete', THIRD])
    expect(
      of(
        [
          [THIRD, '2026-04-01'],
          ['2026-05-01T09:00', '2026-04-01'],
        ],
        early,
        { [MONTH]: at('2026-05-01T09:00') },
      ),
    ).toBe('requested')
    expect(
      of(
        [
          [THIRD, '2026-04-01'],
          ['2026-05-01T09:00', '2026-04-01'],
        ],
        early,
      ),
    ).toBe('complete')
    expect(of([ran, [NEXT_MONTH, '2026-05-01']], coverage)).toBe('missing')
    expect(of([ran, [LATER, '2026-04-01']], coverage, { [MONTH]: at(LATER) })).toBe('requested')
    expect(of([ran, [LATER, '2026-04-01'], [NEXT_MONTH, '2026-05-01']], following(['complete', END_OF_MONTH], ['complete', LATER]))).toBe(
      'complete',
    )
  })
})

/** A run waits for the verification of a CIEC, or for its turn, and is dispatched after the later run of another organization. */
describe('a run that is dispatched late', () => {
  const of = (coverage: MonthCoverage, ran: string[], open = {}) =>
    statusOf(
      MONTH,
      {
        coverage: { [MONTH]: coverage },
        window: { isEmpty: false, floor: '2018-01-01', ceiling: at(ran.at(-1)!) },
        grantedRanges: ran.map((instant) => ({ at: at(instant), floor: '2026-04-01', from: '2026-04-01' })),
        open,
        oldest: OLDEST,
      },
      at(LATER),
    )

  it('is answered by the first download, although that was asked for later', () => {
    expect(of(following(['complete', SECOND]), [FIRST])).toBe('complete')
    expect(of(following(['failed', SECOND]), [FIRST])).toBe('missing')
  })

  it('waits for the job that it joined, although that was asked for later: what others downloaded before is not shown', () => {
    const others = following(['complete', FIRST])
    expect(of(others, [SECOND], { [MONTH]: at(THIRD) })).toBe('requested')
    // What it knew by its first run ends a day before its window does.
    expect(of(others, [FIRST, SECOND], { [MONTH]: at(THIRD) })).toBe('requested')
  })
})

describe('an organization without extractors', () => {
  const of = (coverage: MonthCoverage | undefined, now: string, open = {}) =>
    statusOf(
      MONTH,
      { coverage: { [MONTH]: coverage }, window: { isEmpty: false, floor: null, ceiling: null }, grantedRanges: [], open, oldest: OLDEST },
      at(now),
    )

  it('is told what is held, whoever downloaded it', () => {
    const [soFar, over] = [following(['complete', FIRST]), following(['complete', OVER])]
    expect([of(soFar, '2026-04-20T06:00'), of(soFar, '2026-05-20T06:00')]).toEqual(['complete', 'missing'])
    expect(of(over, '2026-05-20T06:00')).toBe('complete')
    expect(of(following(['complete', FIRST], ['failed', SECOND]), '2026-04-20T06:00')).toBe('missing')
    expect(of(following(['complete', OVER], ['failed', LATER]), '2026-05-20T06:00')).toBe('complete')
    expect(of(following(['complete', OVER], ['incomplete', LATER]), '2026-05-20T06:00')).toBe('partial')
    expect([of(undefined, '2026-05-20T06:00'), of(undefined, '2026-05-20T06:00', { [MONTH]: 1 })]).toEqual(['missing', 'requested'])
  })
})

it('a month is never complete in a window that is empty', () => {
  const window = { isEmpty: true, floor: null, ceiling: null }
  const coverage = { [MONTH]: following(['complete', OVER]) }
  expect(statusOf(MONTH, { coverage, window, grantedRanges: [], open: {}, oldest: OLDEST }, END)).toBe('missing')
})

describe('a month of which documents are shown without the XML that the authority delivers', () => {
  const of = (coverage: MonthCoverage, missingXml: number, open = {}) =>
    monthStateOf(
      MONTH,
      {
        coverage: { [MONTH]: coverage },
        window: { isEmpty: false, floor: '2026-04-01', ceiling: at(LATER) },
        grantedRanges: [OVER, LATER].map((instant) => ({ at: at(instant), floor: '2026-04-01', from: '2026-04-01' })),
        open,
        oldest: OLDEST,
      },
      at(LATER),
      missingXml,
    )

  it('is partial, however its downloads ended, and requested while a job of its runs is open', () => {
    for (const coverage of [following(['complete', OVER]), following(['failed', OVER]), following(['incomplete', OVER])]) {
      expect(of(coverage, 1).status).toBe('partial')
      expect(of(coverage, 1, { [MONTH]: at(LATER) }).status).toBe('requested')
    }
    expect(of(following(['complete', OVER]), 0).status).toBe('complete')
    expect(of(following(['failed', OVER]), 0).status).toBe('missing')
  })

  it('says when the last of the runs was whose download was complete, and nothing of the others', () => {
    expect(of(following(['complete', OVER], ['failed', LATER]), 0).succeeded_at).toBe(at(OVER))
    expect(of(following(['complete', OVER]), 0).succeeded_at).toBe(at(LATER))
    expect(of(following(['failed', OVER]), 0).succeeded_at).toBe(null)
    expect(of(following(['complete', OVER]), 0, { [MONTH]: at(LATER) }).succeeded_at).toBe(at(OVER))
  })
})

describe('a month that is older than what the authority gives', () => {
  const oldestAt = (taxAuthority: 'sat' | 'sandbox') => oldestOf({ settings: { taxAuthority } as System['settings'] })
  const of = (month: string, coverage: MonthCoverage | undefined, now: string, open = {}, by: 'sat' | 'sandbox' = 'sat') =>
    statusOf(
      month,
      {
        coverage: { [month]: coverage },
        window: { isEmpty: false, floor: '2018-01-01', ceiling: at(now) },
        grantedRanges: [{ at: at(now), floor: '2018-01-01', from: '2018-01-01' }],
        open,
        oldest: oldestAt(by)(at(now)),
      },
      at(now),
    )

  it('is unobtainable once its first day is six years ago, unless it is held or asked for', () => {
    const now = '2026-05-20T12:00'
    expect(['2020-04', '2020-05', '2020-06'].map((month) => of(month, undefined, now))).toEqual(['unobtainable', 'unobtainable', 'missing'])
    // The day begins where the authority is.
    expect(of('2020-05', undefined, '2026-05-01T12:00')).toBe('missing')
    expect(of('2020-05', undefined, '2026-05-02T05:59')).toBe('missing')
    expect(of('2020-05', undefined, '2026-05-02T06:00')).toBe('unobtainable')
    expect(of('2020-05', [[at(now), 'incomplete']], now)).toBe('unobtainable')
    expect(of('2020-05', [[at(now), 'over']], now)).toBe('complete')
    expect(of('2020-05', undefined, now, { '2020-05': at(now) })).toBe('requested')
  })

  it('is one before January 2018 in the sandbox, which gives everything since then', () => {
    const now = '2026-05-20T12:00'
    expect(['2017-12', '2018-01', '2020-04'].map((month) => of(month, undefined, now, {}, 'sandbox'))).toEqual([
      ...['unobtainable', 'missing', 'missing'],
    ])
  })
})

it('the data status of summaries folds the status of a month', () => {
  expect(MONTH_STATUSES.map(dataStatusFor)).toEqual(['complete', 'downloading', 'downloading', 'missing', 'missing'])
})
