import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { LIMITS } from '../../../src/copies/exports/making/output.ts'
import { workOnExport } from '../../../src/copies/exports/making/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { centralDayOf } from '../../../src/platform/time/months.ts'
import { api } from '../../support/client.ts'
import { runs } from '../../support/fuzz.ts'
import { type Cost, costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { connect, organization, synced, type Tenant } from '../../support/tenants.ts'
import { entriesOf } from './support/readers.ts'
import { begun, contentOf, objectsOf, walked } from './support/world.ts'

/** What exports of many CFDIs cost. Their memory is measured in test/node/memory.long.process.test.ts. */

vi.spyOn(console, 'log').mockImplementation(() => {})

const CFDIS = runs(2_000, 100_000)
/** What an invocation may use (platform/work/budget.ts). */
const MOST_STATEMENTS = 900
const MOST_MS = 25_000
const KILLS = 5
/** States that are saved before each kill, and the documents of each. */
const SAVES = 2
const COMMIT = runs(400, 5_000)

let owner: Tenant
let fiscal_entity_id: string
let listed: Record<string, unknown>[]

beforeAll(async () => {
  const of = await organization('enterprise_gold')
  owner = of.owner
  fiscal_entity_id = (await connect(owner)).fiscal_entity_id
  await api(owner, 'POST', `/v1/fiscal-entities/${fiscal_entity_id}/extractions`, {
    ...{ data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'] },
    from: centralDayOf(Date.now() - 45 * 86_400_000),
    to: centralDayOf(Date.now()),
  })
  await synced(owner, fiscal_entity_id)
  const { entity } = (await env.DB.prepare('select entity from connections where fiscal_entity_id = ?')
    .bind(fiscal_entity_id)
    .first<{ entity: number }>())!
  const count = async () =>
    (await env.LEDGER_0.prepare('select count(*) as n from cfdi where entity = ?').bind(entity).first<{ n: number }>())!.n
  const originals = await count()
  expect(originals).toBeGreaterThan(40)
  // As many again and again, under other UUIDs, each at an instant of its own.
  const columns = (await env.LEDGER_0.prepare("select name from pragma_table_info('cfdi')").all<{ name: string }>()).results
  const names = columns.map(({ name }) => name)
  const copied = names.map((name) =>
    name === 'uuid' ? "printf('%08X', ?2 + j.value) || substr(uuid, 9)" : name === 'issued_at' ? 'issued_at - ?2 - j.value' : name,
  )
  const first = await env.LEDGER_0.prepare('select uuid from cfdi where entity = ?').bind(entity).all<{ uuid: string }>()
  const own = JSON.stringify(first.results.map(({ uuid }) => uuid))
  const times = Math.ceil(CFDIS / originals)
  for (let n = 1; n < times; n += 50)
    await env.LEDGER_0.prepare(
      `insert into cfdi (${names.join(', ')}) select ${copied.join(', ')} from json_each(?4) u
       cross join cfdi on cfdi.entity = ?1 and cfdi.uuid = u.value cross join json_each(?3) j`,
    )
      .bind(entity, n, JSON.stringify(Array.from({ length: Math.min(50, times - n) }, (_, i) => i)), own)
      .run()
  expect(await count()).toBeGreaterThanOrEqual(CFDIS)
  listed = await walked(owner, '/v1/cfdi', { fiscal_entity_id })
  expect(listed.length).toBe(await count())
}, 1_800_000)
afterEach(() => {
  vi.restoreAllMocks()
})

const CREATED = Date.parse('2026-05-20T09:00:00Z')

async function waiting(json: object): Promise<string> {
  silenceQueues()
  const export_id = await begun(owner, json)
  await env.DB.prepare('update exports set created_at = ? where export_id = ?').bind(CREATED, export_id).run()
  return export_id
}

const look = async (export_id: string) => (await api(owner, 'GET', `/v1/exports/${export_id}`)).body

interface Invocation extends Cost {
  milliseconds: number
}

/** Works on an export until it is ready. As often as is said, it is killed at the state that it would save as its third. */
async function made(export_id: string, kills: number): Promise<Invocation[]> {
  const invocations: Invocation[] = []
  for (let killed = 0, status = ''; status !== 'ready'; status = (await look(export_id)).status) {
    expect(status).not.toBe('failed')
    await env.DB.prepare('update exports set token = null where export_id = ?').bind(export_id).run()
    let puts = killed < kills ? SAVES : Number.POSITIVE_INFINITY
    const FILES = new Proxy(env.FILES, {
      get: (bucket, key) => {
        const method = (bucket as unknown as Record<string | symbol, unknown>)[key]
        if (typeof method !== 'function') return method
        return (...args: unknown[]) => {
          if (key === 'put' && puts-- <= 0) throw new Error('The isolate was evicted here.')
          return (method as (...args: unknown[]) => unknown).apply(bucket, args)
        }
      },
    })
    const began = performance.now()
    const { cost } = await costOf(env.LEDGER_0, env.FILES, () =>
      workOnExport(
        systemOf({ ...env, FILES } as Env, new Date(), 'req_test'),
        export_id,
        kills > 0 ? { ...LIMITS, commit: COMMIT } : LIMITS,
      ).catch(() => killed++),
    )
    invocations.push({ ...cost, milliseconds: performance.now() - began })
  }
  return invocations
}

const lines = (bytes: Uint8Array) =>
  new TextDecoder()
    .decode(bytes)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe(`an export of ${CFDIS} CFDIs`, () => {
  it.each([
    ['cfdi', 'ndjson'],
    ['cfdi', 'xlsx'],
    ['conceptos', 'csv'],
    ['xml', 'zip'],
  ])(
    'stays within the budget of each invocation, and is the same when it was killed five times: %s as %s',
    async (kind, format) => {
      const json = { fiscal_entity_id, kind, format }
      const whole = await waiting(json)
      const invocations = await made(whole, 0)
      for (const { d1_statements, milliseconds } of invocations) {
        expect(d1_statements).toBeLessThanOrEqual(MOST_STATEMENTS)
        expect(milliseconds).toBeLessThanOrEqual(MOST_MS)
      }
      const statements = invocations.reduce((sum, { d1_statements }) => sum + d1_statements, 0)
      const reads = invocations.reduce((sum, { rows_read }) => sum + rows_read, 0)
      // Of 250 or 500 documents, each step reads a page, the places and the chunks, or the places of files.
      expect(statements).toBeLessThanOrEqual(invocations.length * 30 + 4 * Math.ceil(listed.length / 250))
      expect(reads).toBeLessThanOrEqual(invocations.length * 60 + (kind === 'cfdi' ? 1.1 : 4) * listed.length)
      const expected = await contentOf(owner, whole)
      if (format === 'ndjson') expect(lines(expected)).toEqual(listed)
      if (format === 'zip') expect(entriesOf(expected).length).toBe((await look(whole)).rows)
      const killed = await waiting(json)
      expect((await made(killed, KILLS)).length).toBeGreaterThan(KILLS)
      const bytes = await contentOf(owner, killed)
      expect([bytes.length, bytes.every((byte, n) => byte === expected[n])]).toEqual([expected.length, true])
      expect(await objectsOf(killed)).toHaveLength(1)
      console.info(
        `${kind}.${format}: ${listed.length} CFDIs, ${expected.length} bytes, ${invocations.length} invocations, at most ` +
          `${Math.max(...invocations.map(({ d1_statements }) => d1_statements))} statements and ` +
          `${Math.round(Math.max(...invocations.map(({ milliseconds }) => milliseconds)))} ms; ${reads} rows read`,
      )
    },
    runs(120_000, 1_800_000),
  )
})
