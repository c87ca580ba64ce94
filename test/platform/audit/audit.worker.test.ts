import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { runTask } from '../../../src/app/tasks.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { api, basic } from '../../support/client.ts'
import { sample } from '../../support/fuzz.ts'
import { callOf, givenOf, TABLE } from '../../support/matrix.ts'
import { silenceDownloads, silenceQueues } from '../../support/queues.ts'
import { freshRfc, signUp } from '../../support/tenants.ts'
import { send } from '../../support/wire.ts'
import { dump, organizationWith, type Side, sideOf } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

const AUDIT = '/v1/audit-events'

/** What each write is called in the audit; `null` for what writes nothing of the organization's. */
const ACTIONS: Record<string, string | null> = {
  'PATCH /v1/organization': 'organization.updated',
  'POST /v1/team/members/invite': 'invitation.created',
  'PATCH /v1/team/members/:member_id': 'member.updated',
  'DELETE /v1/team/members/:member_id': 'member.removed',
  'PATCH /v1/team/mail-preferences': 'mail_preferences.updated',
  'DELETE /v1/team/invitations/:invitation_id': 'invitation.withdrawn',
  // The sign-up is confirmed here.
  'POST /v1/auth/email/resend': null,
  'POST /v1/credentials': 'credential.created',
  'POST /v1/credentials/:api_key/roll': 'credential.rolled',
  'DELETE /v1/credentials/:api_key': 'credential.revoked',
  'POST /v1/extractors': 'extractor.created',
  'POST /v1/extractors/preview': null,
  'PATCH /v1/extractors/:extractor_id': 'extractor.updated',
  'DELETE /v1/extractors/:extractor_id': 'extractor.deleted',
  'POST /v1/extractors/:extractor_id/run': 'extractor.run',
  'POST /v1/runs/:run_id/cancel': 'run.cancelled',
  'POST /v1/fiscal-entities/:fiscal_entity_id/extractions': 'fiscal_entity.extraction',
  'POST /v1/fiscal-entities': 'fiscal_entity.connected',
  'POST /v1/fiscal-entities/batch': 'fiscal_entity.connected',
  'PATCH /v1/fiscal-entities/:fiscal_entity_id': 'fiscal_entity.updated',
  'DELETE /v1/fiscal-entities/:fiscal_entity_id': 'fiscal_entity.unlinked',
  'POST /v1/fiscal-entities/:fiscal_entity_id/cfdi/imports': 'import.created',
  'DELETE /v1/fiscal-entities/:fiscal_entity_id/cfdi/imports/:import_id': 'import.deleted',
  'POST /v1/connect-links': 'connect_link.created',
  'DELETE /v1/connect-links/:connect_link_id': 'connect_link.revoked',
  'POST /v1/consents/:consent_id/withdraw': 'consent.withdrawn',
  'POST /v1/exports': 'export.created',
  'DELETE /v1/exports/:export_id': 'export.deleted',
  'POST /v1/alerts/read': 'alert.read',
  'POST /v1/alerts/:alert_id/read': 'alert.read',
  'POST /v1/webhooks': 'webhook.created',
  'PATCH /v1/webhooks/:webhook_id': 'webhook.updated',
  'DELETE /v1/webhooks/:webhook_id': 'webhook.deleted',
  'POST /v1/webhooks/:webhook_id/test': 'webhook.tested',
  'POST /v1/webhooks/:webhook_id/rotate-secret': 'webhook.secret_rotated',
  'POST /v1/webhooks/:webhook_id/rotate-secret/commit': 'webhook.secret_committed',
  'POST /v1/webhooks/:webhook_id/deliveries/redeliver': 'webhook.redelivered',
  'POST /v1/webhooks/:webhook_id/deliveries/:event_id/redeliver': 'webhook.redelivered',
  'POST /v1/webhooks/:webhook_id/deliveries/:event_id/send-now': 'webhook.delivery_hastened',
  'POST /v1/storage-connectors': 'storage_connector.created',
  'PATCH /v1/storage-connectors/:connector_id': 'storage_connector.updated',
  'DELETE /v1/storage-connectors/:connector_id': 'storage_connector.deleted',
  'POST /v1/storage-connectors/:connector_id/test': 'storage_connector.tested',
  'POST /v1/storage-connectors/:connector_id/backfill': 'storage_connector.backfill_requested',
  'POST /v1/fiscal-entities/:fiscal_entity_id/repse/refresh': 'repse.refresh_requested',
  'POST /v1/cfdi/:uuid/status-check': 'cfdi.status_checked',
  'POST /v1/cancellation-requests/:uuid/answer': 'cancellation_request.answered',
  // Refused here, because the windows are bounded. What it leaves is tested with the reports.
  'POST /v1/reports/:key/refresh': null,
  'PUT /v1/fiscal-entities/:fiscal_entity_id/diot-settings': 'diot_settings.updated',
  'PUT /v1/fiscal-entities/:fiscal_entity_id/diot-settings/suppliers/:rfc': 'diot_supplier.updated',
  'DELETE /v1/fiscal-entities/:fiscal_entity_id/diot-settings/suppliers/:rfc': 'diot_supplier.deleted',
  'POST /v1/test-helpers/clock': null,
  'POST /v1/test-helpers/repse': 'test_helper.repse_published',
  'POST /v1/test-helpers/blacklists': 'test_helper.blacklist_published',
  'POST /v1/test-helpers/mailbox': 'test_helper.notification_sent',
  'POST /v1/test-helpers/sync-jobs/:job_id/fail': 'test_helper.sync_job_failed',
  'POST /v1/blacklists/lookup': null,
  'POST /v1/blacklists/custom': 'blacklist.created',
  'PUT /v1/blacklists/custom/:slug': 'blacklist.replaced',
  'DELETE /v1/blacklists/custom/:slug': 'blacklist.deleted',
  'PATCH /v1/billing/rfcs/:fiscal_entity_id': 'fiscal_entity.suspended',
  'POST /v1/test-helpers/invoices': 'test_helper.invoice',
  'POST /v1/test-helpers/invoices/:invoice_id/pay': 'test_helper.invoice_paid',
  'POST /v1/test-helpers/organization': 'test_helper.organization',
  'POST /v1/test-helpers/cfdi/:uuid/cancel': 'test_helper.cfdi_cancelled',
  'POST /v1/test-helpers/fiscal-entities/:fiscal_entity_id/expire-ciec': 'test_helper.ciec_expired',
  'POST /v1/test-helpers/fiscal-entities/:fiscal_entity_id/expire-efirma': 'test_helper.efirma_expired',
}

const closed = TABLE.filter(({ row }) => row.may !== 'public')
const isRead = ({ name, route }: (typeof TABLE)[number]) => route.method === 'GET' || ACTIONS[name] === null
const writes = closed.filter((entry) => !isRead(entry))
const reads = closed.filter(isRead)

let ours: Side
beforeAll(async () => {
  ours = await sideOf()
  silenceDownloads()
}, 120_000)

interface Row {
  action: string
  actor: string
  resource_id: string
  changed: string
  request_id: string
}
/** Audit events lie beside what changed. */
const DATABASES = [env.DB, env.EVENTS_0]
const rows = async (organization_id = ours.organization_id): Promise<Row[]> =>
  (
    await Promise.all(
      DATABASES.map((d1) => d1.prepare('select * from audit_events where organization_id = ? order by 1').bind(organization_id).all<Row>()),
    )
  ).flatMap(({ results }) => results)

it('knows every write of the service', () => {
  const all = closed.filter(({ route }) => route.method !== 'GET')
  expect(Object.keys(ACTIONS).sort()).toEqual(all.map(({ name }) => name).sort())
})

describe('one event for each write, of who did it', () => {
  it.each(sample(writes, 2))('$name', async (entry) => {
    const caller = entry.row.may.includes('admin' as never) ? ours.callers.admin : ours.callers.owner
    const given = await givenOf(entry, ours)
    const { path, sent } = callOf(entry, given)
    const before = new Set((await rows()).map(({ request_id }) => request_id))
    const { status, headers, body } = await send(entry.route.method, path, { ...sent, authorization: basic(caller) })
    expect(status).toBe(entry.row.answers)
    const left = (await rows()).filter(({ request_id, actor }) => !before.has(request_id) && !actor.startsWith('system:'))
    const ids = [...entry.route.path.matchAll(/:(\w+)/g)].map(([, name]) => given[name!])
    // An import is named by the second id of its path, everything else by the first, or by that of the fiscal entity in the body.
    const id = given['import_id'] ?? ids[0] ?? given['fiscal_entity_id']
    const one = Array.isArray(body?.data) ? body.data[0].fiscal_entity : body
    const made = Object.entries((one ?? {}) as Record<string, string>).find(([name]) =>
      /^(extractor_id|export_id|fiscal_entity_id|import_id|invoice_id|invitation_id|webhook_id|connector_id|connect_link_id|api_key|slug)$/.test(
        name,
      ),
    )?.[1]
    expect(left).toEqual([
      expect.objectContaining({
        action: ACTIONS[entry.name],
        actor: caller.api_key,
        request_id: headers.get('x-request-id'),
        resource_id: /(imports|exports)$/.test(entry.name) ? made : (id ?? made ?? ours.organization_id),
      }),
    ])
  })

  it.each(reads)('$name leaves none', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    // What the writes before have set going may come to its end meanwhile.
    const byPeople = async () => (await rows()).filter(({ actor }) => !actor.startsWith('system:')).length
    const before = await byPeople()
    expect((await send(entry.route.method, path, { ...sent, authorization: basic(ours.callers.owner) })).status).toBe(entry.row.answers)
    expect(await byPeople()).toBe(before)
  })

  it('and none for what was refused, or changed nothing, except for each CIEC that the authority refused', async () => {
    const { owner, callers } = await organizationWith('diagnostic')
    const { body: draft } = await api(owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc() })
    const before = (await rows(owner.organization_id)).length
    await api(callers.member, 'PATCH', '/v1/organization', { name: 'Otro' })
    await api(owner, 'PATCH', '/v1/organization', { name: '' })
    await api(owner, 'PATCH', '/v1/organization', { name: null })
    await api(owner, 'DELETE', '/v1/credentials/fds_test_key_0000000000000000000000')
    await api(owner, 'POST', '/v1/extractors', {
      name: 'x',
      trigger_kind: 'connection_created',
      scope: 'full_history',
      data_source_keys: ['sat_csf'],
    })
    await api(owner, 'POST', '/v1/fiscal-entities', { rfc: draft.rfc })
    await api(owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc(), ciec: 'rejected' })
    await api(owner, 'PATCH', `/v1/fiscal-entities/${draft.fiscal_entity_id}`, { ciec: 'rejected' })
    const left = (await rows(owner.organization_id)).slice(before)
    expect(left.map(({ action, actor, changed }) => [action, actor, changed])).toEqual(
      Array(2).fill(['fiscal_entity.ciec_refused', owner.api_key, '["ciec"]']),
    )
  })

  it('the first of an organization is its creation, by its owner', async () => {
    const owner = await signUp()
    expect(await rows(owner.organization_id)).toEqual([
      expect.objectContaining({ action: 'organization.created', actor: owner.api_key, resource_id: owner.organization_id, changed: '[]' }),
    ])
  })
})

describe('a change and its event are one commit', () => {
  // What the queues do would be part of the difference.
  beforeEach(() => void silenceQueues())
  afterEach(async () => {
    for (const d1 of DATABASES) await d1.prepare('drop trigger if exists refuse').run()
  })

  /** All that D1 holds of the organization, downloads aside: they go on by themselves. */
  const stored = () => dump(ours.organization_id, /^(sync_jobs|job_|runs)/)

  it.each(
    sample(
      writes.filter(({ row }) => row.answers !== 202),
      2,
      1,
    ),
  )('$name: nothing of it is left when the event cannot be written', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    for (const d1 of DATABASES)
      await d1.prepare("create trigger refuse before insert on audit_events begin select raise(abort, 'no events today'); end").run()
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const before = await stored()
    const answer = await send(entry.route.method, path, { ...sent, authorization: basic(ours.callers.owner), breaks: true })
    expect([answer.status, answer.body.code, answer.body.detail]).toEqual([500, 'internal', 'Something went wrong on our side.'])
    expect(await stored()).toBe(before)
    error.mockRestore()
  })

  const TABLES: Record<string, [string, string]> = {
    'PATCH /v1/organization': ['update', 'organizations'],
    'POST /v1/team/members/invite': ['insert', 'invitations'],
    'PATCH /v1/team/members/:member_id': ['update', 'members'],
    'DELETE /v1/team/members/:member_id': ['update', 'members'],
    'PATCH /v1/team/mail-preferences': ['update', 'members'],
    'POST /v1/credentials': ['insert', 'credentials'],
    'DELETE /v1/credentials/:api_key': ['update', 'credentials'],
    'POST /v1/extractors': ['insert', 'extractors'],
    'PATCH /v1/extractors/:extractor_id': ['update', 'extractors'],
    'DELETE /v1/extractors/:extractor_id': ['delete', 'extractors'],
    'POST /v1/fiscal-entities': ['insert', 'connections'],
    'PATCH /v1/fiscal-entities/:fiscal_entity_id': ['update', 'connections'],
    'POST /v1/webhooks': ['insert', 'webhooks'],
    'PATCH /v1/webhooks/:webhook_id': ['update', 'webhooks'],
    'DELETE /v1/webhooks/:webhook_id': ['update', 'webhooks'],
    'POST /v1/webhooks/:webhook_id/rotate-secret': ['update', 'webhooks'],
    'POST /v1/webhooks/:webhook_id/rotate-secret/commit': ['update', 'webhooks'],
    'POST /v1/webhooks/:webhook_id/test': ['insert', 'deliveries'],
    'POST /v1/webhooks/:webhook_id/deliveries/:event_id/redeliver': ['insert', 'deliveries'],
    'POST /v1/alerts/read': ['update', 'alerts'],
    'POST /v1/alerts/:alert_id/read': ['update', 'alerts'],
  }
  it.each(writes.filter(({ name }) => TABLES[name]))('$name: no event is left when the change cannot be written', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    const [verb, table] = TABLES[entry.name]!
    const d1 = /^(webhooks|deliveries|alerts)$/.test(table) ? env.EVENTS_0 : env.DB
    await d1.prepare(`create trigger refuse before ${verb} on ${table} begin select raise(abort, 'not today'); end`).run()
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const before = await stored()
    const answer = await send(entry.route.method, path, { ...sent, authorization: basic(ours.callers.owner), breaks: true })
    expect([answer.status, await stored()]).toEqual([500, before])
    error.mockRestore()
  })

  it('an organization is created whole or not at all', async () => {
    const count = () =>
      env.DB.prepare(
        'select (select count(*) from organizations) + (select count(*) from members) + (select count(*) from credentials) + (select count(*) from extractors) as n',
      ).first('n')
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const before = await count()
    for (const table of ['organizations', 'members', 'credentials', 'extractors', 'audit_events']) {
      await env.DB.prepare(`create trigger refuse before insert on ${table} begin select raise(abort, 'not today'); end`).run()
      const body = JSON.stringify({ organization_name: 'Uno', name: 'Ana', email: 'ana@example.com' })
      const answer = await send('POST', '/v1/auth/signup', { headers: { 'content-type': 'application/json' }, body, breaks: true })
      expect([table, answer.status, await count()]).toEqual([table, 500, before])
      await env.DB.prepare('drop trigger refuse').run()
    }
    error.mockRestore()
  })
})

describe('reading the events', () => {
  const ids = (body: { data: { audit_event_id: string }[] }): string[] => body.data.map(({ audit_event_id }) => audit_event_id)

  it('newest first, page by page, also when more happens meanwhile', async () => {
    const { owner } = await organizationWith()
    for (const name of ['Uno', 'Dos', 'Tres', 'Cuatro']) await api(owner, 'PATCH', '/v1/organization', { name })
    const all = (await api(owner, 'GET', `${AUDIT}?limit=100`)).body
    expect([all.has_more, all.next_cursor, ids(all)]).toEqual([false, null, [...ids(all)].sort().reverse()])
    expect(all.data[0]).toEqual({
      audit_event_id: expect.stringMatching(/^aud_/),
      actor: owner.api_key,
      action: 'organization.updated',
      resource_id: owner.organization_id,
      changed: ['name'],
      request_id: expect.stringMatching(/^req_/),
      created_at: expect.any(String),
    })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await api(owner, 'GET', `${AUDIT}?limit=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...ids(body))
      cursor = body.next_cursor
      await api(owner, 'PATCH', '/v1/organization', { name: `Luego ${seen.length}` })
    }
    expect(seen).toEqual(ids(all))
  })

  it('by action, by resource, and by both', async () => {
    const { owner } = await organizationWith()
    const { body: extractor } = await api(owner, 'POST', '/v1/extractors', {
      name: 'x',
      trigger_kind: 'connection_created',
      scope: 'full_history',
      data_source_keys: ['sat_csf'],
    })
    await api(owner, 'PATCH', `/v1/extractors/${extractor.extractor_id}`, { name: 'y', is_enabled: false })
    const of = async (query: string) =>
      (await api(owner, 'GET', `${AUDIT}?${query}`)).body.data.map(({ action, changed }: { action: string; changed: string[] }) => [
        action,
        changed.length > 0,
      ])
    expect(await of(`resource_id=${extractor.extractor_id}`)).toEqual([
      ['extractor.updated', true],
      ['extractor.created', true],
    ])
    expect(await of('action=credential.created')).toEqual([
      ['credential.created', true],
      ['credential.created', true],
    ])
    expect(await of(`action=extractor.updated&resource_id=${extractor.extractor_id}`)).toEqual([['extractor.updated', true]])
    expect(await of('action=nothing.happened')).toEqual([])
  })

  it('by who made the change and by when', async () => {
    const { owner, callers } = await organizationWith()
    const draft = { trigger_kind: 'connection_created', scope: 'full_history', data_source_keys: ['sat_csf'] }
    for (const [by, name] of [
      [owner, 'one'],
      [callers.admin, 'two'],
      [owner, 'three'],
    ] as const)
      expect((await api(by, 'POST', '/v1/extractors', { ...draft, name })).status).toBe(201)
    const listed = async (query: string) =>
      (await api(owner, 'GET', `${AUDIT}?action=extractor.created&${query}`)).body.data as { actor: string; created_at: string }[]
    const all = await listed('')
    expect(all.map(({ actor }) => actor)).toEqual([owner.api_key, callers.admin.api_key, owner.api_key])
    expect(await listed(`actor=${callers.admin.api_key}`)).toEqual([all[1]])
    expect(await listed('actor=system:billing')).toEqual([])
    const within = (from: string | null, to: string | null) =>
      all.filter(({ created_at }) => (from === null || created_at >= from) && (to === null || created_at <= to))
    for (const { created_at } of all) {
      const instant = encodeURIComponent(created_at)
      expect(await listed(`since=${instant}`)).toEqual(within(created_at, null))
      expect(await listed(`until=${instant}`)).toEqual(within(null, created_at))
      expect(await listed(`since=${instant}&until=${instant}`)).toEqual(within(created_at, created_at))
    }
    expect(await listed('until=2025-01-01T00:00:00Z')).toEqual([])
    expect((await api(owner, 'GET', `${AUDIT}?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z`)).status).toBe(422)
    expect((await api(owner, 'GET', `${AUDIT}?since=yesterday`)).status).toBe(422)
  })

  it('is for owners and admins, and of one’s own organization only', async () => {
    const [one, two] = [await organizationWith(), await organizationWith()]
    for (const [role, status] of [
      ['owner', 200],
      ['admin', 200],
      ['member', 403],
    ] as const)
      expect([role, (await api(one.callers[role], 'GET', AUDIT)).status]).toEqual([role, status])
    expect(JSON.stringify((await api(two.owner, 'GET', `${AUDIT}?limit=100`)).body)).not.toContain(one.owner.api_key)
    expect((await api(two.owner, 'GET', `${AUDIT}?resource_id=${one.owner.organization_id}`)).body.data).toEqual([])
    expect((await api(two.owner, 'GET', `${AUDIT}?resource_id=${one.callers.member.api_key}`)).body.data).toEqual([])
  })

  it('keeps changes for two years, in both databases of the organization, and can be read page by page until then', async () => {
    const { owner } = await organizationWith()
    expect(
      (await api(owner, 'POST', '/v1/webhooks', { name: 'a', url: 'https://hooks.example.com/a', event_keys: ['sync.completed'] })).status,
    ).toBe(201)
    const all = async () => {
      const found: { action: string; created_at: string }[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await api(owner, 'GET', `${AUDIT}?limit=2${cursor && `&cursor=${cursor}`}`)
        found.push(...body.data)
        cursor = body.next_cursor
      }
      return found
    }
    const before = await all()
    expect(before.map(({ action }) => action)).toEqual(expect.arrayContaining(['organization.created', 'webhook.created']))
    const [newest, oldest] = [before[0]!, before.at(-1)!].map(({ created_at }) => new Date(created_at))
    const pruneAt = (instant: Date) => runTask(systemOf(env, instant, 'test'), { task: 'pruneAudit', at: instant.getTime(), cursor: '' })
    const twoYearsAfter = (instant: Date | undefined, ms: number) => {
      const later = new Date(instant!)
      later.setUTCFullYear(later.getUTCFullYear() + 2)
      return new Date(later.getTime() + ms)
    }
    await pruneAt(twoYearsAfter(oldest, 0))
    expect(await all()).toEqual(before)
    await pruneAt(twoYearsAfter(newest, 1_000))
    expect(await all()).toEqual([])
  })
})
