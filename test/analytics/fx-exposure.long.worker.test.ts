import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, it } from 'vitest'
import { runs } from '../support/fuzz.ts'
import { expectSurface } from './support/compare.ts'
import { requester, seenOf } from './support/seeded.ts'
import { surfacesOf } from './support/surfaces.ts'
import { rangesOf } from './years/sights.ts'
import { yearOf } from './years/year.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

const PATHS = ['/analytics/fx-exposure']

describe('FX exposure is what the oracle adds up', () => {
  it.each(Array.from({ length: runs(1, 20) }, (_, n) => n + 1))('of a seeded year, without windows and within them (%i)', async (seed) => {
    const year = yearOf(seed)
    for (const { ctx, world } of await seenOf(year))
      for (const range of rangesOf(year).slice(-runs(2, 4)))
        for (const asked of surfacesOf(world, range).filter(({ path }) => PATHS.includes(path)))
          await expectSurface(requester(ctx), asked, 5)
  })
})
