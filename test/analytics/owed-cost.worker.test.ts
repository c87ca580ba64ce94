import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { FinancingQuery } from '../../src/analytics/financing/contract.ts'
import { getFinancing } from '../../src/analytics/financing/financing.ts'
import { FxQuery } from '../../src/analytics/fx/contract.ts'
import { getFxExposure } from '../../src/analytics/fx/fx.ts'
import { VatQuery } from '../../src/analytics/vat/contract.ts'
import { getVatPosition } from '../../src/analytics/vat/vat.ts'
import { newBook } from '../cfdi/support/book.ts'
import { insertCfdi, rowOf } from '../cfdi/support/ledger.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../support/context.ts'
import { costOf } from '../support/meter.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

const { entity } = newBook()
let number = 0

/** Invoices on noon of the days of a month, three a day. */
const invoices = (month: string, count: number, payment_status: 'paid' | 'unpaid', more: object = {}) =>
  Array.from({ length: count }, (_, n) => {
    const uuid = `00000000-0000-4000-8000-${String(++number).padStart(12, '0')}`
    const fecha = `${month}-${String(1 + (n % 28)).padStart(2, '0')}T12:00:00`
    const amounts = { total: '116.00', net_mxn: 100_000_000, paid: payment_status === 'paid' ? 116_000_000 : 0 }
    return {
      ...rowOf({ entity, uuid, fecha, metodo_pago: 'PPD', counterparty_rfc: `BBB0202${10 + (n % 20)}BB1` }),
      ...amounts,
      payment_status,
      ...more,
    }
  })

const DOLLARS = { currency: 'USD', tipo_cambio: '18' }

describe('the rows that figures of a day read', () => {
  // The window ends after everything: a ceiling that hides nothing costs nothing.
  const ctx = () => contextOf({ entity, connection: entity, ...reaching(['2018-01-01', '2026-03-10T17:00:00Z']) }, { extractor_count: 1 })
  const rowsOf = async (work: () => Promise<unknown>) => {
    await work()
    const { cost } = await costOf(env.LEDGER_0, env.FILES, work)
    return { rows: cost.rows_read, calls: cost.d1_calls }
  }
  const financing = () => rowsOf(() => getFinancing(ctx(), FinancingQuery.parse({ fiscal_entity_id: FISCAL_ENTITY })))
  const fx = () => rowsOf(() => getFxExposure(ctx(), FxQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, from: '2026-01', to: '2026-03' })))
  const vat = () => rowsOf(() => getVatPosition(ctx(), VatQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, from: '2026-01', to: '2026-03' })))

  it('grow with what is open and with the range, not with what is settled and outside of it', async () => {
    await insertCfdi(env.LEDGER_0, [...invoices('2026-01', 60, 'unpaid'), ...invoices('2026-02', 40, 'paid', DOLLARS)] as never)
    const before = [await financing(), await fx(), await vat()]
    await insertCfdi(env.LEDGER_0, [...invoices('2024-05', 300, 'paid'), ...invoices('2025-08', 300, 'paid', DOLLARS)] as never)
    expect([await financing(), await fx(), await vat()]).toEqual(before)
    expect(before.map(({ calls }) => calls)).toEqual([3, 2, 3])
    await insertCfdi(env.LEDGER_0, invoices('2024-06', 100, 'unpaid') as never)
    const owed = await financing()
    // Its entry in the index, its row, and its place in the groups.
    expect(owed.rows - before[0]!.rows).toBe(3 * 100)
  })
})
