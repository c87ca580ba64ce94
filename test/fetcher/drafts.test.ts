import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { systemOf } from '../../src/platform/context.ts'
import { unverifiedEntities } from '../../src/taxpayers/verification.ts'
import { callOf } from '../downloads/support/downloads.ts'
import { freshRfc, type Organization, organization } from '../support/tenants.ts'
import { askOf, withoutFetcher } from './support/deployment.ts'

const PATH = '/v1/fiscal-entities'
const codes = (body: { warnings: { code: string }[] }): string[] => body.warnings.map(({ code }) => code)
const ask = (of: Organization, method: string, path: string, json?: unknown) => askOf(withoutFetcher, of.owner, method, path, json)

describe('a CIEC where only web services are spoken', () => {
  it('is stored with a draft, whose warnings say what is missing; nothing is downloaded or shown with it', async () => {
    const acme = await organization()
    const rfc = freshRfc()
    const made = await ask(acme, 'POST', PATH, { rfc, ciec: 'deCanario1' })
    expect(made).toMatchObject({ status: 201, body: { status: 'draft', ciec_set: true, credential_kind: 'ciec', invalid_reason: null } })
    expect(codes(made.body)).toEqual(['ciec.no_fetcher'])
    expect(JSON.stringify(made.body)).not.toContain('Canario')
    const path = `${PATH}/${made.body.fiscal_entity_id}`
    expect((await ask(acme, 'GET', path)).body).toEqual(made.body)
    expect((await ask(acme, 'GET', `/v1/cfdi?fiscal_entity_id=${made.body.fiscal_entity_id}`)).status).toBe(404)
    expect(await env.DB.prepare('select count(*) as n from runs where organization_id = ?').bind(acme.id).first('n')).toBe(0)
  })

  it('is asked about by no sweep, which would ask in vain every minute', async () => {
    const acme = await organization()
    const rfc = freshRfc()
    await ask(acme, 'POST', PATH, { rfc, ciec: 'deAna1' })
    const { entity } = await callOf(rfc)
    const due = await unverifiedEntities(systemOf(withoutFetcher, new Date(), 'req_test'), 10_000)
    expect(due.map((one) => one.entity)).not.toContain(entity)
  })

  it('is erased by null, and a draft stays one', async () => {
    const acme = await organization()
    const made = (await ask(acme, 'POST', PATH, { rfc: freshRfc(), ciec: 'deAna1' })).body
    const left = await ask(acme, 'PATCH', `${PATH}/${made.fiscal_entity_id}`, { ciec: null })
    expect(left.body).toMatchObject({ status: 'draft', ciec_set: false, warnings: [] })
  })

  it('can be given to a draft later, which stays one, and a second time', async () => {
    const acme = await organization()
    const made = (await ask(acme, 'POST', PATH, { rfc: freshRfc() })).body
    for (const ciec of ['deAna1', 'deAna2']) {
      const given = await ask(acme, 'PATCH', `${PATH}/${made.fiscal_entity_id}`, { ciec })
      expect([given.status, given.body.status, given.body.ciec_set, codes(given.body)]).toEqual([200, 'draft', true, ['ciec.no_fetcher']])
    }
  })
})
