import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as adapters from '../../../src/authority/adapters.ts'
import { AuthorityFailed } from '../../../src/authority/port/authority.ts'
import type { CoverageMonth, MissingXmlDocument } from '../../../src/downloads/completeness/contract.ts'
import { delivering, packed } from '../../authority/support/packages.ts'
import { metadataOf } from '../../cfdi/imports/support/imports.ts'
import { type Plain, plainOf, xmlOf } from '../../cfdi/support/documents.ts'
import { restore } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { callOf, cfdiOf, later, ledgerOf, losingMessages, NOW, subscriber, work } from '../support/downloads.ts'

beforeEach(() => {
  later(0)
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(restore)

type Subscriber = Awaited<ReturnType<typeof subscriber>>
const ISSUED = { data_source_keys: ['sat_cfdi_issued'] }
const DAY = 86_400
const instant = (seconds: number): string => new Date(Date.parse(NOW) + seconds * 1_000).toISOString()

const coverageOf = async (one: Subscriber, query = ''): Promise<CoverageMonth[]> => {
  const { status, body } = await one.ask('GET', `${one.path}/coverage?limit=100${query}`)
  expect(status).toBe(200)
  return body.data
}
const missingXmlOf = async (one: Subscriber, source: string, month: string): Promise<MissingXmlDocument[]> => {
  const { status, body } = await one.ask('GET', `${one.path}/coverage/${source}/${month}?limit=100`)
  expect(status).toBe(200)
  return body.data
}
const statusesOf = async (one: Subscriber, query = '') =>
  (await coverageOf(one, query)).map(({ month, source, status }) => `${month.slice(2)} ${source.slice(9)} ${status}`)
const summaryOf = async (one: Subscriber): Promise<string[]> => {
  const { body } = await one.ask('GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${one.fiscal_entity_id}`)
  return (body.data as { month: string; direction: string; data_status: string }[])
    .map(({ month, direction, data_status }) => `${month.slice(2)} ${direction} ${data_status}`)
    .sort()
    .reverse()
}

const random = randomOf(43)
const utf8 = new TextEncoder()
const invoiceOf = (rfc: string, day: string): Plain => ({
  ...plainOf(random, '2026-05', { emisor: rfc, lines: 1 }),
  ...{ fecha: `2026-05-${day}T10:00:00`, lugar: '06600' },
})
const fileOf = (document: Plain, text = xmlOf(document)) => ({ name: `${document.uuid}.xml`, bytes: utf8.encode(text) })

/** From here on this is what the authority has of May, and it may fail in the end. Of other months it has nothing. */
function authorityHas(announced: readonly Plain[], xml: { name: string; bytes: Uint8Array }[], fails = false): void {
  vi.mocked(adapters.authorityOf).mockRestore?.()
  const real = adapters.authorityOf
  const list = metadataOf(announced.map((document) => ({ document, isCancelled: false })))
  async function* packages(month: string) {
    if (month !== '2026-05') return
    yield packed('metadata', zipOf([{ name: 'lista.txt', bytes: list }]))
    yield packed('xml', zipOf(xml))
    if (fails) throw new AuthorityFailed('sat_unavailable', 'The request has failed.')
  }
  vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => ({
    ...(await real(system)),
    step: async (request) => delivering(request, packages(request.month)),
  }))
}

/** The attempts of open jobs are used up but for one, which comes at once. */
const lastAttempt = async (rfc: string) => {
  const [ledger, { entity }] = [await ledgerOf(rfc), await callOf(rfc)]
  await ledger.batch([
    ledger.prepare('update sync_jobs set attempts = 11, not_before = 0 where entity = ? and open = 1').bind(entity),
    ledger.prepare('update sync_work set due_at = 0 where entity = ?').bind(entity),
  ])
  await work(rfc)
}

describe('coverage of downloads from the sandbox', () => {
  it('is requested, and then complete: everything is held, but for the XML of cancelled received documents', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    expect(await coverageOf(one)).toEqual([])
    await one.run()
    const months = (status: string) =>
      ['26-05', '26-04'].flatMap((month) => ['issued', 'received'].map((side) => `${month} ${side} ${status}`))
    expect(await statusesOf(one)).toEqual(months('requested'))
    later(5)
    await work(rfc)
    expect(await statusesOf(one)).toEqual(months('complete'))
    const page = await one.page()
    const all = await coverageOf(one)
    expect(all.reduce((sum, { announced_count }) => sum + announced_count, 0)).toBe(page.body.data.length)
    for (const month of all) {
      const { source, announced_count, held_count, metadata_only_count, with_xml_count } = month
      expect(held_count).toBe(announced_count)
      expect(with_xml_count + metadata_only_count).toBe(announced_count)
      expect(month).toMatchObject({ last_code: null, attempts: 1, next_check_at: null, last_success_at: instant(0), rejected_count: 0 })
      const missingXml = await missingXmlOf(one, source, month.month)
      expect(missingXml).toHaveLength(metadata_only_count)
      for (const { why, estatus } of missingXml)
        expect([source, why, estatus]).toEqual(['sat_cfdi_received', 'cancelled_received', 'cancelado'])
    }
    expect(all.some(({ metadata_only_count }) => metadata_only_count > 0)).toBe(true)
    expect(all.map(({ visible_from, visible_to }) => [visible_from, visible_to])).toEqual([
      ...Array(2).fill(['2026-05-01', instant(0)]),
      ...Array(2).fill(['2026-04-20', null]),
    ])
  })

  it('has filters and pages, and neither months outside the window nor ranges that end before they begin', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(3))
    await one.run()
    await work(rfc)
    const all = await coverageOf(one)
    expect(all).toHaveLength(8)
    const pages: CoverageMonth[] = []
    for (let cursor = ''; ; ) {
      const { body } = await one.ask('GET', `${one.path}/coverage?limit=3${cursor}`)
      pages.push(...body.data)
      if (!body.has_more) break
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
    }
    expect(pages).toEqual(all)
    expect(await statusesOf(one, '&source=sat_cfdi_received&from=2026-03&to=2026-04')).toEqual([
      '26-04 received complete',
      '26-03 received complete',
    ])
    expect(await coverageOf(one, '&from=2020-01&to=2026-01')).toEqual([])
    const wrong = await one.ask('GET', `${one.path}/coverage?from=2026-04&to=2026-03`)
    expect([wrong.status, wrong.body.code]).toEqual([422, 'coverage.range'])
    for (const month of ['2026-01', '2026-06']) {
      const { status, body } = await one.ask('GET', `${one.path}/coverage/sat_cfdi_issued/${month}`)
      expect([status, body.code]).toEqual([404, 'coverage_month.not_found'])
    }
    for (const path of ['sat_csf/2026-05', 'sat_cfdi_issued/2026-13'])
      expect((await one.ask('GET', `${one.path}/coverage/${path}`)).status).toBe(400)
  })

  it('says of a download that fails half-way what was announced and why nothing more came; summaries fold it', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED), 'interrupted1')
    await one.run()
    later(3)
    await work(rfc)
    const sentence = 'sat_unavailable: The tax authority was not available, or did not deliver what it was asked for.'
    const waiting = { status: 'requested', last_code: sentence, attempts: 1, next_check_at: instant(8), last_success_at: null }
    for (const month of await coverageOf(one)) expect(month).toMatchObject(waiting)
    for (let n = 0; n < 2; n++) await lastAttempt(rfc)
    const ended = { last_code: sentence, attempts: 12, next_check_at: null, last_success_at: null, with_xml_count: 0, held_count: 0 }
    for (const month of await coverageOf(one)) {
      expect(month).toMatchObject({ ...ended, status: 'missing', announced_count: 0 })
    }
    expect(await summaryOf(one)).toEqual(['26-05 issued missing', '26-04 issued missing'])
  })

  it('is partial when something could not be read, which the list of the month names, and complete after the next download', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED))
    const [good, broken, strange] = ['10', '11', '12'].map((day) => invoiceOf(rfc, day)) as [Plain, Plain, Plain]
    authorityHas([good, broken], [fileOf(good), fileOf(broken, '<broken'), fileOf({ ...strange, emisor: 'BBB020202BB1' })])
    await one.run()
    await work(rfc)
    expect(await statusesOf(one)).toEqual(['26-05 issued partial', '26-04 issued complete'])
    expect(await summaryOf(one)).toEqual(['26-05 issued downloading', '26-04 issued complete'])
    const [may] = await coverageOf(one)
    expect(may).toMatchObject({ announced_count: 2, held_count: 1, with_xml_count: 1, metadata_only_count: 1, rejected_count: 2 })
    expect(may).toMatchObject({
      last_code: expect.stringMatching(/^rejected: .*The list of the month says what, and why\.$/),
      last_success_at: null,
    })
    const estatus = 'vigente'
    expect(await missingXmlOf(one, 'sat_cfdi_issued', '2026-05')).toEqual([
      { uuid: strange.uuid, issued_at: null, estatus: null, kind: null, why: 'rejected', code: 'cfdi.foreign_rfc' },
      { uuid: broken.uuid, issued_at: '2026-05-11T10:00:00-06:00', estatus, kind: 'cfdi', why: 'rejected', code: 'cfdi.malformed' },
    ])
    authorityHas([good, broken], [fileOf(good), fileOf(broken)])
    later(700)
    await one.run()
    expect(await statusesOf(one)).toEqual(['26-05 issued requested', '26-04 issued complete'])
    expect((await missingXmlOf(one, 'sat_cfdi_issued', '2026-05')).map(({ uuid, why }) => [uuid, why])).toEqual([
      [broken.uuid, 'requested'],
    ])
    await work(rfc)
    expect(await statusesOf(one)).toEqual(['26-05 issued complete', '26-04 issued complete'])
    expect(await missingXmlOf(one, 'sat_cfdi_issued', '2026-05')).toEqual([])
    expect((await coverageOf(one))[0]).toMatchObject({ held_count: 2, last_success_at: instant(700), rejected_count: 0 })
  })

  it('is partial when XML that metadata announces does not come, with the reason of the failure', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED))
    const all = ['10', '11'].map((day) => invoiceOf(rfc, day)) as [Plain, Plain]
    authorityHas(all, [fileOf(all[0])], true)
    await one.run()
    await work(rfc)
    expect((await coverageOf(one))[0]).toMatchObject({
      ...{ status: 'partial', announced_count: 2, held_count: 1, attempts: 1, next_check_at: null, last_success_at: null },
      last_code: 'sat_unavailable: The tax authority was not available, or did not deliver what it was asked for.',
    })
    expect(await missingXmlOf(one, 'sat_cfdi_issued', '2026-05')).toMatchObject([
      { uuid: all[1].uuid, why: 'xml_not_delivered_yet', code: null },
    ])
    expect((await summaryOf(one))[0]).toBe('26-05 issued downloading')
  })

  it('waits as long as the authority takes its time, and says when it is asked next', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, ISSUED), 'slow300')
    await one.run()
    await work(rfc)
    for (const month of await coverageOf(one))
      expect(month).toMatchObject({ status: 'requested', attempts: 0, last_code: null, next_check_at: instant(300) })
    later(301)
    await work(rfc)
    for (const month of await coverageOf(one)) expect(month).toMatchObject({ status: 'complete', attempts: 1, next_check_at: null })
  })
})

/** What breaks without it: an organization learns from coverage what a stranger downloaded, tried or waits for. */
describe('two organizations', () => {
  it('are each told of what their own runs asked for, as far as their windows go', async () => {
    const rfc = freshRfc()
    const [ana, beto] = [await subscriber(rfc, cfdiOf(4, ISSUED)), await subscriber(rfc, cfdiOf(1, ISSUED))]
    await ana.run()
    await work(rfc)
    expect(await coverageOf(beto)).toEqual([])
    later(DAY)
    await beto.run()
    expect(await statusesOf(beto)).toEqual(['26-05 issued requested', '26-04 issued requested'])
    expect(await statusesOf(ana)).toEqual(['05', '04', '03', '02', '01'].map((month) => `26-${month} issued complete`))
    await work(rfc)
    const [before, now] = [await coverageOf(ana), await coverageOf(beto)]
    // The floor divides April, and Ana's ceiling May.
    expect(now.map(({ visible_from, visible_to }) => [visible_from, visible_to])).toEqual([
      ['2026-05-01', instant(DAY)],
      ['2026-04-21', null],
    ])
    for (const [n, month] of now.entries()) {
      const { data } = (await beto.page(`&issued_from=${month.visible_from}&issued_to=${month.month}-31`.replace('04-31', '04-30'))).body
      expect(month).toMatchObject({ announced_count: data.length, last_success_at: instant(DAY), attempts: 1 })
      expect(before[n]).toMatchObject({ month: month.month, last_success_at: instant(0) })
    }
    expect(now[1]!.announced_count).toBeLessThan(before[1]!.announced_count)
  })

  it('are told nothing of attempts, errors and waits from before their own run', async () => {
    const rfc = freshRfc()
    const [ana, beto] = [await subscriber(rfc, cfdiOf(1, ISSUED), 'unavailable1'), await subscriber(rfc, cfdiOf(1, ISSUED), 'unavailable1')]
    await ana.run()
    for (const seconds of [0, 5, 15, 35]) {
      later(seconds)
      await work(rfc)
    }
    later(40)
    await beto.run()
    for (const month of await coverageOf(beto))
      expect(month).toMatchObject({ status: 'requested', attempts: 0, last_code: null, next_check_at: null, last_success_at: null })
    for (const month of await coverageOf(ana)) expect(month).toMatchObject({ status: 'requested', attempts: 4, next_check_at: instant(75) })
  })
})

describe('what coverage costs', () => {
  it('two calls to D1, and rows of the months that are shown, however many documents there are', async () => {
    const costs: number[][] = []
    for (const secret of ['busy5', 'busy60']) {
      const rfc = freshRfc()
      const one = await subscriber(rfc, cfdiOf(3), secret)
      await one.run()
      await work(rfc)
      // The first request of a credential on a day is noted.
      await coverageOf(one)
      const list = await costOf(env.LEDGER_0, env.FILES, () => coverageOf(one))
      const some = await costOf(env.LEDGER_0, env.FILES, () => coverageOf(one, '&from=2026-04&to=2026-04&source=sat_cfdi_issued'))
      const month = await costOf(env.LEDGER_0, env.FILES, () => missingXmlOf(one, 'sat_cfdi_issued', '2026-04'))
      expect([list, some, month].map(({ cost }) => [cost.d1_calls, cost.rows_written])).toEqual(Array(3).fill([2, 0]))
      expect(list.result).toHaveLength(8)
      costs.push([list.cost.rows_read, some.cost.rows_read])
    }
    expect(costs[1]).toEqual(costs[0])
  })
})
