import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { billed } from '../accounts/billing/support/billing.ts'
import { at, restore } from '../support/clock.ts'
import { silenceQueues } from '../support/queues.ts'
import { CONNECTORS, connector, DRAFTS, s3 } from './support/connectors.ts'

beforeEach(() => {
  at('2027-03-10T18:00:00Z')
  silenceQueues()
})
afterEach(restore)

it.each([
  ['2027-03-08', false],
  ['2027-03-07', true],
])('an invoice of %s refuses what adds to the debt (%s), and never what a customer needs to leave', async (due, isOverdue) => {
  s3()
  const of = await billed('api')
  const made = await connector(of)
  const { invoice_id } = await of.invoice(due)
  const asked = async (method: string, path: string, body?: object) => {
    const { status, body: notified } = await of.ask(method, path, body)
    return notified?.code === undefined ? `${status}` : `${status} ${notified.code}`
  }
  const { credentials } = DRAFTS.s3
  const ADDS: readonly [string, string, object | undefined, string][] = [
    ['POST', CONNECTORS, { name: 'Otro', ...DRAFTS.s3 }, '201'],
    ['PATCH', made.path, { connector_status: 'active' }, '200'],
    ['PATCH', made.path, { name: 'Otro', connector_status: 'active' }, '200'],
    ['POST', `${made.path}/backfill`, undefined, '202'],
  ]
  const before = JSON.stringify((await of.ask('GET', made.path)).body)
  for (const [method, path, body, fine] of ADDS)
    expect([method, body, await asked(method, path, body)]).toEqual([method, body, isOverdue ? '402 billing.overdue' : fine])
  if (isOverdue) expect(JSON.stringify((await of.ask('GET', made.path)).body)).toBe(before)
  // What is wrong is said before what is owed.
  expect(await asked('POST', CONNECTORS, { name: 'Otro', ...DRAFTS.s3, provider: 'ftp' })).toBe('422 request.invalid')
  expect(
    await asked('POST', CONNECTORS, { name: 'x', ...DRAFTS.s3, scope: { fiscal_entity_ids: ['fe_01kabcdefghjkmnpqrstvwxyz0'] } }),
  ).toBe('422 storage_connector.scope')
  for (const [method, path, body, fine] of [
    ['PATCH', made.path, { connector_status: 'paused' }, '200'],
    ['PATCH', made.path, { name: 'Otro', config: { prefix: 'x' }, credentials }, '200'],
    ['POST', `${made.path}/test`, undefined, '200'],
    ['GET', made.path, undefined, '200'],
    ['GET', CONNECTORS, undefined, '200'],
  ] as const)
    expect([method, body, await asked(method, path, body)]).toEqual([method, body, fine])
  if (isOverdue) expect(await asked('POST', `${made.path}/backfill`)).toBe('402 billing.overdue')
  await of.pay(invoice_id)
  expect(await asked('PATCH', made.path, { connector_status: 'active' })).toBe('200')
  expect(await asked('DELETE', made.path)).toBe('204')
  await env.EVENTS_0.prepare('delete from storage_connectors').run()
})
