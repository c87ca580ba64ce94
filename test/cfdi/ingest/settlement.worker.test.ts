import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { CfdiPayments } from '../../../src/cfdi/detail/contract.ts'
import { getCfdi, listPayments } from '../../../src/cfdi/detail/detail.ts'
import { type IngestTarget, ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import { MonthlySummaryQuery } from '../../../src/cfdi/summary/contract.ts'
import { summarizeMonths } from '../../../src/cfdi/summary/summary.ts'
import { sumSuppliers } from '../../../src/cfdi/suppliers/suppliers.ts'
import { openLedger } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { all, monthsOf, newBook, reported, rowsOf, suppliersOf } from '../support/book.ts'
import { creditOf, type Plain, packageOf, paymentOf, plainOf, RFC, substituteOf } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'

const random = randomOf(13)
const [CUSTOMER, OTHER] = ['BBB020202BB1', 'CCC030303CC2']

beforeAll(async () => {
  const { applyD1Migrations } = await import('cloudflare:test')
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
})

/** An invoice of 1,000 + 160 of VAT to the customer, to be paid later. */
const invoiceOf = (more: Partial<Plain> = {}): Plain =>
  plainOf(random, '2026-01', {
    ...{ tipo: 'I', metodo: 'PPD', emisor: RFC, receptor: CUSTOMER, fecha: '2026-01-10T10:00:00' },
    ...{ subtotal: '1000.00', iva: '160.00', total: '1160.00', lines: 1 },
    ...more,
  })

/** A payment of an amount, on the 20th. */
const paid = (invoice: Plain, pagado: string, more: Partial<Plain> = {}, moneda = invoice.moneda): Plain => ({
  ...paymentOf(random, '2026-01', [invoice]),
  fecha: '2026-01-20T12:00:00',
  pagos: [{ fecha: '2026-01-20T12:00:00', documentos: [{ uuid: invoice.uuid, pagado, moneda }] }],
  ...more,
})

/** A credit note of 116.00. */
const credited = (invoice: Plain, more: Partial<Plain> = {}): Plain =>
  creditOf(random, '2026-01', [invoice], { fecha: '2026-01-21T12:00:00', subtotal: '100.00', iva: '16.00', total: '116.00', ...more })

const bring = (target: IngestTarget, ...documents: Plain[]) => all(ingestZip(target, packageOf(documents)))
const cancel = (target: IngestTarget, ...documents: Plain[]) =>
  all(ingestMetadata(target, () => [documents.map((document) => reported(document, true))]))

/** What an organization reads of an entity: everything, or up to a ceiling. */
const readerOf = ({ entity }: IngestTarget, ceiling?: string) =>
  ceiling === undefined ? contextOf({ entity }) : contextOf({ entity, ...reaching(['2018-01-01', ceiling]) }, { extractor_count: 1 })

async function paymentsOf(target: IngestTarget, invoice: Plain, ceiling?: string) {
  const { data, ...found } = CfdiPayments.parse(await listPayments(readerOf(target, ceiling), invoice.uuid))
  return {
    ...found,
    data: data.map(({ source_uuid, amount, counts, not_counted_reason, warnings }) => [
      ...[source_uuid, amount, counts],
      ...[not_counted_reason, warnings.join()],
    ]),
  }
}

/** The sums of January: documents that count, total of I, net of I less E, and the states of the rest. */
async function january(target: IngestTarget, direction: 'issued' | 'received' = 'issued', ceiling?: string) {
  const query = { fiscal_entity_id: FISCAL_ENTITY, from: '2026-01', to: '2026-01', direction }
  const { data } = await summarizeMonths(readerOf(target, ceiling), MonthlySummaryQuery.parse(query))
  const { count, cancelled_count, substituted_count, total, net, ppd_total } = data[0]!
  return { count, cancelled_count, substituted_count, total, net, ppd_total }
}

const flagsOf = async (target: IngestTarget, { uuid }: Plain, ceiling?: string) => {
  const { is_substituted, substituted_not_cancelled } = await getCfdi(readerOf(target, ceiling), uuid)
  return [is_substituted, substituted_not_cancelled]
}
const NEWER = [false, true]
const OLDER = [true, true]
const NEITHER = [false, false]

/** Every table of two books says the same, whatever came first. */
async function expectSame(one: IngestTarget, other: IngestTarget): Promise<void> {
  const tablesOf = async (target: IngestTarget) => ({
    rows: [...(await rowsOf(target)).values()]
      .map(({ uuid, estatus, payment_status, paid, credited, ...row }) => {
        const { substituted_from, substitutes_from, applied_until } = row as unknown as Record<string, number | null>
        return { uuid, estatus, payment_status, paid, credited, substituted_from, substitutes_from, applied_until }
      })
      .sort((a, b) => (a.uuid < b.uuid ? -1 : 1)),
    months: await monthsOf(target),
    suppliers: await suppliersOf(target),
  })
  expect(await tablesOf(one)).toEqual(await tablesOf(other))
}

describe('the parties of a payment or credit note', () => {
  it('are the invoice’s: a payment by its issuer, with a warning for another receiver; a credit note by both', async () => {
    const target = newBook()
    const invoice = invoiceOf()
    const sources = [
      paid(invoice, '100.00'),
      // A third party paid: the issuer is the invoice's.
      paid(invoice, '200.00', { receptor: OTHER }),
      // Received from another, who is not the issuer.
      paid(invoice, '300.00', { emisor: OTHER, receptor: RFC }),
      // The customer is not the issuer either.
      paid(invoice, '400.00', { emisor: CUSTOMER, receptor: RFC }),
      credited(invoice),
      credited(invoice, { receptor: OTHER, total: '232.00', subtotal: '200.00', iva: '32.00' }),
      credited(invoice, { emisor: OTHER, receptor: RFC, relacion: { tipo: '03', uuids: [invoice.uuid] } }),
    ]
    await bring(target, invoice, ...sources)
    const found = await paymentsOf(target, invoice)
    // 100 + 200 are paid, 116 are credited: 1,160 - 300 - 116 = 744 are left.
    expect(found).toMatchObject({ paid_amount: '300.00', credited_amount: '116.00', balance: '744.00', payment_status: 'partially_paid' })
    const notified = new Map(found.data.map((one) => [one[0], one.slice(1)]))
    expect(sources.map(({ uuid }) => notified.get(uuid))).toEqual([
      ['100.00', true, null, ''],
      ['200.00', true, null, 'receiver_differs'],
      ['300.00', false, 'other_parties', ''],
      ['400.00', false, 'other_parties', ''],
      ['116.00', true, null, ''],
      ['232.00', false, 'other_parties', ''],
      ['116.00', false, 'other_parties', ''],
    ])
  })

  it('are compared when the invoice comes after them, as when it comes before or from metadata', async () => {
    const [before, after, completed] = [newBook(), newBook(), newBook()]
    const invoice = invoiceOf()
    const sources = [
      paid(invoice, '500.00', { receptor: OTHER }),
      paid(invoice, '600.00', { emisor: CUSTOMER, receptor: RFC }),
      credited(invoice, { receptor: OTHER }),
    ]
    await bring(before, invoice)
    await bring(before, ...sources)
    await bring(after, ...sources)
    await bring(after, invoice)
    await all(ingestMetadata(completed, () => [[reported(invoice, false)]]))
    await bring(completed, ...sources)
    await bring(completed, invoice)
    for (const target of [before, after, completed]) {
      const found = await paymentsOf(target, invoice)
      expect(found).toMatchObject({ paid_amount: '500.00', credited_amount: '0.00', balance: '660.00' })
      expect(found.data.map(([, , counts]) => counts).sort()).toEqual([false, false, true])
    }
    await expectSame(before, after)
    await expectSame(before, completed)
  })
})

describe('MonedaDR', () => {
  it('is the invoice’s currency: 1,160 MXN pay nothing of 1,160 USD', async () => {
    const target = newBook()
    const invoice = invoiceOf({ moneda: 'USD', tipo_cambio: '17.50' })
    const [pesos, dollars] = [paid(invoice, '1160.00', {}, 'MXN'), paid(invoice, '160.00')]
    await bring(target, pesos, invoice, dollars)
    const found = await paymentsOf(target, invoice)
    expect(found).toMatchObject({ paid_amount: '160.00', balance: '1000.00', payment_status: 'partially_paid' })
    expect(new Map(found.data.map(([uuid, ...one]) => [uuid, one]))).toEqual(
      new Map<unknown, unknown>([
        [pesos.uuid, ['1160.00', false, 'currency_mismatch', '']],
        [dollars.uuid, ['160.00', true, null, '']],
      ]),
    )
    const shown = await listPayments(readerOf(target), invoice.uuid)
    expect(shown.data.map(({ source_uuid, currency }) => [source_uuid === pesos.uuid, currency]).sort()).toEqual([
      [false, 'USD'],
      [true, 'MXN'],
    ])
  })

  it('of what does not count is not what the issuer reports of the balance', async () => {
    const target = newBook()
    const invoice = invoiceOf({ moneda: 'USD', tipo_cambio: '17.50' })
    await bring(target, invoice, paid(invoice, '1160.00', {}, 'MXN'))
    expect(await paymentsOf(target, invoice)).toMatchObject({ reported_balance: null, balance_mismatch: false })
  })
})

it('a remainder under half a cent is paid, and half a cent is owed', async () => {
  const target = newBook()
  const [paidUp, owed] = [invoiceOf(), invoiceOf()]
  // 1,160 - 1,159.995001 = 0.004999, and 1,160 - 1,159.995 = 0.005, which is 0.01.
  await bring(target, paidUp, owed, paid(paidUp, '1159.995001'), paid(owed, '1159.995'))
  expect(await paymentsOf(target, paidUp)).toMatchObject({ balance: '0.00', payment_status: 'paid' })
  expect(await paymentsOf(target, owed)).toMatchObject({ balance: '0.01', payment_status: 'partially_paid' })
})

describe('a substituted document (04) that is still vigente', () => {
  it('counts in no sum, in either order, and again when the newer one is cancelled', async () => {
    const [forwards, backwards] = [newBook(), newBook()]
    const older = invoiceOf()
    // The right invoice: 2,000 + 320.
    const newer = substituteOf(random, [older], { subtotal: '2000.00', iva: '320.00', total: '2320.00' })
    await bring(forwards, older)
    await bring(forwards, newer)
    await bring(backwards, newer)
    await bring(backwards, older)
    const once = { count: 1, cancelled_count: 0, substituted_count: 1, total: '2320.00', net: '2000.00', ppd_total: '2320.00' }
    for (const target of [forwards, backwards]) {
      expect(await january(target)).toEqual(once)
      expect([await flagsOf(target, older), await flagsOf(target, newer)]).toEqual([OLDER, NEWER])
    }
    await expectSame(forwards, backwards)
    await cancel(forwards, newer)
    expect(await january(forwards)).toMatchObject({ count: 1, cancelled_count: 1, substituted_count: 0, total: '1160.00', net: '1000.00' })
    expect([await flagsOf(forwards, older), await flagsOf(forwards, newer)]).toEqual([NEITHER, NEITHER])
    await cancel(backwards, older)
    expect(await january(backwards)).toMatchObject({ count: 1, cancelled_count: 1, substituted_count: 0, total: '2320.00' })
    expect([await flagsOf(backwards, older), await flagsOf(backwards, newer)]).toEqual([NEITHER, NEITHER])
  })

  it('is no purchase from its supplier either', async () => {
    const target = newBook()
    const older = invoiceOf({ emisor: CUSTOMER, receptor: RFC })
    const newer = substituteOf(random, [older], { subtotal: '2000.00', iva: '320.00', total: '2320.00' })
    await bring(target, older, newer)
    const bought = async () =>
      (await sumSuppliers(openLedger(readerOf(target)), { from: '2026-01', to: '2026-01' }, Date.now())).suppliers.get(CUSTOMER)
    expect(await bought()).toMatchObject({ invoices: 1, amount: 2_320_000_000n })
    expect(await january(target, 'received')).toMatchObject({ count: 1, substituted_count: 1, total: '2320.00' })
    await cancel(target, newer)
    expect(await bought()).toMatchObject({ invoices: 1, amount: 1_160_000_000n })
  })

  it('pays and credits nothing: the complement and the credit note that substitute it do', async () => {
    const target = newBook()
    const invoice = invoiceOf()
    const [wrongPayment, wrongCredit] = [paid(invoice, '900.00'), credited(invoice)]
    await bring(target, invoice, wrongPayment, wrongCredit)
    // 1,160 - 900 - 116 = 144.
    expect(await paymentsOf(target, invoice)).toMatchObject({ paid_amount: '900.00', credited_amount: '116.00', balance: '144.00' })
    const right = substituteOf(random, [wrongPayment], {
      pagos: [{ fecha: '2026-01-20T12:00:00', documentos: [{ uuid: invoice.uuid, pagado: '1160.00', moneda: 'MXN' }] }],
    })
    // It credits nothing to the invoice, because its only relation is 04.
    const rightCredit = substituteOf(random, [wrongCredit])
    await bring(target, right, rightCredit)
    const found = await paymentsOf(target, invoice)
    expect(found).toMatchObject({ paid_amount: '1160.00', credited_amount: '0.00', balance: '0.00', payment_status: 'paid' })
    expect(found.data.map(([uuid, , , reason]) => [uuid, reason]).sort()).toEqual(
      [
        [right.uuid, null],
        [wrongPayment.uuid, 'substituted'],
        [wrongCredit.uuid, 'substituted'],
      ].sort(),
    )
    await cancel(target, right, rightCredit)
    expect(await paymentsOf(target, invoice)).toMatchObject({ paid_amount: '900.00', credited_amount: '116.00', balance: '144.00' })
  })

  it('is substituted by its own parties alone', async () => {
    const target = newBook()
    const older = invoiceOf()
    const [ofOthers, ofAnother] = [
      substituteOf(random, [older], { receptor: OTHER }),
      substituteOf(random, [older], { emisor: CUSTOMER, receptor: RFC }),
    ]
    await bring(target, older, ofOthers, ofAnother)
    for (const document of [older, ofOthers, ofAnother]) expect(await flagsOf(target, document)).toEqual(NEITHER)
    expect(await january(target)).toMatchObject({ count: 2, substituted_count: 0, total: '2320.00' })
  })

  it('in a chain: only the last counts, and the one before it when that is cancelled', async () => {
    const target = newBook()
    const a = invoiceOf()
    const b = substituteOf(random, [a], { subtotal: '2000.00', iva: '320.00', total: '2320.00' })
    const c = substituteOf(random, [b], { subtotal: '3000.00', iva: '480.00', total: '3480.00' })
    await bring(target, c)
    await bring(target, a)
    await bring(target, b)
    expect(await january(target)).toMatchObject({ count: 1, substituted_count: 2, total: '3480.00' })
    expect([await flagsOf(target, a), await flagsOf(target, b), await flagsOf(target, c)]).toEqual([OLDER, OLDER, NEWER])
    await cancel(target, c)
    expect(await january(target)).toMatchObject({ count: 1, substituted_count: 1, cancelled_count: 1, total: '2320.00' })
    await cancel(target, b)
    expect(await january(target)).toMatchObject({ count: 1, substituted_count: 0, cancelled_count: 2, total: '1160.00' })
  })

  it.each([2, 3])('in a cycle of %i: the newest counts, and the next when it is cancelled; nothing is lost', async (size) => {
    const target = newBook()
    const cycle = Array.from({ length: size }, (_, n) => invoiceOf({ fecha: `2026-01-1${n}T10:00:00`, total: `${n + 1}160.00` }))
    for (const [n, one] of cycle.entries()) one.relacion = { tipo: '04', uuids: [cycle[(n + 1) % size]!.uuid] }
    for (const one of cycle) await bring(target, one)
    const totals = []
    for (const one of [...cycle].reverse()) {
      totals.push((await january(target)).total)
      await cancel(target, one)
    }
    // Of three, the first substitutes the second; when the third is cancelled, the first is what is left of them.
    expect(totals).toEqual(size === 2 ? ['2160.00', '1160.00'] : ['3160.00', '1160.00', '1160.00'])
    expect(await january(target)).toMatchObject({ count: 0, cancelled_count: size })
  })

  it('several at once: one document can substitute many, and many one', async () => {
    const target = newBook()
    const [a, b, c] = [invoiceOf(), invoiceOf(), invoiceOf()]
    const [one, two] = [substituteOf(random, [a, b, c]), substituteOf(random, [c])]
    await bring(target, a, b, one)
    await bring(target, two, c)
    expect(await january(target)).toMatchObject({ count: 2, substituted_count: 3 })
    await cancel(target, one)
    expect(await january(target)).toMatchObject({ count: 3, substituted_count: 1, cancelled_count: 1 })
    await cancel(target, a, b, c)
    expect([await flagsOf(target, one), await flagsOf(target, two)]).toEqual([NEITHER, NEITHER])
  })

  it('is known from metadata alone too', async () => {
    const target = newBook()
    const older = invoiceOf()
    const newer = substituteOf(random, [older])
    await bring(target, newer)
    await all(ingestMetadata(target, () => [[reported(older, false)]]))
    expect([await flagsOf(target, older), await flagsOf(target, newer)]).toEqual([OLDER, NEWER])
    await bring(target, older)
    expect([await flagsOf(target, older), await flagsOf(target, newer)]).toEqual([OLDER, NEWER])
    expect(await january(target)).toMatchObject({ count: 1, substituted_count: 1, total: '1160.00' })
  })
})

describe('below a ceiling', () => {
  it('what substitutes a document later does not count yet: sums, flags, balances and suppliers are those of before', async () => {
    const target = newBook()
    const invoice = invoiceOf()
    const [older, bought] = [invoiceOf({ fecha: '2026-01-11T10:00:00' }), invoiceOf({ emisor: CUSTOMER, receptor: RFC })]
    const payment = paid(invoice, '900.00')
    const others = [
      substituteOf(random, [older], { total: '2320.00', subtotal: '2000.00', iva: '320.00', fecha: '2026-01-25T10:00:00' }),
      substituteOf(random, [bought], { total: '2320.00', subtotal: '2000.00', iva: '320.00', fecha: '2026-01-25T10:00:00' }),
      substituteOf(random, [payment], { pagos: [], fecha: '2026-01-25T10:00:00' }),
    ]
    await bring(target, invoice, older, bought, payment, ...others)
    const spent = async (ceiling?: string) =>
      (await sumSuppliers(openLedger(readerOf(target, ceiling)), { from: '2026-01', to: '2026-01' }, Date.now())).suppliers.get(CUSTOMER)
        ?.amount
    // 2026-01-25T10:00:00 in central Mexico is 16:00 UTC.
    for (const until of ['2026-01-24T06:00:00Z', '2026-01-25T15:59:59Z']) {
      expect(await january(target, 'issued', until)).toMatchObject({ count: 3, substituted_count: 0, total: '2320.00' })
      expect(await spent(until)).toBe(1_160_000_000n)
      expect(await paymentsOf(target, invoice, until)).toMatchObject({ paid_amount: '900.00', payment_status: 'partially_paid' })
      expect([await flagsOf(target, older, until), await flagsOf(target, payment, until)]).toEqual([NEITHER, NEITHER])
    }
    for (const until of ['2026-01-25T16:00:00Z', '2026-02-10T00:00:00Z', undefined]) {
      // The invoice of 1,160 and the newer one of 2,320.
      expect(await january(target, 'issued', until)).toMatchObject({ count: 3, substituted_count: 2, total: '3480.00' })
      expect(await spent(until)).toBe(2_320_000_000n)
      expect(await paymentsOf(target, invoice, until)).toMatchObject({ paid_amount: '0.00', payment_status: 'unpaid' })
      expect([await flagsOf(target, older, until), await flagsOf(target, payment, until)]).toEqual([OLDER, OLDER])
    }
  })
})

it('one that names its invoice too (01 and 04) credits it in the place of the older one', async () => {
  const target = newBook()
  const invoice = invoiceOf()
  const wrong = credited(invoice)
  const right = credited(invoice, { total: '232.00', subtotal: '200.00', iva: '32.00', sustituye: [wrong.uuid] })
  await bring(target, right, invoice, wrong)
  // Of 116 and 232, only the newer counts: 1,160 - 232 = 928.
  expect(await paymentsOf(target, invoice)).toMatchObject({ credited_amount: '232.00', balance: '928.00' })
})

it('costs a row and its index for the older document, two for the relation, no call more, and nothing when it comes again', async () => {
  const target = newBook()
  const older = invoiceOf()
  const newer = substituteOf(random, [older])
  await bring(target, older)
  const other = newBook()
  await bring(other, older)
  const plain = await costOf(env.LEDGER_0, env.FILES, () => bring(other, { ...newer, relacion: null }))
  const first = await costOf(env.LEDGER_0, env.FILES, () => bring(target, newer))
  expect(first.cost).toMatchObject({ d1_calls: 3, r2_puts: 1, rows_written: plain.cost.rows_written + 4 })
  const again = await costOf(env.LEDGER_0, env.FILES, () => bring(target, newer, older))
  expect(again.cost).toMatchObject({ d1_calls: 1, rows_written: 0, r2_puts: 0 })
})
