import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { basic } from '../../support/client.ts'
import { silenceQueues } from '../../support/queues.ts'
import { audited, connect, type Organization, organization } from '../../support/tenants.ts'
import { send } from '../../support/wire.ts'
import { rfcOf } from '../support/list-csv.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

const LISTS = '/v1/blacklists/custom'
const [ONE, TWO, THREE] = [1, 2, 3].map(rfcOf) as [string, string, string]

let ours: Organization
let theirs: Organization
beforeAll(async () => {
  ;[ours, theirs] = [await organization('starter'), await organization('starter')]
  silenceQueues()
})

const upload = async (of: Organization, slug: string, body: string, type = 'text/csv') =>
  send('PUT', `${LISTS}/${slug}`, {
    authorization: basic(of.owner),
    headers: { 'content-type': type },
    body: new TextEncoder().encode(body),
  })
const lookUp = async (of: Organization, rfc: string) => (await of.ask('GET', `/v1/blacklists/lookup?rfc=${rfc}`)).body
const sourcesOf = async (of: Organization, rfc: string) => (await lookUp(of, rfc)).hits.map(({ source }: { source: string }) => source)

describe('an organization’s own list', () => {
  it('is created empty, replaced as a whole by CSV or JSON, and deleted', async () => {
    const created = await ours.ask('POST', LISTS, { slug: 'vetados', label: 'Proveedores vetados' })
    expect([created.status, created.body]).toEqual([
      201,
      {
        source: 'custom:vetados',
        slug: 'vetados',
        label: 'Proveedores vetados',
        row_count: 0,
        version: 1,
        uploaded_at: expect.any(String),
      },
    ])
    expect(await lookUp(ours, ONE)).toMatchObject({ is_listed: false, checked_sources: [{ source: 'custom:vetados', row_count: 0 }] })
    const csv = await upload(ours, 'vetados', `rfc,nombre\r\n${ONE},Uno\r\n ${TWO.toLowerCase()} ,"Dos, S.A."\r\n${TWO},Dos\r\n\r\n`)
    expect([csv.status, csv.body]).toMatchObject([200, { row_count: 2, version: 2 }])
    expect((await lookUp(ours, TWO)).hits).toMatchObject([
      { source: 'custom:vetados', list_label: 'Proveedores vetados', name: 'Dos', severity: 'medium', situacion: null, is_active: true },
    ])
    const json = await upload(
      ours,
      'vetados',
      JSON.stringify({ entries: [{ rfc: TWO }, { rfc: THREE, name: 'Tres' }] }),
      'application/json',
    )
    expect(json.body).toMatchObject({ row_count: 2, version: 3 })
    expect([await sourcesOf(ours, ONE), await sourcesOf(ours, THREE)]).toEqual([[], ['custom:vetados']])
    expect(
      (await upload(ours, 'vetados', JSON.stringify({ entries: [{ rfc: TWO }, { rfc: THREE, name: 'Tres' }] }), 'application/json')).body,
    ).toMatchObject({ version: 3 })
    expect((await ours.ask('GET', LISTS)).body.data).toMatchObject([{ slug: 'vetados', row_count: 2 }])
    expect((await ours.ask('DELETE', `${LISTS}/vetados`)).status).toBe(204)
    expect(await sourcesOf(ours, THREE)).toEqual([])
    const left = await env.DB.prepare('select count(*) as n from blacklist_entries where organization_id = ?').bind(ours.id).first()
    expect([(await ours.ask('GET', LISTS)).body.data, left]).toEqual([[], { n: 0 }])
    expect(
      [await audited(ours, 'blacklist.created'), await audited(ours, 'blacklist.replaced'), await audited(ours, 'blacklist.deleted')].map(
        ({ length }) => length,
      ),
    ).toEqual([1, 2, 1])
  })

  it('has at most 400,000 lines, of which empty ones count, and lets others go on while it is read', async () => {
    await ours.ask('POST', LISTS, { slug: 'lineas', label: 'Muchas líneas' })
    let turns = 0
    const othersIn = async (work: () => Promise<unknown>) => {
      turns = 0
      let isDone = false
      const take = () => {
        turns++
        if (!isDone) setTimeout(take)
      }
      setTimeout(take)
      const reply = await work()
      isDone = true
      return reply as Awaited<ReturnType<typeof upload>>
    }
    // The first line and the last one are two of them.
    const fits = await othersIn(() => upload(ours, 'lineas', `rfc${'\n'.repeat(399_999)}${ONE}`))
    expect([fits.status, fits.body.row_count]).toEqual([200, 1])
    expect(turns).toBeGreaterThanOrEqual(400_000 / 10_000 - 1)
    const wide = await othersIn(() => upload(ours, 'lineas', `rfc\n${`${','.repeat(990)}\n`.repeat(2_000)}${ONE}`))
    expect([wide.status, wide.body.row_count]).toEqual([200, 1])
    expect(turns).toBeGreaterThanOrEqual((990 * 2_000) / 11_000)
    const entries = await upload(ours, 'lineas', `{"entries":[${'0,'.repeat(400_000)}0]}`, 'application/json')
    expect([entries.status, entries.body.code]).toEqual([422, 'blacklist.unreadable'])
    for (const count of [400_000, 5_000_000]) {
      const refused = await upload(ours, 'lineas', `rfc${'\n'.repeat(count)}${ONE}`)
      expect([refused.status, refused.body.code]).toEqual([422, 'blacklist.unreadable'])
    }
    await ours.ask('DELETE', `${LISTS}/lineas`)
  })

  it('of many is replaced in parts, and a replacement that died between them is finished by the same content or given up by another', async () => {
    await ours.ask('POST', LISTS, { slug: 'larga', label: 'Larga' })
    const csvOf = (from: number, to: number) =>
      `rfc,name\n${Array.from({ length: to - from }, (_, n) => `${rfcOf(from + n)},${'NOMBRE LARGO '.repeat(10)}`).join('\n')}\n`
    const entries = async () =>
      (
        await env.DB.prepare("select rfc from blacklist_entries where organization_id = ? and source = 'custom:larga' order by rfc")
          .bind(ours.id)
          .all<{ rfc: string }>()
      ).results.map(({ rfc }) => rfc)
    const rfcs = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => rfcOf(from + n)).sort()
    const audits = async () => (await audited(ours, 'blacklist.replaced')).length
    const before = await audits()
    /** Refuses the commit that ends a load. */
    const dying = async (body: string) => {
      await env.DB.prepare(
        "create trigger dies before update of version on blacklist_lists when new.digest is not null begin select raise(abort, 'died'); end",
      ).run()
      await expect(upload(ours, 'larga', body)).rejects.toThrow('→ 500')
      await env.DB.prepare('drop trigger dies').run()
    }
    await dying(csvOf(0, 16_100))
    expect(await audits()).toBe(before)
    expect((await entries()).length).toBeGreaterThan(0)
    expect((await entries()).length).toBeLessThan(16_100)
    expect((await upload(ours, 'larga', csvOf(0, 16_100))).body).toMatchObject({ row_count: 16_100, version: 2 })
    expect([await entries(), await audits()]).toEqual([rfcs(0, 16_100), before + 1])
    await dying(csvOf(500, 16_800))
    expect((await upload(ours, 'larga', csvOf(3, 16_100))).body).toMatchObject({ row_count: 16_097, version: 4 })
    expect(await entries()).toEqual(rfcs(3, 16_100))
    // What is beyond the plan is refused before any of it is written.
    expect((await upload(ours, 'larga', csvOf(0, 20_001))).body.code).toBe('blacklist_entry.plan_limit')
    expect(await entries()).toEqual(rfcs(3, 16_100))
    await ours.ask('DELETE', `${LISTS}/larga`)
  })

  it('is nobody else’s: the same slug is another list, and what others do touches none of ours', async () => {
    await ours.ask('POST', LISTS, { slug: 'propia', label: 'Nuestra' })
    await upload(ours, 'propia', `rfc\n${ONE}\n`)
    const foreign = await upload(theirs, 'propia', `rfc\n${TWO}\n`)
    const absent = await upload(theirs, 'de-nadie', `rfc\n${TWO}\n`)
    expect([foreign.status, foreign.body.detail, foreign.body.code]).toEqual([404, absent.body.detail, absent.body.code])
    expect((await theirs.ask('DELETE', `${LISTS}/propia`)).status).toBe(404)
    expect([await sourcesOf(theirs, ONE), (await theirs.ask('GET', LISTS)).body.data]).toEqual([[], []])
    expect((await theirs.ask('POST', LISTS, { slug: 'propia', label: 'Suya' })).status).toBe(201)
    await upload(theirs, 'propia', `rfc\n${TWO}\n`)
    expect([await sourcesOf(ours, ONE), await sourcesOf(ours, TWO), await sourcesOf(theirs, TWO)]).toEqual([
      ['custom:propia'],
      [],
      ['custom:propia'],
    ])
    expect((await theirs.ask('DELETE', `${LISTS}/propia`)).status).toBe(204)
    expect(await sourcesOf(ours, ONE)).toEqual(['custom:propia'])
  })

  it.each([
    ['names no column', `${ONE}\n`, 'text/csv', 'body'],
    ['has a bad RFC', `rfc\n${ONE}\nnadie\n`, 'text/csv', 'record 3.rfc'],
    ['is no JSON', '{', 'application/json', 'body'],
    ['has no entries', '[]', 'application/json', 'body'],
    ['has an unknown member', JSON.stringify({ entries: [{ rfc: ONE, nota: 'x' }] }), 'application/json', 'entries[0].nota'],
    ['has a quote that is not closed', `rfc,name\n${ONE},"x\nBBB010101BB1,y`, 'text/csv', 'record 2'],
    ['has a quote that is not closed around an RFC', `rfc\n${ONE}\n"${ONE}`, 'text/csv', 'record 3'],
    ['has a quote that is not closed in an empty last cell', `rfc,name\n${ONE},"`, 'text/csv', 'record 2'],
    ['has a quote that is not closed in its first line', '"rfc', 'text/csv', 'body'],
    ['names a column twice', `rfc,rfc\n${ONE},${ONE}`, 'text/csv', 'body'],
    [
      'has a control character in a name',
      JSON.stringify({ entries: [{ rfc: ONE, name: 'a\u0000b' }] }),
      'application/json',
      'entries[0].name',
    ],
  ])('refuses a body that %s, and keeps what it has', async (_, body, type, path) => {
    const reply = await upload(ours, 'propia', body, type)
    expect([reply.status, reply.body.errors[0].path]).toEqual([422, path])
    expect(await sourcesOf(ours, ONE)).toEqual(['custom:propia'])
  })

  it('names the first twenty of its wrong rows, and says how many others there are', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => `nadie${n}`)
    const { status, body } = await upload(ours, 'propia', ['rfc', ...rows].join('\n'), 'text/csv')
    expect([status, body.errors.length, body.errors[19].path]).toEqual([422, 20, 'record 21.rfc'])
    expect(body.detail).toMatch(/`errors` names 19 more and leaves out 280\.$/)
  })

  it('is refused with another content type, from a member, twice, and beyond the plan', async () => {
    expect((await upload(ours, 'propia', ONE, 'application/xml')).status).toBe(415)
    expect((await ours.ask('POST', LISTS, { slug: 'otra', label: 'Otra' }, 'member')).status).toBe(403)
    expect((await ours.ask('POST', LISTS, { slug: 'propia', label: 'Otra' })).body.code).toBe('blacklist.exists')
    for (const slug of ['a', 'b', 'c', 'd']) expect((await ours.ask('POST', LISTS, { slug, label: slug })).status).toBe(201)
    expect((await ours.ask('POST', LISTS, { slug: 'e', label: 'e' })).body).toMatchObject({ code: 'blacklist.plan_limit' })
    const many = (count: number) => `rfc\n${Array.from({ length: count }, (_, n) => rfcOf(n)).join('\n')}\n`
    expect((await upload(ours, 'a', many(19_999))).status).toBe(200)
    const full = await upload(ours, 'b', many(1))
    expect([full.status, full.body.code]).toEqual([409, 'blacklist_entry.plan_limit'])
    // What the list has already does not count twice.
    expect((await upload(ours, 'a', many(19_998))).status).toBe(200)
    expect((await ours.ask('GET', '/v1/billing/usage')).body.quotas).toMatchObject({
      blacklists: { used: 5, limit: 5 },
      blacklist_entries: { used: 19_999, limit: 20_000 },
    })
  })

  it('is named by its key wherever one is asked for, and a key of no list is refused with those that there are', async () => {
    const of = await organization('starter')
    const { fiscal_entity_id } = await connect(of.owner)
    const search = (keys: string) => of.ask('GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&blacklist=${keys}`)
    const exporting = (blacklist: string) =>
      of.ask('POST', '/v1/exports', { fiscal_entity_id, kind: 'cfdi', format: 'csv', filters: { blacklist } })
    const looking = (...sources: string[]) => of.ask('POST', '/v1/blacklists/lookup', { rfcs: [ONE], sources })
    expect((await of.ask('POST', LISTS, { slug: 'propia', label: 'Propia' })).status).toBe(201)
    const answers = [
      await search('sat_69b,custom:ajena'),
      await exporting('sat_69b,custom:ajena'),
      await looking('sat_69b', 'custom:ajena'),
    ]
    for (const [n, path] of ['blacklist[1]', 'filters.blacklist[1]', 'sources[1]'].entries()) {
      const message = expect.stringMatching(
        /^Must be one of sat_69b, .*sat_csd_sin_efectos, custom:propia: .*GET \/v1\/blacklists\/custom lists/,
      )
      expect(answers[n]).toMatchObject({ status: 422, body: { code: 'blacklist.unknown', errors: [{ path, message }] } })
    }
    for (const answer of [await search('sat_69'), await exporting('sat_69'), await looking('sat_69')])
      expect(answer).toMatchObject({
        status: 422,
        body: { code: 'request.invalid', detail: /\bsat_69b, .*custom:<slug> for a list of your own/ },
      })
    const known = [await search('custom:propia,definitivo'), await exporting('custom:propia'), await looking('custom:propia')]
    expect(known.map(({ status }) => status)).toEqual([200, 202, 200])
  })
})
