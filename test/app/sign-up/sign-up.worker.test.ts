import { afterEach, describe, expect, it, vi } from 'vitest'
import { api, request } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { connect, freshRfc, signUp } from '../../support/tenants.ts'
import { organizationWith } from '../../support/world.ts'

afterEach(() => {
  vi.useRealTimers()
})

const ORGANIZATION = '/v1/organization'

// biome-ignore lint/suspicious/noExplicitAny: the shape has been checked against the route.
const join = async (draft: unknown): Promise<{ status: number; body: any }> =>
  request('POST', '/v1/auth/signup', { headers: { 'content-type': 'application/json' }, body: JSON.stringify(draft) })

const paths = (body: { errors: { path: string }[] }): string[] => body.errors.map(({ path }) => path).sort()

describe('signing up', () => {
  const draft = { organization_name: 'Despacho Uno', name: 'Ana', email: 'ana@example.com' }

  it('makes an organization on trial, its owner, a credential that works, and the two extractors', async () => {
    at('2026-11-18T18:00:00Z')
    const { status, body } = await join({ organization_name: '  Despacho Uno ', name: ' Ana  ', email: ' ana@example.com ' })
    expect(status).toBe(201)
    const { organization, member, credential } = body
    expect(organization).toEqual({
      id: expect.stringMatching(/^org_[0-9a-z]{26}$/),
      name: 'Despacho Uno',
      contact_email: 'ana@example.com',
      logo_url: null,
      timezone: 'America/Mexico_City',
      email_confirmed_at: '2026-11-18T18:00:00.000Z',
    })
    expect(member).toEqual({
      member_id: expect.stringMatching(/^mem_[0-9a-z]{26}$/),
      name: 'Ana',
      email: 'ana@example.com',
      role: 'owner',
      created_at: '2026-11-18T18:00:00.000Z',
    })
    expect([credential.role, credential.expires_at]).toEqual(['owner', null])
    expect((await api(credential, 'GET', ORGANIZATION)).body).toEqual(organization)
    expect((await api(credential, 'GET', `${ORGANIZATION}/stats`)).body).toEqual({ total_members: 1, active_rfcs: 0 })
    const plan = await api(credential, 'POST', '/v1/test-helpers/organization', {})
    expect([plan.body.plan, plan.body.rfc_allowance, plan.body.trial_ends_at.slice(0, 10)]).toEqual(['diagnostic', null, '2026-11-25'])
    const { body: extractors } = await api(credential, 'GET', '/v1/extractors')
    const common = { is_enabled: true, schedule_spec: {}, timezone: 'America/Mexico_City', scope: 'last_n_months', last_run_at: null }
    expect(extractors).toEqual([
      expect.objectContaining({
        ...common,
        name: 'Alta de RFC',
        trigger_kind: 'connection_created',
        schedule_kind: null,
        scope_months: 36,
        next_run_at: null,
      }),
      expect.objectContaining({
        ...common,
        name: 'Diario',
        trigger_kind: 'schedule',
        schedule_kind: 'daily',
        scope_months: 3,
        next_run_at: '2026-11-19T06:00:00.000Z',
      }),
    ])
    for (const { data_source_keys } of extractors) {
      expect(data_source_keys).toEqual(expect.arrayContaining(['sat_cfdi_issued', 'sat_cfdi_received', 'sat_miinformacion']))
      expect(data_source_keys).not.toContain('sat_rug')
    }
  })

  it('names every fault at once', async () => {
    expect(paths((await join({})).body)).toEqual(['email', 'name', 'organization_name'])
    expect(paths((await join({ organization_name: ' a ', name: '', email: 'x', plan: 'api' })).body)).toEqual([
      'email',
      'name',
      'organization_name',
      'plan',
    ])
  })

  it.each([
    ['organization_name', ['', ' ', 'a', ` a${' '.repeat(50)}`, '🧾', 'a'.repeat(201), 'a\u0000b', 'a\nb', 7, null, ['ab']]],
    ['name', ['', '\t', 'a'.repeat(121), 'a\u0007', null]],
    [
      'email',
      ['', 'a', 'a@', '@b.mx', 'a b@c.mx', 'a@b', 'a@b.mx,c@d.mx', 'Ana <a@b.mx>', 'a@b.mx\nBcc: x@y.mx', `${'a'.repeat(250)}@b.mx`, null],
    ],
  ] as const)('refuses a wrong %s', async (name, values) => {
    for (const value of values) {
      const { status, body } = await join({ ...draft, [name]: value })
      expect([value, status, status === 422 && paths(body)]).toEqual([value, 422, [name]])
    }
  })

  it('counts names in code points after trimming', async () => {
    for (const organization_name of ['🧾🧾', ` ${'🧾'.repeat(200)} `, 'ñá'])
      expect((await join({ ...draft, organization_name })).status).toBe(201)
  })

  it('gives two who sign up alike two organizations that know nothing of each other', async () => {
    const [one, two] = [(await join(draft)).body, (await join(draft)).body]
    expect(one.organization.id).not.toBe(two.organization.id)
    expect((await api(one.credential, 'GET', '/v1/credentials')).body.data).toHaveLength(1)
  })
})

describe('the organization', () => {
  it('keeps what is omitted or null, and trims what is given', async () => {
    const { owner, callers } = await organizationWith()
    const full = { name: 'Grupo Ñandú', contact_email: 'hola@example.com', logo_url: 'https://example.com/logo.png' }
    const { body } = await api(callers.admin, 'PATCH', ORGANIZATION, {
      ...full,
      name: '  Grupo Ñandú ',
      contact_email: ' hola@example.com ',
    })
    expect(body).toEqual({ id: owner.organization_id, timezone: 'America/Mexico_City', email_confirmed_at: expect.any(String), ...full })
    for (const changes of [
      {},
      { name: null },
      { contact_email: null, logo_url: null },
      { name: null, contact_email: null, logo_url: null },
    ])
      expect([changes, await api(owner, 'PATCH', ORGANIZATION, changes)]).toEqual([changes, expect.objectContaining({ status: 200, body })])
    expect((await api(owner, 'PATCH', ORGANIZATION, { name: 'Otro', logo_url: null })).body).toEqual({ ...body, name: 'Otro' })
    expect((await api(owner, 'PATCH', ORGANIZATION, { logo_url: '' })).body).toEqual({ ...body, name: 'Otro', logo_url: null })
    expect((await api(callers.member, 'GET', ORGANIZATION)).body).toEqual({ ...body, name: 'Otro', logo_url: null })
  })

  it.each([
    ['name', ['', ' a ', 'a', '🧾', 'a'.repeat(201), '🧾'.repeat(201), 'a\u0000b', 5, {}]],
    ['contact_email', ['', 'a', 'a@b', 'a@b.mx, c@d.mx', `${'a'.repeat(250)}@b.mx`, 5]],
    [
      'logo_url',
      [
        'logo.png',
        'http://example.com/logo.png',
        'https://ana:secreta@example.com/logo.png',
        'https://example.com/\u0000',
        'https://example.com/a b',
        'https://10.0.0.1/logo.png',
        'https://[::1]/logo.png',
        'https://0x7f000001/logo.png',
        'https://localhost/logo.png',
        'https://intranet.local/logo.png',
        '//example.com/x',
        'javascript:alert(1)',
        'data:image/png;base64,AAAA',
        'ftp://example.com/x',
        'http://',
        `https://example.com/${'a'.repeat(2_100)}`,
        5,
      ],
    ],
    ['timezone', ['', 'Mars/Phobos', 'mexico city', 5]],
    ['id', ['org_01kabcdefghjkmnpqrstvwxyz0']],
    ['plan', ['enterprise_gold']],
    ['rfc_allowance', [50]],
  ] as const)('refuses a wrong %s and changes nothing', async (name, values) => {
    const owner = await signUp()
    const before = (await api(owner, 'GET', ORGANIZATION)).body
    for (const value of values) {
      const { status, body } = await api(owner, 'PATCH', ORGANIZATION, { name: 'Cambiado', [name]: value })
      expect([value, status, status === 422 && paths(body)]).toEqual([value, 422, [name]])
    }
    expect((await api(owner, 'GET', ORGANIZATION)).body).toEqual(before)
  })

  it('takes names of 2 to 200 code points', async () => {
    const owner = await signUp()
    for (const name of ['ab', '🧾🧾', '🧾'.repeat(200)]) expect((await api(owner, 'PATCH', ORGANIZATION, { name })).body.name).toBe(name)
  })
})

describe('the stats', () => {
  it('count active connections now, drafts and unlinked ones not, and nobody else’s', async () => {
    const { owner } = await organizationWith()
    const other = await signUp()
    const active = async (who = owner) => (await api(who, 'GET', `${ORGANIZATION}/stats`)).body
    const draft = await api(owner, 'POST', '/v1/fiscal-entities', { rfc: freshRfc() })
    expect(await active()).toEqual({ total_members: 1, active_rfcs: 0 })
    const { fiscal_entity_id, rfc } = await connect(owner)
    await connect(other, rfc)
    expect([await active(), await active(other)]).toEqual([
      { total_members: 1, active_rfcs: 1 },
      { total_members: 1, active_rfcs: 1 },
    ])
    await api(owner, 'PATCH', `/v1/fiscal-entities/${draft.body.fiscal_entity_id}`, { ciec: 'secreta1' })
    expect((await active()).active_rfcs).toBe(2)
    await api(owner, 'DELETE', `/v1/fiscal-entities/${fiscal_entity_id}`)
    expect([(await active()).active_rfcs, (await active(other)).active_rfcs]).toEqual([1, 1])
  })
})
