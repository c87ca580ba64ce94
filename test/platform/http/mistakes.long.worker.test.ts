import { beforeAll, describe, expect, it } from 'vitest'
import { newKeyPair } from '../../../src/accounts/credentials/key.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { api, basic } from '../../support/client.ts'
import { expectNotified, type Mistake } from '../../support/mistakes.ts'
import { freshRfc } from '../../support/tenants.ts'
import { json, type Sent } from '../../support/wire.ts'
import { type Side, sideOf } from '../../support/world.ts'

let ours: Side
let theirs: Side
let draft: string
beforeAll(async () => {
  ;[ours, theirs] = await Promise.all([sideOf(), sideOf()])
  draft = (await api(ours.callers.owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc() })).body.fiscal_entity_id
})

const asOwner = (more: Sent = {}): Sent => ({ authorization: basic(ours.callers.owner), ...more })
const owner = () => ours.callers.owner
const post = (path: string, value: unknown) => ['POST', path, asOwner(json(value))] as const
const get = (path: string) => ['GET', path, asOwner()] as const
const cfdi = (more: string) => get(`/v1/cfdi?fiscal_entity_id=${ours.fiscal_entity_id}&${more}`)
const EXTRACTOR = {
  name: 'Nightly',
  trigger_kind: 'schedule',
  schedule_kind: 'daily',
  scope: 'since_watermark',
  data_source_keys: ['sat_cfdi_issued'],
}
const HOOK = { name: 'ERP', url: 'https://hooks.example.com/in', event_keys: ['cfdi.cancelled'] }

const AUTHENTICATION: Mistake[] = [
  {
    typed: 'no credential',
    ask: () => ['GET', '/v1/extractors'],
    status: 401,
    code: 'credential.invalid',
    says: /Authorization header is absent.*Send Basic/,
  },
  {
    typed: 'the secret without a scheme',
    ask: () => ['GET', '/v1/extractors', { authorization: owner().api_secret }],
    ...{ status: 401, code: 'credential.invalid', says: /malformed.*Send Basic/ },
  },
  {
    typed: 'key:secret without base64',
    ask: () => ['GET', '/v1/extractors', { authorization: `Basic ${owner().api_key}:${owner().api_secret}` }],
    ...{ status: 401, code: 'credential.invalid', says: /malformed.*base64/ },
  },
  {
    typed: 'key and secret swapped',
    ask: () => ['GET', '/v1/extractors', { authorization: basic({ api_key: owner().api_secret, api_secret: owner().api_key }) }],
    ...{ status: 401, code: 'credential.invalid', says: /swapped\. The api_key comes first/ },
  },
  {
    typed: 'the key as a Bearer token',
    ask: () => ['GET', '/v1/extractors', { authorization: `Bearer ${owner().api_key}` }],
    ...{ status: 401, code: 'credential.invalid', says: /api_key was sent as a Bearer token/ },
  },
  {
    typed: 'a credential of live',
    ask: () => ['GET', '/v1/extractors', { authorization: basic(newKeyPair('live')) }],
    ...{ status: 401, code: 'credential.invalid', says: /credential for live, and this is test/ },
  },
  {
    typed: 'a secret of live as a Bearer token',
    ask: () => ['GET', '/v1/extractors', { authorization: `Bearer ${newKeyPair('live').api_secret}` }],
    ...{ status: 401, code: 'credential.invalid', says: /credential for live, and this is test/ },
  },
  {
    typed: 'a key of live with a secret of test',
    ask: () => ['GET', '/v1/extractors', { authorization: basic({ ...owner(), api_key: newKeyPair('live').api_key }) }],
    ...{ status: 401, code: 'credential.invalid', says: /credential for live, and this is test/ },
  },
  {
    typed: 'a secret that was cut off',
    ask: () => ['GET', '/v1/extractors', { authorization: basic({ ...owner(), api_secret: owner().api_secret.slice(0, -3) }) }],
    ...{ status: 401, code: 'credential.invalid', says: /a character is wrong/ },
  },
  {
    typed: 'a key that was cut off',
    ask: () => ['GET', '/v1/extractors', { authorization: basic({ ...owner(), api_key: owner().api_key.slice(0, -3) }) }],
    ...{ status: 401, code: 'credential.invalid', says: /api_key is not one.*a character is wrong/ },
  },
  {
    typed: 'a credential that does not exist',
    ask: () => ['GET', '/v1/extractors', { authorization: basic(newKeyPair('test')) }],
    ...{
      status: 401,
      code: 'credential.invalid',
      says: /unknown: nothing has this api_secret, or it belongs to another api_key\. Send Basic/,
    },
  },
  {
    typed: 'the key of one credential with the secret of another',
    ask: () => ['GET', '/v1/extractors', { authorization: basic({ ...owner(), api_key: theirs.callers.owner.api_key }) }],
    ...{
      status: 401,
      code: 'credential.invalid',
      says: /unknown: nothing has this api_secret, or it belongs to another api_key\. Send Basic/,
    },
  },
  {
    typed: 'a member’s credential for a change',
    ask: () => ['POST', '/v1/extractors', { ...json(EXTRACTOR), authorization: basic(ours.callers.member) }],
    ...{ status: 403, code: 'credential.role', says: /role owner or admin/ },
  },
]

const PATHS: Mistake[] = [
  { typed: 'no /v1', ask: () => get('/extractors'), status: 404, code: 'request.unknown_path', says: /Put \/v1 before it/ },
  {
    typed: 'no /v1 with an identifier',
    ask: () => get(`/fiscal-entities/${ours.fiscal_entity_id}`),
    ...{ status: 404, code: 'request.unknown_path', says: /Put \/v1 before it/ },
  },
  { typed: '/v1 twice', ask: () => get('/v1/v1/extractors'), status: 404, code: 'request.unknown_path', says: /\/v1 twice/ },
  {
    typed: 'a slash at the end',
    ask: () => get('/v1/extractors/'),
    status: 404,
    code: 'request.unknown_path',
    says: /Leave out the slash/,
  },
  { typed: 'a singular', ask: () => get('/v1/extractor'), status: 404, code: 'request.unknown_path', says: /mean \/v1\/extractors\?/ },
  {
    typed: 'underscores',
    ask: () => get('/v1/fiscal_entities'),
    status: 404,
    code: 'request.unknown_path',
    says: /mean \/v1\/fiscal-entities\?/,
  },
  { typed: 'capitals', ask: () => get('/v1/Organization'), status: 404, code: 'request.unknown_path', says: /mean \/v1\/organization\?/ },
  { typed: 'a misspelled path', ask: () => get('/v1/webhoks'), status: 404, code: 'request.unknown_path', says: /mean \/v1\/webhooks\?/ },
  { typed: 'a path of nothing', ask: () => get('/v1/taxes-and-more'), status: 404, code: 'request.unknown_path', says: /GET \/docs lists/ },
  {
    typed: 'PUT for PATCH',
    ask: () => ['PUT', '/v1/organization', asOwner(json({ name: 'Acme' }))],
    status: 405,
    code: 'request.method_not_allowed',
    says: /allows GET, PATCH/,
  },
  {
    typed: 'GET of an invitation',
    ask: () => get('/v1/team/members/invite'),
    status: 405,
    code: 'request.method_not_allowed',
    says: /allows POST\./,
  },
  {
    typed: 'an identifier of another kind',
    ask: () => get(`/v1/webhooks/${ours.fiscal_entity_id}`),
    status: 400,
    code: 'request.malformed_id',
    says: /webhook_id: .*prefix wh_/,
  },
  {
    typed: 'an RFC as an identifier',
    ask: () => get('/v1/fiscal-entities/EKU9003173C9'),
    status: 400,
    code: 'request.malformed_id',
    says: /prefix fe_, or its UUID form/,
  },
  {
    typed: 'a UUID that is none',
    ask: () => get(`/v1/cfdi/123?fiscal_entity_id=${ours.fiscal_entity_id}`),
    status: 400,
    code: 'request.malformed_id',
    says: /uuid: Must be a UUID\.$/,
  },
  {
    typed: 'a misspelt path whose last part stands for an identifier',
    ask: () => get('/v1/webhooks/event_catalog'),
    status: 400,
    code: 'request.malformed_id',
    says: /webhook_id: .* Did you mean \/v1\/webhooks\/event-catalog\?$/,
  },
  {
    typed: 'half of a path',
    ask: () => get(`/v1/cfdi/repse?fiscal_entity_id=${ours.fiscal_entity_id}`),
    status: 400,
    code: 'request.malformed_id',
    says: /uuid: .* Did you mean \/v1\/cfdi\/[\w-]+\?$/,
  },
  {
    typed: 'an identifier of nobody',
    ask: () => get(`/v1/webhooks/${newId('wh')}`),
    status: 404,
    code: 'webhook.not_found',
    says: /no such webhook.*List webhooks with GET \/v1\/webhooks/,
  },
  {
    typed: 'the fiscal entity of another organization',
    ask: () => get(`/v1/cfdi?fiscal_entity_id=${theirs.fiscal_entity_id}`),
    ...{ status: 404, code: 'fiscal_entity.not_found', says: /with GET \/v1\/fiscal-entities/ },
  },
  {
    typed: 'a fiscal entity without a CIEC',
    ask: () => get(`/v1/cfdi?fiscal_entity_id=${draft}`),
    ...{ status: 404, code: 'fiscal_entity.not_active', says: /is a draft.*PATCH \/v1\/fiscal-entities/ },
  },
]

const QUERIES: Mistake[] = [
  {
    typed: 'no fiscal entity',
    ask: () => get('/v1/cfdi'),
    status: 422,
    code: 'request.invalid',
    at: 'fiscal_entity_id',
    says: /Is required/,
  },
  { typed: 'curser', ask: () => cfdi('curser=x'), status: 422, code: 'request.invalid', at: 'curser', says: /mean cursor\?/ },
  { typed: 'Limit', ask: () => cfdi('Limit=5'), status: 422, code: 'request.invalid', at: 'Limit', says: /mean limit\?/ },
  {
    typed: 'issuedFrom',
    ask: () => cfdi('issuedFrom=2026-01-01'),
    status: 422,
    code: 'request.invalid',
    at: 'issuedFrom',
    says: /mean issued_from\?/,
  },
  {
    typed: 'emisor',
    ask: () => cfdi('emisor=EKU9003173C9'),
    status: 422,
    code: 'request.invalid',
    at: 'emisor',
    says: /mean emisor_rfc\?/,
  },
  {
    typed: 'a parameter of nothing',
    ask: () => cfdi('surprise=1'),
    status: 422,
    code: 'request.invalid',
    at: 'surprise',
    says: /Unknown query parameter\.$/,
  },
  { typed: 'a limit of 1000', ask: () => cfdi('limit=1000'), status: 422, code: 'request.invalid', at: 'limit', says: /from 1 to 100/ },
  { typed: 'a limit twice', ask: () => cfdi('limit=1&limit=2'), status: 422, code: 'request.invalid', at: 'limit', says: /only once/ },
  {
    typed: 'a cursor of another list',
    ask: () => cfdi('cursor=1.abc.def'),
    status: 400,
    code: 'cursor.invalid',
    says: /Start again without a cursor/,
  },
  {
    typed: 'a day as in Mexico',
    ask: () => cfdi('issued_from=31/01/2026'),
    status: 422,
    code: 'request.invalid',
    at: 'issued_from',
    says: /YYYY-MM-DD/,
  },
  {
    typed: 'a day that does not exist',
    ask: () => cfdi('issued_to=2026-02-30'),
    status: 422,
    code: 'request.invalid',
    at: 'issued_to',
    says: /YYYY-MM-DD/,
  },
  {
    typed: 'an instant without an offset',
    ask: () => get('/v1/events?since=2026-01-31T18:00:00'),
    status: 422,
    code: 'request.invalid',
    at: 'since',
    says: /with an offset/,
  },
  {
    typed: 'a year of five digits',
    ask: () => cfdi('issued_from=10000-01-01'),
    status: 422,
    code: 'request.invalid',
    at: 'issued_from',
    says: /2000 to 2199/,
  },
  {
    typed: 'a year of long ago',
    ask: () => get('/v1/events?since=1880-01-01T00:00:00Z'),
    status: 422,
    code: 'request.invalid',
    at: 'since',
    says: /2000 to 2199/,
  },
  {
    typed: 'a range the wrong way round',
    ask: () => cfdi('issued_from=2026-02-01&issued_to=2026-01-01'),
    status: 422,
    code: 'request.invalid',
    at: 'issued_from',
    says: /not be after `issued_to`/,
  },
  {
    typed: 'amounts the wrong way round',
    ask: () => cfdi('total_min=10&total_max=9.99'),
    status: 422,
    code: 'request.invalid',
    at: 'total_min',
    says: /not be more than `total_max`/,
  },
  {
    typed: 'instants the wrong way round',
    ask: () => cfdi('cancelled_from=2026-01-01T00:00:00-06:00&cancelled_to=2026-01-01T05:59:59Z'),
    status: 422,
    code: 'request.invalid',
    at: 'cancelled_from',
    says: /not be after/,
  },
  {
    typed: 'months the wrong way round',
    ask: () => get(`/v1/cfdi/summary/monthly?fiscal_entity_id=${ours.fiscal_entity_id}&from=2026-03&to=2026-01`),
    status: 422,
    code: 'summary.range',
    at: 'from',
    says: /not be after/,
  },
  {
    typed: 'an amount with a comma',
    ask: () => cfdi('total_min=1,000.00'),
    status: 422,
    code: 'request.invalid',
    at: 'total_min',
    says: /decimal number/,
  },
  {
    typed: 'an unknown status',
    ask: () => cfdi('estatus=valid'),
    status: 422,
    code: 'request.invalid',
    at: 'estatus',
    says: /one of vigente, cancelado/,
  },
  {
    typed: 'an unknown event key',
    ask: () => get('/v1/events?event_key=cfdi.canceled'),
    status: 422,
    code: 'request.invalid',
    at: 'event_key',
    says: /one of cfdi\.cancelled, .*Did you mean cfdi\.cancelled\?/,
  },
]

const BODIES: Mistake[] = [
  {
    typed: 'no content type',
    ask: () => ['POST', '/v1/extractors', asOwner({ body: JSON.stringify(EXTRACTOR) })],
    status: 415,
    code: 'request.content_type',
    says: /application\/json/,
  },
  {
    typed: 'JSON with a comma too many',
    ask: () => ['POST', '/v1/extractors', asOwner({ ...json({}), body: '{"name": "x",}' })],
    ...{ status: 400, code: 'request.malformed_json', says: /not valid JSON/ },
  },
  {
    typed: 'no body',
    ask: () => ['POST', '/v1/extractors', asOwner({ ...json({}), body: '' })],
    status: 422,
    code: 'request.empty_body',
    at: 'body',
    says: /Must not be empty\. Send a JSON object/,
  },
  {
    typed: 'a list for an object',
    ask: () => post('/v1/extractors', [EXTRACTOR]),
    status: 422,
    code: 'request.invalid',
    says: /Must be an object/,
  },
  {
    typed: 'a member left out',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, name: undefined }),
    status: 422,
    code: 'request.invalid',
    at: 'name',
    says: /Is required/,
  },
  {
    typed: 'triggerKind',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, triggerKind: 'schedule' }),
    status: 422,
    code: 'request.invalid',
    at: 'triggerKind',
    says: /mean trigger_kind\?/,
  },
  {
    typed: 'data_sources',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, data_source: [] }),
    status: 422,
    code: 'request.invalid',
    at: 'data_source',
    says: /mean data_source_keys\?/,
  },
  {
    typed: 'an unknown trigger',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, trigger_kind: 'cron' }),
    status: 422,
    code: 'request.invalid',
    at: 'trigger_kind',
    says: /one of connection_created/,
  },
  {
    typed: 'a source that does not exist',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, data_source_keys: ['cfdi'] }),
    status: 422,
    code: 'data_source.unknown',
    says: /GET \/v1\/fiscal-entities\/data-sources lists/,
  },
  {
    typed: 'text for a number',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, scope: 'last_n_months', scope_months: '3' }),
    status: 422,
    code: 'request.invalid',
    at: 'scope_months',
    says: /an integer from 1 to 240/,
  },
  {
    typed: 'months too many',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, scope: 'last_n_months', scope_months: 500 }),
    status: 422,
    code: 'request.invalid',
    at: 'scope_months',
    says: /1 to 240/,
  },
  {
    typed: 'a zone as an offset',
    ask: () => post('/v1/extractors', { ...EXTRACTOR, timezone: 'GMT-6' }),
    status: 422,
    code: 'request.invalid',
    says: /IANA/,
  },
  {
    typed: 'an RFC that is none',
    ask: () => post('/v1/fiscal-entities', { rfc: 'ABC123' }),
    status: 422,
    code: 'request.invalid',
    at: 'rfc',
    says: /12 or 13 characters/,
  },
  {
    typed: 'the RFC of everybody',
    ask: () => post('/v1/fiscal-entities', { rfc: 'XAXX010101000' }),
    status: 422,
    code: 'request.invalid',
    at: 'rfc',
    says: /generic RFC/,
  },
  {
    typed: 'a password for a CIEC',
    ask: () => post('/v1/fiscal-entities', { rfc: 'EKU9003173C9', password: 'x' }),
    status: 422,
    code: 'request.invalid',
    at: 'password',
    says: /Unknown member/,
  },
  {
    typed: 'http for https',
    ask: () => post('/v1/webhooks', { ...HOOK, url: 'http://hooks.example.com' }),
    status: 422,
    code: 'webhook.url',
    at: 'url',
    says: /https/,
  },
  {
    typed: 'localhost',
    ask: () => post('/v1/webhooks', { ...HOOK, url: 'https://localhost/in' }),
    status: 422,
    code: 'webhook.url',
    at: 'url',
    says: /public host: names under .*localhost/,
  },
  {
    typed: 'an unknown event',
    ask: () => post('/v1/webhooks', { ...HOOK, event_keys: ['cfdi.canceled'] }),
    status: 422,
    code: 'request.invalid',
    at: 'event_keys[0]',
    says: /one of cfdi\.cancelled, .*quota\.warning, .*\. Did you mean cfdi\.cancelled\?/,
  },
  {
    typed: 'an e-mail address that is none',
    ask: () => post('/v1/team/members/invite', { email: 'ada', role: 'member' }),
    status: 422,
    code: 'request.invalid',
    at: 'email',
    says: /an e-mail address/,
  },
  {
    typed: 'a name that nobody sees',
    ask: () => post('/v1/credentials', { name: '\u200b', role: 'member' }),
    status: 422,
    code: 'request.invalid',
    at: 'name',
    says: /visible character/,
  },
  {
    typed: 'half of an emoji',
    ask: () => post('/v1/webhooks', { ...HOOK, name: 'ERP \ud83d' }),
    status: 422,
    code: 'request.invalid',
    at: 'name',
    says: /surrogate/,
  },
  ...['\ud83d', '\u0000'].flatMap((broken) => {
    const says = broken === '\u0000' ? /U\+0000/ : /surrogate/
    const refused = (typed: string, at: string, path: string, sent: object) => ({
      ...{ typed, ask: () => post(path, sent), status: 422, code: 'request.invalid', at, says },
    })
    const rfc = { rfc: 'EKU9003173C9', ciec: 'secreta1' }
    const wanted = { fiscal_entity_id: newId('fe'), kind: 'cfdi', format: 'csv' }
    return [
      refused('a broken CIEC', 'ciec', '/v1/fiscal-entities', { ...rfc, ciec: `x${broken}` }),
      refused('a broken value of metadata', 'metadata.branch', '/v1/fiscal-entities', { ...rfc, metadata: { branch: broken } }),
      refused('a broken filter of an export', 'filters.folio', '/v1/exports', { ...wanted, filters: { folio: broken } }),
    ]
  }),
  {
    typed: 'a query that is not UTF-8',
    ask: () => get(`/v1/cfdi?fiscal_entity_id=${newId('fe')}&q=%FF&folio=100%`),
    ...{ status: 422, code: 'request.invalid', at: 'q', says: /UTF-8/ },
  },
  {
    typed: 'a character that no text has, in a query',
    ask: () => get(`/v1/cfdi?fiscal_entity_id=${newId('fe')}&folio=%00`),
    ...{ status: 422, code: 'request.invalid', at: 'folio', says: /U\+0000/ },
  },
  {
    typed: 'a body where none belongs',
    ask: () => post(`/v1/webhooks/${newId('wh')}/test`, { event: 'x' }),
    ...{ status: 422, code: 'request.invalid', at: 'event', says: /Unknown member/ },
  },
  {
    typed: 'the UUID of no CFDI for a helper',
    ask: () => post(`/v1/test-helpers/cfdi/${crypto.randomUUID()}/cancel`, { fiscal_entity_id: ours.fiscal_entity_id }),
    ...{ status: 404, code: 'cfdi.not_found', says: /no such CFDI.*coverage/ },
  },
  {
    typed: 'a key that is too long',
    ask: () => [
      'POST',
      '/v1/credentials',
      asOwner({
        ...json({ name: 'CI', role: 'member' }),
        headers: { 'content-type': 'application/json', 'idempotency-key': 'x'.repeat(300) },
      }),
    ],
    status: 422,
    code: 'idempotency.invalid_key',
    says: /Idempotency-Key/,
  },
]

const LABELS: Mistake[] = [
  {
    typed: 'metadata with a number',
    ask: () => post('/v1/fiscal-entities', { rfc: freshRfc(), metadata: { clients: 3 } }),
    ...{ status: 422, code: 'request.invalid', at: 'metadata.clients', says: /Must be text of at most 500 characters/ },
  },
  {
    typed: 'metadata with a key of two words',
    ask: () => post('/v1/fiscal-entities', { rfc: freshRfc(), metadata: { 'my client': 'x' } }),
    ...{ status: 422, code: 'request.invalid', at: 'metadata.my client', says: /1 to 40 letters, digits/ },
  },
  {
    typed: 'externalId',
    ask: () => post('/v1/fiscal-entities', { rfc: freshRfc(), externalId: 'x' }),
    ...{ status: 422, code: 'request.invalid', at: 'externalId', says: /mean external_id\?/ },
  },
  {
    typed: 'RFC as the name of a filter',
    ask: () => get('/v1/fiscal-entities?RFC=EKU9003173C9'),
    ...{ status: 422, code: 'request.invalid', at: 'RFC', says: /mean rfc\?/ },
  },
  {
    typed: 'a batch as a list',
    ask: () => post('/v1/fiscal-entities/batch', [{ rfc: freshRfc() }]),
    ...{ status: 422, code: 'request.invalid', says: /Must be an object/ },
  },
  {
    typed: 'a batch of 101 RFCs',
    ask: () => post('/v1/fiscal-entities/batch', { fiscal_entities: Array.from({ length: 101 }, () => ({ rfc: 'EKU9003173C9' })) }),
    ...{ status: 422, code: 'request.invalid', at: 'fiscal_entities', says: /100/ },
  },
  {
    typed: 'a header that the service sends',
    ask: () => post('/v1/webhooks', { ...HOOK, custom_header: { name: 'Content-Type', value: 'x' } }),
    ...{ status: 422, code: 'request.invalid', at: 'custom_header.name', says: /such as Content-Type or Host/ },
  },
  {
    typed: 'an RFC in the place of its fiscal entity',
    ask: () => post('/v1/webhooks', { ...HOOK, fiscal_entity_ids: ['EKU9003173C9'] }),
    ...{ status: 422, code: 'request.invalid', at: 'fiscal_entity_ids[0]', says: /prefix fe_/ },
  },
  {
    typed: 'the fiscal entity of another organization for a webhook',
    ask: () => post('/v1/webhooks', { ...HOOK, fiscal_entity_ids: [theirs.fiscal_entity_id] }),
    ...{ status: 422, code: 'webhook.fiscal_entity', at: 'fiscal_entity_ids[0]', says: /with GET \/v1\/fiscal-entities/ },
  },
  {
    typed: 'an extractor to preview with a schedule that lacks its days',
    ask: () => post('/v1/extractors/preview', { ...EXTRACTOR, schedule_kind: 'every_n_days' }),
    ...{ status: 422, code: 'request.invalid', at: 'schedule_spec.n', says: /requires n, an integer from 1 to 365/ },
  },
  {
    typed: 'GET of a preview',
    ask: () => get('/v1/extractors/preview'),
    ...{ status: 405, code: 'request.method_not_allowed', says: /allows POST/ },
  },
]

const MISTAKES = { LABELS, AUTHENTICATION, PATHS, QUERIES, BODIES }

describe.each(Object.entries(MISTAKES))('%s: what a newcomer typed is told what, where and what to do', (_, mistakes) => {
  it.each(mistakes)('$typed', expectNotified)
})

it('there are 60 of them at least', () => {
  expect(Object.values(MISTAKES).flat().length).toBeGreaterThanOrEqual(60)
})
