import type { Rules, RuleValues } from './dated.ts'

export type WithholdingClass = RuleValues['withholding.honorarios']

const KEYS = [
  'withholding.autotransporte',
  'withholding.resico_pf',
  'withholding.arrendamiento',
  'withholding.comision',
  'withholding.honorarios',
] as const

/** Whether a key of c_ClaveProdServ begins with one of these. */
export const isAmong = (clave: string, prefixes: readonly string[]): boolean => prefixes.some((prefix) => clave.startsWith(prefix))

/**
 * Returns the withholding class of a CFDI that a company receives (insights.md 8.2): the first that fits its issuer and the keys of its
 * lines, or null for the class `otros`, of which nothing is withheld.
 */
export function withholdingClassOf(
  rules: Rules,
  { isPerson, regimen, claves }: { isPerson: boolean; regimen: string | null; claves: readonly string[] },
): WithholdingClass | null {
  const classes = KEYS.flatMap((key) => rules.find(key) ?? []).sort((a, b) => a.priority - b.priority)
  return (
    classes.find(
      (one) =>
        (one.emisor === 'any' || isPerson) &&
        (one.emisor_regimenes === null || (regimen !== null && one.emisor_regimenes.includes(regimen))) &&
        (one.claves === null || claves.some((clave) => isAmong(clave, one.claves!))),
    ) ?? null
  )
}
