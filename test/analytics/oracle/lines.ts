import { type Micros, micros, sum } from './amounts.ts'
import { IVA, type IvaFigure, ivaFigures, statedTaxes } from './taxes.ts'
import type { Document } from './world.ts'

type Line = Document['conceptos'][number]

/** What of the figures of IVA is told by lines alone, for third parties (ACuentaTerceros) and for what is not taxed. */
export const OF_LINES = ['base_no_objeto', 'base_sin_traslado'] as const
export const OF_THIRD_PARTIES = ['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_no_objeto'] as const
type OfThirdParties = (typeof OF_THIRD_PARTIES)[number]
export type LineFigure = 'tercero' | IvaFigure | (typeof OF_LINES)[number] | `tercero_${OfThirdParties}`

const netOf = ({ importe, descuento }: Line): Micros => micros(importe) - micros(descuento)
export const lineNet = (lines: readonly Line[]): Micros => sum(lines.map(netOf))

/** What lines amount to by their key of eight digits; empty for those without one. */
export const netsByClave = ({ conceptos }: Document): Map<string, Micros> =>
  new Map(
    [...Map.groupBy(conceptos, ({ clave_prod_serv }) => (/^\d{8}$/.test(clave_prod_serv ?? '') ? clave_prod_serv! : ''))].map(
      ([clave, lines]) => [clave, lineNet(lines)],
    ),
  )

/** ObjetoImp 01 is not subject to tax. 02 to 08 are, and may transfer nothing. */
const isNotSubject = ({ objeto_imp }: Line): boolean => objeto_imp === '01'
const isNotTransferred = ({ objeto_imp, impuestos }: Line): boolean =>
  objeto_imp !== null && objeto_imp >= '02' && objeto_imp <= '08' && impuestos.traslados.every(({ impuesto }) => impuesto !== IVA)

const of = (lines: readonly Line[], is: (line: Line) => boolean): Micros => lineNet(lines.filter(is))

/** What the lines of a document say that its header does not, in its currency. */
export function lineFiguresOf({ conceptos }: Document): [LineFigure, Micros][] {
  const others = conceptos.filter(({ a_cuenta_terceros_rfc }) => a_cuenta_terceros_rfc !== null)
  const figures = others.flatMap(({ impuestos }) => statedTaxes(impuestos).flatMap(ivaFigures))
  const isMeant = (name: IvaFigure): name is IvaFigure & OfThirdParties => (OF_THIRD_PARTIES as readonly string[]).includes(name)
  return [
    ['base_no_objeto', of(conceptos, isNotSubject)],
    ['base_sin_traslado', of(conceptos, isNotTransferred)],
    ['tercero', of(others, () => true)],
    ['tercero_base_no_objeto', of(others, isNotSubject)],
    ...figures.flatMap(([name, amount]): [LineFigure, Micros][] => (isMeant(name) ? [[`tercero_${name}`, amount]] : [])),
  ]
}
