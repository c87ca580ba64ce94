import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { VatEntriesQuery, VatQuery } from '../../src/analytics/vat/contract.ts'
import { getVatPosition, listVatEntries } from '../../src/analytics/vat/vat.ts'
import { all, newBook } from '../cfdi/support/book.ts'
import { CUSTOMERS, type Plain, packageOf, plainOf, RFC } from '../cfdi/support/documents.ts'
import { ingestZip } from '../cfdi/support/ingest-zip.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../support/context.ts'
import { costOf } from '../support/meter.ts'
import { randomOf, uuidFrom } from '../support/random.ts'

/**
 * What breaks without it: 2,000 returns of a global invoice read twelve million rows, and so did 1,000 of a purchase that was paid in 1,000
 * parts. More of them were out of memory for everybody.
 */
it.each([
  ['paid at once', 'PUE', '580.00', 0, 45],
  ['paid at once, with notes of more than its total', 'PUE', '58000.00', 0, 45],
  ['paid later', 'PPD', '580.00', 1, 65],
  ['paid in parts, with notes of more than its total', 'PPD', '58000.00', 200, 75],
  ['a purchase paid in parts, with notes of more than its total', 'PPD', '58000.00', 200, 90],
] as const)(
  'each credit note of an invoice that is %s costs the same rows, whatever their number',
  async (name, metodo, amount, parts, most) => {
    const random = randomOf(7)
    const target = newBook('import')
    const who = name.startsWith('a purchase') ? { emisor: CUSTOMERS[0]!, receptor: RFC } : { receptor: CUSTOMERS[0]! }
    const parties = { ...who, lines: 1 }
    const invoice = plainOf(random, '2026-01', { ...parties, metodo, subtotal: '1000000.00', iva: '160000.00', total: '1160000.00' })
    const payments = Array.from({ length: parts }, (_, n) => {
      const documentos = [{ uuid: invoice.uuid, pagado: (580_000 / parts).toFixed(2), moneda: 'MXN' }]
      return plainOf(random, '2026-01', { ...who, tipo: 'P', pagos: [{ fecha: `2026-01-${10 + (n % 20)}T12:00:00`, documentos }] })
    })
    await all(ingestZip(target, packageOf([invoice, ...payments])))
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
    expect(Math.abs(third! - second! - 2 * (second! - first!))).toBeLessThanOrEqual(200 + 5 * parts)
    expect(third! / 200).toBeLessThan(most)
  },
)

/** What breaks without it: thirty notes of 10,000 invoices that nobody has stored were as many rows as that, for which SQLite has no memory. */
it('a credit note of thousands of invoices returns what it takes off those that are not shown as one part', async () => {
  const random = randomOf(8)
  const parties = { receptor: CUSTOMERS[0]!, lines: 1, metodo: 'PUE' as const }
  const invoice = plainOf(random, '2026-01', { ...parties, subtotal: '1000.00', iva: '160.00', total: '1160.00' })
  const note = (uuids: string[]) =>
    plainOf(random, '2026-02', {
      ...{ ...parties, tipo: 'E', subtotal: '1000.00', iva: '160.00', total: '1160.00', fecha: '2026-02-05T12:00:00' },
      relacion: uuids.length === 0 ? null : { tipo: '01', uuids },
    })
  const unknown = (count: number) => Array.from({ length: count }, () => uuidFrom(random))
  const askedOf = async (...documents: Plain[]) => {
    const target = newBook('import')
    await all(ingestZip(target, packageOf([invoice, ...documents])))
    const { entity } = target
    const ctx = contextOf({ entity, connection: entity, ...reaching(['2018-01-01', '2026-03-10T17:00:00Z']) }, { extractor_count: 1 })
    const range = { fiscal_entity_id: FISCAL_ENTITY, from: '2026-02', to: '2026-02' }
    const { data } = await getVatPosition(ctx, VatQuery.parse(range))
    const entries = await listVatEntries(ctx, VatEntriesQuery.parse({ ...range, figure: 'cobrado.iva_16' }))
    return { cobrado: data.map(({ cobrado }) => cobrado), entries: entries.data }
  }
  const [many, none, some] = [
    await askedOf(note(unknown(4_000))),
    await askedOf(note([])),
    await askedOf(note([...unknown(199), invoice.uuid])),
  ]
  expect(none.cobrado).toMatchObject([{ iva_16: '-160.00' }])
  expect([many.cobrado, some.cobrado]).toEqual([none.cobrado, none.cobrado])
  expect(many.entries).toMatchObject([{ amount: '-160.000000', applies_to: null }])
  expect(some.entries.map(({ applies_to }) => applies_to).sort()).toEqual([invoice.uuid, null])
})
