import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runs, sample } from '../support/fuzz.ts'
import { silenceQueues } from '../support/queues.ts'
import { expectAddedUp, linksIn } from './support/added-up.ts'
import { compared, expectSurface } from './support/compare.ts'
import { setOwnRules } from './support/facts.ts'
import { filteredOf } from './support/filters.ts'
import { expectLeftOut } from './support/left-out.ts'
import { isServed, serve } from './support/served.ts'
import { surfacesOf } from './support/surfaces.ts'
import { rangesOf, sightsOf } from './years/sights.ts'
import { yearOf } from './years/year.ts'

beforeEach(() => void silenceQueues())
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/**
 * Histories that have found a fault: in 247 the only invoice of a customer has no exchange rate, and its last document no XML; in 36 so many rules
 * change that the conditions of deductions were too long for SQLite.
 */
const FAULTS_FOUND = [36, 247]

/** Documents of all histories. A window may show none of its year. */
let shown = 0
afterAll(async () => {
  expect(shown).toBeGreaterThan(0)
  expect(compared.figures).toBeGreaterThan(0)
  // Other tests have the defaults.
  await setOwnRules([])
  vi.useRealTimers()
})

describe('every figure is what the oracle adds up from the documents that the API shows', () => {
  it.each([...new Set([...Array.from({ length: runs(3, 500) }, (_, n) => n + 1), ...FAULTS_FOUND])])(
    'in history %i',
    { timeout: 1_800_000 },
    async (seed) => {
      const year = yearOf(seed)
      const sights = sightsOf(year)
      const ranges = rangesOf(year)
      const { ask, world } = await serve(year, sights[seed % sights.length]!)
      const range = ranges[seed % ranges.length]!
      for (const asked of [...surfacesOf(world, range), ...sample(filteredOf(world, range, seed), 3, seed)].filter(({ path }) =>
        isServed(path),
      )) {
        const answer = await expectSurface(ask, asked, runs(20, 3))
        await expectLeftOut(ask, world, asked, answer)
        for (const link of linksIn(answer).filter((_, n) => n % runs(20, 3) === seed % runs(20, 3))) await expectAddedUp(ask, link)
      }
      shown += world.documents.length
    },
  )
})
