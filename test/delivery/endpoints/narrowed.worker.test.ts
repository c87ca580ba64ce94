import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ownEventStatements } from '../../../src/delivery/own-events.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { pathsOf } from '../../support/client.ts'
import { audited, organization } from '../../support/tenants.ts'
import { Courier } from '../support/deliveries.ts'
import { endpointOf, linked } from '../support/feed.ts'
import { cancelled, notify } from '../support/relay.ts'

beforeEach(() => losingMessages())
afterEach(() => vi.restoreAllMocks())

const VALUE = 'Bearer s3cr3t-Canario'
const text = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as { event: string; fiscal_entity_id?: string }

describe('an endpoint for some RFCs', () => {
  it('is told of their events alone, and of none that are about no RFC; another one is told of all', async () => {
    const of = await organization()
    const [one, two, three] = [await linked(of), await linked(of), await linked(of)]
    const event_keys = ['cfdi.cancelled', 'storage.failed']
    const all = await endpointOf(of, { event_keys, url: 'https://all.example.com/in' })
    const some = await endpointOf(of, {
      event_keys,
      url: 'https://some.example.com/in',
      fiscal_entity_ids: [one.uuid, two.fiscal_entity_id],
    })
    await notify(
      env.LEDGER_0,
      [one, two, three].map(({ entity }) => cancelled(entity, '2026-03-03T10:15:00')),
    )
    const courier = new Courier()
    await relayOutbox(courier.system, 0)
    const occurred_at = new Date().toISOString()
    const failed = { event: 'storage.failed', occurred_at, connector_id: 'stc_x', connector_name: 'x', provider: 's3' } as const
    await commit(env.EVENTS_0, ownEventStatements(of.id, { ...failed, error_code: 'x', error_message: 'x' }))
    for (const { webhook } of [all, some]) await courier.deliver(webhook)
    const notified = (url: string) =>
      courier.sent
        .filter((sent) => sent.url === url)
        .map(({ body }) => text(body).fiscal_entity_id ?? text(body).event)
        .sort()
    expect(notified('https://all.example.com/in')).toEqual([one.uuid, two.uuid, three.uuid, 'storage.failed'].sort())
    expect(notified('https://some.example.com/in')).toEqual([one.uuid, two.uuid].sort())
  })

  it('shows them, changes them, and is for all again with null', async () => {
    const of = await organization()
    const [one, two] = [await linked(of), await linked(of)]
    const { path } = await endpointOf(of, { fiscal_entity_ids: [one.uuid, one.fiscal_entity_id] })
    const shown = async () => (await of.ask('GET', path)).body.fiscal_entity_ids
    expect(await shown()).toEqual([one.fiscal_entity_id])
    expect((await of.ask('PATCH', path, { fiscal_entity_ids: [two.fiscal_entity_id] })).body.fiscal_entity_ids).toEqual([
      two.fiscal_entity_id,
    ])
    await of.ask('PATCH', path, { name: 'Otro' })
    expect(await shown()).toEqual([two.fiscal_entity_id])
    await of.ask('PATCH', path, { fiscal_entity_ids: null })
    expect(await shown()).toBeNull()
  })

  it('is refused for an RFC of somebody else, and for none', async () => {
    const [of, other] = [await organization(), await organization()]
    const [own, theirs] = [await linked(of), await linked(other)]
    const { path } = await endpointOf(of)
    for (const [ids, code, at] of [
      [[own.fiscal_entity_id, theirs.fiscal_entity_id], 'webhook.fiscal_entity', 'fiscal_entity_ids[1]'],
      [[], 'request.invalid', 'fiscal_entity_ids'],
      [['EKU9003173C9'], 'request.invalid', 'fiscal_entity_ids[0]'],
    ] as const) {
      const { status, body } = await of.ask('PATCH', path, { fiscal_entity_ids: ids })
      expect([status, body.code, pathsOf(body)]).toEqual([422, code, [at]])
    }
  })
})

describe('a header of the customer’s own', () => {
  const custom_header = { name: 'Authorization', value: VALUE }

  it('is sent with each delivery, and its value is never shown, logged or stored readably', async () => {
    const logged = [vi.spyOn(console, 'log'), vi.spyOn(console, 'error')]
    const of = await organization()
    const { path, webhook } = await endpointOf(of, { custom_header })
    const test = async () => {
      await of.ask('POST', `${path}/test`)
      const courier = new Courier()
      await courier.deliver(webhook)
      return courier.sent[0]!.headers
    }
    expect(await test()).toMatchObject({ Authorization: VALUE, 'Service-Event': 'webhook.test' })
    const changed = await of.ask('PATCH', path, { custom_header: { name: 'X-Api-Key', value: `${VALUE} 2` } })
    expect(changed.body.custom_header).toEqual({ name: 'X-Api-Key' })
    const headers = await test()
    expect([headers['X-Api-Key'], headers['Authorization']]).toEqual([`${VALUE} 2`, undefined])
    const rows = (await env.EVENTS_0.prepare('select * from webhooks where webhook = ?').bind(webhook).all()).results
    const said = [
      changed.body,
      await of.ask('GET', path),
      await of.ask('GET', '/v1/webhooks'),
      await of.ask('GET', '/v1/audit-events'),
      rows,
    ]
    expect(JSON.stringify([said, logged.map(({ mock }) => mock.calls)])).not.toMatch(/Canario/)
    expect((await audited(of, 'webhook.updated'))[0]!.changed).toEqual(['custom_header'])
    await of.ask('PATCH', path, { custom_header: null })
    expect(await test()).not.toHaveProperty('X-Api-Key')
  })

  /** What breaks without it: a receiver that answers with what it got shows the value to everybody who may read the delivery log. */
  it('is not in the delivery log either when the receiver answers with it', async () => {
    const of = await organization()
    const { path, webhook } = await endpointOf(of, { custom_header })
    await of.ask('POST', `${path}/test`)
    const courier = new Courier()
    courier.answer = () => new Response(`I got "Authorization: ${VALUE}".`, { status: 400 })
    await courier.deliver(webhook)
    const { data } = (await of.ask('GET', `${path}/deliveries`)).body
    expect(data[0].attempts[0].response_body).toBe('I got "Authorization: [header value]".')
  })

  it('sealed for another endpoint is sent nowhere', async () => {
    const of = await organization()
    const [one, two] = [await endpointOf(of, { custom_header }), await endpointOf(of, { custom_header })]
    await env.EVENTS_0.prepare(
      'update webhooks set header_value = (select header_value from webhooks where webhook = ?1) where webhook = ?2',
    )
      .bind(one.webhook, two.webhook)
      .run()
    await of.ask('POST', `${two.path}/test`)
    const courier = new Courier()
    await expect(courier.deliver(two.webhook)).rejects.toThrow(/cannot be opened/)
    expect(courier.sent).toEqual([])
  })

  it.each([
    ...[
      'Host',
      'content-type',
      'Content-Length',
      'Service-Signature',
      'webhook-id',
      'Connection',
      'Cookie',
      'CF-Ray',
      'Transfer-Encoding',
    ].map((name): [object, string] => [{ name, value: 'x' }, 'custom_header.name']),
    [{ name: 'X Key', value: 'x' }, 'custom_header.name'],
    [{ name: '', value: 'x' }, 'custom_header.name'],
    [{ name: 'X-Key', value: 'a\r\nHost: b' }, 'custom_header.value'],
    [{ name: 'X-Key', value: ' x' }, 'custom_header.value'],
    [{ name: 'X-Key', value: '' }, 'custom_header.value'],
    [{ name: 'X-Key', value: 'ñ' }, 'custom_header.value'],
    [{ name: 'X-Key', value: 'x'.repeat(1_001) }, 'custom_header.value'],
    [{ name: 'X-Key' }, 'custom_header.value'],
  ])('refuses %j', async (header, at) => {
    const draft = { name: 'ERP', url: 'https://hooks.example.com/in', event_keys: ['cfdi.cancelled'], custom_header: header }
    const { status, body } = await (await organization()).ask('POST', '/v1/webhooks', draft)
    expect([status, pathsOf(body)]).toEqual([422, [at]])
  })
})
