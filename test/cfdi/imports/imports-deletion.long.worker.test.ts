import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import worker from '../../../src/index.ts'
import { api, basic, request } from '../../support/client.ts'
import { runs } from '../../support/fuzz.ts'
import { costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, type Organization, organization } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { all, newBook } from '../support/book.ts'
import { creditOf, type Plain, paymentOf, plainOf, substituteOf, thousand } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'
import { consumeAll, importsOf, metadataOf, partitionOf, post, quotasOf, xmlFile, zipWith } from './support/imports.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
vi.spyOn(console, 'error').mockImplementation(() => {})

let kept: unknown[]
beforeEach(() => {
  vi.restoreAllMocks()
  kept = silenceQueues()
})

interface Importer {
  of: Organization
  fiscal_entity_id: string
  rfc: string
}

/** An organization without extractors and without downloads: it sees everything, and there is nothing but its imports. */
async function importer(rfc = freshRfc()): Promise<Importer> {
  const of = await organization()
  return { of, rfc, fiscal_entity_id: (await connect(of.owner, rfc, { ciec: 'empty' })).fiscal_entity_id }
}

async function imported({ of, fiscal_entity_id }: Importer, bytes: Uint8Array): Promise<string> {
  const { status, body } = await post(of.owner, fiscal_entity_id, bytes)
  expect(status).toBe(202)
  await consumeAll(kept)
  expect(await statusOf({ of, fiscal_entity_id }, body.import_id)).toBe('completed')
  return body.import_id
}

const statusOf = async ({ of, fiscal_entity_id }: Omit<Importer, 'rfc'>, import_id: string) => {
  const { status, body } = await of.ask('GET', `${importsOf(fiscal_entity_id)}/${import_id}`)
  return status === 200 ? body.status : status
}

type Listed = Record<string, unknown> & { uuid: string; updated_at: string }

/** The documents by UUID, without what other documents change in them. */
async function listed({ of, fiscal_entity_id }: Importer) {
  const { data } = (await of.ask('GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&limit=100`)).body
  return new Map<string, Listed>(
    data.map((one: Listed) => [one.uuid, Object.fromEntries(Object.entries(one).filter(([name]) => !BY_OTHERS.has(name)))]),
  )
}
const BY_OTHERS = new Set([
  ...['paid_amount', 'credited_amount', 'balance', 'balance_mxn', 'payment_status', 'last_payment_at', 'fully_paid_at'],
  ...['is_substituted', 'substituted_not_cancelled'],
])

const resultsOf = async ({ of, fiscal_entity_id }: Importer) => {
  const list = importsOf(fiscal_entity_id)
  const ids = (await of.ask('GET', `${list}?limit=100`)).body.data.map(({ import_id }: { import_id: string }) => import_id)
  const each = await Promise.all(ids.map(async (id: string) => [id, (await of.ask('GET', `${list}/${id}`)).body.files]))
  return new Map(each as [string, unknown][])
}

/** Deletes an import, and checks what whoever has read before reads of what changes: what differs has changed since, what does not has not. */
async function deletedVisibly(by: Importer, import_id: string): Promise<void> {
  const [before, results, at] = [await listed(by), await resultsOf(by), new Date().toISOString()]
  await deleted(by, import_id)
  for (const [uuid, document] of await listed(by)) {
    const { updated_at, ...former } = before.get(uuid)!
    const { updated_at: since, ...now } = document
    if (JSON.stringify(now) === JSON.stringify(former)) expect(since >= updated_at).toBe(true)
    else expect(since >= at).toBe(true)
  }
  results.delete(import_id)
  expect(await resultsOf(by)).toEqual(results)
}

async function deleted(by: Importer, import_id: string): Promise<void> {
  const { status, body } = await by.of.ask('DELETE', `${importsOf(by.fiscal_entity_id)}/${import_id}`)
  expect([status, body.status]).toEqual([202, 'deleting'])
  await consumeAll(kept)
  expect(await statusOf(by, import_id)).toBe(404)
}

/** All that the API says of the documents, without what differs between any two organizations. */
async function notifiedOf({ of, fiscal_entity_id }: Importer): Promise<unknown> {
  const entity = `fiscal_entity_id=${fiscal_entity_id}`
  const said = (body: unknown): unknown =>
    JSON.parse(
      JSON.stringify(body, (name, value) =>
        ['request_id', 'first_seen_at', 'updated_at', 'as_of'].includes(name)
          ? 0
          : typeof value === 'string'
            ? value.replaceAll(fiscal_entity_id, 'fe')
            : value,
      ),
    )
  const { data } = (await of.ask('GET', `/v1/cfdi?${entity}&limit=100`)).body
  const each = await Promise.all(
    data.map(async ({ uuid, has_xml }: { uuid: string; has_xml: boolean }) => [
      said((await of.ask('GET', `/v1/cfdi/${uuid}?${entity}`)).body),
      said((await of.ask('GET', `/v1/cfdi/${uuid}/payments?${entity}`)).body),
      has_xml && (await request('GET', `/v1/cfdi/${uuid}/xml?${entity}`, { headers: { authorization: basic(of.owner) } })).body,
    ]),
  )
  const months = (await of.ask('GET', `/v1/cfdi/summary/monthly?${entity}&from=2026-01&to=2026-03`)).body
  return { list: said(data), each, months: said(months) }
}

const usedBy = async ({ of }: Importer) => {
  const { import_bytes, import_documents } = await quotasOf(of.owner)
  return { bytes: import_bytes.used, documents: import_documents.used }
}
const objectsOf = async (import_id: string) =>
  (await Promise.all([`xml/${import_id}/`, `imports/${import_id}`].map((prefix) => env.FILES.list({ prefix })))).flatMap(({ objects }) =>
    objects.map(({ key }) => key),
  )

/** Invoices in parts, payments, credit notes and payroll of three months, issued and received. */
function documentsFor(random: () => number, rfc: string): Plain[] {
  const other = 'BBB020202BB1'
  const sides = [
    { emisor: rfc, receptor: other },
    { emisor: other, receptor: rfc },
  ]
  return sides.flatMap((parties) => {
    const invoices = [1, 2, 3].map(() => plainOf(random, '2026-01', { ...parties, tipo: 'I', metodo: 'PPD' }))
    const [first, second] = invoices as [Plain, Plain]
    const payment = { ...paymentOf(random, '2026-02', invoices.slice(0, 2), 0.5), ...parties }
    return [
      ...invoices,
      plainOf(random, '2026-01', { ...parties, metodo: 'PUE' }),
      payment,
      substituteOf(random, [first, second]),
      substituteOf(random, [payment], { pagos: [] }),
      { ...paymentOf(random, '2026-03', invoices.slice(1), 0.5), ...parties },
      creditOf(random, '2026-02', [invoices[0]!], parties),
      plainOf(random, '2026-02', { ...parties, tipo: 'N' }),
    ]
  })
}

/** A ZIP with some of the documents as XML, sometimes in other bytes or with another total, and some in a metadata file. */
function someZip(random: () => number, documents: readonly Plain[]): Uint8Array {
  const some = (share: number) => documents.filter(() => random() < share)
  const xml = some(random() < 0.3 ? 0 : 0.5).map((document) => {
    const dice = random()
    return dice < 0.1 ? xmlFile({ ...document, total: '7.00' }) : xmlFile(document, dice < 0.2 ? '\n' : '')
  })
  const rows = some(random() < 0.4 ? 0 : 0.4).map((document) => ({ document, isCancelled: random() < 0.3 }))
  return zipOf([...xml, ...(rows.length > 0 || xml.length === 0 ? [{ name: 'lista.txt', bytes: metadataOf(rows) }] : [])])
}

describe('a deleted import', () => {
  const histories = Array.from({ length: runs(1, 200) }, (_, n) => n + 1)

  it.each(histories)('leaves everything as for an organization that never sent it, history %i', async (seed) => {
    const random = randomOf(seed * 7919)
    const a = await importer()
    const b = await importer(a.rfc)
    const documents = documentsFor(random, a.rfc)
    const sent: { import_id: string; bytes: Uint8Array }[] = []
    const gone = new Set<string>()
    for (let n = 0; n < 5; n++) {
      const bytes = someZip(random, documents)
      sent.push({ bytes, import_id: await imported(a, bytes) })
      if (random() < 0.5) {
        const { import_id } = sent[Math.floor(random() * sent.length)]!
        if (!gone.has(import_id)) await deletedVisibly(a, import_id)
        gone.add(import_id)
      }
    }
    for (const { import_id, bytes } of sent) if (!gone.has(import_id)) await imported(b, bytes)
    expect(await partitionOf(a.of.id)).toEqual(await partitionOf(b.of.id))
    expect(await notifiedOf(a)).toEqual(await notifiedOf(b))
    expect(await usedBy(a)).toEqual(await usedBy(b))
    for (const import_id of gone) expect(await objectsOf(import_id)).toEqual([])
    const listed = (await a.of.ask('GET', importsOf(a.fiscal_entity_id))).body.data
    expect(listed.reduce((sum: number, one: { documents: number }) => sum + one.documents, 0)).toBe((await usedBy(a)).documents)
    // And nothing is left when the others are deleted, too.
    for (const { import_id } of sent) if (!gone.has(import_id)) await deleted(a, import_id)
    expect(Object.values(await partitionOf(a.of.id)).flat()).toEqual([])
    expect(await usedBy(a)).toEqual({ bytes: 0, documents: 0 })
  })

  it('gives its place to another content that it kept out, which has changed then; the result of the other stays', async () => {
    const a = await importer()
    const document = plainOf(randomOf(12), '2026-01', { emisor: a.rfc })
    const [first, second] = [
      await imported(a, zipOf([xmlFile(document)])),
      await imported(a, zipOf([xmlFile({ ...document, total: '7.00' }), xmlFile(document)])),
    ]
    const result = await resultsOf(a)
    expect(result.get(second)).toMatchObject([{ status: 'rejected', code: 'cfdi.conflict' }, { status: 'unchanged' }])
    const at = new Date().toISOString()
    await deleted(a, first)
    const { total, updated_at } = (await listed(a)).get(document.uuid)!
    expect([total, updated_at >= at]).toEqual(['7.00', true])
    expect([...(await resultsOf(a))]).toEqual([[second, result.get(second)]])
    expect(await usedBy(a)).toMatchObject({ documents: 1 })
  })

  it('that said the same as another leaves the document as it was: whoever has read it need not read it again', async () => {
    const a = await importer()
    const document = plainOf(randomOf(13), '2026-01', { emisor: a.rfc })
    const [first] = [await imported(a, zipWith([document])), await imported(a, zipWith([document]))]
    const before = await listed(a)
    await deletedVisibly(a, first)
    expect(await listed(a)).toEqual(before)
  })

  it('had written no row a document but those of the documents themselves, and the same file again writes one', async () => {
    const a = await importer()
    const documents = thousand(randomOf(14), '2026-01', []).map((it) => ({ ...it, emisor: a.rfc }))
    const direct = { ...newBook(), rfc: a.rfc }
    const alone = await costOf(env.LEDGER_0, env.FILES, () => all(ingestZip(direct, zipWith(documents))))
    const send = async () => {
      const { body } = await post(a.of.owner, a.fiscal_entity_id, zipWith(documents))
      const { cost } = await costOf(env.LEDGER_0, env.FILES, () => consumeAll(kept))
      return { import_id: body.import_id as string, written: cost.rows_written }
    }
    const first = await send()
    expect(first.written - alone.cost.rows_written).toBeLessThan(40)
    const second = await send()
    expect(second.written).toBeLessThan(1_040)
    await deleted(a, first.import_id)
    expect(await usedBy(a)).toMatchObject({ documents: 1_000 })
    await deleted(a, second.import_id)
    expect(Object.values(await partitionOf(a.of.id)).flat()).toEqual([])
  })

  it('leaves documents to each of 25 others that hold one, which it reads some at a time', async () => {
    const a = await importer()
    const random = randomOf(9)
    const documents = Array.from({ length: 25 }, () => plainOf(random, '2026-01', { emisor: a.rfc }))
    const whole = await imported(a, zipWith(documents))
    const others: string[] = []
    for (const document of documents) others.push(await imported(a, zipWith([document])))
    const before = await notifiedOf(a)
    await deleted(a, whole)
    expect(await notifiedOf(a)).toEqual(before)
    expect(await objectsOf(whole)).toEqual([])
    const listed = (await a.of.ask('GET', `${importsOf(a.fiscal_entity_id)}?limit=100`)).body.data
    expect(listed.map(({ documents }: { documents: number }) => documents)).toEqual(others.map(() => 1))
  })

  it('is listed until it is gone, newest first and in pages, and for its organization alone', async () => {
    const a = await importer()
    const b = await importer(a.rfc)
    const random = randomOf(3)
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push(await imported(a, zipWith([plainOf(random, '2026-01', { emisor: a.rfc })])))
    const list = importsOf(a.fiscal_entity_id)
    const first = (await a.of.ask('GET', `${list}?limit=2`, undefined, 'member')).body
    expect(first.data).toMatchObject([
      { import_id: ids[2], status: 'completed', documents: 1 },
      { import_id: ids[1], status: 'completed', documents: 1 },
    ])
    const second = (await a.of.ask('GET', `${list}?limit=2&cursor=${first.next_cursor}`)).body
    expect([second.data[0].import_id, second.has_more]).toEqual([ids[0], false])
    expect((await b.of.ask('GET', importsOf(b.fiscal_entity_id))).body.data).toEqual([])
    expect((await b.of.ask('DELETE', `${importsOf(b.fiscal_entity_id)}/${ids[0]}`)).body.code).toBe('import.not_found')

    expect((await a.of.ask('DELETE', `${list}/${ids[1]}`)).status).toBe(202)
    expect((await a.of.ask('DELETE', `${list}/${ids[1]}`)).status).toBe(202)
    expect((await a.of.ask('GET', list)).body.data.map(({ status }: { status: string }) => status)).toEqual([
      'completed',
      'deleting',
      'completed',
    ])
    await consumeAll(kept)
    expect((await a.of.ask('GET', list)).body.data.map(({ import_id }: { import_id: string }) => import_id)).toEqual([ids[2], ids[0]])
    expect((await a.of.ask('DELETE', `${list}/${ids[1]}`)).body.code).toBe('import.not_found')
    const audits = (await a.of.ask('GET', '/v1/audit-events?action=import.deleted')).body.data
    expect(audits.map(({ resource_id }: { resource_id: string }) => resource_id)).toEqual([ids[1]])
  })

  it('of 2,600 documents goes in slices, and hands over to another message when it has made ten', async () => {
    const a = await importer()
    const random = randomOf(4)
    const files = Array.from({ length: 13 }, (_, n) => ({
      name: `lista-${n}.txt`,
      bytes: metadataOf(
        Array.from({ length: 200 }, () => ({ document: plainOf(random, '2026-01', { emisor: a.rfc }), isCancelled: false })),
      ),
    }))
    const import_id = await imported(a, zipOf(files))
    expect(await usedBy(a)).toMatchObject({ documents: 2_600 })
    await a.of.ask('DELETE', `${importsOf(a.fiscal_entity_id)}/${import_id}`)
    const left = new Set<number | null>()
    const through = watching({
      LEDGER_0: async (call) => {
        const result = await call()
        left.add(await env.LEDGER_0.prepare('select count(*) as n from cfdi where entity < 0 and emisor_rfc = ?').bind(a.rfc).first('n'))
        return result
      },
    })
    const { cost, result: messages } = await costOf(env.LEDGER_0, env.FILES, () => consumeAll(kept, through))
    expect(messages).toBe(2)
    // Both messages together stay within what one may do.
    expect(cost.d1_statements).toBeLessThan(600)
    expect([...left]).toEqual(Array.from({ length: 14 }, (_, n) => 2_600 - 200 * n))
    expect(await usedBy(a)).toEqual({ bytes: 0, documents: 0 })
    expect(await statusOf(a, import_id)).toBe(404)
  })

  it('leaves what the authority delivered, and the document that others see', async () => {
    const of = await organization()
    const { fiscal_entity_id, rfc } = await connect(of.owner, undefined, { ciec: 'empty' })
    const a = { of, fiscal_entity_id, rfc }
    const random = randomOf(5)
    const document = plainOf(random, '2026-01', { emisor: rfc })
    const b = await importer(rfc)
    const [mine] = [await imported(a, zipWith([document])), await imported(b, zipWith([document]))]
    // The authority's row of the same document, as if it had been downloaded since.
    const { entity } = (await env.DB.prepare('select entity from fiscal_entities where rfc = ?').bind(rfc).first<{ entity: number }>())!
    const columns = (
      await env.LEDGER_0.prepare("select name from pragma_table_info('cfdi') where name <> 'entity'").all<{ name: string }>()
    ).results
    const names = columns.map(({ name }) => name).join(', ')
    await env.LEDGER_0.prepare(`insert into cfdi (entity, ${names}) select ?1, ${names} from cfdi where uuid = ?2 and entity < 0 limit 1`)
      .bind(entity, document.uuid)
      .run()
    await env.LEDGER_0.prepare(
      'insert into cfdi_chunks (entity, chunk, data) select ?1, k.chunk, k.data from cfdi c join cfdi_chunks k on k.entity = c.entity and k.chunk = c.chunk where c.uuid = ?2 and c.entity < 0 limit 1',
    )
      .bind(entity, document.uuid)
      .run()
    const authority = async () => (await env.LEDGER_0.prepare('select * from cfdi where entity = ?').bind(entity).all()).results
    const before = await authority()
    const others = await partitionOf(b.of.id)
    await deleted(a, mine)
    expect(await authority()).toEqual(before)
    expect(await partitionOf(b.of.id)).toEqual(others)
    expect((await api(of.owner, 'GET', `/v1/cfdi/${document.uuid}?fiscal_entity_id=${fiscal_entity_id}`)).body.origin).toBe('authority')
  })
})

type Step = (call: () => Promise<unknown>) => Promise<unknown>

/** Bindings whose writing calls go through a hand. */
function watching(hands: { DB?: Step; LEDGER_0?: Step; FILES?: Step }): Env {
  const watched = <T extends object>(target: T, handle: Step | undefined, names: readonly string[]): T =>
    new Proxy(target, {
      get: (_, name) => {
        const value = Reflect.get(target, name) as unknown
        if (typeof value !== 'function') return value
        const isWatched = handle !== undefined && names.includes(String(name))
        return isWatched ? (...args: unknown[]) => handle(() => value.apply(target, args)) : value.bind(target)
      },
    })
  return {
    ...env,
    DB: watched(env.DB, hands.DB, ['batch']),
    LEDGER_0: watched(env.LEDGER_0, hands.LEDGER_0, ['batch']),
    FILES: watched(env.FILES, hands.FILES, ['get', 'put', 'delete', 'list']),
  }
}

/** The sweep, when the leases of consumers that died have ended. */
async function sweepLater(): Promise<void> {
  const now = Date.now()
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + 150_000)
  await worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date(now) }), env)
  await consumeAll(kept)
  clock.mockRestore()
}

/** An organization that has only the second of two imports, and others of the same RFC that have both, which share a document. */
async function twoImports(): Promise<{ alone: Importer; both: () => Promise<{ a: Importer; first: string }> }> {
  const alone = await importer()
  const [one, two, three] = documentsFor(randomOf(6), alone.rfc) as [Plain, Plain, Plain]
  // It is cancelled by the metadata of the first.
  const shared = zipOf([xmlFile(one), xmlFile(two), { name: 'lista.txt', bytes: metadataOf([{ document: two, isCancelled: true }]) }])
  const rest = zipWith([two, three])
  await imported(alone, rest)
  const both = async () => {
    const a = await importer(alone.rfc)
    const first = await imported(a, shared)
    await imported(a, rest)
    return { a, first }
  }
  return { alone, both }
}

describe('a deletion', () => {
  it('whose consumer dies on any step is finished by the sweep, and gives the room back once', { timeout: 180_000 }, async () => {
    const { alone, both } = await twoImports()
    let isDone = false
    // Dying before a step is dying after the one before it.
    for (let nth = 0; !isDone && nth < 40; nth++)
      for (const when of nth === 0 ? (['before', 'after'] as const) : (['after'] as const)) {
        const { a, first } = await both()
        await a.of.ask('DELETE', `${importsOf(a.fiscal_entity_id)}/${first}`)
        let steps = 0
        let isDead = false
        const step: Step = async (call) => {
          if (isDead) throw new Error('dead')
          if (steps++ !== nth) return call()
          isDead = true
          if (when === 'after') await call()
          throw new Error('dead')
        }
        await consumeAll(kept, watching({ DB: step, LEDGER_0: step, FILES: step })).catch(() => {})
        isDone = !isDead
        if (!isDone) await sweepLater()
        expect([nth, when, await statusOf(a, first)]).toEqual([nth, when, 404])
        expect(await partitionOf(a.of.id)).toEqual(await partitionOf(alone.of.id))
        expect(await usedBy(a)).toEqual(await usedBy(alone))
        expect(await objectsOf(first)).toEqual([])
      }
  })

  it('of an import that is being processed stops it at any of its steps', async () => {
    let total = 1
    for (let nth = 0; nth < total; nth++) {
      const a = await importer()
      const [one, two] = documentsFor(randomOf(8), a.rfc) as [Plain, Plain]
      const bytes = zipOf([xmlFile(one), { name: 'lista.txt', bytes: metadataOf([{ document: two, isCancelled: false }]) }])
      const { import_id } = (await post(a.of.owner, a.fiscal_entity_id, bytes)).body
      let steps = 0
      const step: Step = async (call) => {
        if (steps++ === nth) await a.of.ask('DELETE', `${importsOf(a.fiscal_entity_id)}/${import_id}`)
        return call()
      }
      const message = kept.splice(0)
      await consumeAll(message, watching({ DB: step, LEDGER_0: step, FILES: step }))
      if (nth === 0) total = 6
      await sweepLater()
      expect([nth, await statusOf(a, import_id)]).toEqual([nth, 404])
      expect(Object.values(await partitionOf(a.of.id)).flat()).toEqual([])
      expect(await usedBy(a)).toEqual({ bytes: 0, documents: 0 })
      expect(await objectsOf(import_id)).toEqual([])
      expect(await env.LEDGER_0.prepare('select count(*) as n from import_results where import_id = ?').bind(import_id).first('n')).toBe(0)
    }
  })

  it('that meets another import of the same documents keeps what the other brings', async () => {
    const a = await importer()
    const alone = await importer(a.rfc)
    const documents = documentsFor(randomOf(9), a.rfc)
    const first = await imported(a, zipWith(documents))
    await a.of.ask('DELETE', `${importsOf(a.fiscal_entity_id)}/${first}`)
    const deletion = kept.splice(0)
    const { import_id: second } = (await post(a.of.owner, a.fiscal_entity_id, zipWith(documents))).body
    const upload = kept.splice(0)
    await Promise.all([consumeAll(deletion), consumeAll(upload)])
    await sweepLater()
    await imported(alone, zipWith(documents))
    expect([await statusOf(a, first), await statusOf(a, second)]).toEqual([404, 'completed'])
    expect(await partitionOf(a.of.id)).toEqual(await partitionOf(alone.of.id))
    expect(await usedBy(a)).toEqual(await usedBy(alone))
  })
})
