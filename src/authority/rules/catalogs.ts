import type { System } from '../../platform/context.ts'
import type { Rules } from './dated.ts'
import { findLabels } from './store.ts'

const KEY_DIGITS = 8

/**
 * Returns the Spanish labels of segments (2 digits), families (4), classes (6) and keys (8) of c_ClaveProdServ; null where none is known.
 * Takes one D1 call for classes and keys, none for the others.
 */
export async function labelsOf(system: System, rules: Rules, codes: readonly string[]): Promise<Map<string, string | null>> {
  const known = rules.find('catalog.clave_prod_serv') ?? {}
  // The authority lists a class as a key that ends in 00.
  const keyOf = (code: string): string => code.padEnd(KEY_DIGITS, '0')
  const asked = codes.filter((code) => code.length > 4 && known[code] === undefined)
  const found = asked.length === 0 ? [] : await findLabels(system.db.$client, asked.map(keyOf))
  const loaded = new Map(found.map(({ key, label }) => [key, label]))
  return new Map(codes.map((code) => [code, known[code] ?? (code.length > 4 ? (loaded.get(keyOf(code)) ?? null) : null)]))
}
