import { beforeAll, expect, it, vi } from 'vitest'
import { importsOf, post } from '../cfdi/imports/support/imports.ts'
import { plainOf, xmlOf } from '../cfdi/support/documents.ts'
import { randomOf } from '../support/random.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { zipOf } from '../support/zip.ts'

const random = randomOf(31)
const SUPPLIER = 'DDD040404DD3'
const DAYS = 'from=2026-05&to=2026-05'

let of: Organization
let fiscal_entity_id: string

/** Two vehicles of which SQL cannot compute the rate, one that it can, and credit notes whose amounts are negative or nothing. */
beforeAll(async () => {
  of = await organization()
  const connected = await connect(of.owner, undefined, { ciec: 'empty' })
  fiscal_entity_id = connected.fiscal_entity_id
  const parties = { emisor: SUPPLIER, receptor: connected.rfc, metodo: 'PUE' as const, lines: 1 }
  const one = (day: string, subtotal: string, tipo: 'I' | 'E', uso: string) => {
    const fecha = `2026-05-${day}T12:00:00`
    const document = plainOf(random, '2026-05', { tipo, fecha, subtotal, iva: '0.00', total: subtotal, ...parties })
    const xml = xmlOf(document).replace('FormaPago="99"', 'FormaPago="03"').replace('UsoCFDI="G03"', `UsoCFDI="${uso}"`)
    return { name: `${document.uuid}.xml`, bytes: new TextEncoder().encode(xml) }
  }
  const book = [
    one('01', '31000000.00', 'I', 'I04'),
    one('02', '99999999999.00', 'I', 'I04'),
    one('03', '1000000.00', 'I', 'I04'),
    one('04', '-99999999.00', 'E', 'G02'),
    one('05', '-1000.00', 'E', 'G02'),
    one('06', '300.00', 'E', 'G02'),
  ]
  const { body } = await post(of.owner, fiscal_entity_id, zipOf(book))
  await vi.waitUntil(async () => (await of.ask('GET', `${importsOf(fiscal_entity_id)}/${body.import_id}`)).body.status === 'completed', {
    timeout: 30_000,
    interval: 50,
  })
})

it('large investments and credit notes with negative amounts are added up as their entries are', async () => {
  const { status, body } = await of.ask('GET', `/v1/cfdi/deductions?fiscal_entity_id=${fiscal_entity_id}&${DAYS}`)
  expect(status).toBe(200)
  // 30 % of 31,000,000, of 99,999,999,999 and of 1,000,000. Credit notes give back: 99,999,999 + 1,000 − 300.
  expect(body.totals).toMatchObject([
    { category: 'investment', gross_amount: '100031999999.00', deductible_amount: '30009599999.70' },
    { category: 'returns', gross_amount: '100000699.00' },
  ])
  for (const { drilldown, ...totals } of body.totals)
    for (const figure of ['gross_amount', 'deductible_amount'] as const) {
      const entries = await of.ask('GET', drilldown[figure])
      const sum = entries.body.data.reduce((all: bigint, { amount }: { amount: string }) => all + BigInt(amount.replace('.', '')), 0n)
      expect(sum, `${figure} of ${totals.category}`).toBe(BigInt(`${totals[figure].replace('.', '')}0000`))
    }
})
