import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import type { FiscalEntity } from '../../src/connections/contract.ts'
import { pathsOf } from '../support/client.ts'
import { audited, freshRfc, type Organization, organization } from '../support/tenants.ts'
import { refusedNow } from '../taxpayers/support/ciec.ts'
import { created, draft, scheduled } from './extractors/support/extractors.ts'

const PATH = '/v1/fiscal-entities'
const pathOf = ({ fiscal_entity_id }: FiscalEntity): string => `${PATH}/${fiscal_entity_id}`

async function connected(of: Organization, body: object = {}): Promise<FiscalEntity> {
  const reply = await of.ask('POST', PATH, { rfc: freshRfc(), ...body })
  expect(reply).toEqual(expect.objectContaining({ status: 201 }))
  return reply.body
}

const rowOf = (of: Organization, { fiscal_entity_id }: FiscalEntity) =>
  env.DB.prepare('select * from connections where organization_id = ? and fiscal_entity_id = ?')
    .bind(of.id, fiscal_entity_id)
    .first<Record<string, unknown>>()

const put = (of: Organization, { fiscal_entity_id }: FiscalEntity, assignment: string) =>
  env.DB.prepare(`update connections set ${assignment} where organization_id = ? and fiscal_entity_id = ?`)
    .bind(of.id, fiscal_entity_id)
    .run()

/** The triggers of all runs of the organization, in order of their being planned. */
const triggers = async (of: Organization): Promise<unknown[]> =>
  (await env.DB.prepare('select trigger from runs where organization_id = ? order by run_id').bind(of.id).raw()).flat()

describe('connecting an RFC', () => {
  it('without a CIEC makes a draft, which runs nothing and reads nothing', async () => {
    const acme = await organization()
    await created(acme, scheduled)
    const rfc = freshRfc()
    const made = await connected(acme, { rfc, name: ' Uno ' })
    expect(made).toMatchObject({ rfc, name: 'Uno', status: 'draft', ciec_set: false, visible_from: null, visible_to: null, warnings: [] })
    const never = { visible_from: null, visible_to: null }
    expect(made).toMatchObject({ windows: { sat_cfdi_issued: never, sat_cfdi_received: never }, window_state: 'empty' })
    expect((await acme.ask('GET', pathOf(made))).body).toEqual(made)
    expect(await triggers(acme)).toEqual([])
    expect((await acme.ask('GET', `/v1/cfdi?fiscal_entity_id=${made.fiscal_entity_id}`)).status).toBe(404)
    expect(await audited(acme, 'fiscal_entity.connected')).toEqual([expect.objectContaining({ changed: ['rfc', 'name'] })])
  })

  it('with one that is accepted makes it active, runs what is to run, and never shows it', async () => {
    const acme = await organization()
    for (const one of [draft, { ...draft, trigger_kind: 'connection_reactivated' }, scheduled]) await created(acme, one)
    const ciec = 'empty-Canario1'
    const made = await connected(acme, { ciec })
    expect(made).toMatchObject({ status: 'active', ciec_set: true })
    expect(await triggers(acme)).toEqual(['connection_created', 'connection_created'])
    const said = [made, (await acme.ask('GET', pathOf(made))).body, (await acme.ask('GET', PATH)).body]
    const changed = await acme.ask('PATCH', pathOf(made), { ciec: 'empty-Canario2' })
    const linked = await acme.ask('POST', PATH, { rfc: made.rfc, ciec })
    expect([changed.status, linked.status]).toEqual([200, 409])
    expect(JSON.stringify([...said, changed.body, linked.body, await rowOf(acme, made)])).not.toMatch(/Canario/)
  })

  it('with one that is rejected stores nothing', async () => {
    const acme = await organization()
    // No other test has it: a request that an earlier file left behind cannot connect it.
    const rfc = 'NAD900101AB1'
    const { status, body } = await acme.ask('POST', PATH, { rfc, ciec: 'rejected-Canario' })
    expect([status, body.code, pathsOf(body)]).toEqual([422, 'fiscal_entity.ciec_rejected', ['ciec']])
    expect(JSON.stringify(body)).not.toMatch(/Canario/)
    expect(await env.DB.prepare('select * from fiscal_entities where rfc = ?').bind(rfc).first()).toBeNull()
    expect((await acme.ask('GET', PATH)).body.data).toEqual([])
    expect(await audited(acme, 'fiscal_entity.connected')).toEqual([])
  })

  it.each([
    ['what is none', 'ekü', 422],
    ['a short one', 'EK9003173C9', 422],
    ['a month that is none', 'EKU9013173C9', 422],
    ['a day that its month does not have', 'EKU9002303C9', 422],
    ['the public', 'XAXX010101000', 422],
    ['the public in lower case', 'xaxx010101000', 422],
    ['foreigners', 'XEXX010101000', 422],
    ['a company', ' eku-900317-3c9 ', 201],
    ['a person', 'XIQB891116QE4', 201],
    ['a leap day', 'EKU0002293C9', 201],
    ['an Ñ in two pieces', 'N\u0303OÑ900317AA1', 201],
  ])('takes %s as it should: %s → %i', async (_, rfc, expected) => {
    const acme = await organization()
    const { status, body } = await acme.ask('POST', PATH, { rfc })
    expect(status).toBe(expected)
    if (expected === 201) expect(body.rfc).toBe(rfc.normalize('NFC').replace(/[ -]/g, '').toUpperCase())
    else expect(pathsOf(body)).toEqual(['rfc'])
  })

  it('takes a wrong check digit, and says so', async () => {
    const acme = await organization()
    const right = freshRfc()
    const rfc = right.slice(0, -1) + (right.endsWith('1') ? '2' : '1')
    const made = await connected(acme, { rfc })
    expect(made.warnings).toEqual([{ code: 'rfc.check_digit', message: expect.stringContaining('check digit') }])
    expect((await acme.ask('GET', PATH)).body.data).toEqual([made])
    expect((await connected(acme, { rfc: right })).warnings).toEqual([])
  })

  it('once: 409 as long as it is linked, in whatever state; another organization has a connection and an id of its own', async () => {
    const [acme, other] = [await organization(), await organization()]
    const made = await connected(acme)
    for (const state of ['draft', 'active', 'paused', 'invalid_ciec']) {
      await put(acme, made, `state = '${state}'`)
      const again = await acme.ask('POST', PATH, { rfc: made.rfc.toLowerCase(), ciec: 'rejected' })
      const { fiscal_entity_id } = made
      expect([state, again.status, again.body]).toMatchObject([state, 409, { code: 'fiscal_entity.already_linked', fiscal_entity_id }])
      expect(again.body.detail).toContain(`as ${fiscal_entity_id}. PATCH /v1/fiscal-entities/${fiscal_entity_id} changes`)
    }
    const theirs = await connected(other, { rfc: made.rfc, name: 'Suyo' })
    expect(theirs).toMatchObject({ name: 'Suyo', status: 'draft' })
    expect(theirs.fiscal_entity_id).not.toBe(made.fiscal_entity_id)
    expect((await acme.ask('GET', pathOf(theirs))).status).toBe(404)
    expect((await acme.ask('GET', pathOf(made))).body.name).toBeNull()
  })
})

describe('unlinking', () => {
  it('takes it out of every answer and erases the CIEC; another organization’s stays', async () => {
    const [acme, other] = [await organization(), await organization()]
    const made = await connected(acme, { ciec: 'empty1' })
    const theirs = await connected(other, { rfc: made.rfc, ciec: 'empty2' })
    expect((await acme.ask('DELETE', pathOf(made), undefined, 'member')).status).toBe(403)
    expect((await acme.ask('DELETE', pathOf(made))).status).toBe(204)
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const { status, body } = await acme.ask(method, pathOf(made), method === 'PATCH' ? { name: 'x' } : undefined)
      expect([method, status, body.code]).toEqual([method, 404, 'fiscal_entity.not_found'])
    }
    expect((await acme.ask('GET', PATH)).body.data).toEqual([])
    expect((await acme.ask('GET', `${PATH}?status=unlinked`)).status).toBe(422)
    expect(await rowOf(acme, made)).toMatchObject({ state: 'unlinked', ciec: null, ciec_accepted_at: null })
    expect(await audited(acme, 'fiscal_entity.unlinked')).toHaveLength(1)
    expect((await other.ask('GET', pathOf(theirs))).body).toEqual(theirs)
  })

  it('is undone by linking again: the same connection and window, and for the rest what the new request says', async () => {
    const acme = await organization()
    for (const trigger_kind of ['connection_created', 'connection_reactivated']) await created(acme, { ...draft, trigger_kind })
    const made = await connected(acme, { ciec: 'empty1', name: 'Antes', data_source_keys: ['sat_csf'] })
    await put(acme, made, "received_from = '2021-02-03', received_to = 1770000000000, imported_at = 1760000000000")
    const { connection } = (await rowOf(acme, made))!
    await acme.ask('DELETE', pathOf(made))
    const reached = { visible_from: '2021-02-03', visible_to: new Date(1_770_000_000_000).toISOString() }
    const windows = { sat_cfdi_issued: { visible_from: null, visible_to: null }, sat_cfdi_received: reached }
    const window = { ...reached, windows, window_state: 'bounded' }
    const again = await connected(acme, { rfc: made.rfc })
    expect(again).toMatchObject({ ...window, fiscal_entity_id: made.fiscal_entity_id, status: 'draft', name: null, ciec_set: false })
    expect(again.data_source_keys).toContain('sat_cfdi_issued')
    expect(await rowOf(acme, made)).toMatchObject({ connection, imported_at: 1_760_000_000_000 })
    expect(await triggers(acme)).toEqual(['connection_created'])
    await acme.ask('DELETE', pathOf(made))
    const active = await connected(acme, { rfc: made.rfc, ciec: 'empty2', name: 'Dos' })
    expect(active).toMatchObject({ ...window, status: 'active', name: 'Dos' })
    // It was active once: this time it is a reactivation.
    expect(await triggers(acme)).toEqual(['connection_created', 'connection_reactivated'])
  })
})

describe('reading', () => {
  it('lists by id, page by page, by status; and nothing of anybody else’s', async () => {
    const [acme, other] = [await organization(), await organization()]
    const made: FiscalEntity[] = []
    for (const body of [{}, { ciec: 'empty1' }, {}, { ciec: 'empty2' }, {}]) made.push(await connected(acme, body))
    made.sort((a, b) => (a.fiscal_entity_id < b.fiscal_entity_id ? -1 : 1))
    const list = async (query: string) => (await acme.ask('GET', `${PATH}?${query}`)).body
    expect(await list('')).toEqual({ data: made, has_more: false, next_cursor: null })
    const paged: FiscalEntity[] = []
    for (let query = 'limit=2', more = true; more; ) {
      const { data, has_more, next_cursor } = await list(query)
      paged.push(...data)
      more = has_more
      query = `limit=2&cursor=${next_cursor}`
    }
    expect(paged).toEqual(made)
    for (const status of ['draft', 'active', 'paused', 'invalid_ciec'])
      expect((await list(`status=${status}`)).data).toEqual(made.filter((one) => one.status === status))
    expect((await list('status=active&limit=1')).data).toEqual([made.find(({ status }) => status === 'active')])
    expect((await other.ask('GET', PATH)).body.data).toEqual([])
    expect((await other.ask('GET', pathOf(made[0]!))).status).toBe(404)
  })
})

describe('changing', () => {
  it('a CIEC makes a draft active, which is connection_created once; every later time is a reactivation', async () => {
    const acme = await organization()
    for (const trigger_kind of ['connection_created', 'connection_reactivated']) await created(acme, { ...draft, trigger_kind })
    await created(acme, scheduled)
    const made = await connected(acme)
    const give = async (ciec: string) => (await acme.ask('PATCH', pathOf(made), { ciec })).body
    expect((await give('rejected')).code).toBe('fiscal_entity.ciec_rejected')
    expect((await acme.ask('GET', pathOf(made))).body).toEqual(made)
    expect(await give('empty1')).toMatchObject({ status: 'active', ciec_set: true })
    const first = ['connection_created', 'connection_created']
    expect(await triggers(acme)).toEqual(first)
    expect(await give('empty2')).toMatchObject({ status: 'active' })
    expect(await triggers(acme)).toEqual(first)
    await refusedNow(made.rfc, 'empty2')
    expect((await acme.ask('GET', pathOf(made))).body.status).toBe('invalid_ciec')
    expect((await acme.ask('PATCH', pathOf(made), { name: 'Dos' })).body).toMatchObject({ status: 'invalid_ciec', name: 'Dos' })
    expect(await give('empty3')).toMatchObject({ status: 'active' })
    expect(await triggers(acme)).toEqual([...first, 'connection_reactivated', 'connection_reactivated'])
    expect((await audited(acme, 'fiscal_entity.updated')).map(({ changed }) => changed)).toEqual([['ciec'], ['name'], ['ciec'], ['ciec']])
  })

  it('a CIEC does not wake what is paused', async () => {
    const acme = await organization()
    await created(acme, scheduled)
    const made = await connected(acme)
    await put(acme, made, "state = 'paused'")
    expect((await acme.ask('PATCH', pathOf(made), { ciec: 'empty1' })).body).toMatchObject({ status: 'paused', ciec_set: true })
    expect(await rowOf(acme, made)).toMatchObject({ first_active_at: null })
    expect(await triggers(acme)).toEqual([])
  })

  it('touches only what is sent, and nothing at all when nothing is', async () => {
    const acme = await organization()
    const made = await connected(acme, { ciec: 'empty1', name: 'Uno', data_source_keys: ['sat_csf'] })
    const { body: empty } = await acme.ask('PATCH', pathOf(made), {})
    expect(empty).toEqual(made)
    expect(await audited(acme, 'fiscal_entity.updated')).toEqual([])
    const before = await rowOf(acme, made)
    const { updated_at } = (await acme.ask('PATCH', pathOf(made), { name: null })).body
    expect(await rowOf(acme, made)).toEqual({ ...before, name: null, updated_at: Date.parse(updated_at) })
    await acme.ask('PATCH', pathOf(made), { ciec: 'empty1' })
    expect((await rowOf(acme, made))?.['ciec']).not.toBe(before?.['ciec'])
  })

  it('the list of sources restricts them, without the mandatory one; null is the default again', async () => {
    const acme = await organization()
    const made = await connected(acme, { data_source_keys: [] })
    expect(made.data_source_keys).toEqual(['sat_miinformacion'])
    const patch = async (data_source_keys: unknown) => acme.ask('PATCH', pathOf(made), { data_source_keys })
    expect((await patch(['sat_rug', 'sat_csf', 'sat_csf'])).body.data_source_keys).toEqual(['sat_csf', 'sat_miinformacion', 'sat_rug'])
    const standard = (await patch(null)).body.data_source_keys
    expect(standard).toEqual((await connected(acme)).data_source_keys)
    expect(standard).toEqual(expect.arrayContaining(['sat_cfdi_issued', 'sat_csf', 'sat_miinformacion']))
    expect(standard).not.toContain('sat_rug')
    for (const refused of [
      await patch(['sat_csf', 'nada', 'sat_x']),
      await acme.ask('POST', PATH, { rfc: freshRfc(), data_source_keys: ['sat_csf', 'nada', 'sat_x'] }),
    ])
      expect([refused.status, refused.body.code, pathsOf(refused.body)]).toEqual([
        422,
        'data_source.unknown',
        ['data_source_keys[1]', 'data_source_keys[2]'],
      ])
    expect((await acme.ask('GET', pathOf(made))).body.data_source_keys).toEqual(standard)
  })
})
