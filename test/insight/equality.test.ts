import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runs, sample } from '../support/fuzz.ts'
import { silenceQueues } from '../support/queues.ts'
import { expectAddedUp, linksIn } from './support/added-up.ts'
import { expectSurface } from './support/compare.ts'
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

describe('every figure is what the oracle adds up from the documents that the API shows', () => {
  it.each(Array.from({ length: runs(15, 500) }, (_, n) => n + 1))('in history %i', async (seed) => {
    const year = yearOf(seed)
    const sights = sightsOf(year)
    const ranges = rangesOf(year)
    const { ask, world } = await serve(year, sights[seed % sights.length]!)
    const range = ranges[seed % ranges.length]!
    for (const asked of [...surfacesOf(world, range), ...filteredOf(world, range, seed)].filter(({ path }) => isServed(path))) {
      const answer = await expectSurface(ask, asked, 5)
      await expectLeftOut(ask, world, asked, answer)
      for (const link of sample(linksIn(answer), 7, seed)) await expectAddedUp(ask, link)
    }
    expect(world.documents.length).toBeGreaterThan(0)
  })
})
