import { rateOf } from '../../cfdi/totals.ts'
import type { System } from '../../platform/context.ts'
import type { Micros } from '../../platform/money.ts'
import { inPesos, parseUnrated, ratesOf, type Unrated } from '../common/unrated.ts'

/** An invoice or credit note that is converted by itself. */
export interface ConvertedDocument extends Unrated {
  rfc: string
  /** MXN for one unit of its currency. */
  rate: string
  /** Whether the document does not state it. */
  isDof: boolean
  sign: 1n | -1n
}

/** Parses lists that `foreignJson` selected, separated by commas, and leaves out documents without any rate. At most one D1 call. */
export async function documentsOf(system: System, texts: readonly (string | null)[]): Promise<ConvertedDocument[]> {
  const all = texts.flatMap((text) =>
    (JSON.parse(`[${text ?? ''}]`) as [string, string | null, unknown][]).map(([rfc, tipo_cambio, list]) => {
      const [one] = parseUnrated(JSON.stringify(list))
      return { ...one!, rfc, rate: rateOf(one!.currency, tipo_cambio), sign: one!.tipo === 'E' ? (-1n as const) : (1n as const) }
    }),
  )
  const unrated = all.filter(({ rate }) => rate === null)
  const rates = new Map((await ratesOf(system, unrated)).map((rate, n) => [unrated[n]!.uuid, rate]))
  return all.flatMap((one) => {
    const rate = one.rate ?? rates.get(one.uuid) ?? null
    return rate === null || inPesos(one.net, rate) === null ? [] : [{ ...one, rate, isDof: one.rate === null }]
  })
}

/** An amount in the document’s currency as the figures have it: in MXN, rounded once, of a credit note negative. */
export const pesosOf = ({ rate, sign }: Pick<ConvertedDocument, 'rate' | 'sign'>, own: Micros): Micros => (inPesos(own, rate) ?? 0n) * sign

/** The amounts of the product keys of a document, in its currency. The key is empty where lines have none of eight digits. */
export const productsOf = ({ products, net }: Pick<Unrated, 'products' | 'net'>): [key: string, own: Micros][] =>
  (products ?? '').split(',').map((one) => {
    const [key = '', amount] = one.split('=')
    return [key, amount === undefined ? net : BigInt(amount)]
  })

/** The sum of what belongs to some keys. */
export const ownOf = (document: Pick<Unrated, 'products' | 'net'>, isMeant: (key: string) => boolean): Micros =>
  productsOf(document).reduce((sum, [key, own]) => (isMeant(key) ? sum + own : sum), 0n)
