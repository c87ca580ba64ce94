import { amountsOf, type SandboxComprobante } from './comprobante.ts'
import { partyAt, usoOf } from './eras.ts'
import { daysIn, later } from './places.ts'
import { type Random, random, uuidOf } from './seed.ts'
import { circleOf, type Taxpayer } from './taxpayers.ts'

export type Direction = 'issued' | 'received'

/** The key, date and parties of a document to generate. */
export interface Draft {
  key: string
  fecha: string
  emisor: Taxpayer
  receptor: Taxpayer
}

/** What differs from the common values of a document. */
export type Rest = Partial<SandboxComprobante> & Pick<SandboxComprobante, 'tipo' | 'serie'>

/** Returns a draft whose parties are under the regimes that they had then. */
export const draftAt = (key: string, fecha: string, emisor: Taxpayer, receptor: Taxpayer): Draft => ({
  ...{ key, fecha },
  emisor: partyAt(emisor, fecha),
  receptor: partyAt(receptor, fecha),
})

/** Returns a draft between the taxpayer and a client or supplier. */
export function draftOf(rfc: string, direction: Direction, key: string, fecha: string): Draft {
  const draws = random(`${key}|party`)
  const { self, clients, suppliers } = circleOf(rfc)
  return direction === 'issued' ? draftAt(key, fecha, self, draws.pick(clients)) : draftAt(key, fecha, draws.pick(suppliers), self)
}

/** Returns a document with the given members and common values for the others. */
export function comprobante({ key, fecha, ...parties }: Draft, rest: Rest & Pick<SandboxComprobante, 'conceptos'>): SandboxComprobante {
  const { emisor, receptor } = draftAt(key, fecha, parties.emisor, parties.receptor)
  const moneda = rest.moneda ?? 'MXN'
  const uuid = uuidOf(key)
  return {
    ...{ uuid, fecha, emisor, receptor, moneda, lugar: emisor.place, uso: usoOf(rest.tipo, fecha, emisor, receptor) },
    folio: fecha.slice(2, 4) + fecha.slice(5, 7) + String((Number.parseInt(uuid.slice(0, 6), 16) % 9000) + 1000),
    ...{ metodo: null, forma: null, condiciones: null, relacion: null, global: null, pago: null, nomina: null, retencion: null },
    ...{ cancellation: null, isReplaced: false, tipo_cambio: exchangeRate(moneda, fecha.slice(0, 10)) },
    amounts: amountsOf(rest.conceptos),
    ...rest,
  }
}

/** Returns a local time in working hours on a day of the month. */
export const hourOf = (draws: Random, month: string, first: number, last: number): string =>
  later(`${month}-${String(draws.int(first, Math.min(last, daysIn(month)))).padStart(2, '0')}T08:00:00`, draws.int(0, 43_199))

const AROUND: Record<string, number> = { USD: 185_000, EUR: 203_000 }

/** Returns the pesos for one unit of a foreign currency on a day, in ten-thousandths; null for MXN and for XXX. */
export function exchangeRate(moneda: string, day: string): number | null {
  const around = AROUND[moneda]
  if (around === undefined) return null
  const month = random(`${moneda}|${day.slice(0, 7)}`).int(-9_000, 9_000)
  return around + month + random(`${moneda}|${day}`).int(-900, 900)
}
