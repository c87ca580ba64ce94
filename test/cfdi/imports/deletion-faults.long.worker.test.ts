import { env } from 'cloudflare:workers'
import { expect, it, vi } from 'vitest'
import { failCommit } from '../../support/commits.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { connect, organization } from '../../support/tenants.ts'
import { plainOf } from '../support/documents.ts'
import { consumeAll, importsOf, partitionOf, post, quotasOf, zipWith } from './support/imports.ts'

const MOST_COMMITS = 40

/**
 * Deletes one of two imports that hold some of the same documents, and repeats the request when a commit has failed: the request's, or the
 * consumer's. Returns whether one has.
 */
async function deletedThrough(nth: number, when: 'before' | 'after'): Promise<boolean> {
  vi.restoreAllMocks()
  vi.spyOn(console, 'log').mockImplementation(() => {})
  vi.spyOn(console, 'error').mockImplementation(() => {})
  let kept = silenceQueues()
  const of = await organization()
  const { fiscal_entity_id, rfc } = await connect(of.owner, undefined, { ciec: 'empty' })
  const random = randomOf(35_06)
  const documents = Array.from({ length: 6 }, () => plainOf(random, '2026-01', { emisor: rfc }))
  const send = async (some: typeof documents): Promise<string> => {
    const { body } = await post(of.owner, fiscal_entity_id, zipWith(some))
    await consumeAll(kept)
    return body.import_id
  }
  const gone = await send(documents.slice(0, 4))
  const left = await send(documents.slice(3))
  const path = `${importsOf(fiscal_entity_id)}/${gone}`

  const hasFailed = failCommit(nth, when)
  await of.ask('DELETE', path)
  await consumeAll(kept).catch(() => 0)
  const isFaulty = hasFailed()
  vi.restoreAllMocks()
  vi.spyOn(console, 'log').mockImplementation(() => {})
  vi.spyOn(console, 'error').mockImplementation(() => {})
  kept = silenceQueues()
  // Whoever was interrupted holds nothing any more.
  await env.LEDGER_0.prepare('update imports set lease_until = 0').run()
  await env.DB.prepare('update import_usage set turn_until = 0').run()
  const { status } = await of.ask('DELETE', path)
  expect([202, 404]).toContain(status)
  await consumeAll(kept)

  expect((await of.ask('GET', path)).status).toBe(404)
  expect((await of.ask('GET', `${importsOf(fiscal_entity_id)}/${left}`)).body).toMatchObject({ status: 'completed', documents: 3 })
  const { data } = (await of.ask('GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}`)).body
  expect(data.map(({ uuid }: { uuid: string }) => uuid).sort()).toEqual(
    documents
      .slice(3)
      .map(({ uuid }) => uuid)
      .sort(),
  )
  const { import_documents, import_bytes } = await quotasOf(of.owner)
  const { stored_bytes } = (await of.ask('GET', `${importsOf(fiscal_entity_id)}/${left}`)).body
  expect([import_documents.used, import_bytes.used]).toEqual([3, stored_bytes])
  expect((await env.FILES.list({ prefix: `xml/${gone}/` })).objects).toEqual([])
  expect((await partitionOf(of.owner.organization_id))['cfdi']).toHaveLength(3)
  return isFaulty
}

it.each(['before', 'after'] as const)(
  'a deletion whose commit fails ends when it is repeated: %s each commit',
  async (when) => {
    let nth = 1
    while (await deletedThrough(nth, when)) expect(++nth).toBeLessThan(MOST_COMMITS)
    expect(nth).toBeGreaterThan(6)
  },
  300_000,
)
