import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type ExportLimits, LIMITS, PART_BYTES } from '../../../src/copies/exports/making/output.ts'
import { workOnExport } from '../../../src/copies/exports/making/work.ts'
import { type System, systemOf } from '../../../src/platform/context.ts'
import { api } from '../../support/client.ts'
import { silenceQueues } from '../../support/queues.ts'
import { connect, organization, synced, type Tenant } from '../../support/tenants.ts'
import { entriesOf, sheetsOf } from './support/readers.ts'
import { begun, contentOf, objectsOf } from './support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

/** Each step is a few documents, and all that a state can leave to objects of their own is left to them. */
const SMALL: ExportLimits = {
  ...LIMITS,
  page: { cfdi: 60, conceptos: 60, pagos: 60, nominas: 60, complementos: 60, xml: 60, pdf: 60 },
  commit: 1,
  xmlBytes: 60_000,
  sheet: { rows: 50, bytes: 1e9 },
  zip: { bytes: 40_000, entries: 7 },
  directory: 500,
}

let owner: Tenant
let fiscal_entity_id: string
let large: string

const downloaded = async (caller: Tenant, ciec: string) => {
  const made = await connect(caller, undefined, { ciec })
  await synced(caller, made.fiscal_entity_id)
  return made.fiscal_entity_id
}

beforeAll(async () => {
  const of = await organization('enterprise_gold')
  owner = of.owner
  await api(owner, 'POST', '/v1/extractors', {
    ...{ name: 'Al conectar', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: 2 },
    data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'],
  })
  fiscal_entity_id = await downloaded(owner, 'secreta1')
  large = await downloaded(owner, 'busy1800')
}, 240_000)
afterEach(() => {
  vi.restoreAllMocks()
})

const CREATED = Date.parse('2026-05-20T09:00:00Z')

/** An export that nobody works on yet. */
async function waiting(json: object): Promise<string> {
  silenceQueues()
  const export_id = await begun(owner, json)
  await env.DB.prepare('update exports set created_at = ? where export_id = ?').bind(CREATED, export_id).run()
  return export_id
}

class Killed extends Error {}

/** A system whose invocation ends at a call of its databases or of the bucket: before it, or when it has been done. */
function dyingAt(nth: number, isDone: boolean): { system: System; calls: () => string[] } {
  const calls: string[] = []
  const call = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    if (calls.length >= nth) throw new Killed()
    calls.push(name)
    const isLast = calls.length === nth
    if (isLast && !isDone) throw new Killed()
    const result = await work()
    if (isLast) throw new Killed()
    return result
  }
  const counted = <T extends object>(name: string, target: T, methods: readonly string[]): T =>
    new Proxy(target, {
      get: (object, key) => {
        const method = (object as Record<string | symbol, unknown>)[key]
        if (typeof method !== 'function') return method
        const bound = method.bind(object) as (...args: unknown[]) => unknown
        if (key === 'resumeMultipartUpload')
          return (...args: unknown[]) => counted('upload', bound(...args) as object, ['uploadPart', 'complete', 'abort'])
        if (!methods.includes(String(key))) return bound
        return (...args: unknown[]) => call(`${name}.${String(key)}`, () => bound(...args) as Promise<unknown>)
      },
    })
  const bucket = ['get', 'put', 'head', 'delete', 'list', 'createMultipartUpload']
  const FILES = counted('files', env.FILES, bucket)
  const DB = counted('db', env.DB, ['batch'])
  return { system: systemOf({ ...env, FILES, DB } as Env, new Date(), 'req_test'), calls: () => calls }
}

const run = async (export_id: string, limits: ExportLimits, system = systemOf(env, new Date(), 'req_test')): Promise<void> => {
  await workOnExport(system, export_id, limits).catch((error: unknown) => {
    if (!(error instanceof Killed)) throw error
  })
}

const look = async (export_id: string) => (await api(owner, 'GET', `/v1/exports/${export_id}`)).body

/** Until it is ready. Nobody else has its lease. */
async function finished(export_id: string, limits: ExportLimits): Promise<Uint8Array> {
  for (let n = 0; n < 50; n++) {
    await env.DB.prepare('update exports set token = null where export_id = ?').bind(export_id).run()
    await run(export_id, limits)
    if ((await look(export_id)).status === 'ready') return contentOf(owner, export_id)
  }
  throw new Error(`The export is not ready: ${JSON.stringify(await look(export_id))}`)
}

const isEqual = (one: Uint8Array, other: Uint8Array): boolean => one.length === other.length && one.every((byte, n) => byte === other[n])

/** Kills the invocation at every call that one makes. Returns how many there are. */
async function expectSurvival(json: object, limits: ExportLimits, only = (_name: string) => true): Promise<number> {
  const reference = await waiting(json)
  const whole = dyingAt(Number.POSITIVE_INFINITY, false)
  await run(reference, limits, whole.system)
  const expected = await contentOf(owner, reference)
  const calls = whole.calls()
  const { rows, documents } = await look(reference)
  for (const [n, name] of calls.entries()) {
    if (!only(name)) continue
    const export_id = await waiting(json)
    await run(export_id, limits, dyingAt(n + 1, n % 2 === 0).system)
    expect([name, n, isEqual(await finished(export_id, limits), expected)]).toEqual([name, n, true])
    expect(await look(export_id)).toMatchObject({ rows, documents, bytes: expected.length })
    await env.DB.prepare('delete from exports where export_id = ?').bind(export_id).run()
  }
  return calls.length
}

describe('an export whose worker dies', () => {
  it.each([
    ['cfdi', 'csv', 'api'],
    ['cfdi', 'csv', 'es'],
    ['conceptos', 'xlsx', 'es'],
    ['pagos', 'ndjson', 'api'],
    ['nominas', 'csv', 'es'],
    ['complementos', 'xlsx', 'api'],
    ['xml', 'zip', 'api'],
  ])('at any call has the same bytes in the end: %s as %s, headings %s', async (kind, format, headings) => {
    expect(await expectSurvival({ fiscal_entity_id, kind, format, headings }, SMALL)).toBeGreaterThan(5)
  })

  it('has them also when its parts are in the bucket already', async () => {
    const limits = { ...LIMITS, commit: 800, page: { ...LIMITS.page, cfdi: 400 } }
    const json = { fiscal_entity_id: large, kind: 'cfdi', format: 'ndjson' }
    await expectSurvival(json, limits, (name) => /upload|Multipart/.test(name))
    const export_id = await waiting(json)
    expect((await finished(export_id, limits)).length).toBeGreaterThan(2 * PART_BYTES)
    expect(await objectsOf(export_id)).toHaveLength(1)
  })

  it('five times on its way, has those of one that nobody killed, and leaves no object behind', async () => {
    const json = { fiscal_entity_id: large, kind: 'xml', format: 'zip' }
    const reference = await finished(await waiting(json), LIMITS)
    const export_id = await waiting(json)
    for (const nth of [9, 21, 14, 33, 26]) {
      await env.DB.prepare('update exports set token = null where export_id = ?').bind(export_id).run()
      await run(export_id, { ...LIMITS, commit: 200 }, dyingAt(nth, nth % 2 === 0).system)
    }
    expect((await look(export_id)).documents).toBeGreaterThan(0)
    expect(isEqual(await finished(export_id, LIMITS), reference)).toBe(true)
    expect(entriesOf(reference).length).toBeGreaterThan(1_000)
  })
})

describe('low limits', () => {
  it('show how far an export is, until it is ready and all is written', async () => {
    const export_id = await waiting({ fiscal_entity_id, kind: 'cfdi', format: 'csv' })
    await run(export_id, SMALL, dyingAt(3, true).system)
    const { data } = (await api(owner, 'GET', `/v1/cfdi?limit=60&fiscal_entity_id=${fiscal_entity_id}`)).body
    expect(await look(export_id)).toMatchObject({ status: 'running', documents: 60 })
    expect(Date.parse((await look(export_id)).scanned_through)).toBe(Date.parse(data.at(-1).issued_at))
    await finished(export_id, SMALL)
    expect(await look(export_id)).toMatchObject({ status: 'ready', scanned_through: null })
    await env.DB.prepare("update exports set status = 'expired' where export_id = ?").bind(export_id).run()
    expect(await look(export_id)).toMatchObject({ status: 'expired', scanned_through: null })
  })

  it('divide rows among sheets, with the heading on each', async () => {
    const xlsx = await finished(await waiting({ fiscal_entity_id, kind: 'cfdi', format: 'xlsx' }), SMALL)
    const sheets = sheetsOf(xlsx)
    const whole = sheetsOf(await finished(await waiting({ fiscal_entity_id, kind: 'cfdi', format: 'xlsx' }), LIMITS))[0]!.rows
    expect(sheets.length).toBeGreaterThan(1)
    expect(sheets.map(({ name }) => name).slice(0, 2)).toEqual(['cfdi', 'cfdi 2'])
    expect(sheets.every(({ rows }) => rows.length <= 50)).toBe(true)
    for (const { rows } of sheets) expect(rows[0]).toEqual(whole[0])
    expect(sheets.flatMap(({ rows }) => rows.slice(1))).toEqual(whole.slice(1))
  })

  it('make a ZIP of ZIP64, with the same files', async () => {
    const json = { fiscal_entity_id, kind: 'xml', format: 'zip' }
    const [small, usual] = [await finished(await waiting(json), SMALL), await finished(await waiting(json), LIMITS)]
    // Files lie in an archive as batches read them, and batches follow from the limits.
    const contents = (zip: Uint8Array) => new Map(entriesOf(zip).map(({ name, bytes }) => [name, new TextDecoder().decode(bytes)]))
    expect(contents(small)).toEqual(contents(usual))
    expect(small.length).toBeGreaterThan(usual.length)
  })
})

describe('an export that cannot be made', () => {
  it('fails when the connection is not active any more, and shows its content to nobody', async () => {
    const of = await organization('enterprise_gold')
    const own = (await connect(of.owner, undefined, { ciec: 'empty' })).fiscal_entity_id
    silenceQueues()
    const json = { fiscal_entity_id: own, kind: 'cfdi', format: 'csv' }
    const [first, second] = [await begun(of.owner, json), await begun(of.owner, json)]
    await run(first, LIMITS)
    expect((await contentOf(of.owner, first)).length).toBeGreaterThan(10)
    await env.DB.prepare("update connections set state = 'paused', paused_by = 'customer' where fiscal_entity_id = ?").bind(own).run()
    await run(second, LIMITS)
    expect((await api(of.owner, 'GET', `/v1/exports/${second}`)).body).toMatchObject({
      ...{ status: 'failed', error_code: 'fiscal_entity.not_active', expires_at: null },
    })
    expect((await api(of.owner, 'GET', `/v1/exports/${first}/content`)).body.code).toBe('fiscal_entity.not_active')
    expect((await api(of.owner, 'GET', `/v1/exports/${second}/content`)).body.code).toBe('export.not_ready')
  })

  it('fails after five attempts that came no further, and leaves no object', async () => {
    const export_id = await waiting({ fiscal_entity_id, kind: 'cfdi', format: 'csv' })
    for (let n = 0; n < 6; n++) {
      await run(export_id, SMALL, dyingAt(1, false).system)
      await env.DB.prepare('update exports set token = null where export_id = ?').bind(export_id).run()
    }
    expect((await look(export_id)).status).toBe('running')
    await run(export_id, SMALL)
    expect(await look(export_id)).toMatchObject({ status: 'failed', error_code: 'export.failed' })
    expect(await objectsOf(export_id)).toEqual([])
  })
})
