import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadList } from '../../../src/lists/loading/load.ts'
import type { BlacklistHit, CheckedSource } from '../../../src/lists/lookups/contract.ts'
import { api } from '../../support/client.ts'
import { costOf } from '../../support/meter.ts'
import { signUp, type Tenant } from '../../support/tenants.ts'
import { type Listed, listOf, manyRows, rfcOf } from '../support/list-csv.ts'
import { forgetLists, systemAt } from '../support/lists.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

const LOOKUP = '/v1/blacklists/lookup'
const FETCHED = '2026-08-05T09:59:00.000Z'
const [DEFINITIVE, PRESUMED, DISPROVED, FAVORED, NOBODY] = [1, 2, 3, 4, 5].map(rfcOf) as [string, string, string, string, string]

const ROWS: Listed[] = [
  { rfc: DEFINITIVE, nombre: 'UNO', situacion: 'Definitivo', presunto: '01/01/2019|20/01/2019', definitivo: '01/02/2020|20/02/2020' },
  { rfc: PRESUMED, situacion: 'Presunto', presunto: '01/06/2026|20/06/2026' },
  { rfc: DISPROVED, situacion: 'Desvirtuado', presunto: '01/01/2019|20/01/2019', desvirtuado: '01/06/2019|20/06/2019' },
  { rfc: FAVORED, situacion: 'Sentencia Favorable', presunto: '01/01/2019|20/01/2019', sentencia: '01/06/2021|20/06/2021' },
]

let ours: Tenant
let theirs: Tenant
beforeAll(async () => {
  ;[ours, theirs] = [await signUp(), await signUp()]
})
beforeEach(async () => {
  await forgetLists()
  await loadList(systemAt(), 'sat_69b', listOf(ROWS), new Date(FETCHED))
})

const one = (rfc: string, more = '', of = ours) => api(of, 'GET', `${LOOKUP}?rfc=${encodeURIComponent(rfc)}${more}`)
const many = (rfcs: unknown, more: object = {}, of = ours) => api(of, 'POST', LOOKUP, { rfcs, ...more })

/** A list past the front door, as the loading of other lists and organizations' own will leave it. */
async function listed(organization_id: string, source: string, rfcs: readonly string[], label: string | null = null, history = '[]') {
  await env.DB.batch([
    env.DB.prepare(
      `insert into blacklist_lists (organization_id, source, version, label, list_date, fetched_at, row_count) values (?, ?, 1, ?, '2026-07-15', 0, ?)`,
    ).bind(organization_id, source, label, rfcs.length),
    ...rfcs.map((rfc) =>
      env.DB.prepare(`insert into blacklist_entries (organization_id, source, rfc, name, history) values (?, ?, ?, 'Alguien', ?)`).bind(
        ...[organization_id, source, rfc, history],
      ),
    ),
  ])
}

interface Body {
  data: (Body & { error: { code: string } | null })[]
  rfc: string
  is_listed: boolean | null
  severity: string | null
  hits: BlacklistHit[]
  checked_sources: CheckedSource[]
}
const hitsOf = ({ body }: { body: Body }): BlacklistHit[] => body.hits

describe('a look-up', () => {
  it('says where an RFC stands, since when, by which oficio, and how old the list is', async () => {
    const { status, body } = await one(DEFINITIVE)
    const hit = {
      rfc: DEFINITIVE,
      source: 'sat_69b',
      list_label: 'Art. 69-B (EFOS)',
      situacion: 'definitivo',
      severity: 'critical',
      name: 'UNO',
      is_active: true,
      published_sat_at: '2020-02-01',
      published_dof_at: '2020-02-20',
      since: '2019-01-01',
      until: null,
      oficio: `500-05-definitivo-${DEFINITIVE} de fecha 1 de enero de 2019`,
      history: [
        {
          situacion: 'presunto',
          sat_at: '2019-01-01',
          dof_at: '2019-01-20',
          oficio: `500-05-presunto-${DEFINITIVE} de fecha 1 de enero de 2019`,
        },
        {
          situacion: 'definitivo',
          sat_at: '2020-02-01',
          dof_at: '2020-02-20',
          oficio: `500-05-definitivo-${DEFINITIVE} de fecha 1 de enero de 2019`,
        },
      ],
      history_cut: false,
    }
    expect([status, body]).toEqual([
      200,
      {
        rfc: DEFINITIVE,
        as_of: null,
        is_listed: true,
        severity: 'critical',
        hits: [hit],
        checked_sources: [
          {
            source: 'sat_69b',
            list_label: 'Art. 69-B (EFOS)',
            list_updated_at: '2026-07-31',
            fetched_at: FETCHED,
            row_count: 4,
            is_stale: expect.any(Boolean),
            refused: null,
          },
        ],
      },
    ])
  })

  it.each([
    [DEFINITIVE, 'definitivo', 'critical', true, null],
    [PRESUMED, 'presunto', 'high', true, null],
    [DISPROVED, 'desvirtuado', 'low', false, '2019-06-01'],
    [FAVORED, 'sentencia_favorable', 'low', false, '2021-06-01'],
  ])('of %s: %s', async (rfc, situacion, severity, is_active, until) => {
    const { body } = await one(rfc)
    expect(body).toMatchObject({ is_listed: true, severity, hits: [{ situacion, severity, is_active, until }] })
  })

  it('of who is on no list says so, and what was checked', async () => {
    expect((await one(NOBODY)).body).toMatchObject({
      rfc: NOBODY,
      is_listed: false,
      severity: null,
      hits: [],
      checked_sources: [{ row_count: 4 }],
    })
  })

  it('says what was listed on a day', async () => {
    const on = async (rfc: string, day: string) => hitsOf(await one(rfc, `&as_of=${day}`))[0]?.situacion ?? null
    expect([
      ...[
        await on(DEFINITIVE, '2018-12-31'),
        await on(DEFINITIVE, '2019-01-01'),
        await on(DEFINITIVE, '2020-01-31'),
        await on(DEFINITIVE, '2020-02-01'),
      ],
      ...[await on(DISPROVED, '2019-05-31'), await on(DISPROVED, '2019-06-01'), await on(PRESUMED, '2026-01-01')],
    ]).toEqual([null, 'presunto', 'presunto', 'definitivo', 'presunto', 'desvirtuado', null])
    const { body } = await one(FAVORED, '&as_of=2020-06-01')
    expect(body).toMatchObject({
      as_of: '2020-06-01',
      is_listed: true,
      severity: 'high',
      hits: [{ is_active: true, until: null, published_sat_at: '2019-01-01' }],
    })
    expect(body.hits[0].history.length).toBe(1)
    // It came onto the authority's page before it was in the Diario Oficial.
    const published = async (day: string) => {
      const [hit] = hitsOf(await one(DEFINITIVE, `&as_of=${day}`))
      return [hit!.published_sat_at, hit!.published_dof_at, hit!.history.at(-1)!.dof_at]
    }
    expect(await published('2020-02-19')).toEqual(['2020-02-01', null, null])
    expect(await published('2020-02-20')).toEqual(['2020-02-01', '2020-02-20', '2020-02-20'])
  })

  it('reads an RFC as people type it', async () => {
    const typed = ` ${DEFINITIVE.slice(0, 3).toLowerCase()}-${DEFINITIVE.slice(3, 9)} ${DEFINITIVE.slice(9)}`
    expect((await one(typed)).body).toMatchObject({ rfc: DEFINITIVE, is_listed: true })
  })

  it.each([
    ['rfc=', 'rfc'],
    ['', 'rfc'],
    ['rfc=XXXXXXXXXXXX', 'rfc'],
    ['rfc=AAA019901AAA', 'rfc'],
    [`rfc=${DEFINITIVE}&as_of=2026-02-30`, 'as_of'],
    [`rfc=${DEFINITIVE}&as_of=ayer`, 'as_of'],
    [`rfc=${DEFINITIVE}&as_of=2100-01-01`, 'as_of'],
    [`rfc=${DEFINITIVE}&sources=sat_69b`, 'sources'],
  ])('that asks %j is 422', async (query, path) => {
    const { status, body } = await api(ours, 'GET', `${LOOKUP}?${query}`)
    expect([status, body.errors.map((error: { path: string }) => error.path)]).toEqual([422, [path]])
  })

  it('tells of a list that nobody has brought up to date for two months', async () => {
    await loadList(
      systemAt(),
      'sat_69b',
      listOf(
        ROWS.map((row) => ({ ...row, situacion: 'Presunto' })),
        new Date().toISOString().slice(0, 10),
      ),
      new Date(),
    )
    expect((await one(NOBODY)).body.checked_sources[0].is_stale).toBe(false)
    await env.DB.prepare(`update blacklist_lists set list_date = ?`)
      .bind(new Date(Date.now() - 62 * 86_400_000).toISOString().slice(0, 10))
      .run()
    expect((await one(NOBODY)).body.checked_sources[0].is_stale).toBe(true)
  })
})

describe('a look-up of many', () => {
  it('shows the last ten steps of each hit, where the look-up of one shows all', async () => {
    const steps = Array.from({ length: 14 }, (_, n) => ['presunto', `2020-01-${n + 10}`, null, null])
    await listed('', 'sat_69b_bis', [NOBODY, PRESUMED], null, JSON.stringify(steps))
    const shown = ({ body }: { body: Body }) =>
      hitsOf({ body }).map(({ source, history, history_cut }) => [source, history.length, history.at(-1)!.sat_at, history_cut])
    expect(shown(await one(NOBODY))).toEqual([['sat_69b_bis', 14, '2020-01-23', false]])
    expect(shown(await many([NOBODY, PRESUMED]))).toEqual([
      ['sat_69b_bis', 10, '2020-01-23', true],
      ['sat_69b', 1, '2026-06-01', false],
      ['sat_69b_bis', 10, '2020-01-23', true],
    ])
  })

  it('is refused with 422 when it has more than 2,000 hits, however often an RFC is named, and names each checked list once', async () => {
    for (const source of ['sat_69_firmes', 'sat_69_exigibles', 'sat_69_no_localizados', 'sat_69_sentencias'])
      await listed('', source, [NOBODY])
    const rfcs = (most: number) => Array.from({ length: 500 }, (_, n) => (n < most ? NOBODY : rfcOf(60_000 + n)))
    const full = await many(rfcs(500))
    expect([full.status, full.body.hits.length, full.body.checked_sources.length]).toEqual([200, 2_000, 5])
    expect(JSON.stringify(full.body).match(/"row_count"/g)!.length).toBe(5)
    await listed(ours.organization_id, 'custom:vetados', [NOBODY])
    const refused = await many(rfcs(401))
    expect([refused.status, refused.body.code, refused.body.errors[0].path]).toEqual([422, 'blacklist.too_many_hits', 'rfcs'])
    expect([(await many(rfcs(400))).status, (await many(rfcs(500), { sources: ['custom:vetados'] })).status]).toEqual([200, 200])
  })

  it('answers each in its place, twice what was sent twice, an error where there is no RFC, and all hits at the top', async () => {
    const rfcs = [NOBODY, 'no soy un RFC', DISPROVED, DEFINITIVE, ` ${DISPROVED.toLowerCase()}`, '', 'XXXXXXXXXXXX']
    const { status, body } = await many(rfcs)
    expect(status).toBe(200)
    expect(
      (body as Body).data.map((item) => [item.rfc, item.is_listed, item.severity, item.hits.length, item.error?.code ?? null]),
    ).toEqual([
      [NOBODY, false, null, 0, null],
      ['no soy un RFC', null, null, 0, 'rfc.invalid'],
      [DISPROVED, true, 'low', 1, null],
      [DEFINITIVE, true, 'critical', 1, null],
      [DISPROVED, true, 'low', 1, null],
      ['', null, null, 0, 'rfc.invalid'],
      ['XXXXXXXXXXXX', null, null, 0, 'rfc.invalid'],
    ])
    expect(hitsOf({ body }).map(({ rfc }) => rfc)).toEqual([DISPROVED, DEFINITIVE, DISPROVED])
    expect(body.hits[1]).toEqual((await one(DEFINITIVE)).body.hits[0])
    expect(body.checked_sources).toEqual((await one(DEFINITIVE)).body.checked_sources)
  })

  it('takes a day, and only some of the lists', async () => {
    await listed('', 'sat_69_firmes', [NOBODY, DEFINITIVE])
    const firm = await many([DEFINITIVE, NOBODY], { sources: ['sat_69_firmes'] })
    expect(hitsOf(firm).map((hit) => [hit.rfc, hit.source, hit.list_label, hit.situacion, hit.severity])).toEqual([
      [DEFINITIVE, 'sat_69_firmes', 'Art. 69 (créditos firmes)', null, 'medium'],
      [NOBODY, 'sat_69_firmes', 'Art. 69 (créditos firmes)', null, 'medium'],
    ])
    expect((firm.body as Body).checked_sources.map(({ source }) => source)).toEqual(['sat_69_firmes'])
    const both = await many([DEFINITIVE], { as_of: '2019-12-31' })
    expect(both.body).toMatchObject({
      as_of: '2019-12-31',
      data: [{ severity: 'high', hits: [{ source: 'sat_69_firmes' }, { source: 'sat_69b', situacion: 'presunto' }] }],
    })
    expect((await many([DEFINITIVE], { sources: ['sat_69b_bis'] })).body).toMatchObject({
      data: [{ is_listed: null }],
      checked_sources: [],
    })
  })

  it.each([
    [{ rfcs: [] }, 'rfcs'],
    [{ rfcs: Array.from({ length: 501 }, () => DEFINITIVE) }, 'rfcs'],
    [{ rfcs: [1] }, 'rfcs[0]'],
    [{}, 'rfcs'],
    [{ rfcs: [DEFINITIVE], sources: [] }, 'sources'],
    [{ rfcs: [DEFINITIVE], sources: ['sat_69b', 'sat_70'] }, 'sources[1]'],
    [{ rfcs: [DEFINITIVE], sources: ['custom:No'] }, 'sources[0]'],
    [{ rfcs: [DEFINITIVE], as_of: '31/12/2019' }, 'as_of'],
    [{ rfcs: [DEFINITIVE], as_of: '2100-01-01' }, 'as_of'],
  ])('that asks %j is 422', async (body, path) => {
    const reply = await api(ours, 'POST', LOOKUP, body)
    expect([reply.status, reply.body.errors.map((error: { path: string }) => error.path)]).toEqual([422, [path]])
  })

  /** What breaks without it: a company’s whole list of suppliers, checked every day, reads a database of a million rows. */
  it('of 500 among 15,000 is one round trip, and reads a row for each RFC and one for each hit', async () => {
    await loadList(systemAt(), 'sat_69b', listOf(manyRows(15_000), '1 de agosto de 2026'), new Date(FETCHED))
    const costing = async (rfcs: string[]) => (await costOf(env.LEDGER_0, env.FILES, () => many(rfcs))).cost
    const strangers = Array.from({ length: 500 }, (_, n) => rfcOf(30_000 + n))
    const none = await costing(strangers)
    // The other is the authentication.
    expect(none).toMatchObject({ d1_calls: 2, rows_written: 0 })
    const all = await costing(Array.from({ length: 500 }, (_, n) => rfcOf(n * 30)))
    expect(all).toMatchObject({ d1_calls: 2, rows_written: 0 })
    expect(all.rows_read - none.rows_read).toBe(500)
    expect(none.rows_read - 500).toBeLessThanOrEqual(10)
    expect((await many(Array.from({ length: 500 }, (_, n) => rfcOf(n * 30)))).body.hits.length).toBe(500)
  }, 60_000)
})

describe('an organization’s own list', () => {
  const SOURCE = 'custom:vetados'

  it('is told to itself alone, not even as checked to others', async () => {
    await listed(theirs.organization_id, SOURCE, [NOBODY, DEFINITIVE], 'Proveedores vetados')
    expect((await one(NOBODY, '', theirs)).body).toMatchObject({
      is_listed: true,
      severity: 'medium',
      hits: [{ source: SOURCE, list_label: 'Proveedores vetados', situacion: null, is_active: true, history: [], since: null }],
      checked_sources: [{ source: 'sat_69b' }, { source: SOURCE, list_label: 'Proveedores vetados', is_stale: false }],
    })
    expect((await one(NOBODY)).body).toMatchObject({ is_listed: false, hits: [], checked_sources: [{ source: 'sat_69b' }] })
    expect(hitsOf(await many([NOBODY, DEFINITIVE])).map(({ source }) => source)).toEqual(['sat_69b'])
    const foreign = await many([NOBODY], { sources: [SOURCE] })
    const absent = await many([NOBODY], { sources: ['custom:nadie'] })
    expect(foreign.status).toBe(422)
    expect({ ...foreign.body, request_id: '' }).toEqual({ ...absent.body, request_id: '' })
    expect((await many([NOBODY], { sources: [SOURCE] }, theirs)).body.hits.length).toBe(1)
  })

  it('goes by the same name in two organizations, each with its own', async () => {
    await listed(theirs.organization_id, SOURCE, [NOBODY], 'Vetados')
    await listed(ours.organization_id, SOURCE, [PRESUMED], 'Lista negra')
    const labels = async (of: Tenant) => hitsOf(await many([NOBODY, PRESUMED], {}, of)).map((hit) => [hit.rfc, hit.list_label])
    expect(await labels(theirs)).toEqual([
      [NOBODY, 'Vetados'],
      [PRESUMED, 'Art. 69-B (EFOS)'],
    ])
    expect(await labels(ours)).toEqual([
      [PRESUMED, 'Art. 69-B (EFOS)'],
      [PRESUMED, 'Lista negra'],
    ])
  })

  it('of others costs nothing to look up beside', async () => {
    const cost = async () => (await costOf(env.LEDGER_0, env.FILES, () => many([NOBODY, DEFINITIVE]))).cost.rows_read
    await listed('org_of_0', SOURCE, [NOBODY, DEFINITIVE])
    const before = await cost()
    for (let n = 1; n < 20; n++) await listed(`org_of_${n}`, SOURCE, [NOBODY, DEFINITIVE])
    expect(await cost()).toBe(before)
  })

  it('and those of everybody are untouched when the authority’s is loaded anew', async () => {
    await listed(ours.organization_id, SOURCE, [NOBODY])
    await listed(ours.organization_id, 'sat_69b', [NOBODY])
    await listed('', 'sat_69_firmes', [NOBODY])
    await loadList(systemAt(), 'sat_69b', listOf(ROWS, '1 de agosto de 2026'), new Date(FETCHED))
    expect(hitsOf(await one(NOBODY)).map(({ source }) => source)).toEqual(['sat_69_firmes', SOURCE, 'sat_69b'])
  })
})
