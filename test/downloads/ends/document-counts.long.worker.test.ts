import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pagesOf } from '../../delivery/support/feed.ts'
import { restore } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, later, losingMessages, subscriber, work } from '../support/downloads.ts'
import { countedIn, extractionEvents, type Notified, playHistory, readableCfdis, relay, type Subscriber } from '../support/ends.ts'

const SOURCES = ['sat_cfdi_issued', 'sat_csf', 'sat_opinion_32d', 'sat_declaracion_mensual', 'sat_declaracion_anual']

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

const readable = async (one: Subscriber): Promise<number> => (await pagesOf<Notified>(one, `${one.path}/documents?limit=100`)).items.length
const counted = (one: Subscriber): Promise<number> => countedIn(one, 'document_count')
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
    const [notified] = (await extractionEvents(one)).filter((event) => event.run_id === run_id)
    expect(await readable(one)).toBeGreaterThan(before + 5)
    expect(notified.document_count).toBe((await readable(one)) - before)
    // A run that asks for the documents too.
    later(2_000)
    await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: 30 })
    await one.run()
    await work(rfc)
    await relay(rfc)
    expect(await counted(one)).toBe(await readable(one))
  })

  it.each(Array.from({ length: runs(1, 30) }, (_, n) => [13 * n + 3]))(
    'adds up to what is readable after pauses, wider runs and those of others: history %i',
    { timeout: 600_000 },
    async (seed) => {
      const random = randomOf(seed)
      const draw = (n: number): number => Math.floor(random() * n)
      const rfc = freshRfc()
      const all = [await open(rfc, 1 + draw(3)), await open(rfc, 1 + draw(12))]
      const months = new Map(all.map((one) => [one, 3]))
      const actions = {
        range: (one: Subscriber) =>
          one.ask('POST', `${one.path}/extractions`, {
            data_source_keys: random() < 0.5 ? ['sat_cfdi_issued'] : ['sat_cfdi_issued', 'sat_declaracion_mensual'],
            from: `${2024 + draw(2)}-0${1 + draw(9)}-01`,
            ...(random() < 0.5 && { to: '2025-12-31' }),
          }),
        widen: async (one: Subscriber) => {
          months.set(one, months.get(one)! + draw(12))
          await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: months.get(one)! })
        },
      }
      const often = ['run', 'run', 'work', 'work', 'relay', 'pause', 'range', 'widen', 'sweep']
      const { steps, seconds, step } = await playHistory(draw, rfc, all, actions, often)
      for (const one of all) expect([steps, await counted(one)]).toEqual([steps, await readable(one)])
      for (const one of all) expect([steps, (await countedIn(one, 'readable_count')) <= (await readableCfdis(one))]).toEqual([steps, true])
      // What others brought since then to months that the window shows counts as soon as a run asks for them.
      later(seconds + 2_000)
      for (const one of all) {
        const range = { data_source_keys: ['sat_cfdi_issued'], from: '2021-01-01' }
        expect((await one.ask('POST', `${one.path}/extractions`, range)).status).toBe(202)
      }
      for (const name of ['work', 'relay']) await step(name)
      for (const one of all) expect([steps, await countedIn(one, 'readable_count')]).toEqual([steps, await readableCfdis(one)])
    },
  )
})
