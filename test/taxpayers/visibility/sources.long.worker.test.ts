import { applyD1Migrations, env } from 'cloudflare:test'
import fc from 'fast-check'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { getCfdi, getXml, listPayments } from '../../../src/cfdi/detail/detail.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import type { CfdiMonth } from '../../../src/cfdi/summary/contract.ts'
import { MonthlySummaryQuery } from '../../../src/cfdi/summary/contract.ts'
import { summarizeMonths } from '../../../src/cfdi/summary/summary.ts'
import { sumSuppliers } from '../../../src/cfdi/suppliers/suppliers.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { type Ctx, systemOf } from '../../../src/platform/context.ts'
import { openLedger } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import {
  documents,
  insertApplications,
  insertCfdi,
  insertMonths,
  insertSuppliers,
  invoices,
  isSubstitutedFor,
  monthsOf,
  suppliersOf,
} from '../../cfdi/support/ledger.ts'
import { created } from '../../connections/extractors/support/extractors.ts'
import { callOf, cfdiOf, later, losingMessages, subscriber, work } from '../../downloads/support/downloads.ts'
import { contextOf, FISCAL_ENTITY, type GrantedRange, reaching } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { freshRfc } from '../../support/tenants.ts'

const ISSUED = { data_source_keys: ['sat_cfdi_issued'] }

/** What would be read without it: 198 received CFDIs and a supplier report that only a stranger had downloaded. */
describe('an organization that only ever fetched issued CFDIs', () => {
  beforeEach(() => {
    later(0)
    losingMessages()
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  /** A stranger who has three months of both sources, and the organization, which has two months of issued ones. */
  async function both() {
    const rfc = freshRfc()
    const [stranger, own] = [await subscriber(rfc, cfdiOf(3)), await subscriber(rfc, cfdiOf(2, ISSUED))]
    await stranger.run()
    await work(rfc)
    later(60)
    await own.run()
    await work(rfc)
    const all = async (who: typeof own, query = ''): Promise<Cfdi[]> => {
      const found: Cfdi[] = []
      for (let cursor = ''; ; ) {
        const { body } = await who.page(`${query}${cursor}`)
        found.push(...body.data)
        if (!body.has_more) return found
        cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
      }
    }
    const stored = await all(stranger)
    const received = stored.filter(({ direction }) => direction === 'received')
    expect(received.length).toBeGreaterThan(50)
    return { rfc, stranger, own, all, stored, received }
  }

  it('reads no received one and no supplier that a stranger downloaded, wherever it looks', async () => {
    const { stranger, own, all, stored, received } = await both()
    const seen = await all(own)
    expect(seen.map(({ uuid }) => uuid)).toEqual(
      stored.filter(({ direction, fecha }) => direction === 'issued' && fecha >= '2026-03-21').map(({ uuid }) => uuid),
    )
    for (const query of [
      'direction=received',
      `emisor_rfc=${received[0]!.emisor_rfc}`,
      `uuid=${received.slice(0, 100).map(({ uuid }) => uuid)}`,
    ])
      expect([query, await all(own, `&${query}`)]).toEqual([query, []])
    for (const { uuid } of received.slice(0, 3))
      for (const path of ['', '/xml', '/payments']) {
        const { status, body } = await own.ask('GET', `/v1/cfdi/${uuid}${path}?fiscal_entity_id=${own.fiscal_entity_id}`)
        expect([path, status, body.code]).toEqual([path, 404, 'cfdi.not_found'])
      }

    const query = (who: typeof own) => `fiscal_entity_id=${who.fiscal_entity_id}`
    const months = (await own.ask('GET', `/v1/cfdi/summary/monthly?${query(own)}`)).body
    expect([...new Set(months.data.map(({ direction }: CfdiMonth) => direction))]).toEqual(['issued'])
    const reportOf = async (who: typeof own) => (await who.ask('GET', `/v1/cfdi/repse-suppliers?${query(who)}`)).body
    expect((await reportOf(stranger)).supplier_count).toBeGreaterThan(3)
    const nothing = { supplier_count: 0, monto_total: '0.00', suppliers: [], data_quality: { cfdi_total: 0 } }
    expect(await reportOf(own)).toMatchObject(nothing)

    const reached = { visible_from: '2026-03-21', visible_to: '2026-05-20T09:01:00.000Z' }
    const windows = { sat_cfdi_issued: reached, sat_cfdi_received: { visible_from: null, visible_to: null } }
    expect(await own.entity()).toMatchObject({ ...reached, windows, window_state: 'bounded' })
    for (const answer of [months, await reportOf(own)]) expect(answer).toMatchObject({ windows, window_state: 'bounded' })
    expect((await own.ask('GET', '/v1/fiscal-entities')).body.data).toEqual([await own.entity()])
  })

  it('is told of the cancellation of an issued one, and not of a received one', async () => {
    const { rfc, stranger, own, stored } = await both()
    const recent = stored.filter(
      ({ estatus, fecha, tipo_comprobante }) => estatus === 'vigente' && fecha >= '2026-03-21' && tipo_comprobante === 'I',
    )
    const chosen = (['issued', 'received'] as const).map((direction) => recent.find((one) => one.direction === direction)!)
    for (const { uuid } of chosen)
      await stranger.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id: stranger.fiscal_entity_id })
    later(700)
    await stranger.run()
    await work(rfc)
    await relayOutbox(systemOf(env, new Date(), 'req_test'), (await callOf(rfc)).shard)
    const notified = async (who: typeof own) => {
      const { body } = await who.ask('GET', '/v1/events?limit=100&event_key=cfdi.cancelled')
      return new Set((body.data as { cfdi_uuid: string }[]).map(({ cfdi_uuid }) => cfdi_uuid))
    }
    const [issued, received] = chosen.map(({ uuid }) => uuid)
    const [ofStranger, ofOwn] = [await notified(stranger), await notified(own)]
    expect([ofStranger.has(issued!), ofStranger.has(received!)]).toEqual([true, true])
    expect([ofOwn.has(issued!), ofOwn.has(received!)]).toEqual([true, false])
    const directionOf = new Map(stored.map(({ uuid, direction }) => [uuid, direction]))
    for (const uuid of ofOwn) expect(directionOf.get(uuid)).toBe('issued')
  })

  it('reads as many of them as its own runs reach, once they fetch them', async () => {
    const { rfc, own, all, received, stored } = await both()
    const { extractor_id } = await created(own, {
      ...cfdiOf(1, { data_source_keys: ['sat_cfdi_received'] }),
      trigger_kind: 'connection_reactivated',
    })
    later(120)
    await own.run(extractor_id)
    await work(rfc)
    const seen = await all(own)
    const expected = stored.filter(({ direction, fecha }) => fecha >= (direction === 'issued' ? '2026-03-21' : '2026-04-20'))
    expect(seen.map(({ uuid }) => uuid)).toEqual(expected.map(({ uuid }) => uuid))
    expect(seen.filter(({ direction }) => direction === 'received').length).toBeGreaterThan(0)
    expect(seen.filter(({ direction }) => direction === 'received').length).toBeLessThan(received.length)
    expect(await own.entity()).toMatchObject({
      ...{ visible_from: '2026-03-21', visible_to: '2026-05-20T09:02:00.000Z', window_state: 'bounded' },
      windows: {
        sat_cfdi_issued: { visible_from: '2026-03-21', visible_to: '2026-05-20T09:01:00.000Z' },
        sat_cfdi_received: { visible_from: '2026-04-20', visible_to: '2026-05-20T09:02:00.000Z' },
      },
    })
  })

  it('reads no instant from before its own history', async () => {
    const rfc = freshRfc()
    const stranger = await subscriber(rfc, cfdiOf(3))
    await stranger.run()
    await work(rfc)
    later(3_600)
    const own = await subscriber(rfc, cfdiOf(2, ISSUED))
    await own.run()
    await work(rfc)
    const { data } = (await own.page()).body as { data: Cfdi[] }
    expect(data.length).toBeGreaterThan(10)
    expect(new Set(data.map(({ updated_at }) => updated_at))).toEqual(new Set(['2026-05-20T10:00:00.000Z']))
    const earlier = (await stranger.page()).body.data as Cfdi[]
    expect(new Set(earlier.map(({ updated_at }) => updated_at))).toEqual(new Set(['2026-05-20T09:00:00.000Z']))
    expect(JSON.stringify([data, earlier, await own.entity()])).not.toContain('first_seen')
  })

  it('is `empty` before any CFDI is reached, and `open` when nothing is hidden or nothing is configured', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, { ...cfdiOf(1), data_source_keys: ['sat_csf'] })
    await one.run()
    await work(rfc)
    expect(await one.entity()).toMatchObject({ visible_from: null, visible_to: null, window_state: 'empty' })
    await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope: 'full_history', data_source_keys: cfdiOf(1).data_source_keys })
    later(700)
    await one.run()
    expect(await one.entity()).toMatchObject({ visible_from: '2018-01-01', window_state: 'open' })
    const stranger = await subscriber(rfc, cfdiOf(1, { data_source_keys: ['sat_cfdi_received'] }))
    later(800)
    await stranger.run()
    // A later download of somebody else changes nothing.
    expect((await one.entity()).window_state).toBe('open')
    for (const { extractor_id } of (await stranger.ask('GET', '/v1/extractors')).body)
      await stranger.ask('DELETE', `/v1/extractors/${extractor_id}`)
    const reached = { visible_from: '2026-04-20', visible_to: '2026-05-20T09:13:20.000Z' }
    expect(await stranger.entity()).toMatchObject({ ...reached, windows: { sat_cfdi_received: reached }, window_state: 'open' })
  })
})

/** Said plainly: the day is not before the floor of the document's own source, and the instant not after its ceiling. */
const isShown = (windows: { issued: GrantedRange; received: GrantedRange }, { direction, fecha, issued_at }: Leased): boolean => {
  const grantedRange = direction === 0 ? windows.issued : windows.received
  return grantedRange !== null && fecha.slice(0, 10) >= grantedRange[0] && issued_at * 1_000 <= Number(grantedRange[1])
}

const ENTITY = 31
const BILLED = invoices(32, 120, '2025-12-20', 40, ENTITY)
const LEASED = [...documents(31, 250, '2025-12-20', 45, ENTITY), ...BILLED.rows]
type Leased = (typeof LEASED)[number]

/** What was paid and credited of an invoice up to the ceiling of its own source, in pesos. */
function appliedTo(
  windows: { issued: GrantedRange; received: GrantedRange },
  { uuid, direction }: Leased,
): [paid: string, credited: string] {
  const ceiling = Number((direction === 0 ? windows.issued : windows.received)![1])
  const sum = (kind: string) =>
    BILLED.applications
      .filter((one) => one.invoice === uuid && one.kind === kind && one.issued_at * 1_000 <= ceiling)
      .filter(({ source }) => BILLED.rows.find((row) => row.uuid === source)!.estatus === 'vigente')
      .reduce((total, { amount }) => total + amount / 1e6, 0)
      .toFixed(2)
  return [sum('P'), sum('E')]
}

describe('any two windows', () => {
  beforeAll(async () => {
    await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
    await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
    await insertCfdi(env.LEDGER_0, LEASED)
    await insertApplications(env.LEDGER_0, BILLED.applications)
    await insertMonths(env.LEDGER_0, monthsOf(LEASED))
    await insertSuppliers(env.LEDGER_0, suppliersOf(LEASED))
  })

  const first = Date.parse('2025-12-18T00:00:00Z')
  const hours = (most: number) => fc.integer({ min: 0, max: most * 24 })
  const grantedRange = fc.option(
    fc.tuple(
      hours(30).map((n) => new Date(first + n * 3_600_000).toISOString().slice(0, 10)),
      fc.oneof(
        hours(60).map((n) => first + n * 3_600_000),
        // At the instant of a document, and just before it.
        fc.tuple(fc.nat(LEASED.length - 1), fc.constantFrom(0, 999, -1)).map(([n, ms]) => LEASED[n]!.issued_at * 1_000 + ms),
      ),
    ),
    { nil: null, freq: 4 },
  )

  async function listed(ctx: Ctx, query: Record<string, string>): Promise<Cfdi[]> {
    const found: Cfdi[] = []
    for (let cursor: string | null = null; ; ) {
      const asked = CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: '100', ...query, ...(cursor !== null && { cursor }) })
      const page: Awaited<ReturnType<typeof searchCfdi>> = await searchCfdi(ctx, asked)
      found.push(...page.data)
      if (!page.has_more) return found
      cursor = page.next_cursor
    }
  }

  it('show in lists, details, balances, months and suppliers what each shows of its own source', async () => {
    await fc.assert(
      fc.asyncProperty(grantedRange, grantedRange, fc.nat(LEASED.length - 1), async (issued, received, at) => {
        const ctx = contextOf({ entity: ENTITY, ...reaching(issued, received) }, { extractor_count: 1 })
        const shown = LEASED.filter((row) => isShown({ issued, received }, row))
        const found = await listed(ctx, {})
        const newestFirst = [...shown].sort((a, b) => b.issued_at - a.issued_at || (a.uuid < b.uuid ? 1 : -1))
        expect(found.map(({ uuid }) => uuid)).toEqual(newestFirst.map(({ uuid }) => uuid))
        const billed = shown.filter((row) => row.metodo_pago === 'PPD' && BILLED.rows.includes(row))
        for (const row of billed) {
          const { paid_amount, credited_amount } = found.find(({ uuid }) => uuid === row.uuid)!
          expect([paid_amount, credited_amount]).toEqual(appliedTo({ issued, received }, row))
        }
        for (const row of billed.slice(0, 2)) {
          const { paid_amount, credited_amount } = await listPayments(ctx, row.uuid)
          expect([paid_amount, credited_amount]).toEqual(appliedTo({ issued, received }, row))
        }
        for (const query of [{ direction: 'issued' }, { direction: 'received' }, { tipo_comprobante: 'I,P', estatus: 'vigente' }]) {
          const expected = found.filter(
            (one) =>
              (query.direction === undefined || one.direction === query.direction) &&
              (query.tipo_comprobante === undefined || /^[IP]$/.test(one.tipo_comprobante!)) &&
              (query.estatus === undefined || one.estatus === query.estatus),
          )
          expect(await listed(ctx, query as Record<string, string>)).toEqual(expected)
        }
        for (const row of [LEASED[at]!, LEASED[(at * 7) % LEASED.length]!]) {
          const absent = shown.includes(row) ? undefined : 'cfdi.not_found'
          const codeOf = (asked: Promise<unknown>) =>
            asked.then(
              () => undefined,
              ({ code }: { code: string }) => code,
            )
          expect([await codeOf(getCfdi(ctx, row.uuid)), await codeOf(listPayments(ctx, row.uuid))]).toEqual([absent, absent])
          expect(
            await codeOf(getXml(ctx, row.uuid).catch((error) => (error.code === 'cfdi.not_found' ? Promise.reject(error) : null))),
          ).toBe(absent)
        }
        const isSubstituted = isSubstitutedFor(ctx)
        const counted = shown.filter((row) => row.emisor_rfc !== row.receptor_rfc && row.estatus === 'vigente' && !isSubstituted(row))
        expect(found.filter(({ is_substituted }) => is_substituted).map(({ uuid }) => uuid)).toEqual(
          newestFirst.filter(isSubstituted).map(({ uuid }) => uuid),
        )
        const { data } = await summarizeMonths(ctx, MonthlySummaryQuery.parse({ fiscal_entity_id: FISCAL_ENTITY }))
        for (const name of ['issued', 'received'] as const) {
          const of = counted.filter(({ direction }) => direction === (name === 'issued' ? 0 : 1))
          const rows = data.filter(({ direction }) => direction === name)
          expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(of.length)
          if ((name === 'issued' ? issued : received) === null) expect(rows).toEqual([])
        }
        const invoiced = counted.filter(({ direction, tipo_comprobante }) => direction === 1 && /^[IE]$/.test(tipo_comprobante!))
        const { suppliers } = await sumSuppliers(openLedger(ctx), { from: '2025-11', to: '2026-03' }, ctx.now.getTime())
        const sums = [...suppliers].map(([rfc, { invoices: i, credit_notes: e }]) => [rfc, i + e])
        expect(Object.fromEntries(sums)).toEqual(
          Object.fromEntries(
            Object.entries(Object.groupBy(invoiced, ({ emisor_rfc }) => emisor_rfc)).map(([rfc, of]) => [rfc, of!.length]),
          ),
        )
      }),
      { numRuns: runs(8, 400), examples: [[null, null, 0]] },
    )
  })
})
