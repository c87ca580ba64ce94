import type { System } from '../../platform/context.ts'
import type { Day } from '../../platform/time/calendar.ts'
import type { Rules } from './dated.ts'
import { findLabels } from './store.ts'

const KEY_DIGITS = 8

/**
 * Whether c_UsoCFDI opens a use to a receiver's regime, and to companies or natural persons. Null when the use or the regime is unknown.
 */
export function isUsoAllowed(rules: Rules, day: Day, uso: string, regimen: string, isCompany: boolean): boolean | null {
  const on = rules.on(day)
  const row = on.find('catalog.uso_cfdi')?.[uso]
  if (!row || on.find('catalog.regimen_fiscal')?.[regimen] === undefined) return null
  const isInForce = row.valid_from <= day && (row.valid_to === null || day <= row.valid_to)
  return isInForce && (isCompany ? row.moral : row.fisica) && row.regimenes.includes(regimen)
}

/**
 * Returns the Spanish labels of segments (2 digits), families (4), classes (6) and keys (8) of c_ClaveProdServ; null where none is known.
 * Takes one D1 call for classes and keys, none for the others.
 */
export async function labelsOf(system: System, rules: Rules, codes: readonly string[]): Promise<Map<string, string | null>> {
  const known = rules.find('catalog.clave_prod_serv') ?? {}
  // The authority lists a class as a key that ends in 00.
  const keyOf = (code: string): string => code.padEnd(KEY_DIGITS, '0')
  const asked = codes.filter((code) => code.length > 4 && known[code] === undefined)
  const found = asked.length === 0 ? [] : (await findLabels(system.db.$client, asked.map(keyOf))).results
  const loaded = new Map(found.map(({ key, label }) => [key, label]))
  return new Map(codes.map((code) => [code, known[code] ?? (code.length > 4 ? (loaded.get(keyOf(code)) ?? null) : null)]))
}
