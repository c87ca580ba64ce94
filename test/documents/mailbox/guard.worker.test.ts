import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as adapters from '../../../src/authority/adapters.ts'
import type { TaxMailbox } from '../../../src/authority/port/mailbox.ts'
import type { Notification } from '../../../src/documents/mailbox/contract.ts'
import { Unavailable } from '../../../src/platform/failures.ts'
import { beforeBatch } from '../../authority/support/authority.ts'
import { deliver, later, losingMessages, sweep } from '../../downloads/support/downloads.ts'
import { restore } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { audited } from '../../support/tenants.ts'
import { openedAtAuthority, reader } from './support/mailbox.ts'

let queue: ReturnType<typeof losingMessages>

beforeEach(async () => {
  later(0)
  queue = losingMessages()
  await env.DB.prepare('delete from "mailbox_requests"').run()
})
afterEach(restore)

const DAY = 86_400
const ROLES = ['owner', 'admin', 'member'] as const

/** A reader whose mailbox has one pending notification. */
async function pending() {
  const acme = await reader()
  await acme.send({ sent_at: '2026-05-19T16:00:00Z' })
  await acme.receive()
  const [one] = await acme.list()
  return { ...acme, id: one!.notification_id }
}

const requests = () => env.DB.prepare('select count(*) as n from mailbox_requests').first<number>('n')

/** The calls of the authority's mailbox from here on; `act` may fail in its place. */
function watchMailbox(act: (call: keyof TaxMailbox) => void = () => {}): string[] {
  const calls: string[] = []
  const real = adapters.authorityOf
  vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => {
    const { mailbox, ...authority } = await real(system)
    const watched = (call: keyof TaxMailbox) => {
      calls.push(call)
      act(call)
    }
    return {
      ...authority,
      mailbox: {
        list: (...args) => {
          watched('list')
          return mailbox.list(...args)
        },
        open: (...args) => {
          watched('open')
          return mailbox.open(...args)
        },
        document: (...args) => {
          watched('document')
          return mailbox.document(...args)
        },
      },
    }
  })
  return calls
}

describe('a pending notification', () => {
  it('is not opened without an acknowledgement: 409 would_notify, for every role', async () => {
    const acme = await pending()
    for (const role of ROLES)
      expect(await acme.document(acme.id, { role })).toMatchObject({
        status: 409,
        body: { code: 'would_notify', open_deadline: '2026-05-22' },
      })
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual([])
    expect(await audited(acme, 'notification.opening_requested')).toEqual([])
  })

  it('is not opened by HEAD, whatever it acknowledges: 409 for every role; nothing is asked for, written or audited', async () => {
    const acme = await pending()
    const calls = watchMailbox()
    for (const role of ROLES)
      for (const ack of [true, false]) expect((await acme.head(acme.id, { ack, role })).status, `${role} ${ack}`).toBe(409)
    expect(await requests()).toBe(0)
    await acme.open()
    expect([calls, await openedAtAuthority(acme.rfc), await audited(acme, 'notification.opening_requested')]).toEqual([[], [], []])
    expect((await acme.list())[0]!.status).toBe('pending')
    // Once an owner has acknowledged with GET, HEAD says what GET says.
    await acme.document(acme.id, { ack: true })
    expect((await acme.head(acme.id)).status).toBe(202)
    expect(await audited(acme, 'notification.opening_requested')).toHaveLength(1)
  })

  it('is not opened by a request that is made in advance, whatever it acknowledges; nothing is asked for, written or audited', async () => {
    const acme = await pending()
    const calls = watchMailbox()
    const marks = { 'sec-purpose': 'prefetch;prerender', purpose: 'prefetch', 'x-moz': 'prefetch', 'x-purpose': 'preview' }
    for (const [name, value] of Object.entries(marks))
      for (const role of ROLES) {
        const answer = await acme.fetchDocument(acme.id, { [name]: value }, { ack: true, role })
        expect([answer.status, answer.body.code], `${name} ${role}`).toEqual([409, 'would_notify'])
      }
    await acme.open()
    expect([await requests(), calls, await audited(acme, 'notification.opening_requested')]).toEqual([0, [], []])
    // Nor does it have anything else fetched.
    later(6 * DAY)
    const prefetch = () => acme.fetchDocument(acme.id, { 'sec-purpose': 'prefetch' }, { ack: true })
    expect([(await prefetch()).status, await requests()]).toEqual([202, 0])
    expect((await acme.document(acme.id)).status).toBe(202)
    await acme.open()
    expect((await prefetch()).text).toMatch(/^%PDF/)
    expect(calls).toEqual(['list', 'document'])
  })

  it('is not opened by a request that another site or a part of a page makes a browser send: nothing is asked for, written or audited', async () => {
    const acme = await pending()
    const calls = watchMailbox()
    const foreign = [
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'document' },
      ...['image', 'iframe', 'script', 'embed', 'object'].map((dest) => ({ 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': dest })),
      { 'sec-fetch-dest': 'image' },
    ] as unknown as Record<string, string>[]
    for (const headers of foreign)
      for (const role of ROLES) {
        const { status, body } = await acme.fetchDocument(acme.id, headers, { ack: true, role })
        expect([status, body.code], `${role} ${JSON.stringify(headers)}`).toEqual([409, 'would_notify'])
        expect(body.detail).toMatch(/The acknowledgement was ignored, because another site or a part of a page made the browser send it\.$/)
      }
    await acme.open()
    expect([await requests(), calls, await audited(acme, 'notification.opening_requested')]).toEqual([0, [], []])
    for (const headers of [
      { 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' },
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' },
    ])
      expect((await acme.fetchDocument(acme.id, headers, { ack: true })).status).toBe(202)
    await acme.open()
    // Reading what is opened needs no acknowledgement, whoever makes the browser ask.
    for (const headers of foreign) expect((await acme.fetchDocument(acme.id, headers)).text).toMatch(/^%PDF/)
  })

  it('says its deadline in the 409, and who can open it: a member is not told to acknowledge', async () => {
    // Sent on Tuesday 2026-05-19: the third business day is Friday, and the fourth Monday.
    const acme = await pending()
    const detail = (how: string) =>
      'Reading the document would open the notification, and the notification would take effect at that moment. Its deadline is 2026-05-22. If nobody opens it, it ' +
      `counts as notified on 2026-05-25. ${how}`
    const ways = {
      owner: 'Repeat the request with acknowledge_notification=true to open it.',
      admin: 'Repeat the request with acknowledge_notification=true to open it.',
      member: 'Only a credential with the scope tax_mailbox:open, which owners and admins have, can open it.',
    }
    for (const role of ROLES)
      expect((await acme.document(acme.id, { role })).body).toMatchObject({ open_deadline: '2026-05-22', detail: detail(ways[role]) })
  })

  it('is pending on the weekend after its deadline, with no days left, and can be opened then; on Monday it counts as notified', async () => {
    const acme = await pending()
    const shown = async () => {
      const [{ status, open_deadline, days_left, effective_at }] = (await acme.list()) as [Notification]
      return { status, open_deadline, days_left, effective_at }
    }
    const due = { open_deadline: '2026-05-22', effective_at: '2026-05-25T06:00:00.000Z' }
    const seen = []
    for (const days of [1, 2, 3, 4, 5]) {
      later(days * DAY)
      seen.push(await shown())
    }
    expect(seen).toEqual([
      ...[1, 0, 0, 0].map((days_left) => ({ ...due, status: 'pending', days_left })),
      { ...due, status: 'notified_by_expiry', days_left: null },
    ])
    later(4 * DAY)
    expect((await acme.document(acme.id, { ack: true })).status).toBe(202)
    await acme.open()
    expect(await shown()).toMatchObject({ status: 'opened', open_deadline: '2026-05-22', effective_at: '2026-05-24T09:00:00.000Z' })
  })

  it('is not opened by what a cache repeats: no answer may be stored, and conditions and ranges change none of them', async () => {
    const acme = await pending()
    const conditional = { 'if-none-match': '*', range: 'bytes=0-9' }
    const seen = [await acme.fetchDocument(acme.id, conditional)]
    expect(seen[0]!.body.code).toBe('would_notify')
    seen.push(await acme.fetchDocument(acme.id, conditional, { ack: true }))
    await acme.open()
    seen.push(await acme.fetchDocument(acme.id, {}, { ack: true }), await acme.fetchDocument(acme.id, conditional))
    expect(seen.map(({ status }) => status)).toEqual([409, 202, 200, 304])
    for (const { headers } of seen) expect(headers.get('cache-control')).toBe('no-store')
  })

  it('is not opened any more when the RFC is unlinked, also when it is linked again', async () => {
    const acme = await pending()
    await acme.document(acme.id, { ack: true })
    expect(await requests()).toBe(1)
    await acme.ask('DELETE', acme.path)
    expect(await requests()).toBe(0)
    await acme.ask('POST', '/v1/fiscal-entities', { rfc: acme.rfc, ciec: 'empty123' })
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual([])
    expect((await acme.list())[0]!.status).toBe('pending')
  })

  it('is not opened when the RFC is unlinked while a worker lists the mailbox', async () => {
    const acme = await pending()
    await acme.document(acme.id, { ack: true })
    watchMailbox((call) => {
      if (call === 'list') void env.DB.prepare('delete from "mailbox_requests"').run()
    })
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual([])
  })

  it('is not opened for a member who acknowledges: 403, before and after an owner has', async () => {
    const acme = await pending()
    const refused = { status: 403, body: { code: 'credential.role' } }
    expect(await acme.document(acme.id, { ack: true, role: 'member' })).toMatchObject(refused)
    await acme.document(acme.id, { ack: true })
    expect(await acme.document(acme.id, { ack: true, role: 'member' })).toMatchObject(refused)
    expect((await acme.document(acme.id, { role: 'member' })).status).toBe(202)
  })

  it.each(['owner', 'admin'])(
    'is opened for an %s who acknowledges: audited once, 202, then the file, and opened for everybody',
    async (role) => {
      const acme = await pending()
      const other = await reader(acme.rfc)
      await other.run()
      const [seen] = await other.list()
      const calls = watchMailbox()
      for (let times = 0; times < 2; times++)
        expect(await acme.document(acme.id, { ack: true, role })).toMatchObject({ status: 202, body: { status: 'fetching' } })
      expect((await audited(acme, 'notification.opening_requested')).map(({ changed }) => changed)).toEqual([['opened_at']])
      const { actor, resource_id } = (await acme.ask('GET', '/v1/audit-events?action=notification.opening_requested')).body.data[0]
      expect([actor, resource_id]).toEqual([expect.stringMatching(/^fds_test_key_/), acme.id])
      expect((await acme.list())[0]!.status).toBe('pending')
      // Another organization is told nothing of the request.
      expect(await other.document(seen!.notification_id)).toMatchObject({ status: 409, body: { code: 'would_notify' } })

      later(60)
      await acme.open()
      expect(calls).toEqual(['list', 'open', 'document'])
      const opened = { status: 'opened', severity: 'info', opened_at: '2026-05-20T09:01:00.000Z', effective_at: '2026-05-20T09:01:00.000Z' }
      for (const one of [acme, other]) {
        const [now] = await one.list()
        expect(now).toMatchObject({ ...opened, days_left: null })
        expect(await one.document(now!.notification_id, { role: 'member' })).toMatchObject({
          status: 200,
          body: expect.stringMatching(/^%PDF/),
        })
      }
      // The acknowledgement of what is opened changes nothing.
      expect((await acme.document(acme.id, { ack: true, role: 'member' })).status).toBe(200)
      expect(await audited(acme, 'notification.opening_requested')).toHaveLength(1)
      expect(await audited(other, 'notification.opening_requested')).toHaveLength(0)
      expect(await requests()).toBe(0)
    },
  )

  it('without a document is opened when it is acknowledged: the 409 says that this brings none, and the 404 when it was opened', async () => {
    const acme = await reader()
    await acme.send({ sent_at: '2026-05-19T16:00:00Z', document_kind: null })
    await acme.receive()
    const id = (await acme.list())[0]!.notification_id
    expect(await acme.document(id)).toMatchObject({
      status: 409,
      body: {
        code: 'would_notify',
        detail: expect.stringMatching(/^The notification has no document, and opening it does not produce one\./),
      },
    })
    const calls = watchMailbox()
    expect((await acme.document(id, { ack: true })).status).toBe(202)
    later(60)
    await acme.open()
    expect(calls).toEqual(['list', 'open'])
    expect((await acme.list())[0]).toMatchObject({ status: 'opened', has_document: false, opened_at: '2026-05-20T09:01:00.000Z' })
    const notified = { code: 'document.not_found', detail: 'The notification was opened at 2026-05-20T09:01:00.000Z and has no document.' }
    for (const ack of [true, false]) expect(await acme.document(id, { ack })).toMatchObject({ status: 404, body: notified })
    expect(await requests()).toBe(0)
  })

  it('is opened once for two organizations that acknowledge at the same time', async () => {
    const acme = await pending()
    const other = await reader(acme.rfc)
    await other.run()
    const calls = watchMailbox()
    await Promise.all([acme.document(acme.id, { ack: true }), other.document((await other.list())[0]!.notification_id, { ack: true })])
    await acme.open()
    await other.open()
    expect(calls.filter((call) => call === 'open')).toEqual(['open'])
    expect([(await acme.list())[0]!.status, (await other.list())[0]!.status]).toEqual(['opened', 'opened'])
  })

  it('that was opened in the portal is opened here with the next run, and its document is there', async () => {
    const acme = await pending()
    const { rfc, notification } = (await env.DB.prepare('select rfc, notification from sandbox_notifications where rfc = ?')
      .bind(acme.rfc)
      .first())!
    await env.DB.prepare('update sandbox_notifications set opened_at = ?3 where rfc = ?1 and notification = ?2')
      .bind(rfc, notification, Date.now())
      .run()
    later(601)
    await acme.receive()
    expect((await acme.list())[0]).toMatchObject({ status: 'opened', opened_at: '2026-05-20T09:00:00.000Z' })
    expect((await acme.document(acme.id)).status).toBe(200)
    expect(await acme.notified()).toHaveLength(1)
  })

  it('whose period ends before the service gets to it is not opened any more, only fetched', async () => {
    const acme = await pending()
    await acme.document(acme.id, { ack: true })
    later(6 * DAY)
    const calls = watchMailbox()
    await acme.open()
    expect(calls).toEqual(['list', 'document'])
    expect((await acme.list())[0]!.status).toBe('notified_by_expiry')
    expect((await acme.document(acme.id)).status).toBe(200)
  })
})

describe('a crash', () => {
  it.each([
    ['before the message: the sweep sends it', 'message'],
    ['after the authority has opened it and before that is recorded', 'recording'],
    ['after it is recorded and before the document is there', 'document'],
    ['before the request is crossed off', 'crossing off'],
  ])('%s: it is opened once, and the document comes', async (_, where) => {
    const acme = await pending()
    queue.announced()
    await acme.document(acme.id, { ack: true })
    const calls = watchMailbox((call) => {
      if (where === 'document' && call === 'document' && calls.length === 3) throw new Unavailable('sat_unavailable', 'The test.')
    })
    const spoil = { recording: 'update "mailbox_notifications"', 'crossing off': 'delete from "mailbox_requests"' }[where]
    const undo = spoil === undefined ? () => {} : spoilRun(spoil, 'update "mailbox_requests"')
    if (where !== 'message') await acme.open()
    undo()
    later(90)
    queue.announced()
    await sweep()
    const found = queue.announced().filter((body) => 'mailbox' in body)
    expect(found.length).toBe(1)
    await deliver(found)
    expect(calls.filter((call) => call === 'open')).toEqual(['open'])
    expect((await acme.list())[0]).toMatchObject({ status: 'opened' })
    expect((await acme.document(acme.id)).status).toBe(200)
    expect(await requests()).toBe(0)
    expect(await audited(acme, 'notification.opened')).toHaveLength(1)
  })

  it('of the commit of the request leaves no request, no audit row, and nothing opened', async () => {
    const acme = await pending()
    beforeBatch('insert into "mailbox_requests"', 'spoil')
    expect((await acme.document(acme.id, { ack: true })).status).toBe(500)
    await acme.open()
    expect([await openedAtAuthority(acme.rfc), await audited(acme, 'notification.opening_requested')]).toEqual([[], []])
    expect((await acme.document(acme.id)).status).toBe(409)
  })
})

/** Makes statements that hold one of these fail when they run alone, or as the only one of a batch. */
function spoilRun(...importSource: string[]): () => void {
  const isSpoiled = (one: D1PreparedStatement): boolean => {
    const { statement } = one as unknown as { statement: string }
    return importSource.some((text) => statement.includes(text))
  }
  const [one, database] = [Object.getPrototypeOf(env.DB.prepare('select 1')), Object.getPrototypeOf(env.DB)] as [
    D1PreparedStatement,
    D1Database,
  ]
  const { run } = one
  const { batch } = database
  const spies = [
    vi.spyOn(one, 'run').mockImplementation(async function (this: D1PreparedStatement) {
      if (isSpoiled(this)) throw new Error('The test makes D1 fail.')
      return run.call(this) as never
    }),
    vi.spyOn(database, 'batch').mockImplementation(async function (this: D1Database, statements) {
      if (statements.length === 1 && statements.some(isSpoiled)) throw new Error('The test makes D1 fail.')
      return batch.call(this, statements) as never
    }),
  ]
  return () => {
    for (const spy of spies) spy.mockRestore()
  }
}

describe('an authority that does not answer', () => {
  it('is asked again after growing waits, twelve times; then the acknowledgement lapses and nothing is opened', async () => {
    const acme = await pending()
    await acme.document(acme.id, { ack: true })
    const calls = watchMailbox(() => {
      throw new Unavailable('sat_unavailable', 'The test.')
    })
    let seconds = 0
    for (let n = 0; n < 20; n++) {
      await acme.open()
      await acme.open()
      seconds += 900
      later(seconds)
    }
    expect(calls.length).toBe(12)
    expect(await acme.document(acme.id)).toMatchObject({ status: 409, body: { code: 'would_notify' } })
  })

  it('that refuses the login makes the connection invalid', async () => {
    const acme = await pending()
    await acme.document(acme.id, { ack: true })
    await acme.ask('POST', `/v1/test-helpers/fiscal-entities/${acme.fiscal_entity_id}/expire-ciec`)
    await acme.open()
    expect((await acme.entity()).status).toBe('invalid_ciec')
    expect(await openedAtAuthority(acme.rfc)).toEqual([])
  })
})

describe('the guard', () => {
  type Call = readonly [
    what: 'list' | 'read' | 'head' | 'prefetch' | 'foreign' | 'ack' | 'run' | 'work' | 'wait' | 'relay' | 'leave',
    who: number,
    role: number,
    which: number,
  ]
  const anyCall: fc.Arbitrary<Call> = fc.tuple(
    fc.constantFrom('list', 'read', 'head', 'prefetch', 'foreign', 'ack', 'run', 'work', 'wait', 'relay', 'leave'),
    fc.nat(1),
    fc.nat(2),
    fc.nat(4),
  )

  it('holds over any sequence of calls of any roles and organizations: nothing is opened but what an owner or admin acknowledged', async () => {
    const parties = [await reader()]
    parties.push(await reader(parties[0]!.rfc))
    const { rfc, send } = parties[0]!
    const asked = watchMailbox()
    const acknowledged = new Set<string>()
    let [seconds, sent] = [0, 0]
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(anyCall, { minLength: 8, maxLength: 20 }), async (acknowledges, calls) => {
        for (const kind of ['requerimiento', 'notificacion', 'comunicado']) await send({ kind, title: `n${sent++}` })
        for (const [what, who, n, which] of calls) {
          const one = parties[who]!
          const role = ROLES[n]!
          seconds += { wait: which * DAY, run: 601 }[what as string] ?? 0
          later(seconds)
          if (what === 'run') await one.receive()
          if (what === 'work') await one.open()
          if (what === 'relay') await one.notified()
          if (what === 'leave') {
            const opened = await openedAtAuthority(rfc)
            for (const active of [false, true]) await one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active })
            for (const key of acknowledged) if (key.startsWith(`${who} `) && !opened.includes(key.slice(2))) acknowledged.delete(key)
          }
          const listed = (await one.ask('GET', `${one.box}/notifications`, undefined, role)).body.data as Notification[]
          const target = listed[which % Math.max(1, listed.length)]
          if (!target) continue
          if (what === 'head' || what === 'prefetch') {
            const before = await requests()
            const { status } =
              what === 'head'
                ? await one.head(target.notification_id, { ack: which % 2 === 0, role })
                : await one.fetchDocument(target.notification_id, { 'sec-purpose': 'prefetch' }, { ack: which % 2 === 0, role })
            if (target.status !== 'pending') expect([200, 202]).toContain(status)
            else expect(status).toBe(acknowledged.has(`${who} ${target.title}`) ? 202 : 409)
            expect(await requests()).toBe(before)
            continue
          }
          if (what === 'foreign') {
            const { status } = await one.fetchDocument(target.notification_id, { 'sec-fetch-site': 'cross-site' }, { ack: true, role })
            if (target.status !== 'pending') expect([200, 202]).toContain(status)
            else expect(status).toBe(acknowledged.has(`${who} ${target.title}`) ? 202 : 409)
            continue
          }
          const ack = what === 'ack' && (acknowledges || role === 'member')
          const { status } = await one.document(target.notification_id, { ack, role })
          if (target.status !== 'pending') expect([200, 202]).toContain(status)
          else if (ack) expect(status).toBe(role === 'member' ? 403 : 202)
          else expect(status).toBe(acknowledged.has(`${who} ${target.title}`) ? 202 : 409)
          if (ack && status === 202) acknowledged.add(`${who} ${target.title}`)
        }
        const opened = await openedAtAuthority(rfc)
        expect(opened.filter((title) => !acknowledged.has(`0 ${title}`) && !acknowledged.has(`1 ${title}`))).toEqual([])
        if (acknowledged.size === 0) expect(asked).not.toContain('open')
      }),
      { numRuns: runs(2, 60) },
    )
    // No sequence has to open anything.
    const one = parties[0]!
    await send({ kind: 'requerimiento', title: 'last' })
    later(seconds + 601)
    await one.receive()
    const { notification_id } = (await one.list()).find(({ title }) => title === 'last')!
    await one.document(notification_id, { ack: true, role: 'owner' })
    await one.open()
    expect(asked).toContain('document')
  }, 120_000)
})
