/** What a customer does, with the packed client alone: connects, waits, mirrors, reads, is refused. Prints what it found as JSON. */
import { type Cfdi, FiscalData, FiscalDataError, isSigned, pages, rows } from 'fiscal-data-client'

const [baseUrl, email] = process.argv.slice(2) as [string, string]
const nobody = new FiscalData({ baseUrl })
const { credential } = await nobody.signUp({ body: { organization_name: 'Cliente SA', name: 'Ada Pérez', email } })
const api = new FiscalData({ baseUrl, apiKey: credential.api_key, apiSecret: credential.api_secret })

const entity = await api.connectFiscalEntity({ body: { rfc: 'EKU9003173C9', ciec: 'secreta1' } })
const fiscal_entity_id = entity.fiscal_entity_id
while (['running', 'waiting'].includes((await api.getSync({ path: { fiscal_entity_id } })).state))
  await new Promise((done) => setTimeout(done, 500))

const mirrored = new Map<string, Cfdi>()
let cursor: string | undefined
for await (const batch of api.mirror(fiscal_entity_id)) {
  for (const { uuid, cfdi } of batch.changes) cfdi ? mirrored.set(uuid, cfdi) : mirrored.delete(uuid)
  cursor = batch.cursor
}
let again = 0
for await (const { changes } of api.mirror(fiscal_entity_id, { cursor })) again += changes.length

const listed = new Map<string, Cfdi>()
let pageCount = 0
for await (const page of pages((cursor) => api.searchCfdi({ query: { fiscal_entity_id, limit: 50, ...(cursor && { cursor }) } }))) {
  pageCount++
  // Without `fields` a row is whole.
  for (const cfdi of page.data as Cfdi[]) listed.set(cfdi.uuid, cfdi)
}
let rowCount = 0
for await (const _ of rows((cursor) => api.listFiscalEntities({ query: { limit: 1, ...(cursor && { cursor }) } }))) rowCount++
const isEqual =
  listed.size === mirrored.size && [...listed].every(([uuid, cfdi]) => JSON.stringify(mirrored.get(uuid)) === JSON.stringify(cfdi))

const refused = await api.getCfdi({ path: { uuid: crypto.randomUUID() }, query: { fiscal_entity_id } }).catch((error: unknown) => error)
const refusal =
  refused instanceof FiscalDataError ? { status: refused.status, code: refused.code, hasId: refused.requestId !== null } : null

const key = await crypto.subtle.importKey('raw', new TextEncoder().encode('whsec_1'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
const hex = [...new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode('{}')))].map((byte) =>
  byte.toString(16).padStart(2, '0'),
)
const signature = `v1,${hex.join('')}`
const signed = [
  await isSigned('{}', signature, 'whsec_0', 'whsec_1'),
  await isSigned('{ }', signature, 'whsec_1'),
  await isSigned('{}', null, 'whsec_1'),
  await isSigned(Buffer.concat([Buffer.from('{'), Buffer.from('}')]), signature, 'whsec_1'),
]
// A file as Node reads it.
const { bytes: imported } = await api.importCfdi({ path: { fiscal_entity_id }, body: Buffer.from('<a/>') })

console.log(JSON.stringify({ listed: listed.size, isEqual, again, pageCount, rowCount, refusal, signed, imported }))
