import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { cancellationInProcess, satNotFound } from '../../src/analytics/risk/flags.ts'
import { inlined } from '../../src/platform/db/statement.ts'
import { all, newBook, reported } from '../cfdi/support/book.ts'
import { type Plain, plainOf, RFC, xmlOf } from '../cfdi/support/documents.ts'
import { ingestZip } from '../cfdi/support/ingest-zip.ts'
import { contextOf } from '../support/context.ts'
import { costOf } from '../support/meter.ts'
import { randomOf } from '../support/random.ts'
import { zipOf } from '../support/zip.ts'
import type { Ask } from './support/compare.ts'
import { requester } from './support/seeded.ts'

const [CUSTOMER, SUPPLIER, OTHER, PERSON] = ['BBB020202BB1', 'DDD040404DD3', 'CCC030303CC2', 'EEEE850505EE4']
const random = randomOf(23)
const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`

interface More {
  forma?: string
  uso?: string
  regimen?: string
}

/** A document of 2026 with a net amount and 16 % of IVA. */
const documentOf = (
  n: number,
  day: string,
  net: number,
  plain: Partial<Plain>,
  { forma = '03', uso = 'G03', regimen = '601' }: More = {},
) => {
  const document = plainOf(random, day.slice(0, 7), {
    ...{ uuid: uuid(n), tipo: 'I', metodo: 'PUE', fecha: `${day}T10:00:00`, lines: 1 },
    ...{ subtotal: net.toFixed(2), iva: (net * 0.16).toFixed(2), total: (net * 1.16).toFixed(2) },
    ...plain,
  })
  const xml = xmlOf(document)
    .replace('FormaPago="99"', `FormaPago="${forma}"`)
    .replace('UsoCFDI="G03"', `UsoCFDI="${uso}"`)
    .replace('Nombre="EMPRESA DE PRUEBA" RegimenFiscal="601"', `Nombre="EMPRESA DE PRUEBA" RegimenFiscal="${regimen}"`)
  return { document, xml }
}
const bought = (emisor: string): Partial<Plain> => ({ emisor, receptor: RFC })
const sold: Partial<Plain> = { receptor: CUSTOMER }

/**
 * On 10 March 2026. 1: bought in cash for 3,480 of a supplier that is presumed to invoice nothing: 25 + 50. 2: sold on credit on 10 January
 * and not paid, which is 59 days, with the form 03: 30 + 15. 3 and 4: the same sale of 77 twice: 20 each. 5: a sale that was paid at once and
 * cancelled: 80. 6: a fee of 10,000 of a person under regime 612 without retentions: 25. 7: a computer of 10,000: nothing.
 */
const DOCUMENTS = [
  documentOf(1, '2026-01-05', 3_000, bought(SUPPLIER), { forma: '01' }),
  documentOf(2, '2026-01-10', 100, { ...sold, metodo: 'PPD' }),
  documentOf(3, '2026-02-05', 77, sold),
  documentOf(4, '2026-02-05', 77, sold),
  documentOf(5, '2026-02-06', 500, sold),
  documentOf(6, '2026-02-10', 10_000, bought(PERSON), { regimen: '612' }),
  documentOf(7, '2026-02-11', 10_000, bought(OTHER), { uso: 'I04' }),
]
const RANGE = { from: '2026-01', to: '2026-03' }

let ask: Ask

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  const book = newBook()
  const files = DOCUMENTS.map(({ document, xml }) => ({ name: `${document.uuid}.xml`, bytes: new TextEncoder().encode(xml) }))
  const statuses = new Map(DOCUMENTS.map(({ document }, n) => [document.uuid, reported(document, n === 4)]))
  const [outcome] = await all(ingestZip({ ...book, rfc: RFC }, zipOf(files), statuses))
  expect(outcome).toMatchObject({ created: DOCUMENTS.length, rejected: 0 })
  await env.DB.batch([
    env.DB.prepare("insert into blacklist_lists (organization_id, source, version, row_count) values ('', 'sat_69b', 1, 1)"),
    env.DB.prepare(
      "insert into blacklist_entries (organization_id, source, rfc, name, situacion, history) values ('', 'sat_69b', ?, 'X', 'presunto', ?)",
    ).bind(SUPPLIER, '[["presunto",null,"2026-02-01",null]]'),
  ])
  ask = requester(
    contextOf({ entity: book.entity, connection: book.entity, rfc: RFC, listed: JSON.stringify({ 'sat_69b|presunto': [SUPPLIER] }) }),
  )
})

describe('risk by hand', () => {
  const codesOf = (row: Record<string, unknown>) => (row['flags'] as { code: string }[]).map(({ code }) => code)

  it('ranks the documents by their flags', async () => {
    const { data } = await ask('/cfdi/risk', RANGE)
    expect(data.map((row) => [row['uuid'], row['score'], row['level'], row['total_mxn'], codesOf(row)])).toEqual([
      [uuid(5), 80, 'critical', '580.00', ['cancelled_after_payment']],
      [uuid(1), 75, 'critical', '3480.00', ['counterparty_69b_presunto', 'cash_over_2000']],
      [uuid(2), 45, 'high', '116.00', ['ppd_missing_complement', 'ppd_forma_not_99']],
      [uuid(6), 25, 'medium', '11600.00', ['withholding_missing']],
      [uuid(3), 20, 'medium', '89.32', ['duplicate_suspected']],
      [uuid(4), 20, 'medium', '89.32', ['duplicate_suspected']],
    ])
  })

  it('says what each flag rests on', async () => {
    const { data } = await ask('/cfdi/risk', RANGE)
    const evidence = (n: number, at: number) => (data[n]!['flags'] as { evidence: object }[])[at]!.evidence
    expect([evidence(4, 0), evidence(5, 0)]).toMatchObject([{ uuid: uuid(4) }, { uuid: uuid(3) }])
    expect(evidence(1, 0)).toEqual({
      ...{ source: 'sat_69b', situacion: 'presunto', listed_at: '2026-02-01', dof_at: '2026-02-01', issued_before_listing: true },
    })
    expect(evidence(1, 1)).toEqual({ forma_pago: '01', total_mxn: '3480.00', limit: '2000.00' })
    expect(evidence(2, 0)).toEqual({ age_days: 59 })
    // ISR: 10 % of 10,000; IVA: two thirds of 1,600.
    expect(evidence(3, 0)).toEqual({
      ...{ concept_class: 'honorarios', expected_isr: '1000.00', expected_iva: '1066.67', isr_retenido: '0.00', iva_retenido: '0.00' },
    })
  })

  it('is filtered by level, code, direction and amount, and pages in the same order', async () => {
    const uuids = async (query: Record<string, string>) => (await ask('/cfdi/risk', { ...RANGE, ...query })).data.map((row) => row['uuid'])
    expect(await uuids({ level: 'critical,high' })).toEqual([uuid(5), uuid(1), uuid(2)])
    expect(await uuids({ level: 'low' })).toEqual([])
    expect(await uuids({ code: 'cash_over_2000,duplicate_suspected' })).toEqual([uuid(1), uuid(3), uuid(4)])
    expect(await uuids({ direction: 'received' })).toEqual([uuid(1), uuid(6)])
    expect(await uuids({ min_total: '580' })).toEqual([uuid(5), uuid(1), uuid(6)])
    const first = await ask('/cfdi/risk', { ...RANGE, limit: '5' })
    const second = await ask('/cfdi/risk', { ...RANGE, limit: '5', cursor: first.next_cursor! })
    expect([first.has_more, second.data.map((row) => row['uuid']), second.has_more]).toEqual([true, [uuid(4)], false])
  })

  it('has rules for what the authority answers to the organization’s own status checks', async () => {
    const at = Date.parse('2026-03-04T18:00:00Z')
    const checks = [
      [{ fe_one: [at, 'no_encontrado', null, null, at] }, '2026-03-01T11:59:59'],
      [{ fe_one: [at, 'no_encontrado', null, null, at] }, '2026-03-01T12:00:00'],
      [{ fe_one: [at, 'vigente', null, 'en_proceso', at] }, '2025-01-01T00:00:00'],
      [{ fe_two: [at, 'no_encontrado', null, 'en_proceso', at] }, '2025-01-01T00:00:00'],
      [null, '2025-01-01T00:00:00'],
    ]
    const { results } = await env.DB.prepare(
      `select coalesce(${inlined(cancellationInProcess('fe_one'))}, 0) as asked, coalesce(${inlined(satNotFound('fe_one', 72))}, 0) as missing
       from (select value->>1 as certified_at, value->>0 as status_checks from json_each(?)) own`,
    )
      .bind(JSON.stringify(checks))
      .all()
    // Seventy-two hours after noon of 1 March, in the time of Mexico City. What another organization was answered does not count.
    expect(results.map(({ asked, missing }) => [asked, missing])).toEqual([
      [0, 1],
      [0, 0],
      [1, 0],
      [0, 0],
      [0, 0],
    ])
  })
})

describe('deductions of a company by hand', () => {
  it('states what can be deducted, and adds it up', async () => {
    const { data, ...answer } = await ask('/cfdi/deductions', RANGE)
    expect(
      data.map((row) => [row['uuid'], row['category'], row['gross_amount'], row['deductible_amount'], row['status'], row['reasons']]),
    ).toEqual([
      [uuid(1), 'expense', '3000.00', '0.00', 'not_deductible', ['cash_over_2000']],
      [uuid(6), 'expense', '10000.00', '10000.00', 'eligible', []],
      [uuid(7), 'investment', '10000.00', '3000.00', 'eligible', []],
    ])
    expect(answer['totals']).toMatchObject([
      { year: '2026', category: 'expense', gross_amount: '13000.00', deductible_amount: '10000.00', review_amount: '0.00', limit: null },
      { year: '2026', category: 'investment', gross_amount: '10000.00', deductible_amount: '3000.00' },
    ])
    const entries = await ask('/cfdi/deductions/entries', { ...RANGE, figure: 'deductible_amount', year: '2026', category: 'expense' })
    expect(entries.data).toEqual([{ uuid: uuid(6), amount: '10000.000000', applies_to: null }])
  })
})

/**
 * Suppliers: 3,000 + 10,000 + 10,000 = 23,000; (9 + 100 + 100) ÷ 23² × 10,000 = 3,950.9. One customer: 10,000. One of four sales is cancelled.
 * The sale on credit was due on 9 February.
 */
describe('indicators of risk by hand', () => {
  it('measure, compare with thresholds, and lead to their documents', async () => {
    const { data } = await ask('/analytics/risk', RANGE)
    expect(data.map((row) => [row['key'], row['value'], row['risky'], row['sample_size']])).toEqual([
      ['tax_compliance', null, false, 0],
      ['blacklist_status', null, false, 1],
      ['blacklisted_counterparties', 1, true, 4],
      ['intercompany_share', '0.00', false, 6],
      ['customer_concentration', 10_000, true, 3],
      ['supplier_concentration', 3_951, true, 3],
      ['foreign_exchange_share', '0.00', false, 3],
      ['cash_share', '0.00', false, 3],
      ['cancelled_issued_rate', '25.00', true, 4],
      ['cancelled_received_rate', '0.00', false, 3],
      ['ppd_overdue_share', '100.00', true, 1],
      ['repse_at_risk_share', '0.00', false, 3],
    ])
    const entries = await ask('/analytics/risk/entries', { ...RANGE, figure: 'blacklisted_counterparties' })
    expect(entries.data).toEqual([{ uuid: uuid(1), amount: '3000.000000', applies_to: null }])
  })
})

describe('what the surfaces of risk cost', () => {
  it('three D1 calls beside authentication at most, and rows of the range alone', async () => {
    const costs: Record<string, unknown> = {}
    for (const path of ['/cfdi/risk', '/cfdi/deductions', '/analytics/risk'] as const) {
      const { cost } = await costOf(env.LEDGER_0, env.FILES, () => ask(path, RANGE))
      const { cost: before } = await costOf(env.LEDGER_0, env.FILES, () => ask(path, { from: '2024-01', to: '2024-12' }))
      costs[path] = [cost.d1_calls, cost.rows_read, before.rows_read, cost.rows_written]
    }
    // A year before the documents reads the months and lists alone: nothing of the range's documents.
    expect(costs).toEqual({ '/cfdi/risk': [3, 118, 29, 0], '/cfdi/deductions': [3, 83, 31, 0], '/analytics/risk': [3, 55, 35, 0] })
  })
})
