import { env } from 'cloudflare:workers'
import { expect, it, vi } from 'vitest'
import { basic, request } from './support/client.ts'
import { api } from './support/client.ts'
import { connect, signUp, synced, type Tenant } from './support/journeys.ts'

const upload = async (tenant: Tenant, fiscal_entity_id: string, bytes: Uint8Array, type: string) => {
  const sent = await request('POST', `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`, {
    headers: { authorization: basic(tenant), 'content-type': type },
    body: bytes,
  })
  expect(sent.status).toBe(202)
  const { import_id } = sent.body as { import_id: string }
  return vi.waitUntil(async () => {
    const { body } = await api(tenant, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports/${import_id}`)
    return body.status === 'completed' && body
  }, { timeout: 20_000, interval: 50 })
}

it('a document that another organization holds is imported and read back byte for byte, by its importer alone', async () => {
  const [owner, other] = [await signUp(), await signUp()]
  const { fiscal_entity_id, rfc } = await connect(owner)
  await synced(owner, fiscal_entity_id)
  const { body: page } = await api(owner, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&has_xml=true&limit=3`)
  const { uuid } = page.data[0]
  const xml = await request('GET', `/v1/cfdi/${uuid}/xml?fiscal_entity_id=${fiscal_entity_id}`, { headers: { authorization: basic(owner) } })
  const bytes = new TextEncoder().encode(xml.body as string)
  const again = await upload(owner, fiscal_entity_id, bytes, 'application/xml')
  expect(again.files).toMatchObject([{ status: 'unchanged', uuid }])
  const linked = await api(other, 'POST', '/v1/fiscal-entities', { rfc })
  expect(linked.body.status).toBe('draft')
  const taken = await upload(other, fiscal_entity_id, bytes, 'application/xml')
  expect(taken.files).toMatchObject([{ status: 'created', uuid }])
  expect(env).toBeDefined()
})
