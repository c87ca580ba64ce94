import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { workOnImport } from '../../../src/cfdi/imports/processing.ts'
import { markDue } from '../../../src/copies/due.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc, type Organization, organization } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { plainOf } from '../support/documents.ts'
import { importsOf, metadataOf, post, zipWith } from './support/imports.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
vi.spyOn(console, 'error').mockImplementation(() => {})

let kept: { shard: number; import_id: string }[]
beforeEach(async () => {
  vi.restoreAllMocks()
  kept = silenceQueues() as typeof kept
  await env.DB.prepare('delete from import_usage').run()
})
afterEach(() => {
  vi.restoreAllMocks()
})

const random = randomOf(36)

interface Importer {
  of: Organization
  fiscal_entity_id: string
  rfc: string
}

async function importer(): Promise<Importer> {
  const of = await organization('enterprise_gold')
  const rfc = freshRfc()
  return { of, rfc, fiscal_entity_id: (await of.ask('POST', '/v1/fiscal-entities', { rfc })).body.fiscal_entity_id }
}

const one = ({ rfc }: Importer) => zipWith([plainOf(random, '2026-01', { emisor: rfc })])
/** Metadata of so many slices. */
const slices = ({ rfc }: Importer, count: number) =>
  zipOf([
    {
      name: 'lista.txt',
      bytes: metadataOf(
        Array.from({ length: count * 1_000 }, () => ({ document: plainOf(random, '2026-01', { emisor: rfc }), isCancelled: false })),
      ),
    },
  ])

async function send({ of, fiscal_entity_id }: Importer, bytes: Uint8Array): Promise<string> {
  const { status, body } = await post(of.owner, fiscal_entity_id, bytes)
  expect(status).toBe(202)
  return body.import_id
}

const read = async ({ of, fiscal_entity_id }: Importer, import_id: string) =>
  (await of.ask('GET', `${importsOf(fiscal_entity_id)}/${import_id}`)).body
const statusOf = async (by: Importer, import_id: string): Promise<string> => (await read(by, import_id)).status

/** Handles the message that waits for the longest time. */
async function handleOne(): Promise<void> {
  const message = kept.splice(
    kept.findIndex(({ import_id }) => import_id !== undefined),
    1,
  )[0]!
  await workOnImport(systemOf(env, new Date(), 'test'), message, markDue)
}

it('an organization with many imports delays no other: each has its turn', async () => {
  const [many, few, other] = [await importer(), await importer(), await importer()]
  const ids: string[] = []
  for (let n = 0; n < 4; n++) ids.push(await send(many, one(many)))
  const [first, second] = [await send(few, one(few)), await send(few, one(few))]
  const last = await send(other, one(other))
  const done: string[] = []
  const open = new Map([
    ...ids.map((id) => [id, many] as const),
    ...[first, second].map((id) => [id, few] as const),
    [last, other] as const,
  ])
  while (kept.some(({ import_id }) => import_id !== undefined)) {
    await handleOne()
    for (const [id, by] of open)
      if ((await statusOf(by, id)) === 'completed') {
        done.push(id)
        open.delete(id)
      }
  }
  expect(done).toEqual([ids[0], first, last, ids[1], second, ids[2], ids[3]])
})

it('a large import gives way after ten slices when another organization waits, and goes on where it was', async () => {
  const [large, small] = [await importer(), await importer()]
  const long = await send(large, slices(large, 12))
  const short = await send(small, one(small))
  await handleOne()
  expect(await read(large, long)).toMatchObject({ status: 'queued', documents: 10_000 })
  await handleOne()
  expect(await statusOf(small, short)).toBe('completed')
  await handleOne()
  expect(await read(large, long)).toMatchObject({ status: 'completed', documents: 12_000, counts: { created: 1 } })
  expect(kept.filter(({ import_id }) => import_id !== undefined)).toEqual([])
  // Nobody else waits.
  const alone = await send(large, slices(large, 11))
  await handleOne()
  expect(await statusOf(large, alone)).toBe('completed')
})

it('an upload whose row is not there yet takes nobody’s turn', async () => {
  const [begun, by] = [await importer(), await importer()]
  await env.DB.prepare(
    `insert into import_usage (import_id, organization_id, shard, bytes, documents, counted_bytes, counted, is_open, turn_until, created_at)
     values ('imp_0', ?, 0, 1, 0, 1, 0, 1, 0, 0)`,
  )
    .bind(begun.of.id)
    .run()
  const sent = await send(by, one(by))
  await handleOne()
  expect(await statusOf(by, sent)).toBe('completed')
})

it('deletions take turns too', async () => {
  const [many, other] = [await importer(), await importer()]
  const ids = [await send(many, one(many)), await send(many, one(many)), await send(many, one(many))]
  while (kept.some(({ import_id }) => import_id !== undefined)) await handleOne()
  for (const id of ids) expect((await many.of.ask('DELETE', `${importsOf(many.fiscal_entity_id)}/${id}`)).status).toBe(202)
  const sent = await send(other, one(other))
  await handleOne()
  expect(await statusOf(other, sent)).toBe('completed')
  while (kept.some(({ import_id }) => import_id !== undefined)) await handleOne()
  for (const id of ids) expect((await many.of.ask('GET', `${importsOf(many.fiscal_entity_id)}/${id}`)).status).toBe(404)
})

it('an import whose worker died is deleted as soon as its lease has ended', async () => {
  const by = await importer()
  const import_id = await send(by, one(by))
  kept.splice(0)
  const now = Date.now()
  // A worker holds it, and is gone.
  await env.LEDGER_0.prepare(`update imports set status = 'running', token = 'gone', lease_until = ? where import_id = ?`)
    .bind(now + 40_000, import_id)
    .run()
  const delays: (number | undefined)[] = []
  vi.spyOn(Object.getPrototypeOf(env.DOWNLOADS), 'sendBatch').mockImplementation(async (messages) => {
    for (const { body, delaySeconds } of messages as Iterable<MessageSendRequest>) {
      kept.push(body as (typeof kept)[number])
      delays.push(delaySeconds)
    }
  })
  const remove = () => by.of.ask('DELETE', `${importsOf(by.fiscal_entity_id)}/${import_id}`)
  expect((await remove()).body.status).toBe('deleting')
  await handleOne()
  expect(await statusOf(by, import_id)).toBe('deleting')
  expect(delays.at(-1)).toBeGreaterThanOrEqual(39)
  expect(delays.at(-1)).toBeLessThanOrEqual(42)
  // Deleting it again is the same, and takes effect when the lease has ended.
  expect((await remove()).body.status).toBe('deleting')
  vi.spyOn(Date, 'now').mockImplementation(() => now + 42_000)
  await handleOne()
  expect((await by.of.ask('GET', `${importsOf(by.fiscal_entity_id)}/${import_id}`)).status).toBe(404)
  expect(await env.DB.prepare('select count(*) as n from import_usage where import_id = ?').bind(import_id).first('n')).toBe(0)
})
