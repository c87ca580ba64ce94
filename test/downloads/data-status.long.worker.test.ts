import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as adapters from '../../src/authority/adapters.ts'
import type { MonthlySummary } from '../../src/cfdi/summary/contract.ts'
import { delivering, packed, readyStep } from '../authority/support/packages.ts'
import { created } from '../connections/extractors/support/extractors.ts'
import { restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import { zipOf } from '../support/zip.ts'
import { breakingAt, callOf, cfdiOf, later, ledgerOf, losingMessages, sqlOf, subscriber, work } from './support/downloads.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

type Subscriber = Awaited<ReturnType<typeof subscriber>>
const DAY = 86_400

const summary = async (one: Subscriber, query = ''): Promise<MonthlySummary> => {
  const { status, body } = await one.ask('GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${one.fiscal_entity_id}${query}`)
  expect(status).toBe(200)
  return body
}

/** The months of a direction with their status, as `04 complete`, and the count of those that are not complete. */
const statusesOf = async (one: Subscriber, direction = 'issued', query = '') => {
  const { from, to, data, data_quality } = await summary(one, `&direction=${direction}${query}`)
  const count = (of: string) => data.filter(({ data_status }) => data_status === of).length
  // A month without a row is outside the window.
  const hidden = 12 * (Number(to.slice(0, 4)) - Number(from.slice(0, 4))) + Number(to.slice(5)) - Number(from.slice(5)) + 1 - data.length
  expect([data_quality.months_missing, data_quality.months_downloading]).toEqual([count('missing') + hidden, count('downloading')])
  return data.map(({ month, data_status }) => `${month.slice(2)} ${data_status}`)
}

const report = async (one: Subscriber, months: number) => {
  const { body } = await one.ask('GET', `/v1/cfdi/repse-suppliers?fiscal_entity_id=${one.fiscal_entity_id}&months=${months}`)
  const { months_missing, months_downloading } = body.data_quality
  return [months_missing, months_downloading]
}

/** What is kept of the RFC: one row for each source, with the ends of the downloads of each month. */
const kept = async (rfc: string): Promise<Record<string, Record<string, string[]>>> => {
  const { results } = await (await ledgerOf(rfc))
    .prepare('select source, months from coverage where entity = ?')
    .bind((await callOf(rfc)).entity)
    .all<{ source: string; months: string }>()
  const ends = (months: string) =>
    Object.entries(JSON.parse(months) as Record<string, [number, string][]>).map(([month, all]) => [month, all.map(([, end]) => end)])
  return Object.fromEntries(results.map(({ source, months }) => [source, Object.fromEntries(ends(months))]))
}

/** The attempts of open jobs are used up but for one, which comes at once. */
const lastAttempt = async (rfc: string) => {
  const [ledger, { entity }] = [await ledgerOf(rfc), await callOf(rfc)]
  await ledger.batch([
    ledger.prepare('update sync_jobs set attempts = 11, not_before = 0 where entity = ? and open = 1').bind(entity),
    ledger.prepare('update sync_work set due_at = 0 where entity = ?').bind(entity),
  ])
}

const ISSUED = { data_source_keys: ['sat_cfdi_issued'] }

describe('the status of a month', () => {
  it('is downloading until its job has ended, and then complete, of each direction; the current one up to the last run', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(2))
    await one.run()
    const months = (status: string) => ['26-03', '26-04', '26-05'].map((month) => `${month} ${status}`)
    for (const direction of ['issued', 'received']) expect(await statusesOf(one, direction)).toEqual(months('downloading'))
    expect(await report(one, 3)).toEqual([0, 3])
    await work(rfc)
    for (const direction of ['issued', 'received']) expect(await statusesOf(one, direction)).toEqual(months('complete'))
    expect((await summary(one, '&from=2026-03')).data_quality).toMatchObject({ months_missing: 0, months_downloading: 0 })
    // Nine months of each direction are before the window.
    expect((await summary(one)).data_quality).toMatchObject({ months_missing: 18, months_downloading: 0 })
    // The report is over months before the window, too. None of its runs asked for them.
    expect([await report(one, 3), await report(one, 5)]).toEqual([
      [0, 0],
      [2, 0],
    ])
    expect(await kept(rfc)).toEqual({
      sat_cfdi_issued: { '2026-03': ['over'], '2026-04': ['over'], '2026-05': ['so_far'] },
      sat_cfdi_received: { '2026-03': ['over'], '2026-04': ['over'], '2026-05': ['so_far'] },
    })
  })

  it('is missing when all its downloads failed, however many months there are, and complete when it has no documents', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, { ...ISSUED, scope: 'full_history', scope_months: null }), 'unavailable1')
    await one.run()
    const all = '&from=2018-01&to=2026-05'
    expect(new Set(await statusesOf(one, 'issued', all)).size).toBe(101)
    for (let n = 0; n < 11; n++) {
      await lastAttempt(rfc)
      await work(rfc)
    }
    expect(await one.sync()).toMatchObject({ status: 'idle', jobs: { failed: 102 } })
    const failed = await summary(one, `${all}&direction=issued`)
    expect(failed.data_quality).toMatchObject({ cfdi_total: 0, months_missing: 101, months_downloading: 0 })
    expect(failed.data.every(({ total, data_status }) => total === '0.00' && data_status === 'missing')).toBe(true)
    // The same RFC for a taxpayer who issued nothing.
    await one.give('empty1')
    const { extractor_id } = await created(one, { ...cfdiOf(2, ISSUED), trigger_kind: 'connection_reactivated' })
    later(700)
    await one.run(extractor_id)
    await work(rfc)
    const zeros = await summary(one, '&from=2026-02&to=2026-05&direction=issued')
    expect(zeros.data.map(({ total, data_status }) => [total, data_status])).toEqual([
      ['0.00', 'missing'],
      ['0.00', 'complete'],
      ['0.00', 'complete'],
      ['0.00', 'complete'],
    ])
    expect(zeros.data_quality).toMatchObject({ cfdi_total: 0, months_missing: 1 })
  })

  it('stays complete while a month that is over is fetched again; the current one, and what was not fetched since its end, is downloading', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED))
    await one.run()
    await work(rfc)
    later(DAY)
    await one.run()
    expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 downloading'])
    await work(rfc)
    // The third of June: the last days of May are still to be downloaded. The fourth: so is what was stamped since.
    for (const day of [14, 15]) {
      later(day * DAY)
      await one.run()
      expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 downloading', '26-06 downloading'])
      await work(rfc)
      expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 complete', '26-06 complete'])
    }
    later(16 * DAY)
    await one.run()
    expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 complete', '26-06 downloading'])
  })

  it('of a month that was complete is missing when it fails before its end, and stays complete when it fails after it', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED))
    await one.run()
    await work(rfc)
    later(DAY)
    await one.run()
    await one.give('unavailable2')
    await lastAttempt(rfc)
    await work(rfc)
    expect(await one.sync()).toMatchObject({ jobs: { failed: 3 } })
    expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 missing'])
    later(2 * DAY)
    await one.run()
    expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 downloading'])
    await one.give('secreta3')
    later(2 * DAY + 3_600)
    await work(rfc)
    expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 complete'])
  })

  it('is not complete after a download with a file that could not be read, and is after the next one without', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED))
    const real = adapters.authorityOf
    const broken = zipOf([{ name: `${crypto.randomUUID()}.xml`, bytes: new TextEncoder().encode('<broken') }])
    const spy = vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => ({
      ...(await real(system)),
      async step(request) {
        const usual = async function* () {
          yield* (await readyStep(await real(system), request)).packages
          if (request.month === '2026-04') yield packed('xml', broken)
        }
        return delivering(request, usual())
      },
    }))
    await one.run()
    await work(rfc)
    expect((await one.jobs('&status=succeeded')).map(({ period, rejected_count }) => [period, rejected_count])).toContainEqual([
      '2026-04',
      1,
    ])
    // Part of it is held. The next run of the month asks for it again.
    expect(await statusesOf(one)).toEqual(['26-04 downloading', '26-05 complete'])
    const { state, partial_months, summary: said } = await one.sync()
    expect([state, partial_months]).toEqual(['idle', 1])
    expect(said).toContain('and 1 month is partial: not everything of them is held.')
    spy.mockRestore()
    later(700)
    await one.run()
    expect(await statusesOf(one)).toEqual(['26-04 downloading', '26-05 downloading'])
    await work(rfc)
    expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 complete'])
    expect(await one.sync()).toMatchObject({ state: 'idle', partial_months: 0 })
  })

  it('is kept when the rows of the jobs are deleted, and is told to an organization without extractors as it is held', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED))
    await one.run()
    await work(rfc)
    await (await ledgerOf(rfc))
      .prepare('delete from sync_jobs where entity = ?')
      .bind((await callOf(rfc)).entity)
      .run()
    expect(await statusesOf(one)).toEqual(['26-04 complete', '26-05 complete'])
    await one.ask('DELETE', `/v1/extractors/${one.extractor_id}`)
    expect(await statusesOf(one, 'issued', '&from=2026-03')).toEqual(['26-03 missing', '26-04 complete', '26-05 complete'])
    expect(await statusesOf(one, 'received', '&from=2026-04')).toEqual(['26-04 missing', '26-05 missing'])
    later(20 * DAY)
    expect(await statusesOf(one, 'issued', '&from=2026-04')).toEqual(['26-04 complete', '26-05 missing', '26-06 missing'])
  })
})

describe('what is kept of an RFC', () => {
  const writes = (like: RegExp) => {
    const proto = Object.getPrototypeOf(env.LEDGER_0) as D1Database
    const { batch } = proto
    let count = 0
    vi.spyOn(proto, 'batch').mockImplementation(function (this: D1Database, statements: D1PreparedStatement[]) {
      count += statements.filter((one) => like.test(sqlOf(one))).length
      return batch.call(this, statements) as never
    })
    return () => count
  }

  it('is written when a month begins to be complete and when it is over, and not on the days between', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    const count = writes(/insert into coverage/)
    const counts: number[] = []
    for (const day of [0, 1, 2, 10, 11, 14, 15, 16]) {
      later(day * DAY)
      await one.run()
      await work(rfc)
      counts.push(count())
    }
    // April and May; June on the third of June, and on the fourth May, of which everything is stamped; two sources.
    expect(counts).toEqual([4, 4, 4, 4, 4, 6, 8, 8])
  })

  it('commits with the end of its job or not at all', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED))
    await one.run()
    const broken = breakingAt(/insert into coverage/)
    await work(rfc)
    expect(broken.happened()).toBe(true)
    expect(Object.keys((await kept(rfc))['sat_cfdi_issued'] ?? {})).toHaveLength(1)
    expect((await statusesOf(one)).map((text) => text.slice(6)).sort()).toEqual(['complete', 'downloading'])
    later(60)
    await work(rfc)
    expect(await kept(rfc)).toEqual({ sat_cfdi_issued: { '2026-04': ['over'], '2026-05': ['so_far'] } })
  })
})

/** What breaks without it: an organization learns from the status of a month what a stranger downloaded. */
describe('organizations that share an RFC', () => {
  it('are each told of the months that their own runs reached, when their own job has ended', async () => {
    const rfc = freshRfc()
    const [ana, beto] = [await subscriber(rfc, cfdiOf(4, ISSUED)), await subscriber(rfc, cfdiOf(1, ISSUED))]
    await ana.run()
    await work(rfc)
    expect(await statusesOf(ana)).toEqual(['26-01', '26-02', '26-03', '26-04', '26-05'].map((month) => `${month} complete`))
    later(700)
    await beto.run()
    expect(await statusesOf(beto)).toEqual(['26-04 downloading', '26-05 downloading'])
    // To Ana the month is complete, although Beto has it fetched again.
    expect((await statusesOf(ana)).slice(3)).toEqual(['26-04 complete', '26-05 complete'])
    await work(rfc)
    expect(await statusesOf(beto)).toEqual(['26-04 complete', '26-05 complete'])
    expect(await report(beto, 5)).toEqual([5, 0])
  })

  it('are told nothing of jobs that only the other asked for, nor of their failures', async () => {
    const rfc = freshRfc()
    const [ana, beto] = [await subscriber(rfc, cfdiOf(1, ISSUED)), await subscriber(rfc, cfdiOf(4, ISSUED))]
    await ana.run()
    await work(rfc)
    later(DAY)
    await beto.run()
    await ana.run()
    await beto.give('unavailable4')
    await ana.give('unavailable4')
    await lastAttempt(rfc)
    await work(rfc)
    later(2 * DAY)
    // The third run is of Beto alone. What Ana's last run asked for failed; what Beto's asks for now is not hers.
    await beto.run()
    expect(await statusesOf(ana)).toEqual(['26-04 complete', '26-05 missing'])
    expect(await statusesOf(beto)).toEqual(['26-01', '26-02', '26-03', '26-04', '26-05'].map((month) => `${month} downloading`))
  })

  it('do not see the failures of a later run of the other', async () => {
    const rfc = freshRfc()
    const [ana, beto] = [await subscriber(rfc, cfdiOf(1, ISSUED)), await subscriber(rfc, cfdiOf(1, ISSUED))]
    await ana.run()
    await beto.run()
    await work(rfc)
    later(DAY)
    await beto.run()
    await ana.give('unavailable5')
    await beto.give('unavailable5')
    await lastAttempt(rfc)
    await work(rfc)
    expect(await statusesOf(ana)).toEqual(['26-04 complete', '26-05 complete'])
    expect(await statusesOf(beto)).toEqual(['26-04 complete', '26-05 missing'])
  })
})
