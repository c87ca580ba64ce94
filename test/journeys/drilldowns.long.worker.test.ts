import { beforeAll, describe, expect, it } from 'vitest'
import { expectAddedUp, linksIn } from '../analytics/support/added-up.ts'
import { expectSurface } from '../analytics/support/compare.ts'
import { expectLeftOut } from '../analytics/support/left-out.ts'
import { sandboxRfcs } from '../analytics/support/sandbox.ts'
import { isServed, type Served } from '../analytics/support/served.ts'
import { surfacesOf } from '../analytics/support/surfaces.ts'
import { at } from '../support/clock.ts'

/** A company, a person, and another company, as the sandbox invents them. */
const RFCS = ['EKU9003173C9', 'CACX7605101P8', 'IIA040805DZ4']
const MONTHS = 2

let served: Served[] = []

beforeAll(async () => {
  at('2026-03-20T18:00:00Z')
  served = await sandboxRfcs(RFCS, MONTHS)
}, 300_000)

describe('every figure of an RFC of the sandbox leads to the documents that add up to it', () => {
  it.each(RFCS.map((rfc, n) => [rfc, n] as const))('%s', { timeout: 300_000 }, async (_, n) => {
    const { ask, world } = served[n]!
    const range = { from: '2025-12-01', to: '2026-03-31' }
    let followed = 0
    for (const asked of surfacesOf(world, range).filter(({ path }) => isServed(path))) {
      const answer = await expectSurface(ask, asked, Number.POSITIVE_INFINITY)
      await expectLeftOut(ask, world, asked, answer)
      for (const link of linksIn(answer)) await expectAddedUp(ask, link)
      followed += linksIn(answer).length
    }
    expect(followed).toBeGreaterThan(100)
    expect(world.documents.length).toBeGreaterThan(50)
  })
})
