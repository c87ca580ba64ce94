import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { NOTIFICATION_KINDS } from '../../../src/authority/port/mailbox.ts'
import { alertOf } from '../../../src/documents/mailbox/alert.ts'
import { NOTIFICATION_STATUSES } from '../../../src/documents/mailbox/deadlines.ts'
import { mirroredNotifications } from '../../../src/documents/mailbox/mirrored.ts'
import { idOfUuid } from '../../../src/platform/db/id.ts'
import { openLedger } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import { beforeBatch } from '../../authority/support/authority.ts'
import { callOf, later, losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { contextOf } from '../../support/context.ts'
import { freshRfc } from '../../support/tenants.ts'
import { openedAtAuthority, type Reader, reader } from './support/mailbox.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

const DAY = 86_400
const LETTER = { title: 'Requerimiento de prueba', authority: 'Auditoría Fiscal de Puebla', document_number: '500-05-2026-1' }

describe('the list of notifications', () => {
  it('shows each with its deadlines, the latest first, and opens nothing', async () => {
    const acme = await reader()
    await acme.send({ ...LETTER, sent_at: '2026-05-19T16:00:00Z' })
    await acme.send({ kind: 'aviso', title: 'Aviso', document_kind: null, sent_at: '2026-05-18T16:00:00Z' })
    await acme.receive()
    expect(await acme.list()).toEqual([
      {
        notification_id: expect.stringMatching(/^ntf_[0-9a-z]{26}$/),
        kind: 'requerimiento',
        ...LETTER,
        sent_at: '2026-05-19T16:00:00.000Z',
        open_deadline: '2026-05-22',
        deadline_basis: 'published',
        effective_at: '2026-05-25T06:00:00.000Z',
        opened_at: null,
        status: 'pending',
        severity: 'warning',
        days_left: 2,
        has_document: true,
        document_kind: 'oficio',
      },
      expect.objectContaining({ kind: 'aviso', status: 'informational', severity: 'info', effective_at: null, has_document: false }),
    ])
    later(6 * DAY)
    expect((await acme.list())[0]).toMatchObject({ status: 'notified_by_expiry', severity: 'critical', days_left: null, opened_at: null })
    expect(await openedAtAuthority(acme.rfc)).toEqual([])
  })

  it('of the sandbox has every kind and status within a year, page by page and by filter', async () => {
    const acme = await reader(freshRfc(), 'secreta1')
    const [kinds, statuses] = [new Set<string>(), new Set<string>()]
    for (const days of [0, 5, 10, 15, 20, 25, 30]) {
      later(days * DAY)
      await acme.receive()
      for (const { kind, status } of await acme.list()) {
        kinds.add(kind)
        statuses.add(status)
      }
    }
    expect([...kinds].sort()).toEqual([...NOTIFICATION_KINDS].sort())
    expect([...statuses].sort()).toEqual([...NOTIFICATION_STATUSES].sort())
    const all = await acme.list()
    expect(all.length).toBeGreaterThan(6)
    expect(all.map(({ sent_at }) => sent_at)).toEqual(all.map(({ sent_at }) => sent_at).sort((a, b) => (a < b ? 1 : -1)))
    const paged: unknown[] = []
    for (let cursor = ''; ; ) {
      const { body } = await acme.ask('GET', `${acme.box}/notifications?limit=4${cursor}`)
      paged.push(...body.data)
      if (!body.has_more) break
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
    }
    expect(paged).toEqual(all)
    for (const status of NOTIFICATION_STATUSES)
      expect(await acme.list(`&status=${status}`)).toEqual(all.filter((one) => one.status === status))
    for (const kind of NOTIFICATION_KINDS) expect(await acme.list(`&kind=${kind}`)).toEqual(all.filter((one) => one.kind === kind))
    expect(await acme.list(`&since=${all[2]!.sent_at}`)).toEqual(all.slice(0, 3))
    expect((await acme.ask('GET', `${acme.box}/notifications?status=open`)).status).toBe(422)
  })

  it('writes nothing when nothing is new', async () => {
    const acme = await reader(freshRfc(), 'secreta1')
    await acme.receive()
    const before = await acme.list()
    const refuse = (on: string, table: string) =>
      env.LEDGER_0.prepare(`create trigger "no ${on} ${table}" after ${on} on ${table} begin select raise(abort, 'written'); end`).run()
    const watched = ['mailbox_notifications', 'mailbox_readers'].flatMap((table) =>
      ['insert', 'update', 'delete'].map((on) => [on, table] as const),
    )
    for (const [on, table] of watched) await refuse(on, table)
    const put = vi.spyOn(env.FILES, 'put')
    later(601)
    await acme.receive()
    expect((await acme.jobs('&status=failed')).length).toBe(0)
    expect((await acme.sync()).status).toBe('idle')
    expect(put.mock.calls.filter(([key]) => String(key).startsWith('mailbox/'))).toEqual([])
    for (const [on, table] of watched) await env.LEDGER_0.prepare(`drop trigger "no ${on} ${table}"`).run()
    expect(await acme.list()).toEqual(before)
  })
})

describe('GET …/buzon/notifications/{notification_id}', () => {
  it('is the row as the list has it, which events and alerts lead to; it opens nothing, and is 404 for who has not listed it', async () => {
    const acme = await reader()
    const other = await reader(acme.rfc)
    await acme.send({ ...LETTER, sent_at: '2026-05-19T16:00:00Z' })
    await acme.send({ kind: 'aviso', title: 'Aviso', sent_at: '2026-05-18T16:00:00Z' })
    await acme.receive()
    const get = (of: typeof acme, id: string, role: 'owner' | 'member' = 'owner') =>
      of.ask('GET', `${of.box}/notifications/${id}`, undefined, role)
    const rows = await acme.list()
    expect(rows).toHaveLength(2)
    for (const row of rows)
      for (const role of ['owner', 'member'] as const)
        expect(await get(acme, row.notification_id, role)).toMatchObject({ status: 200, body: row })
    const [notified] = await acme.notified()
    for (const id of [notified!.notification_id, (await acme.alerts())[0]!.resource_id]) expect((await get(acme, id)).status).toBe(200)
    const asked = `${acme.box}/notifications/${rows[0]!.notification_id}?acknowledge_notification=true`
    expect((await acme.ask('GET', asked)).status).toBe(422)
    await acme.open()
    expect([await openedAtAuthority(acme.rfc), (await acme.list())[0]!.status]).toEqual([[], 'pending'])
    const missing = { status: 404, body: { code: 'notification.not_found' } }
    for (const [of, id] of [
      [other, rows[0]!.notification_id],
      [acme, idOfUuid('ntf', crypto.randomUUID())],
    ] as const)
      expect(await get(of, id)).toMatchObject(missing)
  })
})

describe('the test helper that sends a notification', () => {
  it('accepts the years from 2018 to 2099, whose notifications can be read, and refuses all others: 422', async () => {
    const acme = await reader()
    for (const sent_at of [
      '1969-12-31T23:59:59Z',
      '1970-01-01T00:00:00Z',
      '2017-12-31T23:59:59Z',
      '2100-01-01T00:00:00Z',
      '9999-12-31T00:00:00Z',
    ])
      expect(await acme.send({ sent_at }), sent_at).toMatchObject({
        status: 422,
        body: { errors: [{ path: 'sent_at', message: 'Must be in a year from 2018 to 2099.' }] },
      })
    for (const sent_at of ['2018-01-01T00:00:00Z', '2099-12-31T23:59:59Z'])
      expect((await acme.send({ sent_at, title: sent_at })).status).toBe(200)
    await acme.receive()
    const [old, ...others] = await acme.list()
    expect([old!.title, old!.deadline_basis, others]).toEqual(['2018-01-01T00:00:00Z', 'estimated', []])
    expect((await acme.document(old!.notification_id)).status).toBe(200)
    at('2100-01-04T12:00:00Z')
    await acme.receive()
    expect((await acme.list())[0]).toMatchObject({ title: '2099-12-31T23:59:59Z', status: 'pending', deadline_basis: 'estimated' })
  })
})

describe('the document of a notification', () => {
  it('is there with the run that lists it, when reading it opens nothing', async () => {
    const acme = await reader()
    await acme.send({ kind: 'comunicado', title: 'Diferencias', document_kind: 'carta', sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    const [one] = await acme.list()
    const { status, headers, body } = await acme.document(one!.notification_id, { role: 'member' })
    expect([status, headers.get('content-type')]).toEqual([200, 'application/pdf'])
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="comunicado-/)
    expect(body).toMatch(/^%PDF-1\.4[\s\S]*Diferencias/)
  })

  it('of one that was notified by expiry needs no acknowledgement, is 202 until it is fetched, and stays unopened', async () => {
    const acme = await reader()
    await acme.send({ ...LETTER, sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    later(6 * DAY)
    const [one] = await acme.list()
    const first = await acme.document(one!.notification_id, { role: 'member' })
    expect([first.status, first.headers.get('retry-after'), first.body]).toEqual([202, '5', { status: 'fetching', retry_after_seconds: 5 }])
    await acme.open()
    expect((await acme.document(one!.notification_id, { role: 'member' })).status).toBe(200)
    expect(await acme.list()).toEqual([one])
    expect(await openedAtAuthority(acme.rfc)).toEqual([])
  })

  it('is told by HEAD in its headers once it is fetched; before, HEAD has nothing fetched', async () => {
    const acme = await reader()
    await acme.send({ kind: 'aviso', document_kind: null, sent_at: '2026-05-18T16:00:00Z' })
    await acme.send({ ...LETTER, sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    later(6 * DAY)
    const [one, without] = await acme.list()
    const head = () => acme.head(one!.notification_id, { ack: true, role: 'member' })
    expect((await head()).status).toBe(202)
    expect(await env.DB.prepare('select count(*) as n from mailbox_requests where organization_id = ?').bind(acme.id).first('n')).toBe(0)
    expect((await acme.head(without!.notification_id)).status).toBe(404)
    await acme.document(one!.notification_id)
    await acme.open()
    const [got, { status, text, headers }] = [await acme.document(one!.notification_id), await head()]
    expect([status, text]).toEqual([200, ''])
    for (const name of ['content-type', 'content-length', 'content-disposition']) expect(headers.get(name)).toBe(got.headers.get(name))
    expect(Number(headers.get('content-length'))).toBeGreaterThan(100)
  })

  it('comes whole, in part, or not at all when it is known: its ETag is the SHA-256 of its bytes', async () => {
    const acme = await reader()
    await acme.send({ kind: 'comunicado', title: 'Diferencias', document_kind: 'carta', sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    const [{ notification_id: id } = { notification_id: '' }] = await acme.list()
    const whole = await acme.fetchDocument(id, {})
    const etag = whole.headers.get('etag')!
    const bytes = new Uint8Array(await (await env.FILES.get(`mailbox/${etag.slice(1, -1)}`))!.arrayBuffer())
    expect(etag).toBe(`"${new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()}"`)
    expect([whole.status, whole.text, whole.headers.get('accept-ranges')]).toEqual([200, new TextDecoder().decode(bytes), 'bytes'])
    const get = async (headers: Record<string, string>) => {
      const { status, text, headers: notified } = await acme.fetchDocument(id, headers)
      return [status, status === 416 ? null : text, notified.get('content-range')]
    }
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) expect(await get({ 'if-none-match': known })).toEqual([304, '', null])
    expect(await get({ 'if-none-match': etag, range: 'bytes=0-9' })).toEqual([304, '', null])
    expect(await get({ 'if-none-match': '"other"', range: 'bytes=0-9' })).toEqual([
      206,
      whole.text.slice(0, 10),
      `bytes 0-9/${bytes.length}`,
    ])
    expect(await get({ range: 'bytes=-4', 'if-range': '"other"' })).toEqual([200, whole.text, null])
    expect(await get({ range: `bytes=${bytes.length}-` })).toEqual([416, null, `bytes */${bytes.length}`])
    expect((await acme.head(id)).headers.get('etag')).toBe(etag)
  })

  it('is 404 without one, under an identifier of nobody, and for who has not listed it', async () => {
    const acme = await reader()
    const other = await reader(acme.rfc)
    await acme.send({ kind: 'aviso', document_kind: null })
    await acme.send({ kind: 'aviso', sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    const [without, withOne] = await acme.list()
    expect(await acme.document(without!.notification_id)).toMatchObject({ status: 404, body: { code: 'document.not_found' } })
    expect((await acme.document(withOne!.notification_id)).status).toBe(200)
    expect(await acme.document(`ntf_${'0'.repeat(26)}`)).toMatchObject({ status: 404, body: { code: 'notification.not_found' } })
    expect((await acme.ask('GET', `${acme.box}/document`)).status).toBe(422)
    expect(await other.list()).toEqual([])
    expect(await other.document(withOne!.notification_id)).toMatchObject({ status: 404, body: { code: 'notification.not_found' } })
  })
})

describe('organizations with the same RFC', () => {
  const ids = (list: { notification_id: string }[]) => list.map(({ notification_id }) => notification_id)
  const facts = (list: { notification_id: string }[]) => list.map(({ notification_id: _, ...rest }) => rest)

  it('list what their own runs listed, joined or found finished, each under identifiers of its own', async () => {
    const first = await reader()
    const [second, third] = [await reader(first.rfc), await reader(first.rfc)]
    await first.send({ sent_at: '2026-05-19T16:00:00Z' })
    await first.run()
    await second.run()
    await first.receive()
    expect(facts(await second.list())).toEqual(facts(await first.list()))
    expect(await third.list()).toEqual([])
    await third.run()
    expect(facts(await third.list())).toEqual(facts(await first.list()))
    expect(new Set([...ids(await first.list()), ...ids(await second.list()), ...ids(await third.list())]).size).toBe(3)
    expect((await second.document((await first.list())[0]!.notification_id)).status).toBe(404)
    later(601)
    await first.send({ title: 'La segunda' })
    await first.receive()
    expect([await first.list(), await second.list(), await third.list()].map(({ length }) => length)).toEqual([2, 1, 1])
  })

  it('do not get with a finished job what the mailbox showed only before', async () => {
    const first = await reader(freshRfc(), 'secreta1')
    await first.receive()
    later(240 * DAY)
    await first.receive()
    const second = await reader(first.rfc, 'secreta1')
    await second.run()
    const listed = await second.list()
    expect(listed.length).toBeGreaterThan(4)
    expect((await first.list()).length).toBeGreaterThan(listed.length)
    expect(facts(await first.list()).slice(0, listed.length)).toEqual(facts(listed))
  })

  it('see nothing from before their floor', async () => {
    const all = await reader()
    await all.send({ sent_at: '2026-05-09T05:59:59Z', title: 'Antes' })
    await all.send({ sent_at: '2026-05-09T06:00:00Z', title: 'En el día' })
    const bounded = await reader(all.rfc, 'empty123', { scope_months: 1, data_source_keys: ['sat_cfdi_issued'] })
    later(19 * DAY + 54_000)
    await all.receive()
    await bounded.receive()
    expect((await bounded.entity()).visible_from).toBe('2026-05-09')
    expect((await bounded.list()).map(({ title }) => title)).toEqual(['En el día'])
    expect((await all.list()).length).toBe(2)
    expect(await bounded.notified()).toEqual([])
  })

  it('read it while a debt pauses the connection, and cannot have anything fetched', async () => {
    const acme = await reader()
    await acme.send({ sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    await env.DB.prepare(
      "update connections set state = 'paused', paused_from = 'active', paused_by = 'payment' where fiscal_entity_id = ?",
    )
      .bind(acme.fiscal_entity_id)
      .run()
    const [one] = await acme.list()
    expect(await acme.document(one!.notification_id, { ack: true })).toMatchObject({
      status: 409,
      body: { code: 'fiscal_entity.not_active' },
    })
    await env.DB.prepare("update connections set paused_by = 'customer' where fiscal_entity_id = ?").bind(acme.fiscal_entity_id).run()
    expect((await acme.ask('GET', `${acme.box}/notifications`)).status).toBe(404)
  })
})

describe('what an organization is told', () => {
  const DATED = {
    ...{ kind: 'requerimiento', ...LETTER, sent_at: '2026-05-19T16:00:00.000Z' },
    ...{ status: 'pending', severity: 'warning', open_deadline: '2026-05-22', effective_at: '2026-05-25T06:00:00.000Z' },
    deadline_basis: 'published',
  }
  const titles = (notified: { title: string }[]) => notified.map(({ title }) => title)
  const messages = async (of: Reader) => (await of.alerts()).map(({ severity, message }) => `${severity}: ${message}`)

  it('is one event and one alert of each notification, with the identifier under which it lists it', async () => {
    const acme = await reader()
    await acme.send({ ...LETTER, sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    const [one] = await acme.list()
    const notified = await acme.notified()
    expect(notified).toEqual([
      {
        event: 'mailbox.notification_received',
        event_id: expect.stringMatching(/^evt_/),
        ordering: expect.any(Number),
        occurred_at: '2026-05-20T09:00:00.000Z',
        fiscal_entity_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        rfc: acme.rfc,
        notification_id: one!.notification_id,
        ...DATED,
      },
    ])
    expect(await acme.alerts()).toMatchObject([
      {
        kind: 'mailbox.notification_received',
        severity: 'warning',
        resource_id: one!.notification_id,
        message: `The tax mailbox of ${acme.rfc} received “Requerimiento de prueba” on 2026-05-19. As of 2026-05-20 nobody has opened it: open it by 2026-05-22, or it counts as notified on 2026-05-25.`,
      },
    ])
    later(601)
    await acme.receive()
    expect(await acme.notified()).toEqual(notified)
    expect((await acme.alerts()).length).toBe(1)
  })

  it('is an alert that names the notification and says of which day it is, so that it stays true when the notification is opened', async () => {
    const acme = await reader()
    await acme.send({ ...LETTER, sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    await acme.notified()
    const [{ notification_id } = { notification_id: '' }] = await acme.list()
    const alerts = async () => (await acme.ask('GET', `/v1/alerts?resource_id=${notification_id}`)).body.data
    const before = await alerts()
    expect(before).toMatchObject([
      { resource_id: notification_id, message: expect.stringContaining('As of 2026-05-20 nobody has opened it') },
    ])
    later(DAY)
    await acme.document(notification_id, { ack: true })
    await acme.open()
    later(DAY + 601)
    await acme.receive()
    await acme.notified()
    expect([(await acme.list())[0]!.status, await alerts()]).toEqual(['opened', before])
  })

  it('is critical when one business day is left, and no alert is raised of what only informs', async () => {
    const acme = await reader()
    await acme.send({ title: 'Urgente', sent_at: '2026-05-18T16:00:00Z' })
    await acme.send({ title: 'Informa', kind: 'comunicado', sent_at: '2026-05-18T17:00:00Z' })
    await acme.receive()
    expect((await acme.notified()).map(({ title, severity }) => [title, severity]).sort()).toEqual([
      ['Informa', 'info'],
      ['Urgente', 'critical'],
    ])
    expect(await messages(acme)).toEqual([
      expect.stringMatching(/^critical: .*“Urgente”.*As of 2026-05-20 nobody has opened it: open it by 2026-05-21/),
    ])
  })

  it('is one event of each of hundreds at once, and six alerts: one each of the first five of a day, and one for all others', async () => {
    const acme = await reader()
    await acme.receive()
    const before = Date.now()
    const many = Array.from({ length: 230 }, (_, n) =>
      env.DB.prepare('insert into sandbox_notifications (rfc, notification, sent) values (?, ?, ?)').bind(
        acme.rfc,
        `n${n}`,
        JSON.stringify({
          ...{ notification: `n${n}`, kind: 'requerimiento', ...LETTER, title: `Requerimiento ${n}`, document_kind: 'oficio' },
          ...{ sent_at: new Date(before - n * 60_000), opened_at: null },
        }),
      ),
    )
    await env.DB.batch(many)
    later(601)
    await acme.receive()
    for (let n = 0; n < 4; n++) await acme.notified()
    const events = await env.EVENTS_0.prepare(
      `select count(*) as n from events where organization_id = ? and body like '{"event":"mailbox.notification_received"%'`,
    )
      .bind(acme.id)
      .first('n')
    expect(events).toBe(230)
    const alerts = await acme.alerts()
    expect(alerts).toHaveLength(6)
    const [others, ...own] = alerts.toSorted((a, b) => Number(b.resource_id.startsWith('fe_')) - Number(a.resource_id.startsWith('fe_')))
    expect(others).toMatchObject({
      ...{ kind: 'mailbox.notification_received', severity: 'warning', resource_id: acme.fiscal_entity_id },
      message: `On 2026-05-20 the tax mailbox of ${acme.rfc} reported more than 5 unopened notifications. This alert covers all of them after the first 5: GET /v1/fiscal-entities/${acme.fiscal_entity_id}/buzon/notifications lists them with their deadlines.`,
    })
    const listed = new Set((await acme.list()).map(({ notification_id }) => notification_id))
    expect(new Set(own.map(({ resource_id }) => resource_id)).size).toBe(5)
    expect(listed.size).toBe(100)
    for (const { message } of own) expect(message).toContain('As of 2026-05-20 nobody has opened it: open it by 2026-05-2')
    // Another page of the list is bounded alike, and the next day has alerts of its own.
    later(DAY)
    await acme.send({ title: 'Al día siguiente', sent_at: '2026-05-21T08:00:00Z' })
    await acme.receive()
    await acme.notified()
    expect((await messages(acme)).filter((message) => message.includes('Al día siguiente'))).toHaveLength(1)
    expect(await acme.alerts()).toHaveLength(7)
  })

  it('is an alert that claims no certainty of a deadline in December 2026, whose vacation is not known yet', () => {
    const sent_at = Date.parse('2026-12-15T16:00:00Z')
    const body = { notification: 'n', kind: 'requerimiento', ...LETTER, title: 'Incierta', sent_at, opened_at: null } as const
    const of = { organization_id: 'org_x', fiscal_entity_id: 'fe_x', rfc: 'X', notification_id: 'ntf_x' }
    const on = (day: string) => alertOf(of, body, new Date(`${day}T18:00:00Z`))!.message.split('nobody has opened it: ')[1]
    const end = 'it counts as notified on 2026-12-21 at the earliest: a vacation of the authority may not be known yet.'
    expect([on('2026-12-16'), on('2026-12-22')]).toEqual([`open it by 2026-12-18, or ${end}`, end])
  })

  it('is on the first run nothing of what is over, and on later runs everything', async () => {
    const acme = await reader()
    await acme.send({ title: 'Vencida', sent_at: '2026-05-13T16:00:00Z' })
    await acme.send({ title: 'Vieja', kind: 'aviso', sent_at: '2026-05-13T16:00:00Z' })
    await acme.receive()
    expect([await acme.notified(), await acme.alerts()]).toEqual([[], []])
    later(601)
    await acme.send({ title: 'Mientras no había descargas', sent_at: '2026-05-13T17:00:00Z' })
    await acme.receive()
    expect(titles(await acme.notified())).toEqual(['Mientras no había descargas'])
    expect(await messages(acme)).toEqual([
      expect.stringMatching(/^critical: .*As of 2026-05-20 nobody has opened it: it counts as notified on 2026-05-19\.$/),
    ])
  })

  it('is told to each organization once, whoever listed it first, and to nobody whose runs have not', async () => {
    const [first, idle] = [await reader(), await reader()]
    const [joins, finds] = [await reader(first.rfc), await reader(first.rfc)]
    await first.send({ ...LETTER, sent_at: '2026-05-19T16:00:00Z' })
    await first.run()
    await joins.run()
    await first.receive()
    expect([(await first.notified()).length, (await joins.notified()).length, (await finds.notified()).length]).toEqual([1, 1, 0])
    await finds.run()
    for (let times = 0; times < 2; times++)
      for (const one of [first, joins, finds]) {
        const notified = await one.notified()
        expect(notified).toMatchObject([{ ...DATED, notification_id: (await one.list())[0]!.notification_id }])
        expect((await one.alerts()).length).toBe(1)
      }
    expect(await idle.notified()).toEqual([])
  })

  it('is told once, also when the relay dies before it crosses it off', async () => {
    const acme = await reader()
    await acme.send({ ...LETTER, sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    beforeBatch('delete from "outbox"', 'spoil')
    const notified = await acme.notified()
    expect(notified.length).toBe(1)
    const left = "select count(*) as n from outbox where kind = 'mailbox.notification_received'"
    expect(await env.LEDGER_0.prepare(left).first('n')).toBe(1)
    expect([await acme.notified(), (await acme.alerts()).length]).toEqual([notified, 1])
    expect(await env.LEDGER_0.prepare(left).first('n')).toBe(0)
  })
})

describe('what mirrors copy', () => {
  it('are the documents of the notifications that the organization reads, as of when it could read them, page by page', async () => {
    const acme = await reader()
    for (const day of ['12', '13', '14']) await acme.send({ kind: 'comunicado', sent_at: `2026-05-${day}T16:00:00Z` })
    await acme.send({ sent_at: '2026-05-19T16:00:00Z' })
    await acme.receive()
    const { entity } = await callOf(acme.rfc)
    const { fiscal_entity_id, rfc } = acme
    const ledger = openLedger(contextOf({ entity, fiscal_entity_id, rfc }, { organization: acme.id, extractor_count: 1 }))
    const pages = async () => {
      const [first, second] = [await mirroredNotifications(ledger, null, 2), [] as Awaited<ReturnType<typeof mirroredNotifications>>]
      second.push(...(await mirroredNotifications(ledger, first.at(-1)!.document_id, 2)))
      expect(await mirroredNotifications(ledger, second.at(-1)!.document_id, 2)).toEqual([])
      return [...first, ...second]
    }
    const before = await pages()
    expect(before.map(({ document_id }) => document_id)).toEqual((await acme.list()).map(({ notification_id }) => notification_id))
    expect(before.map(({ document_date, object }) => [document_date, object !== null])).toEqual([
      ['2026-05-19', false],
      ...['14', '13', '12'].map((day) => [`2026-05-${day}`, true]),
    ])
    expect(new Set(before.map(({ got_at }) => got_at))).toEqual(new Set([Date.now()]))
    later(60)
    await acme.document(before[0]!.document_id, { ack: true })
    await acme.open()
    const [opened, ...others] = await pages()
    expect(opened).toMatchObject({ got_at: Date.now(), content_type: 'application/pdf' })
    expect(others).toEqual(before.slice(1))
    expect((await env.FILES.get(opened!.object!))!.size).toBe(opened!.size)
  })
})
