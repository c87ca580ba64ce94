import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { CfdiDetail } from '../../../src/cfdi/detail/contract.ts'
import { getCfdi, listPayments } from '../../../src/cfdi/detail/detail.ts'
import { ingestMetadata, replaceDocuments } from '../../../src/cfdi/ingest/ingest.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { parseCfdi } from '../../../src/cfdi/xml/parse.ts'
import { unpacked } from '../../../src/platform/db/packed.ts'
import { contextOf, FISCAL_ENTITY } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { all, chunksIn, commitsOf, contentsOf, monthsOf, newBook, productsOf, reported, rowsOf } from '../support/book.ts'
import { type Plain, packageOf, paymentOf, plainOf, RFC, thousand, xmlOf } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'

const random = randomOf(14)
const bring = (target: ReturnType<typeof newBook>, documents: readonly Plain[]) => all(ingestZip(target, packageOf(documents)))
const ORGANIZATION = { extractor_count: 0 }

describe('the details and lines of a slice', () => {
  const target = newBook()
  const documents = thousand(random, '2025-03', [], 350).map((it, n) =>
    n % 3 === 0 ? { ...it, emisor: 'BBB020202BB1', receptor: RFC } : it,
  )

  it('lie together for 100 documents at a time, by direction and issued_at', async () => {
    await bring(target, documents)
    const rows = [...(await rowsOf(target)).values()]
    const placed = rows.toSorted((a, b) => a.chunk! - b.chunk! || a.chunk_at - b.chunk_at)
    expect(await chunksIn(target)).toHaveLength(4)
    expect(placed.map(({ chunk_at }) => chunk_at)).toEqual(placed.map((_, n) => n % 100))
    const order = placed.map(({ direction, issued_at }) => direction * 1e12 + issued_at)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  })

  it('are what the XML says, and one chunk is read for a document', async () => {
    for (const document of documents.slice(0, 20)) {
      const { conceptos, impuestos, relacionados, complementos, no_certificado } = parseCfdi(new TextEncoder().encode(xmlOf(document)))
      const { result, cost } = await costOf(env.LEDGER_0, env.FILES, () =>
        getCfdi(contextOf({ entity: target.entity }, ORGANIZATION), document.uuid),
      )
      expect(CfdiDetail.parse(result)).toMatchObject({ conceptos, impuestos, relacionados, complementos, no_certificado })
      expect(cost).toMatchObject({ d1_calls: 1, r2_gets: 1 })
      expect(cost.rows_read).toBeLessThanOrEqual(4)
    }
  })

  it('come with the XML of a document that was known from metadata', async () => {
    const import_partition = newBook()
    const [first, second] = [plainOf(random, '2025-03', { lines: 2 }), plainOf(random, '2025-03', { lines: 3 })]
    await all(ingestMetadata(import_partition, () => [[first, second].map((it) => reported(it, false))]))
    expect(await chunksIn(import_partition)).toEqual([])
    await bring(import_partition, [first])
    await bring(import_partition, [second])
    const contents = await contentsOf(import_partition)
    expect([first, second].map(({ uuid }) => contents.get(uuid)!.conceptos.length)).toEqual([2, 3])
  })

  it('are null, and not none, while only metadata is known: in the list, of the taxes, the addenda and the balance', async () => {
    const import_partition = newBook()
    const known = { tipo: 'I', metodo: 'PPD', emisor: RFC, receptor: 'BBB020202BB1', lines: 1 } as const
    const [first, second] = [plainOf(random, '2025-03', known), plainOf(random, '2025-03', known)]
    await all(ingestMetadata(import_partition, () => [[first, second].map((it) => reported(it, false))]))
    await bring(import_partition, [second])
    const ctx = contextOf({ entity: import_partition.entity }, ORGANIZATION)
    const search = async (query: object) => (await searchCfdi(ctx, CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query }))).data
    const unknown = {
      ...{ version: null, has_xml: false, total: first.total, payment_status: 'not_applicable' },
      ...{ metodo_pago: null, currency: null, total_mxn: null, subtotal: null, descuento: null },
      ...{ iva_trasladado: null, iva_retenido: null, isr_retenido: null, ieps_trasladado: null },
      ...{ paid_amount: null, credited_amount: null, balance: null },
    }
    expect(await search({ uuid: first.uuid })).toMatchObject([unknown])
    expect(await getCfdi(ctx, first.uuid)).toMatchObject({
      ...unknown,
      impuestos: null,
      has_addenda: null,
      conceptos: [],
      aplicaciones: [],
    })
    expect(await listPayments(ctx, first.uuid)).toMatchObject({ paid_amount: null, credited_amount: null, balance: null })
    // Nobody knows whether 0.01 of it are to be paid.
    expect((await search({ balance_min: '0.01' })).map(({ uuid }) => uuid)).toEqual([second.uuid])
    expect(await getCfdi(ctx, second.uuid)).toMatchObject({ has_addenda: false, paid_amount: '0.00', balance: second.total })
  })

  it('of a document longer than 256 KiB lie in several chunks, and no chunk is longer', async () => {
    const import_partition = newBook()
    const invoices = [1, 1, 900, 3_000, 1].map((lines) => plainOf(random, '2025-03', { lines }))
    await bring(import_partition, invoices)
    const sizes = (await chunksIn(import_partition)).map(({ data }) => unpacked(data).length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256 * 1024)
    const rows = await rowsOf(import_partition)
    expect(invoices.map(({ uuid }) => rows.get(uuid)!.chunk_parts > 1)).toEqual([false, false, false, true, false])
    for (const { uuid, lines } of invoices)
      expect((await getCfdi(contextOf({ entity: import_partition.entity }, ORGANIZATION), uuid)).conceptos).toHaveLength(lines)
  })
})

describe('documents that are taken out', () => {
  const taken = (target: ReturnType<typeof newBook>, uuids: string[]) =>
    replaceDocuments(
      target,
      uuids,
      async () => ({ importSources: new Map(), stored: new Map() }),
      () => [],
    )

  it('leave nothing in the chunks of those that stay, and chunks of nobody are deleted', async () => {
    const target = newBook('import')
    const documents = Array.from({ length: 150 }, () => plainOf(random, '2025-04', { lines: 2 }))
    const long = plainOf(random, '2025-04', { lines: 3_000 })
    await bring(target, [...documents, long])
    const before = await contentsOf(target)
    const [gone, stay] = [documents.filter((_, n) => n % 2 === 0), documents.filter((_, n) => n % 2 === 1)]
    await taken(
      target,
      [...gone, long].map(({ uuid }) => uuid),
    )
    const after = await contentsOf(target)
    expect([...after.keys()].sort()).toEqual(stay.map(({ uuid }) => uuid).sort())
    for (const { uuid } of stay) expect(after.get(uuid)).toEqual(before.get(uuid))
    const chunks = (await chunksIn(target)).map(({ data }) => JSON.parse(unpacked(data).toString()) as unknown[])
    expect(chunks.flat().filter((part) => part !== 0)).toHaveLength(stay.length)
    await taken(
      target,
      stay.map(({ uuid }) => uuid),
    )
    expect([await chunksIn(target), await productsOf(target), await monthsOf(target)]).toEqual([[], {}, {}])
  })
})

it('each commit says what it touched, and one that changes nothing leaves no trace', async () => {
  const target = newBook()
  const invoice = plainOf(random, '2025-05', { metodo: 'PPD' })
  const listed = plainOf(random, '2025-05', {})
  const payment = paymentOf(random, '2025-05', [invoice])
  await bring(target, [invoice])
  await all(ingestMetadata(target, () => [[reported(listed, false)]]))
  await bring(target, [listed, payment])
  await bring(target, [listed, payment])
  await all(ingestMetadata(target, () => [[reported(payment, true)]]))
  const commits = (await commitsOf(target)).map(({ stored, ...one }) => ({ ...one, ...(stored && { stored: stored.toSorted() }) }))
  // Whoever's ceiling is before the payment is shown the same balance.
  const from = (await rowsOf(target)).get(payment.uuid)!.issued_at
  expect(commits).toEqual([
    { stored: [invoice.uuid] },
    { stored: [listed.uuid] },
    { stored: [listed.uuid, payment.uuid].sort(), balances: [[invoice.uuid, from]] },
    { cancelled: [payment.uuid], balances: [[invoice.uuid, from]] },
  ])
  const numbers = await env.LEDGER_0.prepare('select sequence from cfdi_commits where entity = ? order by 1')
    .bind(target.entity)
    .raw<[number]>()
  expect(numbers.flat()).toEqual([1, 2, 3, 4])
})

it('sums over lines keep a row of a month small: a document with more than 1,000 product keys has the others in one', async () => {
  const target = newBook()
  const productos = Array.from({ length: 1_500 }, (_, n) => ({ clave: String(10_000_000 + n), importe: '2.00', descuento: '0.50' }))
  const document = plainOf(random, '2025-06', { productos, moneda: 'MXN' })
  await bring(target, [document])
  const [cells] = Object.values(await productsOf(target))
  expect(Object.keys(cells!)).toHaveLength(1_001)
  expect(cells!['I|']).toEqual([1, 0, String(500 * 1_500_000)])
  await all(ingestMetadata(target, () => [[reported(document, true)]]))
  expect(await productsOf(target)).toEqual({})
})
