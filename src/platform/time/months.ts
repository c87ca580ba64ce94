import { wallClock } from './calendar.ts'

/** The zone of documents whose place of issue is unknown, and of the authority's own times. */
const CENTRAL = 'America/Mexico_City'

/**
 * Ranges of postal codes outside central time, from the authority's catalog of postal codes (c_CodigoPostal) and the Ley de los Husos
 * Horarios of 2022-10-30, which the catalog does not follow in Chihuahua. The tz database has the dates from which each zone applies.
 */
const ZONES: readonly (readonly [from: number, to: number, zone: string])[] = [
  [21000, 22999, 'America/Tijuana'],
  [23000, 23999, 'America/Mazatlan'],
  [26000, 26339, 'America/Matamoros'],
  [26400, 26699, 'America/Matamoros'],
  [27500, 27549, 'America/Matamoros'],
  [31000, 31819, 'America/Chihuahua'],
  [31820, 31849, 'America/Ciudad_Juarez'],
  [31850, 31999, 'America/Chihuahua'],
  [32000, 32799, 'America/Ciudad_Juarez'],
  [32800, 32849, 'America/Chihuahua'],
  [32850, 32854, 'America/Ojinaga'],
  [32855, 32879, 'America/Chihuahua'],
  [32880, 32899, 'America/Ojinaga'],
  [32900, 32979, 'America/Chihuahua'],
  [32980, 32999, 'America/Ojinaga'],
  [33000, 33999, 'America/Chihuahua'],
  [63000, 63725, 'America/Mazatlan'],
  [63726, 63739, 'America/Bahia_Banderas'],
  [63740, 63999, 'America/Mazatlan'],
  [65000, 65069, 'America/Matamoros'],
  [77000, 77999, 'America/Cancun'],
  [80000, 82999, 'America/Mazatlan'],
  [83000, 85999, 'America/Hermosillo'],
  [87300, 87599, 'America/Matamoros'],
  [88000, 88879, 'America/Matamoros'],
  [88900, 88999, 'America/Matamoros'],
]

/** Returns the IANA zone of a LugarExpedicion: central time when it is absent, unknown, or the free text of version 3.2. */
export function zoneOf(lugar_expedicion: string | null): string {
  if (lugar_expedicion === null || !/^\d{5}$/.test(lugar_expedicion)) return CENTRAL
  const code = Number(lugar_expedicion)
  return ZONES.find(([from, to]) => code >= from && code <= to)?.[2] ?? CENTRAL
}

/** A point in time with the offset of its place. */
export interface Instant {
  /** Seconds since 1970 in UTC. */
  issued_at: number
  /** Minutes to add to UTC for the local time. */
  utc_offset: number
}

/**
 * Returns the instant of a local time `YYYY-MM-DDTHH:mm:ss` at a place of issue. A local time that occurs twice means the first instant;
 * one that daylight saving skips is moved forward by the skipped time.
 */
export const instantOf = (fecha: string, lugar_expedicion: string | null): Instant => instantIn(fecha, zoneOf(lugar_expedicion))

/** Adds the offset to a local time of central Mexico: `YYYY-MM-DDTHH:mm:ss-06:00`. */
export const centralTime = (local: string): string => `${local}${offsetText(instantIn(local, CENTRAL).utc_offset)}`

/** Writes an offset in minutes: `-06:00` for -360. */
export function offsetText(minutes: number): string {
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`
}

function instantIn(fecha: string, zone: string): Instant {
  const local = Date.parse(`${fecha}Z`) / 1000
  const { before, after } = offsetsOf(fecha.slice(0, 10), zone)
  const instant = (offset: number, shown = offset): Instant => ({ issued_at: local - offset, utc_offset: Math.round(shown / 60) })
  if (before === after) return instant(before)
  const early = offsetAt(local - before, zone)
  if (early === before) return instant(before)
  return offsetAt(local - after, zone) === after ? instant(after) : instant(before, early)
}

interface DayOffsets {
  before: number
  after: number
}

const HOUR = 3600
const days = new Map<string, DayOffsets>()

/** The offsets in seconds shortly before and after a local day. They differ only around a change of daylight saving. */
function offsetsOf(date: string, zone: string): DayOffsets {
  const key = date + zone
  const known = days.get(key)
  if (known !== undefined) return known
  // Mexico is 5 to 8 hours behind UTC.
  const start = Date.parse(`${date}T00:00:00Z`) / 1000
  const found = { before: offsetAt(start + 4 * HOUR, zone), after: offsetAt(start + 33 * HOUR, zone) }
  if (days.size >= 20_000) days.clear()
  days.set(key, found)
  return found
}

const offsetAt = (instant: number, zone: string): number => wallClock(instant * 1_000, zone) / 1_000 - instant

const calendar = new Intl.DateTimeFormat('en-CA', { timeZone: CENTRAL })

/** Returns the calendar day of an instant in central Mexico, the zone of everything without a zone of its own. */
export const centralDayOf = (milliseconds: number): string => calendar.format(milliseconds)

/** A document is stamped, and the authority has it, at most so long after its Fecha. */
export const LATEST_STAMP_MS = 72 * 3_600_000

/** Returns the month this many months later, or earlier when the number is negative. Months are `YYYY-MM`, from the year 1000 on. */
export const addMonths = (month: string, months: number): string => {
  const count = Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1 + months
  return `${Math.floor(count / 12)}-${String((count % 12) + 1).padStart(2, '0')}`
}

/** Returns the last day of a month. */
export const lastDayOf = (month: string): string =>
  `${month}-${new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate()}`
