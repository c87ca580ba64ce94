import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { cancelInSandbox } from '../../src/authority/sandbox/overrides.ts'
import { stampedAt } from '../../src/authority/sandbox/world/invoices.ts'
import { documentsOf } from '../../src/authority/sandbox/world/month.ts'
import { cancellationContents } from '../../src/delivery/relay/payloads.ts'
import type { CancellationBody } from '../../src/downloads/cancellation-events.ts'
import { countJobs } from '../../src/downloads/counts/counts.ts'
import { connect } from '../../src/platform/db/commit.ts'
import { EVERYTHING } from '../../src/taxpayers/visibility/window.ts'
import { beforeBatch, drainNow, watchAuthority } from '../authority/support/authority.ts'
import { monthsOf, numbered, type Row } from '../cfdi/support/ledger.ts'
import { connected, factsOf, fetching, jobsOf, type Kept, runNow } from '../platform/outbox/support/outbox-events.ts'
import { at, restore } from '../support/clock.ts'
import { silenceQueues } from '../support/queues.ts'

const NOTIFIED = { cancelled_at: new Date('2026-03-20T19:30:00Z'), cancellation_reason: '02' }
const BOTH = ['sat_cfdi_issued', 'sat_cfdi_received']

beforeEach(() => {
  at('2026-03-20T18:00:00Z')
  silenceQueues()
})

afterEach(restore)

const wait = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000)

/** Everything that is kept of the RFC and that a cancellation changes. */
async function bookOf(entity: number) {
  const read = async <T extends object>(query: string) => (await env.LEDGER_0.prepare(query).bind(entity).all<T>()).results.map(numbered)
  const rows = await read<Row>('select * from cfdi where entity = ? order by uuid')
  const payments = await read<{ invoice: string; source: string; kind: string; amount: number }>(
    'select * from cfdi_payments where entity = ?',
  )
  const months = await read<object>('select * from cfdi_months where entity = ? order by month, direction')
  return { rows: new Map(rows.map((row) => [row.uuid, row])), payments, months, facts: await factsOf(entity, 'cfdi.') }
}

/** The cancellations that are kept for those who are not active, by UUID. */
const keptOf = async (entity: number): Promise<unknown[]> =>
  (
    await env.LEDGER_0.prepare('select body from cancellations where entity = ? order by uuid').bind(entity).all<{ body: string }>()
  ).results.map(({ body }) => JSON.parse(body))

type Book = Awaited<ReturnType<typeof bookOf>>

async function synced(scope_months = 2) {
  const of = await fetching(BOTH, scope_months)
  const link = await connected(of)
  await drainNow(link.entity)
  // Past the test helper, which cancels nothing that nobody has seen yet.
  const cancel = async (uuids: readonly string[]) => {
    for (const uuid of uuids) await cancelInSandbox(connect(env.DB), link.rfc, uuid, NOTIFIED)
  }
  /** The next run, two hours later: what was told by then is reported. */
  const again = async () => {
    wait(7_200)
    await runNow(of)
    await drainNow(link.entity)
  }
  return { of, ...link, cancel, again, book: () => bookOf(link.entity) }
}

/** Rows whose status turned between two looks at a book. */
const turned = (before: Book, after: Book): Row[] =>
  [...before.rows.values()].filter(({ uuid, estatus }) => estatus === 'vigente' && after.rows.get(uuid)!.estatus === 'cancelado')

const hasPayments = ({ payments, rows }: Book, { uuid, tipo_comprobante, metodo_pago }: Row): boolean =>
  (tipo_comprobante === 'I' && metodo_pago === 'PUE') ||
  payments.some(({ invoice, source, kind }) => invoice === uuid && kind === 'P' && rows.get(source)!.estatus === 'vigente')

/** What whoever sees everything is reported of these cancellations, as `kind uuid severity status`, in March of 2026. */
const expectedOf = (before: Book, after: Book, thisMonth = '2026-03'): string[] =>
  turned(before, after)
    .flatMap((row) => {
      const isIncome = row.direction === 0 && row.tipo_comprobante === 'I' && row.fecha.slice(0, 7) < thisMonth
      const isCritical = isIncome || hasPayments(before, row)
      const says = `${row.uuid} ${isCritical ? 'critical' : 'warning'} ${row.payment_status ?? 'not_applicable'}`
      return [`cfdi.cancelled ${says}`, ...(isCritical ? [`cfdi.cancelled_after_payment ${says}`] : [])]
    })
    .sort()

/** The facts of these cancellations, without what was applied to the CFDIs. */
const membersOf = (before: Book, after: Book, entity: number) =>
  turned(before, after)
    .map(({ uuid, payment_status: _, ...row }) => {
      const { cancelled_at, cancellation_reason } = after.rows.get(uuid)!
      const body = {
        ...{ cfdi_uuid: uuid, cancelled_at, cancellation_reason, direction: row.direction === 0 ? 'issued' : 'received' },
        ...{ cfdi_type: row.tipo_comprobante, total: row.total, currency: row.currency },
        ...{ emisor_rfc: row.emisor_rfc, receptor_rfc: row.receptor_rfc },
        ...{ issued_at: row.issued_at, utc_offset: row.utc_offset, fecha: row.fecha },
      }
      return { outbox_event_id: `cfdi.cancelled:${entity}:${uuid}`, kind: 'cfdi.cancelled', entity, organizations: null, body }
    })
    .sort((a, b) => (a.outbox_event_id < b.outbox_event_id ? -1 : 1))

/** What these facts tell whoever sees everything. */
const notifiedBy = (facts: readonly Kept[]): string[] =>
  facts
    .flatMap(({ body }) => {
      const recipient = { fiscal_entity_uuid: '', rfc: '', windows: EVERYTHING, known_at: body['detected_at'] }
      return cancellationContents(body as CancellationBody, recipient).map((content) =>
        'severity' in content ? `${content.event} ${content.cfdi_uuid} ${content.severity} ${content.payment_status}` : '',
      )
    })
    .sort()

/** The facts are these cancellations', each once, and tell what they should. */
function expectNotified(facts: readonly Kept[], before: Book, after: Book, entity: number, thisMonth?: string): void {
  expect(facts).toMatchObject(membersOf(before, after, entity))
  expect(notifiedBy(facts)).toEqual(expectedOf(before, after, thisMonth))
}

/** Months and balances, added up again from what is kept. */
function isConsistent({ rows, payments, months }: Book): void {
  const keyOf = (row: object) => JSON.stringify(row)
  const sorted = monthsOf([...rows.values()])
    .map(keyOf)
    .sort()
  expect(months.map(keyOf).sort()).toEqual(sorted)
  for (const row of rows.values()) {
    if (row.tipo_comprobante !== 'I' || row.metodo_pago !== 'PPD') continue
    const valid = payments.filter(
      ({ invoice, source, kind }) => invoice === row.uuid && kind === 'P' && rows.get(source)!.estatus === 'vigente',
    )
    expect(row.paid).toBe(valid.reduce((sum, { amount }) => sum + amount, 0))
    const covered = row.paid + row.credited
    expect(row.payment_status).toBe(covered >= row.total_micros! ? 'paid' : covered > 0 ? 'partially_paid' : 'unpaid')
  }
}

/** One of each kind that the rules tell apart. */
function choose(book: Book): Record<string, Row> {
  const valid = [...book.rows.values()].filter(({ estatus }) => estatus === 'vigente')
  const paidBy = new Set(book.payments.map(({ source }) => source))
  const find = (direction: number, metodo: string, month: string, isPaid: boolean) =>
    valid.find(
      (row) =>
        row.direction === direction &&
        row.tipo_comprobante === 'I' &&
        row.metodo_pago === metodo &&
        row.fecha.startsWith(month) &&
        hasPayments(book, row) === isPaid,
    )!
  return {
    atOnceThisMonth: find(0, 'PUE', '2026-03', true),
    deferredThisMonth: find(0, 'PPD', '2026-03', false),
    deferredLastMonth: find(0, 'PPD', '2026-02', false),
    deferredPaid: find(1, 'PPD', '2026-02', true),
    boughtUnpaid: find(1, 'PPD', '2026-02', false),
    boughtAtOnce: find(1, 'PUE', '2026-02', true),
    credit: valid.find(({ tipo_comprobante, direction }) => tipo_comprobante === 'E' && direction === 0)!,
    payment: valid.find(({ uuid, tipo_comprobante, direction }) => tipo_comprobante === 'P' && direction === 0 && paidBy.has(uuid))!,
  }
}

describe('cfdi.cancelled', () => {
  it('is told once, with its severity and all members, and the book follows', async () => {
    const { entity, cancel, again, book } = await synced()
    const before = await book()
    // What is cancelled when it is first seen is no news.
    expect([...before.rows.values()].some(({ estatus }) => estatus === 'cancelado')).toBe(true)
    expect(before.facts).toEqual([])
    const chosen = choose(before)
    await cancel(Object.values(chosen).map(({ uuid }) => uuid))
    await again()
    const after = await book()
    expect(turned(before, after).map(({ uuid }) => uuid)).toEqual(expect.arrayContaining(Object.values(chosen).map(({ uuid }) => uuid)))
    expectNotified(after.facts, before, after, entity)
    const severity = (name: string) =>
      notifiedBy(after.facts).flatMap((line) => (line.includes(chosen[name]!.uuid) ? [line.replace(/ \S+ (\S+) \S+$/, ' $1')] : []))
    const critical = ['cfdi.cancelled critical', 'cfdi.cancelled_after_payment critical']
    expect(await keptOf(entity)).toEqual(after.facts.map(({ body }) => body))
    for (const name of ['atOnceThisMonth', 'deferredLastMonth', 'deferredPaid', 'boughtAtOnce'])
      expect([name, severity(name)]).toEqual([name, critical])
    for (const name of ['deferredThisMonth', 'boughtUnpaid', 'credit', 'payment'])
      expect([name, severity(name)]).toEqual([name, ['cfdi.cancelled warning']])
    for (const { body } of after.facts) {
      if (!Object.values(chosen).some(({ uuid }) => uuid === body['cfdi_uuid'])) continue
      expect(body).toMatchObject({ cancelled_at: '2026-03-20T13:30:00-06:00', cancellation_reason: '02' })
    }
    isConsistent(after)
    // What the cancelled complement had paid is open again.
    for (const { invoice, source } of before.payments) {
      if (source !== chosen['payment']!.uuid || !before.rows.has(invoice)) continue
      expect(after.rows.get(invoice)!.paid).toBeLessThan(before.rows.get(invoice)!.paid)
    }
    // Reported again, nothing happens.
    await again()
    const later = await book()
    const known = new Set(after.rows.keys())
    expect(
      later.facts.filter(({ body }) => known.has(body['cfdi_uuid']) && after.rows.get(body['cfdi_uuid'])!.estatus === 'cancelado'),
    ).toEqual(after.facts)
    for (const { uuid } of turned(before, after)) expect(later.rows.get(uuid)).toEqual(after.rows.get(uuid))
  })

  it('counts issued income as such once its month is over in Mexico City, not before', async () => {
    const { entity, cancel, again, book } = await synced(1)
    const start = await book()
    const [inMarch, inApril] = [...start.rows.values()].filter(
      (row) =>
        row.direction === 0 &&
        row.metodo_pago === 'PPD' &&
        row.estatus === 'vigente' &&
        row.fecha.startsWith('2026-03') &&
        !hasPayments(start, row),
    ) as [Row, Row]
    // The last hour of March there is April in Greenwich already.
    at('2026-04-01T03:30:00Z')
    let before = await book()
    await cancel([inMarch.uuid])
    await again()
    let after = await book()
    const severityOf = ({ uuid }: Row) => notifiedBy(after.facts).flatMap((line) => (line.includes(uuid) ? [line.split(' ')[2]] : []))
    expect(severityOf(inMarch)).toEqual(['warning'])
    expectNotified(after.facts, before, after, entity, '2026-03')
    before = after
    await cancel([inApril.uuid])
    await again()
    after = await book()
    expect(severityOf(inApril)).toEqual(['critical', 'critical'])
    const fresh = after.facts.filter(({ outbox_event_id }) => !before.facts.some((old) => old.outbox_event_id === outbox_event_id))
    expectNotified(fresh, before, after, entity, '2026-04')
  })

  it('is not told of what was cancelled before it was first seen', async () => {
    const { rfc, cancel, again, book } = await synced(1)
    const coming = documentsOf(rfc, 'issued', '2026-03').filter(
      (document) => document.fecha > '2026-03-21' && stampedAt(document) < '2026-03-31' && !document.cancellation,
    )
    await cancel(coming.map(({ uuid }) => uuid))
    at('2026-03-31T18:00:00Z')
    await again()
    const after = await book()
    expect(coming.length).toBeGreaterThan(0)
    for (const { uuid } of coming) expect(after.rows.get(uuid)).toMatchObject({ estatus: 'cancelado' })
    expect(after.facts.filter(({ body }) => coming.some(({ uuid }) => uuid === body['cfdi_uuid']))).toEqual([])
  })

  it('commits with row, totals and balances, or none of it', async () => {
    const { entity, cancel, again, book } = await synced(1)
    const before = await book()
    const { payment, deferredThisMonth } = choose(before)
    await cancel([payment!.uuid, deferredThisMonth!.uuid])
    // The first commit of a cancellation fails; each of its jobs alone is put back.
    beforeBatch('update "cfdi" set', 'spoil')
    await again()
    const failed = (await jobsOf(entity)).filter(({ error_class }) => error_class === 'internal_error')
    expect(failed).toHaveLength(1)
    const between = await book()
    const notified = new Set(between.facts.map(({ body }) => body['cfdi_uuid']))
    expect(
      turned(before, between)
        .map(({ uuid }) => uuid)
        .sort(),
    ).toEqual([...notified].sort())
    isConsistent(between)
    wait(5)
    await drainNow(entity)
    const after = await book()
    for (const { uuid } of [payment!, deferredThisMonth!]) expect(after.rows.get(uuid)!.estatus).toBe('cancelado')
    expectNotified(after.facts, before, after, entity)
    isConsistent(after)
  })

  it('found by two workers at once is one', async () => {
    const { of, entity, cancel, book } = await synced(1)
    const before = await book()
    const { deferredThisMonth, atOnceThisMonth } = choose(before)
    await cancel([deferredThisMonth!.uuid, atOnceThisMonth!.uuid])
    wait(7_200)
    let second: Promise<void> | undefined
    const met = Promise.withResolvers<void>()
    watchAuthority(async (_, source, month) => {
      if (source !== 'sat_cfdi_issued' || month !== '2026-03') return
      if (second) return met.resolve()
      wait(31)
      second = drainNow(entity)
      // Both have the same report in hand and go on together.
      await met.promise
    })
    await runNow(of)
    await drainNow(entity)
    await second
    const after = await book()
    expect(turned(before, after).length).toBeGreaterThanOrEqual(2)
    expectNotified(after.facts, before, after, entity)
    isConsistent(after)
    const jobs = (await jobsOf(entity)).map((job) => ({ ...job, entity, organization_id: of.id, windows: EVERYTHING }))
    const counts = await countJobs(env.LEDGER_0, jobs)
    expect(counts.reduce((sum, { cancelled_count }) => sum + cancelled_count, 0)).toBe(turned(before, after).length)
  })
})
