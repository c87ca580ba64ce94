import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DATA_SOURCE_KEYS } from '../../../src/authority/port/authority.ts'
import { api, pathsOf } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { audited, organization, signUp } from '../../support/tenants.ts'
import { counted, created, draft, EXTRACTORS, listed, monthly, scheduled, weekly } from './support/extractors.ts'

// The days of a zone only move forward.
beforeEach(() => {
  at('2026-11-18T18:00:00Z')
})
afterEach(() => {
  vi.useRealTimers()
})

describe('one extractor', () => {
  it('is shown to owners and admins as the list shows it, and to no other organization', async () => {
    const [acme, other] = [await organization(), await organization()]
    const made = await created(acme, scheduled)
    for (const role of ['owner', 'admin'] as const)
      expect((await acme.ask('GET', `${EXTRACTORS}/${made.extractor_id}`, undefined, role)).body).toEqual((await listed(acme))[0])
    expect((await acme.ask('GET', `${EXTRACTORS}/${made.extractor_id}`, undefined, 'member')).status).toBe(403)
    expect((await other.ask('GET', `${EXTRACTORS}/${made.extractor_id}`)).body.code).toBe('extractor.not_found')
  })
})

describe('creating', () => {
  it('fills in the defaults and adds the mandatory source', async () => {
    at('2026-11-18T18:00:00Z')
    const acme = await organization()
    const extractor = await created(acme, { ...draft, name: '  Mi extractor ', schedule_spec: null })
    expect(extractor).toEqual({
      extractor_id: expect.stringMatching(/^ext_[0-9a-z]{26}$/),
      name: 'Mi extractor',
      is_enabled: true,
      trigger_kind: 'connection_created',
      schedule_kind: null,
      schedule_spec: {},
      timezone: 'America/Mexico_City',
      scope: 'full_history',
      scope_months: null,
      data_source_keys: ['sat_csf', 'sat_miinformacion'],
      created_at: '2026-11-18T18:00:00.000Z',
      last_run_at: null,
      next_run_at: null,
    })
    expect((await audited(acme, 'extractor.created'))[0]!.changed).toContain('data_source_keys')
  })

  it.each([
    ['daily', {}, 'America/Mexico_City', '2026-11-19T06:00:00.000Z'],
    ['every_n_days', { n: 7 }, 'America/Mexico_City', '2026-11-25T06:00:00.000Z'],
    ['every_n_days', { n: 1 }, 'Asia/Tokyo', '2026-11-19T15:00:00.000Z'],
    // Saved on a Wednesday: the first Monday of a month, not the next Monday.
    ['nth_weekday_monthly', { weekday: 0, nth: 1 }, 'America/Mexico_City', '2026-12-07T06:00:00.000Z'],
    ['nth_weekday_monthly', { weekday: 6, nth: 5 }, 'US/Pacific', '2026-11-29T08:00:00.000Z'],
  ])('computes when %s %j in %s runs next', async (schedule_kind, schedule_spec, timezone, next_run_at) => {
    at('2026-11-18T18:00:00Z')
    const acme = await organization()
    const extractor = await created(acme, { ...scheduled, schedule_kind, schedule_spec, timezone })
    expect(extractor).toEqual(expect.objectContaining({ schedule_kind, schedule_spec, timezone, next_run_at, last_run_at: null }))
  })

  it.each([
    ['a name of one character', { name: 'ñ' }],
    ['a name of 120 code points', { name: '😀'.repeat(120) }],
    ['one month', { scope: 'last_n_months', scope_months: 1 }],
    ['240 months', { scope: 'last_n_months', scope_months: 240 }],
    ['n 365', { ...weekly, schedule_spec: { n: 365 } }],
    ['the fifth Sunday', { ...monthly, schedule_spec: { weekday: 6, nth: 5 } }],
    ['an explicit null schedule_kind', { schedule_kind: null, schedule_spec: {}, scope_months: null }],
    ['since_watermark on reconnection', { scope: 'since_watermark', trigger_kind: 'connection_reactivated' }],
    ['every source', { data_source_keys: [...DATA_SOURCE_KEYS, 'sat_rug'] }],
  ])('accepts %s', async (_, more) => {
    const acme = await organization()
    const extractor = await created(acme, { ...draft, ...more })
    expect(extractor.data_source_keys).toContain('sat_miinformacion')
    expect(new Set(extractor.data_source_keys).size).toBe(extractor.data_source_keys.length)
  })

  it.each<[string, object, string[]]>([
    [
      'nothing',
      { name: undefined, trigger_kind: undefined, scope: undefined, data_source_keys: undefined },
      ['name', 'trigger_kind', 'scope', 'data_source_keys'],
    ],
    ['an empty name', { name: '' }, ['name']],
    ['a blank name', { name: '   ' }, ['name']],
    ['a name of 121 characters', { name: 'x'.repeat(121) }, ['name']],
    ['a name that is no text', { name: 7 }, ['name']],
    ['an unknown trigger', { trigger_kind: 'cron' }, ['trigger_kind']],
    ['an unknown scope', { scope: 'all' }, ['scope']],
    ['an unknown schedule_kind', { ...scheduled, schedule_kind: 'weekly' }, ['schedule_kind']],
    ['no source', { data_source_keys: [] }, ['data_source_keys']],
    ['a source that is no text', { data_source_keys: [1] }, ['data_source_keys[0]']],
    ['a schedule without a kind', { trigger_kind: 'schedule' }, ['schedule_kind']],
    ['a schedule with a null kind', { trigger_kind: 'schedule', schedule_kind: null }, ['schedule_kind']],
    ['a kind without a schedule', { schedule_kind: 'daily' }, ['schedule_kind']],
    ['a spec without a schedule', { schedule_spec: { n: 2 } }, ['schedule_spec']],
    ['every_n_days without n', { ...weekly, schedule_spec: {} }, ['schedule_spec.n']],
    ['every_n_days without a spec', { ...weekly, schedule_spec: undefined }, ['schedule_spec.n']],
    ['every_n_days with a null spec', { ...weekly, schedule_spec: null }, ['schedule_spec.n']],
    ['n 0', { ...weekly, schedule_spec: { n: 0 } }, ['schedule_spec.n']],
    ['n 366', { ...weekly, schedule_spec: { n: 366 } }, ['schedule_spec.n']],
    ['n 1.5', { ...weekly, schedule_spec: { n: 1.5 } }, ['schedule_spec.n']],
    ['n as text', { ...weekly, schedule_spec: { n: '7' } }, ['schedule_spec.n']],
    ['an unknown member of the spec', { ...weekly, schedule_spec: { n: 7, hour: 3 } }, ['schedule_spec.hour']],
    ['daily with a member', { ...scheduled, schedule_spec: { n: 1 } }, ['schedule_spec.n']],
    ['nth_weekday_monthly without nth', { ...monthly, schedule_spec: { weekday: 0 } }, ['schedule_spec.nth']],
    ['nth_weekday_monthly without both', { ...monthly, schedule_spec: {} }, ['schedule_spec.weekday', 'schedule_spec.nth']],
    ['weekday 7 and nth 6', { ...monthly, schedule_spec: { weekday: 7, nth: 6 } }, ['schedule_spec.weekday', 'schedule_spec.nth']],
    ['weekday -1 and nth 0', { ...monthly, schedule_spec: { weekday: -1, nth: 0 } }, ['schedule_spec.weekday', 'schedule_spec.nth']],
    ['a spec that is a list', { ...weekly, schedule_spec: [7] }, ['schedule_spec']],
    ['last_n_months without months', { scope: 'last_n_months' }, ['scope_months']],
    ['months without last_n_months', { scope_months: 3 }, ['scope_months']],
    ['0 months', { scope: 'last_n_months', scope_months: 0 }, ['scope_months']],
    ['241 months', { scope: 'last_n_months', scope_months: 241 }, ['scope_months']],
    ['2.5 months', { scope: 'last_n_months', scope_months: 2.5 }, ['scope_months']],
    ['an offset as time zone', { timezone: '+06:00' }, ['timezone']],
    ['a time zone in lower case', { timezone: 'america/mexico_city' }, ['timezone']],
    ['a null time zone', { timezone: null }, ['timezone']],
    ['is_enabled as text', { is_enabled: 'true' }, ['is_enabled']],
    ['an unknown member', { cadence: 'daily' }, ['cadence']],
    ['a member that the service computes', { next_run_at: null }, ['next_run_at']],
    [
      'a source that does not exist',
      { data_source_keys: ['sat_cfdi_issued', 'sat_nomina', 'SAT_CSF'] },
      ['data_source_keys[1]', 'data_source_keys[2]'],
    ],
    [
      'everything at once',
      {
        name: '',
        trigger_kind: 'schedule',
        schedule_kind: 'every_n_days',
        schedule_spec: { x: 1 },
        scope: 'last_n_months',
        timezone: 'x',
        y: 1,
      },
      ['name', 'schedule_spec.n', 'schedule_spec.x', 'scope_months', 'timezone', 'y'],
    ],
  ])('refuses %s and names every fault', async (_, more, paths) => {
    const acme = await organization()
    const { status, body } = await acme.ask('POST', EXTRACTORS, { ...draft, ...more })
    expect(status).toBe(422)
    expect(pathsOf(body)).toEqual([...paths].sort())
    const others = body.errors.length - 1
    expect(body.detail).toBe(`${body.errors[0].path}: ${body.errors[0].message}${others > 0 ? ` \`errors\` names ${others} more.` : ''}`)
    expect(await counted(acme)).toBe(0)
  })

  it('says what is missing', async () => {
    const acme = await organization()
    const { body } = await acme.ask('POST', EXTRACTORS, { ...monthly, schedule_spec: { weekday: 1 } })
    expect(body.detail).toBe('schedule_spec.nth: Missing: nth_weekday_monthly requires nth, an integer from 1 to 5.')
  })
})

describe('the plan', () => {
  it.each([
    ['diagnostic', 2],
    ['starter', 2],
    ['api', 5],
  ])('%s allows %i at once, and no more of sixty that come together', async (plan, limit) => {
    const acme = await organization(plan)
    const replies = await Promise.all(Array.from({ length: 60 }, () => acme.ask('POST', EXTRACTORS, draft)))
    const counts = Object.groupBy(replies, ({ status }) => String(status))
    expect([counts['201']?.length, counts['409']?.length]).toEqual([limit, 60 - limit])
    expect(counts['409']![0]!.body).toEqual(expect.objectContaining({ code: 'extractor.plan_limit' }))
    expect(counts['409']![0]!.body.detail).toMatch(new RegExp(`allows ${limit} extractors and ${limit} exist`))
    expect((await listed(acme)).length).toBe(limit)
    expect(await counted(acme)).toBe(limit)
    // What was refused left no trace.
    expect((await audited(acme, 'extractor.created')).length).toBe(limit)
  })

  it.each(['enterprise_bronze', 'enterprise_silver', 'enterprise_gold'])('%s is without limit', async (plan) => {
    const acme = await organization(plan)
    for (let n = 0; n < 8; n += 1) await created(acme)
    expect(await counted(acme)).toBe(8)
  })

  it('counts disabled extractors, is freed by a deletion and is not asked on a change', async () => {
    const acme = await organization('starter')
    const one = await created(acme, { ...draft, is_enabled: false })
    await created(acme, { ...draft, is_enabled: false })
    expect((await acme.ask('POST', EXTRACTORS, draft)).status).toBe(409)
    expect((await acme.ask('PATCH', `${EXTRACTORS}/${one.extractor_id}`, { is_enabled: true })).status).toBe(200)
    expect((await acme.ask('DELETE', `${EXTRACTORS}/${one.extractor_id}`)).status).toBe(204)
    await created(acme)
    expect((await acme.ask('POST', EXTRACTORS, draft)).status).toBe(409)
  })

  it('is asked after the body', async () => {
    const acme = await organization('starter')
    await created(acme)
    await created(acme)
    expect((await acme.ask('POST', EXTRACTORS, { ...draft, data_source_keys: ['nada'] })).status).toBe(422)
  })
})

describe('deleting', () => {
  it('counts down once, however many delete at once', async () => {
    const acme = await organization()
    const [one] = [await created(acme), await created(acme)]
    const before = (await audited(acme, 'extractor.deleted')).length
    const replies = await Promise.all(Array.from({ length: 20 }, () => acme.ask('DELETE', `${EXTRACTORS}/${one.extractor_id}`)))
    expect(replies.filter(({ status }) => status === 204).length).toBe(1)
    expect(replies.filter(({ status }) => status === 404).length).toBe(19)
    expect(await counted(acme)).toBe(1)
    expect((await audited(acme, 'extractor.deleted')).length - before).toBe(1)
  })
})

describe('the list', () => {
  it('is a plain array, oldest first, and refuses parameters', async () => {
    const acme = await organization()
    expect(await listed(acme)).toEqual([])
    const all = [await created(acme), await created(acme, scheduled), await created(acme, monthly)]
    expect(await listed(acme)).toEqual(all)
    expect((await acme.ask('GET', `${EXTRACTORS}?limit=1`)).body.errors).toEqual([{ path: 'limit', message: 'Unknown query parameter.' }])
  })

  it('starts with the two that every organization is created with', async () => {
    at('2026-11-18T18:00:00Z')
    const sources = DATA_SOURCE_KEYS.filter((key) => key !== 'sat_rug')
    const common = {
      is_enabled: true,
      scope: 'last_n_months',
      timezone: 'America/Mexico_City',
      schedule_spec: {},
      data_source_keys: sources,
    }
    const { body } = await api(await signUp(), 'GET', EXTRACTORS)
    expect(body).toEqual([
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
  })
})
