import { listedAmong } from '../../lists/listings/listing.ts'
import type { Ctx } from '../../platform/context.ts'
import { decimal } from '../../platform/money.ts'
import { REGIONS } from '../reports/parts/month.ts'
import { CASH_FIGURES, IVA_FIGURES, RETURNED_FIGURES } from '../reports/parts/statements.ts'
import { addUp, nameOf, type Of } from '../reports/rows/sums.ts'

/** The suppliers of cells that are definitive under article 69-B today. One call to the control database. */
export async function definitiveAmong(
  { db, organization }: Ctx,
  cells: readonly Pick<Of<'cash'>, 'rfc'>[],
  today: string,
): Promise<ReadonlySet<string>> {
  const rfcs = [...new Set(cells.map(({ rfc }) => String(rfc)))]
  const { listings } = await listedAmong({ db, organization_id: organization.id }, rfcs, today, ['sat_69b'])
  return new Set([...listings].flatMap(([rfc, all]) => (all.some(({ situacion }) => situacion === 'definitivo') ? [rfc] : [])))
}

const NATIONAL = '04'
const FOREIGN = { rfc: 'XEXX010101000', tercero: '05' } as const
const GLOBAL = { tercero: '15', operacion: '87', before: '85', since: '2025-01' } as const

/** What the border regions tell apart, of the rate of 8 %. */
const REGIONAL = ['base_8', 'iva_8', 'devuelto_base_8', 'devuelto_iva_8'] as const

/** The cells of a third party and kind of operation in a month. */
interface Operations {
  period: string
  /** Null for suppliers that are grouped as global. */
  rfc: string | null
  tipo_operacion: string
  cells: Of<'cash'>[]
}

function operationsIn(cells: readonly Of<'cash'>[], global: readonly string[]): Operations[] {
  const found = new Map<string, Operations>()
  for (const cell of cells) {
    const [period, operacion, of] = [String(cell.of), String(cell.operacion), String(cell.rfc)]
    const rfc = global.includes(of) ? null : of
    const tipo_operacion = rfc === null ? (period < GLOBAL.since ? GLOBAL.before : GLOBAL.operacion) : operacion
    const key = `${period}|${rfc ?? ''}|${tipo_operacion}`
    const operations = found.get(key) ?? { period, rfc, tipo_operacion, cells: [] }
    operations.cells.push(cell)
    found.set(key, operations)
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, operations]) => operations)
}

/** The operations with each supplier in a month. Nothing of `definitive` suppliers can be credited; those in `global` are one third party. */
export const diot = (cells: readonly Of<'cash'>[], definitive: ReadonlySet<string>, global: readonly string[]) =>
  operationsIn(cells, global).map(({ period, rfc, tipo_operacion, cells: all }) => {
    const lostOf = (cell: Of<'cash'>, name: (typeof IVA_FIGURES)[number]): bigint =>
      definitive.has(String(cell.rfc)) ? BigInt(cell[name]) - BigInt(cell[`devuelto_${name}`]) : BigInt(cell[`no_acreditable_${name}`])
    const creditsOf = (name: (typeof IVA_FIGURES)[number], some: readonly Of<'cash'>[], suffix = '') => {
      const whole = addUp(some, name) - addUp(some, `devuelto_${name}`)
      const lost = some.reduce((sum, cell) => sum + lostOf(cell, name), 0n)
      return { [`no_acreditable_${name}${suffix}`]: decimal(lost), [`acreditable_${name}${suffix}`]: decimal(whole - lost) }
    }
    const regional = REGIONS.map((region) => {
      const some = all.filter((cell) => cell.region === region)
      const sums = REGIONAL.map((name) => [`${name}_${region}`, decimal(addUp(some, name))])
      return { ...Object.fromEntries(sums), ...creditsOf('iva_8', some, `_${region}`) }
    })
    return {
      ...{ period, rfc, name: rfc === null ? null : nameOf(all) },
      ...{ tipo_tercero: rfc === null ? GLOBAL.tercero : rfc === FOREIGN.rfc ? FOREIGN.tercero : NATIONAL, tipo_operacion },
      ...(Object.fromEntries(CASH_FIGURES.map((name) => [name, decimal(addUp(all, name))])) as Record<
        (typeof CASH_FIGURES)[number],
        string
      >),
      ...Object.assign({}, ...IVA_FIGURES.map((name) => creditsOf(name, all)), ...regional),
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
