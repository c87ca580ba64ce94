import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Base64Decoder, Unanswered } from '../../../src/authority/sat/answers.ts'
import { LeasedConversation } from '../../../src/authority/sat/conversation/ports.ts'
import * as wire from '../../../src/authority/sat/exchange.ts'
import type { FalseAnswer, Step } from '../../../tools/stand-in/script.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { callOf, cfdiOf, jobsOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

const ISSUED_ONLY = { data_source_keys: ['sat_cfdi_issued'] }

/** A taxpayer with documents of April, for which an organization asks; nothing has been done yet. */
async function asked(steps: readonly Step[]) {
  const world = new SatWorld(freshRfc(), { months: 1, from: '2026-04' }, {}, steps)
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(cfdiOf(2, ISSUED_ONLY))
  await one.run()
  await world.call()
  return { world, one }
}

const missingIn = async (world: SatWorld) => (await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))
const statusesOf = async (world: SatWorld) => [...new Set((await jobsOf(world.rfc)).map(({ status }) => status))]
/** Those that were not refused with a token of another test file, which had this RFC in this isolate before. */
const requestsFor = async (world: SatWorld): Promise<number> => (await world.requests()).filter(({ code }) => code !== '300').length

/** What breaks without it: the authority delivers a package twice, and a third request for it is refused, where a new one would bring it. */
it.each<[what: string, answer: FalseAnswer]>([
  ['as if that were all', { truncated: 'answer', isDone: true }],
  ['with its connection', { truncated: 'connection', isDone: true }],
  ['without a byte', { closed: true, isDone: true }],
])('a package that breaks off twice (%s) is not asked for a third time', async (_, answer) => {
  const broken: Step = { operation: 'Descargar', times: 2, answer }
  const { world } = await asked([broken])
  await world.work()
  expect(await statusesOf(world)).toEqual(['succeeded'])
  expect(await missingIn(world)).toEqual([])
  expect(world.authority.log.violations).toEqual([])
  const packages = world.authority.log.of('Descargar').map(({ parameters }) => parameters['IdPaquete'])
  const times = packages.map((id) => packages.filter((one) => one === id).length)
  expect(Math.max(...times)).toBe(2)
})

it('a package that does not come because of a page, a fault or a login is asked for again, and no request is made for it', async () => {
  const steps: Step[] = [
    { operation: 'Descargar', times: 2, answer: { page: true } },
    { operation: 'Descargar', after: 2, times: 2, answer: { fault: 'InternalServiceFault' } },
    { operation: 'Descargar', after: 4, answer: { code: '300' } },
    { operation: 'Autentica', after: 3, times: 3, answer: { closed: true } },
  ]
  const { world } = await asked(steps)
  await world.work()
  expect(await missingIn(world)).toEqual([])
  // Metadata and XML, of both families.
  expect(await requestsFor(world)).toBe(4)
})

/** What breaks without it: a package that drips keeps a consumer busy for ten minutes. */
it('a package that drips is out of time, and is asked for again', async () => {
  const real = wire.exchange
  let packages = 0
  vi.spyOn(wire, 'exchange').mockImplementation((send, request, milliseconds, read) => {
    const isDripping = request.url.endsWith('/DescargaMasivaService.svc') && ++packages === 3
    return real(send, request, milliseconds, read, isDripping ? { waited: 300, bytesPerSecond: 1_000_000 } : undefined)
  })
  const { world, one } = await asked([{ operation: 'Descargar', after: 2, answer: { dripMs: 20, isDone: true } }])
  const paused = vi.spyOn(LeasedConversation.prototype, 'pause')
  await world.work()
  expect(paused).toHaveBeenCalledTimes(1)
  expect(await statusesOf(world)).toEqual(['succeeded'])
  expect(await missingIn(world)).toEqual([])
  expect(await requestsFor(world)).toBe(4)
  expect(world.authority.log.of('Descargar').length).toBe(5)
  for (const job of await one.jobs()) expect(job).toMatchObject({ rejected_count: 0 })
})

/** What breaks without it: an answer without an end is taken again and again for a week, and its month never comes. */
describe('a package that is larger than it may be', () => {
  const endless = () => new Unanswered('too_large', 'The tax authority sent a package that is too large.')

  it('is asked for by halves, whose packages are smaller', async () => {
    vi.spyOn(Base64Decoder.prototype, 'decode').mockImplementationOnce(() => {
      throw endless()
    })
    const { world } = await asked([])
    await world.work()
    expect(await missingIn(world)).toEqual([])
    expect((await world.requests()).filter(({ code }) => code === 'too_large')).toMatchObject([{ state: 'replaced' }])
    expect(world.authority.log.violations).toEqual([])
  })

  it('fails the job when it is so again and again, says why, and is asked for anew by the next run', async () => {
    const always = vi.spyOn(Base64Decoder.prototype, 'decode').mockImplementation(() => {
      throw endless()
    })
    const { world, one } = await asked([])
    await world.work()
    for (const job of await one.jobs()) expect(job).toMatchObject({ status: 'failed', error_class: 'sat_unavailable' })
    const coverage = `${one.path}/coverage?source=sat_cfdi_issued&from=2026-04&to=2026-04`
    expect((await one.ask('GET', coverage)).body.data[0].last_code).toMatch(
      /^too_large: The tax authority sent a package that is too large\./,
    )
    expect(world.asked()['Descargar']).toBeLessThanOrEqual(2 * 15)
    // Nothing of it is left.
    expect((await env.FILES.list({ prefix: `authority/${(await callOf(world.rfc)).entity}/` })).objects).toEqual([])
    always.mockRestore()
    await one.run()
    await world.call()
    await world.work()
    expect(await missingIn(world)).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })
})
