import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { newKeyPair } from '../../src/accounts/credentials/key.ts'
import { SAMPLES } from '../../src/delivery/catalog/catalog.ts'
import { insertEvents } from '../../src/delivery/events/store.ts'
import { commit } from '../../src/platform/db/commit.ts'
import { newId, uuidOf } from '../../src/platform/db/id.ts'
import type { Role } from '../../src/platform/tenant/tenant.ts'
import { centralDayOf } from '../../src/platform/time/months.ts'
import { efirmaOf, numberOf } from '../taxpayers/support/efirmas.ts'
import { api } from './client.ts'
import { freshRfc, joined, signUp } from './tenants.ts'
import { json, nameOf, pathOf, ROUTES, type Sent } from './wire.ts'
import { credentialOf, importXml, type Side, xml } from './world.ts'

/** What a path, a query and a body are made of, by name. */
export type Given = Record<string, string>

/** How a route is called rightly, and by whom. */
export interface Row {
  may: readonly Role[] | 'public'
  answers: number
  given?: (side: Side) => Given | Promise<Given>
  query?: (given: Given) => Record<string, string>
  json?: (given: Given) => Record<string, unknown>
  upload?: boolean
  /** Names that may say anything well formed: nothing is looked up by them. */
  free?: readonly string[]
  /** The list has one page at most here. Its pages and cursors are tested in the tests of its own. */
  isShort?: true
}

const ALL = ['owner', 'admin', 'member'] as const
const WRITERS = ['owner', 'admin'] as const
const OWNER = ['owner'] as const

const entity = ({ fiscal_entity_id }: Side): Given => ({ fiscal_entity_id })
const oneLease = (): Given => ({ lease_id: '0-1-00000000-0000-4000-8000-000000000000' })
export const ofEntity = ({ fiscal_entity_id }: Given) => ({ fiscal_entity_id: fiscal_entity_id! })
const issued = (given: Given) => ({ ...ofEntity(given), direction: 'issued' })
const cfdi = ({ fiscal_entity_id, uuid }: Side): Given => ({ fiscal_entity_id, uuid })

/** A public list is loaded. */
const withPublicList = async (): Promise<Given> => {
  await env.DB.prepare(
    "insert or ignore into blacklist_lists (organization_id, source, version, notified_version, row_count) values ('', 'sat_69_firmes', 1, 1, 0)",
  ).run()
  return {}
}

/** The largest customers are on the list of article 69-B; `rfc` has the most invoices of them. */
const listed = async (side: Side): Promise<Given> => {
  const query = new URLSearchParams(issued(entity(side)))
  const { body } = await api(side.callers.owner, 'GET', `/v1/cfdi/concentration?${query}`)
  const customers = (body.data as { rfc: string; invoice_count: number }[]).filter(({ rfc }) => !rfc.startsWith('X'))
  const history = JSON.stringify([['presunto', '2018-01-01', '2018-01-02', '500-05']])
  await env.DB.batch([
    env.DB.prepare("insert or ignore into blacklist_lists (organization_id, source, version, row_count) values ('', 'sat_69b', 1, 1)"),
    env.DB.prepare(
      "insert or ignore into blacklist_entries (organization_id, source, rfc, name, situacion, history) select '', 'sat_69b', value, '', 'presunto', ?2 from json_each(?1)",
    ).bind(JSON.stringify(customers.map(({ rfc }) => rfc)), history),
    // No loader has told the connection.
    env.DB.prepare('update connections set listed = null where fiscal_entity_id = ?').bind(side.fiscal_entity_id),
  ])
  const [most] = customers.toSorted((a, b) => b.invoice_count - a.invoice_count)
  return { ...entity(side), rfc: most!.rfc }
}

/** No connecting runs it, so that a connection costs the same however many of these there are. */
const EXTRACTOR = { name: 'Uno', trigger_kind: 'connection_reactivated', scope: 'full_history', data_source_keys: ['sat_csf'] }

const freshExtractor = async ({ callers }: Side): Promise<Given> => ({
  extractor_id: (await api(callers.owner, 'POST', '/v1/extractors', EXTRACTOR)).body.extractor_id,
})
const LINK = { purposes: [{ key: 'credit_evaluation', necessary: true }] }

const freshLink = async ({ callers }: Side): Promise<Given> => ({
  connect_link_id: (await api(callers.owner, 'POST', '/v1/connect-links', LINK)).body.connect_link_id,
})
const oneConsent = async ({ callers }: Side): Promise<Given> => ({
  consent_id: (await api(callers.owner, 'GET', '/v1/consents')).body.data[0].consent_id,
})
/** The consent of a draft, which nothing else needs. */
const freshConsent = async (side: Side): Promise<Given> => {
  const draft = await api(side.callers.owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc(), consent_reference: 'Contrato 7' })
  const { fiscal_entity_id } = draft.body
  const { body } = await api(side.callers.owner, 'GET', `/v1/consents?fiscal_entity_id=${fiscal_entity_id}`)
  return { consent_id: body.data[0].consent_id }
}

const oneExtractor = async ({ callers }: Side): Promise<Given> => ({
  extractor_id: (await api(callers.owner, 'GET', '/v1/extractors')).body[0].extractor_id,
})
const freshActive = async ({ callers, fiscal_entity_id }: Side): Promise<Given> => {
  const { body } = await api(callers.owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc(), ciec: 'empty123' })
  // Bodies that other tests sent may have left no seat.
  return { fiscal_entity_id: body.fiscal_entity_id ?? fiscal_entity_id }
}
/** A job for which the authority takes a day. */
const openJob = async (side: Side): Promise<Given> => {
  const { callers } = side
  const { body } = await api(callers.owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc(), ciec: 'slow86400' })
  // Bodies that other tests sent may have left no seat: then a job of that RFC is as good as ended.
  const fiscal_entity_id = body.fiscal_entity_id ?? side.fiscal_entity_id
  const path = `/v1/fiscal-entities/${fiscal_entity_id}`
  const today = centralDayOf(Date.now())
  await api(callers.owner, 'POST', `${path}/extractions`, { data_source_keys: ['sat_cfdi_issued'], from: today, to: today })
  const { data } = (await api(callers.owner, 'GET', `${path}/sync-jobs`)).body
  const { job_id } = data.find((job: { data_source_key: string }) => job.data_source_key === 'sat_cfdi_issued') ?? {
    job_id: absent('job_id'),
  }
  return { fiscal_entity_id, job_id }
}
const oneRun = async ({ callers, fiscal_entity_id }: Side): Promise<Given> => ({
  run_id: (await api(callers.owner, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/runs`)).body.data[0].run_id,
})
const freshCredential = async ({ callers }: Side): Promise<Given> => ({ api_key: (await credentialOf(callers.owner, 'member')).api_key })
const freshDraft = async ({ callers }: Side): Promise<Given> => ({
  fiscal_entity_id: (await api(callers.owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc() })).body.fiscal_entity_id,
})
let efirmas = 0
/** The spare entity, with another e.firma each time. */
const spareWithEfirma = async ({ callers, spare_entity_id }: Side): Promise<Given> => {
  const path = `/v1/fiscal-entities/${spare_entity_id}`
  const { rfc } = (await api(callers.owner, 'GET', path)).body
  const to = new Date(Date.now() + 400 * 86_400_000)
  const { status } = await api(callers.owner, 'PATCH', path, { efirma: efirmaOf(rfc, { number: numberOf(String(2_000 + efirmas++)), to }) })
  if (status !== 200) throw new Error(`The e.firma answered ${status}.`)
  return { fiscal_entity_id: spare_entity_id }
}
const freshImport = async ({ callers, fiscal_entity_id }: Side): Promise<Given> => ({
  fiscal_entity_id,
  import_id: ((await importXml(callers.owner, fiscal_entity_id)).body as { import_id: string }).import_id,
})
const withExportRoom = async ({ organization_id, fiscal_entity_id }: Side): Promise<Given> => {
  await env.DB.prepare(
    `delete from exports where organization_id = ?1 and export_id <= (
       select export_id from exports where organization_id = ?1 order by export_id desc limit 1 offset 100)`,
  )
    .bind(organization_id)
    .run()
  return { fiscal_entity_id }
}
const freshExport = async (side: Side): Promise<Given> => {
  const json = { ...(await withExportRoom(side)), kind: 'pagos', format: 'csv' }
  return { export_id: (await api(side.callers.owner, 'POST', '/v1/exports', json)).body.export_id }
}
const readyExport = async (side: Side): Promise<Given> => {
  const given = await freshExport(side)
  const isReady = async () => (await api(side.callers.owner, 'GET', `/v1/exports/${given['export_id']}`)).body.status === 'ready'
  await vi.waitUntil(isReady, { timeout: 20_000, interval: 50 })
  return given
}
const freshInvoice = async ({ callers }: Side): Promise<Given> => ({
  invoice_id: (await api(callers.owner, 'POST', '/v1/test-helpers/invoices', {})).body.invoice_id,
})

const WEBHOOK = { name: 'ERP', url: 'https://hooks.example.com/in', event_keys: ['cfdi.cancelled'] }

/** Webhooks whose log or list a test reads. They stay. */
const kept = new Set<string>()
/** Makes room for one more webhook: an organization has 20 at most. */
const withRoom = async ({ organization_id }: Side): Promise<Given> => {
  const stays = JSON.stringify([...kept])
  await env.EVENTS_0.prepare(
    `update webhooks set deleted_at = ?2 where organization_id = ?1 and deleted_at is null
       and webhook_id not in (select value from json_each(?3))
       and webhook <= (select webhook from webhooks where organization_id = ?1 and deleted_at is null order by webhook desc limit 1 offset 10)`,
  )
    .bind(organization_id, Date.now(), stays)
    .run()
  return {}
}
const freshWebhook = async (side: Side): Promise<Given> => {
  await withRoom(side)
  return { webhook_id: (await api(side.callers.owner, 'POST', '/v1/webhooks', WEBHOOK)).body.webhook_id }
}
const rotatedWebhook = async (side: Side): Promise<Given> => {
  const given = await freshWebhook(side)
  await api(side.callers.owner, 'POST', `/v1/webhooks/${given['webhook_id']}/rotate-secret`)
  return given
}

const CONNECTOR = {
  name: 'Respaldo',
  provider: 's3',
  config: { bucket: 'fiscal' },
  credentials: { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'secret-of-nobody' },
}
/** Makes room for one more connector: an organization has 20 at most. */
const withConnectorRoom = async ({ organization_id }: Side): Promise<Given> => {
  await env.EVENTS_0.prepare(
    `update storage_connectors set deleted_at = ?2 where organization_id = ?1 and deleted_at is null and connector <= (
       select connector from storage_connectors where organization_id = ?1 and deleted_at is null order by connector desc limit 1 offset 10)
       and connector not in (select connector from storage_refused)`,
  )
    .bind(organization_id, Date.now())
    .run()
  return {}
}
const freshConnector = async (side: Side): Promise<Given> => {
  await withConnectorRoom(side)
  // Each has a destination of its own, because tests of one have a cooldown.
  const connector = { ...CONNECTOR, config: { ...CONNECTOR.config, prefix: crypto.randomUUID() } }
  return { connector_id: (await api(side.callers.owner, 'POST', '/v1/storage-connectors', connector)).body.connector_id }
}
const refusals = new WeakMap<Side, Promise<Given>>()
/** The side's connector with refused documents on several pages. */
const refusingConnector = (side: Side): Promise<Given> => {
  const made =
    refusals.get(side) ??
    freshConnector(side).then(async (one) => {
      await env.EVENTS_0.prepare(
        `insert into storage_refused select connector, ?2, 'doc_' || value, 'a/' || value || '.pdf', 'refused', 'No.', '2026-05-20T09:00:00.000Z', 0
         from storage_connectors cross join json_each('[1, 2, 3, 4]') where connector_id = ?1`,
      )
        .bind(one['connector_id'], uuidOf(side.fiscal_entity_id))
        .run()
      return one
    })
  refusals.set(side, made)
  return made
}

let slugs = 0
const withListRoom = async ({ organization_id }: Side): Promise<Given> => {
  await env.DB.prepare(
    'delete from blacklist_lists where organization_id = ?1 and (select count(*) from blacklist_lists where organization_id = ?1) > 50',
  )
    .bind(organization_id)
    .run()
  return {}
}
const freshList = async (side: Side): Promise<Given> => {
  await withListRoom(side)
  return {
    slug: (await api(side.callers.owner, 'POST', '/v1/blacklists/custom', { slug: `lista-${++slugs}`, label: 'Vetados' })).body.slug,
  }
}

/** An event as if it had been relayed: what comes by itself would go on by itself while others count. */
const freshEvent = async ({ organization_id }: Side): Promise<Given> => {
  const event_id = newId('evt')
  const body = JSON.stringify({ event: 'webhook.test', event_id, occurred_at: new Date().toISOString(), webhook_id: newId('wh') })
  await commit(env.EVENTS_0, insertEvents([{ organization_id, event_id, body, isUnique: false }], Date.now()))
  return { event_id }
}
/** The same of a change on a list. */
const freshChange = async ({ organization_id, fiscal_entity_id }: Side): Promise<void> => {
  const event_id = newId('evt')
  const body = JSON.stringify({ ...SAMPLES['blacklist.changed'], event_id, fiscal_entity_id: uuidOf(fiscal_entity_id) })
  await commit(env.EVENTS_0, insertEvents([{ organization_id, event_id, body, isUnique: false }], Date.now()))
}
/** The same, with a delivery that was lost, to a webhook of its own or to this one. */
const freshLoss = async (side: Side, webhook?: Given): Promise<Given> => {
  const given = { ...(webhook ?? (await freshWebhook(side))), ...(await freshEvent(side)) } as { webhook_id: string; event_id: string }
  await env.EVENTS_0.prepare(
    `insert into deliveries select webhook, seq, 0, 'webhook.test', 'lost', ?3, null, null, '[]', ?3
     from webhooks w join events e using (organization_id) where webhook_id = ?1 and e.body->>'event_id' = ?2`,
  )
    .bind(given.webhook_id, given.event_id, Date.now())
    .run()
  return given
}
/** The same, with a delivery that waits for its third attempt. */
const freshWait = async (side: Side): Promise<Given> => {
  const given = (await freshLoss(side)) as { webhook_id: string; event_id: string }
  await env.EVENTS_0.prepare(
    "update deliveries set status = 'pending', due_at = ?2 where webhook = (select webhook from webhooks where webhook_id = ?1)",
  )
    .bind(given.webhook_id, Date.now() + 3_600_000)
    .run()
  return given
}
const logs = new WeakMap<Side, Promise<Given>>()
/** The side's webhook with a log of several pages. */
const loggedWebhook = (side: Side): Promise<Given> => {
  const made =
    logs.get(side) ??
    freshWebhook(side).then(async (one) => {
      kept.add(one['webhook_id']!)
      for (let n = 0; n < 4; n++) await freshLoss(side, one)
      return one
    })
  logs.set(side, made)
  return made
}
const freshAlert = async ({ organization_id }: Side): Promise<Given> => {
  const alert_id = newId('alr')
  await env.EVENTS_0.prepare(
    `insert into alerts (alert_id, organization_id, kind, severity, dedupe_key, resource_id, message, message_es, created_at)
     values (?1, ?2, 'webhook.undelivered', 'warning', ?1, 'wh_of_nobody', 'Notice.', 'Un aviso.', ?3)`,
  )
    .bind(alert_id, organization_id, Date.now())
    .run()
  return { alert_id }
}

const paidInvoice = async (side: Side): Promise<void> => {
  const { invoice_id } = await freshInvoice(side)
  await api(side.callers.owner, 'POST', `/v1/test-helpers/invoices/${invoice_id}/pay`)
}

/** Lists that are empty in a new organization have several pages from here on. */
export const fill = async (side: Side): Promise<void> => {
  const spare = { ...side, fiscal_entity_id: side.spare_entity_id }
  for (let n = 0; n < 4; n++) {
    await freshChange(side)
    await Promise.all([
      freshWebhook(side),
      freshConnector(side),
      freshAlert(side),
      freshMember(side),
      freshInvitation(side),
      freshLink(side),
      paidInvoice(side),
    ])
    await Promise.all([freshImport(side), freshImport(spare), freshExport(side)])
  }
}
/** The registry has answered about the RFC. */
const answered = async ({ callers, fiscal_entity_id }: Side): Promise<Given> => {
  const isKnown = async () => (await api(callers.owner, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/repse`)).status === 200
  await vi.waitUntil(isKnown, { timeout: 20_000, interval: 50 })
  return { fiscal_entity_id }
}
/** Nobody has had the registry asked within the hour. */
const unasked = async ({ fiscal_entity_id, rfc }: Side): Promise<Given> => {
  await env.COOLDOWNS.getByName(`repse:${rfc}`).release()
  return { fiscal_entity_id }
}

/** Nobody of the organization has checked the status of the document within ten minutes. */
const unchecked = async ({ callers, fiscal_entity_id }: Side): Promise<Given> => {
  const { body } = await api(callers.owner, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&kind=cfdi&limit=1`)
  const { uuid } = body.data[0]
  await env.COOLDOWNS.getByName(`status:${fiscal_entity_id}:${uuid}`).release()
  return { fiscal_entity_id, uuid }
}

/** Requests to cancel some documents of a connection, so many that its list has several pages. */
const requestIn = async (fiscal_entity_id: string, status: string, uuids: string) => {
  const { entity } = (await env.DB.prepare('select entity from connections where fiscal_entity_id = ?')
    .bind(fiscal_entity_id)
    .first<{ entity: number }>())!
  await env.LEDGER_0.prepare(
    `insert or replace into cancellation_requests
       select entity, uuid, ?2, 1, null, ?3, ?3, null, null, null from cfdi where entity = ?1 and cancelled = 0 and kind = 'cfdi' and ${uuids}`,
  )
    .bind(entity, status, Date.now())
    .run()
  return entity
}
const someRequests = async ({ fiscal_entity_id }: Side): Promise<Given> => {
  await requestIn(fiscal_entity_id, 'rejected', 'true order by uuid limit 4')
  return { fiscal_entity_id }
}
const oneRequest = async ({ fiscal_entity_id, uuid }: Side): Promise<Given> => {
  await requestIn(fiscal_entity_id, 'rejected', `uuid = '${uuid}'`)
  return { fiscal_entity_id, uuid }
}
/** A received document of the spare entity that its issuer has asked to cancel. */
const pendingRequest = async ({ callers, spare_entity_id }: Side): Promise<Given> => {
  const { body } = await api(callers.owner, 'GET', `/v1/cfdi?fiscal_entity_id=${spare_entity_id}&kind=cfdi&estatus=vigente&limit=1`)
  const { uuid } = body.data[0]
  const entity = await requestIn(spare_entity_id, 'pending', `uuid = '${uuid}'`)
  await env.LEDGER_0.prepare('update cfdi set direction = 1 where entity = ? and uuid = ?').bind(entity, uuid).run()
  await env.DB.prepare('update connections set received_from = issued_from, received_to = issued_to where fiscal_entity_id = ?')
    .bind(spare_entity_id)
    .run()
  return { fiscal_entity_id: spare_entity_id, uuid }
}

const report = ({ fiscal_entity_id }: Side): Given => ({ key: 'payroll', fiscal_entity_id })

const ofDiot = (given: Given) => ({ ...ofEntity(given), month: '2025-10' })
const freshDiotSupplier = async ({ callers, fiscal_entity_id }: Side): Promise<Given> => {
  const rfc = freshRfc()
  await api(callers.owner, 'PUT', `/v1/fiscal-entities/${fiscal_entity_id}/diot-settings/suppliers/${rfc}`, { use: 'exempt' })
  return { fiscal_entity_id, rfc }
}

let mails = 0

const invited = async ({ callers }: Side): Promise<Given> => ({
  token: (await api(callers.owner, 'POST', '/v1/team/members/invite', { email: `matrix${++mails}@example.com`, role: 'member' })).body
    .token,
})
const freshInvitation = async ({ callers }: Side): Promise<Given> => ({
  invitation_id: (await api(callers.owner, 'POST', '/v1/team/members/invite', { email: `matrix${++mails}@example.com`, role: 'member' }))
    .body.invitation_id,
})
const freshMember = async ({ callers, organization_id }: Side): Promise<Given> => {
  // An organization has a hundred invitations mailed in a day.
  await env.DB.prepare('delete from mails where organization_id = ?').bind(organization_id).run()
  return { member_id: (await joined(callers.owner)).member_id }
}

/** One row for every documented route: a route without a row fails the matrix, and so does a row without a route. */
export const ROWS: Record<string, Row> = {
  'GET /health': { may: 'public', answers: 200 },
  'GET /docs': { may: 'public', answers: 200 },
  'GET /docs/:file': { may: 'public', answers: 200, given: () => ({ file: 'start.js' }) },
  'GET /llms.txt': { may: 'public', answers: 200 },
  'GET /v1/openapi.json': { may: 'public', answers: 200 },
  'POST /v1/auth/signup': {
    may: 'public',
    answers: 201,
    json: () => ({ organization_name: 'Nueva', name: 'Ana', email: `matrix${++mails}@example.com` }),
  },
  // Here no mail is sent: tests of confirmations have a deployment of their own.
  'POST /v1/auth/email/confirm': { may: 'public', answers: 404, json: () => ({ token: 'x' }) },
  'POST /v1/auth/email/resend': { may: WRITERS, answers: 409 },
  'POST /v1/auth/invitations/accept': { may: 'public', answers: 201, given: invited, json: ({ token }) => ({ token, name: 'Bea' }) },
  'GET /v1/team/members': { may: ALL, answers: 200 },
  'POST /v1/team/members/invite': {
    may: WRITERS,
    answers: 201,
    json: () => ({ email: `matrix${++mails}@example.com`, role: 'member' }),
  },
  'PATCH /v1/team/members/:member_id': { may: WRITERS, answers: 200, given: freshMember, json: () => ({ role: 'admin' }) },
  'DELETE /v1/team/members/:member_id': { may: WRITERS, answers: 200, given: freshMember },
  'GET /v1/team/mail-preferences': { may: ALL, answers: 200 },
  'PATCH /v1/team/mail-preferences': { may: ALL, answers: 200, json: () => ({ alerts: 'all' }) },
  'GET /v1/team/invitations': { may: ALL, answers: 200 },
  'DELETE /v1/team/invitations/:invitation_id': { may: WRITERS, answers: 204, given: freshInvitation },
  'GET /v1/organization': { may: ALL, answers: 200 },
  'PATCH /v1/organization': { may: WRITERS, answers: 200, json: () => ({ name: 'Otro nombre' }) },
  'GET /v1/organization/stats': { may: ALL, answers: 200 },
  'GET /v1/credentials': { may: ALL, answers: 200 },
  'POST /v1/credentials': { may: WRITERS, answers: 201, json: () => ({ name: 'CI', role: 'member' }) },
  'POST /v1/credentials/:api_key/roll': { may: WRITERS, answers: 200, given: freshCredential, json: () => ({ overlap_hours: 1 }) },
  'DELETE /v1/credentials/:api_key': { may: WRITERS, answers: 204, given: freshCredential },
  'GET /v1/audit-events': { may: WRITERS, answers: 200 },
  'GET /v1/extractors': { may: ALL, answers: 200 },
  'POST /v1/extractors': { may: WRITERS, answers: 201, json: () => EXTRACTOR },
  'POST /v1/extractors/preview': { may: WRITERS, answers: 200, json: () => EXTRACTOR },
  'GET /v1/extractors/:extractor_id': { may: WRITERS, answers: 200, given: freshExtractor },
  'PATCH /v1/extractors/:extractor_id': { may: WRITERS, answers: 200, given: freshExtractor, json: () => ({ name: 'Dos' }) },
  'DELETE /v1/extractors/:extractor_id': { may: WRITERS, answers: 204, given: freshExtractor },
  'POST /v1/extractors/:extractor_id/run': { may: WRITERS, answers: 200, given: freshExtractor },
  'GET /v1/extractors/:extractor_id/runs': { may: WRITERS, answers: 200, given: oneExtractor },
  'GET /v1/billing': { may: ALL, answers: 200 },
  'GET /v1/billing/plan': { may: ALL, answers: 200 },
  'GET /v1/billing/plans': { may: ALL, answers: 200 },
  'GET /v1/billing/usage': { may: ALL, answers: 200 },
  'GET /v1/billing/invoices': { may: ALL, answers: 200 },
  'GET /v1/billing/rfcs': { may: ALL, answers: 200 },
  // Here nobody is Stripe's customer.
  'POST /v1/billing/stripe/webhook': { may: 'public', answers: 404, json: () => ({}) },
  // Here nobody fetches: tests of the fetcher contract have a deployment of their own.
  'POST /fetcher/v1/leases': { may: 'public', answers: 404, json: () => ({}) },
  'POST /fetcher/v1/leases/:lease_id/renew': { may: 'public', answers: 404, given: oneLease, json: () => ({}) },
  'PUT /fetcher/v1/leases/:lease_id/packages/:kind/:n': {
    ...{ may: 'public', answers: 404, upload: true },
    given: () => ({ ...oneLease(), kind: 'xml', n: '0' }),
  },
  'PUT /fetcher/v1/leases/:lease_id/documents/:n': {
    ...{ may: 'public', answers: 404, upload: true },
    given: () => ({ ...oneLease(), n: '0' }),
  },
  'POST /fetcher/v1/leases/:lease_id/complete': { may: 'public', answers: 404, given: oneLease, json: () => ({ metadata: 0, xml: 0 }) },
  'POST /fetcher/v1/leases/:lease_id/fail': { may: 'public', answers: 404, given: oneLease, json: () => ({ error_class: 'rate_limited' }) },
  'PATCH /v1/billing/rfcs/:fiscal_entity_id': { may: WRITERS, answers: 200, given: freshDraft, json: () => ({ active: false }) },
  'GET /v1/fiscal-entities/data-sources': { may: ALL, answers: 200 },
  'GET /v1/fiscal-entities': { may: ALL, answers: 200 },
  'POST /v1/fiscal-entities': { may: WRITERS, answers: 201, json: () => ({ rfc: freshRfc() }) },
  'POST /v1/fiscal-entities/batch': { may: WRITERS, answers: 200, json: () => ({ fiscal_entities: [{ rfc: freshRfc() }] }) },
  'GET /v1/fiscal-entities/:fiscal_entity_id': { may: ALL, answers: 200, given: entity },
  'PATCH /v1/fiscal-entities/:fiscal_entity_id': { may: WRITERS, answers: 200, given: freshDraft, json: () => ({ name: 'Cliente' }) },
  'DELETE /v1/fiscal-entities/:fiscal_entity_id': { may: WRITERS, answers: 204, given: freshDraft },
  'GET /v1/runs/:run_id': { may: WRITERS, answers: 200, given: oneRun },
  'GET /v1/runs/:run_id/jobs': { may: WRITERS, answers: 200, given: oneRun },
  'POST /v1/runs/:run_id/cancel': { may: WRITERS, answers: 200, given: oneRun },
  'POST /v1/fiscal-entities/:fiscal_entity_id/extractions': {
    may: WRITERS,
    answers: 202,
    given: freshActive,
    json: () => ({ data_source_keys: ['sat_csf'], from: new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 10) }),
  },
  'GET /v1/fiscal-entities/:fiscal_entity_id/runs': { may: WRITERS, answers: 200, given: entity, isShort: true },
  'GET /v1/sync': { may: ALL, answers: 200 },
  'GET /v1/fiscal-entities/:fiscal_entity_id/sync': { may: ALL, answers: 200, given: entity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/sync-jobs': { may: ALL, answers: 200, given: entity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/coverage': { may: ALL, answers: 200, given: entity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/coverage/:source/:month': {
    may: ALL,
    answers: 200,
    given: ({ fiscal_entity_id }) => ({ fiscal_entity_id, source: 'sat_cfdi_issued', month: new Date().toISOString().slice(0, 7) }),
    free: ['source', 'month'],
    isShort: true,
  },
  'GET /v1/fiscal-entities/:fiscal_entity_id/documents': { may: ALL, answers: 200, given: entity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/tax-profile': { may: ALL, answers: 200, given: entity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/obligations': { may: ALL, answers: 200, given: entity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/documents/:document_id': {
    may: ALL,
    answers: 200,
    given: ({ fiscal_entity_id, document_id }) => ({ fiscal_entity_id, document_id }),
  },
  'GET /v1/fiscal-entities/:fiscal_entity_id/documents/:document_id/content': {
    may: ALL,
    answers: 200,
    given: ({ fiscal_entity_id, document_id }) => ({ fiscal_entity_id, document_id }),
  },
  'POST /v1/fiscal-entities/:fiscal_entity_id/cfdi/imports': { may: WRITERS, answers: 202, given: entity, upload: true },
  'GET /v1/fiscal-entities/:fiscal_entity_id/cfdi/imports': { may: ALL, answers: 200, given: entity },
  'DELETE /v1/fiscal-entities/:fiscal_entity_id/cfdi/imports/:import_id': { may: WRITERS, answers: 202, given: freshImport },
  'GET /v1/fiscal-entities/:fiscal_entity_id/cfdi/imports/:import_id': {
    may: ALL,
    answers: 200,
    given: ({ fiscal_entity_id, import_id }) => ({ fiscal_entity_id, import_id }),
  },
  'GET /v1/fiscal-entities/:fiscal_entity_id/repse': { may: ALL, answers: 200, given: answered },
  'POST /v1/fiscal-entities/:fiscal_entity_id/repse/refresh': { may: ALL, answers: 202, given: unasked },
  'GET /v1/cfdi/repse-suppliers': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/cfdi': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/cfdi/changes': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/analytics/vat-position': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/analytics/vat-position/entries': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...ofEntity(given), figure: 'cobrado.iva_16' }),
  },
  'GET /v1/analytics/isr-provisional': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...ofEntity(given), regimen: '626' }),
  },
  'GET /v1/analytics/isr-provisional/file': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...ofEntity(given), regimen: '626', format: 'xlsx' }),
  },
  'GET /v1/analytics/isr-provisional/entries': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...ofEntity(given), regimen: '626', figure: 'ingresos' }),
  },
  'GET /v1/cfdi/withholdings': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/cfdi/withholdings/entries': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...ofEntity(given), figure: 'isr_por_enterar' }),
  },
  'GET /v1/cfdi/concentration': { may: ALL, answers: 200, given: entity, query: issued },
  'GET /v1/cfdi/concentration/entries': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...issued(given), figure: 'total' }),
  },
  'GET /v1/cfdi/deductions': { may: ALL, answers: 200, given: entity, query: ofEntity, isShort: true },
  'GET /v1/cfdi/deductions/entries': {
    ...{ may: ALL, answers: 200, given: entity, isShort: true },
    query: (given) => ({ ...ofEntity(given), figure: 'gross_amount', year: '2026', category: 'expense' }),
  },
  'GET /v1/cfdi/risk': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/cfdi/risk/entries': {
    ...{ may: ALL, answers: 200, given: entity, isShort: true },
    query: (given) => ({ ...ofEntity(given), figure: 'missing_rate' }),
  },
  'GET /v1/analytics/risk': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/analytics/risk/entries': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...ofEntity(given), figure: 'cash_share' }),
  },
  'GET /v1/analytics/efos-exposure': { may: ALL, answers: 200, given: listed, query: issued },
  'GET /v1/analytics/efos-exposure/entries': {
    ...{ may: ALL, answers: 200, given: listed, free: ['rfc'] },
    query: (given) => ({ ...issued(given), figure: 'amount', rfc: given['rfc']! }),
  },
  'GET /v1/analytics/concepts': { may: ALL, answers: 200, given: entity, query: issued },
  'GET /v1/analytics/concepts/entries': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...issued(given), figure: 'total' }),
  },
  'GET /v1/analytics/financing': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/analytics/financing/entries': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...ofEntity(given), figure: 'pool.eligible_amount' }),
  },
  'GET /v1/analytics/fx-exposure': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/analytics/fx-exposure/entries': {
    ...{ may: ALL, answers: 200, given: entity },
    query: (given) => ({ ...ofEntity(given), figure: 'issued_amount', currency: 'USD' }),
  },
  'GET /v1/cfdi/summary': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/cfdi/summary/monthly': { may: ALL, answers: 200, given: entity, query: ofEntity },
  'GET /v1/cfdi/:uuid': { may: ALL, answers: 200, given: cfdi, query: ofEntity },
  'GET /v1/cfdi/:uuid/pdf': { may: ALL, answers: 200, given: cfdi, query: ofEntity },
  'GET /v1/cfdi/:uuid/payments': { may: ALL, answers: 200, given: cfdi, query: ofEntity },
  'GET /v1/cfdi/:uuid/relations': { may: ALL, answers: 200, given: cfdi, query: ofEntity, isShort: true },
  'GET /v1/cfdi/:uuid/history': { may: ALL, answers: 200, given: cfdi, query: ofEntity },
  'POST /v1/cfdi/:uuid/status-check': { may: ALL, answers: 200, given: unchecked, query: ofEntity },
  'GET /v1/cancellation-requests': { may: ALL, answers: 200, given: someRequests, query: ofEntity },
  'GET /v1/cancellation-requests/:uuid': { may: ALL, answers: 200, given: oneRequest, query: ofEntity },
  'POST /v1/cancellation-requests/:uuid/answer': {
    ...{ may: WRITERS, answers: 200, given: pendingRequest, query: ofEntity },
    json: () => ({ answer: 'reject' }),
  },
  'GET /v1/cfdi/:uuid/xml': { may: ALL, answers: 200, given: cfdi, query: ofEntity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/buzon/notifications': { may: ALL, answers: 200, given: entity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/buzon/notifications/:notification_id': {
    may: ALL,
    answers: 200,
    given: ({ fiscal_entity_id, notification_id }) => ({ fiscal_entity_id, notification_id }),
  },
  'GET /v1/fiscal-entities/:fiscal_entity_id/buzon/document': {
    may: ALL,
    answers: 200,
    given: ({ fiscal_entity_id, notification_id }) => ({ fiscal_entity_id, notification_id }),
    query: ({ notification_id }) => ({ notification_id: notification_id! }),
  },
  'GET /v1/webhooks': { may: ALL, answers: 200 },
  'POST /v1/webhooks': { may: WRITERS, answers: 201, given: withRoom, json: () => WEBHOOK },
  'GET /v1/webhooks/event-catalog': { may: ALL, answers: 200 },
  'GET /v1/webhooks/:webhook_id': { may: ALL, answers: 200, given: freshWebhook },
  'PATCH /v1/webhooks/:webhook_id': { may: WRITERS, answers: 200, given: freshWebhook, json: () => ({ name: 'Otro' }) },
  'DELETE /v1/webhooks/:webhook_id': { may: WRITERS, answers: 204, given: freshWebhook },
  'POST /v1/webhooks/:webhook_id/test': { may: WRITERS, answers: 202, given: freshWebhook },
  'POST /v1/webhooks/:webhook_id/rotate-secret': { may: WRITERS, answers: 201, given: freshWebhook },
  'POST /v1/webhooks/:webhook_id/rotate-secret/commit': { may: WRITERS, answers: 200, given: rotatedWebhook },
  'GET /v1/webhooks/:webhook_id/deliveries': { may: ALL, answers: 200, given: loggedWebhook },
  'POST /v1/webhooks/:webhook_id/deliveries/redeliver': {
    may: WRITERS,
    answers: 202,
    given: (side) => freshLoss(side),
    json: () => ({ since: '2026-01-01T00:00:00Z' }),
  },
  'POST /v1/webhooks/:webhook_id/deliveries/:event_id/redeliver': { may: WRITERS, answers: 202, given: (side) => freshLoss(side) },
  'POST /v1/webhooks/:webhook_id/deliveries/:event_id/send-now': { may: WRITERS, answers: 202, given: freshWait },
  'GET /v1/events': { may: ALL, answers: 200 },
  'POST /v1/exports': {
    ...{ may: WRITERS, answers: 202, given: withExportRoom },
    json: (given) => ({ ...ofEntity(given), kind: 'cfdi', format: 'csv' }),
  },
  'GET /v1/exports': { may: ALL, answers: 200 },
  'GET /v1/exports/:export_id': { may: ALL, answers: 200, given: freshExport },
  'DELETE /v1/exports/:export_id': { may: WRITERS, answers: 204, given: freshExport },
  'GET /v1/exports/:export_id/content': { may: ALL, answers: 200, given: readyExport },
  'GET /v1/storage-connectors': { may: ALL, answers: 200 },
  'POST /v1/storage-connectors': { may: WRITERS, answers: 201, given: withConnectorRoom, json: () => CONNECTOR },
  'GET /v1/storage-connectors/:connector_id': { may: ALL, answers: 200, given: freshConnector },
  'GET /v1/storage-connectors/:connector_id/refused-documents': { may: ALL, answers: 200, given: refusingConnector },
  'PATCH /v1/storage-connectors/:connector_id': { may: WRITERS, answers: 200, given: freshConnector, json: () => ({ name: 'Otro' }) },
  'DELETE /v1/storage-connectors/:connector_id': { may: WRITERS, answers: 204, given: freshConnector },
  'POST /v1/storage-connectors/:connector_id/test': { may: WRITERS, answers: 200, given: freshConnector },
  'POST /v1/storage-connectors/:connector_id/backfill': { may: WRITERS, answers: 202, given: freshConnector },
  'GET /v1/events/:event_id': { may: ALL, answers: 200, given: freshEvent },
  'POST /v1/connect-links': { may: WRITERS, answers: 201, json: () => LINK },
  'GET /v1/connect-links': { may: ALL, answers: 200, given: freshLink },
  'GET /v1/connect-links/:connect_link_id': { may: ALL, answers: 200, given: freshLink },
  'DELETE /v1/connect-links/:connect_link_id': { may: WRITERS, answers: 204, given: freshLink },
  'GET /v1/consents': { may: ALL, answers: 200 },
  'GET /v1/consents/:consent_id': { may: ALL, answers: 200, given: oneConsent },
  'POST /v1/consents/:consent_id/withdraw': { may: WRITERS, answers: 200, given: freshConsent },
  'GET /v1/portfolio/attention': { may: ALL, answers: 200, isShort: true },
  'GET /v1/portfolio/opinions': { may: ALL, answers: 200 },
  'GET /v1/portfolio/obligations': { may: ALL, answers: 200 },
  'GET /v1/portfolio/vat': { may: ALL, answers: 200 },
  'GET /v1/portfolio/listed': { may: ALL, answers: 200 },
  'GET /v1/alerts': { may: ALL, answers: 200 },
  'POST /v1/alerts/read': { may: WRITERS, answers: 200, given: freshAlert },
  'POST /v1/alerts/:alert_id/read': { may: WRITERS, answers: 200, given: freshAlert },
  'GET /v1/reports': { may: ALL, answers: 200 },
  // The windows of a side are bounded.
  'GET /v1/reports/diot/file': { may: ALL, answers: 200, given: entity, query: (given) => ({ ...ofDiot(given), incomplete: 'allow' }) },
  'GET /v1/reports/diot/check': { may: ALL, answers: 200, given: entity, query: ofDiot, isShort: true },
  'GET /v1/fiscal-entities/:fiscal_entity_id/diot-settings': { may: ALL, answers: 200, given: entity },
  'GET /v1/fiscal-entities/:fiscal_entity_id/diot-settings/suppliers': { may: ALL, answers: 200, given: freshDiotSupplier, isShort: true },
  'PUT /v1/fiscal-entities/:fiscal_entity_id/diot-settings': {
    ...{ may: WRITERS, answers: 200, given: entity },
    json: () => ({ default_use: 'taxed' }),
  },
  'PUT /v1/fiscal-entities/:fiscal_entity_id/diot-settings/suppliers/:rfc': {
    ...{ may: WRITERS, answers: 200, free: ['rfc'] },
    given: (side) => ({ ...entity(side), rfc: 'DDD040404DD3' }),
    json: () => ({ use: 'exempt' }),
  },
  'DELETE /v1/fiscal-entities/:fiscal_entity_id/diot-settings/suppliers/:rfc': { may: WRITERS, answers: 204, given: freshDiotSupplier },
  'GET /v1/reports/:key': { may: ALL, answers: 409, given: report, query: ofEntity, free: ['key'], isShort: true },
  'POST /v1/reports/:key/refresh': { may: WRITERS, answers: 409, given: report, query: ofEntity, free: ['key'] },
  'GET /v1/blacklists/lookup': { may: ALL, answers: 200, query: () => ({ rfc: 'EKU9003173C9' }) },
  'POST /v1/blacklists/lookup': { may: ALL, answers: 200, json: () => ({ rfcs: ['EKU9003173C9'] }) },
  'GET /v1/blacklists/watch': { may: ALL, answers: 200 },
  'GET /v1/blacklists/custom': { may: ALL, answers: 200 },
  'POST /v1/blacklists/custom': {
    may: WRITERS,
    answers: 201,
    given: withListRoom,
    json: () => ({ slug: `lista-${++slugs}`, label: 'Vetados' }),
  },
  'PUT /v1/blacklists/custom/:slug': {
    ...{ may: WRITERS, answers: 200, given: freshList },
    json: () => ({ entries: [{ rfc: freshRfc(), name: 'Vetado' }] }),
  },
  'DELETE /v1/blacklists/custom/:slug': { may: WRITERS, answers: 204, given: freshList },
  'GET /v1/test-helpers/clock': { may: OWNER, answers: 200 },
  // Of several organizations none moves the clock.
  'POST /v1/test-helpers/clock': {
    ...{ may: OWNER, answers: 409, json: () => ({ advance: 'P1D' }) },
    given: async () => {
      await signUp()
      return {}
    },
  },
  'POST /v1/test-helpers/organization': { may: OWNER, answers: 200, json: () => ({ rfc_allowance: null }) },
  'POST /v1/test-helpers/repse': { may: OWNER, answers: 200, json: () => ({ rfc: 'EKU9003173C9', is_registered: false }) },
  'POST /v1/test-helpers/blacklists': {
    ...{ may: OWNER, answers: 200, given: withPublicList },
    json: () => ({ rfc: 'JES900109Q90', source: 'sat_69_firmes' }),
  },
  'POST /v1/test-helpers/mailbox': { may: OWNER, answers: 200, given: entity, json: (given) => ({ ...ofEntity(given), kind: 'aviso' }) },
  'POST /v1/test-helpers/invoices': { may: OWNER, answers: 201, json: () => ({ amount: '580.00' }) },
  'POST /v1/test-helpers/invoices/:invoice_id/pay': { may: OWNER, answers: 200, given: freshInvoice },
  'POST /v1/test-helpers/cfdi/:uuid/cancel': { may: OWNER, answers: 200, given: cfdi, json: ofEntity },
  'POST /v1/test-helpers/fiscal-entities/:fiscal_entity_id/expire-ciec': {
    may: OWNER,
    answers: 200,
    given: ({ spare_entity_id }) => ({ fiscal_entity_id: spare_entity_id }),
  },
  'POST /v1/test-helpers/sync-jobs/:job_id/fail': { may: OWNER, answers: 200, given: openJob, json: ofEntity },
  'POST /v1/test-helpers/fiscal-entities/:fiscal_entity_id/expire-efirma': { may: OWNER, answers: 200, given: spareWithEfirma },
}

/** The routes with their rows. */
export const TABLE = ROUTES.flatMap((route) => {
  const row = ROWS[nameOf(route)]
  return row ? [{ name: nameOf(route), route, row }] : []
})
export type Entry = (typeof TABLE)[number]

/** A right call of a route: path with query, and body. */
export function callOf({ route, row }: Entry, given: Given): { path: string; sent: Sent } {
  const query = row.query ? `?${new URLSearchParams(row.query(given))}` : ''
  const sent = row.json ? json(row.json(given)) : row.upload ? { headers: { 'content-type': 'application/xml' }, body: xml } : {}
  return { path: pathOf(route.path, given) + query, sent }
}

export const givenOf = async ({ row }: Entry, side: Side): Promise<Given> => (await row.given?.(side)) ?? {}

/** Well-formed, and of nobody. */
export function absent(name: string): string {
  if (name === 'slug') return 'lista-de-nadie'
  if (name === 'key') return 'reporte-de-nadie'
  if (name === 'rfc') return freshRfc()
  if (name === 'uuid') return crypto.randomUUID().toUpperCase()
  if (name === 'api_key') return newKeyPair('test').api_key
  return newId(PREFIXES[name]!)
}

export const PREFIXES: Record<string, Parameters<typeof newId>[0]> = {
  fiscal_entity_id: 'fe',
  extractor_id: 'ext',
  document_id: 'doc',
  import_id: 'imp',
  webhook_id: 'wh',
  connector_id: 'stc',
  event_id: 'evt',
  alert_id: 'alr',
  notification_id: 'ntf',
  invoice_id: 'inv',
  member_id: 'mem',
  invitation_id: 'ivt',
  export_id: 'exp',
  run_id: 'run',
  job_id: 'job',
  connect_link_id: 'lnk',
  consent_id: 'cns',
}

/** Malformed in a path, by the parameter's name. */
export const malformed = (name: string): string[] => {
  if (name === 'slug' || name === 'key')
    return ['Vetados', 'a_b', '-a', 'a-', 'a--b', '%00', '%27%3B--', '%ff', '%20a', 'a'.repeat(58), 'a'.repeat(4_000)]
  const right = absent(name)
  // An RFC may have spaces around it.
  if (name === 'rfc') return ['nonsense', '0', '%00', '%27%3B--', '%ff', `${right}x`, right.slice(0, -1), `${right}%00`, 'null']
  const other = newId(name === 'extractor_id' ? 'fe' : 'ext')
  return [
    'nonsense',
    '0',
    '%00',
    '%27%3B--',
    '%ff',
    other,
    `${right}x`,
    right.slice(0, -1),
    `${right}%00`,
    `%20${right}`,
    'a'.repeat(4_000),
    'null',
  ].concat(
    PREFIXES[name]
      ? [`${PREFIXES[name]}_`, right.toUpperCase(), `${PREFIXES[name]}_${'z'.repeat(26)}`, right.slice(right.indexOf('_') + 1)]
      : [],
  )
}
