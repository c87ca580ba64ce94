import { expect, it } from 'vitest'
import { api, basic, request } from '../../support/client.ts'
import { connect, signUp, synced } from '../../support/tenants.ts'

it('a PDF is answered under a path of its own and to who accepts it, and not again while it is the same', { timeout: 60_000 }, async () => {
  const tenant = await signUp()
  const { fiscal_entity_id } = await connect(tenant)
  await synced(tenant, fiscal_entity_id)
  const { data } = (await api(tenant, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&has_pdf=true&limit=1`)).body
  const [{ uuid, has_xml, has_pdf }] = data
  expect({ has_xml, has_pdf }).toEqual({ has_xml: true, has_pdf: true })
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
})
