import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, expect, it, vi } from 'vitest'
import { FileOutput, LIMITS } from '../../../src/copies/exports/making/output.ts'
import { workOnExport } from '../../../src/copies/exports/making/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { consumeAll, post } from '../../cfdi/imports/support/imports.ts'
import { plainOf, xmlOf } from '../../cfdi/support/documents.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { connect, organization, synced } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { begun, contentOf } from './support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

const MIB = 1024 ** 2
const DOCUMENTS = 6
const utf8 = new TextEncoder()
const random = randomOf(51)

let of: Awaited<ReturnType<typeof organization>>
let fiscal_entity_id: string
let uuids: string[]

/** Documents of three megabytes, of which two do not fit into memory together, packed into some kilobytes. */
beforeAll(async () => {
  of = await organization('enterprise_gold')
  await of.ask('POST', '/v1/extractors', {
    ...{ name: 'Al conectar', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: 1 },
    data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'],
  })
  const entity = await connect(of.owner, undefined, { ciec: 'empty' })
  const { rfc } = entity
  fiscal_entity_id = entity.fiscal_entity_id
  await synced(of.owner, fiscal_entity_id)
  const kept = silenceQueues()
  const documents = Array.from({ length: DOCUMENTS }, () => plainOf(random, '2026-01', { emisor: rfc }))
  uuids = documents.map(({ uuid }) => uuid.toUpperCase())
  const entries = documents.map((one) => ({
    name: `${one.uuid}.xml`,
    bytes: utf8.encode(xmlOf(one).replace(/<\/(\w+:)?Comprobante>$/, `${'\t'.repeat(3 * MIB)}$&`)),
  }))
  expect((await post(of.owner, fiscal_entity_id, zipOf(entries))).status).toBe(202)
  await consumeAll(kept)
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** Makes an export. Returns its content, the pieces in which it was written, and the buffers of a large document that were freed. */
async function made(asked: object) {
  const pieces: string[] = []
  const freed: number[] = []
  const { push } = FileOutput.prototype
  vi.spyOn(FileOutput.prototype, 'push').mockImplementation(function (this: FileOutput, bytes) {
    pieces.push(new TextDecoder().decode(bytes))
    push.call(this, bytes)
  })
  const { transfer } = ArrayBuffer.prototype
  vi.spyOn(ArrayBuffer.prototype, 'transfer').mockImplementation(function (this: ArrayBuffer, length) {
    if (this.byteLength >= 3 * MIB && length === 0) freed.push(this.byteLength)
    return transfer.call(this, length)
  })
  silenceQueues()
  const export_id = await begun(of.owner, { fiscal_entity_id, ...asked })
  await workOnExport(systemOf(env, new Date(), 'req_test'), export_id)
  return { content: await contentOf(of.owner, export_id), pieces, freed }
}

const saidIn = (text: string): string[] => uuids.filter((uuid) => text.toUpperCase().includes(uuid))

/** What breaks without it: rows keep the text of their document in memory, and 51 documents of 10 MB end the runtime. */
it.each(['complementos', 'conceptos'])('rows of %s are written before the next large document is read', async (kind) => {
  const { content, pieces } = await made({ kind, format: 'csv' })
  expect(saidIn(new TextDecoder().decode(content))).toHaveLength(DOCUMENTS)
  expect(Math.max(...pieces.map((piece) => saidIn(piece).length))).toBe(1)
})

it.each([
  { kind: 'complementos', format: 'csv' },
  { kind: 'xml', format: 'zip', content: ['pdf'] },
])('the XML of each document is freed once it is read, with %j', async (asked) => {
  const { freed } = await made(asked)
  expect(freed).toHaveLength(DOCUMENTS)
})

/** What breaks without it: a step of 250 documents of 10 MB takes longer than a worker may, and the export begins it again and again. */
it.each([
  ['few documents for PDFs', { kind: 'xml', format: 'zip', content: ['pdf'] }, { page: { ...LIMITS.page, pdf: 2 } }, 2],
  ['so many bytes of files', { kind: 'xml', format: 'zip' }, { stepBytes: 7 * MIB }, 2],
  ['so many bytes of contents', { kind: 'complementos', format: 'csv' }, { stepBytes: 10 * MIB }, 3],
  ['one document at least', { kind: 'conceptos', format: 'csv' }, { stepBytes: 1 }, 1],
] as const)('a step of an export is %s, and the next one goes on behind it', async (_, asked, limits, documents) => {
  silenceQueues()
  const export_id = await begun(of.owner, { fiscal_entity_id, ...asked })
  const step = async () => {
    const system = systemOf(env, new Date(), 'req_test')
    let steps = 0
    vi.spyOn(system.budget, 'allows').mockImplementation(() => steps++ === 0)
    await workOnExport(system, export_id, { ...LIMITS, ...limits })
    return env.DB.prepare('select documents from exports where export_id = ?').bind(export_id).first('documents')
  }
  expect([await step(), await step()]).toEqual([documents, 2 * documents])
})
