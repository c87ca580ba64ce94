import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { type IngestTarget, ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'
import { all, monthsOf, newBook, productsOf, reported, rowsOf, suppliersOf } from '../support/book.ts'
import { CUSTOMERS, creditOf, type Plain, packageOf, paymentOf, plainOf, RFC } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'
import { expectedBalance, expectedMonths, expectedProducts, expectedSuppliers, type Seen } from '../support/oracle.ts'

/** Documents of two months, issued and received, with payments and credit notes in all directions. */
function world(random: () => number): Plain[] {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const month = () => pick(['2025-01', '2025-02'])
  const some = <T>(list: readonly T[]) => [...new Set(Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(list)))]
  const side = () => (random() < 0.4 ? { emisor: pick(CUSTOMERS), receptor: RFC } : random() < 0.1 ? { receptor: RFC } : {})
  const money = () => (random() < 0.2 ? { moneda: 'USD', tipo_cambio: random() < 0.3 ? null : '17.25' } : {})
  const invoices = Array.from({ length: 30 }, () =>
    plainOf(random, month(), { metodo: random() < 0.6 ? 'PPD' : 'PUE', lugar: pick(['06600', '22000', '77500']), ...side(), ...money() }),
  )
  const pesos = invoices.filter(({ moneda }) => moneda === 'MXN')
  const payments = Array.from({ length: 15 }, () => ({ ...paymentOf(random, month(), some(invoices), pick([0.3, 0.5, 1])), ...side() }))
  const credits = Array.from({ length: 8 }, () => {
    const related = some(pesos)
    return creditOf(random, month(), related, {
      ...side(),
      relacion: { tipo: pick(['01', '03', '07']), uuids: related.map(({ uuid }) => uuid) },
    })
  })
  // Some invoices apply others as advances.
  for (const one of invoices) if (random() < 0.25) one.relacion = { tipo: '07', uuids: some(pesos).map(({ uuid }) => uuid) }
  // Some name others' invoices, other payments state another currency than the invoice's, and some are between other parties (side).
  const foreign = payments.slice(0, 4).map((payment) => ({
    ...plainOf(random, month(), {}),
    ...payment,
    uuid: uuidFrom(random),
    pagos: payment.pagos.map((pago) => ({ ...pago, documentos: pago.documentos.map((it) => ({ ...it, moneda: 'EUR' })) })),
  }))
  const others = Array.from({ length: 16 }, () => plainOf(random, month(), { tipo: pick(['N', 'T', 'E', 'E']), ...side(), ...money() }))
  const all = [...invoices, ...payments, ...foreign, ...credits, ...others]
  // Some have lines of several products, and some a line without a key.
  for (const one of all)
    if (random() < 0.5)
      one.productos = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({
        clave: pick(['84111506', '43211503', '15101514', '']),
        importe: (random() * 1_000).toFixed(2),
        descuento: pick([null, null, '1.50']),
      }))
  // Substitutions, mostly between the same parties, in chains and now and then in cycles.
  for (let n = 0; n < 14; n++) {
    const [one, other] = [pick(all), pick(all)]
    const { emisor, receptor } = random() < 0.8 ? one : other
    const uuids = [...new Set([one.uuid, ...(random() < 0.2 ? [pick(all).uuid] : [])])]
    const next = { ...other, uuid: uuidFrom(random), emisor, receptor, relacion: { tipo: '04', uuids } }
    all.push(next)
    if (random() < 0.3) one.relacion = { tipo: '04', uuids: [next.uuid] }
  }
  return all
}

describe.each([1, 2, 3, 4, 5, 6])('random downloads %i', (seed) => {
  it.each(['authority', 'import'] as const)('leave what a recomputation from the documents gives (%s)', async (provenance) => {
    const random = randomOf(seed)
    const target = newBook(provenance)
    const documents = world(random)
    const cancelled = new Set<string>()
    const seen = new Map<string, Seen>()
    const [notified, expected]: [string[], Set<string>] = [[], new Set()]
    const subset = (share: number) => documents.filter(() => random() < share).sort(() => random() - 0.5)

    const xml = (list: readonly Plain[]) => {
      for (const document of list) {
        const before = seen.get(document.uuid)
        if (before) before.hasXml = true
        else seen.set(document.uuid, { document, hasXml: true, isCancelled: cancelled.has(document.uuid) })
      }
      const rows = new Map(list.map((document) => [document.uuid, reported(document, cancelled.has(document.uuid))]))
      return (it: IngestTarget) => all(ingestZip(it, packageOf(list), rows))
    }
    const metadata = (list: readonly Plain[]) => {
      for (const document of list) {
        const isCancelled = cancelled.has(document.uuid)
        const before = seen.get(document.uuid)
        if (before === undefined) seen.set(document.uuid, { document, hasXml: false, isCancelled })
        else if (isCancelled && !before.isCancelled) {
          before.isCancelled = true
          expected.add(document.uuid)
        }
      }
      const rows = list.map((document) => reported(document, cancelled.has(document.uuid)))
      return (it: IngestTarget) => all(ingestMetadata(it, () => [rows]))
    }

    for (let round = 0; round < 6; round++) {
      for (const { uuid } of subset(0.08)) cancelled.add(uuid)
      const [first, second, third] = [subset(0.3), subset(0.3), subset(0.3)]
      // One after the other in the model, all at once in the book.
      const jobs = random() < 0.5 ? [xml(first), xml(second), metadata(third)] : [xml(first)]
      for (const outcomes of await Promise.all(jobs.map((job) => job(target)))) {
        for (const { cancellations } of outcomes) notified.push(...cancellations.map(({ uuid }) => uuid))
      }
      if (random() < 0.5)
        for (const { cancellations } of await metadata(subset(0.5))(target)) notified.push(...cancellations.map(({ uuid }) => uuid))
    }

    const rows = await rowsOf(target)
    const list = [...seen.values()]
    expect([...rows.keys()].sort()).toEqual([...seen.keys()].sort())
    for (const it of list) {
      const { estatus, paid, credited, payment_status } = rows.get(it.document.uuid)!
      expect({ uuid: it.document.uuid, estatus, paid, credited, payment_status }).toEqual({
        uuid: it.document.uuid,
        estatus: it.isCancelled ? 'cancelado' : 'vigente',
        ...expectedBalance(it, list),
      })
    }
    expect(await monthsOf(target)).toEqual(expectedMonths(list))
    expect(await suppliersOf(target)).toEqual(expectedSuppliers(list))
    expect(await productsOf(target)).toEqual(expectedProducts(list))
    expect(notified.sort()).toEqual([...expected].sort())
  })
})

/** The totals of suppliers by month and part, computed from the documents in SQL. */
const SUPPLIERS = `
  select entity, month, part, json_group_object(rfc, json_array(invoices, notes, known, missing, 0, amount)) as totals from (
    select entity, substr(fecha, 1, 7) as month, unicode(substr(emisor_rfc, -1)) % 4 as part, emisor_rfc as rfc,
      sum(tipo_comprobante = 'I') as invoices, sum(tipo_comprobante = 'E') as notes, sum(version is not null) as known, sum(total_mxn is null) as missing,
      cast(coalesce(sum(case tipo_comprobante when 'I' then total_mxn else -total_mxn end), 0) as text) as amount
    from cfdi where direction = 1 and estatus = 'vigente' and substituted_from is null and tipo_comprobante in ('I', 'E') and kind = 'cfdi' and emisor_rfc <> receptor_rfc
    group by 1, 2, 3, 4 order by 1, 2, 3, 4)
  group by 1, 2, 3 order by 1, 2, 3`

it('what ingest has kept of suppliers is what SQL computes from the documents', async () => {
  const kept = await env.LEDGER_0.prepare("select * from cfdi_suppliers where totals <> '{}' order by entity, month, part").all()
  expect(kept.results.length).toBeGreaterThan(20)
  expect(kept.results).toEqual((await env.LEDGER_0.prepare(SUPPLIERS).all()).results)
})
