import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { isSigned } from 'virtual:documented-snippet'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { Signup } from '../../src/accounts/team/contract.ts'
import type { Cfdi } from '../../src/cfdi/contract.ts'
import type { CfdiPayments } from '../../src/cfdi/detail/contract.ts'
import type { Import } from '../../src/cfdi/imports/contract.ts'
import type { MonthlySummary } from '../../src/cfdi/summary/contract.ts'
import type { Extractor } from '../../src/connections/extractors/contract.ts'
import type { Run } from '../../src/connections/extractors/runs/contract.ts'
import type { SyncStatus } from '../../src/connections/sync/contract.ts'
import type { Delivery } from '../../src/delivery/deliveries/contract.ts'
import type { NewWebhook } from '../../src/delivery/endpoints/contract.ts'
import type { Document } from '../../src/documents/contract.ts'
import type { SyncJob } from '../../src/downloads/contract.ts'
import worker from '../../src/index.ts'
import type { BlacklistLookup } from '../../src/lists/lookups/contract.ts'
import type { RepseStatus } from '../../src/lists/repse/contract.ts'
import type { AuditEvent } from '../../src/platform/audit/contract.ts'
import { watchAuthority } from '../authority/support/authority.ts'
import { listOf } from '../lists/support/list-csv.ts'
import { api, basic, type Caller, type Reply, request } from '../support/client.ts'
import { at } from '../support/clock.ts'
import { daily } from '../support/crons.ts'

/**
 * What the service promises, in order. Each test begins where the one before it ended.
 *
 * `api(caller, method, path, json)` sends a request with the credential of the caller, and checks the answer against the shape that the
 * OpenAPI document declares. Four things around the service are simulated: the tax authority and the REPSE registry by their sandboxes,
 * the clock, and the server that receives webhooks.
 */

const RFC = 'EKU9003173C9'
const ENTITIES = '/v1/fiscal-entities'

/** An accounting firm, which connects the RFC first. */
let firm: Caller
/** A bank, which connects the same RFC later. */
let bank: Caller
/** The fiscal entity of each organization, which has an id of its own. */
let firmEntity = ''
let bankEntity = ''
const entityOf = (caller: Caller): string => (caller === bank ? bankEntity : firmEntity)

/** Every download from the tax authority, as `source month`. */
const downloads: string[] = []
/** Every request that was sent to a webhook. */
const received: { url: string; headers: Headers; body: Buffer }[] = []

beforeAll(() => {
  // Noon of 20 March 2026 in Mexico City.
  at('2026-03-20T18:00:00Z')
  watchAuthority((_, source, month) => downloads.push(`${source} ${month}`.trim()))
  vi.spyOn(env.EGRESS, 'fetch').mockImplementation(async (url, init) => {
    const sent = new Request(url as string, init as RequestInit)
    received.push({ url: sent.url, headers: sent.headers, body: Buffer.from(await sent.arrayBuffer()) })
    return new Response('Thank you.')
  })
})

afterAll(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Runs a cron. The platform does so every minute, every quarter of an hour, and every day. */
const cron = async (expression: '* * * * *' | '*/15 * * * *' | '0 10 * * *'): Promise<unknown> =>
  expression === '0 10 * * *' ? daily() : worker.scheduled(createScheduledController({ cron: expression, scheduledTime: new Date() }), env)

/**
 * Repeats a GET until its answer is the wanted one, as a customer does who waits. The clock of the service stands still meanwhile, except
 * when it takes long: then something waits for its next attempt, which the cron of every minute makes.
 */
async function eventually<Body>(caller: Caller, path: string, isWanted: (body: Body) => boolean): Promise<Body> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const { body } = await api(caller, 'GET', path)
    if (isWanted(body)) return body
    await scheduler.wait(50)
    if (attempt % 100 !== 99) continue
    at(new Date(Date.now() + 60_000).toISOString())
    await cron('* * * * *')
  }
  throw new Error(`${path} did not give the wanted answer.`)
}

/** Waits until no download of the RFC is queued or running. */
const synced = (caller: Caller): Promise<SyncStatus> =>
  eventually<SyncStatus>(caller, `${ENTITIES}/${entityOf(caller)}/sync`, ({ status, jobs }) => status === 'idle' && jobs.total > 0)

/** Reads a list to its end, page by page. */
async function everyItem<Item>(caller: Caller, path: string): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await api(caller, 'GET', `${path}${path.includes('?') ? '&' : '?'}limit=100${cursor && `&cursor=${cursor}`}`)
    items.push(...body.data)
    cursor = body.next_cursor
  }
  return items
}

const cfdisOf = (caller: Caller, filter = ''): Promise<Cfdi[]> =>
  everyItem<Cfdi>(caller, `/v1/cfdi?fiscal_entity_id=${entityOf(caller)}${filter}`)

const uuidsOf = (cfdis: readonly Cfdi[]): string[] => cfdis.map(({ uuid }) => uuid)

/** Millionths of an amount. Money is text, and is added up in integers. */
const micros = (amount: string | null): bigint => {
  const [whole, fraction = ''] = (amount ?? '0').split('.')
  return BigInt(whole + fraction.padEnd(6, '0'))
}

const sum = (amounts: readonly (string | null)[]): bigint => amounts.reduce((total, amount) => total + micros(amount), 0n)

/** Signing up needs no credential. Its answer shows the first one. */
const signUp = (organization_name: string, email: string) =>
  request('POST', '/v1/auth/signup', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ organization_name, name: 'Ada', email }),
  }) as Promise<Reply<Signup>>

it('an organization signs up and gets a credential, a trial and two extractors', async () => {
  const { status, body } = await signUp('Despacho Uno', 'ada@example.com')
  expect(status).toBe(201)
  expect(body.organization).toMatchObject({ name: 'Despacho Uno', timezone: 'America/Mexico_City' })
  expect(body.member).toMatchObject({ email: 'ada@example.com', role: 'owner' })
  firm = body.credential

  const plan = await api(firm, 'GET', '/v1/billing/plan')
  expect(plan.body).toMatchObject({ plan: 'diagnostic', limits: { extractors: 2, rfcs: 1 }, trial_ends_at: '2026-03-27T06:00:00.000Z' })

  const { body: extractors } = await api(firm, 'GET', '/v1/extractors')
  expect(
    extractors.map(({ name, trigger_kind, schedule_kind, scope_months, next_run_at }: Extractor) => [
      ...[name, trigger_kind, schedule_kind, scope_months, next_run_at],
    ]),
  ).toEqual([
    ['Alta de RFC', 'connection_created', null, 36, null],
    // The second one runs at midnight in Mexico City.
    ['Diario', 'schedule', 'daily', 3, '2026-03-21T06:00:00.000Z'],
  ])

  // Nothing is shown without a credential or with a wrong secret.
  expect((await request('GET', '/v1/extractors')).status).toBe(401)
  expect((await api({ ...firm, api_secret: bad(firm.api_secret) }, 'GET', '/v1/extractors')).status).toBe(401)
})

const bad = (secret: string): string => secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')

it('an extractor says what to download and how far back', async () => {
  // The test helpers stand for what happens outside of the API. Here the firm buys a plan.
  await api(firm, 'POST', '/v1/test-helpers/organization', { plan: 'api' })
  const { body: extractors } = await api(firm, 'GET', '/v1/extractors')
  for (const { extractor_id } of extractors) {
    const { status, body } = await api(firm, 'PATCH', `/v1/extractors/${extractor_id}`, {
      scope_months: 2,
      data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf'],
    })
    expect(status).toBe(200)
    // One source is mandatory and is added.
    expect(body.data_source_keys).toEqual(['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf', 'sat_miinformacion'])
  }
  // Changing an extractor downloads nothing.
  expect(downloads).toEqual([])
})

it('an RFC is connected with a CIEC that the tax authority accepts', async () => {
  const refused = await api(firm, 'POST', ENTITIES, { rfc: RFC, ciec: 'rejected1' })
  expect([refused.status, refused.body.code]).toEqual([422, 'fiscal_entity.ciec_rejected'])

  const { status, body } = await api(firm, 'POST', ENTITIES, { rfc: RFC, ciec: 'secreta1', name: 'Escuela Kemper Urgate' })
  expect(status).toBe(201)
  expect(body).toMatchObject({ rfc: RFC, status: 'active', ciec_set: true })
  // The CIEC itself is never shown.
  expect(JSON.stringify(body)).not.toContain('secreta1')
  firmEntity = body.fiscal_entity_id
})

it('each calendar month of each source is downloaded once', async () => {
  const { percent, jobs } = await synced(firm)
  expect([percent, jobs]).toEqual([100, { queued: 0, running: 0, waiting: 0, succeeded: 8, failed: 0, total: 8 }])
  // Two months of 30 days reach from 20 March back to 19 January. Both extractors wanted them.
  expect(downloads.sort()).toEqual([
    ...['sat_cfdi_issued 2026-01', 'sat_cfdi_issued 2026-02', 'sat_cfdi_issued 2026-03'],
    ...['sat_cfdi_received 2026-01', 'sat_cfdi_received 2026-02', 'sat_cfdi_received 2026-03'],
    ...['sat_csf', 'sat_miinformacion'],
  ])
  const all = await everyItem<SyncJob>(firm, `${ENTITIES}/${firmEntity}/sync-jobs`)
  expect(all.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(Array(8).fill('succeeded 1'))

  // Each extractor lists its runs.
  for (const { extractor_id } of (await api(firm, 'GET', '/v1/extractors')).body) {
    const { body } = await api(firm, 'GET', `/v1/extractors/${extractor_id}/runs`)
    expect(body.data).toEqual([expect.objectContaining({ trigger: 'connection_created', fiscal_entity_id: firmEntity, connections: 1 })])
  }
})

it('CFDIs are read page by page, one by one, and as the XML that was downloaded', async () => {
  const cfdis = await cfdisOf(firm)
  expect(cfdis.length).toBeGreaterThan(100)
  expect(new Set(uuidsOf(cfdis)).size).toBe(cfdis.length)
  // The window begins with a day, its floor, and ends with an instant, its ceiling.
  const { body: connection } = await api(firm, 'GET', `${ENTITIES}/${firmEntity}`)
  expect([connection.visible_from, connection.visible_to]).toEqual(['2026-01-19', '2026-03-20T18:00:00.000Z'])
  for (const { fecha, direction, emisor_rfc, receptor_rfc } of cfdis) {
    expect(direction === 'issued' ? emisor_rfc : receptor_rfc).toBe(RFC)
    expect([fecha, fecha >= '2026-01-19' && fecha <= '2026-03-20T12:00:00']).toEqual([fecha, true])
  }

  const invoices = await cfdisOf(firm, '&direction=issued&tipo_comprobante=I&issued_from=2026-02-01&issued_to=2026-02-28')
  expect(uuidsOf(invoices)).toEqual(
    uuidsOf(cfdis.filter((one) => one.direction === 'issued' && one.tipo_comprobante === 'I' && one.fecha.startsWith('2026-02'))),
  )
  const { uuid, total, has_xml } = invoices[0]!
  expect(has_xml).toBe(true)
  const { body: detail } = await api(firm, 'GET', `/v1/cfdi/${uuid}?fiscal_entity_id=${firmEntity}`)
  expect(detail).toMatchObject({ uuid, total })
  const { body: xml } = await api(firm, 'GET', `/v1/cfdi/${uuid}/xml?fiscal_entity_id=${firmEntity}`)
  expect([xml.includes(`UUID="${uuid}"`), xml.includes(`Total="${total}"`)]).toEqual([true, true])
})

it('other tax documents are files', async () => {
  const documents = await everyItem<Document>(firm, `${ENTITIES}/${firmEntity}/documents`)
  expect(documents.map(({ data_source_key }) => data_source_key).sort()).toEqual(['sat_csf', 'sat_miinformacion'])
  const { document_id } = documents.find(({ data_source_key }) => data_source_key === 'sat_csf')!
  const { status, headers } = await api(firm, 'GET', `${ENTITIES}/${firmEntity}/documents/${document_id}/content`)
  expect([status, headers.get('content-type')]).toEqual([200, 'application/pdf'])
})

it('months are summed, and each sum leads to its documents', async () => {
  const cfdis = await cfdisOf(firm)
  const { body } = await api(firm, 'GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${firmEntity}&from=2026-01&to=2026-03`)
  const { data, data_quality, windows, window_state }: MonthlySummary = body
  const reached = { visible_from: '2026-01-19', visible_to: '2026-03-20T18:00:00.000Z' }
  expect([windows, window_state]).toEqual([{ sat_cfdi_issued: reached, sat_cfdi_received: reached }, 'bounded'])
  expect(data).toHaveLength(6)
  for (const { month, direction, count, cancelled_count, total, is_partial, drilldown } of data) {
    const ofMonth = cfdis.filter((one) => one.kind === 'cfdi' && one.fecha.startsWith(month) && one.direction === direction)
    const valid = ofMonth.filter(({ estatus }) => estatus === 'vigente')
    const counted = valid.filter(({ is_substituted }) => !is_substituted)
    expect([count, cancelled_count]).toEqual([counted.length, ofMonth.length - valid.length])
    expect(uuidsOf(await everyItem<Cfdi>(firm, drilldown)).sort()).toEqual(uuidsOf(counted).sort())
    // A total has two decimals and a rate four: a sum is rounded once, and not each of its documents.
    const invoices = counted.filter(({ tipo_comprobante }) => tipo_comprobante === 'I')
    const exact = invoices.reduce((all, one) => all + (micros(one.total) * micros(one.tipo_cambio ?? '1')) / 1_000_000n, 0n)
    expect(micros(total)).toBe(((exact + 5_000n) / 10_000n) * 10_000n)
    // The floor cuts January, and March is not over.
    expect([month, is_partial]).toEqual([month, month !== '2026-02'])
  }
  // Each month was downloaded completely, so that zeros are zeros.
  expect(new Set(data.map(({ data_status }) => data_status))).toEqual(new Set(['complete']))
  expect(data_quality).toMatchObject({ months_missing: 0, months_downloading: 0 })
})

it('payments are listed, and what they leave is the balance', async () => {
  const paid = await cfdisOf(firm, '&metodo_pago=PPD&payment_status=paid,partially_paid')
  expect(paid.length).toBeGreaterThan(3)
  for (const { uuid, total, paid_amount, credited_amount, balance, payment_status } of paid) {
    const { data }: CfdiPayments = (await api(firm, 'GET', `/v1/cfdi/${uuid}/payments?fiscal_entity_id=${firmEntity}`)).body
    const applied = data.filter(({ counts }) => counts).map(({ amount }) => amount)
    expect(sum(applied)).toBe(micros(paid_amount) + micros(credited_amount))
    expect(micros(balance)).toBe(micros(total) - sum(applied))
    expect(payment_status).toBe(micros(balance) === 0n ? 'paid' : 'partially_paid')
  }
})

it('a second organization connects the same RFC, and nothing is downloaded again', async () => {
  bank = (await signUp('Banco Dos', 'bea@example.com')).body.credential
  const [onConnecting, daily] = (await api(bank, 'GET', '/v1/extractors')).body as [Extractor, Extractor]
  await api(bank, 'DELETE', `/v1/extractors/${onConnecting.extractor_id}`)
  await api(bank, 'PATCH', `/v1/extractors/${daily.extractor_id}`, {
    scope_months: 1,
    data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'],
  })

  const before = downloads.length
  const { status, body } = await api(bank, 'POST', ENTITIES, { rfc: RFC, ciec: 'secreta2' })
  expect(status).toBe(201)
  bankEntity = body.fiscal_entity_id
  expect(bankEntity).not.toBe(firmEntity)
  // Its run joined what had been downloaded for the firm: two months of two sources, and the mandatory source.
  expect((await synced(bank)).jobs).toMatchObject({ succeeded: 5, total: 5 })
  expect(downloads.slice(before)).toEqual([])
})

it('each organization sees what its own window shows', async () => {
  const [ofFirm, ofBank] = [await cfdisOf(firm), await cfdisOf(bank)]
  const { body: connection } = await api(bank, 'GET', `${ENTITIES}/${bankEntity}`)
  expect([connection.visible_from, connection.visible_to]).toEqual(['2026-02-18', '2026-03-20T18:00:00.000Z'])
  expect(uuidsOf(ofBank)).toEqual(uuidsOf(ofFirm.filter(({ fecha }) => fecha >= '2026-02-18')))

  // A document outside of the window answers as if it did not exist.
  const older = ofFirm.find(({ fecha }) => fecha < '2026-02-18')!
  for (const path of ['', '/xml', '/payments']) {
    const { status, body } = await api(bank, 'GET', `/v1/cfdi/${older.uuid}${path}?fiscal_entity_id=${bankEntity}`)
    expect([path, status, body.code]).toEqual([path, 404, 'cfdi.not_found'])
  }
  // The months of the bank begin with its floor.
  const { body } = await api(bank, 'GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${bankEntity}&from=2026-01&to=2026-03`)
  expect([...new Set((body as MonthlySummary).data.map(({ month }) => month))]).toEqual(['2026-02', '2026-03'])
})

it('the daily extractors of both run at midnight, and each month is downloaded once', async () => {
  downloads.length = 0
  at('2026-03-21T06:00:00Z')
  await cron('*/15 * * * *')
  for (const caller of [firm, bank]) {
    const { body: extractors } = await api(caller, 'GET', '/v1/extractors')
    const { extractor_id } = extractors.find(({ schedule_kind }: Extractor) => schedule_kind === 'daily')
    const isOfTonight = ({ trigger, local_date, status }: Run) => `${trigger} ${local_date} ${status}` === 'schedule 2026-03-21 dispatched'
    await eventually<{ data: Run[] }>(caller, `/v1/extractors/${extractor_id}/runs`, (runs) => runs.data.some(isOfTonight))
  }
  // The downloads of a night are spread over hours. The cron of every minute starts those that are due.
  at('2026-03-21T10:00:00Z')
  await cron('* * * * *')
  for (const caller of [firm, bank]) await synced(caller)
  expect(new Set(downloads).size).toBe(downloads.length)
  expect(downloads.filter((one) => one.endsWith('2026-03')).sort()).toEqual(['sat_cfdi_issued 2026-03', 'sat_cfdi_received 2026-03'])

  // Both windows now end at midnight. A run widens a window and never narrows it.
  for (const [caller, floor] of [[firm, '2026-01-19'] as const, [bank, '2026-02-18'] as const]) {
    const { body } = await api(caller, 'GET', `${ENTITIES}/${entityOf(caller)}`)
    expect([body.visible_from, body.visible_to]).toEqual([floor, '2026-03-21T06:00:00.000Z'])
  }
})

it('what one organization downloads later, the other sees after a run of its own', async () => {
  at('2026-03-24T18:00:00Z')
  const runOf = async (caller: Caller) => {
    const [{ extractor_id }] = (await api(caller, 'GET', '/v1/extractors')).body
    const { body } = await api(caller, 'POST', `/v1/extractors/${extractor_id}/run`)
    await synced(caller)
    return body
  }
  const isNew = ({ fecha }: Cfdi) => fecha > '2026-03-21T00:00:00'
  expect(await runOf(firm)).toMatchObject({ status: 'dispatched', connections: 1, dispatched: 1 })
  expect((await cfdisOf(firm)).some(isNew)).toBe(true)
  expect((await cfdisOf(bank)).some(isNew)).toBe(false)
  await runOf(bank)
  expect(uuidsOf((await cfdisOf(bank)).filter(isNew))).toEqual(uuidsOf((await cfdisOf(firm)).filter(isNew)))
})

let webhook: NewWebhook

it('a webhook is registered, and its signing secret is shown once', async () => {
  const draft = { name: 'Risk', url: 'https://hooks.example.com/fiscal', event_keys: ['cfdi.cancelled'] }
  const { status, body } = await api(bank, 'POST', '/v1/webhooks', draft)
  expect([status, body.signing_secret]).toEqual([201, expect.stringMatching(/^whsec_/)])
  webhook = body
  expect((await api(bank, 'GET', `/v1/webhooks/${webhook.webhook_id}`)).body).not.toHaveProperty('signing_secret')
  // A URL inside of a network is refused.
  const inside = await api(bank, 'POST', '/v1/webhooks', { ...draft, url: 'https://192.168.0.1/' })
  expect([inside.status, inside.body.errors[0].path]).toEqual([422, 'url'])
})

it('a cancelled CFDI becomes an event and a signed delivery', async () => {
  const { uuid, total } = (await cfdisOf(bank, '&direction=received&estatus=vigente'))[0]!
  await api(bank, 'POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id: bankEntity, cancellation_reason: '02' })
  // The next download finds the cancellation.
  at('2026-03-25T18:00:00Z')
  const [{ extractor_id }] = (await api(bank, 'GET', '/v1/extractors')).body
  await api(bank, 'POST', `/v1/extractors/${extractor_id}/run`)
  await synced(bank)

  // Every organization whose window shows the document gets an event of its own.
  const eventOf = async (caller: Caller) => {
    const isAbout = ({ cfdi_uuid }: { cfdi_uuid: string }) => cfdi_uuid === uuid
    const feed = await eventually<{ data: { cfdi_uuid: string; event_id: string }[] }>(
      caller,
      '/v1/events?event_key=cfdi.cancelled&limit=100',
      ({ data }) => data.some(isAbout),
    )
    return feed.data.find(isAbout)!
  }
  const [ofFirm, ofBank] = [await eventOf(firm), await eventOf(bank)]
  expect(ofFirm.event_id).not.toBe(ofBank.event_id)
  for (const [caller, event] of [[firm, ofFirm] as const, [bank, ofBank] as const]) {
    expect(event).toMatchObject({ event: 'cfdi.cancelled', rfc: RFC, total, cancellation_reason: '02' })
    const { body } = await api(caller, 'GET', `/v1/cfdi/${uuid}?fiscal_entity_id=${entityOf(caller)}`)
    expect([body.estatus, body.cancellation_reason]).toEqual(['cancelado', '02'])
  }

  const log = `/v1/webhooks/${webhook.webhook_id}/deliveries?limit=100`
  const { data } = await eventually<{ data: Delivery[] }>(bank, log, ({ data }) => data.every(({ status }) => status === 'delivered'))
  const { attempts } = data.find(({ event_id }) => event_id === ofBank.event_id)!
  expect(attempts).toEqual([expect.objectContaining({ attempt: 1, status_code: 200, response_body: 'Thank you.' })])

  const sent = received.filter(({ headers }) => headers.get('service-delivery-id') === ofBank.event_id)
  expect(sent.map(({ url }) => url)).toEqual(['https://hooks.example.com/fiscal'])
  const { headers, body } = sent[0]!
  expect(JSON.parse(body.toString())).toEqual(ofBank)
  // isSigned is the snippet of docs/webhooks.md.
  const signature = headers.get('service-signature')
  expect(isSigned(body, signature, webhook.signing_secret)).toBe(true)
  expect(isSigned(Buffer.from(body.toString().replace(total!, '0.01')), signature, webhook.signing_secret)).toBe(false)
  expect(isSigned(body, signature, bad(webhook.signing_secret))).toBe(false)
})

it('an organization imports a file of its own, and nobody else sees it', async () => {
  // The file is a document of 2019, which no window shows.
  const [{ uuid } = { uuid: '' }] = await cfdisOf(firm)
  const { body: xml } = await api(firm, 'GET', `/v1/cfdi/${uuid}/xml?fiscal_entity_id=${firmEntity}`)
  const own = '01234567-89AB-4DEF-8123-456789ABCDEF'
  const file = xml.replaceAll(uuid, own).replace(/ Fecha="[^"]*"/, ' Fecha="2019-05-17T10:20:30"')
  const upload = () =>
    request('POST', `${ENTITIES}/${firmEntity}/cfdi/imports`, {
      headers: { authorization: basic(firm), 'content-type': 'application/xml', 'idempotency-key': 'import-1' },
      body: file,
    }) as Promise<Reply<Import>>
  const { status, body } = await upload()
  expect(status).toBe(202)
  // The same request with the same Idempotency-Key gets the same answer.
  expect((await upload()).body).toEqual(body)

  const isDone = (one: Import) => one.status === 'completed'
  const done = await eventually<Import>(firm, `${ENTITIES}/${firmEntity}/cfdi/imports/${body.import_id}`, isDone)
  expect(done.counts).toEqual({ created: 1, updated: 0, unchanged: 0, rejected: 0 })
  const imported = await api(firm, 'GET', `/v1/cfdi/${own}?fiscal_entity_id=${firmEntity}`)
  expect(imported.body).toMatchObject({ fecha: '2019-05-17T10:20:30', origin: 'import' })
  expect((await api(bank, 'GET', `/v1/cfdi/${own}?fiscal_entity_id=${bankEntity}`)).status).toBe(404)
})

it('a registration in REPSE is looked up', async () => {
  await api(firm, 'POST', '/v1/test-helpers/repse', { rfc: RFC, is_registered: true, folio: '48213', vigencia_hasta: '2027-03-01' })
  // The registry is slow: the first answer says that it is being asked.
  const first = await api(firm, 'GET', `${ENTITIES}/${firmEntity}/repse`)
  expect([first.status, first.body.status]).toEqual([202, 'checking'])
  const status = await eventually<RepseStatus>(firm, `${ENTITIES}/${firmEntity}/repse`, ({ folio }) => folio === '48213')
  expect(status).toMatchObject({ rfc: RFC, is_registered: true, is_expired: false, vigencia_hasta: '2027-03-01', days_to_expiry: 341 })
})

it('a supplier is looked up on the list of article 69-B', async () => {
  const [{ emisor_rfc: supplier } = { emisor_rfc: '' }] = await cfdisOf(firm, '&direction=received&tipo_comprobante=I')
  // An operator puts the authority's file into the bucket, and the daily cron loads it.
  const listed = { rfc: supplier, situacion: 'Definitivo', presunto: '01/06/2018|25/06/2018', definitivo: '28/09/2018|23/10/2018' }
  await env.FILES.put('lists/sat_69b.csv', listOf([listed], '15 de marzo de 2026'))
  await cron('0 10 * * *')

  const pathOf = (query: string) => `/v1/blacklists/lookup?rfc=${query}`
  const lookUp = async (query: string) => (await api(firm, 'GET', pathOf(query))).body
  expect(await eventually<BlacklistLookup>(firm, pathOf(supplier), ({ is_listed }) => is_listed === true)).toMatchObject({
    hits: [{ source: 'sat_69b', situacion: 'definitivo', since: '2018-06-01' }],
    checked_sources: expect.arrayContaining([expect.objectContaining({ source: 'sat_69b', list_updated_at: '2026-03-15' })]),
  })
  // Its CFDIs say so too.
  type Rows = { data: { counterparty: { rfc: string; blacklist: object | null } }[] }
  const rows = await eventually<Rows>(
    firm,
    `/v1/cfdi?fiscal_entity_id=${firmEntity}&blacklist=definitivo`,
    ({ data }) => data[0]?.counterparty.rfc === supplier,
  )
  expect(rows.data[0]!.counterparty.blacklist).toEqual({ source: 'sat_69b', situacion: 'definitivo' })
  // The list can be asked about any day.
  expect(await lookUp(`${supplier}&as_of=2018-05-31`)).toMatchObject({ is_listed: false, hits: [] })
  expect(await lookUp(RFC)).toMatchObject({ is_listed: false, hits: [] })
})

it('an overdue invoice pauses the connections, and paying it resumes them', async () => {
  const { body: invoice } = await api(firm, 'POST', '/v1/test-helpers/invoices', { due_date: '2026-03-20' })
  // The grace of three days is over.
  await cron('*/15 * * * *')
  expect((await api(firm, 'GET', '/v1/billing')).body).toMatchObject({ state: 'suspended', open_invoices: 1 })
  expect((await api(firm, 'GET', `${ENTITIES}/${firmEntity}`)).body.status).toBe('paused')
  const refused = await api(firm, 'POST', ENTITIES, { rfc: 'URE180429TM6', ciec: 'secreta1' })
  expect([refused.status, refused.body.code]).toEqual([402, 'billing.overdue'])
  // What was downloaded stays readable, and the bank is not affected.
  expect((await cfdisOf(firm)).length).toBeGreaterThan(100)
  expect((await api(bank, 'GET', `${ENTITIES}/${bankEntity}`)).body.status).toBe('active')

  await api(firm, 'POST', `/v1/test-helpers/invoices/${invoice.invoice_id}/pay`)
  expect((await api(firm, 'GET', '/v1/billing')).body).toMatchObject({ state: 'active', open_invoices: 0 })
  expect((await api(firm, 'GET', `${ENTITIES}/${firmEntity}`)).body.status).toBe('active')
})

it('an organization unlinks the RFC, and finds its window again when it returns', async () => {
  await synced(firm)
  const { body: before } = await api(firm, 'GET', `${ENTITIES}/${firmEntity}`)
  const seen = uuidsOf(await cfdisOf(firm))
  expect((await api(firm, 'DELETE', `${ENTITIES}/${firmEntity}`)).status).toBe(204)
  for (const path of [
    `${ENTITIES}/${firmEntity}`,
    `/v1/cfdi?fiscal_entity_id=${firmEntity}`,
    `/v1/cfdi/summary/monthly?fiscal_entity_id=${firmEntity}`,
  ])
    expect([path, (await api(firm, 'GET', path)).status]).toEqual([path, 404])
  expect((await cfdisOf(bank)).length).toBeGreaterThan(0)

  // Without a CIEC the connection is a draft: it has its window, and shows nothing yet.
  const { status, body: draft } = await api(firm, 'POST', ENTITIES, { rfc: RFC })
  expect([status, draft.status, draft.fiscal_entity_id]).toEqual([201, 'draft', firmEntity])
  expect([draft.visible_from, draft.visible_to]).toEqual([before.visible_from, before.visible_to])
  const hidden = await api(firm, 'GET', `/v1/cfdi?fiscal_entity_id=${firmEntity}`)
  expect([hidden.status, hidden.body.code]).toEqual([404, 'fiscal_entity.not_active'])
  const { body: active } = await api(firm, 'PATCH', `${ENTITIES}/${firmEntity}`, { ciec: 'secreta3' })
  expect(active).toMatchObject({ status: 'active', visible_from: before.visible_from })
  expect(uuidsOf(await cfdisOf(firm))).toEqual(expect.arrayContaining(seen))
})

it('the audit log says who did what, and holds no secret', async () => {
  const events = await everyItem<AuditEvent>(firm, '/v1/audit-events')
  expect(new Set(events.map(({ action }) => action).filter((action) => !action.startsWith('test_helper.')))).toEqual(
    new Set([
      ...['organization.created', 'organization.suspended', 'organization.reactivated'],
      ...['extractor.updated', 'extractor.run', 'import.created'],
      ...['fiscal_entity.connected', 'fiscal_entity.unlinked', 'fiscal_entity.updated', 'fiscal_entity.ciec_refused'],
    ]),
  )
  expect(JSON.stringify(events)).not.toMatch(/secreta|whsec_|fds_test_secret/)
})
