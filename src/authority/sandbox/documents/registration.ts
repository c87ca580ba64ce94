import type { TaxObligation, TaxRegime } from '../../port/fields-contract.ts'
import { addMonths } from '../world/places.ts'
import { isDue, random } from '../world/seed.ts'
import { isCompany, type Taxpayer } from '../world/taxpayers.ts'

const REGIMES: Record<string, string> = {
  '601': 'Régimen General de Ley Personas Morales',
  '606': 'Régimen de Arrendamiento',
  '612': 'Régimen de las Personas Físicas con Actividades Empresariales y Profesionales',
  '626': 'Régimen Simplificado de Confianza',
}
const STREETS = ['AVENIDA JUAREZ', 'CALLE REFORMA', 'CALLE HIDALGO', 'AVENIDA INSURGENTES', 'CALLE 5 DE MAYO', 'CALLE MORELOS']
const NEIGHBORHOODS = ['CENTRO', 'DEL VALLE', 'LAS FLORES', 'SAN JOSE', 'INDUSTRIAL']

/** A taxpayer moves, within its postal code, once in so many months. */
const MOVES_EVERY = 40

export const startOf = ({ rfc }: Taxpayer): string => `201${random(`${rfc}|start`).int(0, 7)}-03-01`

/** The month in which the taxpayer got its second regime or, as a company, its first employees. */
const grownAt = ({ rfc }: Taxpayer): string => {
  const draws = random(`${rfc}|grown`)
  return `${draws.int(2019, 2026)}-${String(draws.int(1, 12)).padStart(2, '0')}-01`
}

export function addressAt({ rfc, place }: Taxpayer, day: string) {
  let month = day.slice(0, 7)
  while (!isDue(`${rfc}|moves`, month, MOVES_EVERY)) month = addMonths(month, -1)
  const draws = random(`${rfc}|address|${month}`)
  return {
    moved_on: `${month}-01`,
    codigo_postal: place.codigo_postal,
    calle: draws.pick(STREETS),
    numero: String(draws.int(1, 990)),
    interior: draws.chance(0.3) ? String(draws.int(1, 40)) : '',
    colonia: draws.pick(NEIGHBORHOODS),
    municipio: place.municipio.toUpperCase(),
    entidad: place.entidad.toUpperCase(),
    entre: draws.pick(STREETS),
    y: draws.pick(STREETS),
  }
}

/** The regimes of a day. 626 exists since 2022; who has it had 612 before. */
export function regimesAt(self: Taxpayer, day: string): (TaxRegime & { code: string })[] {
  const regime = (code: string, from: string) => ({ code, name: REGIMES[code]!, from, to: null })
  const grown = grownAt(self)
  return [
    self.regimen === '626' && day >= '2022'
      ? regime('626', '2022-01-01')
      : regime(self.regimen === '626' ? '612' : self.regimen, startOf(self)),
    ...(isCompany(self.rfc) || day < grown ? [] : [regime('606', grown)]),
  ]
}

const ON_THE_17TH = 'A más tardar el día 17 del mes inmediato posterior al periodo que corresponda.'

export function obligationsAt(self: Taxpayer, day: string): TaxObligation[] {
  const company = isCompany(self.rfc)
  const grown = grownAt(self)
  const obligations: [string, string, string?][] = company
    ? [
        ['Declaración informativa de IVA con la anual de ISR', 'Conjuntamente con la declaración anual del ejercicio.'],
        ['Pago provisional mensual de ISR personas morales régimen general', ON_THE_17TH],
        ['Pago definitivo mensual de IVA.', ON_THE_17TH],
        ['Declaración de proveedores de IVA', 'A más tardar el último día del mes inmediato posterior al periodo que corresponda.'],
        ['Declaración anual de ISR del ejercicio Personas morales.', 'Dentro de los tres meses siguientes al cierre del ejercicio.'],
        ...(day < grown ? [] : [['Entero de retenciones mensuales de ISR por sueldos y salarios', ON_THE_17TH, grown] as const]).map(
          ([text, due, from]): [string, string, string] => [text, due, from],
        ),
      ]
    : [
        [
          'Pago provisional mensual de ISR por actividades empresariales. Régimen de Actividades Empresariales y Profesionales',
          ON_THE_17TH,
        ],
        ['Pago definitivo mensual de IVA.', ON_THE_17TH],
        ['Declaración anual de ISR. Personas Físicas.', 'A más tardar el 30 de abril del ejercicio siguiente.'],
      ]
  return obligations.map(([description, due_rule, from]) => ({ description, due_rule, from: from ?? startOf(self), to: null }))
}

/** Whether the opinion of a month is negative: a return is missing then. */
export const isNegative = ({ rfc }: Taxpayer, month: string): boolean => isDue(`${rfc}|32d`, month, 24)
