import { WITHHOLDING_KEYS } from './contract.ts'
import type { Rules, RuleValues } from './dated.ts'

export type WithholdingClass = RuleValues['withholding.honorarios']

/** Whether a key of c_ClaveProdServ begins with one of these. */
export const isAmong = (clave: string, prefixes: readonly string[]): boolean => prefixes.some((prefix) => clave.startsWith(prefix))

/** Whether a key that may be unknown is among those of a rule; null stands for all keys. */
export const fits = (clave: string | null, prefixes: readonly string[] | null): boolean =>
  prefixes === null || (clave !== null && isAmong(clave, prefixes))

/** Returns the classes in force, in the order in which they are tried. */
export const withholdingClasses = (rules: Rules): WithholdingClass[] =>
  WITHHOLDING_KEYS.flatMap((key) => rules.find(key) ?? []).sort((a, b) => a.priority - b.priority)

/**
 * Returns the withholding class of a CFDI that a company receives: the first that fits its issuer and the key of its largest line, or null
 * for the class `otros`, without withholding. If the class withholds IVA only for certain keys, it is null for others.
 */
export function withholdingClassOf(
  rules: Rules,
  { isPerson, regimen, clave }: { isPerson: boolean; regimen: string | null; clave: string | null },
): WithholdingClass | null {
  const found = withholdingClasses(rules).find(
    ({ emisor, detection }) =>
      (emisor === 'any' || isPerson) &&
      detection.some((one) => (one.emisor_regimenes?.includes(regimen ?? '') ?? true) && fits(clave, one.claves)),
  )
  return found ? { ...found, iva: found.iva && fits(clave, found.iva.claves) ? found.iva : null } : null
}

/** Returns the kind of operation of the DIOT of what a supplier bills: the first that fits its regime and the key of its largest line. */
export const operationOf = (rules: Rules, { regimen, clave }: { regimen: string | null; clave: string | null }): string =>
  rules
    .get('diot.operation')
    .find(({ emisor_regimenes, claves }) => (emisor_regimenes?.includes(regimen ?? '') ?? true) && fits(clave, claves))!.operacion
