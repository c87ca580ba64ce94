import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import type { DataSource } from '../../src/authority/contract.ts'
import { DATA_SOURCE_KEYS } from '../../src/authority/port/authority.ts'
import type { Page } from '../../src/platform/paging/cursor.ts'
import { basic } from '../support/client.ts'
import { connect, freshRfc, organization } from '../support/tenants.ts'
import { json, send } from '../support/wire.ts'
import { efirmaOf } from '../taxpayers/support/efirmas.ts'

describe('the catalog of data sources', () => {
  it('marks the mandatory and the premium source', async () => {
    const acme = await organization()
    const { status, body } = await acme.ask('GET', '/v1/fiscal-entities/data-sources', undefined, 'member')
    const page = body as Page<DataSource>
    expect([status, page.has_more, page.next_cursor]).toEqual([200, false, null])
    expect(page.data.map(({ key }) => key)).toEqual(DATA_SOURCE_KEYS)
    expect(page.data.filter(({ is_mandatory }) => is_mandatory).map(({ key }) => key)).toEqual(['sat_miinformacion'])
    for (const { key, label, description } of page.data) {
      expect(label, key).toMatch(/^[A-ZÁÉÍÓÚ][^.]+$/)
      // A whole sentence of what the source has, that is more than its name.
      expect(description, key).toMatch(/^(Los|Las|La|El) .{40,}\.$/)
    }
    const { description } = page.data.find(({ key }) => key === 'sat_miinformacion')!
    expect(description).toContain('buzón tributario')
    expect(page.data.filter(({ is_premium }) => is_premium).map(({ key }) => key)).toEqual(['sat_rug'])
  })
})

describe('a deployment with the real authority', () => {
  const real = { ...env, TAX_AUTHORITY: 'sat' } as Env
  const CFDI = ['sat_cfdi_issued', 'sat_cfdi_received']
  const MANDATORY = 'sat_miinformacion'

  it('has CFDIs only as active sources; the mandatory one stays mandatory', async () => {
    const { owner } = await organization()
    const { body } = await send('GET', '/v1/fiscal-entities/data-sources', { env: real, authorization: basic(owner) })
    const data = body.data as DataSource[]
    expect(data.map(({ key }) => key)).toEqual(DATA_SOURCE_KEYS)
    expect(data.filter(({ is_active }) => is_active).map(({ key }) => key)).toEqual(CFDI)
    expect(data.filter(({ is_mandatory }) => is_mandatory).map(({ key }) => key)).toEqual([MANDATORY])
  })

  it('adds the mandatory source to every extractor and connection, takes back the lists that it shows, and refuses other sources', async () => {
    const { owner } = await organization()
    const ask = (method: string, path: string, value: unknown) =>
      send(method, path, { env: real, authorization: basic(owner), ...json(value) })
    const extractor = { name: 'Todo', trigger_kind: 'connection_created', scope: 'full_history' }
    const made = await ask('POST', '/v1/extractors', { ...extractor, data_source_keys: ['sat_cfdi_issued'] })
    expect([made.status, made.body.data_source_keys]).toEqual([201, ['sat_cfdi_issued', MANDATORY]])
    const changed = await ask('PATCH', `/v1/extractors/${made.body.extractor_id}`, { data_source_keys: [...CFDI, MANDATORY] })
    expect([changed.status, changed.body.data_source_keys]).toEqual([200, [...CFDI, MANDATORY]])
    const draft = await ask('POST', '/v1/fiscal-entities', { rfc: freshRfc(), data_source_keys: [...CFDI, MANDATORY] })
    expect([draft.status, draft.body.data_source_keys]).toEqual([201, [...CFDI, MANDATORY]])
    const without = await ask('POST', '/v1/fiscal-entities', { rfc: freshRfc() })
    expect(without.body.data_source_keys).toEqual([...CFDI, MANDATORY])
    for (const [path, value] of [
      ['/v1/extractors', extractor],
      ['/v1/fiscal-entities', { rfc: freshRfc() }],
    ] as const) {
      const { status, body } = await ask('POST', path, { ...value, data_source_keys: ['sat_csf', MANDATORY, 'toString'] })
      expect([status, body.code, body.errors.map((fault: { path: string }) => fault.path)]).toEqual([
        ...[422, 'data_source.unknown'],
        ['data_source_keys[0]', 'data_source_keys[2]'],
      ])
    }
    const inactive = await ask('PATCH', `/v1/extractors/${made.body.extractor_id}`, { data_source_keys: [MANDATORY, 'sat_csf'] })
    expect([inactive.status, inactive.body.code, inactive.body.errors]).toEqual([
      ...[422, 'data_source.inactive'],
      [
        {
          path: 'data_source_keys[1]',
          message: 'Must be an active data source: sat_cfdi_issued, sat_cfdi_received. This deployment does not download sat_csf.',
        },
      ],
    ])
  })

  it('warns in answers that are empty because nothing of their sources is downloaded', async () => {
    const { owner } = await organization()
    const rfc = freshRfc()
    const { fiscal_entity_id } = await connect(owner, rfc, { efirma: efirmaOf(rfc) })
    const read = async (path: string, under = real) =>
      (await send('GET', `/v1/fiscal-entities/${fiscal_entity_id}/${path}`, { env: under, authorization: basic(owner) })).body
    const sources = ({ warnings }: { warnings: { code: string; message: string }[] }) =>
      warnings.map(({ code, message }) => `${code} ${/download (\w+)/.exec(message)?.[1]}`)
    expect(sources(await read('buzon/notifications'))).toEqual([`source.inactive ${MANDATORY}`])
    expect(sources(await read('tax-profile'))).toEqual(
      ['sat_csf', 'sat_opinion_32d', 'sat_obligations', 'sat_certificates'].map((key) => `source.inactive ${key}`),
    )
    expect(sources(await read('documents'))).toEqual(DATA_SOURCE_KEYS.slice(CFDI.length).map((key) => `source.inactive ${key}`))
    expect(sources(await read('documents?data_source_key=sat_rug'))).toEqual(['source.inactive sat_rug'])
    expect(sources(await read('documents?data_source_key=sat_cfdi_issued'))).toEqual([])
    expect(sources(await read('obligations'))).toEqual(
      ['sat_csf', 'sat_obligations', 'sat_declaracion_anual', 'sat_declaracion_mensual'].map((key) => `source.inactive ${key}`),
    )
    for (const path of ['buzon/notifications', 'tax-profile', 'documents', 'obligations'])
      expect((await read(path, env)).warnings).toEqual([])
  })

  it('has a document without the test helpers that change the sandbox', async () => {
    const helpers = async (under: Env): Promise<string[]> =>
      Object.keys((await send('GET', '/v1/openapi.json', { env: under })).body.paths).filter((path) => path.includes('/test-helpers/'))
    const [all, some] = [await helpers(env), await helpers(real)]
    expect(all).toContain('/v1/test-helpers/mailbox')
    expect(some.sort()).toEqual(all.filter((path) => !/\/(cfdi|fiscal-entities|mailbox|sync-jobs)(\/|$)/.test(path)).sort())
    expect(some).toContain('/v1/test-helpers/organization')
  })

  it('asks the authority for CFDIs only, also for extractors and connections that have the mandatory source', async () => {
    const sourcesAsked = async (under: Env) => {
      const { owner } = await organization()
      // The connection is made in the sandbox; only the run is of the other deployment.
      const rfc = freshRfc()
      const { fiscal_entity_id } = await connect(owner, rfc, { efirma: efirmaOf(rfc) })
      const draft = { name: 'Todo', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: 1, data_source_keys: CFDI }
      const { body: made } = await send('POST', '/v1/extractors', { authorization: basic(owner), ...json(draft) })
      expect(made.data_source_keys).toContain(MANDATORY)
      const run = await send('POST', `/v1/extractors/${made.extractor_id}/run`, { env: under, authorization: basic(owner) })
      expect([run.status, run.body.dispatched]).toEqual([200, 1])
      const { body } = await send('GET', `/v1/fiscal-entities/${fiscal_entity_id}/sync-jobs?limit=100`, { authorization: basic(owner) })
      return [...new Set((body.data as { data_source_key: string }[]).map(({ data_source_key }) => data_source_key))].sort()
    }
    expect(await sourcesAsked(real)).toEqual(CFDI)
    expect(await sourcesAsked(env)).toEqual([...CFDI, MANDATORY])
  })

  it('has the sources that the fetcher brings, all of them unless FETCHER_SOURCES names some', async () => {
    const { owner } = await organization()
    const fetcher = { ...real, FETCHER_KEYS: `1:${btoa('k'.repeat(32))}` } as Env
    const active = async (under: object) => {
      const { body } = await send('GET', '/v1/fiscal-entities/data-sources', { env: under as Env, authorization: basic(owner) })
      return (body.data as DataSource[]).filter(({ is_active }) => is_active).map(({ key }) => key)
    }
    expect(await active(fetcher)).toEqual(DATA_SOURCE_KEYS)
    const some = { ...fetcher, FETCHER_SOURCES: 'sat_opinion_32d, sat_csf' }
    expect(await active(some)).toEqual([...CFDI, 'sat_csf', 'sat_opinion_32d'])
    expect(await active({ ...real, FETCHER_SOURCES: 'sat_csf' })).toEqual(CFDI)
    const extractor = { name: 'Todo', trigger_kind: 'connection_created', scope: 'full_history', data_source_keys: ['sat_csf', 'sat_rug'] }
    const refused = await send('POST', '/v1/extractors', { env: some as Env, authorization: basic(owner), ...json(extractor) })
    expect([refused.status, refused.body.errors.map(({ path }: { path: string }) => path)]).toEqual([422, ['data_source_keys[1]']])
  })
})
