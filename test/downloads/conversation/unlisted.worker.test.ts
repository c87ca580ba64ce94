import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Step } from '../../../tools/stand-in/script.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The authority leaves requests for metadata at Aceptada, for as long as the step is there. Those for XML are ready at once. */
const ACCEPTED: Step = {
  operation: 'VerificaSolicitudDescarga',
  kind: 'Metadata',
  times: 1_000_000,
  answer: { code: '5000', state: '1', stateCode: '5000', message: 'Solicitud Aceptada' },
}

interface Month {
  month: string
  source: string
  status: string
  last_code: string | null
  attempts: number
  waiting_since: string | null
  announced_count: number
  with_xml_count: number
}

/** A taxpayer with three months of documents, of which an organization asks for all. */
async function taxpayer(sources: readonly string[] = ['sat_cfdi_issued', 'sat_cfdi_received']) {
  const world = new SatWorld(freshRfc(), { months: 3, from: '2026-03' }, {}, [ACCEPTED])
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(cfdiOf(3, { data_source_keys: sources }))
  return {
    world,
    one,
    async run() {
      await one.run()
      await world.call()
      await world.work(DAY / 3)
    },
    /** The differences of what is not cancelled, because no XML says that it is. */
    missing: async () => (await world.differences()).filter((line) => sources.some((source) => line.startsWith(source))),
    async months(): Promise<Month[]> {
      const { body } = await one.ask('GET', `${one.path}/coverage`)
      return body.data.filter(({ month, source }: Month) => month >= '2026-03' && month <= '2026-05' && sources.includes(source))
    },
    xml: async () => (await world.requests()).filter(({ kind }) => kind === 'xml'),
  }
}

const only = (lines: readonly string[], what: RegExp) => lines.filter((line) => !what.test(line))

describe('metadata that the authority leaves at Aceptada', () => {
  it('holds no document back: after three hours XML is asked for by period, and its months are partial and say why', async () => {
    const { world, one, run, missing, months, xml } = await taxpayer()
    const begun = world.now
    await one.run()
    await world.call()
    await world.work(2.9 * HOUR)
    expect(await xml()).toEqual([])
    await world.work(2 * HOUR)
    // For both sources and both families, all months together.
    expect((await xml()).map(({ state }) => state)).toEqual(['stored', 'stored', 'stored', 'stored'])
    // What no XML says: that a document is cancelled, and received documents that are.
    expect(only(await missing(), /has another state|is missing/)).toEqual([])
    const cancelled = world.truth.documents.filter((document) => document.cancelled !== null).map(({ uuid }) => uuid)
    for (const line of await missing()) expect(cancelled.some((uuid) => line.includes(uuid))).toBe(true)
    for (const month of await months()) {
      expect(month).toMatchObject({ status: 'partial', last_code: expect.stringMatching(/^1: The tax authority has accepted the request/) })
      expect(month.with_xml_count).toBeGreaterThan(0)
      expect(month.attempts).toBeGreaterThanOrEqual(9)
      expect(Date.parse(month.waiting_since!) - begun).toBeLessThan(60_000)
    }
    const { body } = await one.ask('GET', `/v1/cfdi?fiscal_entity_id=${one.fiscal_entity_id}&limit=1`)
    expect(body.data).toHaveLength(1)
    expect((await one.sync()).state).toBe('idle')
    expect(world.authority.log.violations).toEqual([])
    void run
  })

  it('lets the next days bring what is new, without asking for a period twice or for what is held again', async () => {
    const { world, run, missing, months, xml } = await taxpayer(['sat_cfdi_issued'])
    await run()
    const first = (await xml()).length
    world.pass(DAY)
    await run()
    const second = (await xml()).slice(first)
    expect(second.length).toBeGreaterThan(0)
    // Only what may have been stamped since.
    for (const { first: from } of second) expect(Date.parse(`${from}Z`)).toBeGreaterThan(Date.parse('2026-05-12T00:00:00Z'))
    expect(only(await missing(), /has another state/)).toEqual([])
    for (const month of await months()) expect(month).toMatchObject({ status: 'partial', last_code: expect.stringMatching(/^1: /) })
    expect(world.authority.log.violations).toEqual([])
  })

  it('is compared when it comes, also that of an earlier day, and its months are complete', async () => {
    const { world, run, missing, months } = await taxpayer(['sat_cfdi_issued'])
    await run()
    expect(await missing()).not.toEqual([])
    world.authority.script.steps.splice(0)
    world.pass(DAY)
    await run()
    expect(await missing()).toEqual([])
    expect((await months()).map(({ status, waiting_since }) => [status, waiting_since])).toEqual(Array(3).fill(['complete', null]))
    expect(world.authority.log.violations).toEqual([])
    // Nothing is left to ask.
    expect((await world.requests()).filter(({ state }) => state === 'waiting')).toEqual([])
    expect(await world.conversation()).toMatchObject({ due_at: null })
  })

  it('is taken when that of the first day is done, while that of each new day takes days', async () => {
    const { world, run, missing } = await taxpayer(['sat_cfdi_issued'])
    await run()
    world.authority.script.steps.splice(0)
    // Requests of the second day stay behind; those of the first day are done.
    const old = new Set(world.authority.requests.all.map(({ id }) => id))
    const answerTo = world.authority.script.answerTo.bind(world.authority.script)
    vi.spyOn(world.authority.script, 'answerTo').mockImplementation((asked) => answerTo(asked))
    const find = world.authority.requests.find
    vi.spyOn(world.authority.requests, 'find').mockImplementation((family, rfc, id) => {
      const found = find.call(world.authority.requests, family, rfc, id)
      if (found?.kind === 'Metadata' && !old.has(found.id)) found.checked = -1
      return found
    })
    world.pass(DAY)
    await run()
    expect(await missing()).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })

  it('is asked for anew by the run after seven days', async () => {
    const { world, run, missing, months } = await taxpayer(['sat_cfdi_issued'])
    for (let day = 0; day < 8; day++) {
      await run()
      for (const month of await months()) expect(month.status).toBe('partial')
      world.pass(DAY - DAY / 3)
    }
    world.authority.script.steps.splice(0)
    await run()
    expect(await missing()).toEqual([])
    expect((await months()).map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
    expect(world.authority.log.violations).toEqual([])
  })
})
