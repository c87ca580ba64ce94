import { addMonths } from '../../../platform/time/months.ts'
import { daysIn } from '../world/places.ts'
import { digitsOf, isDue, random } from '../world/seed.ts'
import { isCompany, type Taxpayer } from '../world/taxpayers.ts'
import { money } from '../xml/markup.ts'
import { pdfOf } from './pdf.ts'
import type { InventedFile } from './port.ts'

/** Monthly returns are due on the 17th of the next month. Annual returns are due at the end of March, or of April for natural persons. */
const DUE_DAY = '17'
/** One return in so many is amended a month later. */
const AMENDED_EVERY = 9

/** A return as it was filed. */
interface Return {
  slug: string
  title: string
  filed: string
  period_end: string
  attributes: { ejercicio: string; periodo: string; tipo: string } & Record<string, string>
}

/** The annual returns of the last three years that are filed by a day, with their receipts. */
export const annualReturns = (self: Taxpayer, today: string): InventedFile[] =>
  [1, 2, 3].flatMap((years) => {
    const ejercicio = String(Number(today.slice(0, 4)) - years)
    const filed = `${Number(ejercicio) + 1}-${isCompany(self.rfc) ? '03-31' : '04-30'}`
    if (filed > today) return []
    const draws = random(`${self.rfc}|anual|${ejercicio}`)
    const ingresos = draws.int(200_000_000, 1_900_000_000)
    const deducciones = Math.floor((ingresos * draws.int(70, 95)) / 100)
    return filesOfReturn(self, {
      ...{ slug: 'declaracion-anual', title: `Declaración anual ${ejercicio}`, filed, period_end: `${ejercicio}-12-31` },
      attributes: {
        ...{ ejercicio, periodo: 'del ejercicio', tipo: 'normal', impuesto: 'ISR' },
        ingresos: money(ingresos),
        deducciones: money(deducciones),
        isr_a_cargo: money(Math.floor(((ingresos - deducciones) * 30) / 100)),
        numero_operacion: digitsOf(`${self.rfc}|anual|${ejercicio}|operation`, 12),
      },
    })
  })

/** The returns of the last twelve months that are filed by a day, with their receipts. */
export const monthlyReturns = (self: Taxpayer, today: string): InventedFile[] =>
  Array.from({ length: 13 }, (_, i) => addMonths(today.slice(0, 7), -1 - i))
    .filter((month) => `${addMonths(month, 1)}-${DUE_DAY}` <= today)
    .slice(0, 12)
    .flatMap((month) => {
      const filings = isDue(`${self.rfc}|amended`, month, AMENDED_EVERY) ? ['normal', 'complementaria'] : ['normal']
      return filings.flatMap((tipo, n) => {
        const filed = `${addMonths(month, 1 + n)}-${DUE_DAY}`
        return filed > today ? [] : filesOfReturn(self, monthlyReturn(self, month, tipo, filed))
      })
    })

function monthlyReturn({ rfc }: Taxpayer, month: string, tipo: string, filed: string): Return {
  const seed = `${rfc}|mensual|${month}${tipo === 'normal' ? '' : `|${tipo}`}`
  const draws = random(seed)
  const owed = draws.int(-4_000_000, 9_000_000)
  return {
    ...{ slug: 'declaracion-mensual', title: `Declaración mensual ${month}`, filed, period_end: `${month}-${daysIn(month)}` },
    attributes: {
      ...{ ejercicio: month.slice(0, 4), periodo: month.slice(5, 7), tipo, impuesto: 'IVA' },
      iva_a_cargo: money(Math.max(owed, 0)),
      iva_a_favor: money(Math.max(-owed, 0)),
      isr_a_cargo: money(draws.int(0, 6_000_000)),
      numero_operacion: digitsOf(`${seed}|operation`, 12),
    },
  }
}

/** The return and the authority's receipt for it. */
const filesOfReturn = (self: Taxpayer, { slug, title, filed, period_end, attributes }: Return): InventedFile[] => {
  const { ejercicio, periodo, tipo, numero_operacion = '' } = attributes
  const head = {
    RFC: self.rfc,
    'Denominación o razón social': self.nombre,
    'Tipo de declaración': tipo,
    'Período de la declaración': periodo,
    Ejercicio: ejercicio,
  }
  const filing = {
    'Fecha y hora de presentación': `${filed.split('-').reverse().join('/')} 12:04`,
    'Número de operación': numero_operacion,
  }
  const file = (
    kind: 'declaracion' | 'acuse',
    heading: string,
    lines: Record<string, string>,
    of: Record<string, string>,
  ): InventedFile => ({
    ...{ kind, series: `${kind}:${slug}:${period_end}`, content_type: 'application/pdf', document_date: filed, period_end, fields: null },
    name: `${kind === 'acuse' ? 'acuse-' : ''}${slug}${tipo === 'normal' ? '' : `-${tipo}`}-${self.rfc}-${period_end}.pdf`,
    title: kind === 'acuse' ? `Acuse de ${title.toLowerCase()}` : title,
    bytes: pdfOf(
      heading,
      Object.entries(lines).map(([label, value]) => `${label}: ${value}`),
    ),
    attributes: of,
  })
  return [
    file('declaracion', 'DECLARACIÓN DE IMPUESTOS FEDERALES', { ...head, ...filing, ...attributes }, attributes),
    file(
      'acuse',
      'ACUSE DE RECIBO DECLARACIÓN DE IMPUESTOS FEDERALES',
      { ...head, ...filing },
      { ejercicio, periodo, tipo, numero_operacion },
    ),
  ]
}
