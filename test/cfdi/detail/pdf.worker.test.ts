import { env } from 'cloudflare:test'
import { expect, it, vi } from 'vitest'
import { api, basic, request } from '../../support/client.ts'
import { connect } from '../../support/tenants.ts'
import { importXml, organizationWith } from '../../support/world.ts'
import { DOCUMENTS } from '../support/complements.ts'

it('a PDF is answered under a path of its own and to who accepts it, and not again while it is the same', { timeout: 90_000 }, async () => {
  const { owner: tenant } = await organizationWith()
  for (const { extractor_id } of (await api(tenant, 'GET', '/v1/extractors')).body)
    await api(tenant, 'DELETE', `/v1/extractors/${extractor_id}`)
  const { fiscal_entity_id, rfc } = await connect(tenant)
  await importXml(tenant, fiscal_entity_id, DOCUMENTS['4.0, payments 2.0']!.replace('Rfc="AAA010101AAA"', `Rfc="${rfc}"`))
  const found = () => api(tenant, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&has_pdf=true`)
  const [{ uuid, has_xml }] = await vi.waitUntil(
    async () => {
      const { data } = (await found()).body
      return data.length > 0 ? data : false
    },
    { timeout: 30_000, interval: 100 },
  )
  expect(has_xml).toBe(true)
  const ask = async (path: string, headers: Record<string, string> = {}) =>
    request('GET', `/v1/cfdi/${uuid}${path}?fiscal_entity_id=${fiscal_entity_id}`, {
      headers: { authorization: basic(tenant), ...headers },
    })
  const [own, accepted, json] = [await ask('/pdf'), await ask('', { accept: 'application/pdf' }), await ask('')]
  expect(own.headers.get('content-type')).toBe('application/pdf')
  expect(own.headers.get('content-disposition')).toBe(`inline; filename="${uuid}.pdf"`)
  expect(String(own.body).slice(0, 8)).toBe('%PDF-1.7')
  expect(accepted.headers.get('etag')).toBe(own.headers.get('etag'))
  expect(accepted.headers.get('vary')).toContain('Accept')
  expect(json.body).toMatchObject({ uuid, has_pdf: true })
  expect((await ask('/pdf', { 'if-none-match': own.headers.get('etag')! })).status).toBe(304)
  await env.LEDGER_0.prepare('update cfdi set xml_object = null where uuid = ?').bind(uuid).run()
  expect(await ask('/pdf')).toMatchObject({ status: 409, body: { code: 'cfdi.xml_not_held' } })
})
