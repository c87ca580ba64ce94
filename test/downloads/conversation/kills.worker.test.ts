import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { restore } from '../../support/clock.ts'
import { sample } from '../../support/fuzz.ts'
import { freshRfc } from '../../support/tenants.ts'
import { bookOf, ISSUED, jobsOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

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
    for (const dies of sample(deaths, Math.ceil(deaths.length / 4), Math.floor(Math.random() * deaths.length))) {
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

  it('in a turn of a conversation is followed by the first sweep after its lease', async () => {
    const world = await asked()
    world.mortal.steps = 0
    world.mortal.dies = { at: 60, when: 'before' }
    await world.work()
    expect(world.mortal.isDead).toBe(true)
    const { busy_until } = (await world.conversation()) as { busy_until: number }
    expect(busy_until).toBeGreaterThan(world.now)
    world.mortal.revive()
    world.queue.splice(0)
    const sweep = () => world.deliver({ task: 'sweepConversations', at: world.now, cursor: '' }, 'tasks')
    await sweep()
    expect(world.queue).toEqual([])
    world.pass(busy_until - world.now + 1_000)
    await sweep()
    expect(world.queue).toMatchObject([{ body: { conversation: true } }])
  })

  it('after a slice of a package goes on behind it, and reads nothing again of what is stored', { timeout: 120_000 }, async () => {
    const counts = { issued: 2_500, received: 0, payroll: 0, retenciones: 0 }
    const world = new SatWorld(freshRfc(), { months: 1, from: '2026-04', counts }, { packageSize: 5_000 })
    asWithAuthority(world)
    losingMessages()
    const one = await world.subscriber(ISSUED)
    await one.run()
    const { requests } = world.authority
    const download = requests.download.bind(requests)
    let places: number[] = []
    requests.download = (...asked) => {
      const found = download(...asked)
      if (!('code' in found) && found.length > 1_000_000) places = placesIn(found)
      return found
    }
    // Killed after every commit of a slice.
    const ledger = world.env.LEDGER_0
    const batch = ledger.batch.bind(ledger)
    const slices = async () => (await bookOf(world.rfc, ['cfdi_commits']))['cfdi_commits']!.length
    let killed = 0
    ledger.batch = async <T>(statements: D1PreparedStatement[]) => {
      const results = await batch<T>(statements)
      if (!world.mortal.isDead && (await slices()) > killed) {
        killed++
        world.mortal.isDead = true
        throw new Error('The process was killed here.')
      }
      return results
    }
    const get = vi.spyOn(Object.getPrototypeOf(env.FILES) as R2Bucket, 'get')
    await world.call()
    await world.work()
    const { objects } = await env.FILES.list({ prefix: 'authority/' })
    const { key } = objects.sort((one, other) => other.size - one.size)[0]!
    for (const stored of [1_000, 2_000, 2_500]) {
      expect(killed).toBe(Math.ceil(stored / 1_000))
      get.mockClear()
      await world.recover(4).catch(() => {})
      const offsets = get.mock.calls.flatMap(([of, options]) =>
        of === key ? [((options as R2GetOptions).range as { offset: number }).offset] : [],
      )
      expect(Math.min(...offsets)).toBe(places[stored])
    }
    expect((await jobsOf(world.rfc)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
    expect(issuedOf(await world.differences())).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })
})

/** Where the entries of a ZIP begin, in its order, and then its directory. */
function placesIn(zip: Uint8Array): number[] {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength)
  const places: number[] = []
  const directory = view.getUint32(zip.length - 6, true)
  for (let at = directory; view.getUint32(at, true) === 0x02014b50; ) {
    places.push(view.getUint32(at + 42, true))
    at += 46 + view.getUint16(at + 28, true) + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  }
  return [...places, directory]
}
