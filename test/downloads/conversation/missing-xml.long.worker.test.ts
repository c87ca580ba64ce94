import { afterEach, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../../tools/stand-in/requests.ts'
import type { FalseAnswer, Step } from '../../../tools/stand-in/script.ts'
import type { TruthDocument } from '../../../tools/stand-in/truth/truth.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

const DAY = 86_400_000
const REQUESTS = ['SolicitaDescargaEmitidos', 'SolicitaDescargaRecibidos'] as const

/** A taxpayer with three months of issued documents, whose packages the authority delivers as it is told. */
async function taxpayer(behaviour: (world: () => SatWorld) => Partial<Behaviour>, steps: readonly Step[] = []) {
  const world: SatWorld = new SatWorld(freshRfc(), { months: 3, from: '2026-02' }, {}, steps)
  Object.assign(
    world.authority.behaviour,
    behaviour(() => world),
  )
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(cfdiOf(4, { data_source_keys: ['sat_cfdi_issued'] }))
  return {
    world,
    one,
    async run() {
      await one.run()
      await world.call()
      await world.work(DAY / 4)
    },
    missing: async () => (await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued')),
    async months(): Promise<{ month: string; status: string; last_code: string | null; last_success_at: string | null }[]> {
      const { body } = await one.ask('GET', `/v1/fiscal-entities/${one.fiscal_entity_id}/coverage?source=sat_cfdi_issued`)
      return body.data.filter(({ month }: { month: string }) => month >= '2026-02' && month <= '2026-04').reverse()
    },
  }
}

const issued = (world: SatWorld, month: string) =>
  world.truth.documents.filter(({ emisor, fecha, type }) => emisor.rfc === world.rfc && fecha.startsWith(month) && type === 'I')

it('metadata that lists less than was announced is asked for by halves, however often requests failed before', async () => {
  let left = 1
  const failing: Step = { operation: REQUESTS, kind: 'Metadata', times: 12, answer: { code: '5006' } }
  const { world, run, missing, months } = await taxpayer(
    (of) => ({ unlisted: { has: (uuid) => uuid === issued(of(), '2026-03')[0]!.uuid && left-- > 0 } }),
    [failing],
  )
  await run()
  expect(left).toBeLessThan(1)
  expect(await missing()).toEqual([])
  expect((await months()).map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
  expect(world.authority.log.violations).toEqual([])
})

it.each([
  ['lists less than was announced', 'unlisted'],
  ['has a row that nobody can read or date', 'garbled'],
] as const)('metadata that %s leaves no month of its period complete, and says why, until it is whole', async (_, how) => {
  const document = new Set<string>()
  const { world, run, missing, months } = await taxpayer(() => ({
    [how]: document,
    withheld: document,
    packageSize: 5,
    quirks: ['duplicated'],
  }))
  const { uuid } = issued(world, '2026-02')[0]!
  document.add(uuid)
  await run()
  expect(await missing()).toEqual([`sat_cfdi_issued 2026-02 ${uuid} is missing.`])
  const [february, , april] = await months()
  expect(february).toMatchObject({ status: 'partial', last_success_at: null })
  expect(february!.last_code).toMatch(/^short: The metadata lists fewer documents/)
  // Far from what is missing the halves are whole.
  expect(april).toMatchObject({ status: 'complete' })
  const before = (await world.requests()).length
  document.clear()
  world.pass(DAY)
  await run()
  expect((await world.requests()).length).toBeGreaterThan(before)
  expect(await missing()).toEqual([])
  expect((await months()).map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
  expect(world.authority.log.violations).toEqual([])
})

it('rows of another time than was asked for are listed as rejected, and leave the months of their request partial', async () => {
  const misdated = new Map<string, string>()
  const { world, one, run, missing, months } = await taxpayer(() => ({ misdated }))
  const [early, late] = issued(world, '2026-02').map(({ uuid }) => uuid) as [string, string]
  misdated.set(early, '2017-03-01T10:00:00').set(late, '2030-01-05T10:00:00')
  world.authority.behaviour.withheld = new Set(misdated.keys())
  await run()
  expect((await missing()).sort()).toEqual([early, late].map((uuid) => `sat_cfdi_issued 2026-02 ${uuid} is missing.`).sort())
  const [february, , april] = await months()
  expect(february).toMatchObject({ status: 'partial', last_success_at: null })
  expect(february!.last_code).toMatch(/^short: /)
  expect(april).toMatchObject({ status: 'complete' })
  const rejected = (await one.jobs()).flatMap(({ rejected_files }) => rejected_files)
  expect(rejected.map(({ code }) => code)).toEqual(rejected.map(() => 'metadata.outside_period'))
  expect(rejected.length).toBe(2)
  expect(world.authority.log.violations).toEqual([])
})

it('documents that the authority announced of a period, and no more of its halves, leave all of its months partial', async () => {
  const lost: TruthDocument[] = []
  const { world, run, missing, months } = await taxpayer((of) => ({
    unlisted: {
      // It counts them once.
      has(uuid) {
        const isLost = lost.length < 2 && issued(of(), '2026-03').some((one) => one.uuid === uuid)
        if (isLost) {
          lost.push(of().truth.get(uuid))
          of().truth.forget(uuid)
        }
        return isLost
      },
    },
  }))
  await run()
  expect(await missing()).toEqual([])
  for (const { status, last_code } of await months()) {
    expect(status).toBe('partial')
    expect(last_code).toMatch(/^short: /)
  }
  for (const document of lost) world.truth.add(document)
  world.pass(DAY)
  await run()
  expect(await missing()).toEqual([])
  expect((await months()).map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
  expect(world.authority.log.violations).toEqual([])
})

it('XML for which the authority has nothing keeps its month from being complete, and is asked for by the next run', async () => {
  const nothing: Step = {
    operation: 'VerificaSolicitudDescarga',
    family: 'cfdi',
    after: 1,
    times: 2,
    answer: { code: '5000', state: '5', stateCode: '5004' },
  }
  const { world, run, missing, months } = await taxpayer(() => ({}), [nothing])
  await run()
  expect((await missing()).length).toBeGreaterThan(0)
  for (const month of await months())
    expect(month).toMatchObject({
      status: 'partial',
      last_success_at: null,
      last_code: '5004: The tax authority has no documents for the request.',
    })
  world.pass(DAY)
  await run()
  expect(await missing()).toEqual([])
  expect((await months()).map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
  expect(world.authority.log.violations).toEqual([])
})

/** What breaks without it: a bad hour of the authority makes the service say that a month is complete and has nothing new. */
describe.each<[what: string, answer: FalseAnswer]>([
  ['5004 to a check', { code: '5000', state: '5', stateCode: '5004' }],
  ['state 3 without packages', { code: '5000', state: '3', stateCode: '5000' }],
])('that there are no documents where some are held (%s)', (_, answer) => {
  const nothing = (times: number): Step => ({ operation: 'VerificaSolicitudDescarga', family: 'cfdi', times, answer })

  it('is asked again, and believed no sooner than it is true', async () => {
    const { world, run, missing, months } = await taxpayer(() => ({}))
    await run()
    const late = { ...issued(world, '2026-03')[0]!, uuid: crypto.randomUUID().toUpperCase() }
    world.truth.add({ ...late, xml: () => late.xml().replaceAll(issued(world, '2026-03')[0]!.uuid, late.uuid) })
    world.authority.script.steps.push(nothing(2))
    world.pass(DAY)
    await run()
    expect(await missing()).toEqual([])
    expect((await months()).map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
    expect(world.authority.log.violations).toEqual([])
  })

  it('leaves the months partial when the authority keeps saying it, until a later run', async () => {
    const { world, run, missing, months } = await taxpayer(() => ({}))
    await run()
    world.authority.script.steps.push(nothing(5))
    world.pass(DAY)
    await run()
    for (const { status, last_code } of await months()) {
      expect(status).toBe('partial')
      expect(last_code).toMatch(/^denied: The tax authority says that it has no documents/)
    }
    world.pass(DAY)
    await run()
    expect(await missing()).toEqual([])
    expect((await months()).map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
    expect(world.authority.log.violations).toEqual([])
  })
})
