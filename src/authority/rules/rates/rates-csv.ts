import { recordsOf } from '../../../platform/csv.ts'
import { quoted } from '../../../platform/db/statement.ts'
import { type Day, dayOfEpoch, epochDayOf } from '../../../platform/time/calendar.ts'
import type { fxRates } from '../tables.ts'

/** The currencies of ISO 4217, with the currencies withdrawn since 2014, which older CFDIs use. MXN, XXX and XTS are left out. */
const CURRENCIES =
  'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BYR BZD CAD CDF CHE CHF CHW ' +
  'CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG ' +
  'HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LTL LYD MAD MDL MGA MKD MMK MNT ' +
  'MOP MRO MRU MUR MVR MWK MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG ' +
  'SEK SGD SHP SLE SLL SOS SRD SSP STD STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VEF ' +
  'VES VND VUV WST XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XUA YER ZAR ZMW ZWG ZWL'

const KNOWN: ReadonlySet<string> = new Set(CURRENCIES.split(' '))

export type LoadedRate = Omit<typeof fxRates.$inferSelect, 'source'>

/** The file is refused as a whole. Each fault names its line. */
export class RatesRefused extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.slice(0, MOST_FAULTS).join('\n') + (faults.length > MOST_FAULTS ? `\n… and ${faults.length - MOST_FAULTS} more.` : ''))
    this.faults = faults
  }
}

const MOST_FAULTS = 20
/** A date further ahead is a typing error. */
const FUTURE_DAYS = 7
const RATE = /^\d{1,6}(?:\.\d{1,10})?$/
const SLASHED = /^(\d{2})\/(\d{2})\/(\d{4})$/
const ISO = /^\d{4}-\d{2}-\d{2}$/
/** How Banco de México writes that there is no value. */
const NO_VALUE = /^(N\/E|)$/i
/** 1970-01-01 was a Thursday. */
const isWeekend = (epochDay: number): boolean => [0, 6].includes((epochDay + 4) % 7)

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

/** Reads a line. The day of the line is right. */
type Reader = (cells: readonly string[], date: Day, line: number) => Read[]

/** Columns of series by the day of determination. */
const seriesReader =
  (currencies: readonly (string | undefined)[]): Reader =>
  (cells, date, line) =>
    currencies.flatMap((currency, n) => {
      const rate = cells[n + 1] ?? ''
      return currency === undefined || NO_VALUE.test(rate) ? [] : [{ currency, date, rate, line }]
    })

const plainReader =
  (header: readonly string[]): Reader =>
  (cells, date, line) => [{ currency: cells[header.indexOf('currency')] ?? '', date, rate: cells[header.indexOf('rate')] ?? '', line }]

/**
 * Dates rates by their publication, the banking day after their determination (CFF 20). A banking day is one on which any series of the file
 * has a value: the bank writes N/E in all of them when there is none.
 */
function published(determined: readonly LoadedRate[]): LoadedRate[] {
  const days = [...new Set(determined.map(({ date }) => date))].sort()
  const next = new Map(days.map((day, n) => [day, days[n + 1] ?? nextWeekday(day)]))
  return determined.map((one) => ({ ...one, date: next.get(one.date)! }))
}

/** Adds what is wrong with a rate, and with two of one currency and day. */
function check(rates: readonly Read[], faults: string[]): void {
  const known = new Map<string, Read>()
  for (const one of rates) {
    const { currency, date, rate, line } = one
    if (!KNOWN.has(currency))
      faults.push(`Line ${line}: “${currency}” is not a foreign currency of ISO 4217 (three capitals, as in c_Moneda).`)
    if (!RATE.test(rate) || Number(rate) === 0) faults.push(`Line ${line}: “${rate}” is not a rate (pesos for one unit, such as 17.4215).`)
    const before = known.get(currency + date)
    if (before && before.rate !== rate) faults.push(`Line ${line}: ${currency} of ${date} has another rate on line ${before.line}.`)
    known.set(currency + date, one)
  }
}

/**
 * Reads a file of exchange rates: an export of the SIE of Banco de México, whose columns are series by the day of determination (legends,
 * then `Fecha,SF43718,…`), or `currency,date,rate`, where the date is that of the publication in the Diario Oficial. Returns each rate once,
 * by currency and date of publication. Throws RatesRefused, which names every fault with its line.
 */
export function ratesIn(
  text: string,
  series: Readonly<Record<string, string>>,
  today: Day,
): { rates: LoadedRate[]; source: 'banxico' | 'operator' } {
  const records = recordsOf([text])
  const lines: string[][] = []
  let next = records.next()
  for (; !next.done; next = records.next()) lines.push(next.value.map((cell) => cell.trim()))
  if (next.value) throw new RatesRefused([`Line ${lines.length}: A quote is not closed.`])
  const isPlain = (cells: readonly string[]) => ['currency', 'date', 'rate'].every((name) => cells.includes(name))
  const at = lines.findIndex((cells) => (cells[0] === 'Fecha' && cells.length > 1) || isPlain(cells))
  if (at === -1) throw new RatesRefused(['No line is `Fecha,SF43718,…` (Banco de México) or `currency,date,rate`.'])
  const header = lines[at]!
  const faults = isPlain(header)
    ? []
    : header
        .slice(1)
        .filter((id) => !Object.hasOwn(series, id))
        .map((id) => `Line ${at + 1}: the series “${id}” is not among those of the rule fx.series.`)
  const read = isPlain(header) ? plainReader(header) : seriesReader(header.slice(1).map((id) => series[id]))
  const dateAt = Math.max(header.indexOf('date'), 0)
  const horizon = dayOfEpoch(epochDayOf(today) + FUTURE_DAYS)
  const found = lines.flatMap((cells, n) => {
    if (n <= at || cells.every((cell) => cell === '')) return []
    const refused = (fault: string): [] => {
      faults.push(`Line ${n + 1}: ${fault}`)
      return []
    }
    if (cells.length > header.length && cells.slice(header.length).some((cell) => cell !== ''))
      return refused(`${cells.length} cells are more than the ${header.length} of the header. Decimals stand behind a point.`)
    const date = dayIn(cells[dateAt] ?? '')
    if (date === null) return refused(`“${cells[dateAt] ?? ''}” is not a date (dd/mm/yyyy or YYYY-MM-DD).`)
    return date > horizon ? refused(`${date} is in the future.`) : read(cells, date, n + 1)
  })
  check(found, faults)
  if (faults.length === 0 && found.length === 0) faults.push('The file has no rate.')
  if (faults.length > 0) throw new RatesRefused(faults)
  const unique = new Map(found.map(({ currency, date, rate }) => [currency + date, { currency, date, rate }]))
  const rates = [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rate]) => rate)
  if (isPlain(header)) return { rates, source: 'operator' }
  return { rates: published(rates), source: 'banxico' }
}

/** Below 100 KB, the longest statement that D1 accepts. */
const ROWS_A_STATEMENT = 2_000

/**
 * The statements that load rates: for each currency, they replace what is stored between its first and last day in the file. Values stand in
 * the text, because an operator's command binds none. Loading the same file again writes nothing.
 */
export function loadSql(rates: readonly LoadedRate[], source: string): string[] {
  return [...Map.groupBy(rates, ({ currency }) => currency)].flatMap(([currency, own]) => {
    const chunks = Array.from({ length: Math.ceil(own.length / ROWS_A_STATEMENT) }, (_, n) =>
      own.slice(n * ROWS_A_STATEMENT, (n + 1) * ROWS_A_STATEMENT),
    )
    return chunks.flatMap((chunk) => {
      const json = quoted(JSON.stringify(chunk.map(({ date, rate }) => [date, rate])))
      const [first, last] = [chunk[0]!.date, chunk.at(-1)!.date]
      return [
        `delete from fx_rates where currency = '${currency}' and date between '${first}' and '${last}'
         and date not in (select value->>0 from json_each(${json}))`,
        `insert into fx_rates (currency, date, rate, source) select '${currency}', value->>0, value->>1, ${quoted(source)} from json_each(${json}) where true
         on conflict do update set rate = excluded.rate, source = excluded.source where rate <> excluded.rate or source <> excluded.source`,
      ]
    })
  })
}
