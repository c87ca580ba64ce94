import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runs } from '../support/fuzz.ts'
import { silenceQueues } from '../support/queues.ts'
import { expectSurface } from './support/compare.ts'
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
    const t0 = performance.now()
    const { ask, world } = await serve(year, sights[seed % sights.length]!)
    const t1 = performance.now()
    const range = ranges[seed % ranges.length]!
    let n = 0
    for (const asked of surfacesOf(world, range)) {
      n++
      if (isServed(asked.path)) await expectSurface(ask, asked, 5)
    }
    console.error(seed, world.documents.length, t1 - t0, performance.now() - t1, n)
    expect(world.documents.length).toBeGreaterThan(0)
  })
})
