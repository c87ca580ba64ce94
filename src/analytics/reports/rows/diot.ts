import { decimal } from '../../../platform/money.ts'
import { CASH_FIGURES, IVA_FIGURES, RETURNED_FIGURES } from '../parts/statements.ts'
import { addUp, nameOf, type Of } from './sums.ts'

const NATIONAL = '04'
const FOREIGN = { rfc: 'XEXX010101000', tercero: '05' } as const
const GLOBAL = { tercero: '15', operacion: '87', before: '85', since: '2025-01' } as const

/** The operations with each supplier in a month. Nothing of `definitive` suppliers can be credited; those in `global` are one third party. */
export const diot = (cells: readonly Of<'cash'>[], definitive: ReadonlySet<string>, global: readonly string[]) =>
  [
    ...Map.groupBy(cells, ({ of, rfc, operacion }) =>
      global.includes(String(rfc)) ? `${of}||${of < GLOBAL.since ? GLOBAL.before : GLOBAL.operacion}` : `${of}|${rfc}|${operacion}`,
    ),
  ]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, list]) => {
      const [period = '', rfc = '', tipo_operacion = ''] = key.split('|')
      const paid = Object.fromEntries(CASH_FIGURES.map((name) => [name, addUp(list, name)])) as Record<
        (typeof CASH_FIGURES)[number],
        bigint
      >
      const credited = IVA_FIGURES.map((name) => {
        const whole = paid[name] - paid[`devuelto_${name}`]
        const lost = list.reduce(
          (all, cell) =>
            all +
            (definitive.has(String(cell.rfc))
              ? BigInt(cell[name]) - BigInt(cell[`devuelto_${name}`])
              : BigInt(cell[`no_acreditable_${name}`])),
          0n,
        )
        return { [`no_acreditable_${name}`]: decimal(lost), [`acreditable_${name}`]: decimal(whole - lost) }
      })
      return {
        ...{ period, rfc: rfc || null, name: rfc === '' ? null : nameOf(list) },
        ...{ tipo_tercero: rfc === '' ? GLOBAL.tercero : rfc === FOREIGN.rfc ? FOREIGN.tercero : NATIONAL, tipo_operacion },
        ...(Object.fromEntries(CASH_FIGURES.map((name) => [name, decimal(paid[name])])) as Record<(typeof CASH_FIGURES)[number], string>),
        ...Object.assign({}, ...credited),
      }
    })

const ZERO = '0.00'

/** Links from the figures of a row, where they are not zero, to the documents that add up to them. */
export function diotDrilldown(
  row: Record<string, unknown>,
  entries: (figure: string, more?: Record<string, string>) => string,
): Record<string, string> {
  const linkOf = (figure: string): string => {
    if (figure.startsWith('devuelto_')) return entries(`pagado.${figure.slice('devuelto_'.length)}`, { returned: 'true' })
    const isGross = (RETURNED_FIGURES as readonly string[]).includes(figure)
    return entries(`pagado.${figure === 'iva_retenido' ? 'retenido_a_terceros' : figure}`, isGross ? { returned: 'false' } : {})
  }
  const lost = IVA_FIGURES.map((name) => `no_acreditable_${name}`).filter((name) => row[name] !== ZERO)
  return {
    ...Object.fromEntries(
      CASH_FIGURES.filter((figure) => row[figure] !== ZERO && !figure.startsWith('no_')).map((figure) => [figure, linkOf(figure)]),
    ),
    ...(lost.length === 1 ? { [lost[0]!]: entries('no_deducible_excluded') } : {}),
  }
}
