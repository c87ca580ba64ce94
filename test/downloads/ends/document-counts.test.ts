import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemOf } from '../../../src/platform/context.ts'
import { relayOutbox } from '../../../src/webhooks/relay/relay.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'
import { pagesOf } from '../../webhooks/support/feed.ts'
import { callOf, cfdiOf, later, losingMessages, subscriber, sweep, work } from '../support/downloads.ts'

const DAY = 86_400
const SOURCES = ['sat_cfdi_issued', 'sat_csf', 'sat_opinion_32d', 'sat_declaracion_mensual', 'sat_declaracion_anual']

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Told = any
type Subscriber = Awaited<ReturnType<typeof subscriber>>

const relay = async (rfc: string) => relayOutbox(systemOf(env, new Date(), 'req_test'), (await callOf(rfc)).shard)
const ended = async (one: Subscriber): Promise<Told[]> =>
  (await pagesOf<Told>(one, '/v1/events?limit=100')).items.filter(({ event }) => event.startsWith('extraction.'))
const readable = async (one: Subscriber): Promise<number> => (await pagesOf<Told>(one, `${one.path}/documents?limit=100`)).items.length
const counted = async (one: Subscriber): Promise<number> => (await ended(one)).reduce((sum, { document_count }) => sum + document_count, 0)
const cfdis = async (one: Subscriber): Promise<number> =>
  (await pagesOf<Told>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${one.fiscal_entity_id}`)).items.length
const countedCfdis = async (one: Subscriber): Promise<number> =>
  (await ended(one)).reduce((sum, { readable_count }) => sum + readable_count, 0)
const open = (rfc: string, scope_months: number) => subscriber(rfc, cfdiOf(scope_months, { data_source_keys: SOURCES }))

describe('document_count', () => {
  it('has the documents that a lower floor newly shows, whichever run got them, and those of the run', async () => {
    const rfc = freshRfc()
    const one = await open(rfc, 2)
    await one.run()
    await work(rfc)
    await relay(rfc)
    const before = await readable(one)
    expect([before > 3, await counted(one)]).toEqual([true, before])
    later(1_000)
    const range = { data_source_keys: ['sat_cfdi_issued'], from: '2025-06-01', to: '2025-06-30' }
    const { run_id } = (await one.ask('POST', `${one.path}/extractions`, range)).body
    await work(rfc)
    await relay(rfc)
    const [told] = (await ended(one)).filter((event) => event.run_id === run_id)
    expect(await readable(one)).toBeGreaterThan(before + 5)
    expect(told.document_count).toBe((await readable(one)) - before)
    // A run that asks for the documents too.
    later(2_000)
    await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: 30 })
    await one.run()
    await work(rfc)
    await relay(rfc)
    expect(await counted(one)).toBe(await readable(one))
  })

  it.each(Array.from({ length: runs(3, 100) }, (_, n) => [13 * n + 3]))(
    'adds up to what is readable after pauses, wider runs and those of others: history %i',
    { timeout: 60_000 },
    async (seed) => {
      const random = randomOf(seed)
      const draw = (n: number): number => Math.floor(random() * n)
      const rfc = freshRfc()
      const all = [await open(rfc, 1 + draw(3)), await open(rfc, 1 + draw(12))]
      const months = new Map(all.map((one) => [one, 3]))
      const [paused, steps] = [new Set<Subscriber>(), [] as string[]]
      let seconds = 0
      const set = async (one: Subscriber, active: boolean) => {
        expect((await one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active })).status).toBe(200)
        if (active) paused.delete(one)
        else paused.add(one)
      }
      const actions: Record<string, (one: Subscriber) => Promise<unknown>> = {
        run: (one) => one.run(),
        work: () => work(rfc),
        relay: () => relay(rfc),
        pause: (one) => set(one, paused.has(one)),
        sweep: () => sweep(),
        range: (one) =>
          one.ask('POST', `${one.path}/extractions`, {
            data_source_keys: random() < 0.5 ? ['sat_cfdi_issued'] : ['sat_cfdi_issued', 'sat_declaracion_mensual'],
            from: `${2024 + draw(2)}-0${1 + draw(9)}-01`,
            ...(random() < 0.5 && { to: '2025-12-31' }),
          }),
        widen: async (one) => {
          months.set(one, months.get(one)! + draw(12))
          await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: months.get(one)! })
        },
      }
      const often = ['run', 'run', 'work', 'work', 'relay', 'pause', 'range', 'widen', 'sweep']
      const step = async (name: string, one: Subscriber) => {
        steps.push(`${name} ${all.indexOf(one)}`)
        await actions[name]!(one)
      }
      for (let n = 0; n < 25; n++) {
        seconds += [60, 700, DAY, 20 * DAY][draw(4)]!
        later(seconds)
        await step(often[draw(often.length)]!, all[draw(2)]!)
      }
      for (const one of all) if (paused.has(one)) await set(one, true)
      later(seconds + 1_000)
      for (let n = 0; n < 3; n++) for (const name of ['sweep', 'work', 'relay']) await step(name, all[0]!)
      for (const one of all) expect([steps.join(', '), await counted(one)]).toEqual([steps.join(', '), await readable(one)])
      for (const one of all) expect([steps.join(', '), (await countedCfdis(one)) <= (await cfdis(one))]).toEqual([steps.join(', '), true])
      // What others brought since then to months that the window shows counts as soon as a run asks for them.
      later(seconds + 2_000)
      for (const one of all) {
        const range = { data_source_keys: ['sat_cfdi_issued'], from: '2021-01-01' }
        expect((await one.ask('POST', `${one.path}/extractions`, range)).status).toBe(202)
      }
      for (const name of ['work', 'relay']) await step(name, all[0]!)
      for (const one of all) expect([steps.join(', '), await countedCfdis(one)]).toEqual([steps.join(', '), await cfdis(one)])
    },
  )
})
