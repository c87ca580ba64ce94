import type { Rules } from '../../../authority/rules/dated.ts'
import { withholdingClassOf } from '../../../authority/rules/withholding-classes.ts'
import type { CashRow } from './statements.ts'

const OPERATIONS: Readonly<Record<string, string>> = { honorarios: '03', arrendamiento: '06' }
const OTHER = '85'

/** The key with the largest amount, the first of equals, of `products` of a document. */
function largestKey(products: string | null): string | null {
  let [largest, key]: [bigint | null, string | null] = [null, null]
  for (const one of products?.split(',') ?? []) {
    const [clave = '', amount = '0'] = one.split('=')
    if (largest !== null && BigInt(amount) <= largest) continue
    largest = BigInt(amount)
    key = clave
  }
  return key
}

const isCompany = (rfc: string): boolean => [...rfc].length === 12

/** The kind of operation of DIOT: that of the class of what a supplier bills to a company (insights.md 8.2). */
export function operationOf(rules: Rules, own: string, { rfc, regimen, products }: Pick<CashRow, 'rfc' | 'regimen' | 'products'>): string {
  if (!isCompany(own)) return OTHER
  const found = withholdingClassOf(rules, { isPerson: !isCompany(rfc), regimen, clave: largestKey(products) })
  return (found && OPERATIONS[found.class]) ?? OTHER
}
