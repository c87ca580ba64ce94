import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { listCatalog } from '../../../src/delivery/catalog/catalog.ts'
import { PAYLOADS } from '../../../src/delivery/catalog/payload-contract.ts'
import { unsentWarnings } from '../../../src/delivery/catalog/recorded-only.ts'
import { basic, pathsOf } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { audited, type Organization, organization } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'
import { GOOD, OWN, REFUSED } from '../support/targets.ts'

const WEBHOOKS = '/v1/webhooks'
const DRAFT = { name: 'ERP', url: 'https://hooks.example.com/in?a=1', event_keys: ['cfdi.cancelled', 'sync.failed'] }
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

const acme = await organization()

afterEach(async () => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  // An organization has at most 20 webhooks.
  await env.EVENTS_0.prepare('delete from webhooks where organization_id = ?').bind(acme.id).run()
})

async function webhook(of: Organization = acme, more: object = {}) {
  const { status, body } = await of.ask('POST', WEBHOOKS, { ...DRAFT, ...more })
  expect(status).toBe(201)
  const { signing_secret, ...record } = body
  return { ...record, signing_secret, record, path: `${WEBHOOKS}/${body.webhook_id}` } as Record<string, string> & {
    record: object
    path: string
  }
}

const codeOf = ({ status, body }: { status: number; body: { code: string } }) => `${status} ${body.code}`

/** How many at once did how well. */
const outcomes = (replies: readonly { status: number }[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('registering a webhook', () => {
  it('answers the record with its secret, which nothing shows again', async () => {
    const { status, body } = await acme.ask('POST', WEBHOOKS, {
      ...DRAFT,
      type: 'custom',
      event_keys: ['sync.failed', 'cfdi.issued', 'sync.failed'],
    })
    const { signing_secret, ...record } = body
    expect([status, record]).toEqual([
      201,
      {
        webhook_id: expect.stringMatching(/^wh_[0-9a-z]{26}$/),
        name: 'ERP',
        type: 'custom',
        url: DRAFT.url,
        // One that is not sent yet may be asked for.
        event_keys: ['sync.failed', 'cfdi.issued'],
        fiscal_entity_ids: null,
        direction: null,
        cfdi_types: null,
        max_per_minute: null,
        custom_header: null,
        is_enabled: true,
        last_delivery: null,
        secret_hint: signing_secret.slice(-4),
        warnings: [{ code: 'event.not_sent', message: expect.stringMatching(/^Nothing is sent for cfdi\.issued yet/) }],
        created_at: INSTANT,
        updated_at: record.created_at,
      },
    ])
    expect(signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{88}$/)
    expect(Uint8Array.fromBase64(signing_secret.slice(6)).length).toBe(66)
    expect(await acme.ask('GET', `${WEBHOOKS}/${record.webhook_id}`)).toMatchObject({ status: 200, body: record })
    expect((await acme.ask('GET', `${WEBHOOKS}/${record.webhook_id}`)).body).not.toHaveProperty('signing_secret')
    expect((await webhook()).signing_secret).not.toBe(signing_secret)
  })

  it('needs a type only to name the one that there is', async () => {
    expect((await webhook()).record).toMatchObject({ type: null })
    expect(pathsOf((await acme.ask('POST', WEBHOOKS, { ...DRAFT, type: 'slack' })).body)).toEqual(['type'])
  })

  it.each([
    [{ event_keys: ['cfdi.cancelled', 'cfdi.vanished'] }, ['event_keys[1]']],
    [{ event_keys: ['webhook.test'] }, ['event_keys[0]']],
    [{ event_keys: [] }, ['event_keys']],
    [{ event_keys: 'cfdi.cancelled' }, ['event_keys']],
    [{ name: '  ' }, ['name']],
    [{ name: 'x'.repeat(121) }, ['name']],
    [{ is_enabled: false }, ['is_enabled']],
    [{ signing_secret: 'whsec_mine' }, ['signing_secret']],
    [{ url: undefined, name: undefined }, ['name', 'url']],
  ])('%j is 422 and named', async (wrong, paths) => {
    const { status, body } = await acme.ask('POST', WEBHOOKS, { ...DRAFT, ...wrong })
    expect([status, pathsOf(body)]).toEqual([422, paths])
  })

  it('is an owner’s or an admin’s', async () => {
    expect(codeOf(await acme.ask('POST', WEBHOOKS, DRAFT, 'member'))).toBe('403 credential.role')
    expect((await acme.ask('POST', WEBHOOKS, DRAFT, 'admin')).status).toBe(201)
  })
})

describe('a URL that may not be called', () => {
  const served = { ...env, PUBLIC_HOSTS: OWN.join(', ') } as Env
  const ask = (method: string, path: string, body: object) =>
    send(method, path, { ...json(body), authorization: basic(acme.owner), env: served })

  it.each(Object.entries(REFUSED))(
    '%s: is 422 with its reason, when it is created and when it is changed',
    async (_, { reason, refused }) => {
      const { path } = await webhook()
      for (const [n, url] of refused.entries()) {
        const { status, body } = n % 2 === 0 ? await ask('POST', WEBHOOKS, { ...DRAFT, url }) : await ask('PATCH', path, { url })
        expect([url.slice(0, 100), status, body.errors]).toEqual([
          url.slice(0, 100),
          422,
          [{ path: 'url', message: expect.stringMatching(reason) }],
        ])
        expect(JSON.stringify(body)).not.toContain('t0p5ecret')
      }
      expect((await acme.ask('GET', path)).body.url).toBe(DRAFT.url)
    },
  )

  it('is not one of these', async () => {
    for (const url of GOOD) {
      const { status, body } = await ask('POST', WEBHOOKS, { ...DRAFT, url })
      expect([url, status]).toEqual([url, 201])
      await acme.ask('DELETE', `${WEBHOOKS}/${body.webhook_id}`)
    }
  })
})

describe('changing a webhook', () => {
  it('changes what is sent, and says when', async () => {
    at('2026-05-20T09:00:00Z')
    const { record, path } = await webhook()
    at('2026-05-20T09:30:00Z')
    const updated_at = '2026-05-20T09:30:00.000Z'
    for (const changes of [
      { name: 'Contabilidad' },
      { url: 'https://hooks.example.com:8443/' },
      { event_keys: ['sync.completed'] },
      { type: 'custom' },
    ]) {
      Object.assign(record, changes, { updated_at })
      expect(await acme.ask('PATCH', path, changes)).toMatchObject({ status: 200, body: record })
    }
    expect((await acme.ask('GET', path)).body).toEqual(record)
    expect((await audited(acme, 'webhook.updated')).slice(0, 4).map(({ changed }) => changed)).toEqual([
      ['type'],
      ['event_keys'],
      ['url'],
      ['name'],
    ])
  })

  it('by nothing changes nothing', async () => {
    at('2026-05-20T09:00:00Z')
    const { record, path } = await webhook()
    at('2026-05-20T09:30:00Z')
    const before = (await audited(acme, 'webhook.updated')).length
    expect(await acme.ask('PATCH', path, {})).toMatchObject({ status: 200, body: record })
    expect((await audited(acme, 'webhook.updated')).length).toBe(before)
  })

  it('never touches its secret, nor what nobody may set', async () => {
    const { path } = await webhook()
    for (const member of ['secret_hint', 'signing_secret', 'webhook_id', 'created_at', 'digests', 'organization_id'])
      expect([member, pathsOf((await acme.ask('PATCH', path, { [member]: 'x' })).body)]).toEqual([member, [member]])
    for (const [member, value] of Object.entries({ name: null, url: null, event_keys: null, is_enabled: 1 }))
      expect([member, pathsOf((await acme.ask('PATCH', path, { [member]: value })).body)]).toEqual([member, [member]])
  })

  it('disabled, takes no test until it is enabled again', async () => {
    silenceQueues()
    const { path } = await webhook()
    expect((await acme.ask('PATCH', path, { is_enabled: false })).body.is_enabled).toBe(false)
    expect(codeOf(await acme.ask('POST', `${path}/test`))).toBe('409 webhook.disabled')
    expect((await acme.ask('PATCH', path, { is_enabled: true })).body.is_enabled).toBe(true)
    expect((await acme.ask('POST', `${path}/test`)).status).toBe(202)
  })

  it('deleted, it is gone from everything, once', async () => {
    const { path } = await webhook()
    expect(outcomes(await Promise.all(Array.from({ length: 10 }, () => acme.ask('DELETE', path))))).toEqual({ 204: 1, 404: 9 })
    for (const [method, where, body] of [
      ['GET', path],
      ['PATCH', path, { name: 'x' }],
      ['DELETE', path],
      ['GET', `${path}/deliveries`],
      ['POST', `${path}/test`],
      ['POST', `${path}/rotate-secret`],
      ['POST', `${path}/rotate-secret/commit`],
      ['POST', `${path}/deliveries/redeliver`, { since: '2026-01-01T00:00:00Z' }],
    ] as const)
      expect([method, where, codeOf(await acme.ask(method, where, body))]).toEqual([method, where, '404 webhook.not_found'])
  })

  it('and deleting it at once ends as one or the other, and nothing comes back', async () => {
    const { path } = await webhook()
    const changing = Array.from({ length: 10 }, (_, n) => acme.ask('PATCH', path, { name: `Nombre ${n}` }))
    const [removed, ...changed] = await Promise.all([acme.ask('DELETE', path), ...changing])
    expect(removed.status).toBe(204)
    for (const { status } of changed) expect([200, 404]).toContain(status)
    expect((await acme.ask('GET', path)).status).toBe(404)
  })
})

describe('listing webhooks', () => {
  it('has the oldest first, page by page, whatever comes and goes meanwhile, and nobody else’s', async () => {
    const [ours, theirs] = [await organization(), await organization()]
    const made: string[] = []
    for (let n = 0; n < 5; n++) {
      made.push((await webhook(ours, { name: `Uno ${n}` }))['webhook_id']!)
      await webhook(theirs)
    }
    const first = (await ours.ask('GET', `${WEBHOOKS}?limit=2`)).body
    expect([first.has_more, first.data.map(({ name }: { name: string }) => name)]).toEqual([true, ['Uno 0', 'Uno 1']])
    await ours.ask('DELETE', `${WEBHOOKS}/${made[1]}`)
    await ours.ask('DELETE', `${WEBHOOKS}/${made[3]}`)
    const late = (await webhook(ours))['webhook_id']
    const rest = (await ours.ask('GET', `${WEBHOOKS}?limit=100&cursor=${first.next_cursor}`)).body
    expect([rest.has_more, rest.next_cursor]).toEqual([false, null])
    expect(rest.data.map(({ webhook_id }: { webhook_id: string }) => webhook_id)).toEqual([made[2], made[4], late])
  })
})

describe('rotating the secret', () => {
  it('waits for its commit: until then the first one signs', async () => {
    const { path, record, signing_secret } = await webhook()
    const { status, body } = await acme.ask('POST', `${path}/rotate-secret`)
    expect([status, body]).toEqual([
      201,
      {
        webhook_id: (record as { webhook_id: string }).webhook_id,
        signing_secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{88}$/),
        secret_hint: body.signing_secret.slice(-4),
      },
    ])
    expect(body.signing_secret).not.toBe(signing_secret)
    expect((await acme.ask('GET', path)).body).toEqual(record)
    const committed = await acme.ask('POST', `${path}/rotate-secret/commit`)
    expect(committed).toMatchObject({ status: 200, body: { ...record, secret_hint: body.secret_hint, updated_at: INSTANT } })
    expect(codeOf(await acme.ask('POST', `${path}/rotate-secret/commit`))).toBe('409 webhook.no_rotation')
  })

  it('asked for again, replaces the one that waits', async () => {
    const { path } = await webhook()
    await acme.ask('POST', `${path}/rotate-secret`)
    const { secret_hint } = (await acme.ask('POST', `${path}/rotate-secret`)).body
    expect((await acme.ask('POST', `${path}/rotate-secret/commit`)).body.secret_hint).toBe(secret_hint)
  })

  it('has nothing to commit before it is asked for', async () => {
    expect(codeOf(await acme.ask('POST', `${(await webhook()).path}/rotate-secret/commit`))).toBe('409 webhook.no_rotation')
  })

  it('by many at once gives each a secret that waits, or a refusal: one commits, and it is a secret that was given last', async () => {
    const { path } = await webhook()
    const rotated = await Promise.all(Array.from({ length: 10 }, () => acme.ask('POST', `${path}/rotate-secret`)))
    expect(rotated.every(({ status }) => status === 201 || status === 409)).toBe(true)
    const given = rotated.filter(({ status }) => status === 201).map(({ body }) => body.secret_hint)
    expect(given.length).toBeGreaterThan(0)
    const both = await Promise.all([
      ...Array.from({ length: 5 }, () => acme.ask('POST', `${path}/rotate-secret/commit`)),
      acme.ask('POST', `${path}/rotate-secret`),
    ])
    const again = both.pop()!
    if (again.status === 201) given.push(again.body.secret_hint)
    const committed = both.filter(({ status }) => status === 200)
    expect(committed.length).toBeLessThanOrEqual(again.status === 201 ? 2 : 1)
    expect(committed.length + Number(again.status === 201)).toBeGreaterThan(0)
    for (const { body } of committed) expect(given).toContain(body.secret_hint)
    for (const one of both) if (one.status !== 200) expect(codeOf(one)).toMatch(/^409 webhook\.(changed|no_rotation)$/)
  })
})

describe('the catalog', () => {
  const items = async () => (await acme.ask('GET', `${WEBHOOKS}/event-catalog`)).body.data as z.infer<typeof Item>[]
  const Item = z.object({
    key: z.string(),
    available: z.boolean(),
    schema: z.record(z.string(), z.unknown()).nullable(),
    sample: z.record(z.string(), z.unknown()).nullable(),
  })

  it('is what the code says: the file that the Worker answers with has been written since', async () => {
    expect(await items()).toEqual(JSON.parse(JSON.stringify(listCatalog().data)))
  })

  it('has every key of the specification, and which of them are sent', async () => {
    expect((await items()).map(({ key, available }) => [key, available])).toEqual([
      ['cfdi.cancelled', true],
      ['cfdi.cancelled_after_payment', true],
      ['sync.completed', true],
      ['sync.failed', true],
      ['connection.ciec_invalid', true],
      ['cfdi.issued', false],
      ['document.csf.updated', false],
      ['document.opinion_32d.changed', false],
      ['obligation.due_soon', true],
      ['storage.failed', true],
      ['mailbox.notification_received', true],
      ['blacklist.changed', true],
      ['extraction.completed', true],
      ['extraction.failed', true],
      ['alert.raised', true],
      ['alert.resolved', true],
      ['quota.warning', true],
      ['cfdi.new', true],
      ['cancellation.requested', true],
      ['connection.relink_needed', true],
      ['connection.relinked', true],
      ['connect_link.opened', true],
      ['connect_link.connected', true],
      ['connect_link.refused', true],
      ['connect_link.expired', true],
      ['consent.granted', true],
      ['consent.withdrawn', true],
      ['consent.expired', true],
    ])
    expect(
      (await items()).every(({ available, schema, sample }) => [schema !== null, sample !== null].every((it) => it === available)),
    ).toBe(true)
  })

  it('warns of exactly the events that the catalog says are not available', () => {
    const unsent = listCatalog()
      .data.filter(({ sample }) => sample === null)
      .map(({ key }) => `Nothing is sent for ${key}`)
    const warned = unsentWarnings(listCatalog().data.map(({ key }) => key)).map(({ message }) => /^[^:]*? for [\w.]+/.exec(message)![0])
    expect(warned.sort()).toEqual(unsent.sort())
  })

  it.each(listCatalog().data.filter(({ sample }) => sample))(
    '$key: has a sample that its schema allows, and which nothing may be added to or left out of',
    async ({ key }) => {
      const { schema, sample } = (await items()).find((item) => item.key === key)!
      const notified = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
      expect([PAYLOADS[key as keyof typeof PAYLOADS].safeParse(sample).error, notified.safeParse(sample).error]).toEqual([
        undefined,
        undefined,
      ])
      expect(sample!['event']).toBe(key)
      expect(notified.safeParse({ ...sample, more: 1 }).success).toBe(false)
      for (const member of Object.keys(sample!)) {
        const { [member]: _, ...less } = sample!
        // Events of this key that were kept before it existed lack it.
        const isLater = key === 'connection.ciec_invalid' && member === 'invalid_reason'
        expect([member, notified.safeParse(less).success]).toEqual([member, isLater])
      }
    },
  )
})

describe('a test', () => {
  it('is a delivery like any other, whatever the webhook is told of, and an event of the feed', async () => {
    silenceQueues()
    const of = await organization()
    const { path, record } = await webhook(of)
    const other = await webhook(of)
    const { status, body } = await of.ask('POST', `${path}/test`)
    expect([status, body]).toEqual([
      202,
      {
        event_id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
        event_key: 'webhook.test',
        fiscal_entity_id: null,
        period: null,
        redelivery: 0,
        status: 'pending',
        attempts: [],
        next_attempt_at: INSTANT,
        created_at: INSTANT,
      },
    ])
    expect((await of.ask('GET', `${path}/deliveries`)).body.data).toEqual([body])
    expect((await of.ask('GET', `${other.path}/deliveries`)).body.data).toEqual([])
    const { webhook_id } = record as { webhook_id: string }
    const event = { event: 'webhook.test', event_id: body.event_id, ordering: expect.any(Number), occurred_at: INSTANT, webhook_id }
    expect((await of.ask('GET', `/v1/events/${body.event_id}`)).body).toEqual(event)
    expect((await of.ask('GET', '/v1/events')).body.data).toEqual([event])
  })
})
