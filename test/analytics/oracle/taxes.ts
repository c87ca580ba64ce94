import { exact, type Micros, micros, over, sum } from './amounts.ts'
import type { Document } from './world.ts'

/** A group of taxes of a document, in its currency. */
export interface Tax {
  kind: 'traslado' | 'retencion'
  impuesto: string
  factor: string | null
  /** In millionths; null for exempt, and for what a header withholds. */
  tasa: Micros | null
  base: Micros
  importe: Micros
}

type Stated = { impuesto: string; tipo_factor: string | null; tasa_o_cuota: string | null; base: string | null; importe: string | null }
type Taxes = { traslados: readonly Stated[]; retenciones: readonly Stated[] }

const rateOf = ({ tipo_factor, tasa_o_cuota }: Stated): Micros | null =>
  tipo_factor === 'Exento' || tasa_o_cuota === null ? null : micros(tasa_o_cuota)
const keyOf = (tax: Stated): string => `${tax.impuesto}|${tax.tipo_factor ?? 'Tasa'}|${rateOf(tax)}`

function groupsOf(kind: Tax['kind'], list: readonly Stated[], basesOf: (key: string) => Micros | null): Tax[] {
  const groups = Map.groupBy(list, (tax) => (kind === 'traslado' ? keyOf(tax) : tax.impuesto))
  return [...groups].map(([key, taxes]) => {
    const first = taxes[0]!
    const tasa = rateOf(first)
    const importe = sum(taxes.map((tax) => micros(tax.importe)))
    const stated = taxes.every(({ base }) => base !== null) ? sum(taxes.map(({ base }) => micros(base))) : basesOf(key)
    const base = stated ?? (tasa === null || tasa === 0n ? 0n : over(importe, exact(tasa)))
    return { kind, impuesto: first.impuesto, factor: first.tipo_factor ?? 'Tasa', tasa: kind === 'traslado' ? tasa : null, base, importe }
  })
}

/** The taxes of a payment's DoctoRelacionado, or of one line. */
export const statedTaxes = ({ traslados, retenciones }: Taxes): Tax[] => [
  ...groupsOf('traslado', traslados, () => null),
  ...groupsOf('retencion', retenciones, () => null),
]

/** The taxes of a document: the header's, with bases from the lines where it states none, and the groups that only lines have. */
export function taxesOf(document: Document): Tax[] {
  const header = document.impuestos ?? { traslados: [], retenciones: [] }
  const lines = document.conceptos.flatMap(({ impuestos }) => impuestos.traslados)
  const byGroup = Map.groupBy(lines, keyOf)
  const baseOfLines = (key: string) => {
    const group = byGroup.get(key)
    return group?.every(({ base }) => base !== null) ? sum(group.map(({ base }) => micros(base))) : null
  }
  const known = new Set(header.traslados.map(keyOf))
  return [
    ...groupsOf('traslado', header.traslados, baseOfLines),
    ...groupsOf(
      'traslado',
      lines.filter((tax) => !known.has(keyOf(tax))),
      () => null,
    ),
    ...groupsOf('retencion', header.retenciones, () => 0n),
  ]
}

export const IVA = '002'
export const IVA_FIGURES = ['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras', 'iva_otras'] as const
export type IvaFigure = (typeof IVA_FIGURES)[number]

/** What of a tax goes into which figure of the VAT position. */
export function ivaFigures({ kind, impuesto, factor, tasa, base, importe }: Tax): [IvaFigure, Micros][] {
  if (kind !== 'traslado' || impuesto !== IVA) return []
  if (factor === 'Exento') return [['base_exento', base]]
  if (tasa === 0n) return [['base_0', base]]
  const rate = tasa === 160_000n ? '16' : tasa === 80_000n ? '8' : 'otras'
  return [
    [`base_${rate}`, base],
    [`iva_${rate}`, importe],
  ]
}

/** The sum of some of the taxes. */
export const taxSum = (taxes: readonly Tax[], kind: Tax['kind'], impuesto: string): Micros =>
  sum(taxes.filter((tax) => tax.kind === kind && tax.impuesto === impuesto).map(({ importe }) => importe))
