import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { limitsOf, type Quota } from '../../../src/accounts/plans/quotas.ts'
import { app } from '../../../src/app/app.ts'
import { sweepUploadObjects } from '../../../src/cfdi/imports/imports.ts'
import worker from '../../../src/index.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { basic } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { daily } from '../../support/crons.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { audited, freshRfc, type Organization, organization } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { type Plain, plainOf } from '../support/documents.ts'
import { consumeAll, importsOf, metadataOf, post, quotasOf, xmlFile, zipWith } from './support/imports.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
vi.spyOn(console, 'error').mockImplementation(() => {})

let kept: unknown[]
beforeEach(() => {
  vi.restoreAllMocks()
  kept = silenceQueues()
})
afterEach(() => {
  vi.useRealTimers()
})

const random = randomOf(23)
const limits = limitsOf('api', '2026-11-22') as Record<Quota, number>

interface Importer {
  of: Organization
  fiscal_entity_id: string
  rfc: string
}

/** An organization with a draft, into which it imports. */
async function importer(): Promise<Importer> {
  const of = await organization('api')
  const rfc = freshRfc()
  return { of, rfc, fiscal_entity_id: (await of.ask('POST', '/v1/fiscal-entities', { rfc })).body.fiscal_entity_id }
}

/** As if the organization had imported so much, today or before. */
async function hasImported(
  { of }: Importer,
  used: { bytes?: number; documents?: number; day?: string; day_bytes?: number; day_documents?: number },
) {
  const { bytes = 0, documents = 0, day = '2000-01-01', day_bytes = 0, day_documents = 0 } = used
  await env.DB.prepare('insert or replace into import_totals values (?, ?, ?, ?, ?, ?, 0)')
    .bind(of.id, bytes, documents, day, day_bytes, day_documents)
    .run()
}

const upload = ({ of, fiscal_entity_id }: Importer, bytes: Uint8Array, headers = {}) => post(of.owner, fiscal_entity_id, bytes, headers)

async function imported(by: Importer, bytes: Uint8Array) {
  const { status, body } = await upload(by, bytes)
  expect(status).toBe(202)
  await consumeAll(kept)
  return (await by.of.ask('GET', `${importsOf(by.fiscal_entity_id)}/${body.import_id}`)).body
}

const usedOf = async ({ of }: Importer, quota: Quota): Promise<number> => (await quotasOf(of.owner))[quota].used
const invoice = ({ rfc }: Importer): Plain => plainOf(random, '2026-01', { emisor: rfc, lines: 1 })
const invoices = (by: Importer, n: number): Plain[] => Array.from({ length: n }, () => invoice(by))
const objects = async () => (await env.FILES.list()).objects.length
const fileCodes = (body: { files: { status: string; code: string | null }[] }) => body.files.map(({ status, code }) => code ?? status)

describe('the bytes of an upload', () => {
  it.each([
    ['in all', 'import_bytes', (room: number) => ({ bytes: limits.import_bytes - room }), 'bytes of imports and .* are in use'],
    [
      'a day',
      'import_bytes_per_day',
      (room: number) => ({ day: '2026-11-18', day_bytes: limits.import_bytes_per_day - room }),
      'bytes of imports a day and .* were imported today',
    ],
  ] as const)('%s are refused with both numbers before anything is stored, and fit exactly', async (_, quota, used, sentence) => {
    at('2026-11-18T18:00:00Z')
    const by = await importer()
    const bytes = zipWith([invoice(by)])
    await hasImported(by, used(bytes.length - 1))
    const before = await objects()
    const { status, body } = await upload(by, bytes)
    expect([status, body.code]).toEqual([409, 'import.plan_limit'])
    expect(body.detail).toMatch(new RegExp(`^The plan API allows ${limits[quota]} ${sentence}\\. `))
    expect(body.detail).toContain(String(limits[quota] - bytes.length + 1))
    expect([await objects(), await usedOf(by, quota), await audited(by.of, 'import.created')]).toEqual([
      before,
      limits[quota] - bytes.length + 1,
      [],
    ])
    expect((await by.of.ask('GET', importsOf(by.fiscal_entity_id))).body.data).toEqual([])
    // The upload fits exactly, and what would be stored of it does not.
    await hasImported(by, used(bytes.length))
    expect(await imported(by, bytes)).toMatchObject({ documents: 0, stored_bytes: 0, files: [{ code: 'import.quota_exceeded' }] })
    await hasImported(by, used(10_000))
    const done = await imported(by, bytes)
    expect(done).toMatchObject({ status: 'completed', bytes: bytes.length, documents: 1 })
    expect(done.stored_bytes).toBeGreaterThan(bytes.length)
    expect(await usedOf(by, quota)).toBe(limits[quota] - 10_000 + done.stored_bytes)
    // What is stored fits exactly.
    await hasImported(by, used(done.stored_bytes - 1))
    expect((await imported(by, bytes)).files).toMatchObject([{ code: 'import.quota_exceeded' }])
    await hasImported(by, used(done.stored_bytes))
    expect((await imported(by, bytes)).counts).toMatchObject({ unchanged: 1 })
    expect(await usedOf(by, quota)).toBe(limits[quota])
  })

  it('of sixty uploads that come together on the last room are those of exactly one', async () => {
    const by = await importer()
    const bytes = zipWith([invoice(by)])
    await hasImported(by, { bytes: limits.import_bytes - bytes.length })
    const replies = await Promise.all(Array.from({ length: 60 }, () => upload(by, bytes)))
    expect(replies.filter(({ status }) => status === 202).length).toBe(1)
    expect(replies.filter(({ status, body }) => status === 409 && body.code === 'import.plan_limit').length).toBe(59)
    expect(await usedOf(by, 'import_bytes')).toBe(limits.import_bytes)
    await consumeAll(kept)
  })

  it('count for the organization’s local day, and anew after its midnight', async () => {
    at('2026-11-19T05:59:59Z')
    const by = await importer()
    const bytes = zipWith([invoice(by)])
    await hasImported(by, { day: '2026-11-18', day_bytes: limits.import_bytes_per_day })
    expect((await upload(by, bytes)).status).toBe(409)
    at('2026-11-19T06:00:00Z')
    expect(await usedOf(by, 'import_bytes_per_day')).toBe(0)
    const { stored_bytes } = await imported(by, bytes)
    expect(await usedOf(by, 'import_bytes_per_day')).toBe(stored_bytes)
  })

  it('that were refused under an Idempotency-Key are accepted under it when there is room', async () => {
    const by = await importer()
    const bytes = zipWith([invoice(by)])
    await hasImported(by, { bytes: limits.import_bytes })
    const key = { 'idempotency-key': 'room' }
    expect((await upload(by, bytes, key)).status).toBe(409)
    await hasImported(by, {})
    expect((await upload(by, bytes, key)).status).toBe(202)
    expect((await upload(by, bytes, key)).status).toBe(202)
    expect(await usedOf(by, 'import_bytes')).toBe(bytes.length)
    await consumeAll(kept)
    const [{ stored_bytes }, ...others] = (await by.of.ask('GET', importsOf(by.fiscal_entity_id))).body.data
    expect([await usedOf(by, 'import_bytes'), others]).toEqual([stored_bytes, []])
  })

  it('that the bucket does not take use nothing, of the day neither', async () => {
    const by = await importer()
    const failing = {
      ...env,
      FILES: new Proxy(env.FILES, {
        get: (target, name) => (name === 'put' ? () => Promise.reject(new Error('not today')) : Reflect.get(target, name)),
      }),
    }
    const request = new Request(`https://api.test${importsOf(by.fiscal_entity_id)}`, {
      method: 'POST',
      headers: { authorization: basic(by.of.owner), 'content-type': 'application/zip' },
      body: zipWith([invoice(by)]),
    })
    expect((await app.fetch(request, failing)).status).toBe(500)
    expect([await usedOf(by, 'import_bytes'), await usedOf(by, 'import_bytes_per_day')]).toEqual([0, 0])
  })

  it('that a crash left without an import are given back by the daily sweep once no key can continue them', async () => {
    at('2026-11-18T18:00:00Z')
    const by = await importer()
    const bytes = zipWith([invoice(by)])
    const dying = {
      ...env,
      LEDGER_0: new Proxy(env.LEDGER_0, {
        get: (target, name) =>
          name === 'batch' ? () => Promise.reject(new Error('dead')) : (Reflect.get(target, name) as () => unknown).bind(target),
      }),
    }
    const request = new Request(`https://api.test${importsOf(by.fiscal_entity_id)}`, {
      method: 'POST',
      headers: { authorization: basic(by.of.owner), 'content-type': 'application/zip', 'idempotency-key': 'crash' },
      body: bytes,
    })
    const before = await objects()
    expect((await app.fetch(request, dying)).status).toBe(500)
    const done = await imported(by, zipWith([invoice(by)]))
    const sweep = () => daily()
    at('2026-11-19T18:00:00Z')
    await sweep()
    expect(await usedOf(by, 'import_bytes')).toBe(done.stored_bytes + bytes.length)
    at('2026-11-19T19:00:01Z')
    await sweep()
    expect(await usedOf(by, 'import_bytes')).toBe(done.stored_bytes)
    // The bucket tells the age of the bytes by the real clock. The XML of the other import is what is left.
    at('2099-01-01T10:00:00Z')
    await sweepUploadObjects(systemOf(env, new Date(), 'sweep'))
    expect(await objects()).toBe(before + 1)
  })
})

describe('the documents of imports', () => {
  it('beyond the limit are told one by one, and are taken when there is room again', async () => {
    const by = await importer()
    const first = await imported(by, zipWith(invoices(by, 2)))
    const four = zipWith(invoices(by, 4))
    await env.DB.prepare('update import_totals set documents = ? where organization_id = ?')
      .bind(limits.import_documents - 2, by.of.id)
      .run()
    const partly = await imported(by, four)
    expect(fileCodes(partly)).toEqual(['created', 'created', 'import.quota_exceeded', 'import.quota_exceeded'])
    expect(partly).toMatchObject({ status: 'completed', documents: 2, counts: { created: 2, rejected: 2 } })
    expect(partly.files[2].detail).toBe(
      `The plan API allows ${limits.import_documents} imported documents and ${limits.import_documents} exist. Delete an import or change the plan.`,
    )
    expect(await usedOf(by, 'import_documents')).toBe(limits.import_documents)
    // What is stored already needs no room.
    expect(fileCodes(await imported(by, four))).toEqual(['unchanged', 'unchanged', 'import.quota_exceeded', 'import.quota_exceeded'])
    await by.of.ask('DELETE', `${importsOf(by.fiscal_entity_id)}/${first.import_id}`)
    await consumeAll(kept)
    expect(await usedOf(by, 'import_documents')).toBe(limits.import_documents - 2)
    expect(fileCodes(await imported(by, four))).toEqual(['unchanged', 'unchanged', 'created', 'created'])
    expect(await usedOf(by, 'import_documents')).toBe(limits.import_documents)
  })

  it('of a metadata file are rows: its result says how many did not fit, and why', async () => {
    const by = await importer()
    await hasImported(by, { documents: limits.import_documents - 3 })
    const rows = invoices(by, 5).map((document) => ({ document, isCancelled: false }))
    const { files } = await imported(by, zipOf([{ name: 'lista.txt', bytes: metadataOf(rows) }]))
    expect(files).toEqual([
      expect.objectContaining({
        status: 'created',
        code: 'import.quota_exceeded',
        detail: expect.stringMatching(/^2 rows could not be stored\. The plan API allows \d+ imported documents and \d+ exist\./),
        // The header is line 1: the first three rows fit, and those of lines 5 and 6 do not.
        rejected_rows: [5, 6].map((line) => ({ line, code: 'import.quota_exceeded' })),
      }),
    ])
    const none = await imported(by, zipOf([{ name: 'otra.txt', bytes: metadataOf(rows.slice(3)) }]))
    expect(none.files).toMatchObject([{ status: 'rejected', code: 'import.quota_exceeded' }])
    expect(await usedOf(by, 'import_documents')).toBe(limits.import_documents)
  })

  it('of a day are counted by the local day, and a deletion does not give them back', async () => {
    at('2026-11-18T18:00:00Z')
    const by = await importer()
    await hasImported(by, { day: '2026-11-18', day_documents: limits.import_documents_per_day - 1 })
    const two = zipWith(invoices(by, 2))
    const partly = await imported(by, two)
    expect(fileCodes(partly)).toEqual(['created', 'import.quota_exceeded'])
    expect(partly.files[1].detail).toContain('imported documents a day')
    await by.of.ask('DELETE', `${importsOf(by.fiscal_entity_id)}/${partly.import_id}`)
    await consumeAll(kept)
    expect(await usedOf(by, 'import_documents')).toBe(0)
    expect(await usedOf(by, 'import_documents_per_day')).toBe(limits.import_documents_per_day)
    expect(fileCodes(await imported(by, two))).toEqual(['import.quota_exceeded', 'import.quota_exceeded'])
    at('2026-11-19T06:00:00Z')
    expect(fileCodes(await imported(by, two))).toEqual(['created', 'created'])
    expect(await usedOf(by, 'import_documents_per_day')).toBe(2)
  })

  it('of several imports at once take the last places and not one more', async () => {
    const by = await importer()
    await hasImported(by, { documents: limits.import_documents - 7 })
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push((await upload(by, zipWith(invoices(by, 3)))).body.import_id)
    const messages = kept.splice(0)
    await Promise.all(messages.map((message) => consumeAll([message])))
    const counts = await Promise.all(
      ids.map(async (id) => (await by.of.ask('GET', `${importsOf(by.fiscal_entity_id)}/${id}`)).body.documents as number),
    )
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(7)
    expect(await usedOf(by, 'import_documents')).toBe(limits.import_documents)
  })

  it('are counted once when the consumer dies between its commits and another one goes on', async () => {
    const by = await importer()
    const [one, two, three] = invoices(by, 3) as [Plain, Plain, Plain]
    const bytes = zipOf([
      xmlFile(one),
      {
        name: 'lista.txt',
        bytes: metadataOf([
          { document: two, isCancelled: false },
          { document: three, isCancelled: true },
        ]),
      },
    ])
    let isDone = false
    for (let nth = 0; !isDone && nth < 30; nth++) {
      const before = await usedOf(by, 'import_documents')
      const { import_id } = (await upload(by, bytes)).body
      let steps = 0
      let isDead = false
      const dying = <T extends object>(target: T): T =>
        new Proxy(target, {
          get: (_, name) => {
            const value = Reflect.get(target, name) as unknown
            if (typeof value !== 'function') return value
            if (name !== 'batch') return value.bind(target)
            return async (...args: unknown[]) => {
              if (isDead) throw new Error('dead')
              const result = await value.apply(target, args)
              if (steps++ !== nth) return result
              isDead = true
              throw new Error('dead')
            }
          },
        })
      await consumeAll(kept, { ...env, DB: dying(env.DB), LEDGER_0: dying(env.LEDGER_0) }).catch(() => {})
      isDone = !isDead
      const now = Date.now()
      const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + 150_000)
      await worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date(now) }), env)
      await consumeAll(kept)
      // The completion that was committed and not recorded is recorded by the daily sweep.
      clock.mockImplementation(() => now + 26 * 3_600_000)
      await worker.scheduled(createScheduledController({ cron: '0 10 * * *', scheduledTime: new Date(now) }), env)
      clock.mockRestore()
      expect([nth, (await by.of.ask('GET', `${importsOf(by.fiscal_entity_id)}/${import_id}`)).body]).toMatchObject([
        nth,
        { status: 'completed', documents: 3 },
      ])
      expect([nth, await usedOf(by, 'import_documents')]).toEqual([nth, before + 3])
      await by.of.ask('DELETE', `${importsOf(by.fiscal_entity_id)}/${import_id}`)
      await consumeAll(kept)
      expect([nth, await usedOf(by, 'import_documents'), await usedOf(by, 'import_bytes')]).toEqual([nth, 0, 0])
    }
    expect(isDone).toBe(true)
  })
})
