import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DestinationError } from '../../../src/copies/drivers/port.ts'
import { orderManifest } from '../../../src/copies/mirror/manifest.ts'
import { reviewConnectors, sweepConnectors } from '../../../src/copies/mirror/review.ts'
import { workOnConnector } from '../../../src/copies/mirror/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { beforeBatch } from '../../authority/support/authority.ts'
import { all } from '../../cfdi/support/book.ts'
import { packageOf, plainOf } from '../../cfdi/support/documents.ts'
import { ingestZip } from '../../cfdi/support/ingest-zip.ts'
import { reader } from '../../documents/mailbox/support/mailbox.ts'
import { callOf } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { grantedRangesOf, type Kept } from '../../support/granted-ranges.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization } from '../../support/tenants.ts'
import { destinationsAre } from '../support/destinations.ts'
import { mirroredTo, uuids } from '../support/mirrored.ts'
import { connectorOf, Shelf, shelves, startBackfill, stateOf } from '../support/shelf.ts'

const random = randomOf(2_026)
let shelfOf: (key: string) => Shelf
let sent: unknown[]

beforeEach(() => {
  at('2026-05-20T09:00:00Z')
  sent = silenceQueues()
  shelfOf = shelves()
})
afterEach(restore)

const system = () => systemOf(env, new Date(), 'test')
const mirrored = (scope = {}) => mirroredTo(shelfOf, scope)

/** Whether the sweep wakes a connector. */
async function isSwept(connector: number): Promise<boolean> {
  sent.length = 0
  await sweepConnectors(system())
  return (sent as { connector: number }[]).some((message) => message.connector === connector)
}

describe('a round', () => {
  it('finds documents whose commits are forgotten, or name no document, once', async () => {
    const one = await mirrored()
    const first = await one.come(5)
    await one.mark()
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual([...first].sort())
    const second = [await one.come(3), await one.come(4), await one.come(2)].flat()
    await env.LEDGER_0.prepare('update cfdi_commits set touched = null where entity = ? and sequence = 3').bind(one.entity).run()
    await one.mark()
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual([...first, ...second].sort())
    const third = [await one.come(3), await one.come(4)].flat()
    await env.LEDGER_0.prepare('delete from cfdi_commits where entity = ? and sequence < 6').bind(one.entity).run()
    await one.mark()
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual([...first, ...second, ...third].sort())
    expect(await one.mirror()).toMatchObject({ due: 0, round: null, sequence: 6 })
  })

  it('that a mark reaches while it is under way is followed by another one', async () => {
    const one = await mirrored()
    const first = await one.come(3)
    let second: string[] = []
    one.shelf.before = async () => {
      one.shelf.before = () => {}
      second = await one.come(2)
      await one.mark()
    }
    await one.mark()
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual([...first].sort())
    expect(await one.mirror()).toMatchObject({ due: 1, round: null })
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual([...first, ...second].sort())
    expect(await one.mirror()).toMatchObject({ due: 0 })
  })

  it('copies the PDF beside each XML, also when it breaks off between the two, and counts both', async () => {
    const one = await mirrored({ kinds: ['cfdi_xml', 'cfdi_pdf'] })
    const first = await one.come(3)
    await startBackfill(one.connector)
    let puts = 0
    one.shelf.before = (path) => {
      if (path.endsWith('.pdf') && ++puts === 2) throw new DestinationError('unavailable', 'The destination is not there.', null)
    }
    await one.work()
    one.shelf.before = () => {}
    await env.EVENTS_0.prepare('update storage_connectors set retry_at = 0 where connector = ?').bind(one.connector).run()
    await one.work()
    const names = one.shelf.documents().map((path) => path.split('/').at(-1))
    expect(names.sort()).toEqual(first.flatMap((uuid) => [`${uuid}.pdf`, `${uuid}.xml`]).sort())
    const pdfs = [...one.shelf.objects].filter(([path]) => path.endsWith('.pdf'))
    for (const [, { bytes, content_type }] of pdfs)
      expect([content_type, new TextDecoder().decode(bytes.subarray(0, 8))]).toEqual(['application/pdf', '%PDF-1.7'])
    // The XML before the PDF that failed is copied again.
    expect(JSON.parse((await stateOf(one.connector)).backfill!)).toMatchObject({ status: 'completed', total: 7, copied: 7 })
  })

  it('of a backfill leaves what comes meanwhile to the next one, wherever it lies', async () => {
    const one = await mirrored()
    const first = await one.come(130)
    await startBackfill(one.connector)
    let later: string[] = []
    one.shelf.before = async () => {
      one.shelf.before = () => {}
      later = await one.come(20)
      await one.mark()
    }
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual([...first].sort())
    expect(JSON.parse((await stateOf(one.connector)).backfill!)).toMatchObject({ status: 'completed', total: 130, copied: 130 })
    await one.work()
    expect(uuids(one.shelf).sort()).toEqual([...first, ...later].sort())
    expect((await stateOf(one.connector)).copied_count).toBe(150)
  })

  it('of a backfill counts and copies what active connections have, and the rest follows when they are active again', async () => {
    const one = await mirrored()
    await one.come(3)
    const set = (active: boolean) => one.of.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active })
    await set(false)
    await startBackfill(one.connector)
    await one.work()
    const backfill = async () => JSON.parse((await stateOf(one.connector)).backfill!)
    expect([await backfill(), one.shelf.puts]).toMatchObject([{ status: 'completed', total: 0, copied: 0 }, []])
    await set(true)
    await one.work()
    expect(uuids(one.shelf)).toHaveLength(3)
    expect([await backfill(), (await stateOf(one.connector)).copied_count]).toMatchObject([{ total: 0, copied: 0 }, 3])
  })

  it('copies only what is in the scope when it comes', async () => {
    const kinds = await mirrored({ kinds: ['csf'] })
    const others = await mirrored({ fiscal_entity_ids: ['fe_01kabcdefghjkmnpqrstvwxyz0'] })
    for (const one of [kinds, others]) {
      await one.come(2)
      await one.mark()
      await one.work()
      expect(one.shelf.puts).toEqual([])
      expect(await one.mirror()).toMatchObject({ due: 0, sequence: 1 })
      await env.EVENTS_0.prepare(
        `update storage_connectors set scope = '{"fiscal_entity_ids":null,"kinds":["cfdi_xml"]}' where connector = ?`,
      )
        .bind(one.connector)
        .run()
      const later = await one.come(2)
      await one.mark()
      await one.work()
      expect(uuids(one.shelf).sort()).toEqual([...later].sort())
    }
  })

  it('stops while the connection is not active, and goes on when it is again', async () => {
    const one = await mirrored()
    await one.come(2)
    await one.of.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active: false })
    await one.mark()
    await one.work()
    expect(one.shelf.puts).toEqual([])
    expect(await one.mirror()).toMatchObject({ due: 0, sequence: 0 })
    await one.of.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active: true })
    expect(await one.mirror()).toMatchObject({ due: 1 })
    await one.work()
    expect(uuids(one.shelf)).toHaveLength(2)
  })

  it('finds everything when the last extractor is deleted', async () => {
    const one = await mirrored()
    const { body } = await one.of.ask('POST', '/v1/extractors', {
      ...{ name: 'Uno', trigger_kind: 'connection_reactivated', scope: 'last_n_months', scope_months: 1 },
      data_source_keys: ['sat_cfdi_issued'],
    })
    await one.come(3)
    await one.mark()
    await one.work()
    expect(one.shelf.puts).toEqual([])
    await one.of.ask('DELETE', `/v1/extractors/${body.extractor_id}`)
    expect(await one.mirror()).toMatchObject({ due: 1 })
    await one.work()
    expect(uuids(one.shelf)).toHaveLength(3)
  })
})

describe('a document of the tax mailbox', () => {
  it('is copied once it is fetched, and one that nobody has opened is not', async () => {
    const acme = await reader()
    await acme.send({ title: 'Por abrir', sent_at: '2026-05-19T16:00:00Z' })
    await acme.send({ title: 'Vencido', sent_at: '2026-05-05T16:00:00Z' })
    await acme.receive()
    const { connector, connector_id } = await connectorOf({ organization_id: acme.id })
    const work = () => workOnConnector(system(), { shard: 0, connector })
    await work()
    await startBackfill(connector)
    await work()
    const of = (path: string) => path.includes('/documents/buzon/')
    const shelf = shelfOf(connector_id)
    const [pending, expired] = await acme.list()
    expect(shelf.documents().filter(of)).toEqual([`${acme.rfc}/documents/buzon/2026-05-05-${expired!.notification_id}.pdf`])
    at('2026-05-20T09:10:00Z')
    await acme.document(pending!.notification_id, { ack: true })
    await acme.open()
    await work()
    expect(shelf.documents().filter(of)).toHaveLength(2)
    expect(shelf.puts.filter(of)).toHaveLength(2)
  })
})

describe('a document of the tax mailbox that a run fetches', () => {
  /** A reader with a connector, to whom a notification came that nobody opened in time and whose document the next run fetches. */
  async function expiring() {
    const acme = await reader()
    const other = await reader(acme.rfc)
    await acme.send({ kind: 'comunicado', sent_at: '2026-05-19T16:00:00Z' })
    await acme.send({ sent_at: '2026-05-18T16:00:00Z' })
    const connectors = await Promise.all([acme, other, await reader()].map(({ id }) => connectorOf({ organization_id: id })))
    const work = async () => {
      for (const { connector } of connectors) await workOnConnector(system(), { shard: 0, connector })
    }
    await work()
    at('2026-05-20T09:01:00Z')
    await acme.run()
    await other.run()
    await acme.receive()
    expect([(await acme.notified()).length, (await other.notified()).length]).toEqual([2, 2])
    await work()
    const copies = () =>
      connectors.map(
        ({ connector_id }) =>
          shelfOf(connector_id)
            .documents()
            .filter((path) => path.includes('/documents/buzon/')).length,
      )
    const due = () =>
      Promise.all(
        connectors.map(({ connector }) =>
          env.EVENTS_0.prepare('select coalesce(sum(due = 1), 0) as n from storage_mirrors where connector = ?').bind(connector).first('n'),
        ),
      )
    expect([copies(), await due()]).toEqual([
      [1, 1, 0],
      [0, 0, 0],
    ])
    at('2026-05-26T09:00:00Z')
    return { acme, work, copies, due }
  }

  it('late, of one that was not opened in time, is copied at once for each organization that reads it, although no event tells of it', async () => {
    const { acme, work, copies, due } = await expiring()
    await acme.receive()
    expect(await due()).toEqual([1, 1, 0])
    expect(await acme.notified()).toHaveLength(2)
    await work()
    expect([copies(), await due()]).toEqual([
      [2, 2, 0],
      [0, 0, 0],
    ])
    // A run that fetches nothing marks nothing.
    at('2026-05-26T09:11:00Z')
    await acme.receive()
    expect(await due()).toEqual([0, 0, 0])
  })

  it('late is copied with the daily review when the service dies before it marks them', async () => {
    const { acme, work, copies, due } = await expiring()
    beforeBatch('insert into "storage_mirrors"', 'spoil')
    await acme.receive()
    await acme.notified()
    expect([(await acme.jobs()).map(({ status }) => status).filter((status) => status !== 'succeeded'), await due()]).toEqual([
      [],
      [0, 0, 0],
    ])
    at('2026-05-27T07:00:00Z')
    await reviewConnectors(system())
    await work()
    expect(copies()).toEqual([2, 2, 0])
    at('2026-05-29T07:00:00Z')
    await reviewConnectors(system())
    expect(await due()).toEqual([0, 0, 0])
  })
})

describe('a document of the tax mailbox that an opening fetches', () => {
  it('is copied at once for each organization that reads it, also after a crash, and marks nothing for others', async () => {
    const opener = await reader()
    const [listed, free, unlisted, idle] = [await reader(opener.rfc), await reader(opener.rfc), await reader(opener.rfc), await reader()]
    // Without an extractor it reads everything.
    await free.ask('DELETE', `/v1/extractors/${free.extractor_id}`)
    await opener.send({ sent_at: '2026-05-19T16:00:00Z' })
    await opener.run()
    await listed.run()
    await opener.receive()
    const all = [opener, listed, free, unlisted, idle]
    const connectors = await Promise.all(all.map(({ id }) => connectorOf({ organization_id: id })))
    const workAll = async () => {
      for (const { connector } of connectors) await workOnConnector(system(), { shard: 0, connector })
    }
    for (let rounds = 0; rounds < 2; rounds++) await workAll()
    const due = async () =>
      Promise.all(
        connectors.map(({ connector }) =>
          env.EVENTS_0.prepare('select coalesce(sum(due = 1), 0) as n from storage_mirrors where connector = ?').bind(connector).first('n'),
        ),
      )
    expect(await due()).toEqual([0, 0, 0, 0, 0])
    at('2026-05-20T09:10:00Z')
    await opener.document((await opener.list())[0]!.notification_id, { ack: true })
    beforeBatch('insert into "storage_mirrors"', 'spoil')
    await opener.open()
    expect(await due()).toEqual([0, 0, 0, 0, 0])
    at('2026-05-20T09:11:00Z')
    await opener.open()
    expect(await due()).toEqual([1, 1, 1, 0, 0])
    await workAll()
    const copies = connectors.map(({ connector_id }) =>
      shelfOf(connector_id)
        .documents()
        .filter((path) => path.includes('/documents/buzon/')),
    )
    expect(copies.map(({ length }) => length)).toEqual([1, 1, 1, 0, 0])
    expect(await due()).toEqual([0, 0, 0, 0, 0])
  })
})

describe('a connector', () => {
  it('has one worker at a time', async () => {
    const one = await mirrored()
    await one.come(30)
    await one.mark()
    await Promise.all([one.work(), one.work(), one.work()])
    expect(uuids(one.shelf)).toHaveLength(30)
    expect(await stateOf(one.connector)).toMatchObject({ copied_count: 30, token: null })
  })

  it('that a customer changes, pauses or removes loses its worker, which counts nothing any more', async () => {
    for (const change of ['updated_at = updated_at + 1', "connector_status = 'paused'", 'deleted_at = 1', "token = 'another'"]) {
      const one = await mirrored()
      await one.come(3)
      await one.mark()
      one.shelf.before = async () => {
        one.shelf.before = () => {}
        await env.EVENTS_0.prepare(`update storage_connectors set ${change} where connector = ?`).bind(one.connector).run()
      }
      await one.work()
      expect(await stateOf(one.connector), change).toMatchObject({ copied_count: 0, parts: 0 })
      expect(await one.mirror()).toMatchObject({ due: 2, round: null })
      expect(sent, change).toContainEqual({ shard: 0, connector: one.connector })
    }
  })

  it('that is paused, or whose RFC is unlinked, is sent nothing more within two seconds', async () => {
    for (const change of [
      "update storage_connectors set connector_status = 'paused', token = null",
      "update connections set state = 'unlinked'",
    ]) {
      const one = await mirrored()
      await one.come(30)
      await one.mark()
      const d1 = change.includes('storage') ? env.EVENTS_0 : env.DB
      const where = change.includes('storage') ? ' where connector = ?1' : ' where fiscal_entity_id = ?1'
      const id = change.includes('storage') ? one.connector : one.fiscal_entity_id
      let changed: Promise<void> | undefined
      one.shelf.before = () => {
        changed ??= (async () => {
          await d1
            .prepare(change + where)
            .bind(id)
            .run()
          at(new Date(Date.now() + 3_000).toISOString())
        })()
        return changed
      }
      await one.work()
      // Those that had begun.
      expect(uuids(one.shelf).length, change).toBeLessThanOrEqual(4)
    }
  })

  it('that is removed leaves nothing behind but what it copied', async () => {
    const one = await mirrored()
    await one.come(3)
    await one.mark()
    await one.work()
    await one.come(3)
    await one.mark()
    await one.work()
    const kept = async () => (await env.FILES.list({ prefix: `storage/${one.connector_id}/` })).objects.length
    expect(await kept()).toBe(2)
    await env.EVENTS_0.prepare('update storage_connectors set deleted_at = 1 where connector = ?').bind(one.connector).run()
    expect(await isSwept(one.connector)).toBe(true)
    await one.work()
    expect([await kept(), await one.mirror(), await stateOf(one.connector)]).toEqual([0, null, null])
    expect(one.shelf.documents()).toHaveLength(6)
    expect(await isSwept(one.connector)).toBe(false)
  })

  it('that is planned late copies what a window has shown since its creation', async () => {
    const of = await organization('enterprise_gold')
    const { fiscal_entity_id, rfc } = await connect(of.owner, freshRfc(), { ciec: 'empty' })
    const { entity } = await callOf(rfc)
    const bounds = (from: string, grantedRanges: readonly Kept[]) =>
      env.DB.batch([
        env.DB.prepare('update organizations set extractor_count = 1 where id = ?').bind(of.id),
        env.DB.prepare(
          'update connections set issued_from = ?2, issued_to = ?3, issued_granted_ranges = ?4 where fiscal_entity_id = ?1',
        ).bind(fiscal_entity_id, from, Date.now(), grantedRangesOf(grantedRanges)),
      ])
    const first = Date.now()
    await bounds('2026-05-01', [[first, '2026-05-01']])
    const documents = Array.from({ length: 5 }, () => plainOf(random, '2026-04', { emisor: rfc }))
    const target = { ledger: env.LEDGER_0, files: env.FILES, entity, rfc, now: new Date(), provenance: 'authority' } as const
    await all(ingestZip(target, packageOf(documents)))
    at(new Date(first + 60_000).toISOString())
    const { connector, connector_id } = await connectorOf({ organization_id: of.id })
    at(new Date(first + 120_000).toISOString())
    await bounds('2026-04-01', [
      [first, '2026-05-01'],
      [Date.now(), '2026-04-01'],
    ])
    for (let turn = 0; turn < 3; turn++) await workOnConnector(system(), { shard: 0, connector })
    expect(uuids(shelfOf(connector_id)).sort()).toEqual(documents.map(({ uuid }) => uuid).sort())
  })

  it('is found by the sweep while something is due, it is to be planned, or a backfill is not completed, and not while it waits', async () => {
    const one = await mirrored()
    const isFound = () => isSwept(one.connector)
    const set = (columns: string) =>
      env.EVENTS_0.prepare(`update storage_connectors set ${columns} where connector = ?`).bind(one.connector).run()
    expect(await isFound()).toBe(false)
    await one.mark()
    expect(await isFound()).toBe(true)
    for (const [away, back] of [
      ['retry_at = 9e15', 'retry_at = 0'],
      ['lease_until = 9e15', 'lease_until = 0'],
      ["connector_status = 'paused'", "connector_status = 'active'"],
      ["connector_status = 'error'", "connector_status = 'active'"],
    ] as const) {
      await set(away)
      expect(await isFound(), away).toBe(false)
      await set(back)
    }
    await one.work()
    expect(await isFound()).toBe(false)
    await set('is_planned = 0')
    expect(await isFound()).toBe(true)
    await one.work()
    expect(await isFound()).toBe(false)
    await startBackfill(one.connector)
    await env.EVENTS_0.prepare('update storage_mirrors set due = 0 where connector = ?').bind(one.connector).run()
    expect(await isFound()).toBe(true)
    await one.work()
    expect(await isFound()).toBe(false)
    expect(JSON.parse((await stateOf(one.connector)).backfill!)).toMatchObject({ status: 'completed', total: 0, copied: 0 })
  })

  it('writes a manifest of what is in none yet when the daily review wants one, and at the end of a backfill', async () => {
    const one = await mirrored()
    const manifests = () =>
      [...one.shelf.objects.keys()].filter((path) => path.endsWith('.jsonl')).map((path) => path.replace(one.connector_id, 'stc'))
    const copied = async (count: number) => {
      await one.come(count)
      await one.mark()
      await one.work()
    }
    const review = (day: string) => reviewConnectors(systemOf(env, new Date(`${day}T10:00:00Z`), 'test'))
    await copied(2)
    await copied(1)
    // The first one of a day does not leave out what comes after it: none is written before the review.
    expect(manifests()).toEqual([])
    sent.length = 0
    await review('2026-05-20')
    expect(sent).toContainEqual({ shard: 0, connector: one.connector })
    // Its message is lost. The sweep finds what it wanted, and so does the next work.
    expect(await isSwept(one.connector)).toBe(true)
    await copied(2)
    expect(manifests()).toEqual(['manifests/stc/2026-05-20/manifest.jsonl'])
    expect(one.shelf.lines()).toHaveLength(3)
    await startBackfill(one.connector)
    await one.work()
    expect(manifests()).toEqual(['manifests/stc/2026-05-20/manifest.jsonl', 'manifests/stc/2026-05-20/manifest-2.jsonl'])
    expect(one.shelf.lines()).toHaveLength(3 + 2 + 5)
    // Nothing is left, and nothing is wanted, also by a review that was late.
    expect(await isSwept(one.connector)).toBe(false)
    await commit(env.EVENTS_0, [orderManifest(one, '2026-05-20')])
    expect(await isSwept(one.connector)).toBe(false)
    sent.length = 0
    await review('2026-05-20')
    await one.work()
    expect((sent as { connector: number }[]).filter(({ connector }) => connector === one.connector)).toEqual([])
    expect(manifests()).toHaveLength(2)
    expect(new Set(one.shelf.lines().map(({ path }) => path)).size).toBe(5)
  })

  it('writes the manifest of the day that the cron has, and overwrites none when a backfill ends on an earlier day', async () => {
    const one = await mirrored()
    const manifests = () =>
      [...one.shelf.objects].flatMap(([path, { bytes }]) =>
        path.endsWith('.jsonl') ? [`${path.split('/').slice(2).join('/')} ${new TextDecoder().decode(bytes).split('\n').length - 2}`] : [],
      )
    await one.come(2)
    await startBackfill(one.connector)
    await one.work()
    await one.come(1)
    await one.mark()
    await one.work()
    await reviewConnectors(systemOf(env, new Date('2026-05-23T10:00:00Z'), 'test'))
    await one.work()
    await startBackfill(one.connector)
    await one.work()
    expect(manifests()).toEqual(['2026-05-20/manifest.jsonl 2', '2026-05-23/manifest.jsonl 1', '2026-05-23/manifest-2.jsonl 3'])
  })

  it('writes the manifest that is due before it copies, again after the destination refused it', async () => {
    const one = await mirrored()
    await one.come(2)
    await one.mark()
    await one.work()
    await reviewConnectors(system())
    one.shelf.before = (path) => {
      if (path.startsWith('manifests/')) throw new DestinationError('unavailable', 'Not now.')
    }
    await one.come(1)
    await one.mark()
    await one.work()
    expect([one.shelf.documents().length, (await stateOf(one.connector)).failures]).toEqual([2, 1])
    one.shelf.before = () => {}
    await env.EVENTS_0.prepare('update storage_connectors set retry_at = 0').run()
    await one.work()
    expect([one.shelf.documents().length, one.shelf.lines().length]).toEqual([3, 2])
  })

  it('shares its place with others, also of another organization, and each has manifests of its own', async () => {
    const shelf = new Shelf()
    const [one, other] = [await mirrored(), await mirrored()]
    const more = await connectorOf({ organization_id: one.of.id })
    destinationsAre(() => shelf)
    const all = [one.connector, more.connector, other.connector]
    const work = async () => {
      for (const connector of all) await workOnConnector(system(), { shard: 0, connector })
    }
    await work()
    await one.come(2)
    await other.come(3)
    for (const connector of all) await startBackfill(connector)
    await work()
    const listed = (connector_id: string) => shelf.lines(`manifests/${connector_id}/`).map(({ path }) => path)
    expect([one, more, other].map(({ connector_id }) => listed(connector_id).length)).toEqual([2, 2, 3])
    expect(listed(one.connector_id)).toEqual(listed(more.connector_id))
    expect([...listed(one.connector_id), ...listed(other.connector_id)].sort()).toEqual(shelf.documents())
  })

  it('numbers the manifests of each place by themselves, and lists in them only what was copied there', async () => {
    const one = await mirrored()
    const set = (config: object) => one.of.ask('PATCH', `/v1/storage-connectors/${one.connector_id}`, { config })
    const backfilled = async () => {
      await startBackfill(one.connector)
      await one.work()
    }
    const listed = (path: string) => {
      const bytes = one.shelf.objects.get(path)?.bytes
      return bytes ? new TextDecoder().decode(bytes).trimEnd().split('\n').length - 1 : null
    }
    await set({ bucket: 'fiscal-archive', prefix: 'uno' })
    await one.come(2)
    await backfilled()
    await one.come(1)
    await one.mark()
    await one.work()
    const parts = async () => (await env.FILES.list({ prefix: `storage/${one.connector_id}/` })).objects.length
    expect([listed(`uno/manifests/${one.connector_id}/2026-05-20/manifest.jsonl`), await parts()]).toEqual([2, 1])
    // Another region, or another template, is the same place.
    await set({ region: 'eu-west-1', path_template: '{rfc}/{uuid}.xml' })
    expect(await parts()).toBe(1)
    expect((await set({ prefix: 'dos' })).status).toBe(200)
    // What was copied since is listed before the place is left.
    expect([listed(`uno/manifests/${one.connector_id}/2026-05-20/manifest-2.jsonl`), await parts()]).toEqual([1, 0])
    await backfilled()
    expect(listed(`dos/manifests/${one.connector_id}/2026-05-20/manifest.jsonl`)).toBe(3)
    await set({ prefix: 'uno' })
    await backfilled()
    expect(listed(`uno/manifests/${one.connector_id}/2026-05-20/manifest-3.jsonl`)).toBe(3)
    expect(listed(`uno/manifests/${one.connector_id}/2026-05-20/manifest.jsonl`)).toBe(2)
    await set({ prefix: 'dos' })
    at('2026-05-21T10:00:00Z')
    await backfilled()
    const at21 = [...one.shelf.objects.keys()].filter((path) => path.includes('/2026-05-21/'))
    expect(at21).toEqual([`dos/manifests/${one.connector_id}/2026-05-21/manifest.jsonl`])
    expect(await parts()).toBe(0)
  })
})
