import { expect, it } from 'vitest'
import { api, request } from '../support/client.ts'
import { connect, signUp, synced } from '../support/tenants.ts'

it('signs up, connects an RFC, downloads it, and reads it back', async () => {
  expect((await request('GET', '/health')).body).toEqual({ status: 'ok', environment: 'test', tax_authority: 'sandbox' })
  const tenant = await signUp()
  const { fiscal_entity_id } = await connect(tenant)
  const sync = await synced(tenant, fiscal_entity_id)
  expect(sync.jobs.failed).toBe(0)
  expect(sync.percent).toBe(100)
  const page = await api(tenant, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}`)
  expect(page.status).toBe(200)
  expect(page.body.data).toHaveLength(25)
  console.log(JSON.stringify(page.body.data[0], null, 1), sync)
  const summary = await api(tenant, 'GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${fiscal_entity_id}`)
  console.log(JSON.stringify(summary.body).slice(0, 1500))
  const docs = await api(tenant, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/documents`)
  console.log(docs.body.data.length)
})
