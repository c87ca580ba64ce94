import { partsOf } from '../../cfdi/chunks/chunks.ts'
import { contentOf } from '../../cfdi/chunks/content.ts'
import { addTax, type Groups, transferred } from '../../cfdi/taxes/breakdown.ts'
import type { Concepto } from '../../cfdi/xml/document.ts'
import type { System } from '../../platform/context.ts'
import { dividedBy, type Micros, micros } from '../../platform/money.ts'
import { sumAll } from '../common/figures.ts'
import { type ConvertedDocument, documentsOf, pesosOf } from './documents.ts'
import type { LineSource } from './store.ts'

export const MIXES = ['16', '8', '0', 'exento', 'otras', 'no_objeto'] as const
export type Mix = (typeof MIXES)[number]

/** A line of an invoice or credit note. Amounts are in millionths. */
export interface ConceptLine {
  document: ConvertedDocument
  /** ClaveProdServ, empty without one of eight digits. */
  clave: string
  /** Descripcion with single spaces; empty without. */
  text: string
  /** importe − descuento in the document’s currency. */
  own: Micros
  /** Of a credit note negative. */
  quantity: Micros
  unit: string | null
  /** MXN for one unit. Null on credit notes and without a quantity. */
  price: Micros | null
  /** What `price` is of, in MXN. */
  amount: Micros
  mix: Mix
}

const KEY = /^\d{8}$/

/** The rate of IVA that a line transfers. */
function mixOf({ impuestos: { traslados } }: Concepto): Mix {
  const groups: Groups = new Map()
  for (const tax of traslados) addTax(groups, tax)
  const [first] = groups
  if (!first) return 'no_objeto'
  const one = { ...first[1], base: 1n, importe: 1n, hasBase: true }
  const { base_16, base_8, base_0, base_exento } = transferred(new Map([[first[0], one]]), new Map())
  return base_16 ? '16' : base_8 ? '8' : base_0 ? '0' : base_exento ? 'exento' : 'otras'
}

function lineOf(document: ConvertedDocument, line: Concepto): ConceptLine {
  const own = (micros(line.importe) ?? 0n) - (micros(line.descuento) ?? 0n)
  const amount = pesosOf(document, own)
  const quantity = (micros(line.cantidad) ?? 0n) * document.sign
  return {
    ...{ document, clave: KEY.test(line.clave_prod_serv ?? '') ? line.clave_prod_serv! : '', own, amount, quantity },
    ...{ text: (line.descripcion ?? '').trim().replace(/\s+/g, ' '), unit: line.clave_unidad, mix: mixOf(line) },
    price: document.sign > 0n && Number(line.cantidad ?? 0) > 0 ? dividedBy(amount, line.cantidad!) : null,
  }
}

/** How many lines are read. A few invoices can have hundreds of thousands, which would keep others waiting. */
export const MOST_LINES = 50_000

/** Reads the lines that `lineStatements` selected. Null when there are too many documents or lines. At most one D1 call. */
export async function linesOf(system: System, found: readonly unknown[][]): Promise<ConceptLine[] | null> {
  const lines: ConceptLine[] = []
  for (let n = 0; n < found.length; n += 2) {
    const [sources, chunks] = [found[n]!, found[n + 1]!] as [LineSource[], { chunk: number; data: string }[]]
    if (sources.length > 0 && chunks.length === 0) return null
    const documents = new Map(
      (
        await documentsOf(
          system,
          sources.map(({ document }) => document),
        )
      ).map((one) => [one.uuid, one]),
    )
    const data = new Map(chunks.map((one) => [one.chunk, one.data]))
    for (const [chunk, some] of Map.groupBy(sources, (one) => one.chunk)) {
      const parts = partsOf(Array.from({ length: some[0]!.chunk_parts }, (_, at) => data.get(chunk + at)!))
      for (const { document, chunk_at } of some) {
        const converted = documents.get(uuidOf(document))
        if (converted) for (const line of contentOf(parts[chunk_at]).conceptos) lines.push(lineOf(converted, line))
      }
      if (lines.length > MOST_LINES) return null
    }
  }
  return lines
}

const uuidOf = (json: string): string => (JSON.parse(json) as [unknown, unknown, [string]])[2][0]

/** What lines add up to in MXN, rounded once for each document. */
export const amountOf = (lines: readonly ConceptLine[]): Micros => sumAll(byDocument(lines).map(({ amount }) => amount))

/** What lines add up to by document. */
export const byDocument = (lines: readonly ConceptLine[]): { document: ConvertedDocument; amount: Micros }[] =>
  [...Map.groupBy(lines, ({ document }) => document)].map(([document, some]) => ({
    document,
    amount: pesosOf(document, sumAll(some.map(({ own }) => own))),
  }))
