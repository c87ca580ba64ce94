import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DestinationError, type DestinationFault } from '../../../src/copies/drivers/port.ts'
import { reviewConnectors } from '../../../src/copies/mirror/review.ts'
import { workOnConnector } from '../../../src/copies/mirror/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { reader } from '../../documents/mailbox/support/mailbox.ts'
import { at, restore } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { organization } from '../../support/tenants.ts'
import { mirroredTo, uuids } from '../support/mirrored.ts'
import { connectorOf, type Shelf, shelves, startBackfill, stateOf } from '../support/shelf.ts'

let shelfOf: (key: string) => Shelf

beforeEach(() => {
  at('2026-05-20T09:00:00Z')
  silenceQueues()
  shelfOf = shelves()
})
afterEach(restore)

const mirrored = () => mirroredTo(shelfOf)
const system = () => systemOf(env, new Date(), 'test')
const pass = (minutes: number) => at(new Date(Date.now() + minutes * 60_000).toISOString())
const review = async (one: { work: () => Promise<void> }) => {
  await reviewConnectors(system())
  await one.work()
}

/** From now on a shelf refuses these paths. Returns how often it did, and how to end it. */
function refusing(shelf: Shelf, isRefused: (path: string) => boolean, code: DestinationFault = 'refused') {
  const tried: string[] = []
  shelf.before = (path) => {
    if (!isRefused(path)) return
    tried.push(path)
    throw new DestinationError(code, 'The provider refuses the request (status 400).')
  }
  return {
    tried,
    end: () => {
      shelf.before = () => {}
    },
  }
}

describe('a document that the destination always refuses', () => {
  it('stops no other one: it is put aside, counted, named, and tried again by the daily review until it goes through', async () => {
    const one = await mirrored()
    const all = await one.come(161)
    const bad = all[20]!
    const path = `${one.rfc}/issued/${bad}.xml`
    const refusal = refusing(one.shelf, (path) => path.includes(bad))
    await startBackfill(one.connector)
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual(all.filter((uuid) => uuid !== bad).sort())
    const last_error = {
      code: 'refused',
      message: `The provider refuses the request (status 400). It was quarantined: ${path}`,
      at: expect.any(String),
    }
    expect(await one.shown()).toMatchObject({
      ...{
        connector_status: 'active',
        copied_count: 160,
        failed_count: 1,
        consecutive_failures: 0,
        next_attempt_at: null,
        pending_count: 0,
      },
      ...{ last_error, backfill: { status: 'completed', total: 161, copied: 160, failed: 1 } },
    })
    const listed = {
      fiscal_entity_id: one.fiscal_entity_id,
      path,
      code: 'refused',
      message: 'The provider refuses the request (status 400).',
    }
    expect(await one.refused()).toEqual([{ ...listed, at: expect.any(String) }])
    expect(refusal.tried).toEqual([path])
    // What comes afterwards goes through, and nothing else is tried again.
    const later = await one.come(2)
    await one.mark()
    await one.work()
    expect([uuids(one.shelf).slice(160).sort(), refusal.tried.length]).toEqual([later.sort(), 1])
    expect((await one.shown()).last_error).toEqual(last_error)
    pass(24 * 60)
    await review(one)
    expect([refusal.tried.length, (await one.shown()).failed_count]).toEqual([2, 2])
    refusal.end()
    pass(24 * 60)
    await review(one)
    expect(await one.shown()).toMatchObject({ copied_count: 163, failed_count: 2, last_error: null, pending_count: 0 })
    expect(await one.refused()).toEqual([])
    await review(one)
    expect(new Set(uuids(one.shelf)).size).toBe(163)
    expect(uuids(one.shelf)).toHaveLength(163)
    expect(new Set(one.shelf.lines().map((line) => line.uuid))).toEqual(new Set([...all, ...later]))
  })

  it('is no failure either when it comes alone, or first: an object of ours shows that the destination takes others', async () => {
    const one = await mirrored()
    const [bad] = await one.come(1)
    const refusal = refusing(one.shelf, (path) => path.includes(bad!))
    await one.mark()
    await one.work()
    for (let day = 0; day < 7; day++) {
      pass(24 * 60)
      await review(one)
    }
    expect([refusal.tried.length, await one.shown()]).toMatchObject([
      8,
      { connector_status: 'active', consecutive_failures: 0, failed_count: 8 },
    ])
    expect([...one.shelf.objects.keys()]).toEqual([`manifests/${one.connector_id}/check.txt`])
    refusal.end()
    const many = await one.come(30)
    refusing(one.shelf, (path) => many.slice(0, 10).some((uuid) => path.includes(uuid)))
    await one.mark()
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual(many.slice(10).sort())
    expect(await one.refused()).toHaveLength(11)
  })

  it('is tried again at once when the connector is set to active, and under the template that it has then', async () => {
    const one = await mirrored()
    const all = await one.come(3)
    const refusal = refusing(one.shelf, (path) => path.startsWith(one.rfc) && path.includes(all[0]!))
    await one.mark()
    await one.work()
    await one.patch({ connector_status: 'active' })
    await one.work()
    expect(refusal.tried).toHaveLength(2)
    await one.patch({ config: { bucket: 'fiscal-archive', path_template: 'otro/{rfc}/{uuid}.xml' } })
    await one.patch({ connector_status: 'paused' })
    await one.patch({ connector_status: 'active' })
    for (let turn = 0; turn < 2; turn++) await one.work()
    expect(refusal.tried).toHaveLength(2)
    expect(one.shelf.puts).toContain(`otro/${one.rfc}/${all[0]}.xml`)
    expect([await one.refused(), (await one.shown()).last_error]).toEqual([[], null])
  })

  it('is forgotten when a backfill copies everything again, when it is no longer shown, and with its connector', async () => {
    const one = await mirrored()
    const all = await one.come(3)
    const refusal = refusing(one.shelf, (path) => path.includes(all[0]!))
    await one.mark()
    await one.work()
    await startBackfill(one.connector)
    expect(await one.refused()).toEqual([])
    await one.work()
    expect(await one.refused()).toHaveLength(1)
    await env.LEDGER_0.prepare('update cfdi set chunk = null where uuid = ?').bind(all[0]).run()
    await review(one)
    expect([await one.refused(), refusal.tried.length]).toEqual([[], 2])
    refusing(one.shelf, (path) => path.includes(all[1]!))
    await startBackfill(one.connector)
    await one.work()
    expect(await one.refused()).toHaveLength(1)
    await one.of.ask('DELETE', one.path)
    for (let turn = 0; turn < 2; turn++) await one.work()
    expect(await env.EVENTS_0.prepare('select count(*) as n from storage_refused where connector = ?').bind(one.connector).first('n')).toBe(
      0,
    )
  })

  it('can be one that is not a CFDI', async () => {
    const acme = await reader()
    await acme.send({ sent_at: '2026-05-05T16:00:00Z' })
    await acme.receive()
    const { connector, connector_id } = await connectorOf({ organization_id: acme.id })
    const one = { work: () => workOnConnector(system(), { shard: 0, connector }) }
    await one.work()
    const shelf = shelfOf(connector_id)
    const refusal = refusing(shelf, (path) => path.includes('/documents/buzon/'))
    await startBackfill(connector)
    await one.work()
    expect([refusal.tried.length, (await stateOf(connector)).failures]).toEqual([1, 0])
    await env.EVENTS_0.prepare('update storage_mirrors set due = 1 where connector = ?').bind(connector).run()
    await one.work()
    expect(refusal.tried).toHaveLength(1)
    await review(one)
    expect(refusal.tried).toHaveLength(2)
    refusal.end()
    await review(one)
    expect(shelf.documents().filter((path) => path.includes('/documents/buzon/'))).toHaveLength(1)
    expect(await stateOf(connector)).toMatchObject({ last_error: null, failed_count: 2 })
    await review(one)
    expect(shelf.puts.filter((path) => path.includes('/documents/buzon/'))).toHaveLength(1)
  })

  it('is also one at which the provider fails three times in a row', async () => {
    for (const code of ['unavailable', 'timeout', 'connection_failed'] as const) {
      const one = await mirrored()
      const all = await one.come(61)
      const refusal = refusing(one.shelf, (path) => path.includes(all[30]!), code)
      await one.mark()
      for (const failures of [1, 2, 0]) {
        await one.work()
        expect((await stateOf(one.connector)).failures, code).toBe(failures)
        pass(60)
      }
      expect(new Set(uuids(one.shelf)).size).toBe(60)
      expect([refusal.tried.length, await one.refused()]).toMatchObject([3, [{ code }]])
    }
  })

  it('is shown to its organization alone, page by page', async () => {
    const one = await mirrored()
    const all = await one.come(5)
    refusing(one.shelf, (path) => all.some((uuid) => path.includes(uuid)))
    await one.mark()
    await one.work()
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await one.of.ask('GET', `${one.path}/refused-documents?limit=2${cursor}`)
      seen.push(...body.data.map(({ path }: { path: string }) => path))
      if (!body.has_more) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(seen).toEqual(all.map((uuid) => `${one.rfc}/issued/${uuid}.xml`).sort())
    const other = await organization()
    expect((await other.ask('GET', `${one.path}/refused-documents`)).status).toBe(404)
  })
})

describe('a destination that refuses everything', () => {
  it.each(['refused', 'access_denied'] as const)(
    '(%s) is asked five times a turn at most, puts nothing aside, and ends in an error',
    async (code) => {
      const one = await mirrored()
      const all = await one.come(30)
      const refusal = refusing(one.shelf, () => true, code)
      await one.mark()
      for (let n = 1; n <= 5; n++) {
        await one.work()
        const status = n === 5 ? 'error' : 'active'
        expect(await stateOf(one.connector)).toMatchObject({ failures: n, connector_status: status, copied_count: 0 })
        expect(refusal.tried.length).toBeLessThanOrEqual(5 * n)
        pass(60)
      }
      expect(await one.refused()).toEqual([])
      expect((await one.shown()).last_error).toMatchObject({ code, message: 'The provider refuses the request (status 400).' })
      refusal.end()
      await one.patch({ connector_status: 'active' })
      for (let turn = 0; turn < 2; turn++) await one.work()
      expect(uuids(one.shelf).sort()).toEqual(all.sort())
    },
  )
})

describe('a place where no object can be replaced', () => {
  it('gets its manifests all the same: an interrupted one has another number, and the connector says which is the last', async () => {
    const one = await mirrored()
    const below = `manifests/${one.connector_id}`
    one.shelf.before = (path) => {
      if (one.shelf.objects.has(path)) throw new DestinationError('refused', 'The object may not be changed (status 409).')
    }
    one.shelf.objects.set(`${below}/2026-05-20/manifest.jsonl`, { bytes: new Uint8Array(), content_type: '', sha256: '' })
    const manifests = () => [...one.shelf.objects.keys()].filter((path) => path.startsWith(below)).map((path) => path.slice(below.length))
    const copied = async () => {
      await one.come(1)
      await one.mark()
      await one.work()
      await review(one)
    }
    await copied()
    expect([manifests(), await stateOf(one.connector)]).toMatchObject([['/2026-05-20/manifest.jsonl'], { failures: 1 }])
    pass(1)
    await one.work()
    const first = { path: `${below}/2026-05-20/manifest-2.jsonl` }
    expect([manifests().slice(1), (await one.shown()).last_manifest]).toMatchObject([
      ['/2026-05-20/manifest-2.jsonl', '/latest.json'],
      first,
    ])
    await copied()
    expect(manifests().slice(3)).toEqual(['/2026-05-20/manifest-3.jsonl'])
    expect((await one.shown()).last_manifest).toMatchObject({ path: `${below}/2026-05-20/manifest-3.jsonl` })
    expect(JSON.parse(new TextDecoder().decode(one.shelf.objects.get(`${below}/latest.json`)!.bytes))).toMatchObject(first)
    const last = new TextDecoder()
      .decode(one.shelf.objects.get(`${below}/2026-05-20/manifest-3.jsonl`)!.bytes)
      .trimEnd()
      .split('\n')
      .at(-1)!
    expect(JSON.parse(last)).toMatchObject({ lines: 1, previous: first })
  })
})

describe('a scope that becomes narrower', () => {
  it.each(['active', 'paused'])('ends the copying of what is no longer in it, while the connector is %s', async (status) => {
    for (const scope of ['kinds', 'fiscal_entity_ids']) {
      const one = await mirrored()
      await one.come(130)
      const { body } = await one.of.ask('POST', '/v1/fiscal-entities', { rfc: 'EKU9003173C9' })
      const narrower = scope === 'kinds' ? { kinds: ['csf'] } : { fiscal_entity_ids: [body.fiscal_entity_id] }
      await startBackfill(one.connector)
      let count = 0
      let changed: Promise<void> | undefined
      one.shelf.before = () => {
        // In the second batch.
        if (++count < 105) return
        changed ??= (async () => {
          if (status === 'paused') await one.patch({ connector_status: status })
          expect((await one.patch({ scope: narrower })).status).toBe(200)
          at(new Date(Date.now() + 3_000).toISOString())
        })()
        return changed
      }
      await one.work()
      expect(JSON.parse((await one.mirror())!['round'] as string).legs).not.toEqual([])
      one.shelf.before = () => {}
      const before = uuids(one.shelf).length
      expect(before).toBeLessThanOrEqual(108)
      if (status === 'paused') await one.patch({ connector_status: 'active' })
      for (let turn = 0; turn < 3; turn++) await one.work()
      expect([scope, uuids(one.shelf).length]).toEqual([scope, before])
      expect(await one.shown()).toMatchObject({ pending_count: 0, backfill: { status: 'completed' } })
    }
  })
})
