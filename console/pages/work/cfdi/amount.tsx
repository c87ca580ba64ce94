import type { Cfdi } from '../../../api/routes.d.ts'
import { decimal, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { words } from './words.ts'

type Of = Pick<Cfdi, 'currency' | 'has_xml'>

/** Whether nobody knows in which currency the amounts of a document are: the authority's list has none. An XML without one is in pesos. */
export const isUnknownCurrency = ({ currency, has_xml }: Of): boolean => currency === null && !has_xml

/** An amount in the currency of a document, without a sign where that is not known. */
export function Amount({ of, amount }: { of: Of; amount: string | null }) {
  const t = useWords(words)
  if (amount === null || !isUnknownCurrency(of)) return <>{money(amount, of.currency)}</>
  return <span title={t.unknownCurrency}>{decimal(amount)}</span>
}
