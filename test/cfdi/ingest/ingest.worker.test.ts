import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { type IngestTarget, ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import { readXml } from '../../../src/cfdi/xml/xml-store.ts'
import { randomOf } from '../../support/random.ts'
import { zipOf } from '../../support/zip.ts'
import { all, contentsOf, monthsOf, newBook, reported, rowsOf } from '../support/book.ts'
import { creditOf, type Plain, packageOf, paymentOf, plainOf, RFC, xmlOf } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'
import { expectedMonths } from '../support/oracle.ts'

const random = randomOf(11)
const deferred = (given: Partial<Plain> = {}) => plainOf(random, '2025-01', { metodo: 'PPD', ...given })
const bring = async (target: IngestTarget, documents: readonly Plain[]) => (await all(ingestZip(target, packageOf(documents))))[0]!
const report = async (target: IngestTarget, rows: Parameters<typeof reported>[]) =>
  (await all(ingestMetadata(target, () => [rows.map(([document, cancelled]) => reported(document, cancelled))])))[0]!
const encoded = (text: string) => new TextEncoder().encode(text)
const counted = (target: IngestTarget, documents: readonly Plain[]) =>
  expect(monthsOf(target)).resolves.toEqual(expectedMonths(documents.map((document) => ({ document, hasXml: true, isCancelled: false }))))

describe('a package', () => {
  it('becomes rows, lines and totals, and gives its XML back byte for byte', async () => {
    const target = newBook()
    const documents = [
      deferred({ lines: 3 }),
      plainOf(random, '2025-02', { tipo: 'N' }),
      plainOf(random, '2025-01', { emisor: 'BBB020202BB1', receptor: RFC }),
    ]
    expect(await bring(target, documents)).toMatchObject({ created: 3, updated: 0, unchanged: 0, rejected: 0, cancellations: [] })
    const rows = await rowsOf(target)
    for (const document of documents) {
      const row = rows.get(document.uuid)!
      expect(new TextDecoder().decode(await readXml(env.FILES, row))).toBe(xmlOf(document))
      expect(row).toMatchObject({ direction: document.emisor === RFC ? 0 : 1, estatus: 'vigente', related: null })
    }
    const contents = await contentsOf(target)
    for (const { uuid, lines, subtotal } of documents)
      expect(contents.get(uuid)!.conceptos.map(({ importe }) => importe)).toEqual(Array(lines).fill(subtotal))
    await counted(target, documents)
  })

  it('is the same again: nothing changes', async () => {
    const target = newBook()
    const documents = [deferred(), paymentOf(random, '2025-01', [])]
    await bring(target, documents)
    const [rows, months] = [await rowsOf(target), await monthsOf(target)]
    expect(await bring({ ...target, now: new Date(0) }, documents)).toMatchObject({ created: 0, unchanged: 2 })
    expect(await rowsOf(target)).toEqual(rows)
    expect(await monthsOf(target)).toEqual(months)
  })

  it('fails by the file: every bad one says why, the good ones are kept', async () => {
    const target = newBook('import')
    const [good, foreign, twin] = [deferred(), deferred({ emisor: 'BBB020202BB1' }), deferred()]
    const unstamped = xmlOf(deferred()).replace(/<tfd:.*?\/>/s, '')
    const [huge, nil] = [deferred({ total: '9999999999999999.00' }), deferred({ uuid: '00000000-0000-0000-0000-000000000000' })]
    const zip = zipOf([
      { name: 'good.xml', bytes: encoded(xmlOf(good)) },
      { name: 'foreign.xml', bytes: encoded(xmlOf(foreign)) },
      { name: 'unstamped.xml', bytes: encoded(unstamped) },
      { name: 'huge.xml', bytes: encoded(xmlOf(huge)) },
      { name: 'broken.xml', bytes: encoded('<a><b></a>') },
      { name: 'notes.txt', bytes: encoded('shopping list') },
      { name: `${twin.uuid}.xml`, bytes: encoded(xmlOf(twin)) },
      { name: 'copy.xml', bytes: encoded(`${xmlOf(twin)}\n`) },
      { name: '__MACOSX/._good.xml', bytes: encoded('junk') },
      { name: `${nil.uuid}.xml`, bytes: encoded(xmlOf(nil)) },
    ])
    const [outcome] = await all(ingestZip(target, zip))
    expect(outcome!.entries.map(({ n, name, status, code }) => [n, name, status, code])).toEqual([
      [0, 'good.xml', 'created', null],
      [1, 'foreign.xml', 'rejected', 'cfdi.foreign_rfc'],
      [2, 'unstamped.xml', 'rejected', 'cfdi.unstamped'],
      [3, 'huge.xml', 'created', null],
      [4, 'broken.xml', 'rejected', expect.stringMatching(/^cfdi\./)],
      [5, 'notes.txt', 'rejected', 'cfdi.not_a_cfdi'],
      [6, `${twin.uuid}.xml`, 'created', null],
      [7, 'copy.xml', 'rejected', 'cfdi.conflict'],
      [9, `${nil.uuid}.xml`, 'rejected', 'cfdi.invalid_uuid'],
    ])
    const rows = await rowsOf(target)
    expect([...rows.keys()].sort()).toEqual([good.uuid, huge.uuid, twin.uuid].sort())
    expect(new TextDecoder().decode(await readXml(env.FILES, rows.get(twin.uuid)!))).toBe(xmlOf(twin))
  })

  it('cannot claim another document by its name, nor hide a change behind a size', async () => {
    const target = newBook()
    const [known, other] = [deferred(), deferred()]
    await bring(target, [known])
    const [outcome] = await all(ingestZip(target, zipOf([{ name: `${known.uuid}.xml`, bytes: encoded(xmlOf(other)) }])))
    expect(outcome).toMatchObject({ created: 1, unchanged: 0 })
    expect([...(await rowsOf(target)).keys()].sort()).toEqual([known.uuid, other.uuid].sort())
  })

  it('commits side statements with its rows, alone when nothing changes, and not at all when they refuse', async () => {
    const target = newBook()
    const document = deferred()
    const mark = (notified: number) =>
      env.LEDGER_0.prepare('update entities set rfc = ?2 where entity = ?1').bind(target.entity, String(notified))
    await bring({ ...target, sideStatements: ({ created }) => [mark(100 + created)] }, [document])
    await bring({ ...target, sideStatements: ({ unchanged }) => [mark(200 + unchanged)] }, [document])
    const notified = () => env.LEDGER_0.prepare('select rfc from entities where entity = ?').bind(target.entity).first('rfc')
    expect(await notified()).toBe('201')
    const refuse = env.LEDGER_0.prepare('update cfdi set fecha = null where entity = ?').bind(target.entity)
    await expect(bring({ ...target, sideStatements: () => [refuse] }, [deferred()])).rejects.toThrow(/cfdi\.fecha/)
    expect((await rowsOf(target)).size).toBe(1)
    expect(await notified()).toBe('201')
  })
})

describe('payments and credit notes', () => {
  it('reduce the balance whether they come before, with or after their invoice', async () => {
    for (const order of [[0, 1, 2], [2, 1, 0], [1, 0, 2], [-1]]) {
      const target = newBook()
      const invoice = deferred({ total: '1000.00' })
      const parts = [invoice, paymentOf(random, '2025-02', [invoice], 0.4), creditOf(random, '2025-03', [invoice], { total: '600.00' })]
      if (order[0] === -1) await bring(target, parts)
      else for (const i of order) await bring(target, [parts[i]!])
      const row = (await rowsOf(target)).get(invoice.uuid)
      expect(row).toMatchObject({ payment_status: 'paid', paid: 400_000_000, credited: 600_000_000, fully_paid_at: parts[2]!.fecha })
      expect(row?.last_payment_at).toBe(parts[1]!.pagos[0]!.fecha)
    }
  })

  it('of the other direction change no balance', async () => {
    const target = newBook()
    const [issued, received] = [deferred(), deferred({ emisor: 'BBB020202BB1', receptor: RFC })]
    const [byRfc, byOther] = [
      { ...paymentOf(random, '2025-02', [received]), emisor: RFC, receptor: 'BBB020202BB1' },
      { ...paymentOf(random, '2025-02', [issued]), emisor: 'BBB020202BB1', receptor: RFC },
    ]
    await bring(target, [issued, received, byRfc, byOther])
    for (const { uuid } of [issued, received])
      expect((await rowsOf(target)).get(uuid)).toMatchObject({ payment_status: 'unpaid', paid: 0, applied_until: null })
  })

  it('change the balance of an invoice and not its updated_at, which changes with the document itself', async () => {
    const target = newBook()
    const invoice = deferred()
    const payment = paymentOf(random, '2025-01', [invoice])
    const at = (hour: number): IngestTarget => ({ ...target, now: new Date(Date.UTC(2025, 2, 1, hour)) })
    const notified = async () => {
      const rows = await rowsOf(target)
      return [invoice, payment].map(({ uuid }) => [rows.get(uuid)?.payment_status, new Date(rows.get(uuid)?.updated_at ?? 0).getUTCHours()])
    }
    await report(at(1), [[invoice, false]])
    expect((await notified())[0]).toEqual([null, 1])
    await bring(at(2), [invoice])
    expect((await notified())[0]).toEqual(['unpaid', 2])
    await bring(at(3), [payment])
    expect(await notified()).toEqual([
      ['paid', 2],
      [null, 3],
    ])
    await report(at(4), [[payment, true]])
    expect(await notified()).toEqual([
      ['unpaid', 2],
      [null, 4],
    ])
    await report(at(5), [[invoice, true]])
    await bring(at(6), [invoice, payment])
    expect(await notified()).toEqual([
      ['unpaid', 5],
      [null, 4],
    ])
  })

  it('leave alone a substitution (04) and what is paid at once', async () => {
    const target = newBook()
    const [invoice, atOnce] = [deferred(), plainOf(random, '2025-01', { metodo: 'PUE' })]
    const substitute = creditOf(random, '2025-01', [invoice], { relacion: { tipo: '04', uuids: [invoice.uuid] } })
    await bring(target, [invoice, atOnce, substitute, paymentOf(random, '2025-01', [atOnce])])
    const rows = await rowsOf(target)
    expect(rows.get(invoice.uuid)).toMatchObject({ payment_status: 'unpaid', paid: 0, credited: 0 })
    expect(rows.get(atOnce.uuid)).toMatchObject({ payment_status: 'paid', paid: Math.round(Number(atOnce.total) * 1e6) })
  })
})

describe('metadata', () => {
  it('cancels a stored document once, with its totals, and reopens what it had paid', async () => {
    const target = newBook()
    const invoice = deferred()
    const payment = paymentOf(random, '2025-01', [invoice])
    await bring(target, [invoice, payment])
    const outcome = await report(target, [
      [invoice, false],
      [payment, true],
    ])
    expect(outcome).toMatchObject({ cancelled: 1, unchanged: 1, created: 0 })
    expect(outcome.cancellations).toMatchObject([
      {
        uuid: payment.uuid,
        tipo_comprobante: 'P',
        cancellation_reason: '02',
        cancelled_at: '2025-06-01T10:00:00-06:00',
        payments: [[0, 'not_applicable', false]],
      },
    ])
    const rows = await rowsOf(target)
    expect(rows.get(invoice.uuid)).toMatchObject({
      payment_status: 'unpaid',
      paid: 0,
      estatus: 'vigente',
      last_payment_at: null,
      fully_paid_at: null,
    })
    expect(rows.get(payment.uuid)).toMatchObject({ estatus: 'cancelado', cancelled: 1 })
    expect(
      await report(target, [
        [invoice, false],
        [payment, true],
      ]),
    ).toMatchObject({ cancelled: 0, unchanged: 2 })
    expect(await report(target, [[payment, false]])).toMatchObject({ cancelled: 0, unchanged: 1 })
    expect((await rowsOf(target)).get(payment.uuid)?.estatus).toBe('cancelado')
  })

  it('tells of a cancelled invoice that it had been paid, also when its payment is cancelled with it', async () => {
    const target = newBook()
    const [paid, unpaid, atOnce] = [deferred(), deferred(), plainOf(random, '2025-01', { metodo: 'PUE' })]
    const payment = paymentOf(random, '2025-01', [paid])
    await bring(target, [paid, unpaid, atOnce, payment])
    const { cancellations } = await report(target, [
      [payment, true],
      [paid, true],
      [unpaid, true],
      [atOnce, true],
    ])
    const notified = new Map(cancellations.map((it) => [it.uuid, it]))
    // From the instant of its payment on it was paid.
    const { issued_at } = (await rowsOf(target)).get(payment.uuid)!
    expect(notified.get(paid.uuid)).toMatchObject({
      payments: [
        [0, 'unpaid', false],
        [issued_at, 'paid', true],
      ],
      ...{ payment_status: 'paid', total: paid.total, currency: 'MXN' },
    })
    expect(notified.get(unpaid.uuid)).toMatchObject({ payments: [[0, 'unpaid', false]], payment_status: 'unpaid', paid: 0n })
    expect(notified.get(atOnce.uuid)).toMatchObject({ payments: [[0, 'paid', true]], payment_status: 'paid' })
  })

  it('of a document that is first seen cancelled is no cancellation, with its XML or without', async () => {
    const target = newBook()
    const [withXml, without] = [deferred(), deferred()]
    const rows = new Map([withXml, without].map((document) => [document.uuid, reported(document, true)]))
    const outcomes = [
      ...(await all(ingestZip(target, packageOf([withXml]), rows))),
      ...(await all(ingestMetadata(target, () => [[...rows.values()]]))),
    ]
    expect(outcomes.flatMap(({ cancellations }) => cancellations)).toEqual([])
    for (const row of (await rowsOf(target)).values())
      expect(row).toMatchObject({ estatus: 'cancelado', cancelled_at: '2025-06-01T10:00:00-06:00' })
  })

  it('comes before the XML: the XML fills the row, moves its instant to its own zone and counts its payments', async () => {
    const target = newBook()
    const invoice = deferred({ lugar: '22000' })
    await report(target, [[invoice, false]])
    const before = (await rowsOf(target)).get(invoice.uuid)!
    expect(before).toMatchObject({ xml_object: null, payment_status: null, metodo_pago: null })
    await bring(target, [paymentOf(random, '2025-01', [invoice])])
    expect(await bring(target, [invoice])).toMatchObject({ created: 0, updated: 1 })
    const after = (await rowsOf(target)).get(invoice.uuid)!
    expect(after).toMatchObject({ payment_status: 'paid', metodo_pago: 'PPD', utc_offset: -480, issued_at: before.issued_at + 7_200 })
    expect(new TextDecoder().decode(await readXml(env.FILES, after))).toBe(xmlOf(invoice))
  })

  it('adds no amount to its month until the XML says in what currency it is', async () => {
    const target = newBook()
    const dollars = deferred({ moneda: 'USD', tipo_cambio: '17.25', total: '100.00', subtotal: '100.00', iva: '0', metodo: 'PPD' })
    const cell = (rest: string) => `${dollars.fecha.slice(8, 10)}|I|${rest}`
    await report(target, [[dollars, false]])
    expect((await rowsOf(target)).get(dollars.uuid)).toMatchObject({ total_mxn: null, total_micros: 100_000_000 })
    expect(await monthsOf(target)).toEqual({ '2025-01|0': { [cell('|vigente')]: [1, 0, 1, 0, '0', '0', '0', '0', '0', '0', '0'] } })
    await report(target, [[dollars, true]])
    expect(await monthsOf(target)).toEqual({ '2025-01|0': { [cell('|cancelado')]: [1, 0, 1, 0, '0', '0', '0', '0', '0', '0', '0'] } })
    await bring(target, [dollars])
    expect((await rowsOf(target)).get(dollars.uuid)).toMatchObject({ total_mxn: 1_725_000_000 })
    expect(await monthsOf(target)).toEqual({
      '2025-01|0': { [cell('PPD|cancelado')]: [1, 1, 0, 0, '1725000000', '0', '1725000000', '0', '0', '0', '0'] },
    })
  })

  it('keeps a cancellation when the XML comes later', async () => {
    const target = newBook()
    const payment = paymentOf(random, '2025-01', [deferred()])
    await report(target, [[payment, true]])
    await bring(target, [payment])
    expect((await rowsOf(target)).get(payment.uuid)).toMatchObject({ estatus: 'cancelado', cancelled: 1 })
  })

  it('without a date or about others is rejected by the row', async () => {
    const target = newBook()
    const [dateless, foreign] = [reported(deferred(), false), reported(deferred({ emisor: 'BBB020202BB1' }), false)]
    const [outcome] = await all(ingestMetadata(target, () => [[{ ...dateless, fecha: null }, foreign]]))
    expect(outcome?.entries.map(({ code }) => code)).toEqual(['cfdi.invalid_date', 'cfdi.foreign_rfc'])
  })
})
