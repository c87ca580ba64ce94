import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { zipOf } from '../../support/zip.ts'
import { all, newBook, reported } from '../support/book.ts'
import { type Plain, packageOf, paymentOf, plainOf, RFC, thousand, xmlOf } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'

const meter = <T>(work: () => Promise<T>) => costOf(env.LEDGER_0, env.FILES, work)
const applicationsOf = (documents: readonly Plain[]) =>
  documents.reduce(
    (sum, { relacion, pagos }) => sum + (relacion?.uuids.length ?? 0) + pagos.reduce((n, { documentos }) => n + documentos.length, 0),
    0,
  )

describe('a package of 1,000 documents of a month, whose payments are of an earlier month', () => {
  const random = randomOf(1)
  const earlier = thousand(random, '2025-01', [])
  const documents = thousand(random, '2025-02', earlier)
  const bytes = packageOf(documents)
  const target = newBook()
  const job = {
    ...target,
    sideStatements: () => [env.LEDGER_0.prepare('update entities set rfc = rfc where entity = ?').bind(target.entity)],
  }

  it('costs at most 5 rows written a document, one put and 5 calls', async () => {
    await all(ingestZip(target, packageOf(earlier)))
    const { cost, result } = await meter(() => all(ingestZip(job, bytes)))
    expect(result).toMatchObject([{ created: 1_000, rejected: 0 }])
    expect((cost.rows_written - applicationsOf(documents)) / 1_000).toBeLessThanOrEqual(5)
    expect(cost).toEqual({ d1_calls: 3, d1_statements: 13, rows_read: 5_117, rows_written: 5_247, r2_puts: 1, r2_gets: 0 })
  })

  it('costs nothing again: one call that reads each row once', async () => {
    const { cost, result } = await meter(() => all(ingestZip(target, bytes)))
    expect(result).toMatchObject([{ created: 0, unchanged: 1_000 }])
    expect(cost).toEqual({ d1_calls: 1, d1_statements: 2, rows_read: 2_001, rows_written: 0, r2_puts: 0, r2_gets: 0 })
  })

  it('writes but the side statements again', async () => {
    const { cost } = await meter(() => all(ingestZip(job, bytes)))
    expect(cost).toMatchObject({ d1_calls: 2, rows_written: 1, r2_puts: 0 })
  })

  it('costs a few rows a cancellation, and nothing when it is told again', async () => {
    const chosen = new Set(
      ['PPD', 'PPD', 'PUE', 'PUE', 'PUE'].map((metodo, i) => documents.filter((it) => it.tipo === 'I' && it.metodo === metodo)[i]?.uuid),
    )
    for (const tipo of ['P', 'E', 'N']) chosen.add(documents.find((it) => it.tipo === tipo)?.uuid)
    const rows = documents.map((document) => reported(document, chosen.has(document.uuid)))
    const { cost, result } = await meter(() => all(ingestMetadata(target, () => [rows])))
    expect(result).toMatchObject([{ cancelled: 8, unchanged: 992 }])
    expect(cost).toMatchObject({ d1_calls: 4, r2_puts: 0, r2_gets: 0 })
    expect(cost.rows_written / 8).toBeLessThanOrEqual(5)
    const again = await meter(() => all(ingestMetadata(target, () => [rows])))
    expect(again.cost).toMatchObject({ d1_calls: 1, rows_read: 2_001, rows_written: 0 })
  })
})

it('a package of 1,000 documents received from 700 suppliers costs as much, its suppliers four rows of it', async () => {
  const random = randomOf(5)
  const supplier = (n: number) => `SUP${String(100_101 + Math.floor(n / 10)).slice(0, 6)}A${'ABCDEFGHIJ'[n % 10]}${(n * 7) % 10}`
  // Payments and credit notes are the suppliers' whose invoices they name.
  const suppliers = new Map<string, string>()
  const named = ({ relacion, pagos }: Plain) => relacion?.uuids[0] ?? pagos[0]?.documentos[0]?.uuid ?? ''
  const received = (list: Plain[]) =>
    list.map((it, n): Plain => {
      const emisor = suppliers.get(named(it)) ?? supplier(n % 700)
      suppliers.set(it.uuid, emisor)
      return { ...it, emisor, receptor: RFC }
    })
  const earlier = received(thousand(random, '2025-01', []))
  const documents = received(thousand(random, '2025-02', earlier))
  const target = newBook()
  await all(ingestZip(target, packageOf(earlier)))
  const { cost, result } = await meter(() => all(ingestZip(target, packageOf(documents))))
  expect(result).toMatchObject([{ created: 1_000, rejected: 0 }])
  expect((cost.rows_written - applicationsOf(documents)) / 1_000).toBeLessThanOrEqual(5)
  expect(cost).toMatchObject({ d1_calls: 3, d1_statements: 14, r2_puts: 1 })
  const kept = await env.LEDGER_0.prepare('select count(*) from cfdi_suppliers where entity = ?').bind(target.entity).first('count(*)')
  expect(kept).toBe(8)
  const again = await meter(() => all(ingestZip(target, packageOf(documents))))
  expect(again.cost).toMatchObject({ d1_calls: 1, rows_written: 0, r2_puts: 0 })
})

it('a slice is the same in a book of 3,000 documents as in an empty one', async () => {
  const random = randomOf(2)
  const costs: number[] = []
  const target = newBook()
  for (const month of ['2025-01', '2025-02', '2025-03', '2025-04']) {
    const documents = thousand(random, month, [])
    const { cost } = await meter(() => all(ingestZip(target, packageOf(documents))))
    costs.push(cost.rows_read - cost.rows_written)
    expect(cost).toMatchObject({ d1_calls: 3, r2_puts: 1 })
  }
  expect(Math.max(...costs.slice(1)) - Math.min(...costs.slice(1))).toBeLessThan(200)
})

it('documents with many lines still take few statements, and files without a UUID in their name one call more', async () => {
  const random = randomOf(3)
  const target = newBook()
  const documents = Array.from({ length: 300 }, () => plainOf(random, '2025-01', { metodo: 'PPD', lines: 6 }))
  const { cost } = await meter(() => all(ingestZip(target, packageOf(documents))))
  expect(cost).toMatchObject({ d1_calls: 3, r2_puts: 1 })
  expect(cost.d1_statements).toBeLessThanOrEqual(12)
  const nameless = zipOf([{ name: 'factura.xml', bytes: new TextEncoder().encode(xmlOf(plainOf(random, '2025-01', {}))) }])
  expect((await meter(() => all(ingestZip(target, nameless)))).cost).toMatchObject({ d1_calls: 4, r2_puts: 1 })
  expect((await meter(() => all(ingestZip(target, nameless)))).cost).toMatchObject({ d1_calls: 2, rows_written: 0, r2_puts: 0 })
})

it('two slices at once in one book both come through, with one retry at most a slice', async () => {
  const random = randomOf(4)
  const target = newBook()
  const invoice = plainOf(random, '2025-01', { metodo: 'PPD' })
  await all(ingestZip(target, packageOf([invoice])))
  const payments = [0.5, 0.5].map((share) => paymentOf(random, '2025-02', [invoice], share))
  const { cost } = await meter(() => Promise.all(payments.map((payment) => all(ingestZip(target, packageOf([payment]))))))
  expect(cost.r2_puts).toBe(2)
  const row = await env.LEDGER_0.prepare('select payment_status from cfdi where entity = ? and uuid = ?')
    .bind(target.entity, invoice.uuid)
    .first()
  expect(row).toEqual({ payment_status: 'paid' })
})
