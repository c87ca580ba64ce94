import { env } from 'cloudflare:workers'
import { workOnImport } from '../../../../src/cfdi/imports/processing.ts'
import { markDue } from '../../../../src/copies/due.ts'
import { systemOf } from '../../../../src/platform/context.ts'
import { unpacked } from '../../../../src/platform/db/packed.ts'
import { api, basic, type Caller, type Reply, request } from '../../../support/client.ts'
import { zipOf } from '../../../support/zip.ts'
import { type Plain, xmlOf } from '../../support/documents.ts'

const utf8 = new TextEncoder()

export const importsOf = (fiscal_entity_id: string) => `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
export const post = (caller: Caller, fiscal_entity_id: string, bytes: Uint8Array, headers = {}): Promise<Reply<any>> =>
  request('POST', importsOf(fiscal_entity_id), {
    headers: { authorization: basic(caller), 'content-type': 'application/zip', ...headers },
    body: bytes,
  })

/** A metadata file as the authority writes it. */
export const metadataOf = (rows: readonly { document: Plain; isCancelled: boolean }[]): Uint8Array =>
  utf8.encode(
    [
      'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion',
      ...rows.map(({ document: { uuid, emisor, receptor, fecha, total, tipo }, isCancelled }) => {
        const time = fecha.replace('T', ' ')
        const status = isCancelled ? ['0', '2026-05-01 10:00:00'] : ['1', '']
        return [uuid, emisor, 'A', receptor, 'B', 'SPR190613I52', time, time, total, tipo, ...status].join('~')
      }),
    ]
      .map((line) => `${line}\r\n`)
      .join(''),
  )

export const xmlFile = (document: Plain, more = '') => ({
  name: `${document.uuid.toLowerCase()}.xml`,
  bytes: utf8.encode(`${xmlOf(document)}${more}`),
})

export const zipWith = (documents: readonly Plain[]): Uint8Array => zipOf(documents.map((document) => xmlFile(document)))

/** What a consumer does with the messages about imports that were kept, and with those that it sends itself. Returns how many there were. */
export async function consumeAll(kept: unknown[], through: Env = env): Promise<number> {
  let handled = 0
  for (let n = 0; kept.length > 0; n++) {
    if (n === 500) throw new Error('The messages do not end.')
    const body = kept.shift() as { shard: number; import_id?: string }
    if (body.import_id === undefined) continue
    handled++
    await workOnImport(systemOf(through, new Date(), 'test'), { shard: body.shard, import_id: body.import_id }, markDue)
  }
  return handled
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
export const quotasOf = async (caller: Caller): Promise<any> => (await api(caller, 'GET', '/v1/billing/usage')).body.quotas

const TABLES = [
  'cfdi',
  'cfdi_related',
  'cfdi_payments',
  'cfdi_substitutions',
  'cfdi_months',
  'cfdi_suppliers',
  'import_sources',
  'cfdi_chunks',
] as const
const NOT_COMPARED = ['entity', 'stored', 'xml_object', 'xml_offset', 'updated_at', 'chunk', 'chunk_at', 'stored_by']

/** Every row of an organization's own partition, without what differs between any two partitions. */
export async function partitionOf(organization_id: string, ledger: D1Database = env.LEDGER_0): Promise<Record<string, string[]>> {
  const { results } = await env.DB.prepare('select -connection as import_partition from connections where organization_id = ?')
    .bind(organization_id)
    .all<{ import_partition: number }>()
  const rows = async (table: string) => {
    const column = table === 'import_sources' ? 'import_partition' : 'entity'
    const isPacked = table === 'import_sources' || table === 'cfdi_chunks'
    const list = (
      await ledger
        .prepare(`select ${isPacked ? 'hex(data) as data' : '*'} from ${table} where ${column} in (select value from json_each(?))`)
        .bind(JSON.stringify(results.map(({ import_partition }) => import_partition)))
        .all()
    ).results
    // What stands in chunks and holdings is compared, and not in which of them: nothing of a document that is taken out may be left.
    const parts = isPacked ? list.flatMap(({ data }) => JSON.parse(unpacked(data as string).toString()) as unknown[]) : []
    // An import's own objects are its own.
    const notified = (part: unknown) =>
      table === 'cfdi_chunks' ? part : (part as unknown[]).map((one, n) => (n === 1 && one ? (one as unknown[]).slice(2) : one))
    if (isPacked)
      return parts
        .filter((part) => part !== 0)
        .map((part) => JSON.stringify(notified(part)))
        .sort()
    return list.map((row) => JSON.stringify(Object.entries(row).filter(([name]) => !NOT_COMPARED.includes(name)))).sort()
  }
  return Object.fromEntries(await Promise.all(TABLES.map(async (table) => [table, await rows(table)])))
}
