import { localTimeOf } from '../../../platform/time/calendar.ts'
import { lastDayOf } from '../../../platform/time/months.ts'
import { AUTHORITY_ZONE } from '../../port/business-days.ts'

/** The first month with documents. */
export const FIRST_MONTH = '2018-01'

/** A place of issue: a real postal code and its time zone. */
export interface Locality {
  codigo_postal: string
  entidad: string
  municipio: string
  zone: string
  /** Whether it lies in the northern border region, where IVA is 8%. */
  border: boolean
  /** Approximate hours by which central Mexico is ahead of the local time. */
  behind_center: number
}

const central = (codigo_postal: string, entidad: string, municipio: string): Locality => ({
  ...{ codigo_postal, entidad, municipio },
  ...{ zone: AUTHORITY_ZONE, border: false, behind_center: 0 },
})

export const CENTRAL_PLACES: readonly Locality[] = [
  central('06600', 'Ciudad de México', 'Cuauhtémoc'),
  central('03100', 'Ciudad de México', 'Benito Juárez'),
  central('64000', 'Nuevo León', 'Monterrey'),
  central('44100', 'Jalisco', 'Guadalajara'),
  central('76000', 'Querétaro', 'Querétaro'),
  central('72000', 'Puebla', 'Puebla'),
  central('37000', 'Guanajuato', 'León'),
]

export const TIJUANA = { ...central('22000', 'Baja California', 'Tijuana'), zone: 'America/Tijuana', border: true, behind_center: 2 }
export const CANCUN = { ...central('77500', 'Quintana Roo', 'Benito Juárez'), zone: 'America/Cancun', behind_center: -1 }

/** Returns the local time at an instant in central Mexico, `YYYY-MM-DDTHH:mm:ss`, which can be compared with `Fecha`. */
export const localTime = (instant: Date): string => localTimeOf(instant, AUTHORITY_ZONE)

/** Adds seconds to a local time. */
export const later = (fecha: string, seconds: number): string =>
  new Date(Date.parse(`${fecha}Z`) + seconds * 1000).toISOString().slice(0, 19)

export const daysIn = (month: string): number => Number(lastDayOf(month).slice(8))

/** Adds the offset from UTC to a local time. */
export function withOffset(fecha: string, zone: string): string {
  const hours = [5, 6, 7, 8].find((offset) => localTimeOf(new Date(Date.parse(`${fecha}Z`) + offset * 3_600_000), zone) === fecha)
  return `${fecha}-0${hours}:00`
}
