import { describe, expect, it } from 'vitest'
import { SupplierReport, SupplierReportQuery } from '../../../src/analytics/repse/contract.ts'
import { reportSuppliers } from '../../../src/analytics/repse/report.ts'
import { getCfdi, listPayments } from '../../../src/cfdi/detail/detail.ts'
import { ingestMetadata, type SliceOutcome } from '../../../src/cfdi/ingest/ingest.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { MonthlySummary, MonthlySummaryQuery } from '../../../src/cfdi/summary/contract.ts'
import { summarizeMonths } from '../../../src/cfdi/summary/summary.ts'
import { cancellationContents } from '../../../src/delivery/relay/payloads.ts'
import { cancellationBody } from '../../../src/downloads/cancellation-events.ts'
import { EVERYTHING } from '../../../src/taxpayers/visibility/window.ts'
import { holdMessages } from '../../lists/repse/support/repse.ts'
import { contextOf, FISCAL_ENTITY } from '../../support/context.ts'
import { randomOf } from '../../support/random.ts'
import { all, newBook, reported } from '../support/book.ts'
import { type Plain, packageOf, paymentOf, plainOf, RFC } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'

// The largest amounts of the schema: 18 digits before the point.
const LARGEST = '999999999999999999.99'
const CENTS = 10n ** 20n - 1n
const [SUPPLIER, MONTH] = ['BBB020202BB1', '2026-02']
const random = randomOf(13)
const large = (given: Partial<Plain>) =>
  plainOf(random, MONTH, { tipo: 'I', metodo: 'PUE', subtotal: LARGEST, iva: LARGEST, total: LARGEST, lines: 1, ...given })
const received = { emisor: SUPPLIER, receptor: RFC }

/** `cents` hundredths as decimal text. */
const text = (cents: bigint): string => `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`

// 1,000 documents. 100 of each direction have amounts in MXN of 19 digits and more: they are stored, and no sum has them.
const times = (n: number, given: Partial<Plain>) => Array.from({ length: n }, () => large(given))
const [invoice, unpaid] = [large({ metodo: 'PPD', receptor: SUPPLIER }), large({ metodo: 'PPD', receptor: SUPPLIER })]
const small = plainOf(random, MONTH, { tipo: 'I', metodo: 'PUE', subtotal: '100.00', iva: '16.00', total: '116.00' })
const payments = Array.from({ length: 98 }, () => {
  const payment = paymentOf(random, MONTH, [invoice])
  return {
    ...payment,
    receptor: SUPPLIER,
    pagos: payment.pagos.map((pago) => ({ ...pago, documentos: [{ uuid: invoice.uuid, moneda: 'MXN', pagado: LARGEST }] })),
  }
})
const beyond = { moneda: 'USD', tipo_cambio: '999999999999.999999' }
const documents = [
  ...[...times(349, {}), ...times(100, { ...beyond }), invoice, unpaid, small, ...payments],
  ...[...times(300, received), ...times(50, { ...received, tipo: 'E' }), ...times(100, { ...received, ...beyond })],
]

it('a total below zero is stored, shown and found as what it is', async () => {
  const target = newBook()
  const ctx = contextOf({ entity: target.entity }, { now: new Date('2026-03-10T18:00:00Z') })
  const totals = ['-1000.00', '-5.00', '0.00', '5.00', '1000.00']
  const documents = totals.map((total) => plainOf(random, MONTH, { tipo: 'I', metodo: 'PUE', subtotal: total, iva: '0', total }))
  expect((await all(ingestZip(target, packageOf(documents)))).map(({ created }) => created)).toEqual([5])
  const found = async (query: Record<string, string>) =>
    (await searchCfdi(ctx, CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query }))).data
      .map(({ total, total_mxn }) => (total === total_mxn ? total : 'another'))
      .sort((a, b) => Number(a) - Number(b))
  expect(await found({})).toEqual(totals)
  expect(await found({ total_max: '0' })).toEqual(totals.slice(0, 3))
  expect(await found({ total_max: '5' })).toEqual(totals.slice(0, 4))
  expect(await found({ total_min: '0' })).toEqual(totals.slice(2))
  expect(await found({ total_min: '5.000001' })).toEqual(['1000.00'])
  const { repairs, iva_trasladado } = await getCfdi(ctx, documents[0]!.uuid)
  expect([repairs, iva_trasladado]).toEqual([['negative_total'], '0.00'])
})

describe('1,000 documents of the largest amounts', () => {
  const target = newBook()
  const ctx = contextOf({ entity: target.entity }, { now: new Date('2026-03-10T18:00:00Z') })
  const search = async (query: Record<string, string> = {}) =>
    searchCfdi(ctx, CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: '100', ...query }))
  let outcomes: SliceOutcome[]

  it('are all ingested', async () => {
    expect(documents).toHaveLength(1_000)
    outcomes = await all(ingestZip(target, packageOf(documents)))
    expect(outcomes.map(({ created, rejected }) => [created, rejected])).toEqual([[1_000, 0]])
  })

  it('are added up to the last digit, without those whose figures do not fit', async () => {
    holdMessages()
    const query = { fiscal_entity_id: FISCAL_ENTITY, from: MONTH, to: MONTH }
    const summary = MonthlySummary.parse(await summarizeMonths(ctx, MonthlySummaryQuery.parse(query)))
    expect(summary.data_quality).toMatchObject({ cfdi_total: 1_000, with_xml: 1_000, missing_rate: 0, not_counted: 200 })
    const [issued, other] = summary.data
    expect(issued).toMatchObject({
      count: 550,
      by_tipo: { I: 452, P: 98 },
      total: text(351n * CENTS + 11_600n),
      iva_trasladado: text(351n * CENTS + 1_600n),
      pue_total: text(349n * CENTS + 11_600n),
      ppd_total: text(2n * CENTS),
    })
    expect(other).toMatchObject({ count: 450, total: text(300n * CENTS), credit_notes: text(50n * CENTS), net: text(250n * CENTS) })
    const report = SupplierReport.parse(await reportSuppliers(ctx, SupplierReportQuery.parse({ fiscal_entity_id: FISCAL_ENTITY })))
    expect(report).toMatchObject({
      data_quality: { cfdi_total: 450, with_xml: 450, missing_rate: 0, not_counted: 100 },
      monto_total: text(250n * CENTS),
      suppliers: [{ rfc: SUPPLIER, invoice_count: 400, total_amount: text(250n * CENTS) }],
    })
  })

  it('come in pages as they are, by their totals', async () => {
    const { data } = await search({ direction: 'received' })
    expect(data).toHaveLength(100)
    for (const { total, iva_trasladado, total_mxn, currency } of data)
      expect([total, iva_trasladado, total_mxn]).toEqual([LARGEST, LARGEST, currency === 'USD' ? null : LARGEST])
    const found: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await search({ total_max: '999999999999.999999', tipo_comprobante: 'I', ...(cursor && { cursor }) })
      found.push(...page.data.map(({ uuid }) => uuid))
      cursor = page.next_cursor
    }
    expect(found).toEqual([small.uuid])
    // A hundredth, and a millionth, makes a difference.
    const uuid = [small, invoice].map((one) => one.uuid).join()
    const uuids = async (query: Record<string, string>) => (await search({ uuid, ...query })).data.map((one) => one.uuid)
    expect(await uuids({ total_min: '116.000001' })).toEqual([invoice.uuid])
    expect(await uuids({ total_min: LARGEST, total_max: LARGEST })).toEqual([invoice.uuid])
    expect(await uuids({ total_min: `${LARGEST}0001` })).toEqual([])
    expect(await uuids({ total_max: LARGEST.replace(/9$/, '8') })).toEqual([small.uuid])
    // One is paid 98 times, so that nothing is left; of the other all is left.
    const balances = await search({ uuid: [invoice, unpaid].map((one) => one.uuid).join(), balance_min: '0.000001' })
    expect(balances.data).toMatchObject([{ uuid: unpaid.uuid, balance: LARGEST, payment_status: 'unpaid' }])
  })

  it('settle an invoice, and say by how much', async () => {
    expect(await listPayments(ctx, invoice.uuid)).toMatchObject({
      total: LARGEST,
      paid_amount: text(98n * CENTS),
      balance: '0.00',
      payment_status: 'paid',
    })
  })

  it('are told when they are cancelled, and take their amounts away again', async () => {
    const cancelled = await all(ingestMetadata(target, () => [documents.slice(0, 500).map((document) => reported(document, true))]))
    const notified = cancelled.flatMap(({ cancellations }) => cancellations)
    expect(notified).toHaveLength(500)
    const recipient = { fiscal_entity_uuid: FISCAL_ENTITY, rfc: RFC, known_at: 0, windows: EVERYTHING } as Parameters<
      typeof cancellationContents
    >[1]
    for (const one of notified) {
      const body = JSON.parse(JSON.stringify(cancellationBody(one, 0)))
      expect(cancellationContents(body, recipient)[0]).toMatchObject({ total: documents.find(({ uuid }) => uuid === one.uuid)!.total })
    }
    // The 452 invoices and 48 of the payments are cancelled.
    const query = { fiscal_entity_id: FISCAL_ENTITY, from: MONTH, to: MONTH, direction: 'issued' }
    const { data, data_quality } = await summarizeMonths(ctx, MonthlySummaryQuery.parse(query))
    expect(data[0]).toMatchObject({ count: 50, cancelled_count: 500, total: '0.00', iva_trasladado: '0.00', by_tipo: { P: 50 } })
    expect(data_quality).toMatchObject({ cfdi_total: 550, not_counted: 0 })
  })
})
