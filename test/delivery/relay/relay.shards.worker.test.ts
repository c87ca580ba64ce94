import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PAYLOADS } from '../../../src/delivery/catalog/payload-contract.ts'
import { sweepDeliveries } from '../../../src/delivery/deliveries/delivery.ts'
import { relayOutbox, sweepOutboxes } from '../../../src/delivery/relay/relay.ts'
import { uuidOf } from '../../../src/platform/db/id.ts'
import type { OutboxEvent } from '../../../src/platform/outbox/outbox.ts'
import { shownJobId } from '../../../src/taxpayers/visibility/jobs.ts'
import { countSlice, type SliceCounts } from '../../../src/taxpayers/visibility/slice-counts.ts'
import { keepJobs } from '../../downloads/support/kept-jobs.ts'
import { at, restore } from '../../support/clock.ts'
import { type GrantedRange, reaching } from '../../support/context.ts'
import { runs, sample } from '../../support/fuzz.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import {
  cancelled,
  deliveriesOf,
  type EventKept,
  endpoints,
  feedOf,
  type Linked,
  left,
  link,
  newEntity,
  notify,
  OUTBOXES,
  organizations,
  paidFrom,
  systemIn,
  UNPAID,
  watchedEnv,
} from '../support/relay.ts'
import { inShards, SHARDS } from '../support/shards.ts'

const NOW = '2026-03-20T20:00:00.000Z'
const AS_OF = Date.parse(NOW)
const LEDGERS = OUTBOXES().slice(1)
const SEES_ALL = { state: 'active', ...reaching(null) }

beforeEach(() => {
  at(NOW)
})
afterEach(restore)

const relayAll = async (it = watchedEnv().env) => {
  for (const [outbox] of OUTBOXES()) await relayOutbox(systemIn(it), outbox)
}
const outboxes = async () => (await Promise.all(OUTBOXES().map(([, database]) => left(database)))).flat()

/** The ledger that holds an entity here. */
const ledgerOf = (entity: number): D1Database => LEDGERS[entity % LEDGERS.length]![1]

/** One organization that sees all of one RFC. */
async function reader(state: object = SEES_ALL, extractor_count = 0) {
  const [organization_id] = (await organizations([{ extractor_count }])) as [string]
  const entity = newEntity()
  await link([{ organization_id, ...entity, ...state } as Linked])
  return { organization_id, ...entity, head: { fiscal_entity_id: uuidOf(entity.fiscal_entity_id), rfc: entity.rfc } }
}

const bodies = (feed: readonly EventKept[]) => feed.map(({ body }) => body)
const keys = (feed: readonly EventKept[]) => feed.map(({ key }) => key)

describe('what a fact says', () => {
  const EVENT = { event_id: expect.stringMatching(/^evt_[0-9a-z]{26}$/), ordering: expect.any(Number), occurred_at: NOW }

  const SAID = {
    cancelled_at: '2026-03-20T13:30:00-06:00',
    cancellation_reason: '02',
    direction: 'received',
    cfdi_type: 'I',
    total: '11600.00',
    currency: 'MXN',
    emisor_rfc: 'JES900109Q90',
    receptor_rfc: 'EKU9003173C9',
    issued_at: '2026-03-03T10:15:00-06:00',
  }

  it.each([
    ['one event of what was not paid', UNPAID, ['cfdi.cancelled'], { severity: 'warning', payment_status: 'unpaid' }],
    ['two of what was', paidFrom(0), ['cfdi.cancelled', 'cfdi.cancelled_after_payment'], { severity: 'critical', payment_status: 'paid' }],
  ] as const)('a cancellation: %s, with the specification’s members, event_id and occurred_at', async (_, payments, kinds, said) => {
    const { organization_id, entity, head } = await reader()
    const fact = cancelled(entity, '2026-03-03T10:15:00', { payments })
    await notify(ledgerOf(entity), [fact])
    await relayAll()
    const feed = await feedOf([organization_id])
    const cfdi_uuid = fact.body['cfdi_uuid']
    expect(bodies(feed)).toEqual(kinds.map((event) => ({ event, ...EVENT, ...head, cfdi_uuid, ...SAID, ...said })))
    expect(keys(feed)).toEqual(kinds)
    for (const { key, event_id, body } of feed) {
      expect(event_id).toBe(body.event_id)
      expect(PAYLOADS[key as (typeof kinds)[number]].safeParse(body).error).toBeUndefined()
    }
  })

  it('a cancellation: each listener is told what its own window knows of the payments', async () => {
    const paid_at = AS_OF / 1_000 - 86_400
    const windows: [visible_to: number, status: string][] = [
      [AS_OF, 'paid'],
      [paid_at * 1_000, 'paid'],
      [paid_at * 1_000 - 1, 'partially_paid'],
      [paid_at * 1_000 - 3_600_000, 'partially_paid'],
      [paid_at * 1_000 - 3_600_001, 'unpaid'],
    ]
    const { entity, fiscal_entity_id, rfc } = newEntity()
    const ids = await organizations(windows.map(() => ({ extractor_count: 1 })))
    await link(
      windows.map(([visible_to], n) => ({
        ...{ organization_id: ids[n]!, entity, fiscal_entity_id, rfc, state: 'active', ...reaching(['2018-01-01', visible_to]) },
      })),
    )
    const payments = [...UNPAID, [paid_at - 3_600, 'partially_paid', true], [paid_at, 'paid', true]]
    await notify(ledgerOf(entity), [cancelled(entity, '2026-03-03T10:15:00', { payments })])
    await relayAll()
    for (const [n, [, payment_status]] of windows.entries()) {
      const severity = payment_status === 'unpaid' ? 'warning' : 'critical'
      const notified = (await feedOf([ids[n]!])).map(({ key, body }) => [key, body.payment_status, body.severity])
      const also = severity === 'critical' ? [['cfdi.cancelled_after_payment', payment_status, severity]] : []
      expect(notified).toEqual([['cfdi.cancelled', payment_status, severity], ...also])
    }
  })

  it('a cancellation: issued income counts as such once its month is over in Mexico City, not before', async () => {
    const { organization_id, entity } = await reader()
    const issued = { direction: 'issued', issued_at: Date.parse('2026-03-31T18:00:00Z') / 1_000 }
    // The last second of March there is April in Greenwich already.
    const detected = ['2026-04-01T05:59:59Z', '2026-04-01T06:00:00Z'].map((text) => ({ detected_at: Date.parse(text) }))
    await notify(
      ledgerOf(entity),
      [...detected.map((at) => ({ ...issued, ...at })), { ...issued, ...detected[1], cfdi_type: 'E' }, detected[1]!].map((more) =>
        cancelled(entity, '2026-03-31T12:00:00', more),
      ),
    )
    await relayAll()
    expect((await feedOf([organization_id])).map(({ key, body }) => [key, body.severity])).toEqual([
      ['cfdi.cancelled', 'warning'],
      ['cfdi.cancelled', 'critical'],
      ['cfdi.cancelled_after_payment', 'critical'],
      ['cfdi.cancelled', 'warning'],
      ['cfdi.cancelled', 'warning'],
    ])
  })

  it('a cancellation: one older than the end of the active connection is told, a later one is not, and one that was missed is told once', async () => {
    const { organization_id, entity } = await reader({ state: 'paused', ...reaching(['2018-01-01', AS_OF]) }, 1)
    const unnotified = JSON.stringify({ since: AS_OF, ...reaching(['2018-01-01', AS_OF]) })
    await env.DB.prepare('update connections set unnotified = ?2 where entity = ?1').bind(entity, unnotified).run()
    const [older, later] = [cancelled(entity, '2026-03-03T10:15:00'), cancelled(entity, '2026-03-04T10:15:00')]
    await notify(ledgerOf(entity), [older], AS_OF - 1)
    await notify(ledgerOf(entity), [later], AS_OF)
    await relayAll()
    const uuids = async () => (await feedOf([organization_id])).map(({ body }) => body.cfdi_uuid)
    expect(await uuids()).toEqual([older.body['cfdi_uuid']])
    // Active again: the event for everybody and the one for this organization are in the outbox at the same time.
    await env.DB.prepare("update connections set state = 'active' where entity = ?").bind(entity).run()
    const missed = { ...later, outbox_event_id: `${later.outbox_event_id}:${organization_id}`, organizations: [organization_id] }
    await notify(ledgerOf(entity), [later, missed])
    await relayAll()
    await notify(ledgerOf(entity), [missed])
    await relayAll()
    expect(await uuids()).toEqual([older.body['cfdi_uuid'], later.body['cfdi_uuid']])
  })

  it('of a document that only the metadata has, or that is about withholding, has a value for every member', async () => {
    const { organization_id, entity } = await reader()
    await notify(ledgerOf(entity), [
      cancelled(entity, '2026-03-03T10:15:00', { cancelled_at: null, cfdi_type: null, total: null, currency: null, utc_offset: -420 }),
      cancelled(entity, '2026-03-03T10:15:00', { utc_offset: 0, cancellation_reason: 'unknown' }),
    ])
    await relayAll()
    const notified = bodies(await feedOf([organization_id]))
    expect(notified.map((body) => PAYLOADS['cfdi.cancelled'].safeParse(body).error)).toEqual([undefined, undefined])
    expect(notified[0]).toMatchObject({
      cancelled_at: NOW,
      cfdi_type: 'retenciones',
      total: '0',
      currency: 'XXX',
      issued_at: '2026-03-03T10:15:00-07:00',
    })
    expect(notified[1]).toMatchObject({ issued_at: '2026-03-03T10:15:00+00:00', cancellation_reason: 'unknown' })
  })

  const JOB = {
    job_id: 'job_01kabcdefghjkmnpqrstvwxyz0',
    data_source_key: 'sat_cfdi_issued',
    period: '2026-03',
    ...{ error_class: null as string | null, attempts: 1, completed_at: AS_OF },
  }
  const BROUGHT: SliceCounts = [
    ['created', '2026-03-01', 2, 1_772_388_000, 1_772_391_600],
    ['cancelled', '2026-03-01', 1, 1_772_388_060, 1_772_388_060],
    ['created', '2026-03-02', 1, 1_772_474_400, 1_772_474_400],
    ['updated', '2026-03-02', 1, 1_772_474_400, 1_772_474_400],
  ]
  const synced = (entity: number, organization_id: string, body: object, kind = 'sync.completed') =>
    ({ outbox_event_id: `${kind}:${entity}`, kind, entity, organizations: [organization_id], body }) as unknown as OutboxEvent
  /** Tells of the job, which follows one of the same month. */
  async function notifyJob(entity: number, organization_id: string, body: typeof JOB = JOB, kind = 'sync.completed') {
    const { job_id, period, data_source_key: source } = body
    const job = { entity, source, month: period, organizations: [organization_id] }
    await keepJobs(ledgerOf(entity), [
      { ...job, job_id: 'job_0', brought: [], finished_at: AS_OF - 86_400_000 },
      { ...job, job_id, brought: [BROUGHT], status: kind === 'sync.failed' ? 'failed' : 'succeeded' },
    ])
    await notify(ledgerOf(entity), [synced(entity, organization_id, body, kind)])
  }
  const COUNTS = {
    ...{ created_count: 3, updated_count: 1, cancelled_count: 1 },
    ...{ first_issued_at: '2026-03-01T18:00:00.000Z', last_issued_at: '2026-03-02T18:00:00.000Z', completed_at: NOW },
  }
  const OF_JOB = {
    job_id: expect.stringMatching(/^job_[0-9a-z]{26}$/),
    data_source_key: 'sat_cfdi_issued',
    period: '2026-03',
    document_type: 'cfdi',
    direction: 'issued',
  }

  it('sync.completed: counts of what the window admits', async () => {
    const { organization_id, entity, head } = await reader()
    await notifyJob(entity, organization_id)
    const narrow = await reader({ state: 'active', ...reaching(['2026-03-02', AS_OF]) }, 1)
    await notifyJob(narrow.entity, narrow.organization_id)
    const paused = await reader({ ...SEES_ALL, state: 'paused' })
    await notifyJob(paused.entity, paused.organization_id)
    await relayAll()
    expect(bodies(await feedOf([organization_id]))).toEqual([{ event: 'sync.completed', ...EVENT, ...head, ...OF_JOB, ...COUNTS }])
    expect(bodies(await feedOf([narrow.organization_id]))).toEqual([
      {
        ...{ event: 'sync.completed', ...EVENT, ...narrow.head, ...OF_JOB, ...COUNTS },
        ...{ created_count: 1, cancelled_count: 0, first_issued_at: '2026-03-02T18:00:00.000Z' },
      },
    ])
    // Without an active connection nothing is read, and so nothing counted.
    expect(bodies(await feedOf([paused.organization_id]))).toEqual([
      {
        ...{ event: 'sync.completed', ...EVENT, ...paused.head, ...OF_JOB, completed_at: NOW },
        ...{ created_count: 0, updated_count: 0, cancelled_count: 0, first_issued_at: null, last_issued_at: null },
      },
    ])
  })

  it('sync.completed: names the job by an identifier of the connection’s own', async () => {
    const [first, second] = [await reader(), await reader()]
    for (const { organization_id, entity } of [first, second]) await notify(ledgerOf(entity), [synced(entity, organization_id, JOB)])
    await relayAll()
    const notified = await Promise.all(
      [first, second].map(async ({ organization_id }) => (await feedOf([organization_id]))[0]!.body.job_id),
    )
    expect(notified).toEqual(
      await Promise.all(
        [first, second].map(({ fiscal_entity_id }) => shownJobId(fiscal_entity_id, JOB.data_source_key, JOB.period ?? '', JOB.job_id)),
      ),
    )
    expect(new Set([...notified, JOB.job_id]).size).toBe(3)
  })

  it('sync.completed: waits for the run that is about to widen the window, at most two minutes', async () => {
    const { organization_id, entity } = await reader({ state: 'active', ...reaching(null) }, 1)
    await env.DB.prepare(
      `insert into runs (run_id, organization_id, extractor_id, trigger, instant, status, connections, dispatched, created_at)
       values (?1, ?1, 'ext', 'manual', ?2, 'planned', 0, 0, ?2)`,
    )
      .bind(organization_id, AS_OF)
      .run()
    await notifyJob(entity, organization_id)
    await relayAll()
    expect(await feedOf([organization_id])).toEqual([])
    await env.DB.batch([
      env.DB.prepare('update connections set issued_from = ?2, issued_to = ?3 where organization_id = ?1').bind(
        organization_id,
        '2026-03-01',
        AS_OF,
      ),
      env.DB.prepare("update runs set status = 'dispatched' where run_id = ?").bind(organization_id),
    ])
    await relayAll()
    expect(bodies(await feedOf([organization_id]))).toMatchObject([COUNTS])

    await env.DB.prepare("update runs set status = 'planned' where run_id = ?").bind(organization_id).run()
    await notify(ledgerOf(entity), [synced(entity, organization_id, JOB, 'sync.failed')])
    at('2026-03-20T20:02:01.000Z')
    await relayAll()
    expect(keys(await feedOf([organization_id]))).toEqual(['sync.completed', 'sync.failed'])
    await env.DB.prepare('delete from runs where run_id = ?').bind(organization_id).run()
  })

  it('sync.completed: waits neither for a run of another RFC nor for one that itself waits for an answer about a CIEC', async () => {
    const { organization_id, entity, fiscal_entity_id } = await reader()
    const planned = (run_id: string, of: string | null, moved_at: number) =>
      env.DB.prepare(
        `insert into runs (run_id, organization_id, extractor_id, trigger, fiscal_entity_id, instant, status, connections, dispatched, created_at, moved_at)
         values (?1, ?2, 'ext', 'manual', ?3, ?4, 'planned', 0, 0, ?4, ?5)`,
      ).bind(run_id, organization_id, of, AS_OF, moved_at)
    await env.DB.batch([
      planned('other', newEntity().fiscal_entity_id, AS_OF),
      planned('postponed', fiscal_entity_id, AS_OF + 1),
      planned('later', null, AS_OF + 1),
    ])
    await notifyJob(entity, organization_id)
    await relayAll()
    expect(keys(await feedOf([organization_id]))).toEqual(['sync.completed'])

    // A run that goes on now is waited for, and the relay looks again within seconds.
    await env.DB.prepare("update runs set moved_at = ?1 where run_id = 'postponed'").bind(AS_OF).run()
    await notify(ledgerOf(entity), [synced(entity, organization_id, JOB, 'sync.failed')])
    const { env: watched } = watchedEnv()
    const delays: unknown[] = []
    const sendBatch = async (messages: Iterable<MessageSendRequest>) => void delays.push(...[...messages].map((one) => one.delaySeconds))
    await relayAll({ ...watched, WEBHOOKS: { sendBatch } } as unknown as Env)
    expect([keys(await feedOf([organization_id])), delays]).toEqual([['sync.completed'], [5]])
    await env.DB.prepare('delete from runs where organization_id = ?').bind(organization_id).run()
    delays.splice(0)
    await relayAll({ ...watched, WEBHOOKS: { sendBatch } } as unknown as Env)
    expect([keys(await feedOf([organization_id])), delays]).toEqual([['sync.completed', 'sync.failed'], []])
  })

  it('cfdi.cancelled: waits only for those whose own run may widen their window; everybody else is told at once, and nobody twice', async () => {
    const ours = await reader()
    const [theirs] = (await organizations([{ extractor_count: 1 }])) as [string]
    const { entity, rfc } = ours
    const window = { state: 'active', ...reaching(['2026-03-10', AS_OF]) }
    await link([{ organization_id: theirs, entity, rfc, fiscal_entity_id: newEntity().fiscal_entity_id, ...window }])
    await env.DB.prepare(
      `insert into runs (run_id, organization_id, extractor_id, trigger, instant, status, connections, dispatched, created_at)
       values (?1, ?1, 'ext', 'manual', ?2, 'planned', 0, 0, ?2)`,
    )
      .bind(theirs, AS_OF)
      .run()
    const fact = cancelled(entity, '2026-03-03T10:15:00')
    await notify(ledgerOf(entity), [fact])
    for (let times = 0; times < 3; times++) await relayAll()
    expect([keys(await feedOf([ours.organization_id])), keys(await feedOf([theirs]))]).toEqual([['cfdi.cancelled'], []])
    expect(await outboxes()).toEqual([fact.outbox_event_id])
    await env.DB.batch([
      env.DB.prepare('update connections set issued_from = ?2, received_from = ?2 where organization_id = ?1').bind(theirs, '2026-03-01'),
      env.DB.prepare("update runs set status = 'dispatched' where run_id = ?").bind(theirs),
    ])
    await relayAll()
    expect([keys(await feedOf([ours.organization_id])), keys(await feedOf([theirs]))]).toEqual([['cfdi.cancelled'], ['cfdi.cancelled']])
    expect(await outboxes()).toEqual([])
    await env.DB.prepare('delete from runs where run_id = ?').bind(theirs).run()
  })

  it('sync.completed: of a document source, without a month', async () => {
    const { organization_id, entity, head } = await reader()
    const job = { ...JOB, data_source_key: 'sat_opinion_32d', period: null }
    const source = { entity, source: job.data_source_key, month: '', organizations: [organization_id], brought: [] }
    await keepJobs(ledgerOf(entity), [{ ...source, job_id: JOB.job_id, created_at: 1_000 }])
    await ledgerOf(entity)
      .prepare(
        `insert into documents (entity, document_id, source, kind, series, name, title, content_type, size, sha256, document_date, attributes,
           organizations, created_at, fields_status)
         values (?1, 'doc_1', ?2, 'opinion_32d', 'opinion_32d', '', '', '', 0, '', '2026-03-20', '{}', json_object(?3, 2000), 2000, 'pending')`,
      )
      .bind(entity, job.data_source_key, organization_id)
      .run()
    await notify(ledgerOf(entity), [synced(entity, organization_id, job)])
    await relayAll()
    expect(bodies(await feedOf([organization_id]))).toEqual([
      {
        ...{ event: 'sync.completed', ...EVENT, ...head, ...OF_JOB, data_source_key: 'sat_opinion_32d' },
        ...{ period: null, document_type: 'opinion_32d', direction: null, created_count: 1, updated_count: 0, cancelled_count: 0 },
        ...{ first_issued_at: null, last_issued_at: null, completed_at: NOW },
      },
    ])
    expect(PAYLOADS['sync.completed'].safeParse((await feedOf([organization_id]))[0]!.body).error).toBeUndefined()
  })

  it.each([
    ['sat_unavailable', 'sat_unavailable', 'The tax authority was not available, or did not deliver what it was asked for.'],
    [null, 'undefined', 'The download failed.'],
  ])('sync.failed: with the class %s', async (error_class, notified, sentence) => {
    const { organization_id, entity, head } = await reader()
    await notifyJob(entity, organization_id, { ...JOB, error_class }, 'sync.failed')
    await relayAll()
    const [body] = bodies(await feedOf([organization_id]))
    expect(body).toEqual({
      ...{ event: 'sync.failed', ...EVENT, ...head, ...OF_JOB, ...COUNTS },
      ...{ error_class: notified, last_code: `${notified}: ${sentence}`, will_retry: false, next_attempt_at: null },
    })
    expect(PAYLOADS['sync.failed'].safeParse(body).error).toBeUndefined()
  })

  it('connection.ciec_invalid: when it was rejected, to those who are named', async () => {
    const { organization_id, entity, head } = await reader({ ...SEES_ALL, state: 'invalid_ciec' })
    const rejected_at = '2026-03-20T19:59:00.000Z'
    const fact = {
      outbox_event_id: `connection.ciec_invalid:${entity}`,
      kind: 'connection.ciec_invalid' as const,
      entity,
      organizations: [organization_id],
    }
    await notify(env.DB, [{ ...fact, body: { rejected_at, invalid_reason: 'efirma_refused' } }])
    await relayAll()
    expect(bodies(await feedOf([organization_id]))).toEqual([
      { event: 'connection.ciec_invalid', ...EVENT, ...head, rejected_at, invalid_reason: 'efirma_refused' },
    ])
  })
})

describe('deliveries', () => {
  it('are made for the enabled endpoints that are subscribed to the key, and were there before', async () => {
    const [ours, theirs] = [await reader(), await reader()]
    const [cancels, syncs, disabled, deleted, everything, foreign] = (await endpoints([
      { organization_id: ours.organization_id, event_keys: ['cfdi.cancelled'] },
      { organization_id: ours.organization_id, event_keys: ['sync.completed', 'cfdi.cancelled_after_payment'] },
      { organization_id: ours.organization_id, event_keys: ['cfdi.cancelled'], is_enabled: false },
      { organization_id: ours.organization_id, event_keys: ['cfdi.cancelled'], deleted_at: 5 },
      { organization_id: ours.organization_id, event_keys: Object.keys(PAYLOADS) },
      { organization_id: theirs.organization_id, event_keys: Object.keys(PAYLOADS) },
    ])) as unknown as [string, string, string, string, string, string]
    await notify(ledgerOf(ours.entity), [cancelled(ours.entity, '2026-03-03T10:15:00')])
    const { env: watched, sent } = watchedEnv()
    await relayAll(watched)
    const [event] = await feedOf([ours.organization_id])
    expect(sent).toEqual([{ endpoint: cancels }, { endpoint: everything }])
    const [late] = (await endpoints([{ organization_id: ours.organization_id, event_keys: ['cfdi.cancelled'] }])) as unknown as [string]
    await relayAll(watched)
    const all = [cancels, syncs, disabled, deleted, everything, foreign, late]
    expect(await deliveriesOf(all)).toEqual([cancels, everything].map((webhook) => `${webhook} ${event!.event_id}`).sort())
  })
})

describe('a fact relayed again', () => {
  it('makes nothing twice, and its event has the same id wherever it is found', async () => {
    const ours = await reader()
    const theirs = (await organizations([{ extractor_count: 0 }]))[0]!
    await link(
      [{ ...ours, ...SEES_ALL, organization_id: theirs, fiscal_entity_id: ours.fiscal_entity_id, rfc: ours.rfc, entity: ours.entity }].map(
        ({ head: _, ...row }) => row,
      ),
    )
    const all = await endpoints(
      [ours.organization_id, theirs].map((organization_id) => ({ organization_id, event_keys: ['cfdi.cancelled'] })),
    )
    const facts = Array.from({ length: 7 }, (_, n) => cancelled(ours.entity, `2026-03-0${n + 1}T10:15:00`))
    const ledger = ledgerOf(ours.entity)
    await notify(ledger, facts)
    await relayAll()
    const [feed, deliveries] = [await feedOf([ours.organization_id, theirs]), await deliveriesOf(all)]
    expect([feed.length, new Set(feed.map(({ event_id }) => event_id)).size, deliveries.length]).toEqual([14, 14, 14])
    // As after a crash between the commit of the events and the deletion of the facts, with one more.
    await notify(ledger, [...facts, cancelled(ours.entity, '2026-03-09T10:15:00')])
    await relayAll()
    expect((await feedOf([ours.organization_id, theirs])).filter(({ event_id }) => feed.some((it) => it.event_id === event_id))).toEqual(
      feed,
    )
    expect([(await feedOf([ours.organization_id, theirs])).length, (await deliveriesOf(all)).length, await outboxes()]).toEqual([
      16,
      16,
      [],
    ])
    // And as if nothing of it had been kept.
    await inShards(
      'delete from deliveries where webhook in (select webhook from webhooks where organization_id in (?, ?))',
      ours.organization_id,
      theirs,
    )
    await inShards('delete from events where organization_id in (?, ?)', ours.organization_id, theirs)
    await notify(ledger, facts.toReversed())
    await relayAll()
    const notified = (await feedOf([ours.organization_id, theirs])).map(({ event_id }) => event_id)
    expect(notified.sort()).toEqual(feed.map(({ event_id }) => event_id).sort())
    expect(await deliveriesOf(all)).toEqual(deliveries)
  })

  it.each([
    ['with the lane', false],
    ['each thinking that it has the lane', true],
  ])('by twenty at once, %s, makes each event once, in pages of a hundred', async (_, isAlone) => {
    const ours = await reader()
    const all = await endpoints([{ organization_id: ours.organization_id, event_keys: ['cfdi.cancelled'] }])
    const facts = Array.from({ length: 230 }, (_, n) => cancelled(ours.entity, `2026-03-${String(1 + (n % 19)).padStart(2, '0')}T10:15:00`))
    await notify(ledgerOf(ours.entity), facts)
    const { env: watched, sent } = watchedEnv()
    if (isAlone) Object.assign(watched, { MUTEXES: { getByName: () => ({ enter: async () => true, leave: async () => false }) } })
    const [outbox] = LEDGERS[ours.entity % LEDGERS.length]!
    const ends = await Promise.allSettled(Array.from({ length: 20 }, () => relayOutbox(systemIn(watched), outbox)))
    // Who gives up is called again by its queue.
    while (sent.some((message) => 'outbox' in (message as object)) || ends.some(({ status }) => status === 'rejected')) {
      ends.length = 0
      sent.splice(0)
      await relayAll(watched)
    }
    const feed = await feedOf([ours.organization_id])
    expect(feed.map(({ body }) => body.cfdi_uuid).sort()).toEqual(facts.map(({ body }) => body['cfdi_uuid']).sort())
    expect(await deliveriesOf(all)).toEqual(feed.map(({ event_id }) => `${all[0]} ${event_id}`).sort())
    expect(await outboxes()).toEqual([])
  })

  it('and many of them go on by themselves, a message after each twenty pages', async () => {
    const ours = await reader()
    const [outbox, ledger] = LEDGERS[ours.entity % LEDGERS.length]!
    await notify(
      ledger,
      Array.from({ length: 2_050 }, () => cancelled(ours.entity, '2026-03-03T10:15:00')),
    )
    const { env: watched, sent } = watchedEnv()
    await relayOutbox(systemIn(watched), outbox)
    expect([sent, (await left(ledger)).length]).toEqual([[{ outbox }], 50])
    await relayOutbox(systemIn(watched), outbox)
    expect([sent, await left(ledger)]).toEqual([[{ outbox }], []])
    const feed = await feedOf([ours.organization_id])
    expect([feed.length, new Set(feed.map(({ seq }) => seq)).size]).toEqual([2_050, 2_050])
  })
})

describe('a crash', () => {
  /** From one step on nothing more is done: the step itself happened or not. */
  function dyingAt(step: number, when: 'before' | 'after') {
    let [steps, died] = [0, '']
    const watched = watchedEnv((name, now) => {
      if (now === when) steps++
      if (died === '' && steps === step && now === when) died = `${step} ${name} ${when}`
      if (died !== '') throw new Error(`Died at ${died}.`)
    })
    return { ...watched, died: () => died }
  }

  async function world() {
    const [wide, narrow] = [await reader(), await reader({ state: 'active', ...reaching(['2026-03-10', AS_OF]) }, 1)]
    const { entity, fiscal_entity_id, rfc } = wide
    await link([
      {
        organization_id: narrow.organization_id,
        entity,
        fiscal_entity_id,
        rfc,
        state: 'active',
        ...reaching(['2026-03-10', AS_OF]),
      },
    ])
    const all = await endpoints([
      { organization_id: wide.organization_id, event_keys: ['cfdi.cancelled', 'connection.ciec_invalid'] },
      { organization_id: wide.organization_id, event_keys: ['cfdi.cancelled'] },
      { organization_id: narrow.organization_id, event_keys: ['cfdi.cancelled'] },
    ])
    const early = cancelled(entity, '2026-03-03T10:15:00')
    const late = cancelled(entity, '2026-03-12T10:15:00')
    const poison = { ...cancelled(entity, '2026-03-12T10:15:00'), kind: 'cfdi.exploded' } as unknown as OutboxEvent
    const invalid = {
      ...{ outbox_event_id: `connection.ciec_invalid:${entity}:1`, kind: 'connection.ciec_invalid' as const, entity },
      ...{ organizations: [wide.organization_id], body: { rejected_at: NOW, invalid_reason: 'rejected' } },
    }
    await notify(ledgerOf(entity), [early, late, poison])
    await notify(env.DB, [invalid])
    const organizations = [wide.organization_id, narrow.organization_id]
    const notified = [
      ...[early, late].map(({ body }) => `${wide.organization_id} ${body['cfdi_uuid']}`),
      `${wide.organization_id} ${NOW}`,
      `${narrow.organization_id} ${late.body['cfdi_uuid']}`,
    ]
    return { organizations, all, poison, notified: notified.sort(), outbox: LEDGERS[entity % LEDGERS.length]![0] }
  }

  it.each([
    ['before', 1],
    ['after', 2],
  ] as const)('%s any round trip: every fact once for each organization, none invented, none lost', async (when, first) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const places: string[] = []
    // Some round trips with every run, and all in the long one.
    const stride = runs(3, 1)
    for (let step = runs(first, 1); ; step += stride) {
      const { organizations, all, poison, notified, outbox } = await world()
      const { env: dying, sent, died } = dyingAt(step, when)
      await relayOutbox(systemIn(dying), 'control')
        .then(() => relayOutbox(systemIn(dying), outbox))
        .catch(() => {})
      if (died() !== '') places.push(died())
      const before = await feedOf(organizations)
      // Its hold of the lane is left to run out; what was to be relayed or delivered the sweep finds.
      vi.setSystemTime(Date.now() + 31_000)
      const healthy = watchedEnv()
      await sweepOutboxes(systemIn(healthy.env))
      const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
      const hints = healthy.sent.splice(0).sort(byText)
      const owed = (
        await Promise.all(OUTBOXES().map(async ([outbox, database]) => ((await left(database)).length > 0 ? [{ outbox }] : [])))
      ).flat()
      expect(hints, died()).toEqual(owed.sort(byText))
      await relayAll(healthy.env)
      await sweepDeliveries(systemIn(healthy.env))
      const feed = await feedOf(organizations)
      expect(feed.map(({ organization_id, body }) => `${organization_id} ${body.cfdi_uuid ?? body.rejected_at}`).sort(), died()).toEqual(
        notified,
      )
      expect(
        feed.filter(({ event_id }) => before.some((it) => it.event_id === event_id)),
        died(),
      ).toEqual(before)
      const deliveries = feed.flatMap(({ organization_id, key, event_id }) => {
        const of = organization_id === organizations[1] ? [all[2]] : key === 'cfdi.cancelled' ? all.slice(0, 2) : all.slice(0, 1)
        return of.map((webhook) => `${webhook} ${event_id}`)
      })
      expect(await deliveriesOf(all), died()).toEqual(deliveries.sort())
      const called = new Set([...sent, ...healthy.sent].map((message) => (message as { endpoint?: string }).endpoint))
      expect(
        all.filter((webhook) => !called.has(webhook)),
        died(),
      ).toEqual([])
      const deadLetters = await env.DB.prepare("select reason from dead_letters where dead_letter_id = 'outbox:' || ?")
        .bind(poison.outbox_event_id)
        .all()
      expect(deadLetters.results, died()).toEqual([{ reason: expect.stringContaining('cfdi.exploded') }])
      expect(await outboxes(), died()).toEqual([])
      if (died() === '') break
    }
    // For each of the two outboxes: the lane, the facts, who listens, the commit, the calls, the lane again and its end.
    expect(places.length).toBeGreaterThanOrEqual(Math.floor((14 + 2) / stride))
    expect(new Set(places.map((cursor) => cursor.split(' ')[1])).size).toBeGreaterThanOrEqual(runs(2, 4))
  })
})

/** What breaks without it: a night of a million facts costs the operator a multiple of what it is worth. */
describe('what D1 is asked', () => {
  it.each([1, 20])('for a hundred facts of %i RFCs with three endpoints is bounded, however many facts there are', async (count) => {
    const ours = await Promise.all(Array.from({ length: count }, () => reader()))
    await endpoints(
      ours.flatMap(({ organization_id }) => Array.from({ length: 3 }, () => ({ organization_id, event_keys: ['cfdi.cancelled'] }))),
    )
    const [outbox, ledger] = LEDGERS[0]!
    const costs: { statements: number; written: number; of: number }[] = []
    for (const pages of [2, 10]) {
      const facts = Array.from({ length: pages * 100 }, (_, n) => cancelled(ours[n % count]!.entity, '2026-03-03T10:15:00'))
      await notify(ledger, facts)
      const { env: watched } = watchedEnv()
      const { cost } = await costOf(env.DB, env.FILES, () => relayOutbox(systemIn(watched), outbox))
      // Facts read, who listens, the record, events, deliveries, who has more endpoints, facts forgotten; and once who takes turns (two), the
      // record of each shard read, and cleared where something was appended, and a look that finds nothing. A commit writes one row more than its events and deliveries, the record.
      const touched = Math.min(count, SHARDS.length)
      const written = (cost.rows_written - touched * (pages + 1)) / (facts.length * 3)
      costs.push({ statements: (cost.d1_statements - 3 - SHARDS.length - touched) / pages, written, of: 3 + 4 * touched })
    }
    expect(costs).toEqual([costs[0], costs[0]])
    const { of } = costs[0]!
    expect(costs[0]).toEqual({ statements: of, written: expect.closeTo(3, 5), of })
  })
})

describe('a fact that cannot be told', () => {
  it.each([
    ['is no JSON', { body: '{' }],
    ['is of a kind that nobody knows', { kind: 'cfdi.exploded' }],
    ['lacks what it is about', { body: '{}' }],
    ['names nobody in a way that can be read', { organizations: '[' }],
  ])('because it %s is quarantined with the reason, and holds nobody up', async (_, more) => {
    const { organization_id, entity } = await reader({ state: 'active', ...reaching(['2018-01-01', AS_OF]) }, 1)
    const ledger = ledgerOf(entity)
    const good = [cancelled(entity, '2026-03-03T10:15:00'), cancelled(entity, '2026-03-04T10:15:00')]
    const bad = cancelled(entity, '2026-03-03T10:15:00')
    const row = { kind: bad.kind, body: JSON.stringify(bad.body), organizations: null, ...more }
    await notify(ledger, [good[0]!])
    await ledger
      .prepare('insert into outbox (outbox_event_id, kind, entity, organizations, body, created_at) values (?, ?, ?, ?, ?, ?)')
      .bind(bad.outbox_event_id, row.kind, entity, row.organizations, row.body, AS_OF)
      .run()
    await notify(ledger, [good[1]!])
    await relayAll()
    expect(bodies(await feedOf([organization_id])).map(({ cfdi_uuid }) => cfdi_uuid)).toEqual(good.map(({ body }) => body['cfdi_uuid']))
    expect(await outboxes()).toEqual([])
    const { results } = await env.DB.prepare('select * from dead_letters where dead_letter_id = ?')
      .bind(`outbox:${bad.outbox_event_id}`)
      .all()
    expect(results).toEqual([expect.objectContaining({ queue: 'outbox', reason: expect.stringMatching(/./) })])
    expect(JSON.parse(results[0]!['body'] as string)).toMatchObject({ outbox_event_id: bad.outbox_event_id, body: row.body })
  })

  it('to anybody is no fault', async () => {
    const { entity } = newEntity()
    await notify(ledgerOf(entity), [cancelled(entity, '2026-03-03T10:15:00')])
    await relayAll()
    expect(await outboxes()).toEqual([])
  })
})

/** What breaks without it: a customer reads in its feed what it did not pay to see, or what is another's. */
describe('of any number of organizations and RFCs', () => {
  const DAY = 86_400_000
  const dayOf = (ms: number): string => new Date(ms - 6 * 3_600_000).toISOString().slice(0, 10)
  const fechaOf = (seconds: number): string => new Date((seconds - 6 * 3_600) * 1_000).toISOString().slice(0, 19)

  it.each(sample([1, 2, 3, 4, 5], 3))('each is told what its window shows of its own, once, and nothing else (%i)', async (seed) => {
    const random = randomOf(seed)
    const below = (limit: number): number => Math.floor(random() * limit)
    const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
    const counts = Array.from({ length: 25 }, () => ({ extractor_count: pick([0, 1, 1, 3]) }))
    const ids = await organizations(counts)
    const entities = Array.from({ length: 12 }, newEntity)
    // Instants at which something is issued, floors at their days, ceilings at just these instants and a second before.
    const instants = Array.from({ length: 12 }, () => AS_OF / 1_000 - below(40 * 86_400) - 7_200)
    const grantedRange = (): GrantedRange => {
      const fairShare = random()
      if (fairShare < 0.15) return null
      const from = fairShare < 0.3 ? '2018-01-01' : dayOf(pick(instants) * 1_000 + pick([0, 0, DAY, -DAY]))
      return [from, random() < 0.4 ? AS_OF + below(3) * DAY : pick(instants) * 1_000 - pick([0, 1, 1_000])]
    }
    const windows = () => (random() < 0.3 ? reaching(grantedRange()) : reaching(grantedRange(), grantedRange()))
    const states = ['active', 'active', 'active', 'active', 'draft', 'paused', 'invalid_ciec', 'unlinked']
    const links: Linked[] = ids.flatMap((organization_id) =>
      entities.filter(() => random() < 0.4).map((entity) => ({ organization_id, ...entity, state: pick(states), ...windows() })),
    )
    await link(links)
    const hooks = ids.flatMap((organization_id) =>
      Array.from({ length: below(4) }, () => ({
        organization_id,
        event_keys: ['cfdi.cancelled', 'cfdi.cancelled_after_payment', 'sync.completed', 'connection.ciec_invalid'].filter(
          () => random() < 0.5,
        ),
        is_enabled: random() < 0.8,
        deleted_at: random() < 0.1 ? 1 : null,
      })),
    )
    const webhooks = await endpoints(hooks)

    const facts: OutboxEvent[] = []
    for (const { entity } of entities) {
      for (let n = below(9); n > 0; n--) {
        const issued_at = pick(instants) + pick([0, 0, 1, -1])
        const fecha = fechaOf(issued_at)
        const paid_at = random() < 0.4 ? null : pick(instants)
        const payments = paid_at === null ? UNPAID : paidFrom(paid_at)
        facts.push(cancelled(entity, fecha, { issued_at, direction: pick(['issued', 'received']), paid_at, payments }))
      }
      const named = ids.filter(() => random() < 0.3)
      const changes = Array.from({ length: below(12) }, () => pick(instants)).map((issued_at) => ({
        what: pick(['created', 'updated', 'cancelled'] as const),
        fecha: fechaOf(issued_at),
        issued_at,
      }))
      // Of a day one document only: what a ceiling does to the rest of a day is told elsewhere.
      const brought = changes.filter(({ fecha }, n) => changes.findIndex((one) => one.fecha.slice(0, 10) === fecha.slice(0, 10)) === n)
      const body = {
        job_id: `job_${entity}`,
        data_source_key: pick(['sat_cfdi_issued', 'sat_cfdi_received']),
        period: '2026-03',
        error_class: null,
        completed_at: AS_OF,
        changes: brought,
      }
      facts.push({
        ...{ outbox_event_id: `sync.completed:${entity}`, kind: 'sync.completed' as never, entity, organizations: named },
        body,
      })
      const job = { entity, source: body.data_source_key, month: body.period, organizations: ids }
      await keepJobs(ledgerOf(entity), [
        { ...job, job_id: 'job_0', brought: [], finished_at: AS_OF },
        { ...job, job_id: body.job_id, brought: [countSlice(brought, AS_OF, [])] },
      ])
      const body_ = { rejected_at: NOW, invalid_reason: 'rejected' }
      facts.push({
        outbox_event_id: `connection.ciec_invalid:${entity}`,
        kind: 'connection.ciec_invalid',
        entity,
        organizations: named,
        body: body_,
      })
    }
    for (const fact of facts) await notify(fact.kind === 'connection.ciec_invalid' ? env.DB : ledgerOf(fact.entity), [fact])
    await relayAll()

    /** Said plainly: the day is not before the floor and the instant not after the ceiling, of an active connection. */
    const shows = (
      { organization_id, state, ...windows }: Linked,
      direction: 'issued' | 'received',
      { fecha, issued_at }: { fecha: string; issued_at: number },
    ): boolean => {
      if (state !== 'active') return false
      if (counts[ids.indexOf(organization_id)]!.extractor_count === 0) return true
      const from = direction === 'issued' ? windows.issued_from : windows.received_from
      const to = direction === 'issued' ? windows.issued_to : windows.received_to
      return from !== null && to !== null && fecha.slice(0, 10) >= from && issued_at * 1_000 <= to
    }
    /** Said plainly: a payment counts up to the instant of the ceiling of its direction; the floor does not matter. */
    const knows = (one: Linked, direction: 'issued' | 'received', paid_at: number | null): boolean =>
      paid_at !== null &&
      shows({ ...one, issued_from: '2018-01-01', received_from: '2018-01-01' }, direction, { fecha: '9999', issued_at: paid_at })
    const expected = facts.flatMap((fact) =>
      links.flatMap((one) => {
        if (one.entity !== fact.entity) return []
        const head = { organization_id: one.organization_id, key: fact.kind as string, rfc: one.rfc, of: uuidOf(one.fiscal_entity_id) }
        if (fact.organizations !== null && !fact.organizations.includes(one.organization_id)) return []
        if (fact.kind === 'connection.ciec_invalid') return [{ ...head, says: NOW }]
        if (fact.organizations === null) {
          const direction = fact.body['direction'] as 'issued' | 'received'
          if (!shows(one, direction, fact.body as never)) return []
          const isPaid = knows(one, direction, fact.body['paid_at'] as number | null)
          const isIncome = direction === 'issued' && (fact.body['fecha'] as string) < '2026-03'
          const notified = { ...head, says: `${fact.body['cfdi_uuid']} ${isPaid ? 'paid' : 'unpaid'}` }
          return isPaid || isIncome ? [notified, { ...notified, key: 'cfdi.cancelled_after_payment' }] : [notified]
        }
        const direction = fact.body['data_source_key'] === 'sat_cfdi_issued' ? 'issued' : 'received'
        const changes = fact.body['changes'] as { what: string; fecha: string; issued_at: number }[]
        const seen = changes.filter((change) => shows(one, direction, change))
        return [{ ...head, says: ['created', 'updated', 'cancelled'].map((what) => seen.filter((it) => it.what === what).length).join() }]
      }),
    )
    const feed = await feedOf(ids)
    const notified = feed.map(({ organization_id, key, fiscal_entity_id, body }) => {
      expect(uuidOf(fiscal_entity_id!)).toBe(body.fiscal_entity_id)
      expect(PAYLOADS[key as keyof typeof PAYLOADS].safeParse(body).error).toBeUndefined()
      const cancellation = body.cfdi_uuid && `${body.cfdi_uuid} ${body.payment_status}`
      const says = cancellation ?? body.rejected_at ?? [body.created_count, body.updated_count, body.cancelled_count].join()
      return { organization_id, key, rfc: body.rfc, of: body.fiscal_entity_id, says }
    })
    const sorted = (all: readonly object[]) => all.map((one) => JSON.stringify(one)).sort()
    expect(sorted(notified)).toEqual(sorted(expected))
    expect(notified.length).toBeGreaterThan(50)
    expect(await outboxes()).toEqual([])

    const due = feed.flatMap(({ organization_id, key, event_id }) =>
      hooks.flatMap((hook, n) =>
        hook.organization_id === organization_id && hook.is_enabled && hook.deleted_at === null && hook.event_keys.includes(key)
          ? [`${webhooks[n]} ${event_id}`]
          : [],
      ),
    )
    expect(await deliveriesOf(webhooks)).toEqual(due.sort())
    // Each feed is in the order of its numbers, which never go back.
    for (const id of ids) {
      const seqs = feed.filter(({ organization_id }) => organization_id === id).map(({ seq }) => seq)
      expect([...new Set(seqs)].sort((a, b) => a - b)).toEqual(seqs)
    }
    expect(keys(feed).every((key) => key in PAYLOADS)).toBe(true)
  })
})
