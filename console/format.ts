import { language, locale } from './language.ts'

type Format = Intl.NumberFormat | Intl.DateTimeFormat

const formats = new Map<string, Format>()
function formatOf<T extends Format>(name: string, make: (locale: string) => T): T {
  const key = `${language()} ${name}`
  const known = (formats.get(key) as T | undefined) ?? make(locale())
  formats.set(key, known)
  return known
}

/** What is shown where the API says null. */
export const NOTHING = '—'

/** Formats write a hyphen; a figure below zero has a minus, as signs of the pages are written. */
const minus = (shown: string): string => shown.replace('-', '−')

/** An amount below zero whose name says what the sign would, such as a balance in favour: the text without it. */
export const unsigned = (amount: string | null): string | null => amount?.replace(/^-/, '') ?? null

/** An amount as the API says it, to its last digit: `format` reads text exactly, and numbers of JavaScript would round it. */
export function money(amount: string | null | undefined, currency: string | null = 'MXN'): string {
  if (amount === null || amount === undefined) return NOTHING
  const code = currency && /^[A-Z]{3}$/.test(currency) && currency !== 'XXX' ? currency : 'MXN'
  const make = (name: string) => new Intl.NumberFormat(name, { style: 'currency', currency: code, currencyDisplay: 'narrowSymbol' })
  const shown = minus(formatOf(`money ${code}`, make).format(amount as `${number}`))
  return code === 'MXN' ? shown : `${shown} ${code}`
}

/** A part of an amount in MXN, which can have fractions of cents: all the digits that count. */
export const exact = (amount: string): string =>
  minus(
    formatOf('exact', (name) => {
      const own = { style: 'currency', currency: 'MXN', currencyDisplay: 'narrowSymbol', maximumFractionDigits: 6 } as const
      return new Intl.NumberFormat(name, own)
    }).format(amount as `${number}`),
  )

/** A decimal that is no amount (a rate, a quantity), with all the digits that the API says. */
export function decimal(text: string | null | undefined): string {
  if (text === null || text === undefined) return NOTHING
  const digits = Math.min(20, /\.(\d+)$/.exec(text)?.[1]?.length ?? 0)
  const make = (name: string) => new Intl.NumberFormat(name, { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return minus(formatOf(`decimal ${digits}`, make).format(text as `${number}`))
}

/** Both languages part the sign from the figure, as the API's own percentages are shown. */
const parted = (shown: string): string => minus(shown).replace(/\s*%/, ' %')

/** A ratio such as `0.1234`, as a percentage. */
export function percent(ratio: string | number | null | undefined): string {
  if (ratio === null || ratio === undefined) return NOTHING
  const make = (name: string) => new Intl.NumberFormat(name, { style: 'percent', maximumFractionDigits: 2 })
  return parted(formatOf('percent', make).format(ratio as number))
}

/** A ratio with up to six places, as a percentage with all of them. */
export const rate = (ratio: string): string =>
  parted(
    formatOf('rate', (name) => new Intl.NumberFormat(name, { style: 'percent', maximumFractionDigits: 4 })).format(ratio as `${number}`),
  )

export const count = (value: number | null | undefined): string =>
  value === null || value === undefined ? NOTHING : minus(formatOf('count', (name) => new Intl.NumberFormat(name)).format(value))

/** For the axis of a chart alone, never for a figure. */
export const compact = (value: number): string =>
  minus(formatOf('compact', (name) => new Intl.NumberFormat(name, { notation: 'compact', maximumSignificantDigits: 3 })).format(value))

const BYTES = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const
export function bytes(size: number): string {
  const power = Math.min(BYTES.length - 1, size > 0 ? Math.floor(Math.log10(size) / 3) : 0)
  const unit = BYTES[power]!
  const make = (name: string) =>
    new Intl.NumberFormat(name, { style: 'unit', unit, unitDisplay: power === 0 ? 'long' : 'short', maximumFractionDigits: 1 })
  return formatOf(unit, make).format(size / 1_000 ** power)
}

/** A limit that is counted in powers of 1,024, or a part of it: 524288000 is `500 MiB`. */
export function binary(size: number): string {
  const power = Math.min(4, size > 0 ? Math.floor(Math.log2(size) / 10) : 0)
  if (power === 0) return bytes(size)
  const make = (name: string) => new Intl.NumberFormat(name, { maximumFractionDigits: 1 })
  return `${formatOf('binary', make).format(size / 1_024 ** power)} ${['KiB', 'MiB', 'GiB', 'TiB'][power - 1]}`
}

const dateIn = (name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  formatOf(name, (locale) => new Intl.DateTimeFormat(locale, options))

/** An instant, in the zone of the organization (`useSession().organization.timezone`). */
export const instant = (iso: string | null | undefined, timeZone: string): string =>
  iso ? dateIn(`instant ${timeZone}`, { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(new Date(iso)) : NOTHING

/** The time of day of an instant. */
export const clock = (iso: string, timeZone: string): string =>
  dateIn(`clock ${timeZone}`, { timeStyle: 'short', timeZone }).format(new Date(iso))

const literal = (text: string): Date => new Date(`${text.slice(0, 10)}T00:00Z`)

/** A day as a document says it (`2026-05-20` or longer). It belongs to no zone and is moved into none. */
export const day = (text: string | null | undefined): string =>
  text ? dateIn('day', { dateStyle: 'medium', timeZone: 'UTC' }).format(literal(text)) : NOTHING

/** A month, `2026-05`. */
export const month = (text: string, style: 'short' | 'long' = 'short'): string =>
  dateIn(`month ${style}`, { month: style, year: style === 'long' ? 'numeric' : '2-digit', timeZone: 'UTC' }).format(literal(`${text}-01`))

/** A day of any year, `03-31`. */
export const dayOfYear = (text: string): string =>
  dateIn('day of year', { day: 'numeric', month: 'long', timeZone: 'UTC' }).format(literal(`2000-${text}`))
