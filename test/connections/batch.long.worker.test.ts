import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import { basic } from '../support/client.ts'
import { audited, freshRfc, type Organization, organization } from '../support/tenants.ts'
import { json, metered, send } from '../support/wire.ts'
import { created, draft } from './extractors/support/extractors.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

const PATH = '/v1/fiscal-entities'
interface Item {
  rfc: string | null
  result: string
  warnings: { code: string; message: string }[]
  refusal: { status: number; code: string; errors?: { path: string }[] } | null
  fiscal_entity: { fiscal_entity_id: string; status: string; external_id: string | null } | null
}
const batch = (of: Organization, fiscal_entities: readonly unknown[], more: { key?: string; env?: Env; breaks?: boolean } = {}) => {
  const { key, ...rest } = more
  const sent = json({ fiscal_entities })
  const headers = { ...sent.headers, ...(key && { 'idempotency-key': key }) }
  return send('POST', `${PATH}/batch`, { ...sent, headers, authorization: basic(of.owner), ...rest })
}
const notified = (data: Item[]) => data.map(({ rfc, result, refusal }) => [rfc, result, refusal && `${refusal.status} ${refusal.code}`])
const linked = async (of: Organization): Promise<string[]> => {
  const { results } = await env.DB.prepare(
    "select rfc from connections where organization_id = ? and state <> 'unlinked' order by connection",
  )
    .bind(of.id)
    .all<{ rfc: string }>()
  return results.map(({ rfc }) => rfc)
}
const rfcs = (count: number) => Array.from({ length: count }, freshRfc)

describe('connecting many RFCs', () => {
  it('gives each its own result: what is right is connected, and what is wrong is refused as it would be alone', async () => {
    const acme = await organization()
    await created(acme, draft)
    const [a, b, c, d, e] = rfcs(5) as [string, string, string, string, string]
    await acme.ask('POST', PATH, { rfc: e, external_id: 'cliente-5' })
    const { status, body } = await batch(acme, [
      { rfc: a.toLowerCase(), ciec: 'empty-1', external_id: 'cliente-1', metadata: { n: '1' } },
      { rfc: b, ciec: 'rejected' },
      { rfc: 'ABC123' },
      'x',
      { rfc: c, external_id: 'cliente-1' },
      { rfc: c, data_source_keys: ['nothing'] },
      { rfc: c, pasword: 'x' },
      { rfc: d },
      { rfc: d, name: 'Again' },
      { rfc: e, ciec: 'rejected' },
    ])
    expect(status).toBe(200)
    expect(notified(body.data)).toEqual([
      [a, 'connected', null],
      [b, 'refused', '422 fiscal_entity.ciec_rejected'],
      [null, 'refused', '422 request.invalid'],
      [null, 'refused', '422 request.invalid'],
      [c, 'refused', '409 fiscal_entity.external_id_taken'],
      [c, 'refused', '422 data_source.unknown'],
      [null, 'refused', '422 request.invalid'],
      [d, 'connected', null],
      [d, 'already_connected', null],
      [e, 'already_connected', null],
    ])
    expect(body.counts).toEqual({ connected: 2, already_connected: 2, refused: 6, not_attempted: 0 })
    const warned = (body.data as Item[]).flatMap(({ warnings }, n) => warnings.map(({ code, message }) => [n, code, message]))
    const names = (n: number, members: string) => [
      ...[n, 'fiscal_entity.not_applied'],
      expect.stringMatching(
        `${members} of this request was not applied. PATCH /v1/fiscal-entities/${body.data[n].fiscal_entity.fiscal_entity_id}`,
      ),
    ]
    expect(warned).toEqual([names(8, 'name'), names(9, 'ciec')])
    expect(body.data[6].refusal.errors).toEqual([{ path: 'pasword', message: expect.stringContaining('Unknown member') }])
    for (const { fiscal_entity } of body.data as Item[])
      if (fiscal_entity) expect(fiscal_entity).toEqual((await acme.ask('GET', `${PATH}/${fiscal_entity.fiscal_entity_id}`)).body)
    expect(body.data[0].fiscal_entity).toMatchObject({ status: 'active', ciec_set: true, external_id: 'cliente-1', metadata: { n: '1' } })
    expect(await linked(acme)).toEqual([e, a, d])
    expect(await audited(acme, 'fiscal_entity.connected')).toHaveLength(3)
    expect(JSON.stringify(body)).not.toMatch(/empty-1/)
  })

  it('names what was sent for an RFC that is connected and is not as it is stored, and changes nothing of it', async () => {
    const acme = await organization()
    const [rfc] = rfcs(1) as [string]
    const sent = { rfc, name: 'Acme', external_id: 'cliente-1', metadata: { n: '1', m: null } }
    await batch(acme, [sent])
    const again = async (item: object): Promise<string[]> => {
      const { body } = await batch(acme, [{ rfc, ...item }])
      expect([body.data[0].result, body.data[0].fiscal_entity.external_id]).toEqual(['already_connected', 'cliente-1'])
      return body.data[0].warnings.map(({ message }: { message: string }) => /changed: (.*) of this request/.exec(message)![1])
    }
    expect(await again(sent)).toEqual([])
    expect(await again({ data_source_keys: null, metadata: {} })).toEqual([])
    expect(await again({ data_source_keys: ['sat_cfdi_issued'], metadata: null })).toEqual(['data_source_keys, metadata'])
    expect(await again({ ciec: 'empty-1', external_id: 'other', metadata: { n: '2' } })).toEqual(['ciec, external_id, metadata'])
  })

  it('takes seats in order, and says of each that gets none what a request for it alone is told', async () => {
    const acme = await organization('starter')
    const all = rfcs(7)
    const { body } = await batch(
      acme,
      all.map((rfc) => ({ rfc, ciec: 'empty-1' })),
    )
    expect(body.data.map(({ result, refusal }: Item) => refusal?.code ?? result)).toEqual([
      ...Array(5).fill('connected'),
      'billing.seats',
      'billing.seats',
    ])
    const alone = await acme.ask('POST', PATH, { rfc: all[6]!, ciec: 'empty-1' })
    const { request_id: _, ...problem } = alone.body
    expect(body.data[6].refusal).toEqual({ status: 402, ...problem })
  })

  it('makes a hundred drafts in one request, with a key too, and goes no further than the plan', async () => {
    const acme = await organization()
    const items = rfcs(100).map((rfc, n) => ({ rfc, external_id: `c-${n}` }))
    const { body } = await batch(acme, items, { key: 'hundred' })
    expect(body.counts).toEqual({ connected: 100, already_connected: 0, refused: 0, not_attempted: 0 })
    const again = await metered('POST', `${PATH}/batch`, { ...json({ fiscal_entities: items }), authorization: basic(acme.owner) })
    expect(again.answer.body.counts).toMatchObject({ already_connected: 100 })
    expect(again.d1).toBeLessThan(10)
    const trial = await organization('diagnostic')
    const few = await batch(
      trial,
      rfcs(30).map((rfc) => ({ rfc })),
    )
    expect(few.body.counts).toMatchObject({ connected: 25, refused: 5 })
    expect(few.body.data[29].refusal).toMatchObject({ status: 409, code: 'fiscal_entity.plan_limit' })
  })

  it('says what the request had no time or statements for, and goes on with it when it is sent again', async () => {
    const acme = await organization('enterprise_gold')
    await created(acme, draft)
    const items = rfcs(60).map((rfc) => ({ rfc, ciec: 'empty-1' }))
    const first = (await batch(acme, items)).body
    expect(first.counts.not_attempted).toBeGreaterThan(0)
    expect(first.counts.connected + first.counts.not_attempted).toBe(60)
    let left = first.counts.not_attempted
    for (let n = 0; n < 10 && left > 0; n++) {
      const { body } = await batch(acme, items)
      expect(body.counts.not_attempted).toBeLessThan(left)
      left = body.counts.not_attempted
    }
    expect([left, await linked(acme)]).toEqual([0, items.map(({ rfc }) => rfc)])
  })

  it('with a key is answered alike again, and after a crash at any commit goes on where it ended', async () => {
    const acme = await organization()
    const items = rfcs(4).map((rfc) => ({ rfc }))
    const once = await batch(acme, items, { key: 'alike' })
    const twice = await batch(acme, items, { key: 'alike' })
    expect([twice.text, twice.headers.get('idempotency-replayed')]).toEqual([once.text, 'true'])
    for (let crash = 1; crash <= 6; crash++) {
      const more = rfcs(4)
      let commits = 0
      const dying = new Proxy(env.DB, {
        get: (target, name) => {
          if (name === 'batch')
            return (statements: D1PreparedStatement[]) => {
              if (++commits === crash) throw new Error('The worker is gone.')
              return target.batch(statements)
            }
          const value = Reflect.get(target, name) as unknown
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      const error = vi.spyOn(console, 'error').mockImplementation(() => {})
      const key = `crash-${crash}`
      const drafts = more.map((rfc) => ({ rfc }))
      await batch(acme, drafts, { key, env: { ...env, DB: dying }, breaks: true })
      error.mockRestore()
      // A worker that is gone releases nothing.
      await env.DB.prepare("update idempotency_keys set lease_until = 0 where key = ? and state = 'running'").bind(key).run()
      const { status, body } = await batch(acme, drafts, { key })
      expect([crash, status]).toEqual([crash, 200])
      expect((body.data as Item[]).every(({ result }) => ['connected', 'already_connected'].includes(result))).toBe(true)
      expect((await linked(acme)).filter((rfc) => more.includes(rfc)).sort()).toEqual([...more].sort())
    }
    expect(await audited(acme, 'fiscal_entity.connected')).toHaveLength((await linked(acme)).length)
  })

  it('of two at once each RFC is connected once', async () => {
    const acme = await organization()
    const items = rfcs(8).map((rfc) => ({ rfc }))
    const [one, two] = await Promise.all([batch(acme, items), batch(acme, items.toReversed())])
    expect(one.body.counts.connected + two.body.counts.connected).toBe(8)
    expect(one.body.counts.already_connected + two.body.counts.already_connected).toBe(8)
    expect((await linked(acme)).length).toBe(8)
  })

  it.each([[[]], [Array.from({ length: 101 }, () => ({ rfc: 'EKU9003173C9' }))]])(
    'refuses a list of none, or of more than 100',
    async (items) => {
      const { status, body } = await batch(await organization(), items)
      expect([status, body.errors[0].path]).toEqual([422, 'fiscal_entities'])
    },
  )
})
