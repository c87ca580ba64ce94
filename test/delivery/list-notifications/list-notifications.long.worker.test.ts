import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EventPayload } from '../../../src/delivery/catalog/payload-contract.ts'
import { notifyListings } from '../../../src/delivery/list-notifications/notify.ts'
import { loadList } from '../../../src/lists/loading/load.ts'
import { plainOf, xmlOf } from '../../cfdi/support/documents.ts'
import { relayed } from '../../documents/mailbox/support/mailbox.ts'
import { cfdiOf, deliver, losingMessages, NOW, subscriber, work } from '../../downloads/support/downloads.ts'
import { type Listed, listOf, rfcOf } from '../../lists/support/list-csv.ts'
import { forgetLists, systemAt } from '../../lists/support/lists.ts'
import { basic } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'
import { send } from '../../support/wire.ts'
import { importXml } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
beforeEach(async () => {
  await forgetLists()
  losingMessages()
  at(NOW)
})
afterEach(() => void vi.useRealTimers())

type Changed = Extract<EventPayload, { event: 'blacklist.changed' }>
type Subscriber = Awaited<ReturnType<typeof subscriber>>

const downloaded = async (rfc: string, extractor: object) => {
  const of = await subscriber(rfc, extractor)
  await of.run()
  await work(rfc)
  return of
}
interface Row {
  uuid: string
  direction: string
  counterparty: { rfc: string; blacklist: { source: string; situacion: string | null } | null }
}
const rowsOf = async (of: Subscriber, query = ''): Promise<Row[]> => (await of.page(query)).body.data
const partyOf = async (of: Subscriber, direction: string): Promise<string> =>
  (await rowsOf(of, `&direction=${direction}&tipo_comprobante=I`))[0]!.counterparty.rfc

const IMPORTED = rfcOf(500)
const FILLER = Array.from({ length: 20 }, (_, n): Listed => ({ rfc: rfcOf(n), situacion: 'Presunto', presunto: '01/01/2019|02/01/2019' }))
const presumed = (rfc: string): Listed => ({ rfc, situacion: 'Presunto', presunto: '01/01/2026|02/01/2026' })
const definitive = (rfc: string): Listed => ({ ...presumed(rfc), situacion: 'Definitivo', definitivo: '01/05/2026|02/05/2026' })
const load = (rows: readonly Listed[], day: string) =>
  loadList(systemAt(), 'sat_69b', listOf([...FILLER, ...rows], `${day} de abril de 2026`), new Date())
const notify = () => deliver([{ task: 'notifyListings', at: Date.now(), cursor: '' }], 'tasks')
const notified = async (of: Subscriber): Promise<Changed[]> => {
  await relayed()
  return (await of.ask('GET', '/v1/blacklists/watch?limit=100')).body.data
}
const inBrief = (events: readonly Changed[]) =>
  events.map(({ counterparty_rfc, change, situacion_before, situacion }) => [counterparty_rfc, change, situacion_before, situacion])

describe('a new version of a list', () => {
  it('is told of the counterparties of whom it changes something, once, as an event and in the watch; its first load is not', async () => {
    const of = await downloaded(freshRfc(), cfdiOf(2))
    const [supplier, customer] = [await partyOf(of, 'received'), await partyOf(of, 'issued')]
    await load([presumed(supplier)], '1')
    await notify()
    expect(await notified(of)).toEqual([])
    await load([definitive(supplier), presumed(customer)], '2')
    await notify()
    const events = await notified(of)
    expect(inBrief(events).sort()).toEqual(
      [
        [supplier, 'situacion_changed', 'presunto', 'definitivo'],
        [customer, 'listed', null, 'presunto'],
      ].sort(),
    )
    const change = events.find(({ counterparty_rfc }) => counterparty_rfc === supplier)!
    expect(change).toMatchObject({ event: 'blacklist.changed', source: 'sat_69b', list_label: 'Art. 69-B (EFOS)', severity: 'critical' })
    expect((await of.ask('GET', `/v1/events/${change.event_id}`)).body).toEqual(change)
    const { fiscal_entity_id } = of
    expect(change.purchases_mxn).toMatch(/^[1-9]\d*\.\d\d$/)
    const { data: alerts } = (await of.ask('GET', '/v1/alerts?kind=counterparty.listed')).body
    expect(alerts).toHaveLength(2)
    for (const alert of alerts) expect(alert).toMatchObject({ severity: 'critical', fiscal_entity_id, rfc: change.rfc, currency: 'MXN' })
    expect(alerts.map(({ amount }: { amount: string }) => amount).sort()).toEqual(
      events.map(({ purchases_mxn, sales_mxn }) => (Number(purchases_mxn) + Number(sales_mxn)).toFixed(2)).sort(),
    )
    expect(inBrief((await of.ask('GET', '/v1/portfolio/listed')).body.data)).toEqual([[customer, 'listed', null, 'presunto']])
    // Everything again: the pass, the load, the relay.
    await env.DB.prepare('update blacklist_lists set notified_version = 1').run()
    await notify()
    await load([definitive(supplier), presumed(customer)], '2')
    await notify()
    expect(await notified(of)).toHaveLength(2)
    await load([definitive(supplier)], '3')
    await notify()
    expect(inBrief(await notified(of)).slice(2)).toEqual([[customer, 'removed', 'presunto', null]])
    const { body } = await of.ask('GET', '/v1/blacklists/watch?limit=2')
    const next = await of.ask('GET', `/v1/blacklists/watch?cursor=${encodeURIComponent(body.next_cursor)}`)
    expect(inBrief(next.body.data)).toEqual([[customer, 'removed', 'presunto', null]])
    expect([body.has_more, next.body.has_more, next.body.next_cursor]).toEqual([true, false, null])
    // Who follows asks the feed, whose last page has a cursor, or asks again since some instant.
    const feed = (cursor = '') => of.ask('GET', `/v1/events?event_key=blacklist.changed${cursor}`)
    const { next_cursor } = (await feed()).body
    const now = new Date(Date.now() + 1_000).toISOString()
    expect((await of.ask('GET', `/v1/blacklists/watch?since=${now}`)).body).toEqual({ data: [], has_more: false, next_cursor: null })
    await load([presumed(supplier)], '4')
    await notify()
    const told = [[supplier, 'situacion_changed', 'definitivo', 'presunto']]
    expect(inBrief(await notified(of)).slice(3)).toEqual(told)
    expect(inBrief((await feed(`&cursor=${encodeURIComponent(next_cursor)}`)).body.data)).toEqual(told)
  })

  it('is told to those whose windows show a document of the counterparty, and to nobody else', async () => {
    const rfc = freshRfc()
    const wide = await downloaded(rfc, cfdiOf(2))
    const issuedOnly = await downloaded(rfc, cfdiOf(2, { data_source_keys: ['sat_cfdi_issued'] }))
    const blind = await subscriber(rfc, cfdiOf(2))
    const [supplier, customer] = [await partyOf(wide, 'received'), await partyOf(wide, 'issued')]
    await load([], '1')
    await notify()
    await load([presumed(supplier), presumed(customer)], '2')
    await notify()
    expect((await notified(wide)).map((one) => one.counterparty_rfc).sort()).toEqual([supplier, customer].sort())
    expect((await notified(issuedOnly)).map((one) => one.counterparty_rfc)).toEqual([customer])
    expect(await notified(blind)).toEqual([])
  })

  it('of an organization’s own list is told to it alone', async () => {
    const rfc = freshRfc()
    const [ours, theirs] = [await downloaded(rfc, cfdiOf(2)), await downloaded(rfc, cfdiOf(2))]
    const supplier = await partyOf(ours, 'received')
    await ours.ask('POST', '/v1/blacklists/custom', { slug: 'vetados', label: 'Vetados' })
    const body = new TextEncoder().encode(`rfc,name\n${supplier},Vetado\n`)
    await send('PUT', '/v1/blacklists/custom/vetados', { authorization: basic(ours.owner), headers: { 'content-type': 'text/csv' }, body })
    const listed = async (of: Subscriber) => (await rowsOf(of, `&counterparty_rfc=${supplier}`))[0]!.counterparty.blacklist
    expect([await listed(ours), await listed(theirs)]).toEqual([{ source: 'custom:vetados', situacion: null }, null])
    await notify()
    expect(await notified(ours)).toMatchObject([
      { source: 'custom:vetados', list_label: 'Vetados', counterparty_rfc: supplier, severity: 'medium' },
    ])
    expect(await notified(theirs)).toEqual([])
  })

  it('is told whole by a pass that died anywhere, and by two at once', async () => {
    const of = await downloaded(freshRfc(), cfdiOf(2))
    const supplier = await partyOf(of, 'received')
    await load([], '1')
    await notify()
    await load([presumed(supplier)], '2')
    for (let step = 1; ; step++) {
      let calls = 0
      const dying = new Proxy(env.DB, {
        get: (target, key) => {
          const method = target[key as keyof D1Database] as (...args: unknown[]) => unknown
          if (key !== 'batch' && key !== 'prepare') return method
          return (...args: unknown[]) => {
            if (++calls === step) throw new Error('Died.')
            return method.apply(target, args)
          }
        },
      })
      const isDone = await notifyListings(systemAt(NOW, { DB: dying }), '').then(
        () => true,
        () => false,
      )
      if (isDone) break
    }
    await Promise.all([notify(), notify()])
    expect(inBrief(await notified(of))).toEqual([[supplier, 'listed', null, 'presunto']])
  })
})

describe('counterparty.blacklist', () => {
  it('is the severest list of the counterparty in pages and details, filters them, and follows the lists', async () => {
    const of = await downloaded(freshRfc(), cfdiOf(2))
    const [supplier, customer] = [await partyOf(of, 'received'), await partyOf(of, 'issued')]
    expect((await rowsOf(of)).every(({ counterparty }) => counterparty.blacklist === null)).toBe(true)
    await load([definitive(supplier), presumed(customer)], '1')
    await notify()
    const all = await rowsOf(of)
    const expected = (rfc: string) =>
      rfc === supplier
        ? { source: 'sat_69b', situacion: 'definitivo' }
        : rfc === customer
          ? { source: 'sat_69b', situacion: 'presunto' }
          : null
    for (const { counterparty } of all) expect(counterparty.blacklist).toEqual(expected(counterparty.rfc))
    const of69b = all.filter(({ counterparty }) => counterparty.blacklist !== null).map(({ uuid }) => uuid)
    // Documents beyond the page of all are found too.
    const found = async (query: string) => (await rowsOf(of, query)).map(({ uuid }) => uuid)
    const among = async (query: string, fits: (row: Row) => boolean) => {
      const wanted = all.filter(fits).map(({ uuid }) => uuid)
      expect((await found(query)).slice(0, wanted.length)).toEqual(wanted)
      expect((await rowsOf(of, query)).every(fits)).toBe(true)
    }
    expect(of69b.length).toBeGreaterThan(1)
    await among('&blacklist=sat_69b', ({ counterparty }) => counterparty.blacklist !== null)
    await among(
      '&blacklist=definitivo,presunto&direction=issued',
      ({ direction, counterparty }) => direction === 'issued' && counterparty.blacklist !== null,
    )
    await among('&blacklist=definitivo', ({ counterparty }) => counterparty.rfc === supplier)
    expect([await found('&blacklist=desvirtuado'), await found('&blacklist=sat_69_firmes')]).toEqual([[], []])
    for (const unknown of ['nada', 'custom:nada']) expect((await of.page(`&blacklist=${unknown}`)).status).toBe(422)
    const detail = await of.ask('GET', `/v1/cfdi/${of69b[0]}?fiscal_entity_id=${of.fiscal_entity_id}`)
    expect(detail.body.counterparty).toEqual(all.find(({ uuid }) => uuid === of69b[0])!.counterparty)
    // Those whom the list names as cleared are on it no more.
    await load([{ ...presumed(supplier), situacion: 'Desvirtuado', desvirtuado: '01/06/2026|02/06/2026' }, presumed(customer)], '2')
    await notify()
    await among('&blacklist=sat_69b', ({ counterparty }) => counterparty.rfc === customer)
    await among('&blacklist=desvirtuado', ({ counterparty }) => counterparty.rfc === supplier)
    await among('&blacklist=sat_69b,desvirtuado', ({ counterparty }) => counterparty.blacklist !== null)
    await load([], '3')
    await notify()
    expect((await rowsOf(of)).every(({ counterparty }) => counterparty.blacklist === null)).toBe(true)
  })

  it('is kept when downloads and imports bring counterparties, so that a page takes two calls', async () => {
    const rfc = freshRfc()
    const of = await subscriber(rfc, cfdiOf(2))
    await load([], '1')
    await of.run()
    await work(rfc)
    const calls = async () => (await costOf(env.LEDGER_0, env.FILES, () => of.page())).cost.d1_calls
    const listed = async () =>
      (await env.DB.prepare('select listed from connections where organization_id = ?').bind(of.id).first())!['listed']
    expect([await listed(), await calls()]).toEqual(['{}', 2])
    await load([presumed(IMPORTED)], '2')
    await notify()
    const xml = xmlOf(plainOf(randomOf(16), '2026-04', { emisor: rfc, receptor: IMPORTED }))
    const { import_id } = (await importXml(of.owner, of.fiscal_entity_id, xml)).body as { import_id: string }
    await deliver([{ shard: 0, import_id }], 'imports')
    expect([await listed(), await calls()]).toEqual([JSON.stringify({ 'sat_69b|presunto': [IMPORTED] }), 2])
    expect(await rowsOf(of, '&blacklist=presunto')).toMatchObject([
      { counterparty: { rfc: IMPORTED, blacklist: { situacion: 'presunto' } } },
    ])
    // A connection of which nothing is known finds it out once.
    await env.DB.prepare('update connections set listed = null where organization_id = ?').bind(of.id).run()
    expect([await calls(), await calls()]).toEqual([5, 2])
    expect(await listed()).toEqual(JSON.stringify({ 'sat_69b|presunto': [IMPORTED] }))
  })
})
