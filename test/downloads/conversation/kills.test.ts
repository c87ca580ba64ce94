import { afterEach, describe, expect, it, vi } from 'vitest'
import { sample } from '../../support/fuzz.ts'
import { freshRfc } from '../../support/tenants.ts'
import { ISSUED, jobsOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A month of issued CFDIs and retenciones in several packages, which take two checks. */
async function asked(): Promise<SatWorld> {
  const counts = { issued: 6, received: 0, payroll: 0, retenciones: 2 }
  const world = new SatWorld(freshRfc(), { months: 1, from: '2026-04', counts }, { packageSize: 4, checks: 1 })
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(ISSUED)
  await one.run()
  await world.call()
  return world
}

const issuedOf = (differences: readonly string[]): string[] => differences.filter((one) => one.startsWith('sat_cfdi_issued'))

/** What breaks without it: a process that ends between a request and what is noted of it asks twice, or waits for ever. */
describe('a process that is killed', () => {
  it('at any step of a download leaves nothing missing, nothing asked for twice and no two requests within two seconds', {
    timeout: 3_600_000,
  }, async () => {
    const whole = await asked()
    whole.mortal.steps = 0
    await whole.work()
    const { steps } = whole.mortal
    expect(issuedOf(await whole.differences())).toEqual([])
    expect(steps).toBeGreaterThan(100)
    const deaths = Array.from({ length: steps }, (_, n) => (['before', 'after'] as const).map((when) => ({ at: n + 1, when }))).flat()
    for (const dies of sample(deaths, Math.ceil(deaths.length / 10), Math.floor(Math.random() * deaths.length))) {
      vi.restoreAllMocks()
      const world = await asked()
      world.mortal.steps = 0
      world.mortal.dies = dies
      await world.work()
      const what = `killed ${dies.when} step ${dies.at}`
      expect(world.mortal.isDead, what).toBe(true)
      await world.recover()
      await world.work()
      expect(
        (await jobsOf(world.rfc)).map(({ status }) => status),
        what,
      ).toEqual(['succeeded', 'succeeded'])
      expect(issuedOf(await world.differences()), what).toEqual([])
      expect(world.authority.log.violations, what).toEqual([])
    }
  })
})
