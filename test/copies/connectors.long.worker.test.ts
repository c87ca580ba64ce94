import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { uuidOf } from '../../src/platform/db/id.ts'
import { REFUSED } from '../delivery/support/targets.ts'
import { basic, pathsOf } from '../support/client.ts'
import { at } from '../support/clock.ts'
import { silenceQueues } from '../support/queues.ts'
import { audited, freshRfc, organization } from '../support/tenants.ts'
import { json, send } from '../support/wire.ts'
import { CONNECTORS, connector, DRAFTS, type DraftedProvider, rowOf } from './support/connectors.ts'

const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const KINDS = [...['cfdi_xml', 'csf', 'opinion_32d', 'obligations', 'declaracion', 'acuse', 'registration', 'certificates', 'rug', 'buzon']]
const TEMPLATE = '{rfc}/{yyyy}/{mm}/{direction}/{uuid}.xml'

const acme = await organization()
let sent: unknown[]

beforeEach(() => {
  sent = silenceQueues()
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  await env.EVENTS_0.prepare('delete from storage_connectors').run()
})

const codeOf = ({ status, body }: { status: number; body: { code: string } }) => `${status} ${body.code}`
const draft = async (of: typeof acme, rfc = freshRfc()): Promise<string> =>
  (await of.ask('POST', '/v1/fiscal-entities', { rfc })).body.fiscal_entity_id

describe('creating a connector', () => {
  it('answers the record, without its credentials', async () => {
    const { status, body } = await acme.ask('POST', CONNECTORS, { name: ' Respaldo ', ...DRAFTS.s3 })
    expect([status, body]).toEqual([
      201,
      {
        connector_id: expect.stringMatching(/^stc_[0-9a-z]{26}$/),
        name: 'Respaldo',
        provider: 's3',
        connector_status: 'active',
        config: { ...DRAFTS.s3.config, endpoint: null, path_style: null, prefix: '', path_template: TEMPLATE },
        scope: { fiscal_entity_ids: null, kinds: KINDS },
        credentials_set: true,
        last_copied_at: null,
        last_error: null,
        copied_count: 0,
        pending_count: 0,
        failed_count: 0,
        consecutive_failures: 0,
        next_attempt_at: null,
        backfill: null,
        last_manifest: null,
        preview: [
          'EKU9003173C9/2026/11/issued/5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml',
          'EKU9003173C9/2026/10/received/5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml',
          'EKU9003173C9/documents/csf/2026-11-05-doc_01kabcdefghjkmnpqrstvwxyz0.pdf',
        ],
        created_at: INSTANT,
        updated_at: body.created_at,
      },
    ])
    expect((await acme.ask('GET', `${CONNECTORS}/${body.connector_id}`, undefined, 'member')).body).toEqual(body)
    expect((await acme.ask('GET', CONNECTORS)).body).toEqual({ data: [body], has_more: false, next_cursor: null })
    // The worker that plans it is woken.
    expect(sent).toEqual([{ shard: 0, connector: (await rowOf(body))!['connector'] }])
  })

  it.each([
    ['azure_blob', { ...DRAFTS.azure_blob.config, endpoint: null }],
    ['google_drive', DRAFTS.google_drive.config],
    ['onedrive', { tenant: 'common', drive_id: null, folder_id: null }],
  ] as const)('at %s has the defaults of its provider', async (provider, config) => {
    const made = await connector(acme, provider)
    expect(made['config']).toEqual({ ...config, prefix: '', path_template: TEMPLATE })
  })

  it('shows the paths of its template and prefix', async () => {
    const config = { ...DRAFTS.s3.config, prefix: 'Cópia/2026/', path_template: '{direction}/{rfc}/{tipo}-{uuid}.xml' }
    const { preview } = await connector(acme, 's3', { config })
    expect(preview).toEqual([
      'Cópia/2026/issued/EKU9003173C9/I-5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml',
      'Cópia/2026/received/EKU9003173C9/I-5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml',
      'Cópia/2026/EKU9003173C9/documents/csf/2026-11-05-doc_01kabcdefghjkmnpqrstvwxyz0.pdf',
    ])
  })

  const wrong: [DraftedProvider, object, string[]][] = [
    ['s3', { config: {} }, ['config.bucket']],
    ['s3', { config: { bucket: 'a', account: 'b' } }, ['config.account', 'config.bucket']],
    ['s3', { config: { bucket: '../x' } }, ['config.bucket']],
    ['s3', { config: { bucket: 'Acme_CFDI' } }, ['config.bucket']],
    ['s3', { config: { bucket: 'acme_cfdi' } }, ['config.bucket']],
    ['s3', { config: { bucket: '192.168.5.4' } }, ['config.bucket']],
    ['s3', { config: { bucket: 'abc', path_template: 'manifests/{rfc}/{uuid}.xml' } }, ['config.path_template']],
    ['s3', { config: { bucket: 'abc', region: 'x.evil.example/' } }, ['config.region']],
    ['s3', { config: { bucket: 'abc', endpoint: 'http://s3.example.com' } }, ['config.endpoint']],
    ['s3', { config: { bucket: 'abc', endpoint: 'https://s3.example.com/?a=1' } }, ['config.endpoint']],
    ['s3', { config: { bucket: 'abc', path_style: 'yes' } }, ['config.path_style']],
    ['s3', { config: { bucket: 'abc', prefix: '../a' } }, ['config.prefix']],
    ['s3', { config: { bucket: 'abc', path_template: '{uuid}.xml' } }, ['config.path_template']],
    ['s3', { config: { bucket: 'abc', path_template: '{direction}/{uuid}.xml' } }, ['config.path_template']],
    ['s3', { config: { bucket: 'abc', path_template: 'x'.repeat(301) } }, ['config.path_template']],
    ['s3', { config: [] }, ['config']],
    ['s3', { config: null }, ['config']],
    ['s3', { credentials: { access_key_id: 'a' } }, ['credentials.secret_access_key']],
    [
      's3',
      { credentials: { access_key_id: 'a b', secret_access_key: '' } },
      ['credentials.access_key_id', 'credentials.secret_access_key'],
    ],
    ['s3', { credentials: { ...DRAFTS.s3.credentials, token: 'x' } }, ['credentials.token']],
    [
      's3',
      { credentials: DRAFTS.onedrive.credentials },
      ['access_key_id', 'client_id', 'client_secret', 'refresh_token', 'secret_access_key'].map((name) => `credentials.${name}`),
    ],
    [
      's3',
      { name: '', config: { bucket: 1 }, credentials: 'x', scope: { kinds: [] } },
      ['config.bucket', 'credentials', 'name', 'scope.kinds'],
    ],
    ['s3', { provider: 'ftp' }, ['provider']],
    ['azure_blob', { config: { account: 'A', container: 'a--b' } }, ['config.account', 'config.container']],
    ['azure_blob', { credentials: {} }, ['credentials']],
    ['azure_blob', { credentials: { account_key: btoa('k'), sas_token: 'sig=x' } }, ['credentials']],
    ['azure_blob', { credentials: { account_key: 'ñ' } }, ['credentials.account_key']],
    ['azure_blob', { credentials: { sas_token: 'sp=rw' } }, ['credentials.sas_token']],
    ['azure_blob', { credentials: { sas_token: 'sp=rcd&sig=x' } }, ['credentials.sas_token']],
    ['azure_blob', { credentials: { sas_token: 'sp=rcwd&se=2020-01-01&sig=x' } }, ['credentials.sas_token']],
    ['azure_blob', { credentials: { sas_token: 'sp=rcwd&se=2020-01-01T00%3A00%3A00Z&sig=x' } }, ['credentials.sas_token']],
    ['google_drive', { config: {} }, ['config.folder_id']],
    ['google_drive', { config: { folder_id: 'a/b' } }, ['config.folder_id']],
    ['google_drive', { credentials: { refresh_token: 'x' } }, ['credentials']],
    [
      'google_drive',
      { credentials: { service_account: { client_email: 'x', private_key: 'no key' } } },
      ['credentials.service_account.private_key'],
    ],
    [
      'onedrive',
      { config: { drive_id: 'a/../b', tenant: 'evil.example/x', folder_id: '' } },
      ['config.drive_id', 'config.folder_id', 'config.tenant'],
    ],
    ['onedrive', { credentials: { client_id: 'x' } }, ['credentials.refresh_token']],
    ['onedrive', { scope: { kinds: ['csf', 'nomina'], all: true } }, ['scope.all', 'scope.kinds[1]']],
  ]
  it.each(wrong)('%s with %j is 422, every fault by its path, and no word of what was sent', async (provider, more, paths) => {
    const { status, body } = await acme.ask('POST', CONNECTORS, { name: 'Respaldo', ...DRAFTS[provider], ...more })
    expect([status, [...new Set(pathsOf(body))]]).toEqual([422, paths])
    for (const { message } of body.errors) expect(message).toMatch(/^(Must|Is required|Unknown member).*[.?]$/)
    for (const secret of ['"a b', 'no key', 'sp=rw', 'refresco']) expect(JSON.stringify(body)).not.toContain(secret)
    expect((await acme.ask('GET', CONNECTORS)).body.data).toEqual([])
  })

  const STEPS = ['..', '.', 'a\\b', '..\\a', 'a\u0000b', 'a\u001fb', 'a/../b', 'a/./b', 'a/..']
  const IDS = [...STEPS, '...', 'a\nb', 'a/b']
  const URLS = ['/..', '/./a', '/a/../b', '/%2e%2e/a', '/.%2E', '/a\\..\\b', '/a\\b', '/a\u0000b', '/a\nb'].map(
    (path) => `https://s3.example.com${path}`,
  )
  const UNSAFE: [DraftedProvider, string, readonly string[]][] = [
    ['s3', 'prefix', STEPS],
    ['s3', 'bucket', [...IDS, 'a..b']],
    ['s3', 'endpoint', URLS],
    ['azure_blob', 'container', IDS],
    ['azure_blob', 'endpoint', URLS],
    ['google_drive', 'folder_id', IDS],
    ['google_drive', 'prefix', STEPS],
    ['onedrive', 'drive_id', IDS],
    ['onedrive', 'folder_id', IDS],
    ['onedrive', 'tenant', IDS],
  ]
  it.each(UNSAFE)('at %s takes no steps, backslashes or control characters in its %s', async (provider, member, values) => {
    for (const value of values) {
      const config = { ...DRAFTS[provider].config, [member]: value }
      const { status, body } = await acme.ask('POST', CONNECTORS, { name: 'Respaldo', ...DRAFTS[provider], config })
      expect([value, status, [...new Set(pathsOf(body))]]).toEqual([value, 422, [`config.${member}`]])
    }
  })

  it('copies the PDFs of CFDIs where they are asked for by name', async () => {
    const kindsOf = async (scope: object) => (await acme.ask('POST', CONNECTORS, { name: 'x', ...DRAFTS.s3, scope })).body.scope.kinds
    expect(await kindsOf({ kinds: ['cfdi_xml', 'cfdi_pdf'] })).toEqual(['cfdi_xml', 'cfdi_pdf'])
    expect(await kindsOf({ kinds: null })).toEqual(KINDS)
  })

  it('takes what another service than Amazon takes as a bucket, and a SAS that is valid, or that a policy of the container limits', async () => {
    await connector(acme, 's3', { config: { bucket: 'Acme_CFDI', endpoint: 'https://s3.example.com' } })
    for (const sas_token of ['sp=rcwd&se=2999-01-01&sig=x', 'si=policy&sig=x'])
      await connector(acme, 'azure_blob', { credentials: { sas_token } })
    const made = await connector(acme, 'azure_blob')
    const refused = await acme.ask('PATCH', made.path, { credentials: { sas_token: 'sp=r&sig=x' } })
    expect([codeOf(refused), refused.body.errors]).toEqual([
      '422 storage_connector.credentials',
      [{ path: 'credentials.sas_token', message: 'Must allow to write: its permissions (sp) have no w.' }],
    ])
  })

  it('says of credentials of both kinds that only one of them is wanted', async () => {
    const messageOf = async (credentials: object) =>
      (await acme.ask('POST', CONNECTORS, { name: 'x', ...DRAFTS.azure_blob, credentials })).body.errors[0].message
    expect(await messageOf({ account_key: btoa('k'), sas_token: 'sig=x' })).toBe(
      'Must have only one of these: account_key; or else sas_token.',
    )
    expect(await messageOf({})).toBe('Must have account_key; or else sas_token.')
  })

  it('copies all kinds and all RFCs when they are null, also later', async () => {
    const made = await connector(acme, 's3', { scope: { fiscal_entity_ids: null, kinds: null } })
    expect(made['scope']).toEqual({ fiscal_entity_ids: null, kinds: KINDS })
    await acme.ask('PATCH', made.path, { scope: { kinds: ['csf'] } })
    expect((await acme.ask('PATCH', made.path, { scope: { kinds: null } })).body.scope.kinds).toEqual(KINDS)
  })

  it('accepts the whole key file of a service account, and keeps only what it needs', async () => {
    const { credentials } = DRAFTS.google_drive
    await connector(acme, 'google_drive', { credentials: { service_account: { ...credentials.service_account, project_id: 'x' } } })
  })

  it('has only RFCs of the organization in its scope, each once, also by their UUID', async () => {
    const own = await draft(acme)
    const other = await organization()
    const foreign = await draft(other)
    const made = await connector(acme, 's3', { scope: { fiscal_entity_ids: [own, uuidOf(own)], kinds: ['csf', 'csf'] } })
    expect(made['scope']).toEqual({ fiscal_entity_ids: [own], kinds: ['csf'] })
    const refused = await acme.ask('POST', CONNECTORS, { name: 'x', ...DRAFTS.s3, scope: { fiscal_entity_ids: [own, foreign] } })
    expect(codeOf(refused)).toBe('422 storage_connector.scope')
    expect(refused.body.errors).toEqual([
      { path: 'scope.fiscal_entity_ids[1]', message: 'Must be a fiscal entity that the organization has linked.' },
    ])
    // One that nobody has reads alike.
    const nobodys = await acme.ask('POST', CONNECTORS, {
      ...{ name: 'x', ...DRAFTS.s3 },
      scope: { fiscal_entity_ids: [own, 'fe_01kabcdefghjkmnpqrstvwxyz0'] },
    })
    expect({ ...nobodys.body, request_id: '' }).toEqual({ ...refused.body, request_id: '' })
  })

  it('is done once under an Idempotency-Key', async () => {
    const { headers, ...more } = json({ name: 'Uno', ...DRAFTS.s3 })
    const ask = () =>
      send('POST', CONNECTORS, { authorization: basic(acme.owner), ...more, headers: { ...headers, 'idempotency-key': 'copia' } })
    const [first, second] = [await ask(), await ask()]
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body])
    expect((await acme.ask('GET', CONNECTORS)).body.data).toEqual([first.body])
  })

  it('is audited by the names of its members', async () => {
    const { connector_id } = await connector(acme)
    expect(await audited(acme, 'storage_connector.created')).toContainEqual(
      expect.objectContaining({ resource_id: connector_id, changed: ['name', 'provider', 'config', 'credentials', 'scope'] }),
    )
  })
})

describe('an endpoint', () => {
  const REASONS = Object.entries(REFUSED).flatMap(([name, { refused }]) => refused.slice(0, 4).map((url) => [name, url] as const))
  it.each(REASONS)('is held to the rule of webhooks (%s): %j', async (_, endpoint) => {
    const config = { ...DRAFTS.s3.config, endpoint }
    const { status, body } = await acme.ask('POST', CONNECTORS, { name: 'x', ...DRAFTS.s3, config })
    expect([status, ...new Set(pathsOf(body))]).toEqual([422, 'config.endpoint'])
    expect(JSON.stringify(body)).not.toContain('t0p5ecret')
  })

  it('is judged by the same rule when it changes', async () => {
    const made = await connector(acme)
    const { credentials } = DRAFTS.s3
    const refused = await acme.ask('PATCH', made.path, { config: { endpoint: 'https://169.254.169.254' }, credentials })
    expect([codeOf(refused), pathsOf(refused.body)]).toEqual(['422 storage_connector.endpoint', ['config.endpoint']])
    const changed = await acme.ask('PATCH', made.path, { config: { endpoint: 'https://S3.example.com:8443/base//' }, credentials })
    expect(changed.body.config).toMatchObject({ endpoint: 'https://S3.example.com:8443/base', bucket: 'fiscal-archive' })
  })
})

describe('changing a connector', () => {
  it('changes only the members that are sent, also within config and scope', async () => {
    const made = await connector(acme, 's3', { config: { ...DRAFTS.s3.config, prefix: 'uno' } })
    const { path: _, ...record } = made
    at('2030-01-01T00:00:00Z')
    const own = await draft(acme)
    const changes = { name: 'Otro', config: { path_template: '{rfc}/{uuid}.xml' }, scope: { fiscal_entity_ids: [own] } }
    const { status, body } = await acme.ask('PATCH', made.path, changes)
    expect([status, body]).toEqual([
      200,
      {
        ...record,
        name: 'Otro',
        config: { ...(made['config'] as object), path_template: '{rfc}/{uuid}.xml' },
        scope: { fiscal_entity_ids: [own], kinds: KINDS },
        preview: expect.arrayContaining(['uno/EKU9003173C9/5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml']),
        updated_at: '2030-01-01T00:00:00.000Z',
      },
    ])
    expect((await acme.ask('GET', made.path)).body).toEqual(body)
    const widened = await acme.ask('PATCH', made.path, { scope: { fiscal_entity_ids: null, kinds: ['csf'] } })
    expect(widened.body.scope).toEqual({ fiscal_entity_ids: null, kinds: ['csf'] })
    expect(await audited(acme, 'storage_connector.updated')).toContainEqual(
      expect.objectContaining({ resource_id: made.connector_id, changed: Object.keys(changes) }),
    )
  })

  it('of nothing writes nothing', async () => {
    const made = await connector(acme)
    const before = await rowOf(made)
    expect((await acme.ask('PATCH', made.path, {})).status).toBe(200)
    expect(await rowOf(made)).toEqual(before)
  })

  it.each([
    [{ config: { bucket: '..' } }, '422 request.invalid', ['config.bucket']],
    [{ config: { container: 'x' } }, '422 request.invalid', ['config.container']],
    [
      { config: { prefix: 'a'.repeat(240), path_template: `${'b'.repeat(200)}/{rfc}/{uuid}.xml` } },
      '422 request.invalid',
      ['config.path_template'],
    ],
    [{ credentials: { access_key_id: 'x' } }, '422 request.invalid', ['credentials.secret_access_key']],
    [{ connector_status: 'error' }, '422 request.invalid', ['connector_status']],
    [{ provider: 'onedrive' }, '422 request.invalid', ['provider']],
    [{ scope: { fiscal_entity_ids: ['fe_01kabcdefghjkmnpqrstvwxyz0'] } }, '422 storage_connector.scope', ['scope.fiscal_entity_ids[0]']],
    [{ config: { endpoint: 'https://s3.example.com' } }, '422 storage_connector.credentials_required', ['credentials']],
  ])('to %j is %s', async (changes, code, paths) => {
    const made = await connector(acme)
    const before = await rowOf(made)
    const refused = await acme.ask('PATCH', made.path, changes)
    expect([codeOf(refused), pathsOf(refused.body)]).toEqual([code, paths])
    expect(await rowOf(made)).toEqual(before)
  })

  it('sends credentials to no other server than the one for which they were given', async () => {
    const azure = await connector(acme, 'azure_blob')
    for (const config of [{ account: 'otracuenta' }, { endpoint: 'https://blobs.example.com/fiscalarchive' }])
      expect(codeOf(await acme.ask('PATCH', azure.path, { config }))).toBe('422 storage_connector.credentials_required')
    const s3 = await connector(acme, 's3', { config: { bucket: 'uno', endpoint: 'https://s3.example.com' } })
    expect((await acme.ask('PATCH', s3.path, { config: { bucket: 'dos' } })).status).toBe(200)
    for (const config of [{ path_style: false }, { path_style: false, bucket: 'tres' }])
      expect(codeOf(await acme.ask('PATCH', s3.path, { config }))).toBe('422 storage_connector.credentials_required')
    const hosted = { config: { path_style: false, bucket: 'tres' }, credentials: DRAFTS.s3.credentials }
    expect((await acme.ask('PATCH', s3.path, hosted)).status).toBe(200)
    expect(codeOf(await acme.ask('PATCH', s3.path, { config: { bucket: 'uno' } }))).toBe('422 storage_connector.credentials_required')
    const { credentials } = DRAFTS.azure_blob
    expect((await acme.ask('PATCH', azure.path, { config: { account: 'otracuenta' }, credentials })).status).toBe(200)
    // The same server again, in other words.
    expect((await acme.ask('PATCH', azure.path, { config: { account: 'otracuenta', endpoint: null, container: 'otro' } })).status).toBe(200)
  })

  it('takes the work from whoever copies, unless only its name changes', async () => {
    const made = await connector(acme)
    const lease = () =>
      env.EVENTS_0.prepare("update storage_connectors set token = 't', lease_until = 9e15 where connector_id = ?")
        .bind(made.connector_id)
        .run()
    for (const [changes, token] of [
      [{ name: 'Otro' }, 't'],
      [{ config: { region: 'x' } }, null],
      [{ scope: { kinds: ['csf'] } }, null],
      [{ credentials: DRAFTS.s3.credentials }, null],
      [{ connector_status: 'paused' }, null],
    ] as const) {
      await lease()
      await acme.ask('PATCH', made.path, changes)
      expect([changes, (await rowOf(made))!['token']]).toEqual([changes, token])
    }
  })

  it('to active forgets its failures, and plans and copies again', async () => {
    const made = await connector(acme)
    const { connector: number } = (await rowOf(made))!
    const error = JSON.stringify({
      code: 'access_denied',
      message: 'The provider refuses the credentials.',
      at: '2026-11-20T18:00:05.000Z',
    })
    await env.EVENTS_0.batch([
      env.EVENTS_0.prepare(
        "update storage_connectors set connector_status = 'error', is_planned = 1, failures = 5, retry_at = 9e15, last_error = ?2 where connector = ?1",
      ).bind(number, error),
      env.EVENTS_0.prepare("insert into storage_mirrors (connector, fiscal_entity, due) values (?1, 'a', 0), (?1, 'b', 2)").bind(number),
    ])
    const shown = (await acme.ask('GET', made.path)).body
    expect([shown.connector_status, shown.last_error, shown.pending_count]).toEqual(['error', JSON.parse(error), 1])
    expect([shown.consecutive_failures, shown.next_attempt_at]).toEqual([5, null])
    expect((await acme.ask('PATCH', made.path, { connector_status: 'paused' })).body.connector_status).toBe('paused')
    sent.length = 0
    const { body } = await acme.ask('PATCH', made.path, { connector_status: 'active' })
    // What went wrong is shown until something works.
    expect([body.connector_status, body.last_error]).toEqual(['active', JSON.parse(error)])
    expect(await rowOf(made)).toMatchObject({ failures: 0, retry_at: 0, is_planned: 0 })
    expect((await acme.ask('GET', made.path)).body).toMatchObject({ pending_count: 2, consecutive_failures: 0, next_attempt_at: null })
    expect(sent).toEqual([{ shard: 0, connector: number }])
  })

  it('to active while it is active ends the wait, and neither forgets its failures nor plans again', async () => {
    const made = await connector(acme)
    const { connector: number } = (await rowOf(made))!
    at('2030-01-01T00:00:00Z')
    await env.EVENTS_0.batch([
      env.EVENTS_0.prepare('update storage_connectors set is_planned = 1, failures = 4, retry_at = ?2 where connector = ?1').bind(
        number,
        Date.parse('2030-01-01T01:00:00Z'),
      ),
      env.EVENTS_0.prepare("insert into storage_mirrors (connector, fiscal_entity, due) values (?1, 'a', 0), (?1, 'b', 1)").bind(number),
    ])
    const shown = (await acme.ask('GET', made.path)).body
    expect([shown.consecutive_failures, shown.next_attempt_at]).toEqual([4, '2030-01-01T01:00:00.000Z'])
    sent.length = 0
    const { body } = await acme.ask('PATCH', made.path, { connector_status: 'active' })
    expect(body).toMatchObject({ connector_status: 'active', consecutive_failures: 4, next_attempt_at: null, pending_count: 1 })
    expect(await rowOf(made)).toMatchObject({ failures: 4, retry_at: 0, is_planned: 1 })
    expect(sent).toEqual([{ shard: 0, connector: number }])
    // Paused, it waits for no attempt.
    at('2030-01-01T00:00:01Z')
    await env.EVENTS_0.prepare('update storage_connectors set retry_at = 9e12 where connector = ?').bind(number).run()
    expect((await acme.ask('PATCH', made.path, { connector_status: 'paused' })).body.next_attempt_at).toBe(null)
    const resumed = await acme.ask('PATCH', made.path, { connector_status: 'active' })
    expect(resumed.body).toMatchObject({ consecutive_failures: 0, next_attempt_at: null })
  })

  it('to active is judged again when its failures stop it in the meantime', async () => {
    const made = await connector(acme)
    const { connector: number } = (await rowOf(made))!
    const d1 = Object.getPrototypeOf(env.EVENTS_0)
    const batch = d1.batch
    let isFirst = true
    vi.spyOn(d1, 'batch').mockImplementation(async function (this: D1Database, ...args: unknown[]) {
      if (isFirst) {
        isFirst = false
        await env.EVENTS_0.prepare("update storage_connectors set connector_status = 'error', failures = 5 where connector = ?")
          .bind(number)
          .run()
      }
      return batch.apply(this, args)
    } as never)
    expect((await acme.ask('PATCH', made.path, { connector_status: 'active' })).body).toMatchObject({ connector_status: 'active' })
    expect(isFirst).toBe(false)
    expect(await rowOf(made)).toMatchObject({ connector_status: 'active', failures: 0, is_planned: 0 })
  })

  it('shows a backfill as paused while the connector is, or is in error, and refuses another one', async () => {
    const made = await connector(acme)
    const statusOf = async () => (await acme.ask('GET', made.path)).body.backfill.status
    await acme.ask('POST', `${made.path}/backfill`)
    expect(await statusOf()).toBe('queued')
    for (const status of ['paused', 'error']) {
      await env.EVENTS_0.prepare('update storage_connectors set connector_status = ?2 where connector_id = ?1')
        .bind(made.connector_id, status)
        .run()
      expect(await statusOf()).toBe('paused')
      expect(codeOf(await acme.ask('POST', `${made.path}/backfill`))).toBe('409 storage_connector.not_active')
    }
    await acme.ask('PATCH', made.path, { connector_status: 'active' })
    expect(await statusOf()).toBe('queued')
    await env.EVENTS_0.prepare(
      "update storage_connectors set connector_status = 'paused', backfill = json_set(backfill, '$.status', 'completed') where connector_id = ?1",
    )
      .bind(made.connector_id)
      .run()
    expect(await statusOf()).toBe('completed')
  })

  it('knows while it is paused of how many RFCs something waits', async () => {
    const made = await connector(acme)
    const own = await draft(acme)
    await env.EVENTS_0.prepare('update storage_connectors set is_planned = 1').run()
    await acme.ask('PATCH', made.path, { connector_status: 'paused' })
    const body = `{"event":"sync.completed","fiscal_entity_id":"${uuidOf(own)}","created_count":3,"completed_at":"x"}`
    const seq = 1_000_000
    await env.EVENTS_0.prepare('insert into events (organization_id, seq, body) values (?1, ?2, ?3)').bind(acme.id, seq, body).run()
    expect((await acme.ask('GET', made.path)).body).toMatchObject({ connector_status: 'paused', pending_count: 1 })
  })

  it('loses no member when several requests change it at once', async () => {
    const made = await connector(acme)
    const replies = await Promise.all([
      acme.ask('PATCH', made.path, { config: { prefix: 'p' } }),
      acme.ask('PATCH', made.path, { config: { path_template: '{rfc}/{uuid}.xml' } }),
      acme.ask('PATCH', made.path, { config: { region: 'eu-west-1' } }),
      acme.ask('PATCH', made.path, { scope: { kinds: ['csf'] } }),
      acme.ask('PATCH', made.path, { credentials: DRAFTS.s3.credentials }),
    ])
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const { body } = await acme.ask('GET', made.path)
    expect([body.config, body.scope.kinds]).toMatchObject([
      { prefix: 'p', path_template: '{rfc}/{uuid}.xml', region: 'eu-west-1', bucket: 'fiscal-archive' },
      ['csf'],
    ])
    expect((await rowOf(made))!['credentials_version']).toBe(2)
  })
})

describe('deleting a connector', () => {
  it('erases its credentials and shows it no more', async () => {
    const [made, stays] = [await connector(acme), await connector(acme)]
    expect((await acme.ask('DELETE', made.path)).status).toBe(204)
    for (const [method, path, body] of [
      ['GET', made.path],
      ['PATCH', made.path, { name: 'x' }],
      ['DELETE', made.path],
      ['POST', `${made.path}/test`],
      ['POST', `${made.path}/backfill`],
    ] as const)
      expect(codeOf(await acme.ask(method, path, body))).toBe('404 storage_connector.not_found')
    expect((await rowOf(made))!['credentials']).toBe('')
    expect((await acme.ask('GET', CONNECTORS)).body.data.map(({ connector_id }: { connector_id: string }) => connector_id)).toEqual([
      stays.connector_id,
    ])
  })
})

describe('lists', () => {
  it('have pages, oldest first, of the organization alone', async () => {
    const other = await organization()
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push((await connector(acme)).connector_id)
    const foreign = await connector(other)
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await acme.ask('GET', `${CONNECTORS}?limit=2${cursor}`)
      seen.push(...body.data.map(({ connector_id }: { connector_id: string }) => connector_id))
      if (!body.has_more) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(seen).toEqual(ids)
    for (const [method, path, body] of [
      ['GET', foreign.path],
      ['PATCH', foreign.path, { name: 'x' }],
      ['DELETE', foreign.path],
      ['POST', `${foreign.path}/test`],
      ['POST', `${foreign.path}/backfill`],
    ] as const)
      expect(codeOf(await acme.ask(method, path, body))).toBe('404 storage_connector.not_found')
  })
})

describe('the OpenAPI document', () => {
  interface Shown {
    $ref?: string
    properties: Record<string, Shown & { const?: string; default?: unknown }>
    required?: string[]
    oneOf?: Shown[]
    anyOf?: Shown[]
  }
  const nameOf = (one: Shown | undefined): string | undefined => one?.$ref?.split('/').at(-1)
  const schemas = async () => {
    const { components } = (await send('GET', '/v1/openapi.json')).body as { components: { schemas: Record<string, Shown> } }
    return components.schemas
  }

  it('ties config and credentials of a draft to its provider', async () => {
    const all = await schemas()
    const drafts = all['StorageConnectorDraft']!.oneOf!.map((one) => all[nameOf(one)!]!)
    expect(
      drafts.map(({ properties: { provider, config, credentials } }) => [provider?.const, nameOf(config), nameOf(credentials)]),
    ).toEqual([
      ['s3', 'S3ConfigInput', 'S3Credentials'],
      ['azure_blob', 'AzureBlobConfigInput', 'AzureBlobCredentials'],
      ['google_drive', 'GoogleDriveConfigInput', 'GoogleDriveCredentials'],
      ['onedrive', 'OneDriveConfigInput', 'OneDriveCredentials'],
    ])
    for (const { required } of drafts) expect(required?.toSorted()).toEqual(['config', 'credentials', 'name', 'provider'])
  })

  it('needs no member of a changed config, and gives none a default', async () => {
    const all = await schemas()
    const configs = all['StorageConnectorChanges']!.properties['config']!.anyOf!.map((one) => all[nameOf(one)!]!)
    expect(configs.map(({ properties }) => Object.keys(properties).slice(2))).toEqual([
      ['bucket', 'region', 'endpoint', 'path_style'],
      ['account', 'container', 'endpoint'],
      ['folder_id'],
      ['tenant', 'drive_id', 'folder_id'],
    ])
    for (const { properties, required } of configs) {
      expect(required ?? []).toEqual([])
      expect(Object.values(properties).filter((one) => 'default' in one)).toEqual([])
    }
  })
})
