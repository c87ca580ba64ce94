import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import type { Import } from '../../../src/cfdi/imports/contract.ts'
import worker from '../../../src/index.ts'
import { created, draft } from '../../connections/extractors/support/extractors.ts'
import { api, basic } from '../../support/client.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization, synced, type Tenant } from '../../support/tenants.ts'
import { type Zipped, zipOf } from '../../support/zip.ts'
import { type Plain, plainOf, xmlOf } from '../support/documents.ts'
import { importsOf, metadataOf, post, xmlFile } from './support/imports.ts'

/** What an import says of the files and rows that it did not keep, and that it keeps what it should (issue 13, parts 8 and 9). */

const random = randomOf(51)
const utf8 = new TextEncoder()

/** An organization with a connection for which nothing is downloaded. */
async function quiet(ciec = 'empty') {
  const of = await organization()
  await created(of, { ...draft, scope: 'last_n_months', scope_months: 1, data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'] })
  const { fiscal_entity_id, rfc } = await connect(of.owner, freshRfc(), { ciec })
  await synced(of.owner, fiscal_entity_id)
  return { tenant: of.owner, fiscal_entity_id, rfc }
}

type Quiet = Awaited<ReturnType<typeof quiet>>

const shownOf = async ({ tenant, fiscal_entity_id }: Quiet, import_id: string): Promise<Import> =>
  (await api(tenant, 'GET', `${importsOf(fiscal_entity_id)}/${import_id}`)).body

async function imported(to: Quiet, bytes: Uint8Array): Promise<Import> {
  const { status, body } = await post(to.tenant, to.fiscal_entity_id, bytes, { 'content-type': 'application/octet-stream' })
  expect(status).toBe(202)
  return vi.waitUntil(
    async () => {
      const shown = await shownOf(to, body.import_id)
      return shown.status === 'completed' && shown
    },
    { timeout: 30_000, interval: 30 },
  )
}

const importedFiles = (to: Quiet, ...files: Zipped[]) => imported(to, zipOf(files))
const codesOf = ({ files }: Import) => files.map(({ code, status }) => code ?? status)
const invoiceOf = (rfc: string, given: Partial<Plain> = {}) => plainOf(random, '2026-03', { emisor: rfc, lines: 1, ...given })

const xmlOfShown = async ({ tenant, fiscal_entity_id }: { tenant: Tenant; fiscal_entity_id: string }, uuid: string) => {
  const url = `https://api.test/v1/cfdi/${uuid}/xml?fiscal_entity_id=${fiscal_entity_id}`
  const answer = await worker.fetch(new Request(url, { headers: { authorization: basic(tenant) } }), env)
  return answer.status === 200 ? answer.text() : answer.status
}

describe('one UUID with two contents', () => {
  it('across imports: the first is kept and the other is rejected as cfdi.conflict, until the import of the first is deleted', async () => {
    const to = await quiet()
    const document = invoiceOf(to.rfc, { total: '116.00' })
    const [one, other] = [xmlFile(document), xmlFile({ ...document, total: '999.00' })]
    const first = await importedFiles(to, one, { ...other, name: 'otro.xml' })
    expect(codesOf(first)).toEqual(['created', 'cfdi.conflict'])
    const second = await importedFiles(to, other)
    expect(second).toMatchObject({
      ...{ documents: 0, counts: { created: 0, updated: 0, unchanged: 0, rejected: 1 } },
      files: [{ status: 'rejected', uuid: document.uuid, code: 'cfdi.conflict', detail: expect.stringContaining('another content') }],
    })
    expect(codesOf(await importedFiles(to, one))).toEqual(['unchanged'])
    expect(await xmlOfShown(to, document.uuid)).toBe(xmlOf(document))
    for (const { import_id } of (await api(to.tenant, 'GET', importsOf(to.fiscal_entity_id))).body.data) {
      if (import_id === second.import_id) continue
      expect((await api(to.tenant, 'DELETE', `${importsOf(to.fiscal_entity_id)}/${import_id}`)).status).toBe(202)
      await vi.waitUntil(async () => (await shownOf(to, import_id)).status === undefined, { timeout: 30_000, interval: 30 })
    }
    // Now only the other content has been imported.
    expect(await xmlOfShown(to, document.uuid)).toBe(xmlOf({ ...document, total: '999.00' }))
    expect((await shownOf(to, second.import_id)).documents).toBe(1)
  })

  it('the authority’s is shown, whether it was imported differently before or after; an import of another one is told so', async () => {
    const to = await quiet('secreta1')
    const query = `fiscal_entity_id=${to.fiscal_entity_id}&has_xml=true&direction=issued&limit=2`
    const [before, after] = (await api(to.tenant, 'GET', `/v1/cfdi?${query}`)).body.data.map((it: { uuid: string }) => it.uuid)
    const early = { ...(await quiet()), fiscal_entity_id: '' }
    early.fiscal_entity_id = (await api(early.tenant, 'POST', '/v1/fiscal-entities', { rfc: to.rfc })).body.fiscal_entity_id
    const real = { before: await xmlOfShown(to, before), after: await xmlOfShown(to, after) }
    const forged = (text: unknown) => utf8.encode(`${text}\n<!-- otra -->`)
    // The other organization has a content of its own, before its own run.
    expect(codesOf(await imported(early, forged(real.before)))).toEqual(['created'])
    await api(early.tenant, 'PATCH', `/v1/fiscal-entities/${early.fiscal_entity_id}`, { ciec: 'secreta2' })
    await synced(early.tenant, early.fiscal_entity_id)
    for (const [uuid, text] of [
      [before, real.before],
      [after, real.after],
    ] as const) {
      expect(await xmlOfShown(early, uuid)).toBe(text)
      // What is imported now is compared with what the organization sees: that of the authority.
      expect(codesOf(await imported(early, forged(text)))).toEqual(['cfdi.conflict'])
      expect(codesOf(await imported(early, utf8.encode(text as string)))).toEqual(['unchanged'])
      expect(await xmlOfShown(early, uuid)).toBe(text)
      expect((await api(early.tenant, 'GET', `/v1/cfdi/${uuid}?fiscal_entity_id=${early.fiscal_entity_id}`)).body.origin).toBe('authority')
    }
  })
})

describe('an import lists', () => {
  it('entries of zero bytes, and no folders', async () => {
    const to = await quiet()
    const good = invoiceOf(to.rfc)
    const empty = new Uint8Array()
    const done = await importedFiles(
      to,
      { name: 'facturas/', bytes: empty },
      { name: 'facturas/vacia.xml', bytes: empty },
      xmlFile(good),
      { name: 'facturas/guardada.xml', bytes: empty, level: 'stored' },
      { name: 'lista.txt', bytes: empty },
      { name: 'sin-extension', bytes: empty },
    )
    expect(done.files.map(({ name, status, code }) => [name, code ?? status])).toEqual([
      ['facturas/vacia.xml', 'cfdi.empty'],
      [xmlFile(good).name, 'created'],
      ['facturas/guardada.xml', 'cfdi.empty'],
      ['lista.txt', 'cfdi.empty'],
      ['sin-extension', 'cfdi.empty'],
    ])
    expect(done.counts).toEqual({ created: 1, updated: 0, unchanged: 0, rejected: 4 })
  })

  it('the rows of metadata that it did not keep: their lines, and why', async () => {
    const to = await quiet()
    const [first, foreign, dateless, huge, last] = [1, 2, 3, 4, 5].map(() => invoiceOf(to.rfc)) as [Plain, Plain, Plain, Plain, Plain]
    const documents = [
      first,
      { ...foreign, emisor: 'BBB020202BB1', receptor: 'CCC030303CC2' },
      { ...dateless, fecha: 'ayer' },
      // A payment or a credit note is stored after the others; its line is told all the same.
      { ...huge, tipo: 'E' as const, fecha: '' },
      last,
    ]
    const rows = new TextDecoder().decode(metadataOf(documents.map((document) => ({ document, isCancelled: false }))))
    // The header is line 1 and the first row line 2. A name with a line feed makes a row of two lines; a blank line has no row.
    const [header, one, ...rest] = rows.split('\r\n')
    const text = [header, one!.replace('~A~', '~A\nB~'), 'no-es-uuid~x~x~x', '', ...rest].join('\r\n')
    const rejected_rows = [
      { line: 4, code: 'metadata.invalid_uuid' },
      { line: 6, code: 'cfdi.foreign_rfc' },
      { line: 7, code: 'cfdi.invalid_date' },
      { line: 8, code: 'cfdi.invalid_date' },
    ]
    const kept = { status: 'created', code: null, detail: '4 rows could not be stored.', rejected_rows }
    expect((await imported(to, utf8.encode(text))).files).toEqual([{ name: 'upload.txt', uuid: null, ...kept }])
    const zipped = await importedFiles(to, { name: 'lista.txt', bytes: utf8.encode(text) }, xmlFile(invoiceOf(to.rfc)))
    expect(zipped.files).toMatchObject([
      { name: 'lista.txt', status: 'unchanged', rejected_rows },
      { status: 'created', rejected_rows: [] },
    ])
    const none = await imported(to, utf8.encode(`${header}\r\n${'no-es-uuid~x~x~x\r\n'.repeat(150)}`))
    expect(none.files).toMatchObject([{ status: 'rejected', code: 'metadata.no_rows', detail: '150 rows could not be stored.' }])
    expect(none.files[0]!.rejected_rows.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, n) => n + 2))
  })
})

describe('large files', () => {
  it('are kept by an import: invoices of 1 to 3,000 lines and metadata of 300 rows, at every level of deflate and stored', async () => {
    const to = await quiet()
    const lines = [1, 100, 150, 200, 250, 420, 460, 800, 860, 1_600, 3_000]
    const invoices = lines.map((count) => invoiceOf(to.rfc, { lines: count }))
    const levelOf = (n: number) => (n === 10 ? 'stored' : n)
    const files = invoices.map((document, n): Zipped => ({ ...xmlFile(document), level: levelOf(n) }))
    const listed = [0, 1, 9, 10].map((n): Zipped => {
      const rows = Array.from({ length: 320 + 40 * n }, () => ({ document: invoiceOf(to.rfc), isCancelled: false }))
      return { name: `lista_${n}.txt`, bytes: metadataOf(rows), level: levelOf(n) }
    })
    const done = await importedFiles(to, ...files, ...listed)
    expect(done).toMatchObject({ files_total: 15, documents: 11 + 320 + 360 + 680 + 720, counts: { created: 15, rejected: 0 } })
    for (const n of [0, 1, 5, 9, 10]) expect(await xmlOfShown(to, invoices[n]!.uuid)).toBe(xmlOf(invoices[n]!))
  })
})
