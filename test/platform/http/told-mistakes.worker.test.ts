import { createExecutionContext, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { newKeyPair } from '../../../src/accounts/credentials/key.ts'
import { app } from '../../../src/app/app.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { basic } from '../../support/client.ts'
import { expectNotified, type Mistake } from '../../support/mistakes.ts'
import { json, type Sent, send } from '../../support/wire.ts'
import { credentialOf, type Side, sideOf } from '../../support/world.ts'

let ours: Side
beforeAll(async () => {
  ours = await sideOf()
})

const asOwner = (more: Sent = {}): Sent => ({ authorization: basic(ours.callers.owner), ...more })
const post = (path: string, value: unknown) => ['POST', path, asOwner(json(value))] as const
const get = (path: string) => ['GET', path, asOwner()] as const
const ofEntity = (more: string) => `/v1/fiscal-entities/${ours.fiscal_entity_id}/${more}`
const cfdi = (more: string) =>
  get(
    `/v1/cfdi${more.startsWith('/') ? more : `?${more}`}${more.includes('?') ? '&' : more.startsWith('/') ? '?' : '&'}fiscal_entity_id=${ours.fiscal_entity_id}`,
  )

const EXTRACTOR = { name: 'Nightly', trigger_kind: 'schedule', schedule_kind: 'daily', scope: 'since_watermark' }

/** What does not exist: what to check, and where those are listed that do. */
const ABSENT: Mistake[] = (
  [
    ['alert', () => ['POST', `/v1/alerts/${newId('alr')}/read`, asOwner()], /with GET \/v1\/alerts/],
    ['blacklist', () => ['DELETE', '/v1/blacklists/custom/nadie', asOwner()], /GET \/v1\/blacklists\/custom lists/],
    ['cfdi', () => cfdi(`/${crypto.randomUUID()}`), /windows may not show.*visible_from.*\/coverage.*GET \/v1\/sync/],
    ['cfdi', () => cfdi(`/${crypto.randomUUID()}/xml`), /\/coverage/],
    ['coverage_month', () => get(ofEntity('coverage/sat_cfdi_issued/2001-01')), /what your windows show.*coverage lists/],
    [
      'credential',
      () => ['DELETE', `/v1/credentials/fds_test_key_${'a'.repeat(22)}`, asOwner()],
      /revoked.*List your credentials with GET \/v1\/credentials/,
    ],
    ['document', () => get(ofEntity(`documents/${newId('doc')}`)), /one fiscal entity.*documents lists/],
    ['event', () => get(`/v1/events/${newId('evt')}`), /90 days.*with GET \/v1\/events/],
    ['export', () => get(`/v1/exports/${newId('exp')}`), /another organization or environment.*with GET \/v1\/exports/],
    ['extractor', () => get(`/v1/extractors/${newId('ext')}`), /with GET \/v1\/extractors/],
    ['fiscal_entity', () => get(`/v1/fiscal-entities/${newId('fe')}`), /no connection.*with GET \/v1\/fiscal-entities/],
    ['import', () => get(ofEntity(`cfdi/imports/${newId('imp')}`)), /imports lists/],
    ['invitation', () => ['DELETE', `/v1/team/invitations/${newId('ivt')}`, asOwner()], /with GET \/v1\/team\/invitations/],
    ['member', () => ['DELETE', `/v1/team/members/${newId('mem')}`, asOwner()], /with GET \/v1\/team\/members/],
    ['notification', () => get(ofEntity(`buzon/notifications/${newId('ntf')}`)), /notifications lists/],
    ['report', () => get(`/v1/reports/nothing?fiscal_entity_id=${ours.fiscal_entity_id}`), /GET \/v1\/reports lists/],
    ['run', () => get(`/v1/runs/${newId('run')}`), /List runs with/],
    ['storage_connector', () => get(`/v1/storage-connectors/${newId('stc')}`), /with GET \/v1\/storage-connectors/],
    ['webhook', () => get(`/v1/webhooks/${newId('wh')}/deliveries`), /with GET \/v1\/webhooks/],
  ] satisfies [string, Mistake['ask'], RegExp][]
).map(([what, ask, says]) => ({ typed: `${what} that does not exist`, ask, status: 404, code: `${what}.not_found`, says }))

const VALUES: Mistake[] = [
  {
    typed: 'a source by its short name',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, data_source_keys: ['sat_cfdi_issued', 'cfdi_recieved'] }),
    ...{ status: 422, code: 'data_source.unknown', at: 'data_source_keys[1]', says: /one of sat_cfdi_issued, sat_cfdi_received, .*GET/ },
  },
  {
    typed: 'a misspelled source',
    ask: () => post('/v1/fiscal-entities', { rfc: 'EKU9003173C9', data_source_keys: ['sat_cfdi_recieved'] }),
    ...{ status: 422, code: 'data_source.unknown', at: 'data_source_keys[0]', says: /Did you mean sat_cfdi_received\?/ },
  },
  {
    typed: 'a list by its number',
    ask: () => post('/v1/blacklists/lookup', { rfcs: ['EKU9003173C9'], sources: ['69b'] }),
    ...{ status: 422, code: 'request.invalid', at: 'sources[0]', says: /one of sat_69b, sat_69b_bis, .*custom:<slug>/ },
  },
  {
    typed: 'a situation in capitals',
    ask: () => cfdi('blacklist=sat_69b,Definitivo'),
    ...{ status: 422, code: 'request.invalid', at: 'blacklist[1]', says: /one of sat_69b, .*presunto, definitivo/ },
  },
  {
    typed: 'a plus sign in a date that is not encoded',
    ask: () => cfdi('issued_from=2026-01-01T00:00:00+00:00'),
    ...{ status: 422, code: 'request.invalid', at: 'issued_from', says: /plus sign in a query is written %2B/ },
  },
  {
    typed: 'the same of events',
    ask: () => get('/v1/events?since=2026-01-01T00:00:00+00:00'),
    ...{ status: 422, code: 'request.invalid', at: 'since', says: /with an offset.*written %2B/ },
  },
]

/** Names that other services use. */
const USUAL: Mistake[] = [
  ...(
    [
      ['from=2026-01-01', 'from', 'issued_from'],
      ['to=2026-01-31', 'to', 'issued_to'],
      ['start_date=2026-01-01', 'start_date', 'issued_from'],
      ['date_from=2026-01-01', 'date_from', 'issued_from'],
      ['endDate=2026-01-31', 'endDate', 'issued_to'],
      ['status=vigente', 'status', 'estatus'],
      ['rfc=EKU9003173C9', 'rfc', 'fiscal_entity_id'],
      ['per_page=5', 'per_page', 'limit'],
      ['page=2', 'page', 'cursor'],
      ['order_by=total', 'order_by', 'sort'],
      ['fecha_desde=2026-01-01', 'fecha_desde', 'issued_from'],
      ['fecha_hasta=2026-01-31', 'fecha_hasta', 'issued_to'],
      ['estado=vigente', 'estado', 'estatus'],
      ['tipo=I', 'tipo', 'tipo_comprobante'],
      ['emisor=EKU9003173C9', 'emisor', 'emisor_rfc'],
    ] as const
  ).map(
    ([query, at, name]): Mistake => ({
      typed: query,
      ask: () => cfdi(query),
      ...{ status: 422, code: 'request.invalid', at, says: new RegExp(`Did you mean ${name}\\?`) },
    }),
  ),
  {
    typed: 'a pause as a status',
    ask: () => ['PATCH', `/v1/fiscal-entities/${ours.fiscal_entity_id}`, asOwner(json({ status: 'paused' }))],
    ...{
      status: 422,
      code: 'request.invalid',
      at: 'status',
      says: /PATCH \/v1\/billing\/rfcs\/\{fiscal_entity_id\} with \{"active": false\} pauses/,
    },
  },
  {
    typed: 'a filter of an export as a number that is no amount',
    ask: () => exported({ balance_min: -1 }),
    ...{ status: 422, code: 'request.invalid', at: 'filters.balance_min', says: /Must be a decimal number with at most 18 digits/ },
  },
  {
    typed: 'an RFC of an export as a number',
    ask: () => exported({ emisor_rfc: 1 }),
    ...{ status: 422, code: 'request.invalid', at: 'filters.emisor_rfc', says: /Must be an RFC/ },
  },
  {
    typed: 'an extraction that begins in the future',
    ask: () => post(ofEntity('extractions'), { data_source_keys: ['sat_cfdi_issued'], from: '2190-01-01' }),
    ...{ status: 422, code: 'extraction.range', at: 'from', says: /Must not be after today, \d{4}-\d\d-\d\d in Mexico City/ },
  },
  {
    typed: 'key:secret as a Bearer token',
    ask: () => ['GET', '/v1/extractors', { authorization: `Bearer ${ours.callers.owner.api_key}:${ours.callers.owner.api_secret}` }],
    ...{ status: 401, code: 'credential.invalid', says: /Bearer token is the api_secret alone.*Send Basic/ },
  },
]

const exported = (filters: object) => post('/v1/exports', { fiscal_entity_id: ours.fiscal_entity_id, kind: 'cfdi', format: 'csv', filters })

const BODIES: Mistake[] = [
  {
    typed: 'no body of a helper',
    ask: () => ['POST', '/v1/test-helpers/mailbox', asOwner()],
    ...{ status: 422, code: 'request.empty_body', at: 'body', says: /Send a JSON object with fiscal_entity_id and kind\./ },
  },
  {
    typed: 'no body where no member is required',
    ask: () => ['POST', '/v1/test-helpers/organization', asOwner()],
    ...{ status: 422, code: 'request.empty_body', at: 'body', says: /which may have plan, rfc_allowance and trial_ends_at\./ },
  },
  {
    typed: 'no body and no content type',
    ask: () => ['POST', '/v1/webhooks', asOwner()],
    ...{ status: 422, code: 'request.empty_body', at: 'body', says: /Must not be empty\. Send a JSON object/ },
  },
  {
    typed: 'no body of a PATCH',
    ask: () => ['PATCH', '/v1/organization', asOwner({ ...json({}), body: '' })],
    ...{ status: 422, code: 'request.empty_body', at: 'body', says: /Must not be empty/ },
  },
  {
    typed: 'no body for a sign-up',
    ask: () => ['POST', '/v1/auth/signup', { ...json({}), body: '' }],
    ...{ status: 422, code: 'request.empty_body', at: 'body', says: /Must not be empty/ },
  },
  {
    typed: 'a body where none belongs',
    ask: () => post(`/v1/extractors/${newId('ext')}/run`, { force: true }),
    ...{ status: 422, code: 'request.invalid', at: 'force', says: /Unknown member\. This request takes no body/ },
  },
]

const HOOK = { name: 'ERP', event_keys: ['cfdi.cancelled'] }

const RECEIVERS: Mistake[] = [
  'http://localhost:3000/in',
  'https://127.0.0.1/in',
  'http://192.168.1.5',
  'https://[::1]/',
  'https://mac.local:8443/in',
].map((url) => ({
  typed: url,
  ask: () => post('/v1/webhooks', { ...HOOK, url }),
  ...{ status: 422, code: 'webhook.url', at: 'url', says: /Must .*own machine, .*WEBHOOK_SINK=.*hooks\.example\.com/ },
}))

const MISTAKES = { ABSENT, VALUES, USUAL, BODIES, RECEIVERS }

describe.each(Object.entries(MISTAKES))('%s: an integrator is told what, where and what to do', (_, mistakes) => {
  it.each(mistakes)('$typed', expectNotified)
})

describe('a credential that is not valid any more', () => {
  const ask = (authorization: string) => send('GET', '/v1/organization', { authorization })
  const detailOf = async (authorization: string) => {
    const { status, body } = await ask(authorization)
    expect([status, body.code]).toEqual([401, 'credential.invalid'])
    return body.detail as string
  }

  it('is told so to who has its secret, and to nobody else', async () => {
    const { owner } = ours.callers
    const [revoked, expired] = [await credentialOf(owner, 'member'), await credentialOf(owner, 'member')]
    await send('DELETE', `/v1/credentials/${revoked.api_key}`, { authorization: basic(owner) })
    await env.DB.prepare('update credentials set expires_at = ? where api_key = ?')
      .bind(Date.parse('2026-01-31T18:00:00Z'), expired.api_key)
      .run()
    const way = /An owner or admin of the organization makes another one with POST \/v1\/credentials\.$/
    for (const authorization of [basic(revoked), `Bearer ${revoked.api_secret}`])
      expect(await detailOf(authorization)).toMatch(new RegExp(`^The credential is right, but it was revoked at 20.*${way.source}`))
    for (const authorization of [basic(expired), `Bearer ${expired.api_secret}`])
      expect(await detailOf(authorization)).toMatch(
        new RegExp(`^The credential is right, but it expired at 2026-01-31T18:00:00.000Z.*${way.source}`),
      )
    const nobody = newKeyPair('test')
    const wrong = [
      basic({ api_key: revoked.api_key, api_secret: nobody.api_secret }),
      basic({ api_key: expired.api_key, api_secret: nobody.api_secret }),
      basic({ api_key: owner.api_key, api_secret: revoked.api_secret }),
      basic({ api_key: revoked.api_key, api_secret: expired.api_secret }),
      basic({ api_key: nobody.api_key, api_secret: owner.api_secret }),
      basic(nobody),
      `Bearer ${nobody.api_secret}`,
    ]
    const said = new Set(await Promise.all(wrong.map(detailOf)))
    expect([...said]).toEqual([expect.stringMatching(/^The credential is unknown: /)])
  })
})

describe('a GET with a body', () => {
  /** Requests of this runtime have none, and those of clients can. */
  const getWith = (path: string, body: string): Request => {
    const sent = new Request(`https://api.test${path}`, {
      method: 'POST',
      ...json({}),
      body,
      headers: { authorization: basic(ours.callers.owner) },
    })
    return new Proxy(sent, {
      get: (of, name) => {
        if (name === 'method') return 'GET'
        const value = Reflect.get(of, name, of) as unknown
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
  }

  it.each([
    ['{"estatus":"vigente"}', 'estatus', 'Unknown member. A GET takes no body: send its values as query parameters.'],
    ['estatus=vigente', 'body', 'Must be empty or a JSON object.'],
  ])('%s is refused, so that no filter is ignored', async (body, path, message) => {
    const answer = await app.fetch(getWith(`/v1/cfdi?fiscal_entity_id=${ours.fiscal_entity_id}`, body), env, createExecutionContext())
    expect([answer.status, ((await answer.json()) as { errors: unknown }).errors]).toEqual([422, [{ path, message }]])
  })

  it.each(['', '{}'])('%s says nothing, and is accepted', async (body) => {
    const answer = await app.fetch(getWith('/v1/organization', body), env, createExecutionContext())
    expect([answer.status, await answer.json()]).toMatchObject([200, { id: ours.organization_id }])
  })
})
