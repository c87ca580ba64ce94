import type { Rules } from './dated.ts'
import { fits } from './withholding-classes.ts'

/** Returns the kind of operation of the DIOT of what a supplier bills: the first that fits its regime and the key of its largest line. */
export const operationOf = (rules: Rules, { regimen, clave }: { regimen: string | null; clave: string | null }): string =>
  rules
    .get('diot.operation')
    .find(({ emisor_regimenes, claves }) => (emisor_regimenes?.includes(regimen ?? '') ?? true) && fits(clave, claves))!.operacion
