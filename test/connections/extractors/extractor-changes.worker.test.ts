import { afterEach, describe, expect, it, vi } from 'vitest'
import { newId } from '../../../src/platform/db/id.ts'
import { pathsOf } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { type Organization, organization } from '../../support/tenants.ts'
import { created, draft, EXTRACTORS, listed, scheduled, weekly } from './support/extractors.ts'
import { forget } from './support/ticks.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe('changing', () => {
  const change = async (of: Organization, before: object, changes: object) => {
    const { extractor_id } = await created(of, before)
    return of.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, changes)
  }

  it.each<[string, object, object, object]>([
    [
      'clears the schedule when the trigger moves away',
      weekly,
      { trigger_kind: 'connection_created' },
      { schedule_kind: null, schedule_spec: {}, next_run_at: null },
    ],
    [
      'clears the months when the scope moves away',
      { ...draft, scope: 'last_n_months', scope_months: 3 },
      { scope: 'full_history' },
      { scope_months: null },
    ],
    [
      'takes an explicit null that says the same',
      weekly,
      { trigger_kind: 'connection_reactivated', schedule_kind: null, schedule_spec: null },
      { schedule_kind: null, schedule_spec: {} },
    ],
    [
      'moves to a schedule with its kind',
      draft,
      { trigger_kind: 'schedule', schedule_kind: 'every_n_days', schedule_spec: { n: 2 } },
      { schedule_spec: { n: 2 } },
    ],
    ['moves to months', draft, { scope: 'last_n_months', scope_months: 7 }, { scope: 'last_n_months', scope_months: 7 }],
    [
      'keeps the months that are stored',
      { ...draft, scope: 'last_n_months', scope_months: 3 },
      { scope: 'last_n_months' },
      { scope_months: 3 },
    ],
    ['keeps the schedule that is stored', weekly, { trigger_kind: 'schedule' }, { schedule_kind: 'every_n_days', schedule_spec: { n: 7 } }],
    [
      'changes the kind with its spec',
      weekly,
      { schedule_kind: 'daily', schedule_spec: null },
      { schedule_kind: 'daily', schedule_spec: {} },
    ],
    ['changes the spec alone', weekly, { schedule_spec: { n: 9 } }, { schedule_kind: 'every_n_days', schedule_spec: { n: 9 } }],
    ['keeps the mandatory source', draft, { data_source_keys: ['sat_csf'] }, { data_source_keys: ['sat_csf', 'sat_miinformacion'] }],
    ['trims the name', draft, { name: ' Dos ' }, { name: 'Dos' }],
    ['changes nothing with an empty body', weekly, {}, { schedule_spec: { n: 7 } }],
  ])('%s', async (_, before, changes, expected) => {
    const acme = await organization()
    const { status, body } = await change(acme, before, changes)
    expect(body).toEqual(expect.objectContaining(expected))
    expect(status).toBe(200)
    expect((await listed(acme))[0]).toEqual(body)
  })

  it.each<[string, object, object, string[]]>([
    ['a schedule without a kind', draft, { trigger_kind: 'schedule' }, ['schedule_kind']],
    ['a kind without a schedule', draft, { schedule_kind: 'daily' }, ['schedule_kind']],
    ['taking the kind away', weekly, { schedule_kind: null }, ['schedule_kind']],
    ['a kind with a trigger that has none', weekly, { trigger_kind: 'connection_created', schedule_kind: 'daily' }, ['schedule_kind']],
    ['a spec with a trigger that has none', draft, { schedule_spec: { n: 3 } }, ['schedule_spec']],
    ['a kind that the stored spec does not fit', weekly, { schedule_kind: 'daily' }, ['schedule_spec.n']],
    [
      'a kind that the stored spec does not fill',
      weekly,
      { schedule_kind: 'nth_weekday_monthly' },
      ['schedule_spec.weekday', 'schedule_spec.nth', 'schedule_spec.n'],
    ],
    ['a spec that the stored kind does not take', scheduled, { schedule_spec: { n: 3 } }, ['schedule_spec.n']],
    ['a null spec that the stored kind needs', weekly, { schedule_spec: null }, ['schedule_spec.n']],
    ['months without a number', draft, { scope: 'last_n_months' }, ['scope_months']],
    ['a number without months', draft, { scope_months: 3 }, ['scope_months']],
    ['taking the number away', { ...draft, scope: 'last_n_months', scope_months: 3 }, { scope_months: null }, ['scope_months']],
    ['no source', draft, { data_source_keys: [] }, ['data_source_keys']],
    ['unknown sources', draft, { data_source_keys: ['sat_csf', 'nada'] }, ['data_source_keys[1]']],
    ['nulls', draft, { name: null, timezone: null, is_enabled: null, scope: null }, ['name', 'timezone', 'is_enabled', 'scope']],
    ['unknown members', draft, { extractor_id: 'x', created_at: 'y' }, ['extractor_id', 'created_at']],
    [
      'several of these',
      draft,
      { trigger_kind: 'schedule', scope: 'last_n_months', data_source_keys: ['nada'] },
      ['schedule_kind', 'scope_months', 'data_source_keys[0]'],
    ],
  ])('refuses %s and leaves everything as it was', async (_, before, changes, paths) => {
    const acme = await organization()
    const { status, body } = await change(acme, before, changes)
    expect(status).toBe(422)
    expect(pathsOf(body)).toEqual([...paths].sort())
    expect((await listed(acme))[0]).toEqual(expect.objectContaining({ ...before, data_source_keys: ['sat_csf', 'sat_miinformacion'] }))
  })

  it('keeps the grid through pauses and renames, and starts a new one with a new schedule or time zone', async () => {
    // Zones of other tests have been evaluated up to the real day.
    await forget()
    at('2026-11-18T18:00:00Z')
    const acme = await organization()
    const { extractor_id } = await created(acme, weekly)
    const patch = async (changes: object) => (await acme.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, changes)).body.next_run_at
    at('2026-11-20T18:00:00Z')
    expect(await patch({ name: 'Otro', scope: 'last_n_months', scope_months: 2 })).toBe('2026-11-25T06:00:00.000Z')
    expect(await patch({ is_enabled: false })).toBeNull()
    at('2026-11-26T18:00:00Z')
    expect(await patch({ is_enabled: true })).toBe('2026-12-02T06:00:00.000Z')
    expect(await patch({ schedule_kind: 'every_n_days', schedule_spec: { n: 7 }, timezone: 'America/Mexico_City' })).toBe(
      '2026-12-02T06:00:00.000Z',
    )
    expect(await patch({ timezone: 'America/Tijuana' })).toBe('2026-12-03T08:00:00.000Z')
    at('2026-11-27T18:00:00Z')
    expect(await patch({ schedule_spec: { n: 3 } })).toBe('2026-11-30T08:00:00.000Z')
    expect(await patch({ schedule_kind: 'daily', schedule_spec: {} })).toBe('2026-11-28T08:00:00.000Z')
    expect(await patch({ trigger_kind: 'connection_created' })).toBeNull()
    expect(await patch({ trigger_kind: 'schedule', schedule_kind: 'daily' })).toBe('2026-11-28T08:00:00.000Z')
  })

  it('forty at once are all done, one after the other', async () => {
    const acme = await organization()
    const { extractor_id } = await created(acme, weekly)
    const changes = Array.from({ length: 40 }, (_, n) => ({ schedule_spec: { n: n + 1 }, timezone: n % 2 ? 'UTC' : 'Asia/Tokyo' }))
    const replies = await Promise.all(changes.map((one) => acme.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, one)))
    expect(replies.filter(({ status }) => status !== 200)).toEqual([])
    const [after] = await listed(acme)
    expect(replies.map(({ body }) => body)).toContainEqual(after)
  })

  it('of several at once never leaves a shape that none of them may have', async () => {
    const acme = await organization()
    const { extractor_id } = await created(acme, weekly)
    const changes = [
      { trigger_kind: 'connection_created' },
      { schedule_spec: { n: 2 } },
      { schedule_kind: 'daily', schedule_spec: {} },
      { name: 'Otro' },
    ]
    const replies = await Promise.all(changes.map((one) => acme.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, one)))
    expect(replies.map(({ status }) => status).filter((status) => status !== 200 && status !== 422)).toEqual([])
    const [after] = await listed(acme)
    expect(after).toEqual(
      expect.objectContaining({ name: 'Otro', trigger_kind: 'connection_created', schedule_kind: null, schedule_spec: {} }),
    )
  })
})

describe('who may do what', () => {
  it('lists for members and lets only owners and admins write and run', async () => {
    const acme = await organization()
    const { extractor_id } = await created(acme)
    expect((await acme.ask('GET', EXTRACTORS, undefined, 'member')).status).toBe(200)
    for (const [method, path, body] of [
      ['POST', EXTRACTORS, draft],
      ['POST', EXTRACTORS, { nonsense: true }],
      ['PATCH', `${EXTRACTORS}/${extractor_id}`, { name: 'x' }],
      ['DELETE', `${EXTRACTORS}/${extractor_id}`, undefined],
      ['POST', `${EXTRACTORS}/${extractor_id}/run`, undefined],
      ['GET', `${EXTRACTORS}/${extractor_id}`, undefined],
      ['GET', `${EXTRACTORS}/${extractor_id}/runs`, undefined],
      ['GET', `/v1/runs/${newId('run')}`, undefined],
      ['GET', `/v1/runs/${newId('run')}/jobs`, undefined],
      ['GET', `/v1/fiscal-entities/${newId('fe')}/runs`, undefined],
      ['DELETE', `${EXTRACTORS}/${newId('ext')}`, undefined],
    ] as const)
      expect((await acme.ask(method, path, body, 'member')).body.code).toBe('credential.role')
    expect((await acme.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, { name: 'x' }, 'owner')).status).toBe(200)
  })

  it('tells a malformed id before the role, and nothing of another’s extractor', async () => {
    const [acme, other] = [await organization(), await organization()]
    const { extractor_id } = await created(other)
    for (const [method, path, body] of [
      ['PATCH', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/run', undefined],
    ] as const) {
      expect((await acme.ask(method, `${EXTRACTORS}/ext_nada${path}`, body, 'member')).status).toBe(400)
      expect((await acme.ask(method, `${EXTRACTORS}/${newId('org')}${path}`, body)).status).toBe(400)
      const foreign = await acme.ask(method, `${EXTRACTORS}/${extractor_id}${path}`, body)
      const absent = await acme.ask(method, `${EXTRACTORS}/${newId('ext')}${path}`, body)
      expect([foreign.status, { ...foreign.body, request_id: absent.body.request_id }]).toEqual([404, absent.body])
    }
    // The shape of a body is told before whether the extractor is there, what depends on it after.
    expect((await acme.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, { name: '' })).status).toBe(422)
    expect((await acme.ask('PATCH', `${EXTRACTORS}/${extractor_id}`, { trigger_kind: 'schedule' })).status).toBe(404)
    expect((await listed(other)).length).toBe(1)
  })
})
