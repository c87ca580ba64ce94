import { type Day, dayOfEpoch, epochDayOf } from '../../platform/time/calendar.ts'

export interface LoadedRate {
  currency: string
  /** The day of the publication in the Diario Oficial. */
  date: Day
  rate: string
}

/** The file is refused as a whole. Each fault names its line. */
export class RatesRefused extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.slice(0, MOST_FAULTS).join('\n') + (faults.length > MOST_FAULTS ? `\n… and ${faults.length - MOST_FAULTS} more.` : ''))
    this.faults = faults
  }
}

const MOST_FAULTS = 20
const RATE = /^\d{1,6}(?:\.\d{1,10})?$/
const SLASHED = /^(\d{2})\/(\d{2})\/(\d{4})$/
const ISO = /^\d{4}-\d{2}-\d{2}$/
/** How Banco de México writes that there is no value. */
const NO_VALUE = /^(N\/E|)$/i
/** 1970-01-01 was a Thursday. */
const isWeekend = (epochDay: number): boolean => [0, 6].includes((epochDay + 4) % 7)

/** Cells without their quotes. No cell of these files has a comma within. */
const cellsOf = (line: string): string[] =>
  line.split(',').map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .trim(),
  )

function dayIn(text: string): Day | null {
  const iso = text.replace(SLASHED, '$3-$2-$1')
  if (!ISO.test(iso) || Number.isNaN(epochDayOf(iso)) || dayOfEpoch(epochDayOf(iso)) !== iso) return null
  return iso
}

/** The weekday after a day: the publication of the last rate of a file. */
function nextWeekday(day: Day): Day {
  let at = epochDayOf(day) + 1
  while (isWeekend(at)) at++
  return dayOfEpoch(at)
}

/** What is read of a line, each with the line's number for faults. */
interface Read extends LoadedRate {
  line: number
}

/** Columns of series by the day of determination: a rate is published on the next day that has one. */
function seriesReader(header: readonly string[], series: Readonly<Record<string, string>>, faults: string[], at: number) {
  const columns = header.slice(1).map((id) => series[id])
  for (const [n, currency] of columns.entries())
    if (currency === undefined) faults.push(`Line ${at}: the series “${header[n + 1]}” is not among those of the rule fx.series.`)
  return (cells: readonly string[], line: number): Read[] => {
    const date = dayIn(cells[0]!)
    if (date === null) faults.push(`Line ${line}: “${cells[0]}” is not a date (dd/mm/yyyy).`)
    return columns.flatMap((currency, n) => {
      const rate = cells[n + 1] ?? ''
      return date === null || currency === undefined || NO_VALUE.test(rate) ? [] : [{ currency, date, rate, line }]
    })
  }
}

/** Dates the rates of a currency, which are in order, by their publication: the next determination. */
const published = (determined: readonly LoadedRate[]): LoadedRate[] =>
  determined.map((one, n) => ({ ...one, date: determined[n + 1]?.date ?? nextWeekday(one.date) }))

function plainReader(header: readonly string[], faults: string[]) {
  const [currency, date, rate] = ['currency', 'date', 'rate'].map((name) => header.indexOf(name)) as [number, number, number]
  return (cells: readonly string[], line: number): Read[] => {
    const day = dayIn(cells[date] ?? '')
    if (day === null) faults.push(`Line ${line}: “${cells[date] ?? ''}” is not a date (YYYY-MM-DD).`)
    return day === null ? [] : [{ currency: cells[currency] ?? '', date: day, rate: cells[rate] ?? '', line }]
  }
}

/** Adds what is wrong with a rate, and with two of one currency and day. */
function check(rates: readonly Read[], faults: string[]): void {
  const known = new Map<string, Read>()
  for (const one of rates) {
    const { currency, date, rate, line } = one
    if (!/^[A-Z]{3}$/.test(currency) || currency === 'MXN' || currency === 'XXX')
      faults.push(`Line ${line}: “${currency}” is not a foreign currency (three capitals, as in c_Moneda).`)
    if (!RATE.test(rate) || Number(rate) === 0) faults.push(`Line ${line}: “${rate}” is not a rate (pesos for one unit, such as 17.4215).`)
    const before = known.get(currency + date)
    if (before && before.rate !== rate) faults.push(`Line ${line}: ${currency} of ${date} has another rate on line ${before.line}.`)
    known.set(currency + date, one)
  }
}

/**
 * Reads a file of exchange rates: an export of the SIE of Banco de México, whose columns are series by the day of determination (legends,
 * then `Fecha,SF43718,…`), or `currency,date,rate`, where the date is that of the publication in the Diario Oficial. Returns each rate once,
 * by currency and date. Throws RatesRefused, which names every fault with its line.
 */
export function ratesIn(text: string, series: Readonly<Record<string, string>>): { rates: LoadedRate[]; source: 'banxico' | 'operator' } {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .map(cellsOf)
  const isPlain = (cells: readonly string[]) => ['currency', 'date', 'rate'].every((name) => cells.includes(name))
  const at = lines.findIndex((cells) => (cells[0] === 'Fecha' && cells.length > 1) || isPlain(cells))
  if (at === -1) throw new RatesRefused(['No line is `Fecha,SF43718,…` (Banco de México) or `currency,date,rate`.'])
  const faults: string[] = []
  const header = lines[at]!
  const read = isPlain(header) ? plainReader(header, faults) : seriesReader(header, series, faults, at + 1)
  const found = lines.flatMap((cells, n) => (n <= at || cells.every((cell) => cell === '') ? [] : read(cells, n + 1)))
  check(found, faults)
  if (faults.length === 0 && found.length === 0) faults.push('The file has no rate.')
  if (faults.length > 0) throw new RatesRefused(faults)
  const unique = new Map(found.map(({ currency, date, rate }) => [currency + date, { currency, date, rate }]))
  const rates = [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rate]) => rate)
  if (isPlain(header)) return { rates, source: 'operator' }
  return { rates: [...Map.groupBy(rates, ({ currency }) => currency).values()].flatMap(published), source: 'banxico' }
}
