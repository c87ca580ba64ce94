import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import { insertFileResults } from '../../../src/cfdi/imports/store.ts'
import worker from '../../../src/index.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { settingsOf } from '../../../src/platform/settings.ts'
import { created, draft } from '../../connections/extractors/support/extractors.ts'
import { api, basic, request } from '../../support/client.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization, synced, type Tenant } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { packageOf, plainOf, xmlOf } from '../support/documents.ts'

const utf8 = new TextEncoder()
const random = randomOf(7)
const importsOf = (fiscal_entity_id: string) => `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`

const send = async (tenant: Tenant, fiscal_entity_id: string, bytes: Uint8Array, type = 'application/zip'): Promise<string> => {
  const sent = await request('POST', importsOf(fiscal_entity_id), {
    headers: { authorization: basic(tenant), 'content-type': type },
    body: bytes,
  })
  expect(sent).toMatchObject({ status: 202, body: { status: expect.stringMatching(/queued|running|completed/) } })
  return (sent.body as { import_id: string }).import_id
}

const completed = (tenant: Tenant, fiscal_entity_id: string, import_id: string) =>
  vi.waitUntil(
    async () => {
      const { body } = await api(tenant, 'GET', `${importsOf(fiscal_entity_id)}/${import_id}`)
      return body.status === 'completed' && body
    },
    { timeout: 30_000, interval: 50 },
  )

const upload = async (tenant: Tenant, fiscal_entity_id: string, bytes: Uint8Array, type?: string) =>
  completed(tenant, fiscal_entity_id, await send(tenant, fiscal_entity_id, bytes, type))

/** Where an import's bytes are. */
async function objectOf(import_id: string): Promise<string> {
  for (const ledger of settingsOf(env).ledgers) {
    const object = await ledger.prepare('select object from imports where import_id = ?').bind(import_id).first<string>('object')
    if (object) return object
  }
  throw new Error(`There is no import ${import_id}.`)
}

const idsOf = async (tenant: Tenant, fiscal_entity_id: string, query = ''): Promise<string[]> =>
  (await api(tenant, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&limit=100${query}`)).body.data.map(
    (it: { uuid: string }) => it.uuid,
  )

/** The sweep, when the clock has gone on by so much and when its tick was to come so much later. */
async function sweep(passed: number, ahead: number): Promise<void> {
  const now = Date.now()
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + passed)
  await worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date(now + ahead) }), env)
  clock.mockRestore()
}

/** An organization that downloads CFDIs of the last month when it connects an RFC. */
async function tenantOfOneMonth(): Promise<Tenant> {
  const of = await organization()
  await created(of, { ...draft, scope: 'last_n_months', scope_months: 1, data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'] })
  return of.owner
}

/** A connection with a window of the last month only, and nothing downloaded from the sandbox. */
async function quietConnection() {
  const tenant = await tenantOfOneMonth()
  const { fiscal_entity_id, rfc } = await connect(tenant, freshRfc(), { ciec: 'empty' })
  await synced(tenant, fiscal_entity_id)
  return { tenant, fiscal_entity_id, rfc }
}

describe('an upload', () => {
  it('is read back byte for byte, whatever the window, by its organization alone', async () => {
    const { tenant, fiscal_entity_id, rfc } = await quietConnection()
    const other = await tenantOfOneMonth()
    const theirs = await connect(other, rfc, { ciec: 'empty' })
    const old = plainOf(random, '2017-05', { emisor: rfc })
    const xml = utf8.encode(`\ufeff${xmlOf(old)}\n`)
    expect(await upload(tenant, fiscal_entity_id, xml, 'application/xml')).toMatchObject({
      counts: { created: 1, updated: 0, unchanged: 0, rejected: 0 },
      files: [{ status: 'created', uuid: old.uuid, code: null }],
    })
    expect(await idsOf(tenant, fiscal_entity_id)).toEqual([old.uuid])
    const detail = await api(tenant, 'GET', `/v1/cfdi/${old.uuid.toLowerCase()}?fiscal_entity_id=${fiscal_entity_id}`)
    expect(detail.body).toMatchObject({ uuid: old.uuid, origin: 'import', total: old.total, direction: 'issued', has_xml: true })
    const read = await worker.fetch(
      new Request(`https://api.test/v1/cfdi/${old.uuid}/xml?fiscal_entity_id=${fiscal_entity_id}`, {
        headers: { authorization: basic(tenant) },
      }),
      env,
    )
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(xml)
    const months = await api(
      tenant,
      'GET',
      `/v1/cfdi/summary/monthly?fiscal_entity_id=${fiscal_entity_id}&from=2017-05&to=2017-05&direction=issued`,
    )
    expect(months.body.data).toMatchObject([{ month: '2017-05', direction: 'issued', count: 1 }])
    for (const id of [theirs.fiscal_entity_id, fiscal_entity_id])
      expect((await api(other, 'GET', `/v1/cfdi/${old.uuid}?fiscal_entity_id=${id}`)).status).toBe(404)
    expect(await idsOf(other, theirs.fiscal_entity_id)).toEqual([])
    expect(await upload(tenant, fiscal_entity_id, xml, 'text/xml')).toMatchObject({ files: [{ status: 'unchanged', uuid: old.uuid }] })
  })

  it('lands as far as its files are good, and says of each what became of it', async () => {
    const { tenant, fiscal_entity_id, rfc } = await quietConnection()
    const [good, paid] = [
      plainOf(random, '2026-01', { emisor: rfc, metodo: 'PPD' }),
      plainOf(random, '2026-02', { receptor: rfc, emisor: 'BBB020202BB1' }),
    ]
    const foreign = plainOf(random, '2026-01', {})
    const unstamped = xmlOf(plainOf(random, '2026-01', { emisor: rfc })).replace(/<tfd:TimbreFiscalDigital[^>]*\/>/, '')
    const files: Record<string, string> = {
      'carpeta/../bueno.xml.xml': xmlOf(good),
      'otro.xml': xmlOf(paid),
      'ajeno.xml': xmlOf(foreign),
      'sin-timbre.xml': unstamped,
      'bomba.xml': `<!DOCTYPE x [<!ENTITY a "aaaa">]>${xmlOf(good)}`,
      'vacio.xml': ' ',
      'pagina.xml': '<html><body>Servicio no disponible</body></html>',
      '__MACOSX/._otro.xml': 'x',
    }
    const done = await upload(
      tenant,
      fiscal_entity_id,
      zipOf(Object.entries(files).map(([name, text]) => ({ name, bytes: utf8.encode(text) }))),
    )
    const codeOf = Object.fromEntries(
      done.files.map(({ name, status, code }: { name: string; status: string; code: string | null }) => [
        name.split('/').at(-1),
        code ?? status,
      ]),
    )
    expect(codeOf).toEqual({
      'bueno.xml.xml': 'created',
      'otro.xml': 'created',
      'ajeno.xml': 'cfdi.foreign_rfc',
      'sin-timbre.xml': 'cfdi.unstamped',
      'bomba.xml': 'cfdi.doctype',
      'vacio.xml': 'cfdi.empty',
      'pagina.xml': expect.stringMatching(/^cfdi\.(html|not_a_cfdi)$/),
    })
    expect((await idsOf(tenant, fiscal_entity_id)).sort()).toEqual([good.uuid, paid.uuid].sort())
  })

  it('that is no ZIP and no CFDI is one rejected file, not a failure', async () => {
    const { tenant, fiscal_entity_id } = await quietConnection()
    expect(await upload(tenant, fiscal_entity_id, utf8.encode('PK\u0003\u0004 broken'), 'application/octet-stream')).toMatchObject({
      files: [{ status: 'rejected', code: expect.stringMatching(/^zip\./) }],
    })
    expect(await upload(tenant, fiscal_entity_id, utf8.encode('nonsense'), 'application/xml')).toMatchObject({
      files: [{ status: 'rejected' }],
    })
  })

  it('whose message is lost is finished by the sweep', async () => {
    const { tenant, fiscal_entity_id, rfc } = await quietConnection()
    const lost = vi.spyOn(Object.getPrototypeOf(env.IMPORTS), 'sendBatch').mockRejectedValueOnce(new Error('The queue is full.'))
    const import_id = await send(
      tenant,
      fiscal_entity_id,
      utf8.encode(xmlOf(plainOf(random, '2026-03', { emisor: rfc }))),
      'application/xml',
    )
    lost.mockRestore()
    expect((await api(tenant, 'GET', `${importsOf(fiscal_entity_id)}/${import_id}`)).body.status).toBe('queued')
    await sweep(0, 120_000)
    expect((await api(tenant, 'GET', `${importsOf(fiscal_entity_id)}/${import_id}`)).body.status).toBe('queued')
    await sweep(120_000, 0)
    expect((await completed(tenant, fiscal_entity_id, import_id)).counts.created).toBe(1)
  })

  it('that is given up says so, whatever has become of its files before', async () => {
    const { tenant, fiscal_entity_id, rfc } = await quietConnection()
    const lost = vi.spyOn(Object.getPrototypeOf(env.IMPORTS), 'sendBatch').mockResolvedValueOnce(undefined as never)
    const import_id = await send(tenant, fiscal_entity_id, packageOf([plainOf(random, '2026-03', { emisor: rfc })]))
    lost.mockRestore()
    const object = await objectOf(import_id)
    expect(await env.FILES.head(object)).not.toBeNull()
    for (const ledger of settingsOf(env).ledgers) {
      await ledger.prepare('update imports set attempts = 5 where import_id = ?').bind(import_id).run()
      await commit(ledger, insertFileResults(import_id, [{ n: 0, name: 'a.xml', status: 'created', uuid: null, code: null, detail: null }]))
    }
    await sweep(120_000, 0)
    expect(await completed(tenant, fiscal_entity_id, import_id)).toMatchObject({
      counts: { created: 1, rejected: 1 },
      files: [
        { name: 'upload', status: 'rejected', code: 'import.failed', detail: 'The upload could not be processed. Send it again.' },
        { name: 'a.xml', status: 'created' },
      ],
    })
    await vi.waitUntil(async () => (await env.FILES.head(object)) === null, { timeout: 5_000 })
  })

  it('whose upload is gone says that it has to be sent again', async () => {
    const { tenant, fiscal_entity_id, rfc } = await quietConnection()
    const lost = vi.spyOn(Object.getPrototypeOf(env.IMPORTS), 'sendBatch').mockResolvedValueOnce(undefined as never)
    const import_id = await send(tenant, fiscal_entity_id, packageOf([plainOf(random, '2026-03', { emisor: rfc })]))
    lost.mockRestore()
    await env.FILES.delete(await objectOf(import_id))
    await sweep(120_000, 0)
    expect(await completed(tenant, fiscal_entity_id, import_id)).toMatchObject({
      files: [{ name: 'upload', status: 'rejected', code: 'import.failed', detail: 'The upload is no longer stored. Send it again.' }],
    })
  })
})

describe('what the authority delivers', () => {
  it('is not doubled by an upload of the same, and comes before one of earlier', async () => {
    const [owner, early] = [await tenantOfOneMonth(), await tenantOfOneMonth()]
    const { fiscal_entity_id, rfc } = await connect(owner)
    await synced(owner, fiscal_entity_id)
    const [newest] = await idsOf(owner, fiscal_entity_id, '&has_xml=true&direction=issued')
    const xml = await request('GET', `/v1/cfdi/${newest}/xml?fiscal_entity_id=${fiscal_entity_id}`, {
      headers: { authorization: basic(owner) },
    })
    const bytes = utf8.encode(xml.body as string)
    expect(await upload(owner, fiscal_entity_id, bytes, 'application/xml')).toMatchObject({
      files: [{ status: 'unchanged', uuid: newest }],
    })

    // Another organization has the file before its own extraction: it is its own until then, and the authority's afterwards.
    const draft = await api(early, 'POST', '/v1/fiscal-entities', { rfc })
    expect(draft.body.status).toBe('draft')
    const own: string = draft.body.fiscal_entity_id
    expect(await upload(early, own, bytes, 'application/xml')).toMatchObject({ files: [{ status: 'created', uuid: newest }] })
    await api(early, 'PATCH', `/v1/fiscal-entities/${own}`, { ciec: 'secreta2' })
    await synced(early, own)
    const shown = await idsOf(early, own, `&uuid=${newest}`)
    expect(shown).toEqual([newest])
    expect((await api(early, 'GET', `/v1/cfdi/${newest}?fiscal_entity_id=${own}`)).body.origin).toBe('authority')
  })
})
