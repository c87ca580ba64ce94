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

const CENTER = 'America/Mexico_City'
const central = (codigo_postal: string, entidad: string, municipio: string): Locality => ({
  codigo_postal,
  entidad,
  municipio,
  zone: CENTER,
  border: false,
  behind_center: 0,
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

export const TIJUANA: Locality = {
  codigo_postal: '22000',
  entidad: 'Baja California',
  municipio: 'Tijuana',
  zone: 'America/Tijuana',
  border: true,
  behind_center: 2,
}

export const CANCUN: Locality = {
  codigo_postal: '77500',
  entidad: 'Quintana Roo',
  municipio: 'Benito Juárez',
  zone: 'America/Cancun',
  border: false,
  behind_center: -1,
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** Returns the local time at an instant, `YYYY-MM-DDTHH:mm:ss`, which can be compared with `Fecha`. */
export function localTime(instant: Date, zone: string = CENTER): string {
  const clock =
    clocks.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' })
  clocks.set(zone, clock)
  return clock.format(instant).replace(' ', 'T')
}

/** Adds seconds to a local time. */
export const later = (fecha: string, seconds: number): string =>
  new Date(Date.parse(`${fecha}Z`) + seconds * 1000).toISOString().slice(0, 19)

/** Adds months to a month: `2025-12` and 2 give `2026-02`. */
export function addMonths(month: string, count: number): string {
  const index = Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7)) - 1 + count
  return `${Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}`
}

export const daysIn = (month: string): number => new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)), 0)).getUTCDate()

/** Adds the offset from UTC to a local time. */
export function withOffset(fecha: string, zone: string): string {
  const hours = [5, 6, 7, 8].find((offset) => localTime(new Date(Date.parse(`${fecha}Z`) + offset * 3_600_000), zone) === fecha)
  return `${fecha}-0${hours}:00`
}
