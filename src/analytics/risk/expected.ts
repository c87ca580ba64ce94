import type { WithholdingClass } from '../../authority/rules/withholding-classes.ts'
import { ratioOf } from '../../platform/decimal.ts'
import type { Micros } from '../../platform/money.ts'

const part = (of: Micros, { numerator, denominator }: { numerator: number; denominator: number }): Micros | null => {
  const expected = ratioOf(of * BigInt(numerator), String(denominator))
  return expected > 0n ? expected : null
}

/** What a class withholds of a net amount and its IVA. Null for nothing. */
export const expectedOf = ({ isr, iva }: WithholdingClass, net: Micros, transferred: Micros) => ({
  isr: isr && part(net, isr),
  iva: iva && part(iva.of === 'net' ? net : transferred, iva),
})

/** The product key with the largest amount, the first of equals (cfdi/products.ts). */
export function mainKeyOf(products: string | null): string | null {
  let [largest, key]: [Micros | null, string | null] = [null, null]
  for (const one of products?.split(',') ?? []) {
    const [name = '', amount = '0'] = one.split('=')
    if (largest === null || BigInt(amount) > largest) [largest, key] = [BigInt(amount), name]
  }
  return key
}
