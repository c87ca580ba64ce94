import { env } from 'cloudflare:workers'
import { sql } from 'drizzle-orm'
import { expect, it } from 'vitest'
import { cashEvents } from '../../../src/cfdi/cash/events.ts'
import { type ExactEvent, exactAmounts } from '../../../src/cfdi/cash/exact-amounts.ts'
import { parseSum, sumOf } from '../../../src/cfdi/population/population.ts'
import { prepared } from '../../../src/platform/db/statement.ts'
import { openLedger, partitionsToRead } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import { contextOf, reaching } from '../../support/context.ts'
import { randomOf } from '../../support/random.ts'
import { all, newBook } from '../support/book.ts'
import { CUSTOMERS, type Plain, packageOf, plainOf, RFC } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'

const random = randomOf(16)
const MONTH = { first: '2025-03-01', last: '2025-03-31' }

const invoice = (day: string, total: [subtotal: string, iva: string, total: string], more: Partial<Plain> = {}): Plain => {
  const [subtotal, iva, sum] = total
  return plainOf(random, day.slice(0, 7), {
    ...{ tipo: 'I', metodo: 'PUE', fecha: `${day}T10:00:00`, subtotal, iva, total: sum, lines: 1 },
    ...more,
  })
}
const complement = (
  day: string,
  paid: [day: string, invoice: Plain, amount: string, moneda?: string][],
  more: Partial<Plain> = {},
): Plain =>
  plainOf(random, day.slice(0, 7), {
    ...{ tipo: 'P', fecha: `${day}T10:00:00`, receptor: paid[0]![1].receptor },
    pagos: paid.map(([on, { uuid }, pagado, moneda]) => ({
      fecha: `${on}T12:00:00`,
      documentos: [{ uuid, pagado, moneda: moneda ?? 'MXN' }],
    })),
    ...more,
  })

/** The events of a book: those that count with their amounts, and why the others do not. */
async function eventsOf(documents: readonly Plain[]) {
  const import_partition = newBook()
  const [outcome] = await all(ingestZip(import_partition, packageOf(documents)))
  expect(outcome).toMatchObject({ created: documents.length, rejected: 0 })
  const ledger = openLedger(contextOf({ entity: import_partition.entity, rfc: RFC, ...reaching(null) }, { extractor_count: 0 }))
  const [partition] = partitionsToRead(ledger)
  const events = cashEvents(partition!, 0, MONTH)!
  const { results } = await prepared(env.LEDGER_0, sql`select * from (${events}) order by day, n`).all<
    Record<string, string | number | null> & ExactEvent
  >()
  const sums = await prepared(
    env.LEDGER_0,
    sql`select ${sumOf('paid')} as paid, ${sumOf('iva_16')} as iva from (${events}) where reason is null and needs_exact = 0`,
  ).first<Record<string, string>>()
  return {
    sums: [parseSum(sums!['paid']!), parseSum(sums!['iva']!)].map(Number),
    events: results.map((row) => {
      if (row['reason'] !== null) return row['reason']
      const exact = row['needs_exact'] === 1 ? exactAmounts(row, () => null) : row
      return typeof exact === 'string'
        ? exact
        : [row['tipo'], row.day, Number(exact['paid']), Number(exact['net']), Number(exact['iva_16'])]
    }),
  }
}

it('an invoice paid at once is one event, a credit note a negative one, and complements are in proportion to the invoice', async () => {
  const [pue, ppd, before] = [
    invoice('2025-03-02', ['100.00', '16.00', '116.00']),
    invoice('2025-03-03', ['300.00', '48.00', '348.00'], { metodo: 'PPD' }),
    invoice('2024-06-03', ['200.00', '32.00', '232.00'], { metodo: 'PPD' }),
  ]
  const note = invoice('2025-03-04', ['50.00', '8.00', '58.00'], { tipo: 'E', receptor: pue.receptor })
  const documents = [pue, ppd, before, note]
  const paid = [
    complement('2025-03-10', [
      ['2025-03-05', ppd, '100.00'],
      ['2025-04-05', ppd, '100.00'],
    ]),
    // Issued nine months after its payment, and for an invoice of another year.
    complement('2025-12-20', [['2025-03-20', before, '232.00']]),
  ]
  const { events, sums } = await eventsOf([...documents, ...paid])
  // 300 × 100 ÷ 348 = 86.206897, 48 × 100 ÷ 348 = 13.793103. The complement states no taxes, so a caller computes it.
  expect(events).toEqual([
    ['I', '2025-03-02', 116e6, 100e6, 16e6],
    ['E', '2025-03-04', -58e6, -50e6, -8e6],
    ['P', '2025-03-05', 100e6, 86_206_897, 13_793_103],
    ['P', '2025-03-20', 232e6, 200e6, 32e6],
  ])
  expect(sums).toEqual([290e6, 40e6])
})

it('an invoice paid at once to which a complement refers is paid by it', async () => {
  const pue = invoice('2025-03-02', ['100.00', '16.00', '116.00'])
  const { events } = await eventsOf([pue, complement('2025-03-10', [['2025-03-09', pue, '116.00']])])
  expect(events).toEqual([['P', '2025-03-09', 116e6, 100e6, 16e6]])
})

it('says why a paid part is no event', async () => {
  const ppd = invoice('2025-03-03', ['300.00', '48.00', '348.00'], { metodo: 'PPD' })
  const newer = invoice('2025-03-06', ['300.00', '48.00', '348.00'], { metodo: 'PPD', receptor: ppd.receptor, sustituye: [ppd.uuid] })
  const dollars = invoice('2025-03-04', ['10.00', '1.60', '11.60'], { metodo: 'PPD', moneda: 'USD', tipo_cambio: '20' })
  const unknown = invoice('2025-03-03', ['1.00', '0.16', '1.16'])
  const { events } = await eventsOf([
    ppd,
    newer,
    dollars,
    complement('2025-03-10', [['2025-03-05', ppd, '100.00']]),
    complement('2025-03-10', [['2025-03-06', unknown, '1.16']]),
    complement('2025-03-10', [['2025-03-07', dollars, '232.00', 'MXN']]),
    complement('2025-03-10', [['2025-03-08', newer, '10.00']], { receptor: CUSTOMERS[0] }),
  ])
  expect(events).toEqual(['substituted', 'unknown', 'currency_mismatch', ['P', '2025-03-08', 10e6, 8_620_690, 1_379_310]])
})
