import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { consumeAll, post, zipWith } from '../../cfdi/imports/support/imports.ts'
import { plainOf } from '../../cfdi/support/documents.ts'
import { api } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { credentialOf } from '../../support/world.ts'
import { checkedIn, eventsOf, type Holder, holder, type Notified, rechecksIn, settled } from './support/status.ts'

const NOW = '2026-03-20T18:00:00Z'
const LATER = '2026-03-20T19:00:00Z'

let sent: unknown[]
beforeEach(() => {
  at(NOW)
  sent = silenceQueues()
})
afterEach(restore)

/** Valid documents, the oldest first: what the sandbox is about to cancel is younger. */
const validIn = async (of: Holder): Promise<Notified[]> => (await of.list('&estatus=vigente&kind=cfdi')).reverse()
const NOTHING = { status_answer: null, es_cancelable: null, estatus_cancelacion: null, validacion_efos: null, status_checked_at: null }
/** Without what a check says of itself. */
const plain = (row: Notified) => ({ ...row, ...NOTHING })

describe('POST /v1/cfdi/{uuid}/status-check', () => {
  it('answers the row as it is listed, with what the authority says of a valid document', async () => {
    const of = await holder(1)
    const before = (await validIn(of))[0]!
    expect(checkedIn(before)).toEqual(NOTHING)
    const { status, body } = await of.check(before.uuid)
    expect([status, body.status_answer, body.status_checked_at]).toEqual([200, 'vigente', new Date(NOW).toISOString()])
    expect(body.es_cancelable).toMatch(/^cancelable_/)
    expect(body.validacion_efos).toMatch(/^[12]00$/)
    expect(plain(body)).toEqual(before)
    expect((await of.list(`&uuid=${before.uuid}`))[0]).toEqual(body)
    expect(await of.get(before.uuid)).toMatchObject(body)
    expect(await rechecksIn(of.entity)).toEqual([])
  })

  it('is not said with as_of of a day before today, and leaves documents of the past as they were', async () => {
    const of = await holder(1)
    const { uuid } = (await validIn(of))[0]!
    const asOf = `/v1/cfdi/${uuid}?fiscal_entity_id=${of.fiscal_entity_id}&as_of=2026-03-19`
    const before = (await of.ask('GET', asOf)).body
    expect((await of.check(uuid)).status).toBe(200)
    expect((await of.ask('GET', asOf)).body).toEqual(before)
  })

  it('any role may ask', async () => {
    const of = await holder(1)
    const member = await credentialOf(of.owner, 'member')
    const { uuid } = (await validIn(of))[0]!
    expect((await api(member, 'POST', `/v1/cfdi/${uuid}/status-check?fiscal_entity_id=${of.fiscal_entity_id}`)).status).toBe(200)
  })

  it('a document that the authority does not know is not found, which changes nothing else and is asked about again', async () => {
    const of = await holder(1)
    const document = plainOf(randomOf(7), '2026-02', { emisor: of.rfc })
    await post(of.owner, of.fiscal_entity_id, zipWith([document]))
    await consumeAll(sent)
    const before = await of.get(document.uuid)
    const { status, body } = await of.check(document.uuid)
    expect([status, checkedIn(body), body.estatus]).toEqual([
      200,
      { ...NOTHING, status_answer: 'no_encontrado', status_checked_at: new Date(NOW).toISOString() },
      'vigente',
    ])
    const { conceptos: _, ...rest } = before
    expect(rest).toMatchObject(plain(body))
    expect(sent).toEqual([])
  })

  it('a cancellation in process is data, and leaves a doubt', async () => {
    const of = await holder(1)
    const { uuid } = (await validIn(of))[0]!
    await of.cancel(uuid, '2026-03-22T18:00:00Z')
    expect((await of.check(uuid)).body).toMatchObject({
      ...{ estatus: 'vigente', status_answer: 'vigente', es_cancelable: 'cancelable_con_aceptacion', estatus_cancelacion: 'en_proceso' },
    })
    // Downloads do not report it before it is cancelled either.
    at(LATER)
    await of.download()
    expect(await of.get(uuid)).toMatchObject({ estatus: 'vigente', estatus_cancelacion: 'en_proceso' })
    expect(await rechecksIn(of.entity)).toEqual([{ uuid, due_at: Date.parse('2026-03-21T10:00:00Z'), recheck: 'asked' }])
    const { body } = await of.ask('GET', `/v1/cfdi/risk?fiscal_entity_id=${of.fiscal_entity_id}&code=cancellation_in_process&limit=100`)
    expect(body.data.map((row: Notified) => row.uuid)).toEqual([uuid])
  })

  it('an invoice whose cancellation is in process cannot be lent upon', async () => {
    const of = await holder(1)
    const pool = async () =>
      (await of.ask('GET', `/v1/analytics/financing?fiscal_entity_id=${of.fiscal_entity_id}`)).body.pool as {
        eligible_count: number
        ineligible: Notified[]
      }
    const before = await pool()
    const query = `fiscal_entity_id=${of.fiscal_entity_id}&figure=pool.eligible_amount`
    const { uuid, amount } = (await of.ask('GET', `/v1/analytics/financing/entries?${query}`)).body.data.at(-1)
    await of.cancel(uuid, '2026-03-22T18:00:00Z')
    expect((await of.check(uuid)).body.estatus_cancelacion).toBe('en_proceso')
    const after = await pool()
    const [reason] = after.ineligible.filter((one) => one.reason === 'cancellation_in_process')
    expect([reason.count, reason.amount, after.eligible_count]).toEqual([1, Number(amount).toFixed(2), before.eligible_count - 1])
    const { body } = await of.ask('GET', reason.drilldown.amount)
    expect(body.data.map((row: Notified) => [row.uuid, row.amount])).toEqual([[uuid, amount]])
  })

  it('is asked once in ten minutes for a document and an organization, and says how long to wait', async () => {
    const of = await holder(1)
    const other = await holder(1, of.rfc)
    const [one, two] = (await validIn(of)).map(({ uuid }) => uuid)
    expect((await of.check(one)).status).toBe(200)
    at('2026-03-20T18:04:00Z')
    const { status, headers, body } = await of.check(one)
    expect([status, headers.get('retry-after'), body.code]).toEqual([429, '360', 'cfdi.cooldown'])
    expect(body.detail.retry_after_seconds).toBe(360)
    // Another document, and another organization, which learns nothing of it.
    expect([(await of.check(two)).status, (await other.check(one)).status]).toEqual([200, 200])
    at('2026-03-20T18:10:01Z')
    expect((await of.check(one)).status).toBe(200)
  })

  it('repeats its answer under an Idempotency-Key, without asking again', async () => {
    const of = await holder(1)
    const { uuid } = (await validIn(of))[0]!
    const path = `/v1/cfdi/${uuid}/status-check?fiscal_entity_id=${of.fiscal_entity_id}`
    const headers = { authorization: `Basic ${btoa(`${of.owner.api_key}:${of.owner.api_secret}`)}`, 'idempotency-key': 'one' }
    const { request } = await import('../../support/client.ts')
    const first = await request('POST', path, { headers })
    const again = await request('POST', path, { headers })
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.body).toEqual(first.body)
    expect((await of.check(uuid)).status).toBe(429)
  })

  it('is 404 for what the window does not show, 404 for another’s, and 422 for retenciones', async () => {
    const [wide, narrow] = [await holder(4), await holder(1)]
    const own = await holder(1, wide.rfc)
    const shown = new Set((await own.list()).map(({ uuid }) => uuid))
    const hidden = (await wide.list('&kind=cfdi')).find(({ uuid }) => !shown.has(uuid))!
    const absent = await own.check('00000000-0000-4000-8000-000000000000')
    for (const reply of [await own.check(hidden.uuid), await narrow.check(hidden.uuid), absent]) {
      expect([reply.status, reply.body.code]).toEqual([404, 'cfdi.not_found'])
      expect(reply.body.detail).toBe(absent.body.detail)
    }
    const retenciones = (await wide.list('&kind=retenciones'))[0]!
    const { status, body } = await wide.check(retenciones.uuid)
    expect([status, body.code, body.errors[0].path]).toEqual([422, 'cfdi.retenciones_status', 'uuid'])
    await wide.ask('PATCH', `/v1/billing/rfcs/${wide.fiscal_entity_id}`, { active: false })
    expect((await wide.check(hidden.uuid)).body.code).toBe('fiscal_entity.not_active')
  })

  it('takes at most four D1 calls beside authentication', async () => {
    const of = await holder(1)
    const [valid, cancelled] = (await validIn(of)).map(({ uuid }) => uuid)
    await of.cancel(cancelled)
    const query = `fiscal_entity_id=${of.fiscal_entity_id}`
    await of.ask('GET', `/v1/cfdi/${valid}?${query}`)
    const read = await costOf(env.LEDGER_0, env.FILES, () => of.ask('GET', `/v1/cfdi/${valid}?${query}`))
    for (const uuid of [valid, cancelled]) {
      const { result, cost } = await costOf(env.LEDGER_0, env.FILES, () => of.check(uuid))
      expect(result.status).toBe(200)
      // Reading a document takes one call beside authentication.
      expect(cost.d1_calls - (read.cost.d1_calls - 1)).toBeLessThanOrEqual(4)
      expect(cost.rows_written).toBeLessThanOrEqual(6)
    }
  })
})

describe('a cancellation that a status check finds', () => {
  /** The members of an event that do not differ between two services, or between metadata and the status service. */
  const comparable = ({
    event_id: _,
    fiscal_entity_id: __,
    occurred_at: ___,
    cancelled_at: ____,
    cancellation_reason: _____,
    ...event
  }: Notified) => event
  const cancellable = async (of: Holder) => {
    const rows = await validIn(of)
    const paid = rows.find(
      ({ payment_status, direction }) => payment_status === 'partially_paid' || (payment_status === 'paid' && direction === 'issued'),
    )!
    const complement = rows.find(({ tipo_comprobante }) => tipo_comprobante === 'P')!
    const received = rows.find(({ direction, tipo_comprobante }) => direction === 'received' && tipo_comprobante === 'I')!
    return [...new Set([paid.uuid, complement.uuid, received.uuid])] as string[]
  }
  const state = async (of: Holder) => ({
    rows: (await of.list()).map(({ updated_at: _, fiscal_entity_id: __, cancelled_at: ___, cancellation_reason: ____, ...row }) =>
      plain(row),
    ),
    summary: (await of.summary()).data.map(({ drilldown: _, ...month }: Notified) => month),
    events: (await eventsOf(of)).map(comparable).sort((a, b) => (a.event + a.cfdi_uuid < b.event + b.cfdi_uuid ? -1 : 1)),
  })

  it('is told, counted and applied like one that metadata reports, without its time and reason until metadata says them', async () => {
    // At night the sandbox stamps nothing of this RFC.
    at('2026-03-20T08:00:00Z')
    const of = await holder(2, 'SCC010101AB1')
    const uuids = await cancellable(of)
    for (const uuid of uuids) await of.cancel(uuid)
    at('2026-03-20T08:30:00Z')
    for (const uuid of uuids) {
      const { body } = await of.check(uuid)
      expect(body).toMatchObject({ estatus: 'cancelado', cancelled_at: null, cancellation_reason: null, es_cancelable: 'no_cancelable' })
      expect(await of.get(uuid)).toMatchObject({ estatus: 'cancelado' })
    }
    expect(await settled(sent)).toBe(uuids.length)
    expect(await rechecksIn(of.entity)).toEqual([])
    const byStatus = await state(of)
    expect([...new Set(byStatus.events.map(({ cfdi_uuid }) => cfdi_uuid))].sort()).toEqual([...uuids].sort())
    for (const event of await eventsOf(of)) expect([event.cancelled_at, event.cancellation_reason]).toEqual([event.occurred_at, 'unknown'])

    // What metadata says of the same documents later adds time and reason, once, and tells nothing again.
    at('2026-03-20T09:00:00Z')
    await of.download()
    const after = await state(of)
    expect(after).toEqual(byStatus)
    for (const uuid of uuids)
      expect(await of.get(uuid)).toMatchObject({ cancelled_at: '2026-03-20T02:00:00-06:00', cancellation_reason: '02' })
    const stored = await env.LEDGER_0.prepare('select max(sequence) as n from cfdi_commits where entity = ?').bind(of.entity).first('n')
    at('2026-03-20T09:30:00Z')
    await of.download()
    expect(await env.LEDGER_0.prepare('select max(sequence) as n from cfdi_commits where entity = ?').bind(of.entity).first('n')).toBe(
      stored,
    )

    // The same history without a status check: the RFC is forgotten, and another organization downloads it anew.
    const { results } = await env.LEDGER_0.prepare(
      "select name from sqlite_master t where type = 'table' and name not like 'sqlite_%' and name not like '_cf_%' and name not like 'd1_%' and exists (select 1 from pragma_table_info(t.name) c where c.name = 'entity')",
    ).all<{ name: string }>()
    await env.LEDGER_0.batch(results.map(({ name }) => env.LEDGER_0.prepare(`delete from ${name} where entity = ?`).bind(of.entity)))
    await env.DB.prepare('delete from sandbox_cancellations where rfc = ?').bind(of.rfc).run()
    at('2026-03-20T08:00:00Z')
    const twin = await holder(2, of.rfc)
    expect((await validIn(twin)).length).toBeGreaterThan(20)
    for (const uuid of uuids) await twin.cancel(uuid)
    at('2026-03-20T08:30:00Z')
    await twin.download()
    const byMetadata = await state(twin)
    expect(byMetadata.events).toEqual(byStatus.events)
    expect(byMetadata.summary).toEqual(byStatus.summary)
    expect(byMetadata.rows).toEqual(byStatus.rows)
  })

  it('is told to every organization whose window shows the document, and the check to nobody', async () => {
    const of = await holder(2)
    const other = await holder(1, of.rfc)
    const shown = new Set((await other.list()).map(({ uuid }) => uuid))
    const rows = await validIn(of)
    const [seen, unseen] = [rows.find(({ uuid }) => shown.has(uuid))!, rows.find(({ uuid }) => !shown.has(uuid))!]
    const before = await other.list()
    expect((await of.check(rows.filter(({ uuid }) => shown.has(uuid))[1].uuid)).status).toBe(200)
    // A check of another organization shows nothing anywhere.
    expect(await other.list()).toEqual(before)
    at(LATER)
    for (const { uuid } of [seen, unseen]) {
      await of.cancel(uuid)
      await of.check(uuid)
    }
    expect(await other.list()).toEqual(before)
    await settled(sent)
    expect([...new Set((await eventsOf(of)).map(({ cfdi_uuid }) => cfdi_uuid))].sort()).toEqual([seen.uuid, unseen.uuid].sort())
    expect([...new Set((await eventsOf(other)).map(({ cfdi_uuid }) => cfdi_uuid))]).toEqual([seen.uuid])
    expect(await other.get(seen.uuid)).toMatchObject({ estatus: 'cancelado', ...NOTHING })
  })

  it('is told once to a connection that was not active, when it is again', async () => {
    const of = await holder(1)
    const other = await holder(1, of.rfc)
    const { uuid } = (await validIn(of))[0]!
    await other.ask('PATCH', `/v1/billing/rfcs/${other.fiscal_entity_id}`, { active: false })
    await of.cancel(uuid)
    at(LATER)
    await of.check(uuid)
    await settled(sent)
    expect(await eventsOf(other)).toEqual([])
    at('2026-03-20T20:00:00Z')
    await other.ask('PATCH', `/v1/billing/rfcs/${other.fiscal_entity_id}`, { active: true })
    const { notifyMissed } = await import('../../../src/downloads/missed-cancellations.ts')
    const { systemNow } = await import('./support/status.ts')
    const { relayOutbox } = await import('../../../src/delivery/relay/relay.ts')
    for (const body of sent.splice(0))
      if ('unnotified' in (body as object)) await notifyMissed(systemNow(), (body as { unnotified: number }).unnotified)
    await relayOutbox(systemNow(), 0)
    expect((await eventsOf(other)).filter(({ event }) => event === 'cfdi.cancelled').map(({ cfdi_uuid }) => cfdi_uuid)).toEqual([uuid])
  })

  it('of an import cancels it for its organization alone, tells nobody, and outlives another import’s deletion', async () => {
    const of = await holder(1)
    const document = plainOf(randomOf(9), '2026-02', { emisor: of.rfc })
    const made: string[] = []
    for (let n = 0; n < 2; n++) {
      made.push((await post(of.owner, of.fiscal_entity_id, zipWith([document]))).body.import_id)
      await consumeAll(sent)
    }
    await of.cancel(document.uuid)
    expect((await of.check(document.uuid)).body).toMatchObject({ estatus: 'cancelado', origin: 'import' })
    await settled(sent)
    expect(await eventsOf(of)).toEqual([])
    const { connection } = (await env.DB.prepare('select connection from connections where fiscal_entity_id = ?')
      .bind(of.fiscal_entity_id)
      .first<{ connection: number }>())!
    const stored = () =>
      env.LEDGER_0.prepare('select estatus, stored from cfdi where entity = ? and uuid = ?')
        .bind(-connection, document.uuid)
        .first<Notified>()
    expect(await stored()).toMatchObject({ estatus: 'cancelado' })
    await of.ask('DELETE', `/v1/fiscal-entities/${of.fiscal_entity_id}/cfdi/imports/${made[0]}`)
    await consumeAll(sent)
    expect(await stored()).toMatchObject({ estatus: 'cancelado' })
    expect(await of.get(document.uuid)).toMatchObject({ estatus: 'cancelado', status_answer: 'cancelado' })
  })
})

it('a document that metadata cancelled stays cancelled, whatever the status service says of it', async () => {
  const of = await holder(1)
  const { uuid } = (await validIn(of))[0]!
  await of.cancel(uuid)
  at(LATER)
  await of.download()
  const before = await of.get(uuid)
  expect(before.estatus).toBe('cancelado')
  // The sandbox forgets the cancellation: then its status service calls the document valid.
  await env.DB.prepare('delete from sandbox_cancellations where uuid = ?').bind(uuid).run()
  const { body } = await of.check(uuid)
  expect([body.status_answer, body.estatus, body.cancelled_at]).toEqual(['vigente', 'cancelado', before.cancelled_at])
  expect(plain(await of.get(uuid))).toEqual(plain(before))
  expect([await rechecksIn(of.entity), sent.filter((one) => 'partition' in (one as object))]).toEqual([[], []])
})
