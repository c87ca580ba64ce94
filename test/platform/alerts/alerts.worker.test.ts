import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deliverDue } from '../../../src/delivery/deliveries/delivery.ts'
import { type AlertDraft, alertStatements } from '../../../src/platform/alerts/alerts.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { endpointOf, pagesOf } from '../../delivery/support/feed.ts'
import { systemIn } from '../../delivery/support/relay.ts'
import { at, restore } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { audited, organization } from '../../support/tenants.ts'

const ALERTS = '/v1/alerts'

beforeEach(() => {
  at('2026-05-20T09:00:00.000Z')
  silenceQueues()
})
afterEach(restore)

interface Alert {
  alert_id: string
  kind: string
  severity: string
  resource_id: string
  message: string
  read_at: string | null
}

async function raise(organization_id: string, ...drafts: Partial<AlertDraft>[]): Promise<void> {
  const all = drafts.map((more, n) => ({
    ...{ organization_id, kind: 'repse.expiring' as const, severity: 'warning' as const, dedupe_key: `k${n}`, resource_id: 'fe_x' },
    ...{ fiscal_entity_id: null, rfc: null },
    ...{ message: `Aviso ${n}.`, message_es: `Aviso ${n}.`, ...more },
  }))
  // One in each millisecond, so that their ids are in order.
  for (const one of all) {
    vi.setSystemTime(Date.now() + 1)
    await commit(env.EVENTS_0, alertStatements([one], new Date()))
  }
}

describe('a webhook whose deliveries are not received', () => {
  /** An endpoint whose receiver answers as it is told to; each test is a delivery. */
  async function receiver() {
    const of = await organization()
    const endpoint = await endpointOf(of, { name: 'Contabilidad' })
    const system = (status: number) => systemIn({ ...env, EGRESS: { fetch: async () => new Response(null, { status }) } } as unknown as Env)
    const answers = async (...statuses: number[]) => {
      for (const status of statuses) {
        await of.ask('POST', `${endpoint.path}/test`)
        await deliverDue(system(status), endpoint.key)
      }
    }
    const alerts = async () => (await of.ask('GET', ALERTS)).body.data as Alert[]
    return { of, ...endpoint, answers, alerts }
  }

  it('three times in a row raises one alert a day, which says so, and stays enabled', async () => {
    const { of, webhook_id, path, answers, alerts } = await receiver()
    await answers(400, 410)
    expect(await alerts()).toEqual([])
    await answers(404)
    expect(await alerts()).toEqual([
      {
        alert_id: expect.stringMatching(/^alr_[0-9a-z]{26}$/),
        kind: 'webhook.undelivered',
        severity: 'warning',
        resource_id: webhook_id,
        message: expect.stringMatching(/^3 deliveries in a row to the webhook “Contabilidad” were not received, as of 2026-05-20\./),
        created_at: '2026-05-20T09:00:00.000Z',
        message_es: expect.stringContaining('3 entregas seguidas'),
        ...{ fiscal_entity_id: null, rfc: null, amount: null, currency: null },
        resolved_at: null,
        read_at: null,
      },
    ])
    await answers(302, 400)
    expect((await alerts()).length).toBe(1)
    at('2026-05-21T09:00:00.000Z')
    await answers(400)
    expect((await alerts()).map(({ message }) => message.slice(0, 1))).toEqual(['6', '3'])
    expect((await of.ask('GET', path)).body.is_enabled).toBe(true)
  })

  it('but for one that is begins to count anew', async () => {
    const { answers, alerts } = await receiver()
    await answers(400, 400, 200, 400, 400, 204, 400, 400)
    expect(await alerts()).toEqual([])
    await answers(400)
    expect((await alerts()).length).toBe(1)
  })

  it('for now is none: what is tried again has not been lost', async () => {
    const { answers, alerts } = await receiver()
    await answers(500, 500, 500, 503, 429)
    expect(await alerts()).toEqual([])
  })
})

describe('alerts', () => {
  it('exist once for each key: a greater severity replaces the lesser and is unread again, and nothing else changes one', async () => {
    const of = await organization()
    const alerts = async () => (await of.ask('GET', ALERTS)).body.data as Alert[]
    await raise(of.id, { dedupe_key: 'a', message: 'Vence pronto.' })
    const [first] = (await alerts()) as [Alert]
    await of.ask('POST', `${ALERTS}/${first.alert_id}/read`)
    await raise(of.id, { dedupe_key: 'a', message: 'Otra vez.' })
    expect(await alerts()).toEqual([{ ...first, read_at: expect.any(String) }])
    await raise(of.id, { dedupe_key: 'a', kind: 'repse.expired', severity: 'critical', message: 'Venció.' })
    const critical = {
      ...first,
      kind: 'repse.expired',
      severity: 'critical',
      message: 'Venció.',
      created_at: new Date().toISOString(),
      read_at: null,
    }
    expect(await alerts()).toEqual([critical])
    await of.ask('POST', `${ALERTS}/${first.alert_id}/read`)
    await raise(
      of.id,
      { dedupe_key: 'a', severity: 'warning', message: 'Menos.' },
      { dedupe_key: 'a', severity: 'critical', message: 'Igual.' },
    )
    expect(await alerts()).toEqual([{ ...critical, read_at: expect.any(String) }])
  })

  it('are listed by RFC, kind and state, or by weight, page by page, and marked as read all at once', async () => {
    const of = await organization()
    const about = (rfc: string) => ({ rfc, fiscal_entity_id: 'fe_01k3vcbt8n3h5b09h7rffmzt6r', amount: '10.00', currency: 'MXN' })
    await raise(
      of.id,
      { ...about('EKU9003173C9'), severity: 'critical' },
      { ...about('JES900109Q90') },
      { kind: 'counterparty.listed', severity: 'critical', ...about('JES900109Q90') },
      {},
    )
    await env.EVENTS_0.prepare("update alerts set resolved_at = 1 where organization_id = ? and dedupe_key = 'k0'").bind(of.id).run()
    const seen = async (query: string) =>
      ((await of.ask('GET', `${ALERTS}${query}`)).body.data as Alert[]).map(({ message }) => Number(/\d/.exec(message)![0]))
    expect(await seen('?rfc=JES900109Q90')).toEqual([2, 1])
    expect(await seen('?kind=counterparty.listed')).toEqual([2])
    expect(await seen('?state=resolved')).toEqual([0])
    expect(await seen('?state=open&severity=critical')).toEqual([2])
    const paged = await pagesOf<Alert>(of as never, `${ALERTS}?sort=weight&limit=1`)
    expect(paged.items.map(({ message }) => message)).toEqual([2, 0, 3, 1].map((n) => `Aviso ${n}.`))
    expect(paged.items[0]).toMatchObject(about('JES900109Q90'))
    expect((await of.ask('POST', `${ALERTS}/read?rfc=JES900109Q90`)).body).toEqual({ read_count: 2 })
    expect(await seen('?is_read=false')).toEqual([3, 0])
    expect((await of.ask('POST', `${ALERTS}/read`)).body).toEqual({ read_count: 2 })
    expect(await seen('?is_read=false')).toEqual([])
  })

  it('of a group are five of their own and one for all others, however they come, for each organization and group by itself', async () => {
    const [of, stranger] = [await organization(), await organization()]
    const one = (n: number, organization_id = of.id, group = 'g', severity: 'warning' | 'critical' = 'warning'): AlertDraft => ({
      ...({ organization_id, kind: 'mailbox.notification_received', severity, message: `${n}`, message_es: `${n}` } as const),
      ...{ dedupe_key: `${group}:${n}`, resource_id: `ntf_${n}`, fiscal_entity_id: null, rfc: null },
      overflow: { dedupe_key: group, resource_id: 'fe_x', message: 'others', message_es: 'otras' },
    })
    const together = (drafts: AlertDraft[]) => commit(env.EVENTS_0, alertStatements(drafts, new Date()))
    const seen = async (who: typeof of) =>
      ((await who.ask('GET', `${ALERTS}?limit=100`)).body.data as Alert[]).map(({ message, severity }) => `${message} ${severity}`).sort()
    await together([one(1), one(2), one(3), one(1, stranger.id), one(1, of.id, 'g2')])
    await together(Array.from({ length: 300 }, (_, n) => one(n + 4)))
    const five = ['1', '1', '2', '3', '4', '5'].map((message) => `${message} warning`)
    expect(await seen(of)).toEqual([...five, 'others warning'])
    // A repetition changes nothing, and what comes later makes the others critical when it is.
    await together([one(2), one(5)])
    await raise(of.id, one(400))
    expect(await seen(of)).toEqual([...five, 'others warning'])
    await raise(of.id, one(401, of.id, 'g', 'critical'))
    expect(await seen(of)).toEqual([...five, 'others critical'])
    expect(await seen(stranger)).toEqual(['1 warning'])
  })

  it('are listed newest first, page by page, by kind, severity, resource, and whether they were read', async () => {
    const [of, stranger] = [await organization(), await organization()]
    const drafts = Array.from({ length: 12 }, (_, n) => ({
      kind: (['repse.expiring', 'repse.expired', 'webhook.undelivered'] as const)[n % 3]!,
      severity: (['warning', 'critical'] as const)[n % 2]!,
      resource_id: n % 4 === 0 ? 'fe_one' : 'fe_two',
    }))
    await raise(of.id, ...drafts)
    await raise(stranger.id, ...drafts.slice(0, 2))
    const all = (await pagesOf<Alert>(of, `${ALERTS}?limit=5`)).items
    expect(all.map(({ kind, severity, resource_id }) => ({ kind, severity, resource_id }))).toEqual(drafts.toReversed())
    for (const { alert_id } of all.slice(3, 6)) await of.ask('POST', `${ALERTS}/${alert_id}/read`)
    const at = async (query: string) => {
      const { items } = await pagesOf<Alert>(of, `${ALERTS}?limit=2&${query}`)
      return items.map(({ alert_id }) => all.findIndex((one) => one.alert_id === alert_id))
    }
    const where = (of: (one: Alert, n: number) => boolean) => all.flatMap((one, n) => (of(one, n) ? [n] : []))
    expect(await at('kind=repse.expired')).toEqual(where(({ kind }) => kind === 'repse.expired'))
    expect(await at('severity=critical')).toEqual(where(({ severity }) => severity === 'critical'))
    expect(await at('resource_id=fe_one')).toEqual(where(({ resource_id }) => resource_id === 'fe_one'))
    expect(await at('is_read=true')).toEqual([3, 4, 5])
    expect(await at('is_read=false')).toEqual(where((_, n) => n < 3 || n > 5))
    expect(await at('is_read=false&severity=critical&resource_id=fe_two')).toEqual(
      where(({ severity, resource_id }, n) => (n < 3 || n > 5) && severity === 'critical' && resource_id === 'fe_two'),
    )
    for (const wrong of ['kind=other', 'severity=fatal', 'is_read=1', 'is_read='])
      expect([wrong, (await of.ask('GET', `${ALERTS}?${wrong}`)).status]).toEqual([wrong, 422])
  })

  it('once read stay read as of the first time, and are no one else’s to read', async () => {
    const [of, stranger] = [await organization(), await organization()]
    await raise(of.id, {})
    const [{ alert_id }] = (await of.ask('GET', ALERTS)).body.data
    const read = (who = of, role: 'owner' | 'member' = 'owner') => who.ask('POST', `${ALERTS}/${alert_id}/read`, undefined, role)
    expect((await read(stranger)).status).toBe(404)
    expect((await read(of, 'member')).status).toBe(403)
    expect((await of.ask('GET', ALERTS)).body.data[0].read_at).toBeNull()
    const first = await read()
    expect([first.status, first.body.read_at]).toEqual([200, new Date().toISOString()])
    vi.setSystemTime(Date.now() + 60_000)
    expect((await read()).body).toEqual(first.body)
    expect((await of.ask('GET', ALERTS)).body.data).toEqual([first.body])
    expect((await audited(of, 'alert.read')).length).toBe(1)
  })
})
