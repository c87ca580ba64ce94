import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addProducts, LineProducts, mainKeyOf, parseProducts, writeProducts } from '../../src/cfdi/products.ts'
import { type Countable, contribution } from '../../src/cfdi/totals.ts'

const row = (more: Partial<Countable> & { products: string | null }) => ({
  ...{ kind: 'cfdi', version: '4.0', fecha: '2026-01-07T10:00:00', tipo_comprobante: 'I', metodo_pago: 'PUE', estatus: 'vigente' },
  ...{ substituted_from: null, emisor_rfc: 'A', receptor_rfc: 'B', currency: 'MXN', tipo_cambio: null, subtotal: '10.00', descuento: null },
  ...{ total: '11.60', iva_trasladado: null, iva_retenido: null, isr_retenido: null, ieps_trasladado: null },
  ...more,
})
const added = (...rows: ReturnType<typeof row>[]) => {
  const products = parseProducts('{}')!
  for (const one of rows) addProducts(products, one, contribution(one)!, 1)
  return products
}
const line = (
  clave_prod_serv: string | null,
  importe: string,
  descuento: string | null = null,
  cantidad: string | null = '1',
  clave_unidad = 'H87',
) => ({
  ...{ clave_prod_serv, importe, descuento, cantidad, clave_unidad },
})
const textOf = (lines: ReturnType<typeof line>[], more: Partial<Countable> = {}) => {
  const products = new LineProducts()
  for (const one of lines) products.add(one)
  return products.textOf(row({ ...more, products: null }))
}

describe('the sums over the lines of a document', () => {
  it('are one key where that has the whole amount, and otherwise name every amount', () => {
    expect(textOf([line('84111506', '4.00'), line('84111506', '6.00')])).toBe('84111506')
    expect(textOf([line('84111506', '12.00', '2.00')])).toBe('84111506')
    expect(textOf([line('84111506', '4.00')])).toBe('84111506=4000000')
    expect(textOf([line('84111506', '4.00'), line('43211503', '6.00')])).toBe('84111506=4000000,43211503=6000000')
    expect(textOf([line('8411150', '4.00'), line(null, '6.00')])).toBe('')
    expect(textOf([])).toBeNull()
    expect(textOf([line('84111506', '10.00')], { tipo_comprobante: 'P' })).toBeNull()
  })

  it('name how many vehicles there are of a key, and each cost where they differ', () => {
    expect(textOf([line('25101503', '10.00')])).toBe('25101503')
    expect(textOf([line('25101503', '10.00', null, '2')])).toBe('25101503x2=10000000')
    expect(textOf([line('25101503', '4.00'), line('25101503', '8.00', null, '2'), line('84111506', '1.00')])).toBe(
      '25101503x3=12000000,84111506=1000000',
    )
    const mixed = textOf([line('25101503', '4.00'), line('25101503', '8.00', null, '2'), line('25101503', '6.00')])
    expect(mixed).toBe('25101503x3@12000000|25101503@6000000=18000000')
    expect(mainKeyOf(`84111506=17000000,${mixed}`)).toBe('25101503')
    expect(writeProducts(added(row({ products: mixed })))).toBe('{"I|25101503":[1,0,"18000000"]}')
    const fleet = (count: number) => textOf(Array.from({ length: count }, (_, n) => line('25101503', `${n + 1}.00`)))!
    expect([fleet(100).split('|').length, fleet(101)]).toEqual([100, '25101503x0=5151000000'])
    const fleets = textOf([3, 4, 5, 6].flatMap((key) => Array.from({ length: 100 }, (_, n) => line(`2510150${key}`, `${n + 1}.00`))))!
    expect(fleets.split(',').map((one) => one.split('|').length)).toEqual([100, 100, 100, 1])
    expect(fleets.split(',')[3]).toBe('25101506x0=5050000000')
    expect(mainKeyOf('25101503x2=10000000,84111506=1000000')).toBe('25101503')
    expect(writeProducts(added(row({ products: '25101503x2=10000000' })))).toBe('{"I|25101503":[1,0,"10000000"]}')
  })

  it('name how many days a car is rented, and 0 where they are not known', () => {
    expect(textOf([line('78111808', '10.00', null, '5', 'DAY')])).toBe('78111808x5=10000000')
    expect(textOf([line('78111808', '10.00', null, '1', 'MON')])).toBe('78111808x0=10000000')
    expect(textOf([line('78111808', '10.00', null, '1.5', 'DAY')])).toBe('78111808x0=10000000')
    expect(textOf([line('78111808', '4.00', null, '1', 'DAY'), line('78111808', '6.00', null, '1', 'DAY')])).toBe(
      '78111808@4000000|78111808@6000000=10000000',
    )
    expect(textOf([line('78111808', '4.00', null, '2', 'DAY'), line('78111808', '6.00', null, '1', 'MON')])).toBe(
      '78111808x2@4000000|78111808x0@6000000=10000000',
    )
  })

  it('count in their month in MXN while the document counts', () => {
    expect(writeProducts(added(row({ products: '84111506' })))).toBe('{"I|84111506":[1,0,"10000000"]}')
    const dollars = row({ products: '84111506=4000000,=6000000', currency: 'USD', tipo_cambio: '20', tipo_comprobante: 'E' })
    expect(writeProducts(added(dollars))).toBe('{"E|":[1,0,"120000000"],"E|84111506":[1,0,"80000000"]}')
    expect(writeProducts(added({ ...dollars, tipo_cambio: null }))).toBe('{"E|":[1,1,"0"],"E|84111506":[1,1,"0"]}')
    expect(writeProducts(added(row({ products: '84111506', estatus: 'cancelado' }), row({ products: '1', substituted_from: 1 })))).toBe(
      '{}',
    )
  })

  it('leave nothing of a document that is taken out again', () => {
    const drawn = fc.record({
      keys: fc.array(fc.tuple(fc.constantFrom('84111506', '43211503', 'x'), fc.integer({ min: 0, max: 9_999 })), {
        minLength: 1,
        maxLength: 5,
      }),
      currency: fc.constantFrom('MXN', 'USD'),
      tipo_cambio: fc.constantFrom(null, '17.25'),
    })
    fc.assert(
      fc.property(fc.array(drawn, { maxLength: 8 }), drawn, (others, one) => {
        const of = ({ keys, ...rate }: typeof one) =>
          row({ ...rate, products: textOf(keys.map(([key, cents]) => line(key, (cents / 100).toFixed(2)))) })
        const without = writeProducts(added(...others.map(of)))
        const products = added(...others.map(of), of(one))
        addProducts(products, of(one), contribution(of(one))!, -1)
        expect(writeProducts(products)).toBe(without)
        expect(writeProducts(parseProducts(without))).toBe(without)
      }),
    )
  })

  it('are no longer kept of a month with more than 30,000 keys, whose row would grow too long', () => {
    const products = parseProducts('{}')!
    for (let n = 0; n <= 30_000; n++) products.set(`I|${10_000_000 + n}`, { documents: 1, not_counted: 0, amount: 10n ** 24n - 1n })
    expect(writeProducts(products)).toBeNull()
    products.delete('I|10000000')
    expect(writeProducts(products)!.length).toBeLessThan(1_600_000)
    expect([parseProducts(null), writeProducts(null)]).toEqual([null, null])
  })
})
