import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { limitsOf } from '../../../src/accounts/plans/quotas.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'
import { connect, freshRfc, type Organization, organization } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { all, newBook } from '../support/book.ts'
import { type Plain, packageOf, plainOf } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'
import { consumeAll, importsOf, metadataOf, post, quotasOf, zipWith } from './support/imports.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
vi.spyOn(console, 'error').mockImplementation(() => {})

let kept: unknown[]
beforeEach(() => {
  vi.restoreAllMocks()
  kept = silenceQueues()
})

const random = randomOf(35)
const limits = limitsOf('api', '2026-11-22')

interface Importer {
  of: Organization
  fiscal_entity_id: string
  rfc: string
}

async function importer(): Promise<Importer> {
  const of = await organization('api')
  const rfc = freshRfc()
  return { of, rfc, fiscal_entity_id: (await of.ask('POST', '/v1/fiscal-entities', { rfc })).body.fiscal_entity_id }
}

async function imported({ of, fiscal_entity_id }: Importer, bytes: Uint8Array, through = env) {
  const { status, body } = await post(of.owner, fiscal_entity_id, bytes)
  expect(status).toBe(202)
  await consumeAll(kept, through)
  return (await of.ask('GET', `${importsOf(fiscal_entity_id)}/${body.import_id}`)).body
}

const deleted = async ({ of, fiscal_entity_id }: Importer, import_id: string) => {
  await of.ask('DELETE', `${importsOf(fiscal_entity_id)}/${import_id}`)
  await consumeAll(kept)
}

const ledgerBytes = async () => (await env.LEDGER_0.prepare('select 1').all()).meta.size_after
const objectBytes = async () => (await env.FILES.list({ prefix: 'xml/' })).objects.reduce((sum, { size }) => sum + size, 0)
const usedOf = async ({ of }: Importer) => (await quotasOf(of.owner)).import_bytes.used as number
const rowsOf = (table: string) => env.LEDGER_0.prepare(`select count(*) as n from ${table}`).first<number>('n')

const uuids = (count: number) => Array.from({ length: count }, () => uuidFrom(random))
const invoices = ({ rfc }: Importer, count: number) =>
  Array.from({ length: count }, () => plainOf(random, '2026-01', { emisor: rfc, metodo: 'PPD' }))
const naming = ({ rfc }: Importer, tipo: string, count: number): Plain =>
  plainOf(random, '2026-01', { emisor: rfc, tipo: tipo === '01' ? 'E' : 'I', relacion: { tipo, uuids: uuids(count) } })
const paying = ({ rfc }: Importer, count: number): Plain =>
  plainOf(random, '2026-01', {
    ...{ emisor: rfc, tipo: 'P' },
    pagos: [{ fecha: '2026-01-05T12:00:00', documentos: uuids(count).map((uuid) => ({ uuid, pagado: '10.00', moneda: 'MXN' })) }],
  })
/** A document of ever the same UUIDs, which a ZIP makes very small. */
const repeated = (document: Plain): Plain => {
  const { relacion, pagos } = document
  const [uuid] = [...(relacion?.uuids ?? []), ...(pagos[0]?.documentos ?? []).map((one) => one.uuid)] as [string]
  const like = (_: unknown, n: number) => uuid.slice(0, -5) + n.toString(16).toUpperCase().padStart(5, '0')
  return {
    ...document,
    relacion: relacion && { ...relacion, uuids: relacion.uuids.map(like) },
    pagos: pagos.map((pago) => ({ ...pago, documentos: pago.documentos.map((one, n) => ({ ...one, uuid: like(one, n) })) })),
  }
}

describe('what an import stores', () => {
  it.each([
    ['usual invoices', (by: Importer) => zipWith(invoices(by, 1_000)), 1_000, 'cfdi', 1_000],
    [
      'metadata',
      (by: Importer) =>
        zipOf([{ name: 'a.txt', bytes: metadataOf(invoices(by, 3_000).map((document) => ({ document, isCancelled: false }))) }]),
      3_000,
      'cfdi',
      3_000,
    ],
    [
      'credit notes of many invoices',
      (by: Importer) => zipWith([1, 2].map(() => repeated(naming(by, '01', 10_000)))),
      2,
      'cfdi_payments',
      20_000,
    ],
    [
      'documents that substitute many',
      (by: Importer) => zipWith(Array.from({ length: 10 }, () => repeated(naming(by, '04', 200)))),
      10,
      'cfdi_substitutions',
      2_000,
    ],
    ['payments of many documents', (by: Importer) => zipWith([1, 2].map(() => repeated(paying(by, 10_000)))), 2, 'cfdi_payments', 20_000],
  ] as const)('counts, rows and all: %s', async (_, bytesOf, documents, table, rows) => {
    const by = await importer()
    const bytes = bytesOf(by)
    const before = [await ledgerBytes(), await objectBytes(), await rowsOf(table)] as [number, number, number]
    const { import_id, ...done } = await imported(by, bytes)
    expect(done).toMatchObject({ status: 'completed', documents, counts: { created: documents === 3_000 ? 1 : documents, rejected: 0 } })
    const [ledger, objects] = [(await ledgerBytes()) - before[0], (await objectBytes()) - before[1]]
    expect((await rowsOf(table))! - before[2]).toBe(rows)
    expect(done.stored_bytes).toBeGreaterThan(0.8 * (ledger + objects))
    expect(done.stored_bytes).toBeLessThan(1.4 * (ledger + objects))
    expect(await usedOf(by)).toBe(done.stored_bytes)
    await deleted(by, import_id)
    expect([await usedOf(by), await rowsOf(table), await rowsOf('cfdi_related')]).toEqual([0, before[2], 0])
  })

  it('of a document that names more than 10,000 others are these, and the result and the document say so', async () => {
    const of = await organization('api')
    const rfc = freshRfc()
    // A draft reads no documents.
    const by = { of, rfc, fiscal_entity_id: (await connect(of.owner, rfc, { ciec: 'empty' })).fiscal_entity_id }
    const [note, payment] = [naming(by, '01', 30_000), paying(by, 10_001)]
    const done = await imported(by, zipWith([repeated(note), repeated(payment)]))
    const detail =
      'The document names or pays more than 10000 documents, more than 100 by relation 07, or some that too many others name. It does not act on the others.'
    expect(done).toMatchObject({ documents: 2, files: [note, payment].map(() => ({ status: 'created', code: null, detail })) })
    const read = await Promise.all(
      [note, payment].map(async ({ uuid }) => (await by.of.ask('GET', `/v1/cfdi/${uuid}?fiscal_entity_id=${by.fiscal_entity_id}`)).body),
    )
    expect(read.map(({ repairs }) => repairs)).toEqual([['related_cut'], ['related_cut']])
    expect([read[0].relacionados.length, read[1].pagos[0].documentos.length]).toEqual([10_000, 10_000])
  })

  it('is refused where it does not fit, be the upload ever so small, and fits where there is room', async () => {
    const by = await importer()
    const [small] = invoices(by, 1) as [Plain]
    const large = repeated(paying(by, 10_000))
    // The payment takes 200 bytes for each of its documents.
    await env.DB.prepare(
      `insert into import_totals (organization_id, bytes, documents, day, day_bytes, day_documents, last_turn) values (?, ?, 0, '2000-01-01', 0, 0, 0)`,
    )
      .bind(by.of.id, limits.import_bytes! - 2_000_000)
      .run()
    const bytes = zipWith([large, small])
    expect(bytes.length).toBeLessThan(100_000)
    const refused = await imported(by, bytes)
    expect(refused).toMatchObject({ status: 'completed', documents: 1 })
    expect(refused.files.map(({ code, status }: { code: string; status: string }) => code ?? status)).toEqual([
      'import.quota_exceeded',
      'created',
    ])
    expect(refused.files[0].detail).toMatch(
      /^The plan API allows \d+ bytes of imports and \d+ are in use\. Delete an import or change the plan\.$/,
    )
    expect(await usedOf(by)).toBe(limits.import_bytes! - 2_000_000 + refused.stored_bytes)
    await env.DB.prepare('update import_totals set bytes = bytes - 4000000 where organization_id = ?').bind(by.of.id).run()
    const taken = await imported(by, bytes)
    expect(taken.files.map(({ status }: { status: string }) => status)).toEqual(['created', 'unchanged'])
    expect(taken.stored_bytes).toBeGreaterThan(2_000_000)
  })

  it('counts for each import that holds it, so that deleting one of them leaves nothing uncounted', async () => {
    const by = await importer()
    const bytes = zipWith([repeated(naming(by, '01', 2_000))])
    const [first, second] = [await imported(by, bytes), await imported(by, bytes)]
    expect([first.documents, second.documents, second.stored_bytes]).toEqual([1, 0, first.stored_bytes])
    await deleted(by, first.import_id)
    expect(await usedOf(by)).toBe(first.stored_bytes)
    await deleted(by, second.import_id)
    expect(await usedOf(by)).toBe(0)
  })

  it('ends where the rest of a ledger is for what the authority delivers, which comes in as ever', async () => {
    const by = await importer()
    const [invoice] = invoices(by, 1) as [Plain]
    let size = 8_000_000_001
    /** A ledger of another size. */
    const sized = (d1: D1Database): D1Database =>
      new Proxy(d1, {
        get: (_, name) => {
          const value = Reflect.get(d1, name) as unknown
          if (typeof value !== 'function') return value
          if (name !== 'prepare') return value.bind(d1)
          return (query: string) => {
            const prepare = (statement: D1PreparedStatement): D1PreparedStatement =>
              new Proxy(statement, {
                get: (target, key) => {
                  const member = Reflect.get(target, key) as unknown
                  if (typeof member !== 'function') return member
                  if (key === 'bind') return (...values: unknown[]) => prepare(target.bind(...values))
                  if (key !== 'all') return member.bind(target)
                  return async () => {
                    const result = await target.all()
                    return { ...result, meta: { ...result.meta, size_after: size } }
                  }
                },
              })
            return prepare(d1.prepare(query))
          }
        },
      })
    const full = { ...env, LEDGER_0: sized(env.LEDGER_0) }
    const refused = await imported(by, zipWith([invoice]), full)
    expect(refused).toMatchObject({ status: 'completed', documents: 0, stored_bytes: 0, files: [{ code: 'import.quota_exceeded' }] })
    expect(refused.files[0].detail).toContain('no more room for imports')
    size = 8_000_000_000
    expect(await imported(by, zipWith([invoice]), full)).toMatchObject({ documents: 1 })
    const target = { ...newBook(), ledger: full.LEDGER_0 }
    size = 9_500_000_000
    expect((await all(ingestZip(target, packageOf([plainOf(random, '2026-02', {})])))).map(({ created }) => created)).toEqual([1])
  })
})
