import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { consumeAll, post, zipWith } from '../../cfdi/imports/support/imports.ts'
import { plainOf } from '../../cfdi/support/documents.ts'
import { pagesOf } from '../../delivery/support/feed.ts'
import { restore } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'
import { callOf, ISSUED, issuedBy, later, subscriber, work } from '../support/downloads.ts'

let sent: unknown[]
beforeEach(() => {
  later(0)
  sent = silenceQueues()
})
afterEach(restore)

it('what was imported counts when a run shows it as the authority’s, and is no cancellation when the authority first delivers it cancelled', async () => {
  const rfc = freshRfc()
  const one = await subscriber(rfc, ISSUED)
  const [uuid] = issuedBy(rfc)
  const document = { ...plainOf(randomOf(3), '2026-04', { emisor: rfc }), uuid: uuid! }
  await post(one.owner, one.fiscal_entity_id, zipWith([document]))
  await consumeAll(sent)
  const look = async () => (await one.ask('GET', `/v1/cfdi/${uuid}?fiscal_entity_id=${one.fiscal_entity_id}`)).body
  const notified = async (cursor = '') =>
    (await one.ask('GET', `/v1/cfdi/changes?limit=100&fiscal_entity_id=${one.fiscal_entity_id}${cursor}`)).body
  expect(await look()).toMatchObject({ origin: 'import', estatus: 'vigente' })
  const { next_cursor } = await notified()
  await one.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id: one.fiscal_entity_id })
  later(60)
  await one.run()
  await work(rfc)
  await relayOutbox(systemOf(env, new Date(), 'req_test'), (await callOf(rfc)).shard)
  expect(await look()).toMatchObject({ origin: 'authority', estatus: 'cancelado' })
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
  const events = (await pagesOf<any>(one, '/v1/events?limit=100')).items
  expect(events.filter(({ event }) => event.startsWith('cfdi.'))).toEqual([])
  const listed = (await one.page()).body.data.length
  const [end] = events.filter(({ event }) => event === 'extraction.completed')
  const { data, has_more } = await notified(`&cursor=${next_cursor}`)
  expect(has_more).toBe(false)
  expect([end.readable_count, data.length]).toEqual([listed, listed])
  expect(data.find((change: { uuid: string }) => change.uuid === uuid)).toMatchObject({
    reasons: ['appeared'],
    cfdi: { estatus: 'cancelado' },
  })
})
