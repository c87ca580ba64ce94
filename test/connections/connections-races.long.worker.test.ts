import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { loginVersionOf, rejectLogin } from '../../src/taxpayers/login-answers.ts'
import { callOf, deliver, ISSUED, losingMessages, subscriber } from '../downloads/support/downloads.ts'
import { beforeCommit } from '../support/commits.ts'
import { audited, freshRfc, type Organization, organization } from '../support/tenants.ts'
import { ciecFor, refusedNow, systemNow } from '../taxpayers/support/ciec.ts'
import { created, draft } from './extractors/support/extractors.ts'

const PATH = '/v1/fiscal-entities'

afterEach(() => {
  vi.restoreAllMocks()
})

async function connected(body: object = {}, of?: Organization) {
  const acme = of ?? (await organization())
  const { body: made } = await acme.ask('POST', PATH, { rfc: freshRfc(), ...body })
  const path = `${PATH}/${made.fiscal_entity_id}`
  const { entity } = await callOf(made.rfc)
  const where = [acme.id, made.fiscal_entity_id] as const
  return {
    ...acme,
    rfc: made.rfc as string,
    entity,
    get: async () => acme.ask('GET', path),
    patch: async (changes: object) => acme.ask('PATCH', path, changes),
    unlink: async () => (await acme.ask('DELETE', path)).status,
    link: async (more: object = {}) => acme.ask('POST', PATH, { rfc: made.rfc, ...more }),
    row: async () =>
      (await env.DB.prepare('select * from connections where organization_id = ? and fiscal_entity_id = ?')
        .bind(...where)
        .first<Record<string, unknown>>())!,
    put: async (assignment: string) =>
      env.DB.prepare(`update connections set ${assignment} where organization_id = ? and fiscal_entity_id = ?`)
        .bind(...where)
        .run(),
    audited: async (action: string) => (await audited(acme, `fiscal_entity.${action}`)).length,
    runs: async () =>
      (await env.DB.prepare('select trigger from runs where organization_id = ? order by run_id').bind(acme.id).raw()).flat(),
  }
}

/** The same with an extractor for each of the two ways of becoming active. */
async function watched(body: object = {}) {
  const acme = await organization()
  for (const trigger_kind of ['connection_created', 'connection_reactivated']) await created(acme, { ...draft, trigger_kind })
  return connected(body, acme)
}

describe('unlinking', () => {
  it('erases the CIEC also when a consumer found it invalid meanwhile', async () => {
    const one = await connected({ ciec: 'empty1' })
    const met = beforeCommit(() => refusedNow(one.rfc, 'empty1'))
    expect([await one.unlink(), met()]).toEqual([204, 1])
    expect(await one.row()).toMatchObject({ state: 'unlinked', ciec: null, ciec_accepted_at: null })
    expect((await one.get()).status).toBe(404)
    expect([await one.audited('ciec_invalid'), await one.audited('unlinked')]).toEqual([1, 1])
  })

  it('happens once', async () => {
    const one = await connected({ ciec: 'empty1' })
    let inner = 0
    beforeCommit(async () => {
      inner = await one.unlink()
    })
    expect([await one.unlink(), inner]).toEqual([404, 204])
    expect(await one.audited('unlinked')).toBe(1)
    vi.restoreAllMocks()
    await one.link()
    const statuses = await Promise.all([1, 2, 3, 4].map(one.unlink))
    expect(statuses.sort()).toEqual([204, 404, 404, 404])
    expect(await one.audited('unlinked')).toBe(2)
  })
})

describe('linking', () => {
  it('again, twice at once: one is refused with all that it had planned', async () => {
    const one = await watched({ ciec: 'empty1' })
    await one.unlink()
    let inner = 0
    beforeCommit(async () => {
      inner = (await one.link({ ciec: 'empty2', name: 'Dos' })).status
    })
    const outer = await one.link({ ciec: 'empty3', name: 'Tres' })
    expect([inner, outer.status, outer.body.code]).toEqual([201, 409, 'fiscal_entity.already_linked'])
    expect((await one.get()).body).toMatchObject({ name: 'Dos', status: 'active' })
    expect(await ciecFor(one.rfc, [one.id])).toBe('empty2')
    expect(await one.audited('connected')).toBe(2)
    expect(await one.runs()).toEqual(['connection_created', 'connection_reactivated'])
  })

  it('for the first time, many at once: one is made', async () => {
    const one = await watched()
    const rfc = freshRfc()
    const replies = await Promise.all(['empty1', 'empty2', 'empty3'].map((ciec) => one.ask('POST', PATH, { rfc, ciec })))
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    expect([await one.audited('connected'), await one.runs()]).toEqual([2, ['connection_created']])
  })

  it('again shrinks no window that grew meanwhile', async () => {
    const one = await connected({ ciec: 'empty1' })
    await one.put("issued_from = '2024-01-01', issued_to = 1700000000000, received_from = '2024-02-01', received_to = 1700000000000")
    await one.unlink()
    beforeCommit(async () => {
      await one.link({ ciec: 'empty2' })
      await one.put("issued_from = '2020-01-01', issued_to = 1770000000000")
      await one.unlink()
    })
    const { status, body } = await one.link({ ciec: 'empty3' })
    expect([status, body.status, body.visible_from, Date.parse(body.visible_to)]).toEqual([201, 'active', '2020-01-01', 1_770_000_000_000])
    expect(body.windows).toEqual({
      sat_cfdi_issued: { visible_from: '2020-01-01', visible_to: new Date(1_770_000_000_000).toISOString() },
      sat_cfdi_received: { visible_from: '2024-02-01', visible_to: new Date(1_700_000_000_000).toISOString() },
    })
  })
})

describe('changes at once', () => {
  it('of different members are both there', async () => {
    const one = await connected({ name: 'Uno' })
    beforeCommit(() => one.patch({ name: 'Dos' }))
    expect((await one.patch({ data_source_keys: [] })).body).toMatchObject({ name: 'Dos', data_source_keys: ['sat_miinformacion'] })
    vi.restoreAllMocks()
    await Promise.all([one.patch({ name: 'Tres' }), one.patch({ data_source_keys: ['sat_csf'] }), one.patch({ ciec: 'empty1' })])
    const expected = { name: 'Tres', data_source_keys: ['sat_csf', 'sat_miinformacion'], status: 'active', ciec_set: true }
    expect((await one.get()).body).toMatchObject(expected)
    expect(await one.audited('updated')).toBe(5)
  })

  it('that wake the same draft wake it once, and both are audited', async () => {
    const one = await watched()
    const met = beforeCommit(() => one.patch({ ciec: 'empty1' }))
    expect((await one.patch({ ciec: 'empty2', name: 'Dos' })).body).toMatchObject({ status: 'active', name: 'Dos' })
    expect([met(), await one.runs(), await one.audited('updated')]).toEqual([1, ['connection_created'], 2])
    // The second CIEC was accepted before the first one was stored, so it is verified again.
    await expect.poll(() => ciecFor(one.rfc, [one.id]), { timeout: 20_000 }).toBe('empty2')
  })

  it('of the CIEC and its being found invalid: the new one revives the connection', async () => {
    const one = await watched({ ciec: 'empty1' })
    beforeCommit(() => refusedNow(one.rfc, 'empty1'))
    expect((await one.patch({ ciec: 'empty2' })).body.status).toBe('active')
    expect(await one.runs()).toEqual(['connection_created', 'connection_reactivated'])
    expect([await one.audited('ciec_invalid'), await one.audited('updated')]).toEqual([1, 1])
  })

  it('of a connection that is unlinked meanwhile leave nothing', async () => {
    const one = await watched()
    beforeCommit(one.unlink)
    expect((await one.patch({ ciec: 'empty1', name: 'Dos' })).status).toBe(404)
    expect(await one.row()).toMatchObject({ state: 'unlinked', ciec: null, name: null })
    expect([await one.runs(), await one.audited('updated')]).toEqual([[], 0])
  })

  it('are given up when the state never holds still, and then nothing is written', async () => {
    const one = await watched()
    const met = beforeCommit(() => one.put("state = case state when 'draft' then 'invalid_ciec' else 'draft' end"), 1_000)
    const row = await one.row()
    const { status, body } = await one.patch({ ciec: 'empty1', name: 'Dos' })
    expect([status, body.code, met()]).toEqual([409, 'fiscal_entity.changed', 100])
    expect(await one.row()).toEqual(row)
    expect([await one.runs(), await one.audited('updated')]).toEqual([[], 0])
  })
})

/** Three organizations’ connections to one RFC, the one whose CIEC was accepted last first. */
async function shared() {
  const rfc = freshRfc()
  const all: Awaited<ReturnType<typeof connected>>[] = []
  for (const ciec of ['empty1', 'empty2', 'empty3']) all.unshift(await connected({ rfc, ciec }))
  return {
    rfc,
    entity: all[0]!.entity,
    all,
    newest: all[0]!,
    states: async () => (await Promise.all(all.map((one) => one.row()))).map(({ state }) => state),
    unverified: async () => (await Promise.all(all.map((one) => one.row()))).map(({ ciec_verify_at }) => ciec_verify_at !== null),
    notified: () => Promise.all(all.map((one) => one.audited('ciec_invalid'))),
  }
}

describe('a refused CIEC', () => {
  it('is the one that was used: its holder is invalid, and every other one is verified before it is used', async () => {
    const { rfc, all, states, notified, unverified } = await shared()
    await refusedNow(rfc, 'empty2')
    expect([await states(), await notified(), await unverified()]).toEqual([
      ['active', 'invalid_ciec', 'active'],
      [0, 1, 0],
      [true, false, true],
    ])
    for (const one of all) expect(await ciecFor(rfc, [one.id])).toBeNull()
    await deliver([await callOf(rfc)])
    expect([await states(), await unverified()]).toEqual([
      ['active', 'invalid_ciec', 'active'],
      [false, false, false],
    ])
    expect(await ciecFor(rfc, [all[0]!.id])).toBe('empty3')
    expect(await ciecFor(rfc, [all[1]!.id])).toBeNull()
  })

  it('ends the connections of all who hold it, in one commit', async () => {
    const rfc = freshRfc()
    const all = await Promise.all(['empty1', 'empty1', 'empty2'].map((ciec) => connected({ rfc, ciec })))
    await refusedNow(rfc, 'empty1')
    expect((await Promise.all(all.map((one) => one.get()))).map(({ body }) => [body.status, body.invalid_reason])).toEqual([
      ['invalid_ciec', 'rejected'],
      ['invalid_ciec', 'rejected'],
      ['active', null],
    ])
  })

  it('is reported once to each organization, by however many consumers', async () => {
    const { rfc, states, notified } = await shared()
    const report = () => refusedNow(rfc, 'empty3')
    const met = beforeCommit(report)
    await Promise.all([report(), report(), report()])
    expect([met(), await states(), await notified()]).toEqual([1, ['invalid_ciec', 'active', 'active'], [1, 0, 0]])
  })

  it('that nobody holds changes nothing', async () => {
    const { rfc, states, unverified } = await shared()
    const before = await unverified()
    await refusedNow(rfc, 'nobody’s')
    expect([await states(), await unverified()]).toEqual([['active', 'active', 'active'], before])
  })

  it('that was given again and accepted in the same moment is verified instead', async () => {
    const { rfc, all, newest, states, notified, unverified } = await shared()
    beforeCommit(() => newest.patch({ ciec: 'empty3' }))
    const system = systemNow()
    const login = { rfc, ciec: 'empty3' }
    const asked = { login, version: await loginVersionOf(system, login) }
    await rejectLogin(system, newest.entity, asked)
    expect([await states(), await notified(), (await unverified())[0]]).toEqual([['active', 'active', 'active'], [0, 0, 0], true])
    await deliver([await callOf(rfc)])
    expect(await ciecFor(rfc, [all[0]!.id])).toBe('empty3')
  })

  it('that does not open holds downloads up until another is given', async () => {
    const queue = losingMessages()
    const one = await subscriber(freshRfc(), ISSUED, 'empty1')
    await one.run()
    const call = await callOf((await one.entity()).rfc)
    await env.DB.prepare("update connections set ciec = '9:AAAA' where entity = ?").bind(call.entity).run()
    await deliver([call])
    expect((await one.sync()).jobs.waiting).toBeGreaterThan(0)
    queue.announced()
    expect((await one.give('empty2')).body.status).toBe('active')
    expect(queue.announced()).toEqual([call])
    await deliver([call])
    expect((await one.sync()).status).toBe('idle')
  })
})
