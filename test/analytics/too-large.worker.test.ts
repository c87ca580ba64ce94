import { beforeAll, describe, expect, it, vi } from 'vitest'
import { importsOf, post } from '../cfdi/imports/support/imports.ts'
import { plainOf, xmlOf } from '../cfdi/support/documents.ts'
import { randomOf } from '../support/random.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { zipOf } from '../support/zip.ts'

const random = randomOf(32)
const [SUPPLIER, CUSTOMER] = ['DDD040404DD3', 'BBB020202BB1']
const LARGEST = '999999999999999999.00'

let of: Organization
let fiscal_entity_id: string

/** An issued and a received invoice whose net fits and whose total does not, and a plain one of each. */
beforeAll(async () => {
  of = await organization()
  const connected = await connect(of.owner, undefined, { ciec: 'empty' })
  fiscal_entity_id = connected.fiscal_entity_id
  const { rfc } = connected
  const issued = { emisor: rfc, receptor: CUSTOMER }
  const received = { emisor: SUPPLIER, receptor: rfc }
  const large = { subtotal: LARGEST, iva: '159999999999999999.84', total: '1159999999999999998.84' }
  const plain = { subtotal: '100.00', iva: '16.00', total: '116.00' }
  const one = (day: string, given: Parameters<typeof plainOf>[2]) =>
    plainOf(random, '2026-05', { fecha: `2026-05-${day}T12:00:00`, lines: 1, ...given })
  const book = [
    one('01', { ...issued, ...large }),
    one('02', { ...received, ...large }),
    one('03', { ...issued, ...plain }),
    one('04', { ...received, ...plain }),
  ]
  const files = book.map((document) => ({
    name: `${document.uuid}.xml`,
    bytes: new TextEncoder().encode(xmlOf(document).replace('FormaPago="99"', 'FormaPago="03"')),
  }))
  const { body } = await post(of.owner, fiscal_entity_id, zipOf(files))
  await vi.waitUntil(async () => (await of.ask('GET', `${importsOf(fiscal_entity_id)}/${body.import_id}`)).body.status === 'completed', {
    timeout: 30_000,
    interval: 50,
  })
})

describe('a document of which one amount has more than 18 digits is in no figure, and is counted and listed', () => {
  it.each([
    ['/v1/cfdi/deductions', 1],
    ['/v1/cfdi/concentration?direction=issued', 1],
    ['/v1/cfdi/concentration?direction=received', 1],
    ['/v1/analytics/vat-position', 2],
    ['/v1/analytics/fx-exposure', 2],
  ])('in %s', async (path, count) => {
    const { status, body } = await of.ask(
      'GET',
      `${path}${path.includes('?') ? '&' : '?'}fiscal_entity_id=${fiscal_entity_id}&from=2026-05&to=2026-05`,
    )
    expect([status, JSON.stringify(body).match(/\d{17,}\.\d\d/)]).toEqual([200, null])
    expect(body.data_quality.not_counted).toBe(count)
    const { body: listed } = await of.ask('GET', body.data_quality.drilldown.not_counted)
    expect(listed.data).toHaveLength(count)
  })

  it.each([
    '/v1/cfdi/risk',
    '/v1/cfdi/withholdings',
    '/v1/analytics/financing',
    '/v1/analytics/concepts?direction=issued',
    '/v1/analytics/risk',
    '/v1/analytics/efos-exposure',
  ])('and %s answers', async (path) => {
    const { status } = await of.ask('GET', `${path}${path.includes('?') ? '&' : '?'}fiscal_entity_id=${fiscal_entity_id}`)
    expect(status).toBe(200)
  })

  it('the VAT of the month is that of the others', async () => {
    const { body } = await of.ask('GET', `/v1/analytics/vat-position?fiscal_entity_id=${fiscal_entity_id}&from=2026-05&to=2026-05`)
    expect(body.data[0]).toMatchObject({
      cobrado: { base_16: '100.00', iva_16: '16.00' },
      pagado: { base_16: '100.00', iva_16: '16.00' },
    })
  })
})
