import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import { DAILY } from '../../../src/app/schedule.ts'
import type { TASKS } from '../../../src/app/tasks.ts'
import { WORK } from '../../../src/app/work.ts'
import * as adapters from '../../../src/authority/adapters.ts'
import type { Package } from '../../../src/authority/port/authority.ts'
import type { MailboxNotification } from '../../../src/authority/port/mailbox.ts'
import { runMessages } from '../../../src/connections/extractors/runs/dispatch.ts'
import { sealCredentials } from '../../../src/copies/connector.ts'
import { LIMITS } from '../../../src/copies/exports/making/output.ts'
import { workOnExport } from '../../../src/copies/exports/making/work.ts'
import { newSecret, wrapDigests } from '../../../src/delivery/endpoints/endpoints.ts'
import { sweepConversations } from '../../../src/downloads/conversation/converse.ts'
import { loadList } from '../../../src/lists/loading/load.ts'
import { alertStatements } from '../../../src/platform/alerts/alerts.ts'
import type { System } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { insertOutboxEvents } from '../../../src/platform/outbox/outbox.ts'
import { settingsOf } from '../../../src/platform/settings.ts'
import { dayOfEpoch } from '../../../src/platform/time/calendar.ts'
import { type LoginHolder, sealLogin } from '../../../src/taxpayers/login.ts'
import { delivering, packed } from '../../authority/support/packages.ts'
import { packageOf, plainOf } from '../../cfdi/support/documents.ts'
import { created, draft, EXTRACTORS } from '../../connections/extractors/support/extractors.ts'
import { reviewLoad, storageLoad } from '../../copies/support/loads.ts'
import { cfdiOf, subscriber } from '../../downloads/support/downloads.ts'
import { type Listed, listOf, manyRows } from '../../lists/support/list-csv.ts'
import { forgetLists, systemAt } from '../../lists/support/lists.ts'
import { at } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import type { Platform } from '../../support/invocations.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { efirmaLogin } from '../../taxpayers/support/efirmas.ts'
import { countOf, idSql, multiply } from './rows.ts'

/** Full loads, each far more than one invocation may do, and what must have become of them in the end. */
export type Load = (platform: Platform) => Promise<void>

const random = randomOf(1_214)
const utf8 = new TextEncoder()
const DAY_MS = 86_400_000

const entityOf = (rfc: string) =>
  env.DB.prepare('select shard, entity from fiscal_entities where rfc = ?').bind(rfc).first<{ shard: number; entity: number }>()

/** An organization with so many active connections to RFCs that nobody has downloaded. */
async function manyConnections(count: number, extractor: object) {
  const of = await organization('enterprise_gold')
  const { extractor_id } = await created(of, { ...draft, trigger_kind: 'connection_reactivated', ...extractor })
  await connect(of.owner, freshRfc(), { ciec: 'empty' })
  await multiply('connections', count - 1, {
    connection: 'null',
    fiscal_entity_id: idSql('fe'),
    entity: '1000000 + n.i',
    rfc: `'RFC' || n.i`,
  })
  return { ...of, extractor_id }
}

const activeRfcs = async () =>
  (await env.DB.prepare("select count(distinct entity) as n from connections where state = 'active'").first<{ n: number }>())!.n

/** The month of a busy taxpayer: packages of a few documents, each of which is a slice. */
const packages = (rfc: string, count: number): Package[] =>
  Array.from({ length: count }, () => packed('xml', packageOf([1, 2].map(() => plainOf(random, '2026-05', { emisor: rfc })))))

function deliverPackages(all: readonly Package[]): void {
  const real = adapters.authorityOf
  vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => ({
    ...(await real(system)),
    step: async (request) => delivering(request, deliver()),
  }))
  async function* deliver() {
    yield* all
  }
}

const metadataOf = (rfc: string, count: number): Uint8Array => {
  const columns =
    'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion'
  const rows = Array.from({ length: count }, (_, n) => {
    const uuid = `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`.toUpperCase()
    return `${uuid}~${rfc}~A~BBB020202BB1~B~SPR190613I52~2026-05-10 12:00:00~2026-05-10 12:00:05~100.00~I~1~`
  })
  return utf8.encode([columns, ...rows].join('\r\n'))
}

/** An organization that acknowledged so many notifications of an RFC. */
async function manyNotifications(rfc: string, count: number) {
  const [row] = (await env.DB.prepare('select * from connections where rfc = ?').bind(rfc).all<Connected>()).results
  const { organization_id, entity, shard } = row!
  const notification: MailboxNotification = {
    ...{ notification: 'n0', kind: 'requerimiento', title: 'Requerimiento', authority: 'SAT', document_number: null },
    ...{ sent_at: new Date(), opened_at: null, document_kind: 'oficio' },
  }
  await commit(env.DB, [
    env.DB.prepare("insert into sandbox_notifications values (?, 'n0', ?, null)").bind(rfc, JSON.stringify(notification)),
    env.DB.prepare(
      `insert into mailbox_requests
       select organization_id, ?2, 0, 'n0', ?3, 'ntf', api_key, 0, 0, null, 0 from credentials where organization_id = ?1 and role = 'owner' limit 1`,
    ).bind(organization_id, entity, shard),
  ])
  const n = "'n' || n.i"
  await multiply('sandbox_notifications', count - 1, { notification: n, sent: `json_set(t.j->>'$.sent', '$.notification', ${n})` })
  await multiply('mailbox_requests', count - 1, { notification: n })
  return { organization_id, entity }
}
interface Connected {
  organization_id: string
  entity: number
  shard: number
}

export const CONSUMER_LOADS: Record<string, Load> = {
  /** The story of the issue: five RFCs with many months each, in one batch. */
  async downloads(platform) {
    const rfcs = [1, 2, 3, 4, 5].map(() => freshRfc())
    const calls = []
    for (const rfc of rfcs) {
      const one = await subscriber(rfc, cfdiOf(6))
      await one.run()
      calls.push(await entityOf(rfc))
    }
    const mailbox = await manyNotifications(rfcs[0]!, 50)
    await platform.deliver('downloads', [...calls, { mailbox }])
    await platform.run(['downloads'])
    expect(await countOf('mailbox_requests')).toBe(0)
    expect(await countOf('sandbox_notifications', 'opened_at is not null')).toBe(50)
    expect(await countOf('sync_jobs', "status <> 'succeeded' or attempts <> 1", env.LEDGER_0)).toBe(0)
    expect(await countOf('sync_jobs', '1', env.LEDGER_0)).toBeGreaterThan(5 * 12)
  },

  /** A month with more slices than an invocation can ingest. */
  async 'downloads-spread'(platform) {
    const rfc = freshRfc()
    const one = await subscriber(rfc, cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] }))
    deliverPackages(packages(rfc, 110))
    await one.run()
    const { entity, shard } = (await entityOf(rfc))!
    await platform.deliver('downloads-spread', [{ shard, entity }])
    await platform.run(['downloads', 'downloads-spread'])
    const { results } = await env.LEDGER_0.prepare(
      `select status, attempts, created_count, rejected_count from sync_jobs where entity = ? and month <> ''`,
    )
      .bind(entity)
      .all<Record<string, number>>()
    expect(results.map(({ status, attempts, rejected_count }) => [status, attempts, rejected_count])).toEqual(
      results.map(() => ['succeeded', 1, 0]),
    )
    expect(results.reduce((sum, { created_count }) => sum + created_count!, 0)).toBe(220)
    expect(await countOf('cfdi', `entity = ${entity}`, env.LEDGER_0)).toBe(220)
  },

  /** A tick page of thousands of extractors, runs by the message, and one run over thousands of RFCs. */
  async dispatch(platform) {
    const of = await manyConnections(4_000, { data_source_keys: ['sat_csf'] })
    const { run_id } = await plannedRun(of)
    await multiply('extractors', 1_100, {
      extractor_id: idSql('ext'),
      organization_id: `'org_' || n.i`,
      trigger_kind: `'schedule'`,
      schedule_kind: `'daily'`,
      cadence: `'daily'`,
      armed_day: `iif(n.i % 10 = 0, '2026-01-01', '2026-12-01')`,
      is_enabled: '1',
    })
    const page = { timezone: 'America/Mexico_City', day: '2026-05-20', cadence: 'daily' }
    await env.DB.prepare("insert into tick_pages values (?1, ?2, ?3, ?2, 0, '', 0)").bind(page.timezone, page.day, page.cadence).run()
    await platform.deliver('dispatch', [{ page }, ...runMessages([{ run_id }]).map(({ body }) => body)])
    await platform.run(['dispatch'])
    expect(await countOf('runs', "status = 'planned'")).toBe(0)
    expect(await countOf('runs', "local_date = '2026-05-20'")).toBe(110)
    expect(await env.DB.prepare('select connections, dispatched from runs where run_id = ?').bind(run_id).first()).toEqual({
      connections: 4_000,
      dispatched: 4_000,
    })
  },

  storage: storageLoad,

  /** The whole history of an RFC, of which an invocation reads a part of the months. */
  async reports(platform) {
    const of = await organization('enterprise_gold')
    await env.DB.prepare('update organizations set extractor_count = 0 where id = ?').bind(of.id).run()
    const rfc = freshRfc()
    const { fiscal_entity_id } = await connect(of.owner, rfc, { ciec: 'empty' })
    const { shard, entity } = (await entityOf(rfc))!
    const connection = (await env.DB.prepare('select connection from connections where fiscal_entity_id = ?')
      .bind(fiscal_entity_id)
      .first<number>('connection'))!
    const months = Array.from({ length: 200 }, (_, n) => `${2010 + Math.floor(n / 12)}-${String((n % 12) + 1).padStart(2, '0')}`)
    await commit(env.LEDGER_0, [
      env.LEDGER_0.prepare(
        "insert into cfdi_months (entity, month, direction, sums, cells) select ?1, value, 0, '{}', '{}' from json_each(?2)",
      ).bind(entity, JSON.stringify(months)),
      env.LEDGER_0.prepare(
        'insert into report_states (connection, organization_id, fiscal_entity_id, entity, due_at) values (?1, ?2, ?3, ?4, 0)',
      ).bind(connection, of.id, fiscal_entity_id, entity),
    ])
    await platform.deliver('reports', [{ shard, connection }])
    await platform.run(['reports'])
    expect(
      await countOf(
        'report_states',
        `connection = ${connection} and generated_at is not null and round is null and token is null`,
        env.LEDGER_0,
      ),
    ).toBe(1)
  },

  /** An upload of metadata with more rows than an invocation can store. */
  async imports(platform) {
    const rows = runs(30_000, 200_000)
    const of = await organization('enterprise_gold')
    const rfc = freshRfc()
    const { fiscal_entity_id } = await connect(of.owner, rfc, { ciec: 'empty' })
    const path = `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`
    const plain = plainOf(random, '2026-05', { emisor: rfc })
    const [xml] = [packageOf([plain])]
    const bytes = zipOf([
      { name: 'uno.txt', bytes: metadataOf(rfc, rows) },
      { name: 'dos.zip', bytes: xml! },
    ])
    const sent = await platform.fetch('POST import', of.owner, path, { body: bytes, type: 'application/zip' })
    expect(sent.status).toBe(202)
    const { import_id } = (await sent.json()) as { import_id: string }
    await platform.run(['imports'])
    const { body } = await of.ask('GET', `${path}/${import_id}`)
    expect(body).toMatchObject({
      status: 'completed',
      files: [{ name: 'uno.txt', status: 'created', detail: null }, { status: 'rejected' }],
    })
    expect(await countOf('cfdi', 'entity < 0', env.LEDGER_0)).toBe(rows)
  },

  /** A page of the round over RFCs that thousands have connected, and look-ups. */
  async repse(platform) {
    const of = await organization('enterprise_gold')
    const rfcs = [freshRfc(), freshRfc(), freshRfc(), freshRfc(), freshRfc(), freshRfc()]
    for (const rfc of rfcs) {
      await connect(of.owner, rfc, { ciec: 'empty' })
      await of.ask('POST', '/v1/test-helpers/repse', { rfc, is_registered: true, folio: '1', vigencia_hasta: '2026-06-01' })
      await multiply('connections', 1_000, {
        ...{ connection: 'null', organization_id: `'org_' || n.i` },
        fiscal_entity_id: `t.j->>'$.fiscal_entity_id' || n.i`,
      })
    }
    await multiply('organizations', 1_000, { id: `'org_' || n.i` })
    await env.DB.prepare("insert into repse_rounds values ('2026-05-20', ?1, 0, 0, ?1)").bind(Date.now()).run()
    await platform.deliver('repse', [{ round: '2026-05-20' }, { rfcs: rfcs.slice(0, 5) }])
    await platform.run(['repse'])
    expect(await countOf('alerts')).toBe(6 * 1_001)
  },

  /** Thousands of changes to tell, and endpoints with hundreds of deliveries that are due. */
  async webhooks(platform) {
    const of = await organization('enterprise_gold')
    const rfc = freshRfc()
    await connect(of.owner, rfc, { ciec: 'empty' })
    for (const n of [1, 2])
      await of.ask('POST', '/v1/webhooks', {
        name: `Uno ${n}`,
        url: `https://hooks${n}.example.com/`,
        event_keys: ['connection.ciec_invalid'],
      })
    const { entity } = (await entityOf(rfc))!
    const facts = Array.from({ length: 700 }, (_, n) => ({
      outbox_event_id: `connection.ciec_invalid:${n}`,
      kind: 'connection.ciec_invalid' as const,
      entity,
      organizations: [of.id],
      body: { rejected_at: new Date().toISOString(), invalid_reason: 'rejected' },
    }))
    await commit(env.DB, insertOutboxEvents(facts, 0))
    await platform.deliver('webhooks', [{ outbox: 'control' }])
    const isEnd = async () => (await countOf('events')) === 700 && (await countOf('deliveries', "status = 'pending'")) === 0
    for (let n = 0; n < 100 && !(await isEnd()); n++) {
      await platform.run(['webhooks'])
      if (!(await isEnd())) await platform.cron('* * * * *')
    }
    expect(await countOf('deliveries', "status = 'delivered'")).toBe(1_400)
  },

  /** Exports of more documents than an invocation has statements for, in pages of a few. */
  async exports(platform) {
    const of = await organization('enterprise_gold')
    const rfc = freshRfc()
    const { fiscal_entity_id } = await connect(of.owner, rfc, { ciec: 'empty' })
    const path = `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`
    const bytes = zipOf([{ name: 'uno.txt', bytes: metadataOf(rfc, 3_000) }])
    await platform.fetch('POST import', of.owner, path, { body: bytes, type: 'application/zip' })
    await platform.run(['imports'])
    const page = { cfdi: 20, conceptos: 10, pagos: 10, nominas: 10, complementos: 10, xml: 10, pdf: 10 }
    vi.spyOn(WORK['exports']!, 'handle').mockImplementation((system, message) =>
      workOnExport(system, (message as { export_id: string }).export_id, { ...LIMITS, page }),
    )
    const kinds = [
      ['cfdi', 'xlsx'],
      ['conceptos', 'csv'],
      ['xml', 'zip'],
    ] as const
    for (const [kind, format] of kinds) {
      const { body } = await of.ask('POST', '/v1/exports', { fiscal_entity_id, kind, format })
      platform.sent.push({ purpose: 'exports', body: { export_id: body.export_id } })
    }
    await platform.run(['exports'])
    expect(await countOf('exports', "status = 'ready' and documents = 3000")).toBe(3)
    expect(platform.invocations.filter((one) => one.of === 'exports').length).toBeGreaterThan(3)
  },

  async tasks(platform) {
    for (const load of Object.values(TASK_LOADS)) await load(platform)
  },

  async 'dead-letters'(platform) {
    await platform.deliver(
      'dead-letters',
      Array.from({ length: 10 }, (_, n) => ({ n })),
    )
    expect(await countOf('dead_letters')).toBe(10)
  },
}

async function plannedRun(of: { owner: Parameters<typeof connect>[0]; extractor_id: string; id: string }): Promise<{ run_id: string }> {
  await env.DB.prepare(
    `insert into runs (run_id, organization_id, extractor_id, trigger, instant, status, connections, dispatched, created_at)
     values ('run_planned', ?1, ?2, 'manual', ?3, 'planned', 0, 0, ?3)`,
  )
    .bind(of.id, of.extractor_id, Date.now())
    .run()
  return { run_id: 'run_planned' }
}

const task = (name: keyof typeof TASKS, at: number) => ({ task: name, at, cursor: '' })

/** Runs a task in as many invocations as it takes. */
async function finish(platform: Platform, name: keyof typeof TASKS, at = Date.now()): Promise<void> {
  await platform.deliver('tasks', [task(name, at)])
  await platform.run(['tasks'])
}

/** So many organizations like a new one. */
async function organizations(count: number, set: Record<string, string>): Promise<void> {
  await organization('api')
  await multiply('organizations', count, { id: idSql('org'), ...set })
}

const invoicesOf = (count: number, review_at: number | null) =>
  env.DB.prepare(
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?1)
     insert into invoices (invoice_id, organization_id, sequence, period, subtotal, tax, total, currency, status, issued_at, due_on, review_at)
     select ${idSql('inv')}, ${idSql('org')}, 1, '2026-04', '1', '0', '1', 'MXN', 'open', 0, '2026-04-01', ?2 from n`,
  )
    .bind(count, review_at)
    .run()

/** More ledgers than an invocation has statements. All are one here, so that what is left in it is found in each. */
const LEDGERS = 1_000

const bindLedgers = (platform: Platform, count = LEDGERS): void => {
  for (let n = 1; n < count; n++) Object.assign(platform.env, { [`LEDGER_${n}`]: env.LEDGER_0 })
}

/** Sweeps them, and returns the numbers of the ledgers for which messages of a queue were sent. */
async function sweptBy(platform: Platform, name: keyof typeof TASKS, queue: string): Promise<Set<unknown>> {
  at('2026-05-20T09:10:00Z')
  platform.sent.splice(0)
  await finish(platform, name)
  return new Set((platform.of(queue) as { shard?: number; outbox?: number }[]).map(({ shard, outbox }) => shard ?? outbox))
}

/** An export, and so many like it with other values. */
async function exportRows(count: number, more: Record<string, string>): Promise<void> {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id } = await connect(of.owner, freshRfc(), { ciec: 'empty' })
  const { body } = await of.ask('POST', '/v1/exports', { fiscal_entity_id, kind: 'cfdi', format: 'csv' })
  await env.DB.prepare("update exports set status = 'ready', expires_at = 1 where export_id = ?").bind(body.export_id).run()
  await multiply('exports', count, { export_id: idSql('exp'), ...more })
}

export const TASK_LOADS: Record<keyof typeof TASKS, Load> = {
  async sweepJobs(platform) {
    bindLedgers(platform)
    const one = await subscriber(freshRfc(), cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] }))
    await one.run()
    expect(await sweptBy(platform, 'sweepJobs', 'downloads')).toHaveProperty('size', LEDGERS)
  },

  async sweepConversations(platform) {
    Object.assign(platform.env, { TAX_AUTHORITY: 'sat' })
    bindLedgers(platform)
    await env.LEDGER_0.prepare('insert into authority_conversations (entity, due_at) values (1, 1)').run()
    expect(await sweptBy(platform, 'sweepConversations', 'downloads-spread')).toHaveProperty('size', LEDGERS)
    // Of one ledger a thousand are announced at once, and the others a minute later.
    platform.sent.splice(0)
    await env.LEDGER_0.prepare(
      `with recursive n (i) as (select 2 union all select i + 1 from n where i < 1500)
       insert into authority_conversations (entity, due_at) select i, 1 from n`,
    ).run()
    await platform.measure('sweepConversations', async () => {
      const system = systemAt(new Date(Date.now()).toISOString())
      await sweepConversations(
        { ...system, settings: { ...system.settings, taxAuthority: 'sat', ledgers: [system.settings.ledgers[0]!] }, env: platform.env },
        '',
      )
    })
    expect(platform.of('downloads-spread')).toHaveLength(1_000)
  },

  async expireExports(platform) {
    await exportRows(700, { status: "'ready'", expires_at: 'n.i' })
    await finish(platform, 'expireExports')
    expect(await countOf('exports', "status = 'expired'")).toBe(701)
  },

  async sweepFetches(platform) {
    Object.assign(platform.env, { TAX_AUTHORITY: 'sat', FETCHER_KEYS: `1:${btoa('k'.repeat(32))}` })
    bindLedgers(platform)
    await env.LEDGER_0.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 300)
       insert into fetches (entity, source, month, asked_at, state, files)
       select i, 'sat_cfdi_issued', '2026-04', 1, 'complete', '{"xml-0":{"key":"fetcher/' || i || '","size":1}}' from n`,
    ).run()
    at('2026-05-20T09:10:00Z')
    await finish(platform, 'sweepFetches')
    expect(await env.LEDGER_0.prepare('select count(*) as n from fetches').first('n')).toBe(Math.max(0, 300 - 50 * LEDGERS))
  },

  async sweepImports(platform) {
    bindLedgers(platform)
    const of = await organization('enterprise_gold')
    const { fiscal_entity_id } = await connect(of.owner, freshRfc(), { ciec: 'empty' })
    const path = `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`
    const sent = await platform.fetch('POST import', of.owner, path, { body: '<nothing/>', type: 'application/xml' })
    expect(sent.status).toBe(202)
    expect(await sweptBy(platform, 'sweepImports', 'imports')).toHaveProperty('size', LEDGERS)
  },

  async sweepOutboxes(platform) {
    bindLedgers(platform)
    const fact = {
      outbox_event_id: 'connection.ciec_invalid:1',
      kind: 'connection.ciec_invalid',
      entity: 1,
      organizations: [],
      body: {},
    } as const
    await commit(env.LEDGER_0, insertOutboxEvents([fact], 0))
    expect(await sweptBy(platform, 'sweepOutboxes', 'webhooks')).toHaveProperty('size', LEDGERS)
  },

  async sweepRechecks(platform) {
    bindLedgers(platform)
    await env.LEDGER_0.prepare("insert into status_rechecks (entity, uuid, due_at, recheck) values (1, 'u', 0, 'asked')").run()
    at('2026-05-20T09:10:00Z')
    platform.sent.splice(0)
    await finish(platform, 'sweepRechecks')
    expect(new Set((platform.of('downloads') as { shard: number }[]).map(({ shard }) => shard))).toHaveProperty('size', LEDGERS)
  },

  async watchCancellations(platform) {
    await manyConnections(2_500, { data_source_keys: ['sat_csf'] })
    const watches = "recheck = 'watch'"
    await finish(platform, 'watchCancellations')
    expect(await countOf('status_rechecks', watches, env.LEDGER_0)).toBe(await activeRfcs())
  },

  async sweepReports(platform) {
    bindLedgers(platform)
    await env.LEDGER_0.prepare(
      "insert into report_states (connection, organization_id, fiscal_entity_id, entity, due_at) values (1, 'o', 'f', 1, 0)",
    ).run()
    at('2026-05-20T09:10:00Z')
    platform.sent.splice(0)
    await finish(platform, 'sweepReports')
    expect(new Set((platform.of('reports') as { shard: number }[]).map(({ shard }) => shard))).toHaveProperty('size', LEDGERS)
  },

  /** Operators' commands, organizations to suspend, and every zone that there is. */
  async midnight(platform) {
    await organizations(700, {})
    await invoicesOf(700, 1)
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 150)
       insert into operator_orders (command_id, kind, organization_id, plan, created_at)
       select 'order' || n.i, 'plan', ${idSql('org')}, 'starter', n.i from n`,
    ).run()
    await env.DB.prepare('insert into zones select value, ?2 from json_each(?1) where true on conflict do nothing')
      .bind(JSON.stringify(Intl.supportedValuesOf('timeZone')), '2026-05-10')
      .run()
    await finish(platform, 'midnight')
    expect(await countOf('organizations', "suspension = 'payment'")).toBe(700)
    expect(await countOf('operator_orders', 'done_at is null or refused is not null')).toBe(0)
    expect(await countOf('zones', "evaluated_day < '2026-05-19'")).toBe(0)
  },

  async issueInvoices(platform) {
    await organizations(600, { billed_month: `'2026-04'` })
    await finish(platform, 'issueInvoices')
    expect(await countOf('invoices', "period = '2026-05'")).toBe(600)
  },

  async reviewSubscriptions(platform) {
    await organizations(500, {})
    await invoicesOf(500, null)
    await finish(platform, 'reviewSubscriptions')
    expect(await countOf('organizations', "suspension = 'payment'")).toBe(500)
  },

  async pruneEvents(platform) {
    const of = await organization()
    await env.EVENTS_0.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 9000)
       insert into events (organization_id, seq, body) select ?1, n.i, '{"event":"sync.completed"}' from n`,
    )
      .bind(of.id)
      .run()
    await finish(platform, 'pruneEvents')
    expect(await countOf('events')).toBe(0)
  },

  async rewrapSecrets(platform) {
    const of = await organization()
    await of.ask('POST', '/v1/webhooks', { name: 'Uno', url: 'https://hooks.example.com/', event_keys: ['sync.completed'] })
    await multiply('webhooks', 1_200, { webhook: 'null', webhook_id: idSql('wh') })
    const { webhookKeys } = settingsOf(env)
    const { digests } = await newSecret()
    const { results } = await env.EVENTS_0.prepare('select webhook_id from webhooks').all<{ webhook_id: string }>()
    const owner = { environment: 'test', organization_id: of.id, secret_version: 1 } as const
    const wrapped = []
    for (const { webhook_id } of results)
      wrapped.push([webhook_id, JSON.stringify(await wrapDigests(webhookKeys, { ...owner, webhook_id }, digests))])
    await env.EVENTS_0.prepare('update webhooks set digests = j.value->>1 from json_each(?) j where webhooks.webhook_id = j.value->>0')
      .bind(JSON.stringify(wrapped))
      .run()
    // A new key: every secret is to be wrapped with it.
    platform.env.WEBHOOK_KEYS = `9:${new Uint8Array(32).fill(9).toBase64()},${env.WEBHOOK_KEYS}`
    await finish(platform, 'rewrapSecrets')
    expect(await countOf('webhooks', `digests not like '%"a":"9:%' or digests not like '%"b":"9:%'`)).toBe(0)
  },

  async rewrapCredentials(platform) {
    const of = await organization()
    await of.ask('POST', '/v1/storage-connectors', {
      name: 'Uno',
      provider: 's3',
      config: { bucket: 'fiscal' },
      credentials: { access_key_id: 'AKID', secret_access_key: 'secreto' },
    })
    await multiply('storage_connectors', 1_200, { connector: 'null', connector_id: idSql('stc') })
    const { results } = await env.EVENTS_0.prepare('select connector_id from storage_connectors').all<{ connector_id: string }>()
    const system = { settings: settingsOf(env) } as System
    const credentials = { access_key_id: 'AKID', secret_access_key: 'secreto' }
    const sealed = []
    for (const { connector_id } of results)
      sealed.push([connector_id, await sealCredentials(system, { organization_id: of.id, connector_id }, credentials)])
    await env.EVENTS_0.prepare(
      'update storage_connectors set credentials = j.value->>1 from json_each(?) j where connector_id = j.value->>0',
    )
      .bind(JSON.stringify(sealed))
      .run()
    platform.env.CIEC_KEYS = `9:${new Uint8Array(32).fill(9).toBase64()},${env.CIEC_KEYS}`
    await finish(platform, 'rewrapCredentials')
    expect(await countOf('storage_connectors', "credentials not like '9:%'")).toBe(0)
  },

  async refreshLists(platform) {
    await env.FILES.put('lists/sat_69b.csv', listOf(manyRows(3_000)))
    await finish(platform, 'refreshLists', Date.parse('2026-08-05T10:00:00Z'))
    expect(await countOf('blacklist_entries')).toBeGreaterThan(2_000)
  },

  async notifyListings(platform) {
    const rows = manyRows(400)
    const lists = (day: string, more: readonly Listed[]) => loadList(systemAt(), 'sat_69b', listOf([...rows, ...more], day), new Date())
    // The first load of a list is looked up for every connection, a later one for those that deal with what it changes.
    await manyConnections(4_000, {})
    await lists('30 de junio de 2026', [])
    await finish(platform, 'notifyListings')
    await lists('31 de julio de 2026', [{ rfc: 'STA050101AB7', situacion: 'Presunto', presunto: '01/01/2019|02/01/2019' }])
    await finish(platform, 'notifyListings')
    expect(await countOf('blacklist_lists', 'notified_version < version')).toBe(0)
    expect(await countOf('connections', 'listed is null')).toBe(0)
    await forgetLists()
  },

  async refreshRates(platform) {
    const days = Array.from({ length: 12_000 }, (_, n) => dayOfEpoch(8_000 + n))
    const file = ['currency,date,rate', ...['USD', 'EUR'].flatMap((currency) => days.map((day) => `${currency},${day},17.1234`))].join('\n')
    platform.env.FX_RATES_URL = 'https://rates.example/fix.csv'
    const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(file))
    await finish(platform, 'refreshRates')
    fetched.mockRestore()
    expect(await countOf('fx_rates')).toBe(24_000)
  },

  async refreshRepse(platform) {
    await finish(platform, 'refreshRepse')
    expect(await countOf('repse_rounds')).toBe(1)
  },

  async pruneKeys(platform) {
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000)
       insert into idempotency_keys (organization_id, key, fingerprint, token, lease_until, state, created_at)
       select 'org_many', i, '', '', 0, 'answered', i from n`,
    ).run()
    await finish(platform, 'pruneKeys')
    expect(await countOf('idempotency_keys')).toBe(0)
  },

  async pruneSessions(platform) {
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000)
       insert into console_sessions (session_id, api_key, until, created_at) select 'session' || i, 'fds_test_key_many', i, 0 from n`,
    ).run()
    await finish(platform, 'pruneSessions')
    expect(await countOf('console_sessions')).toBe(0)
  },

  async pruneAudit(platform) {
    for (const d1 of [env.DB, env.EVENTS_0])
      await d1
        .prepare(
          `with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000)
           insert into audit_events (audit_event_id, organization_id, actor, action, resource_id, changed, request_id, created_at)
           select 'aud_0000000' || i, 'org_many', '', '', '', '[]', '', 0 from n`,
        )
        .run()
    await finish(platform, 'pruneAudit')
    expect(await countOf('audit_events', "organization_id = 'org_many'")).toBe(0)
  },

  async pruneRuns(platform) {
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 10000)
       insert into runs (run_id, organization_id, extractor_id, trigger, instant, status, connections, dispatched, created_at)
       select ${idSql('run')}, 'org_many', 'ext_many', 'manual', 0, 'dispatched', 0, 0, 0 from n`,
    ).run()
    await finish(platform, 'pruneRuns')
    expect(await countOf('runs', "organization_id = 'org_many'")).toBe(0)
  },

  async expireLinks(platform) {
    const of = await organization('api')
    await of.ask('POST', '/v1/connect-links', { purposes: [{ key: 'audit', necessary: true }] })
    const unlike = { connect_link_id: idSql('lnk'), digest: 'n.i', expires_at: 'n.i' }
    await multiply('connect_links', 500, unlike)
    await finish(platform, 'expireLinks')
    expect(await countOf('connect_links')).toBe(1)
    expect(await countOf('connect_links', "status = 'expired'")).toBe(0)
  },

  async expireConsents(platform) {
    await manyConnections(100, { data_source_keys: ['sat_csf'] })
    await env.DB.prepare(
      `insert into consents (consent_id, organization_id, fiscal_entity_id, entity, rfc, purposes, ends_at, granted_at, method, status)
       select 'cns_many' || connection, organization_id, fiscal_entity_id, entity, rfc, '[]', 1, 0, 'ciec_verified', 'active' from connections
       where not exists (select 1 from consents c where c.fiscal_entity_id = connections.fiscal_entity_id)`,
    ).run()
    await env.DB.prepare("update consents set ends_at = 1 where status = 'active'").run()
    await finish(platform, 'expireConsents')
    expect(await countOf('consents', "status = 'active'")).toBe(0)
  },

  async pruneAttempts(platform) {
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000)
       insert into ciec_attempts (attempt_id, organization_id, rfc, network, is_stranger, state, attempted_at)
       select 'attempt' || n.i, 'org_many', 'X', 'n', 1, 'refused', 0 from n`,
    ).run()
    await finish(platform, 'pruneAttempts')
    expect(await countOf('ciec_attempts')).toBe(0)
  },

  async pruneMails(platform) {
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000)
       insert into mails (mail_id, kind, organization_id, email, address, network, created_at)
       select 'mail' || n.i, 'confirmation', 'org_many', 'X', 'x', 'n', 0 from n`,
    ).run()
    await finish(platform, 'pruneMails')
    expect(await countOf('mails')).toBe(0)
  },

  async verifyIdle(platform) {
    await manyConnections(5_000, {})
    const ours = "ciec_verify_at is null and state = 'active' and ciec is not null"
    const trusted = await countOf('connections', ours)
    expect(trusted).toBeGreaterThanOrEqual(5_000)
    await finish(platform, 'verifyIdle', Date.now() + 8 * DAY_MS)
    expect(await countOf('connections', ours)).toBe(0)
    await env.DB.exec('update connections set ciec_verify_at = null')
  },

  async rewrapLogins(platform) {
    await manyConnections(600, {})
    const { results } = await env.DB.prepare('select connection, organization_id, fiscal_entity_id, rfc from connections').all<
      LoginHolder & { connection: number }
    >()
    const { ciecKeys } = settingsOf(env)
    const signer = await efirmaLogin(freshRfc(), '0001')
    const sealed = []
    for (const { connection, ...of } of results)
      sealed.push([connection, await sealLogin(ciecKeys, of, { rfc: of.rfc, ciec: 'empty' }), await sealLogin(ciecKeys, of, signer)])
    await env.DB.prepare(
      `update connections set ciec = j.value->>1, efirma = j.value->>2, efirma_number = 'x', efirma_valid_to = 9e12
       from json_each(?) j where connection = j.value->>0`,
    )
      .bind(JSON.stringify(sealed))
      .run()
    platform.env.CIEC_KEYS = `9:${new Uint8Array(32).fill(9).toBase64()},${env.CIEC_KEYS}`
    await finish(platform, 'rewrapLogins')
    expect(await countOf('connections', "ciec not like '9:%' or efirma not like '9:%'")).toBe(0)
    await env.DB.exec('update connections set efirma = null, efirma_number = null, efirma_valid_to = null')
  },

  async alertEfirmas(platform) {
    const { id } = await manyConnections(16_000, {})
    const at = Date.parse('2026-05-20T10:00:00Z')
    await env.DB.prepare("update connections set efirma_number = 'x', efirma_valid_to = ?1 where organization_id = ?2")
      .bind(at + 9 * DAY_MS, id)
      .run()
    await finish(platform, 'alertEfirmas', at)
    expect(await countOf('alerts', `kind = 'efirma.expiring' and organization_id = '${id}'`, env.EVENTS_0)).toBe(16_000)
    await env.DB.exec('update connections set efirma_number = null, efirma_valid_to = null')
  },

  async resolveAlerts(platform) {
    const of = await organization()
    const drafts = Array.from({ length: 20_000 }, (_, n) => ({
      ...({ organization_id: of.id, kind: 'connection.invalid', severity: 'critical', resource_id: 'fe_x' } as const),
      ...{ dedupe_key: `gone:${n}`, message: '', message_es: '', fiscal_entity_id: null, rfc: null },
    }))
    for (const statement of alertStatements(drafts, new Date())) await commit(env.EVENTS_0, [statement])
    await finish(platform, 'resolveAlerts')
    expect(await countOf('alerts', `resolved_at is not null and organization_id = '${of.id}'`, env.EVENTS_0)).toBe(20_000)
    await env.EVENTS_0.prepare('delete from alerts where organization_id = ?').bind(of.id).run()
  },

  async mailAlerts(platform) {
    const drafts = Array.from({ length: 700 }, (_, n) => ({
      ...({ organization_id: `org_many${n}`, kind: 'storage.failed', severity: 'critical', resource_id: 'stc_x' } as const),
      ...{ dedupe_key: 'x', message: '', message_es: '', fiscal_entity_id: null, rfc: null },
    }))
    for (const statement of alertStatements(drafts, new Date())) await commit(env.EVENTS_0, [statement])
    await finish(platform, 'mailAlerts')
    expect(await countOf('alerts', "is_mailed = 0 and organization_id like 'org_many%'", env.EVENTS_0)).toBe(0)
  },

  async mailDigests(platform) {
    await organizations(5_000, { timezone: "'America/Mexico_City'", digest_on: "''", suspension: 'null', created_at: '1' })
    await connect((await organization()).owner, freshRfc(), { ciec: 'empty' })
    const [organization_id, entity] = [idSql('org'), '2000000 + n.i']
    await multiply('connections', 5_000, {
      connection: 'null',
      organization_id,
      fiscal_entity_id: idSql('fe'),
      entity,
      rfc: `'RFD' || n.i`,
    })
    const wants = { status: "'active'", email: `'digest' || n.i`, email_confirmed_at: '1', mail_digest: '1' }
    await multiply('members', 5_000, { member_id: idSql('mem'), organization_id, ...wants })
    at('2026-05-25T14:10:00Z')
    await finish(platform, 'mailDigests')
    expect(await countOf('mails', "email like 'digest%'")).toBe(5_000)
  },

  async readPending(platform) {
    await env.FILES.put('documents/pending', 'no PDF')
    Object.assign(platform.env, { PDF: { fetch: async () => Response.json({ reason: 'It is none.' }, { status: 422 }) } })
    await env.LEDGER_0.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 500)
       insert into documents (entity, document_id, source, kind, series, name, title, content_type, size, sha256, document_date, attributes,
         organizations, created_at, fields_status)
       select 990000 + n.i, 'doc', 'sat_csf', 'csf', 'csf', '', '', 'application/pdf', 6, 'pending', '2026-05-01', '{}', '{}', n.i, 'pending' from n`,
    ).run()
    await finish(platform, 'readPending')
    expect(await countOf('documents', "fields_reason = 'It is none.'", env.LEDGER_0)).toBe(500)
  },

  async alertCertificates(platform) {
    const of = await organization('enterprise_gold')
    const { rfc } = await connect(of.owner, freshRfc(), { ciec: 'empty' })
    const { entity } = (await entityOf(rfc))!
    const certificates = Array.from({ length: 12_000 }, (_, n) => ({
      serial: `${n}`,
      kind: 'csd',
      status: 'active',
      valid_to: '2026-05-30',
    }))
    const lists = Array.from({ length: 20 }, (_, n) => certificates.slice(n * 600, (n + 1) * 600))
    // Lists of other RFCs, which nobody has connected, and one of this one.
    for (const [n, some] of lists.entries())
      await commit(env.LEDGER_0, [
        env.LEDGER_0.prepare('insert into certificates select ?1, value, ?3 from json_each(?2)').bind(
          ...[n === 0 ? entity : 980_000 + n, JSON.stringify(some.map(({ serial }) => serial)), '2026-05-30'],
        ),
        env.LEDGER_0.prepare(
          `insert into documents (entity, document_id, source, kind, series, name, title, content_type, size, sha256, document_date, attributes,
             organizations, created_at, fields_status, fields)
           values (?1, 'doc', 'sat_certificates', 'certificates', 'certificates', '', '', '', 0, '', '2026-05-01', '{}', ?2, 0, 'read', ?3)`,
        ).bind(n === 0 ? entity : 980_000 + n, JSON.stringify({ [of.id]: 1 }), JSON.stringify({ certificates: some })),
      ])
    await finish(platform, 'alertCertificates', Date.parse('2026-05-20T10:00:00Z'))
    expect(await countOf('alerts', "kind = 'certificate.expiring'", env.EVENTS_0)).toBe(600)
  },

  /** Many RFCs whose obligations are due, each with a listener, and as many without one. */
  async notifyDueSoon(platform) {
    const of = await manyConnections(4_000, {})
    await env.LEDGER_0.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 8000)
       insert into documents (entity, document_id, source, kind, series, name, title, content_type, size, sha256, document_date, attributes,
         organizations, created_at, fields_status, fields)
       select 1000000 + i, 'doc', 'sat_obligations', 'obligations', 'obligations', '', '', '', 0, '', '2026-05-01', '{}', ?1, 0, 'read', ?2 from n`,
    )
      .bind(
        JSON.stringify({ [of.id]: 1 }),
        JSON.stringify({ obligations: [{ description: 'IVA', due_rule: 'El día 17 del mes inmediato posterior', from: null, to: null }] }),
      )
      .run()
    await env.LEDGER_0.prepare(
      "insert into obligation_rules select fields->>'$.obligations[0].due_rule', entity from documents where document_id = 'doc'",
    ).run()
    await env.DB.prepare('update organizations set extractor_count = 0 where id = ?').bind(of.id).run()
    await finish(platform, 'notifyDueSoon', Date.parse('2026-06-12T10:00:00Z'))
    expect(await countOf('outbox', "kind = 'obligation.due_soon'", env.LEDGER_0)).toBe(3_999)
  },

  async pruneUploads(platform) {
    for (let n = 0; n < 16; n++) await env.FILES.put(`fetcher/${n}`, 'x')
    await finish(platform, 'pruneUploads')
    expect((await env.FILES.list({ prefix: 'fetcher/' })).objects).toHaveLength(16)
    // The bucket's clock is the real one.
    at('2099-01-01T10:00:00Z')
    await finish(platform, 'pruneUploads')
    expect((await env.FILES.list({ prefix: 'fetcher/' })).objects).toEqual([])
  },

  async sweepUploadObjects(platform) {
    bindLedgers(platform, 800)
    // The bucket's clock is the real one.
    at('2099-01-01T10:00:00Z')
    for (let n = 0; n < 16; n++) await env.FILES.put(`imports/${n.toString(16)}`, 'x')
    const left = async () => (await env.FILES.list({ prefix: 'imports/' })).objects.length
    // Each begins at another key.
    for (let n = 0; n < 12 && (await left()) > 0; n++) await finish(platform, 'sweepUploadObjects')
    expect(await left()).toBe(0)
  },

  reviewConnectors: (platform) => reviewLoad(platform, () => finish(platform, 'reviewConnectors')),

  async reportDeadLetters(platform) {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 500)
       insert into dead_letters (dead_letter_id, queue, body, reason, created_at) select 'letter' || n.i, 'outbox', '{}', 'x', 0 from n`,
    ).run()
    await finish(platform, 'reportDeadLetters')
    expect(error).toHaveBeenCalled()
  },

  async sweepUploads(platform) {
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 150)
       insert into import_usage (import_id, organization_id, shard, bytes, documents, counted_bytes, counted, is_open, turn_until, created_at)
       select ${idSql('imp')}, 'org_many', 0, 1, 0, 1, 0, 1, 0, 0 from n`,
    ).run()
    await finish(platform, 'sweepUploads')
    await finish(platform, 'sweepUploads')
    expect(await countOf('import_usage')).toBe(0)
  },

  async pruneJobs(platform) {
    await commit(env.LEDGER_0, [
      env.LEDGER_0.prepare(
        `with recursive n (i) as (select 1 union all select i + 1 from n where i < 2500)
         insert into entities (entity, rfc) select 28000 + n.i * 28 + 21, 'X' from n`,
      ),
      env.LEDGER_0.prepare(
        `insert into sync_jobs (entity, source, month, job_id, organizations, open, as_of, not_before, attempts, created_after,
           finished_after, created_count, updated_count, cancelled_count, rejected_count)
         select entity, 'sat_csf', '', 'job_' || entity || '_' || value, '[]', 0, 0, 0, 1, 0, 1, 0, 0, 0, 0
         from entities, json_each('[1, 2]') where rfc = 'X'`,
      ),
    ])
    await finish(platform, 'pruneJobs', Date.parse('2026-05-20T10:00:00Z'))
    // The newest job of each source and month stays.
    expect(await countOf('sync_jobs', "job_id like '%_2'", env.LEDGER_0)).toBe(2_500)
    expect(await countOf('sync_jobs', "job_id like '%_1'", env.LEDGER_0)).toBe(0)
  },
}

export const CRON_LOADS: Record<string, Load> = {
  /** Something left of everything that is swept, and more operators' commands than a minute can do. */
  async '* * * * *'(platform) {
    await organizations(200, {})
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 200)
       insert into operator_orders (command_id, kind, organization_id, plan, created_at)
       select 'order' || n.i, 'plan', ${idSql('org')}, 'starter', n.i from n`,
    ).run()
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 3000)
       insert into runs (run_id, organization_id, extractor_id, trigger, instant, status, connections, dispatched, created_at)
       select ${idSql('run')}, 'org_many', 'ext_many', 'manual', 0, 'planned', 0, 0, 0 from n`,
    ).run()
    await env.LEDGER_0.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 3000)
       insert into sync_work (entity, jobs, due_at, is_interactive) select 900000 + n.i, '[]', 0, n.i % 2 from n`,
    ).run()
    for (let n = 0; n < 10 && (await countOf('operator_orders', 'done_at is null')) > 0; n++) await platform.cron('* * * * *')
    expect(await countOf('operator_orders', 'done_at is null or refused is not null')).toBe(0)
    expect(platform.of('dispatch').length).toBeGreaterThan(0)
    for (const queue of ['downloads', 'downloads-spread']) expect(platform.of(queue).length).toBeGreaterThan(0)
  },

  async '*/15 * * * *'(platform) {
    await organizations(700, {})
    await invoicesOf(700, 1)
    await platform.cron('*/15 * * * *')
    await platform.run(['tasks'])
    expect(await countOf('organizations', "suspension = 'payment'")).toBe(700)
  },

  /** Each task is a message, whatever it has to do. */
  async '0 10 * * *'(platform) {
    await organizations(600, { billed_month: `'2026-04'` })
    await platform.cron('0 10 * * *')
    expect(platform.of('tasks')).toHaveLength(DAILY.length)
    await platform.run(['tasks'])
    expect(await countOf('invoices', "period = '2026-05'")).toBe(600)
  },
}

/** Requests that do more the more an organization has. */
export const REQUEST_LOADS: Record<string, Load> = {
  async 'a run over thousands of RFCs'(platform) {
    const of = await manyConnections(4_000, { data_source_keys: ['sat_csf'] })
    const path = `${EXTRACTORS}/${of.extractor_id}/run`
    const reply = await platform.fetch('POST run', of.owner, path)
    const notified = (await reply.json()) as Record<string, unknown>
    expect([reply.status, notified]).toEqual([
      200,
      { run_id: expect.any(String), status: 'dispatched', connections: 4_000, dispatched: expect.any(Number) },
    ])
    await platform.run(['dispatch'])
    expect((await of.ask('GET', `${path}s`)).body.data).toMatchObject([{ status: 'dispatched', connections: 4_000, dispatched: 4_000 }])
  },

  async 'connecting an RFC that a hundred extractors run for'(platform) {
    const of = await organization('enterprise_gold')
    await created(of, { ...draft, data_source_keys: ['sat_csf'] })
    await multiply('extractors', 150, { extractor_id: idSql('ext') })
    const body = JSON.stringify({ rfc: freshRfc(), ciec: 'secreta1' })
    expect((await platform.fetch('POST connect', of.owner, '/v1/fiscal-entities', { body, type: 'application/json' })).status).toBe(201)
    await platform.run(['dispatch'])
    expect(await countOf('runs', "status = 'planned'")).toBe(0)
    expect(await countOf('runs', "status = 'dispatched'")).toBe(151)
  },

  async 'paying what had suspended thousands of connections'(platform) {
    const of = await organization('enterprise_gold')
    await created(of, { ...draft, data_source_keys: ['sat_csf'], trigger_kind: 'connection_reactivated' })
    await connect(of.owner, freshRfc(), { ciec: 'empty' })
    await multiply('connections', 3_000, {
      connection: 'null',
      fiscal_entity_id: idSql('fe'),
      entity: '1000000 + n.i',
      rfc: `'RFC' || n.i`,
    })
    const { body } = await of.ask('POST', '/v1/test-helpers/invoices', { due_date: '2026-05-01' })
    await platform.cron('*/15 * * * *', new Date(Date.now() + DAY_MS))
    expect(await countOf('connections', "state = 'paused'")).toBe(3_001)
    const path = `/v1/test-helpers/invoices/${body.invoice_id}/pay`
    expect((await platform.fetch('POST pay', of.owner, path)).status).toBe(200)
    expect(await countOf('connections', "state = 'active'")).toBe(3_001)
    expect(await countOf('runs', "status = 'planned'")).toBe(3_001)
  },
}
