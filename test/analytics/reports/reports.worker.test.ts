import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sweepReports, workOnReports } from '../../../src/analytics/reports/work.ts'
import { ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { Budget } from '../../../src/platform/work/budget.ts'
import { all, reported } from '../../cfdi/support/book.ts'
import { CUSTOMERS, type Plain, packageOf, plainOf } from '../../cfdi/support/documents.ts'
import { ingestZip } from '../../cfdi/support/ingest-zip.ts'
import { cfdiOf, losingMessages, subscriber } from '../../downloads/support/downloads.ts'
import { basic, type Caller, request } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'
import { expectAddedUp, linksIn } from '../support/added-up.ts'
import type { Ask } from '../support/compare.ts'
import { setOwnRules } from '../support/facts.ts'

const random = randomOf(1_616)
const NOW = '2026-06-20T18:00:00Z'

beforeEach(() => {
  at(NOW)
  losingMessages()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

type Subscriber = Awaited<ReturnType<typeof subscriber>>
const system = (budget?: Budget) => systemOf(env, new Date(), 'test', budget)
const later = (seconds: number) => at(new Date(Date.now() + seconds * 1_000).toISOString())

/** An organization without extractors: it sees everything. */
async function everything(rfc: string): Promise<Subscriber & { connection: number; entity_number: number }> {
  const of = await subscriber(rfc, cfdiOf(1))
  await of.ask('DELETE', `/v1/extractors/${of.extractor_id}`)
  const row = await env.DB.prepare('select connection, entity from connections where fiscal_entity_id = ?')
    .bind(of.fiscal_entity_id)
    .first<{ connection: number; entity: number }>()
  return { ...of, connection: row!.connection, entity_number: row!.entity }
}

const ask = (of: Subscriber, key: string, method = 'GET', more = '', query = '') =>
  of.ask(method, `/v1/reports/${key}${more}?fiscal_entity_id=${of.fiscal_entity_id}${query}`)
/** Asks for a table. */
async function csv(caller: Caller, path: string) {
  const { status, headers, body } = await request('GET', path, { headers: { authorization: basic(caller), accept: 'text/csv' } })
  return { status, headers, text: body as string }
}

/** Asks as a surface is asked, for what follows drilldowns. */
const asking =
  (of: Subscriber): Ask =>
  async (path, query) => {
    const { status, body } = await of.ask('GET', `/v1${path}?${new URLSearchParams({ fiscal_entity_id: of.fiscal_entity_id, ...query })}`)
    expect([path, status]).toEqual([path, 200])
    return body
  }
const rowsOf = async (of: Subscriber, key: string) => (await ask(of, key)).body.data.rows

/** What the authority delivers, committed as a download does. */
const ingest = (rfc: string, entity: number, documents: readonly Plain[]) =>
  all(ingestZip({ ledger: env.LEDGER_0, files: env.FILES, entity, rfc, now: new Date(), provenance: 'authority' }, packageOf(documents)))
const work = ({ connection }: { connection: number }, budget?: Budget) => workOnReports(system(budget), { shard: 0, connection })

const sold = (rfc: string, day: string, subtotal: number, more: Partial<Plain> = {}): Plain =>
  plainOf(random, day.slice(0, 7), {
    ...{ tipo: 'I', metodo: 'PUE', fecha: `${day}T10:00:00`, emisor: rfc, receptor: CUSTOMERS[0]!, lines: 1 },
    ...{ subtotal: subtotal.toFixed(2), iva: (subtotal * 0.16).toFixed(2), total: (subtotal * 1.16).toFixed(2) },
    ...more,
  })

describe('a report', () => {
  it('is made when it is first asked for, and by hand: two sales and a purchase', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    // 1,000 and 500 sold in 2025 and 2026; 300 bought in 2026: 800 of VAT on none of it but 16 %.
    await ingest(rfc, one.entity_number, [
      sold(rfc, '2025-05-10', 1_000),
      sold(rfc, '2026-05-11', 500),
      sold(rfc, '2026-05-12', 300, { emisor: 'DDD040404DD3', receptor: rfc }),
    ])
    const first = await ask(one, 'fiscal-summary')
    expect([first.status, first.headers.get('retry-after'), first.body]).toEqual([
      202,
      '15',
      { status: 'building', key: 'fiscal-summary', retry_after_seconds: 15 },
    ])
    await work(one)
    const { status, body } = await ask(one, 'fiscal-summary')
    expect([status, body.key, body.is_stale, body.generated_at, body.source_watermark]).toEqual([
      200,
      'fiscal-summary',
      false,
      expect.stringContaining('2026-06-20'),
      expect.any(String),
    ])
    expect(body.data.rows).toMatchObject([
      { year: '2025', ingresos: '1000.00', egresos: '0.00', iva_trasladado: '160.00' },
      { year: '2026', ingresos: '500.00', egresos: '300.00', iva_trasladado: '80.00', iva_acreditable: '48.00' },
    ])
    expect(body.data.data_quality).toMatchObject({ cfdi_total: 3, with_xml: 3, missing_rate: 0, dof_rate: 0 })
    expect((await rowsOf(one, 'annual-comparison')).at(-1)).toMatchObject({ year: '2026', month: '05', issued_change_pct: '-50.00' })
    expect(await rowsOf(one, 'diot')).toMatchObject([{ period: '2026-05', rfc: 'DDD040404DD3', base_16: '300.00', iva_16: '48.00' }])
    expect(await rowsOf(one, 'counterparty-network')).toMatchObject([
      { rfc: CUSTOMERS[0], relation: 'customer', issued: '1500.00', issued_share: '100.00', active_months: 2 },
      { rfc: 'DDD040404DD3', relation: 'supplier', received: '300.00' },
    ])
    for (const key of ['revenue-expenses', 'cancellations', 'payment-behavior', 'compliance', 'payroll'])
      expect((await ask(one, key)).status).toBe(200)
  })

  it('leads from its figures to the documents that add up to them', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    const bought = (day: string, subtotal: number, more: Partial<Plain> = {}) =>
      sold(rfc, day, subtotal, { emisor: 'DDD040404DD3', receptor: rfc, ...more })
    const owed = sold(rfc, '2026-03-02', 700, { metodo: 'PPD' })
    await ingest(rfc, one.entity_number, [
      ...[sold(rfc, '2025-05-10', 1_000), sold(rfc, '2026-05-11', 500), owed, sold(rfc, '2026-05-20', 40, { tipo: 'E' })],
      ...[
        bought('2026-05-12', 300),
        bought('2026-06-01', 90, { metodo: 'PPD' }),
        // Dated after today: nothing of it is owed yet.
        sold(rfc, '2026-06-25', 33, { metodo: 'PPD' }),
        sold(rfc, '2026-04-01', 10, { receptor: 'CCC030303CC2' }),
      ],
    ])
    await env.LEDGER_0.prepare("update cfdi set cancelled = 1, estatus = 'cancelado' where entity = ? and subtotal = '10.00'")
      .bind(one.entity_number)
      .run()
    await ask(one, 'diot')
    await work(one)
    let links = 0
    for (const key of ['fiscal-summary', 'revenue-expenses', 'annual-comparison', 'counterparty-network', 'payment-behavior', 'diot'])
      for (const link of linksIn(await rowsOf(one, key))) {
        links++
        await expectAddedUp(asking(one), link)
      }
    expect(links).toBeGreaterThan(50)
  })

  it('says of a year and month that they are not over, and knows no amount of a cancelled document without XML', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    const target = {
      ledger: env.LEDGER_0,
      files: env.FILES,
      entity: one.entity_number,
      rfc,
      now: new Date(),
      provenance: 'authority' as const,
    }
    // 1,000 of May, 70 of June: a purchase and two sales of May were cancelled before their XML was downloaded, a third after it.
    const known = sold(rfc, '2026-05-13', 50)
    const lost = [
      sold(rfc, '2026-05-11', 500),
      sold(rfc, '2026-05-12', 90),
      sold(rfc, '2026-05-14', 8, { emisor: 'DDD040404DD3', receptor: rfc }),
    ]
    await ingest(rfc, one.entity_number, [sold(rfc, '2026-05-10', 1_000), known, sold(rfc, '2026-06-11', 70)])
    await all(ingestMetadata(target, () => [[known, ...lost].map((document) => reported(document, true))]))
    await ask(one, 'cancellations')
    await work(one)
    expect(await rowsOf(one, 'cancellations')).toMatchObject([
      { direction: 'issued', reason: '02', count: 3, amount: '58.00', without_amount: 2, share: '100.00' },
      { direction: 'received', reason: '02', count: 1, amount: null, without_amount: 1 },
    ])
    expect(await rowsOf(one, 'annual-comparison')).toMatchObject([
      {
        ...{ month: '05', is_partial: false, cancelled_issued: '58.00', cancelled_issued_count: 3, cancelled_issued_without_amount: 2 },
        ...{ cancelled_received: null, cancelled_received_count: 1, cancelled_received_without_amount: 1 },
      },
      { month: '06', is_partial: true, cancelled_issued: '0.00', cancelled_issued_without_amount: 0, cancelled_received: '0.00' },
    ])
    expect(await rowsOf(one, 'fiscal-summary')).toMatchObject([{ year: '2026', is_partial: true }])
  })

  it('is a table for who accepts text/csv, whole or page by page, of one state', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    await ingest(rfc, one.entity_number, [sold(rfc, '2025-05-10', 1_000), sold(rfc, '2026-05-11', 500), sold(rfc, '2026-06-11', 70)])
    await ask(one, 'revenue-expenses')
    await work(one)
    const table = async (more: string) => {
      const { status, headers, text } = await csv(one.owner, `/v1/reports/revenue-expenses?fiscal_entity_id=${one.fiscal_entity_id}${more}`)
      return { status, type: headers.get('content-type'), next: headers.get('link'), lines: text.split('\r\n') }
    }
    const whole = await table('')
    expect([whole.status, whole.type, whole.next]).toEqual([200, 'text/csv; charset=utf-8; header=present', null])
    expect(whole.lines[0]).toBe(
      'month,is_partial,revenue,credit_notes,net_revenue,expenses,credit_notes_received,net_expenses,cost_of_goods,payroll,gross_profit,gross_margin,operating_result',
    )
    expect(whole.lines.slice(1).map((line) => line.split(',').slice(0, 5).join())).toEqual([
      ...['2025-05,false,1000.00,0.00,1000.00', '2026-05,false,500.00,0.00,500.00', '2026-06,true,70.00,0.00,70.00', ''],
    ])
    const page = await table('&limit=2')
    expect([page.lines.length, page.next]).toEqual([
      4,
      expect.stringMatching(/^<\/v1\/reports\/revenue-expenses\?.*limit=2.*>; rel="next"$/),
    ])
    const cursor = /cursor=([^&>]+)/.exec(page.next!)![1]!
    expect((await table(`&limit=2&cursor=${cursor}`)).lines).toEqual([whole.lines[0], whole.lines[3], ''])
    const rest = await ask(one, 'revenue-expenses', 'GET', '', `&limit=100&cursor=${cursor}`)
    expect([rest.body.data.rows.length, rest.body.has_more, rest.body.next_cursor]).toEqual([1, false, null])
    // Pages are of one state of the report.
    await ingest(rfc, one.entity_number, [sold(rfc, '2025-04-10', 1)])
    await ask(one, 'revenue-expenses')
    later(31)
    await work(one)
    const late = await ask(one, 'revenue-expenses', 'GET', '', `&cursor=${cursor}`)
    expect([late.status, late.body.code]).toEqual([409, 'report.changed'])
    for (const key of ['compliance', 'diot', 'payroll', 'cancellations', 'payment-behavior', 'counterparty-network'])
      expect((await csv(one.owner, `/v1/reports/${key}?fiscal_entity_id=${one.fiscal_entity_id}`)).status).toBe(200)
  })

  it('has rows by the rules of each invoice’s day, and cites those that it was made with, also when they have changed since', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    // 1,160 of 20 April are due on 20 May; 2,320 of 5 May on 4 June, and under a rule of May on 4 July.
    await ingest(rfc, one.entity_number, [
      sold(rfc, '2026-04-20', 1_000, { metodo: 'PPD' }),
      sold(rfc, '2026-05-05', 2_000, { metodo: 'PPD', receptor: CUSTOMERS[1]! }),
    ])
    const terms = async () => {
      const { is_stale, data } = (await ask(one, 'payment-behavior')).body
      return {
        is_stale,
        cited: data.basis.rules.map(({ value }: { value: number }) => value),
        overdue: data.rows.map((row: { rfc: string; overdue: string }) => [row.rfc, row.overdue]).sort(),
      }
    }
    const overdue = (first: string, second: string) => [
      [CUSTOMERS[0], first],
      [CUSTOMERS[1], second],
    ]
    await ask(one, 'payment-behavior')
    await work(one)
    const before = { is_stale: false, cited: [30], overdue: overdue('1160.00', '2320.00').sort() }
    expect(await terms()).toEqual(before)
    const rule = { rule_ref: 'Own', source: 'An operator', confidence: 'proposed', valid_to: null } as const
    await setOwnRules([{ ...rule, key: 'financing.default_terms_days', value: 60, valid_from: '2026-05-01' }])
    expect(await terms()).toEqual({ ...before, is_stale: true })
    await work(one)
    expect(await terms()).toEqual({ is_stale: false, cited: [30, 60], overdue: overdue('1160.00', '0.00').sort() })
    // What begins tomorrow changes nothing today.
    await setOwnRules([{ ...rule, key: 'financing.default_terms_days', value: 60, valid_from: '2026-06-21' }])
    await terms()
    await work(one)
    expect(await terms()).toEqual(before)
    const operations = (await ask(one, 'diot')).body.data.basis.rules as { key: string; valid_from: string }[]
    expect(operations.map(({ key, valid_from }) => [key, valid_from])).toEqual([
      ['cash.several_payments', '2010-01-01'],
      ['cash.threshold', '2010-01-01'],
      ['deduction.car_rental', '2014-01-01'],
      ['deduction.fuel', '2010-01-01'],
      ['deduction.restaurants', '2014-01-01'],
      ['deduction.vehicles', '2017-01-01'],
      ['diot.operation', '2010-01-01'],
      ['diot.operation', '2025-01-01'],
      ['payment_forms', '2010-01-01'],
      ['vat.border_regions', '2019-01-01'],
    ])
    expect((await ask(one, 'fiscal-summary')).body.data.basis.rules).toEqual([])
    await setOwnRules([])
  })

  it('reads only the months that a download changed', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    const months = Array.from({ length: 30 }, (_, n) => `${2023 + Math.floor(n / 12)}-${String((n % 12) + 1).padStart(2, '0')}`)
    await ingest(
      rfc,
      one.entity_number,
      months.flatMap((month) => [1, 2, 3, 4].map((n) => sold(rfc, `${month}-0${n}`, 100 * n))),
    )
    await ask(one, 'fiscal-summary')
    await work(one)
    const written = () =>
      env.LEDGER_0.prepare("select month, data from report_parts where connection = ? and kind = 'sums'")
        .bind(one.connection)
        .all<{ month: string; data: string }>()
    const before = (await written()).results
    expect(before.map(({ month }) => month)).toEqual(months)
    await ingest(rfc, one.entity_number, [sold(rfc, '2024-07-20', 50)])
    expect((await ask(one, 'fiscal-summary')).body.is_stale).toBe(true)
    later(31)
    const batch = vi.spyOn(Object.getPrototypeOf(env.LEDGER_0) as D1Database, 'batch')
    await work(one)
    // One batch reads a month; the others plan, and commit the month and the end.
    const results = (await Promise.all(batch.mock.results.map(({ value }) => value as Promise<D1Result[]>))).flat()
    const read = results.reduce((sum, { meta }) => sum + meta.rows_read, 0)
    const wrote = results.reduce((sum, { meta }) => sum + meta.rows_written, 0)
    batch.mockRestore()
    const after = (await written()).results
    expect(after.filter((row, n) => row.data !== before[n]!.data).map(({ month }) => month)).toEqual(['2024-07'])
    // Five documents of the month of 121, once for each of what is read of them, and the VAT position of two months without any.
    expect([read < 200, wrote < 20]).toEqual([true, true])
    expect((await ask(one, 'fiscal-summary')).body).toMatchObject({ is_stale: false })
    expect((await rowsOf(one, 'fiscal-summary'))[1]).toMatchObject({ year: '2024', ingresos: '12050.00' })
  })

  it('a complement changes the month of its payment and that of the invoice, whenever it comes', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    const bought = sold(rfc, '2026-01-10', 1_000, { emisor: 'DDD040404DD3', receptor: rfc, metodo: 'PPD' })
    await ingest(rfc, one.entity_number, [bought, sold(rfc, '2026-03-10', 10)])
    await ask(one, 'diot')
    await work(one)
    expect(await rowsOf(one, 'diot')).toEqual([])
    const paid = plainOf(random, '2026-04', {
      ...{ tipo: 'P', fecha: '2026-04-02T10:00:00', emisor: 'DDD040404DD3', receptor: rfc },
      pagos: [{ fecha: '2026-03-28T12:00:00', documentos: [{ uuid: bought.uuid, pagado: '580.00', moneda: 'MXN' }] }],
    })
    await ingest(rfc, one.entity_number, [paid])
    later(31)
    await work(one)
    expect(await rowsOf(one, 'diot')).toMatchObject([{ period: '2026-03', base_16: '500.00', iva_16: '80.00' }])
    expect(await rowsOf(one, 'payment-behavior')).toMatchObject([
      { direction: 'received', paid: '580.00', payment_count: 1, invoice_count: 1, weighted_days_to_pay: '77.00', outstanding: '580.00' },
    ])
  })
})

describe('who gets reports', () => {
  it('nobody whose windows are bounded or empty: the detail names them, and what lifts them', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1))
    expect((await ask(one, 'diot')).body).toMatchObject({
      code: 'report.window_bounded',
      detail: expect.stringContaining('no issued CFDIs yet'),
    })
    await one.run()
    const { status, body } = await ask(one, 'diot')
    expect([status, body.code]).toEqual([409, 'report.window_bounded'])
    for (const part of [
      'issued CFDIs from 2026-05-21 to 2026-06-20T18:00:00.000Z',
      'received CFDIs from',
      'full_history',
      'sat_cfdi_received',
    ])
      expect(body.detail).toContain(part)
    expect((await ask(one, 'diot', 'POST', '/refresh')).status).toBe(409)
    // What the detail says to send.
    const [, path, sent] = /POST (\S+) and the body (\{.*?\})/.exec(body.detail)!
    expect((await one.ask('POST', path!, JSON.parse(sent!))).status).toBe(202)
    expect((await ask(one, 'diot')).status).toBe(202)
  })

  it('whose run reached everything, whatever another organization downloads', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, FULL), await subscriber(rfc, cfdiOf(1))]
    await one.run()
    expect((await ask(one, 'diot')).status).toBe(202)
    later(3_600)
    await other.run()
    expect((await ask(one, 'diot')).status).toBe(202)
    expect((await one.entity()).window_state).toBe('open')
  })

  it('404 for an unknown report and for an RFC of others', async () => {
    const [one, other] = [await everything(freshRfc()), await everything(freshRfc())]
    for (const key of ['nothing', 'constructor']) expect((await ask(one, key)).body.code).toBe('report.not_found')
    expect((await ask(one, 'toString')).body.code).toBe('request.malformed_id')
    expect((await one.ask('GET', `/v1/reports/diot?fiscal_entity_id=${other.fiscal_entity_id}`)).status).toBe(404)
    expect((await one.ask('GET', '/v1/reports')).body.data.map(({ key }: { key: string }) => key)).toHaveLength(9)
  })
})

/** Reaches everything that the authority has. */
const FULL = cfdiOf(1, { scope: 'full_history', scope_months: null })

/** An organization whose run at NOW has reached everything. Its downloads are over. */
async function reached(rfc: string, extractor: object = FULL) {
  const of = await subscriber(rfc, extractor)
  await of.run()
  const row = await env.DB.prepare('select connection, entity from connections where fiscal_entity_id = ?')
    .bind(of.fiscal_entity_id)
    .first<{ connection: number; entity: number }>()
  const one = { ...of, connection: row!.connection, entity_number: row!.entity }
  await downloaded(one)
  return one
}
const downloaded = ({ entity_number }: { entity_number: number }) =>
  env.LEDGER_0.prepare('delete from sync_work where entity = ?').bind(entity_number).run()

const KEYS = [
  ...['fiscal-summary', 'revenue-expenses', 'annual-comparison', 'counterparty-network', 'cancellations', 'payment-behavior', 'diot'],
  ...['compliance', 'payroll'],
]
const answers = async (of: Subscriber) => {
  const found: unknown[] = []
  for (const key of KEYS) {
    const { status, body } = await ask(of, key)
    found.push([status, body])
  }
  return found
}

describe('the downloads of others', () => {
  const rfcs = { supplier: 'DDD040404DD3' }
  /** Documents that are issued after NOW, and change what was issued before: they pay, credit and substitute. */
  const beyond = (rfc: string, bill: Plain, purchase: Plain): Plain[] => [
    sold(rfc, '2026-06-21', 900),
    sold(rfc, '2026-07-02', 70, { emisor: rfcs.supplier, receptor: rfc }),
    sold(rfc, '2026-06-22', 100, { tipo: 'E', relacion: { tipo: '01', uuids: [bill.uuid] } }),
    plainOf(random, '2026-06', {
      ...{ tipo: 'P', fecha: '2026-06-23T10:00:00', emisor: rfcs.supplier, receptor: rfc },
      pagos: [{ fecha: '2026-06-18T12:00:00', documentos: [{ uuid: purchase.uuid, pagado: '348.00', moneda: 'MXN' }] }],
    }),
  ]

  it('beyond the own last extraction change nothing in any report, and nobody can tell that there were any', async () => {
    const rfc = freshRfc()
    const one = await reached(rfc)
    const [bill, purchase] = [
      sold(rfc, '2026-03-10', 1_000, { metodo: 'PPD' }),
      sold(rfc, '2026-04-10', 300, { emisor: rfcs.supplier, receptor: rfc, metodo: 'PPD' }),
    ]
    await ingest(rfc, one.entity_number, [bill, purchase])
    await ask(one, 'diot')
    await work(one)
    const before = await answers(one)
    expect(before.every((answer) => (answer as [number])[0] === 200)).toBe(true)
    expect(before[0]).toMatchObject([200, { is_stale: false, through: new Date(NOW).toISOString(), from: null, to: null }])
    // Somebody downloads what was issued since.
    later(3 * 86_400)
    await ingest(rfc, one.entity_number, beyond(rfc, bill, purchase))
    const sent = vi.mocked((Object.getPrototypeOf(env.REPORTS) as Queue).sendBatch).mockClear()
    // The open days of certificates and the like depend on today, not on others.
    const answered = async () => (await answers(one)).filter((_, n) => KEYS[n] !== 'compliance')
    const known = before.filter((_, n) => KEYS[n] !== 'compliance')
    expect(await answered()).toEqual(known)
    expect(sent).not.toHaveBeenCalled()
    later(31)
    await work(one)
    expect(await answered()).toEqual(known)
    // Nor do the downloads of others that go on delay those of its own.
    await env.LEDGER_0.prepare("insert into sync_work (entity, jobs, runs, due_at) values (?, '[]', ?, 0)")
      .bind(one.entity_number, JSON.stringify([['org_other', 'run_x']]))
      .run()
    later(700)
    await one.ask('POST', `/v1/reports/diot/refresh?fiscal_entity_id=${one.fiscal_entity_id}`)
    await work(one)
    expect((await ask(one, 'diot')).body).toMatchObject({ generated_at: new Date().toISOString(), through: new Date(NOW).toISOString() })
  })

  it('show in the reports from the own next extraction on, in every month that they change, though it brings nothing new', async () => {
    const rfc = freshRfc()
    const one = await reached(rfc)
    const [bill, purchase] = [
      sold(rfc, '2026-03-10', 1_000, { metodo: 'PPD' }),
      sold(rfc, '2026-04-10', 300, { emisor: rfcs.supplier, receptor: rfc, metodo: 'PPD' }),
    ]
    await ingest(rfc, one.entity_number, [bill, purchase])
    await ask(one, 'diot')
    await work(one)
    later(20 * 86_400)
    await ingest(rfc, one.entity_number, beyond(rfc, bill, purchase))
    later(31)
    await work(one)
    expect(await rowsOf(one, 'diot')).toEqual([])
    later(60)
    await one.run()
    const through = new Date().toISOString()
    await downloaded(one)
    // The run itself makes them due.
    later(31)
    await work(one)
    const { body } = await ask(one, 'diot')
    expect(body).toMatchObject({ is_stale: false, through, source_watermark: through })
    // 348 of 348 paid on 18 June; 70 bought in July.
    expect(body.data.rows).toMatchObject([
      { period: '2026-06', rfc: rfcs.supplier, base_16: '300.00', iva_16: '48.00' },
      { period: '2026-07', rfc: rfcs.supplier, base_16: '70.00', iva_16: '11.20' },
    ])
    expect(await rowsOf(one, 'payment-behavior')).toMatchObject([
      { direction: 'issued', outstanding: '1044.00' },
      { direction: 'received', paid: '348.00', outstanding: '0.00' },
    ])
  })

  it('and an own extraction that finds nothing new move nothing but through', async () => {
    const rfc = freshRfc()
    const one = await reached(rfc)
    await ingest(rfc, one.entity_number, [sold(rfc, '2026-05-10', 1_000)])
    await ask(one, 'fiscal-summary')
    await work(one)
    const { body } = await ask(one, 'fiscal-summary')
    later(86_400)
    await one.run()
    await downloaded(one)
    const through = new Date().toISOString()
    const moved = { ...body, through, source_watermark: through }
    const read = async () => {
      const { data, ...rest } = (await ask(one, 'fiscal-summary')).body
      return { ...rest, data: { ...data, data_quality: body.data.data_quality } }
    }
    expect(await read()).toEqual(moved)
    later(31)
    await work(one)
    expect(await read()).toEqual(moved)
  })

  it('of sources with extractions of their own: through is the earlier one', async () => {
    const rfc = freshRfc()
    const one = await reached(rfc, { ...FULL, data_source_keys: ['sat_cfdi_issued'] })
    later(86_400)
    await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { data_source_keys: ['sat_cfdi_received'] })
    await one.run()
    await downloaded(one)
    await ingest(rfc, one.entity_number, [
      sold(rfc, '2026-06-21', 1_000),
      sold(rfc, '2026-06-21', 60, { emisor: rfcs.supplier, receptor: rfc }),
    ])
    await ask(one, 'fiscal-summary')
    await work(one)
    const { through, source_watermark, data } = (await ask(one, 'fiscal-summary')).body
    expect([through, source_watermark]).toEqual([new Date(NOW).toISOString(), new Date().toISOString()])
    expect(data.rows).toMatchObject([{ ingresos: '0.00', egresos: '60.00' }])
  })
})

describe('a range of months', () => {
  it('chooses the documents, by hand: sales of 100 in January 2025, 40 in March 2025, 7 in March 2026', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    await ingest(rfc, one.entity_number, [
      ...[sold(rfc, '2025-01-05', 100), sold(rfc, '2025-03-05', 40, { metodo: 'PPD' }), sold(rfc, '2026-03-05', 7)],
      ...[
        sold(rfc, '2025-02-05', 9, { emisor: 'DDD040404DD3', receptor: rfc }),
        sold(rfc, '2026-02-05', 8, { emisor: 'DDD040404DD3', receptor: rfc }),
      ],
    ])
    await ask(one, 'diot')
    await work(one)
    const rows = async (key: string, query: string) => {
      const { status, body } = await ask(one, key, 'GET', '', query)
      expect(status).toBe(200)
      return body.data.rows
    }
    expect(await rows('fiscal-summary', '&from=2025-02&to=2026-02')).toMatchObject([
      { year: '2025', is_partial: true, ingresos: '40.00', egresos: '9.00' },
      { year: '2026', is_partial: true, ingresos: '0.00', egresos: '8.00' },
    ])
    expect(await rows('fiscal-summary', '&to=2025-12')).toMatchObject([{ year: '2025', is_partial: false, ingresos: '140.00' }])
    expect(await rows('annual-comparison', '&from=2026-03&to=2026-03')).toMatchObject([
      { year: '2026', month: '03', issued_change_pct: '-82.50' },
    ])
    expect(await rows('diot', '&from=2026-01')).toMatchObject([{ period: '2026-02', base_16: '8.00' }])
    expect(await rows('counterparty-network', '&from=2025-03&to=2025-03')).toMatchObject([{ issued: '40.00', issued_share: '100.00' }])
    expect(await rows('payment-behavior', '&from=2025-04')).toEqual([])
    expect(await rows('payment-behavior', '&to=2025-03')).toMatchObject([{ outstanding: '46.40', drilldown: {} }])
    const { from, to, data } = (await ask(one, 'revenue-expenses', 'GET', '', '&from=2025-03&to=2025-03')).body
    expect([from, to, data.rows.length, data.data_quality.cfdi_total]).toEqual(['2025-03', '2025-03', 1, 1])
    let links = 0
    for (const key of ['fiscal-summary', 'revenue-expenses', 'annual-comparison', 'counterparty-network', 'payment-behavior', 'diot'])
      for (const link of linksIn(await rows(key, '&from=2025-02&to=2026-02'))) {
        links++
        await expectAddedUp(asking(one), link)
      }
    expect(links).toBeGreaterThan(8)
    for (const query of ['&from=2026-03&to=2026-02', '&from=2010-01&to=2026-01'])
      expect(await ask(one, 'diot', 'GET', '', query)).toMatchObject({ status: 422, body: { code: 'range.invalid' } })
    for (const query of ['&from=2026-03-01', '&limit=101', '&limit=0']) expect((await ask(one, 'diot', 'GET', '', query)).status).toBe(422)
  })
})

describe('refreshing', () => {
  it('is queued once in ten minutes for each report', async () => {
    const one = await everything(freshRfc())
    expect(await ask(one, 'diot', 'POST', '/refresh')).toMatchObject({ status: 202, body: { status: 'queued', key: 'diot' } })
    const again = await ask(one, 'diot', 'POST', '/refresh')
    expect([again.status, again.body.code]).toEqual([429, 'report.cooldown'])
    expect((await ask(one, 'payroll', 'POST', '/refresh')).status).toBe(202)
    expect(
      (await one.ask('POST', `/v1/reports/payroll/refresh?fiscal_entity_id=${one.fiscal_entity_id}`, undefined, 'member')).status,
    ).toBe(403)
  })

  it('goes on after a crash with the month that was not committed, and after the end of a budget; two workers do it once', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    await ingest(
      rfc,
      one.entity_number,
      ['2026-01', '2026-02', '2026-03'].map((month) => sold(rfc, `${month}-05`, 100)),
    )
    await ask(one, 'revenue-expenses')
    // The budget ends after the first month.
    const small = new Budget()
    const allows = vi.spyOn(small, 'allows').mockReturnValueOnce(true).mockReturnValue(false)
    await work(one, small)
    expect(allows).toHaveBeenCalledTimes(2)
    const round = () =>
      env.LEDGER_0.prepare('select round, token, generated_at from report_states where connection = ?')
        .bind(one.connection)
        .first<{ round: string }>()
    expect(JSON.parse((await round())!.round).months).toEqual(['2026-02', '2026-03'])
    expect((await ask(one, 'revenue-expenses')).status).toBe(202)
    // The worker dies before a commit.
    const d1 = Object.getPrototypeOf(env.LEDGER_0) as D1Database
    const batch = d1.batch
    const dying = vi.spyOn(d1, 'batch').mockImplementation(function (this: D1Database, statements) {
      if (dying.mock.calls.length === 2) throw new Error('The worker died.')
      return batch.call(this, statements) as never
    })
    await expect(work(one)).rejects.toThrow('died')
    dying.mockRestore()
    await work(one)
    expect(JSON.parse((await round())!.round).months).toEqual(['2026-02', '2026-03'])
    later(61)
    const sent = vi.spyOn(Object.getPrototypeOf(env.REPORTS) as Queue, 'sendBatch').mockResolvedValue(undefined as never)
    await sweepReports(system())
    expect([
      ...sent.mock.calls.flatMap(([messages]) => [...(messages as Iterable<{ body: unknown }>)].map(({ body }) => body)),
    ]).toContainEqual({ shard: 0, connection: one.connection })
    await Promise.all([work(one), work(one)])
    expect(await rowsOf(one, 'revenue-expenses')).toMatchObject(
      ['2026-01', '2026-02', '2026-03'].map((month) => ({ month, revenue: '100.00' })),
    )
  })

  it('what is committed while months are read makes the reports due again', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    await ingest(rfc, one.entity_number, [sold(rfc, '2026-01-05', 100)])
    await ask(one, 'revenue-expenses')
    const small = new Budget()
    vi.spyOn(small, 'allows').mockReturnValue(false)
    await work(one, small)
    await ingest(rfc, one.entity_number, [sold(rfc, '2026-01-06', 40)])
    await work(one)
    expect((await ask(one, 'revenue-expenses')).body.is_stale).toBe(true)
    later(31)
    await work(one)
    expect((await ask(one, 'revenue-expenses')).body).toMatchObject({
      is_stale: false,
      data: { rows: [{ month: '2026-01', revenue: '140.00' }] },
    })
  })
})

describe('the IVA of a month of all RFCs', () => {
  const portfolio = async (of: Subscriber, query = '') => (await of.ask('GET', `/v1/portfolio/vat${query}`)).body.data
  const position = async (of: Subscriber, period: string) =>
    (await of.ask('GET', `/v1/analytics/vat-position?fiscal_entity_id=${of.fiscal_entity_id}&period=${period}`)).body.data[0]

  it('is what the VAT position was when the reports were made, says when it is stale, and why there is none', async () => {
    const rfc = freshRfc()
    const one = await everything(rfc)
    const bought = (day: string, subtotal: number) => sold(rfc, day, subtotal, { emisor: 'DDD040404DD3', receptor: rfc })
    await ingest(rfc, one.entity_number, [
      ...[sold(rfc, '2026-05-11', 500), bought('2026-05-12', 800)],
      ...[sold(rfc, '2026-06-11', 1_000), bought('2026-06-12', 300)],
    ])
    const refresh = `/v1/reports/diot/refresh?fiscal_entity_id=${one.fiscal_entity_id}`
    const nothing = { fiscal_entity_id: one.fiscal_entity_id, rfc, name: null, month: '2026-06', saldo: null, resultado: null, refresh }
    const unkept = { ...nothing, as_of: null, is_stale: null }
    expect(await portfolio(one)).toEqual([{ ...unkept, reason: 'not_made' }])
    expect((await one.ask('POST', refresh)).status).toBe(202)
    expect(await portfolio(one)).toEqual([{ ...unkept, reason: 'building' }])
    await work(one)
    // 160 collected less 48 paid; the month before, 80 less 128.
    const kept = { ...nothing, as_of: NOW.replace('Z', '.000Z'), is_stale: false, reason: null }
    const june = { ...kept, saldo: '112.00', resultado: 'a_cargo' }
    expect(await portfolio(one)).toEqual([june])
    expect(await portfolio(one, '?month=2026-05')).toEqual([{ ...kept, month: '2026-05', saldo: '-48.00', resultado: 'a_favor' }])
    for (const month of ['2026-05', '2026-06'])
      expect(await position(one, month)).toMatchObject({ saldo: (await portfolio(one, `?month=${month}`))[0].saldo })
    expect(await portfolio(one, '?month=2026-04')).toEqual([{ ...unkept, month: '2026-04', reason: 'not_kept' }])
    await ingest(rfc, one.entity_number, [sold(rfc, '2026-06-13', 100)])
    expect(await portfolio(one)).toEqual([{ ...june, is_stale: true }])
    later(60)
    await work(one)
    const after = { ...june, saldo: '128.00', as_of: new Date().toISOString() }
    expect(await portfolio(one)).toEqual([after])
    // Of the next month nothing is known until something comes, and nothing is guessed.
    at('2026-07-02T18:00:00Z')
    expect((await portfolio(one))[0]).toMatchObject({ month: '2026-07', saldo: null, reason: 'not_kept' })
    await ingest(rfc, one.entity_number, [sold(rfc, '2026-07-01', 100)])
    later(60)
    await work(one)
    expect((await portfolio(one))[0]).toMatchObject({ month: '2026-07', saldo: null, reason: 'month_unknown', is_stale: false })
    expect(await portfolio(one, '?month=2026-06')).toEqual([{ ...after, as_of: new Date().toISOString() }])
  })

  it('is absent where the windows are bounded, and takes three calls for 500 RFCs as for one', async () => {
    const bounded = await subscriber(freshRfc(), cfdiOf(1))
    expect(await portfolio(bounded)).toMatchObject([{ saldo: null, reason: 'window_bounded', refresh: null }])
    const rfc = freshRfc()
    const one = await everything(rfc)
    await ingest(rfc, one.entity_number, [
      sold(rfc, '2026-06-11', 10),
      sold(rfc, '2026-06-12', 5, { emisor: 'DDD040404DD3', receptor: rfc }),
    ])
    await ask(one, 'diot')
    await work(one)
    const cost = async () => {
      const { result, cost: of } = await costOf(env.LEDGER_0, env.FILES, () => portfolio(one))
      return { rows: result as { saldo: string }[], calls: of.d1_calls }
    }
    await cost()
    const alone = await cost()
    const more = Array.from({ length: 499 }, (_, n) => ({ number: 8_000_000 + n, rfc: freshRfc(), id: newId('fe') }))
    for (const [d1, table, of] of [
      [env.DB, 'fiscal_entities', one.entity_number],
      [env.DB, 'connections', one.connection],
      [env.LEDGER_0, 'report_states', one.connection],
    ] as const) {
      const key = table === 'fiscal_entities' ? 'entity' : 'connection'
      const row = (await d1.prepare(`select * from ${table} where ${key} = ?`).bind(of).first<Record<string, unknown>>())!
      const rows = more.map(({ number, rfc: other, id }) => ({
        ...row,
        ...('external_id' in row && { external_id: null }),
        ...('rfc' in row && { rfc: other }),
        ...('fiscal_entity_id' in row && { fiscal_entity_id: id }),
        ...('entity' in row && { entity: number }),
        ...('sequence' in row && { sequence: 0 }),
        ...('connection' in row && { connection: number }),
      }))
      const names = Object.keys(row)
      const statement = d1.prepare(`insert into ${table} (${names.join()}) values (${names.map(() => '?').join()})`)
      await d1.batch(rows.map((values) => statement.bind(...names.map((name) => (values as Record<string, unknown>)[name]))))
    }
    const all = await cost()
    expect([alone.calls, all.calls, all.rows.length]).toEqual([3, 3, 500])
    expect(new Set(all.rows.map(({ saldo }) => saldo))).toEqual(new Set(['0.80']))
  })
})
