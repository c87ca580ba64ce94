import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { created } from '../../connections/extractors/support/extractors.ts'
import { restore } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, later, losingMessages, sqlOf, subscriber } from '../support/downloads.ts'
import { countedIn, type Notified, playHistory, readableCfdis } from '../support/ends.ts'

const KEYS = [['sat_cfdi_issued'], ['sat_cfdi_received'], ['sat_cfdi_issued', 'sat_cfdi_received']]

/** Whether the next run is to lose its process before it asks for anything. */
let isCrashing: boolean

beforeEach(() => {
  later(0)
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  isCrashing = false
  const database = Object.getPrototypeOf(env.LEDGER_0) as D1Database
  const { batch } = database
  vi.spyOn(database, 'batch').mockImplementation(function (this: D1Database, statements: D1PreparedStatement[]) {
    if (!isCrashing || !statements.some((one) => /insert into sync_jobs/.test(sqlOf(one)))) return batch.call(this, statements) as never
    isCrashing = false
    return Promise.reject(new Error('The isolate was evicted here.'))
  })
})
afterEach(restore)

/** A subscriber with a second extractor, and its runs so far. */
async function member(rfc: string, months: number, keys: readonly string[]) {
  const one = await subscriber(rfc, cfdiOf(months, { data_source_keys: keys }))
  const second = await created(one, cfdiOf(months + 2, { name: 'Otro', data_source_keys: KEYS[1], trigger_kind: 'connection_reactivated' }))
  const asked: string[] = []
  const noted = (run: Notified): void => void (run.run_id && asked.push(run.run_id))
  return {
    ...one,
    second: second.extractor_id,
    asked,
    start: async (id: string) => noted(await one.run(id)),
    range: async (body: object) => noted((await one.ask('POST', `${one.path}/extractions`, body)).body),
    readable: () => readableCfdis(one),
    counted: () => countedIn(one, 'readable_count'),
  }
}
type Member = Awaited<ReturnType<typeof member>>

describe('readable_count', () => {
  it.each(Array.from({ length: runs(1, 30) }, (_, n) => [51 * n + 73]))(
    'counts no CFDI twice, and each one after a run that asks for all months: history %i',
    { timeout: 600_000 },
    async (seed) => {
      const random = randomOf(seed)
      const draw = (n: number): number => Math.floor(random() * n)
      const rfc = freshRfc()
      const all = [await member(rfc, 1 + draw(3), KEYS[draw(3)]!), await member(rfc, 1 + draw(12), KEYS[draw(3)]!)]
      const cancel = async (one: Member, run_id = one.asked[one.asked.length - 1 - draw(2)]) => {
        if (run_id !== undefined) await one.ask('POST', `/v1/runs/${run_id}/cancel`)
      }
      const actions: Record<string, (one: Member) => Promise<unknown>> = {
        run: (one) => one.start(one.extractor_id),
        other: (one) => one.start(one.second),
        /** Runs of one instant. */
        both: async (one) => {
          for (const id of draw(2) === 0 ? [one.extractor_id, one.second] : [one.second, one.extractor_id]) await one.start(id)
          if (draw(3) === 0) await cancel(one)
        },
        cancel: (one) => cancel(one),
        /** A sweep dispatches the run, which may be after later ones. */
        crash: async (one) => {
          isCrashing = true
          await one.run()
          isCrashing = false
        },
        range: (one) =>
          one.range({
            data_source_keys: KEYS[draw(3)],
            from: `${2024 + draw(2)}-0${1 + draw(9)}-${10 + draw(18)}`,
            ...(random() < 0.5 && { to: '2025-12-31' }),
          }),
        recent: (one) => one.range({ data_source_keys: KEYS[draw(3)], from: `2026-0${1 + draw(5)}-${10 + draw(10)}` }),
        widen: (one) => one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: 3 + draw(18) }),
      }
      const often = [
        ...['run', 'other', 'both', 'cancel', 'crash', 'crash', 'work', 'work', 'relay', 'pause'],
        ...['range', 'recent', 'widen', 'sweep'],
      ]
      const { steps, seconds, step } = await playHistory(draw, rfc, all, actions, often)
      for (const one of all) expect([steps, (await one.counted()) <= (await one.readable())]).toEqual([steps, true])
      later(seconds + 2_000)
      for (const one of all) {
        const before = one.asked.length
        await one.range({ data_source_keys: KEYS[2], from: '2021-01-01' })
        expect(one.asked.length).toBe(before + 1)
      }
      for (const name of ['work', 'relay']) await step(name)
      for (const one of all) expect(await one.readable()).toBeGreaterThan(100)
      for (const one of all) expect([steps, await one.counted()]).toEqual([steps, await one.readable()])
    },
  )
})
