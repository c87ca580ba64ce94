import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { VatQuery } from '../../src/analytics/vat/contract.ts'
import { getVatPosition } from '../../src/analytics/vat/vat.ts'
import { all, newBook } from '../cfdi/support/book.ts'
import { CUSTOMERS, packageOf, plainOf } from '../cfdi/support/documents.ts'
import { ingestZip } from '../cfdi/support/ingest-zip.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../support/context.ts'
import { costOf } from '../support/meter.ts'
import { randomOf } from '../support/random.ts'

/** What breaks without it: 2,000 returns of a global invoice read twelve million rows, and more of them were out of memory for everybody. */
it.each([
  ['paid at once', 'PUE', '580.00', 40],
  ['paid at once, with notes of more than its total', 'PUE', '58000.00', 40],
  ['paid later', 'PPD', '580.00', 60],
] as const)('each credit note of an invoice that is %s costs the same rows, whatever their number', async (_, metodo, amount, most) => {
  const random = randomOf(7)
  const target = newBook('import')
  const parties = { receptor: CUSTOMERS[0]!, lines: 1 }
  const invoice = plainOf(random, '2026-01', { ...parties, metodo, subtotal: '1000000.00', iva: '160000.00', total: '1160000.00' })
  const paid = { uuid: invoice.uuid, pagado: '580000.00', moneda: 'MXN' }
  const payment = plainOf(random, '2026-01', {
    receptor: CUSTOMERS[0]!,
    tipo: 'P',
    pagos: [{ fecha: '2026-01-31T12:00:00', documentos: [paid] }],
  })
  await all(ingestZip(target, packageOf(metodo === 'PPD' ? [invoice, payment] : [invoice])))
  const { entity } = target
  const ctx = contextOf({ entity, connection: entity, ...reaching(['2018-01-01', '2026-03-10T17:00:00Z']) }, { extractor_count: 1 })
  const query = VatQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, from: '2026-01', to: '2026-03' })
  const rowsWith = async (notes: number): Promise<number> => {
    const relacion = { tipo: '01', uuids: [invoice.uuid] }
    const note = () => plainOf(random, '2026-02', { ...parties, tipo: 'E', subtotal: amount, iva: '0.00', total: amount, relacion })
    await all(ingestZip(target, packageOf(Array.from({ length: notes }, note))))
    const { cost } = await costOf(env.LEDGER_0, env.FILES, () => getVatPosition(ctx, query))
    return cost.rows_read
  }
  await rowsWith(0)
  const [first, second, third] = [await rowsWith(50), await rowsWith(50), await rowsWith(100)]
  expect(Math.abs(third! - second! - 2 * (second! - first!))).toBeLessThanOrEqual(200)
  expect(third! / 200).toBeLessThan(most)
})
