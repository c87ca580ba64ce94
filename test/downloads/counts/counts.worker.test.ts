import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countJobs, type OwnJob } from '../../../src/downloads/counts/counts.ts'
import { countSlice, type DocumentChange } from '../../../src/taxpayers/visibility/slice-counts.ts'
import { EVERYTHING, NOTHING, type Window } from '../../../src/taxpayers/visibility/window.ts'
import { costOf } from '../../support/meter.ts'
import { type KeptJob, keepJobs } from '../support/kept-jobs.ts'

const AS_OF = Date.parse('2026-03-20T18:00:00Z')
const HOUR = 3_600
const DAY = 24 * HOUR
const fecha = (issued_at: number): string => new Date((issued_at - 6 * HOUR) * 1_000).toISOString().slice(0, 19)

/** What a download brings: of the last days before the job's instant and of a little after it. */
const change = fc
  .record({
    what: fc.constantFrom('created' as const, 'updated' as const, 'cancelled' as const),
    issued_at: fc.oneof(fc.integer({ min: -6 * DAY, max: 2 * HOUR }), fc.integer({ min: -2 * HOUR, max: 60 })),
  })
  .map(({ what, issued_at }) => ({ what, issued_at: AS_OF / 1_000 + issued_at, fecha: fecha(AS_OF / 1_000 + issued_at) }))
const slices = fc.array(fc.array(change, { maxLength: 30 }), { maxLength: 4 })

const floor = fc.option(
  fc.integer({ min: -8, max: 2 }).map((days) => fecha(AS_OF / 1_000 + days * DAY).slice(0, 10)),
  { nil: null },
)

const hides = ({ isEmpty, floor, ceiling }: Window, { fecha, issued_at }: DocumentChange): boolean =>
  isEmpty || (floor !== null && fecha < floor) || (ceiling !== null && issued_at > ceiling / 1_000)

/** The plain count of these changes. */
function counted(changes: readonly DocumentChange[]) {
  const of = (what: DocumentChange['what']) => changes.filter((one) => one.what === what).length
  const times = changes.map(({ issued_at }) => issued_at).sort((a, b) => a - b)
  return {
    created_count: of('created'),
    updated_count: of('updated'),
    cancelled_count: of('cancelled'),
    first_issued_at: times[0] ?? null,
    last_issued_at: times.at(-1) ?? null,
  }
}

let entities = 700_000
const CELL = { source: 'sat_cfdi_issued', month: '2026-03' }
const ask = (entity: number, job_id: string, organization_id: string, issued: Window = EVERYTHING.issued): OwnJob => ({
  ...{ ...CELL, entity, job_id, organization_id },
  windows: { issued, received: NOTHING.received },
})

/** Counts the last of an organization's two jobs, the first of which ended when everything here had been issued. */
async function countOne(all: readonly (readonly DocumentChange[])[], window: Window, boundaries: readonly number[] = []) {
  const entity = ++entities
  const job = { ...CELL, entity, organizations: ['org_a'] }
  await keepJobs(env.LEDGER_0, [
    { ...job, job_id: 'job_1', brought: [], finished_at: AS_OF + DAY * 1_000 },
    { ...job, job_id: 'job_2', brought: all.map((slice) => countSlice(slice, AS_OF, boundaries)) },
  ])
  return (await countJobs(env.LEDGER_0, [ask(entity, 'job_2', 'org_a', window)]))[0]
}

describe('what a job brought, counted through a window', () => {
  it('is what the window shows, for every floor and every ceiling from an hour before the job on', async () => {
    const ceiling = fc.option(
      fc.integer({ min: -HOUR * 1_000, max: 3 * HOUR * 1_000 }).map((ms) => AS_OF + ms),
      { nil: null },
    )
    await fc.assert(
      fc.asyncProperty(slices, floor, ceiling, async (all, floor, ceiling) => {
        const window = { isEmpty: false, floor, ceiling }
        expect(await countOne(all, window)).toEqual(counted(all.flat().filter((one) => !hides(window, one))))
      }),
      { numRuns: 200 },
    )
  })

  it('is what the window shows, for every floor and every ceiling that was known when the documents came', async () => {
    const ceilings = fc.uniqueArray(
      fc.integer({ min: -6 * DAY, max: 0 }).map((seconds) => AS_OF + seconds * 1_000 + 700),
      { minLength: 1, maxLength: 3 },
    )
    await fc.assert(
      fc.asyncProperty(slices, floor, ceilings, async (all, floor, known) => {
        const window = { isEmpty: false, floor, ceiling: known[0]! }
        const boundaries = known.map((ceiling) => Math.floor(ceiling / 1_000))
        expect(await countOne(all, window, boundaries)).toEqual(counted(all.flat().filter((one) => !hides(window, one))))
      }),
      { numRuns: 100 },
    )
  })

  it('is never more than that, and misses nothing but what a ceiling cuts from a day, for any ceiling', async () => {
    const ceiling = fc.integer({ min: -8 * DAY, max: 0 }).map((seconds) => AS_OF + seconds * 1_000)
    await fc.assert(
      fc.asyncProperty(slices, floor, ceiling, async (all, floor, ceiling) => {
        const window = { isEmpty: false, floor, ceiling }
        const isLate = ({ issued_at }: DocumentChange) => issued_at > AS_OF / 1_000 - HOUR
        const kindOf = ({ what, fecha }: DocumentChange) => `${what} ${fecha.slice(0, 10)}`
        const expected = all.flatMap((slice) => {
          const cut = new Set(slice.filter((one) => !isLate(one) && one.issued_at > ceiling / 1_000).map(kindOf))
          return slice.filter((one) => !hides(window, one) && (isLate(one) || !cut.has(kindOf(one))))
        })
        expect(await countOne(all, window)).toEqual(counted(expected))
      }),
      { numRuns: 200 },
    )
  })

  it('is nothing for who sees nothing', async () => {
    const changes = [{ what: 'created' as const, issued_at: AS_OF / 1_000 - DAY, fecha: fecha(AS_OF / 1_000 - DAY) }]
    expect(await countOne([changes], NOTHING.issued)).toEqual(counted([]))
    expect(await countOne([changes], EVERYTHING.issued)).toEqual(counted(changes))
  })
})

describe('what jobs brought to each of the organizations that share an RFC', () => {
  const ORGANIZATIONS = ['org_a', 'org_b', 'org_c']
  const job = fc.record({
    organizations: fc.subarray(ORGANIZATIONS, { minLength: 1 }),
    status: fc.constantFrom('succeeded' as const, 'succeeded' as const, 'succeeded' as const, 'failed' as const),
    /** What it brought of which hours, and after how many hours those were stored that are not new. */
    changes: fc.array(
      fc.tuple(
        fc.constantFrom('created' as const, 'updated' as const, 'cancelled' as const),
        fc.integer({ min: 0, max: 13 * 24 - 1 }),
        fc.constantFrom(0, 0, 9, 60),
      ),
      { maxLength: 12 },
    ),
  })
  const at = (hour: number): number => AS_OF / 1_000 - 30 * DAY + hour * HOUR

  it('is everything since its own previous job that succeeded, of all jobs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(job, { minLength: 1, maxLength: 8 }), fc.boolean(), async (drawn, isLastOpen) => {
        const entity = ++entities
        const jobs = drawn.map(({ organizations, status, changes }, n) => ({
          ...{ n, organizations, job_id: `job_${n}`, finished_at: at(24 * n + 131) * 1_000 + 500 },
          status: isLastOpen && n === drawn.length - 1 ? ('queued' as const) : status,
          changes: changes.map(
            ([what, hour, wait]): DocumentChange => ({
              ...{ what, issued_at: at(hour), fecha: fecha(at(hour)) },
              ...(what !== 'created' && { stored_at: at(hour + wait) }),
            }),
          ),
        }))
        await keepJobs(
          env.LEDGER_0,
          jobs.map(({ changes, n, ...one }): KeptJob => {
            const ends = jobs.slice(0, n).map(({ finished_at }) => Math.floor(finished_at / 1_000))
            return { ...CELL, entity, ...one, brought: [countSlice(changes, AS_OF, ends)] }
          }),
        )
        const questions = jobs.flatMap((one) => one.organizations.map((organization) => ({ one, organization })))
        const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () =>
          countJobs(
            env.LEDGER_0,
            questions.map(({ one, organization }) => ask(entity, one.job_id, organization)),
          ),
        )
        expect(cost.d1_statements).toBe(1)
        for (const [i, { one, organization }] of questions.entries()) {
          const isOwn = ({ organizations }: (typeof jobs)[number]) => organizations.includes(organization)
          const previous = jobs.findLast((it) => it.n < one.n && isOwn(it) && it.status === 'succeeded')
          const since = jobs.filter(
            (it) =>
              it === one ||
              (one.status === 'succeeded' && it.n > (previous?.n ?? -1) && it.n < one.n && !(it.status === 'failed' && isOwn(it))),
          )
          const isKnown = ({ issued_at, stored_at = issued_at }: DocumentChange) =>
            previous !== undefined && stored_at * 1_000 <= previous.finished_at
          const expected = since.flatMap(({ changes }) => changes).filter((it) => it.what === 'created' || isKnown(it))
          expect(result[i]).toEqual(counted(expected))
        }
      }),
      { numRuns: 150 },
    )
  })

  it('takes one statement for CFDIs and one for other documents, and none for nothing', async () => {
    const asked = Array.from({ length: 300 }, (_, n) => ({ ...ask(++entities, `job_${n}`, 'org_a'), month: n % 2 === 0 ? '' : '2026-03' }))
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => countJobs(env.LEDGER_0, asked))
    expect(cost).toMatchObject({ d1_calls: 1, d1_statements: 2 })
    expect(result).toEqual(asked.map(() => counted([])))
    expect((await costOf(env.LEDGER_0, env.FILES, () => countJobs(env.LEDGER_0, []))).cost.d1_calls).toBe(0)
  })
})
