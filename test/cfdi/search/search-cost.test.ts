import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { contextOf, FISCAL_ENTITY, RFC } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { costOf } from '../../support/meter.ts'
import { applicationsOf, documents, insertApplications, insertCfdi, invoices, rowOf } from '../support/ledger.ts'

/** Rows that authentication reads: credential, organization, connection. */
const CONTROL_ROWS = 3
const SIZES = { 1: 1_000, 2: runs(6_000, 20_000) }
const CROWDED = 3
const BILLED = 4

beforeAll(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  for (const [entity, size] of Object.entries(SIZES)) {
    const rows = documents(Number(entity) + 100, size, '2025-01-01', 420, Number(entity))
    await insertCfdi(env.LEDGER_0, rows)
    await insertApplications(env.LEDGER_0, applicationsOf(rows))
  }
  // Payroll: thousands in one second.
  const payroll = documents(200, 3_000, '2025-06-01', 1, CROWDED).map(({ uuid }) =>
    rowOf({ entity: CROWDED, uuid, fecha: '2025-06-15T09:00:00', tipo_comprobante: 'N', metodo_pago: 'PUE', payment_status: null }),
  )
  await insertCfdi(env.LEDGER_0, payroll)
  const billed = invoices(300, 4_000, '2025-01-01', 700, BILLED)
  await insertCfdi(env.LEDGER_0, billed.rows)
  await insertApplications(env.LEDGER_0, billed.applications)
})

const SEES_ALL = { extractor_count: 0 }
const HAS_CEILING = { extractor_count: 2 }

/** What each of these pages read and wrote, with the rows of authentication. */
async function costs(
  entity: number,
  query: Record<string, string>,
  pages: readonly number[],
  window = SEES_ALL,
  ceiling = '2026-12-31T00:00:00Z',
) {
  const ctx = contextOf({ entity, visible_from: '2018-01-01', visible_to: Date.parse(ceiling) }, window)
  const read: { page: number; rows: number; data: number }[] = []
  let cursor: string | null = null
  for (let page = 1; page <= Math.max(...pages); page += 1) {
    const asked = CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query, ...(cursor && { cursor }) })
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => searchCfdi(ctx, asked))
    if (pages.includes(page)) {
      expect(cost).toMatchObject({ d1_calls: 1, rows_written: 0, r2_gets: 0 })
      read.push({ page, rows: cost.rows_read + CONTROL_ROWS, data: result.data.length })
    }
    if (!result.has_more) break
    cursor = result.next_cursor
  }
  return read
}

const INDEXED: Record<string, string>[] = [
  {},
  { direction: 'received' },
  { estatus: 'vigente' },
  { estatus: 'cancelado' },
  { direction: 'issued', estatus: 'vigente' },
  { tipo_comprobante: 'I' },
  { tipo_comprobante: 'N' },
  { tipo_comprobante: 'I', direction: 'issued' },
  { tipo_comprobante: 'I,E', direction: 'issued' },
  { payment_status: 'unpaid' },
  { payment_status: 'unpaid,partially_paid' },
  { payment_status: 'paid', direction: 'received' },
  { counterparty_rfc: 'BBB010101BB1' },
  { counterparty_rfc: 'BBB010101BB1', direction: 'issued' },
  { emisor_rfc: 'BBB010101BB1' },
  { emisor_rfc: RFC },
  { receptor_rfc: 'CCC010101CC1' },
  { receptor_rfc: RFC },
  { issued_from: '2025-02-01T00:00:00-06:00', issued_to: '2026-01-31T00:00:00-06:00' },
]

describe('rows read by a page of an indexed filter', () => {
  it.each(INDEXED)('are at most limit + 8, however many documents there are: %j', async (query) => {
    for (const limit of [25, 100]) {
      const asked = { ...query, limit: String(limit) }
      const small = await costs(1, asked, [1, 2, 20])
      const large = await costs(2, asked, [1, 2, 20])
      for (const { rows } of [...small, ...large]) expect(rows).toBeLessThanOrEqual(limit + 8)
      for (const { page, rows, data } of small) {
        const same = large.find((one) => one.page === page)
        if (data === limit && same?.data === limit) expect(rows).toBe(same.rows)
      }
      // Four streams take it all; with a ceiling two seeks more say that nothing was issued after it.
      const most = query['payment_status'] === 'unpaid,partially_paid' ? limit + 10 : limit + 8
      for (const { rows } of await costs(2, asked, [1, 2, 20], HAS_CEILING)) expect(rows).toBeLessThanOrEqual(most)
    }
  })

  it('are as few among thousands of one second', async () => {
    for (const { rows } of await costs(CROWDED, { limit: '25' }, [1, 2, 20, 100])) expect(rows).toBeLessThanOrEqual(33)
  })

  it('are at most three for each UUID', async () => {
    const uuid = documents(102, 100, '2025-01-01', 420)
      .map((row) => row.uuid)
      .join(',')
    for (const { rows } of await costs(2, { uuid, limit: '100' }, [1])) {
      expect(rows).toBeLessThanOrEqual(CONTROL_ROWS + 300)
    }
  })
})

describe('rows read by a page of a balance filter while payments are hidden', () => {
  it.each([{ payment_status: 'unpaid' }, { payment_status: 'paid' }, { balance_min: '1' }, { paid_from: '2026-01-01' }])(
    'are bounded: %j',
    async (query) => {
      for (const ceiling of ['2026-02-01T00:00:00Z', '2026-07-01T00:00:00Z'])
        for (const { rows } of await costs(BILLED, { ...query, limit: '25' }, [1, 2, 20], HAS_CEILING, ceiling))
          expect(rows).toBeLessThanOrEqual(25 + 2 * 250 + 11 + 250 * 5)
    },
  )
})

describe('rows read by a page of any other filter', () => {
  it.each([{ forma_pago: '99' }, { serie: 'nothing has it' }, { counterparty_rfc: RFC, tipo_comprobante: 'I' }, { total_min: '9990' }])(
    'are bounded: %j',
    async (query) => {
      for (const { rows } of await costs(2, { ...query, limit: '25' }, [1, 2, 20])) {
        expect(rows).toBeLessThanOrEqual(25 + 2 * 250 + 11)
      }
    },
  )
})
