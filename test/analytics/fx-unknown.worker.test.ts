import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, expect, it } from 'vitest'
import { all, newBook } from '../cfdi/support/book.ts'
import { packageOf, paymentOf, plainOf, RFC } from '../cfdi/support/documents.ts'
import { ingestZip } from '../cfdi/support/ingest-zip.ts'
import { contextOf } from '../support/context.ts'
import { randomOf } from '../support/random.ts'
import { type Ask, wholeOf } from './support/compare.ts'
import { requester } from './support/seeded.ts'

const random = randomOf(77)
const RANGE = { from: '2026-01', to: '2026-03' }
const NO_CODE = '=1+1'

let ask: Ask

/** A sale in Swiss francs, of which nobody publishes a rate here, and a payment of it whose own rate is zero; a sale in no currency there is. */
const sale = plainOf(random, '2026-02', { metodo: 'PPD', moneda: 'CHF', tipo_cambio: '20', fecha: '2026-02-03T10:00:00' })
const complement = paymentOf(random, '2026-02', [sale])
const payment = { ...complement, pagos: complement.pagos.map((one) => ({ ...one, moneda: ['CHF', '0'] as [string, string] })) }
const exactRow = plainOf(random, '2026-02', { moneda: NO_CODE, tipo_cambio: '2', subtotal: '100.00', iva: '0', total: '100.00' })

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  const book = { ...newBook(), rfc: RFC }
  const [outcome] = await all(ingestZip(book, packageOf([sale, payment, exactRow])))
  expect(outcome).toMatchObject({ created: 3, rejected: 0 })
  ask = requester(contextOf({ entity: book.entity, connection: book.entity, rfc: RFC, listed: '{}' }))
})

it('a payment whose rate nobody knows is not reconciled, and is listed as such', async () => {
  const { data_quality } = await ask('/analytics/fx-exposure', RANGE)
  const { data } = await ask('/analytics/fx-exposure/entries', { ...RANGE, figure: 'unreconciled_payments' })
  expect([(data_quality as { unreconciled_payments: number }).unreconciled_payments, data.length]).toEqual([1, 1])
  expect(data).toMatchObject([{ uuid: payment.uuid, applies_to: sale.uuid }])
})

it('a currency that is no code has a row, and its figures lead to their documents', async () => {
  const { data } = await ask('/analytics/fx-exposure', RANGE)
  const row = data.find(({ currency }) => currency === NO_CODE)!
  expect(row).toMatchObject({ issued_amount: '100.00', issued_mxn: '200.00' })
  for (const figure of ['issued_amount', 'issued_mxn']) {
    const url = new URL((row['drilldown'] as Record<string, string>)[figure]!, 'https://service')
    const query = Object.fromEntries([...url.searchParams].filter(([name]) => name !== 'fiscal_entity_id'))
    expect((await wholeOf(ask, '/analytics/fx-exposure/entries', query)).data).toMatchObject([{ uuid: exactRow.uuid }])
  }
})
