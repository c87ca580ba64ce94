import { plain } from './due-rule.ts'

/** What is declared with a return: a tax, the ISR withheld from wages, or the operations with suppliers (DIOT). */
export type Declared = 'iva' | 'isr' | 'ieps' | 'isr_salarios' | 'diot'

/** The first that fits decides. Null is what no return shows. */
const WORDS: readonly (readonly [words: RegExp, declared: Declared | null])[] = [
  [/\bdiot\b|proveedores|operaciones con terceros/, 'diot'],
  [/informativa/, null],
  [/(retenci|entero).*(sueldos|salarios)/, 'isr_salarios'],
  [/retenci/, null],
  [/\biva\b|valor agregado/, 'iva'],
  [/\bieps\b|especial sobre produccion/, 'ieps'],
  [/\bisr\b|sobre la renta/, 'isr'],
]

/** Returns what a text of the authority names, such as the description of an obligation; null when that is nothing known. */
export function declaredBy(text: string): Declared | null {
  const words = plain(text).replaceAll('_', ' ')
  return WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? null
}

/**
 * Returns whether a return shows that something is declared: its `impuesto` names it, alone or between commas, or there is an amount of it
 * (`isr_a_cargo`, `iva_a_favor`).
 */
export const shows = (attributes: Readonly<Record<string, string>>, declared: Declared): boolean =>
  [...(attributes['impuesto'] ?? '').split(','), ...Object.keys(attributes).filter((name) => /_a_(cargo|favor)$/.test(name))].some(
    (text) => declaredBy(text) === declared,
  )
