import { env } from 'cloudflare:workers'
import { getTableColumns } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { type IngestTarget, ingestMetadata, replaceDocuments, TooManyApplications } from '../../../src/cfdi/ingest/ingest.ts'
import { cfdi } from '../../../src/cfdi/tables.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'
import { all, rowsOf as bookRowsOf, contentsOf, newBook, reported } from '../support/book.ts'
import { CUSTOMERS, type Plain, packageOf, plainOf } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'

const random = randomOf(3504)
const uuids = (count: number) => Array.from({ length: count }, () => uuidFrom(random))
const several = (count: number, one: () => Plain) => Array.from({ length: count }, one)
const paying = (named: readonly string[]) =>
  plainOf(random, '2026-01', {
    tipo: 'P',
    pagos: [{ fecha: '2026-01-05T12:00:00', documentos: named.map((uuid) => ({ uuid, pagado: '10.00', moneda: 'MXN' })) }],
  })
const naming = (tipo: string, named: readonly string[]) =>
  plainOf(random, '2026-01', { tipo: tipo === '01' ? 'E' : 'I', relacion: { tipo, uuids: [...named] } })

const rowsOf = ({ entity }: IngestTarget, table: string) =>
  env.LEDGER_0.prepare(`select count(*) as n from ${table} where entity = ?`).bind(entity).first<number>('n')
const DETAIL =
  'The document names or pays more than 10000 documents, more than 100 by relation 07, or some that too many others name. It does not act on the others.'

/** Ingests documents one by one. Says of which something is left out, and how many rows each has read. */
async function ingested(target: IngestTarget, documents: readonly Plain[]) {
  const each: { isCut: boolean; rows_read: number }[] = []
  for (const document of documents) {
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => all(ingestZip(target, packageOf([document]))))
    expect(result).toMatchObject([{ created: 1 }])
    const { detail } = result[0]!.entries[0]!
    expect([null, DETAIL]).toContain(detail)
    each.push({ isCut: detail !== null, rows_read: cost.rows_read })
  }
  const contents = await contentsOf(target)
  expect(documents.map(({ uuid }) => contents.get(uuid)!.repairs)).toEqual(each.map(({ isCut }) => (isCut ? ['related_cut'] : [])))
  return each
}

/** What breaks without the limits: a few documents of a free account that name the same thousands hold up everybody, each longer than the one before. */
describe('documents that name the same thousands', () => {
  it.each([
    ['payments', paying, 'cfdi_payments', 6, 30_000],
    ['credit notes', (named: readonly string[]) => naming('01', named), 'cfdi_payments', 6, 30_000],
    ['substitutes', (named: readonly string[]) => naming('04', named.slice(0, 100)), 'cfdi_substitutions', 2, 200],
    ['advances', (named: readonly string[]) => naming('07', named.slice(0, 100)), 'cfdi_advances', 10, 1_000],
  ] as const)('act on them up to a number, and cost no more from then on: %s', async (_, documentOf, table, first, rows) => {
    const target = newBook('import')
    const named = uuids(5_000)
    const each = await ingested(
      target,
      several(first + 3, () => documentOf(named)),
    )
    expect(each.map(({ isCut }) => isCut)).toEqual(each.map((_, n) => n >= first))
    expect(await rowsOf(target, table)).toBe(rows)
    expect(each.at(-1)!.rows_read).toBeLessThanOrEqual(each[first]!.rows_read + 50)
  })

  /** What breaks without it: a further note of 480 that name an advance whose invoice is substituted 25 times held up everybody for 25 seconds. */
  it('notes of advances lower what counts for them a few times, however often its substitutes turn', async () => {
    const target = newBook('import')
    const parties = { receptor: CUSTOMERS[0], lines: 1 }
    const advances = several(2, () => plainOf(random, '2026-01', parties))
    const chain: Plain[] = []
    for (let day = 10; day < 30; day++)
      chain.push({
        ...plainOf(random, '2026-03', {
          ...parties,
          fecha: `2026-03-${day}T12:00:00`,
          relacion: { tipo: '07', uuids: [advances[0]!.uuid] },
        }),
        sustituye: chain.slice(-1).map(({ uuid }) => uuid),
      })
    const note = () =>
      plainOf(random, '2026-02', { ...parties, tipo: 'E', relacion: { tipo: '07', uuids: advances.map(({ uuid }) => uuid) } })
    await all(ingestZip(target, packageOf([...advances, ...chain])))
    await all(ingestZip(target, packageOf(several(10, note))))
    // Two invoices, at first and after each of three turns, and another one for what a note is too large for.
    expect(await rowsOf(target, 'cfdi_payments')).toBeLessThanOrEqual(10 * 3 * 4)
  })

  /** What breaks without it: each of 150 notes that name the same 2,000 advances is as many rows until others leave no room. */
  it('act on the first 100 that they name by 07', async () => {
    const target = newBook('import')
    const named = uuids(2_000)
    const each = await ingested(target, [
      naming('07', named),
      { ...naming('07', uuids(2_000)), tipo: 'E' },
      naming('07', named.slice(100, 200)),
    ])
    expect(each.map(({ isCut }) => isCut)).toEqual([true, true, false])
    expect([await rowsOf(target, 'cfdi_advances'), await rowsOf(target, 'cfdi_payments')]).toEqual([300, 100])
  })

  it('what is no UUID is no relation', async () => {
    const target = newBook('import')
    await ingested(target, [paying(['ABC', ...uuids(1)]), naming('04', ['', 'X'.repeat(1_000), ...uuids(1)])])
    expect([await rowsOf(target, 'cfdi_payments'), await rowsOf(target, 'cfdi_substitutions')]).toEqual([1, 1])
  })
})

/** The bytes of the longest row of a book, and where it says what each of these documents names: in its row, or beside it. */
async function rowsOfNaming({ entity }: IngestTarget, documents: readonly Plain[]) {
  const bytes = Object.keys(getTableColumns(cfdi)).map((name) => `coalesce(octet_length(c.${name}), 0)`)
  const query = <Row>(sql: string, ...more: unknown[]) =>
    env.LEDGER_0.prepare(sql)
      .bind(entity, ...more)
      .all<Row>()
  const { results } = await query<{ uuid: string; bytes: number; inRow: string | null; beside: string | null }>(
    `select uuid, ${bytes.join(' + ')} as bytes, c.related as inRow, r.related as beside
       from cfdi c left join cfdi_related r using (entity, uuid) where c.entity = ?`,
  )
  const rows = new Map(results.map((row) => [row.uuid, row]))
  return {
    widest: Math.max(...results.map((row) => row.bytes)),
    named: documents.map(({ uuid }) => {
      const { inRow, beside } = rows.get(uuid)!
      return [beside === null ? 'in the row' : inRow, new Set(JSON.parse(beside ?? inRow!) as string[])]
    }),
  }
}

/**
 * What breaks without it: SQLite copies the whole of a row wherever it compares its key, so that each look-up near one of 390 KB takes half a
 * millisecond. Thirty of them held up everybody for seconds.
 */
describe('a row', () => {
  it('stays short, whatever the document says', async () => {
    const target = newBook('import')
    const invoice = { pagos: [], tipo: 'I' as const }
    const vehicles = Array.from({ length: 20_000 }, (_, n) => ({
      ...{ clave: `2510${String(n % 1_000).padStart(4, '0')}`, importe: `${n}.00`, descuento: null },
    }))
    const documents = [100, 101, 10_000].flatMap((count) => [paying(uuids(count)), naming('01', uuids(count))])
    const others = [
      plainOf(random, '2026-01', { ...invoice, productos: vehicles }),
      plainOf(random, '2026-01', { ...invoice, condiciones: '文'.repeat(2_000) }),
    ]
    for (const one of [...documents, ...others]) expect(await all(ingestZip(target, packageOf([one])))).toMatchObject([{ created: 1 }])
    const { widest, named } = await rowsOfNaming(target, documents)
    expect(widest).toBeLessThan(64 * 1024)
    const namedBy = ({ pagos, relacion }: Plain) =>
      new Set(relacion?.uuids ?? pagos.flatMap((pago) => pago.documentos.map(({ uuid }) => uuid)))
    expect(named).toEqual(documents.map((one, n) => [['in the row', 'in the row', '101', '101', '10000', '10000'][n], namedBy(one)]))
    expect(await rowsOf(target, 'cfdi_related')).toBe(4)
  })

  it('that names more than 100 documents acts on them as any other', async () => {
    const target = newBook('import')
    const invoices = several(101, () => plainOf(random, '2026-01', { metodo: 'PPD', receptor: CUSTOMERS[0], total: '100.00', lines: 1 }))
    const named = invoices.map(({ uuid }) => uuid)
    const [payment, note] = [
      paying(named),
      { ...naming('01', named), receptor: CUSTOMERS[0], subtotal: '505.00', iva: '0', total: '505.00' },
    ]
    const balances = async () => {
      const rows = [...(await bookRowsOf(target)).values()].filter(({ tipo_comprobante }) => tipo_comprobante === 'I')
      return [...new Set(rows.map(({ paid, credited, payment_status }) => `${paid / 1e6} ${credited / 1e6} ${payment_status}`))].sort()
    }
    // The note comes first, so that it is divided again among each part of its invoices.
    for (const some of [[payment, note], invoices.slice(0, 50), invoices.slice(50)]) await all(ingestZip(target, packageOf(some)))
    expect(await balances()).toEqual(['10 5 partially_paid'])
    expect((await rowsOfNaming(target, [payment, note])).named).toEqual([payment, note].map(() => ['101', new Set(named)]))
    await all(ingestMetadata(target, () => [[reported(payment, true)]]))
    expect(await balances()).toEqual(['0 5 partially_paid'])
    const nothing = async () => ({ importSources: new Map(), stored: new Map() })
    await replaceDocuments(target, [payment.uuid, note.uuid], nothing, () => [])
    expect(await balances()).toEqual(['0 0 unpaid'])
    expect([await rowsOf(target, 'cfdi_related'), await rowsOf(target, 'cfdi_payments')]).toEqual([0, 0])
  })
})

describe('documents whose invoices were paid hundreds of times', () => {
  /** A book with 100 invoices, each of which was paid 450 times, by documents of a single invoice. */
  async function paidOften(): Promise<{ target: IngestTarget; invoices: string[]; source: Plain }> {
    const target = newBook('import')
    const invoices = uuids(100)
    const source = paying(invoices)
    await all(ingestZip(target, packageOf([source])))
    await env.LEDGER_0.batch([
      env.LEDGER_0.prepare("update cfdi set related = '[\"' || uuid || '\"]' where entity = ?").bind(target.entity),
      env.LEDGER_0.prepare(
        `with recursive n (i) as (select 1001 union all select i + 1 from n where i < 1449)
         insert into cfdi_payments (entity, invoice, source, n, kind, amount, currency, fecha_pago)
           select entity, invoice, source, i, kind, amount, currency, fecha_pago from cfdi_payments, n where entity = ?`,
      ).bind(target.entity),
    ])
    expect(await rowsOf(target, 'cfdi_payments')).toBe(45_000)
    return { target, invoices, source }
  }

  it('come in as smaller slices, and nothing is left out', async () => {
    const { target, invoices } = await paidOften()
    const outcomes = await all(ingestZip(target, packageOf(invoices.map((uuid) => paying([uuid])))))
    expect(outcomes.map(({ created }) => created)).toEqual([50, 50])
    expect(outcomes.flatMap(({ entries }) => entries.map(({ detail }) => detail))).toEqual(invoices.map(() => null))
    expect(await rowsOf(target, 'cfdi_payments')).toBe(45_100)
  })

  it('are cancelled and taken out some at a time', async () => {
    const { target, invoices } = await paidOften()
    const payments = invoices.map((uuid) => paying([uuid]))
    await all(ingestZip(target, packageOf(payments)))
    const nothing = async () => ({ importSources: new Map(), stored: new Map() })
    const takeOut = (list: readonly Plain[]) =>
      replaceDocuments(
        target,
        list.map(({ uuid }) => uuid),
        nothing,
        () => [],
      )
    await expect(takeOut(payments)).rejects.toThrow(TooManyApplications)
    await takeOut(payments.slice(0, 40))
    await takeOut(payments.slice(40, 80))
    expect(await rowsOf(target, 'cfdi_payments')).toBe(45_020)
    const more = invoices.map((uuid) => paying([uuid]))
    await all(ingestZip(target, packageOf(more)))
    const outcomes = await all(ingestMetadata(target, () => [more.map((one) => reported(one, true))]))
    expect(outcomes.map(({ cancelled }) => cancelled)).toEqual([50, 50])
  })
})
