/** Where a document is issued: a real postal code and its clock. */
export interface Place {
  codigo_postal: string
  entidad: string
  municipio: string
  zone: string
  /** Inside the northern border region: 8 % IVA. */
  border: boolean
  /** Hours that central Mexico is ahead of this clock, near enough for a stamp. */
  behind_center: number
}

const CENTER = 'America/Mexico_City'
const central = (codigo_postal: string, entidad: string, municipio: string): Place => ({
  codigo_postal,
  entidad,
  municipio,
  zone: CENTER,
  border: false,
  behind_center: 0,
})

export const CENTRAL_PLACES: readonly Place[] = [
  central('06600', 'Ciudad de México', 'Cuauhtémoc'),
  central('03100', 'Ciudad de México', 'Benito Juárez'),
  central('64000', 'Nuevo León', 'Monterrey'),
  central('44100', 'Jalisco', 'Guadalajara'),
  central('76000', 'Querétaro', 'Querétaro'),
  central('72000', 'Puebla', 'Puebla'),
  central('37000', 'Guanajuato', 'León'),
]

export const TIJUANA: Place = {
  codigo_postal: '22000',
  entidad: 'Baja California',
  municipio: 'Tijuana',
  zone: 'America/Tijuana',
  border: true,
  behind_center: 2,
}

export const CANCUN: Place = {
  codigo_postal: '77500',
  entidad: 'Quintana Roo',
  municipio: 'Benito Juárez',
  zone: 'America/Cancun',
  border: false,
  behind_center: -1,
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** The wall clock at an instant, `YYYY-MM-DDTHH:mm:ss`: it sorts like `Fecha` and compares with it. */
export function localTime(instant: Date, zone: string = CENTER): string {
  const clock =
    clocks.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' })
  clocks.set(zone, clock)
  return clock.format(instant).replace(' ', 'T')
}

/** Moves a wall-clock time. */
export const later = (fecha: string, seconds: number): string =>
  new Date(Date.parse(`${fecha}Z`) + seconds * 1000).toISOString().slice(0, 19)

/** `2025-12` and 2 give `2026-02`. */
export function addMonths(month: string, count: number): string {
  const index = Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7)) - 1 + count
  return `${Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}`
}

export const daysIn = (month: string): number => new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)), 0)).getUTCDate()
