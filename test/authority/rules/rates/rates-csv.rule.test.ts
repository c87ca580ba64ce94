import { expect, it } from 'vitest'
import { RatesRefused, ratesIn } from '../../../../src/authority/rules/rates/rates-csv.ts'

const TODAY = '2026-11-22'
const SERIES = { SF43718: 'USD', SF46410: 'EUR' }

/** An export of the SIE of Banco de México: legends, then the series by the day of determination. */
const sie = (header: string, ...lines: string[]): string =>
  [
    '"Banco de M\u00e9xico"',
    '"Tipos de Cambio Diarios"',
    '',
    '"Título","Tipo de cambio, pesos por dólar E.U.A., Fecha de determinación (FIX)"',
    '"Periodo disponible","12/11/1991 - 20/11/2026"',
    '"Unidad","Pesos por Dólar"',
    header,
    ...lines,
    '',
  ].join('\r\n')

const faultsOf = (text: string): readonly string[] => {
  try {
    ratesIn(text, SERIES, TODAY)
  } catch (error) {
    if (error instanceof RatesRefused) return error.faults
    throw error
  }
  return []
}

it('dates the FIX of Banco de México by its publication, the next banking day', () => {
  // Thursday to Wednesday, with a weekend and a holiday (16 November 2026), which the bank writes as N/E. On 13 November the
  // euro alone has no value: it is a banking day, on which the rate of 12 November is published.
  const file = sie(
    '"Fecha","SF43718","SF46410"',
    '"12/11/2026","18.1001","21.5000"',
    '"13/11/2026","18.1002","N/E"',
    '"14/11/2026","N/E","N/E"',
    '"15/11/2026","N/E","N/E"',
    '"16/11/2026","N/E","N/E"',
    '"17/11/2026","18.1003","21.5001"',
    '"20/11/2026","18.1004","21.5002"',
  )
  const { rates, source } = ratesIn(file, SERIES, TODAY)
  expect(source).toBe('banxico')
  expect(rates.map((rate) => Object.values(rate).join(' '))).toEqual([
    'EUR 2026-11-13 21.5000',
    'EUR 2026-11-20 21.5001',
    // After the last one of the file: the next weekday, a Monday.
    'EUR 2026-11-23 21.5002',
    'USD 2026-11-13 18.1001',
    'USD 2026-11-17 18.1002',
    'USD 2026-11-20 18.1003',
    'USD 2026-11-23 18.1004',
  ])
})

it('takes the days of a plain file as they are, with its columns and lines in any order', () => {
  const file = '\uFEFFrate,currency,date\n17.5,USD,2026-01-05\n\n20.25,EUR,02/01/2026\n17.4,USD,2026-01-02\n17.4,USD,2026-01-02\n'
  expect(ratesIn(file, SERIES, TODAY)).toEqual({
    source: 'operator',
    rates: [
      { currency: 'EUR', date: '2026-01-02', rate: '20.25' },
      { currency: 'USD', date: '2026-01-02', rate: '17.4' },
      { currency: 'USD', date: '2026-01-05', rate: '17.5' },
    ],
  })
})

it.each([
  ['no header', 'a,b,c\n1,2,3', ['No line is `Fecha,SF43718,…` (Banco de México) or `currency,date,rate`.']],
  ['an empty file', '', ['No line is `Fecha,SF43718,…` (Banco de México) or `currency,date,rate`.']],
  ['a file that breaks off within a value', sie('Fecha,SF43718', '"12/11/2026","18.1'), ['Line 8: A quote is not closed.']],
  ['no rate', 'currency,date,rate\n', ['The file has no rate.']],
  ['days without a value alone', sie('Fecha,SF43718', '14/11/2026,N/E'), ['The file has no rate.']],
  [
    'a series that is none of the rule',
    sie('Fecha,SF43718,SF60653', '12/11/2026,18.1,18.2'),
    ['Line 7: the series “SF60653” is not among those of the rule fx.series.'],
  ],
  [
    'days that do not exist, and rates that are none',
    sie('Fecha,SF43718', '31/11/2026,18.1', '2026/11/12,18.1', '13/11/2026,18,1', '16/11/2026,-1', '17/11/2026,0.0', '18/11/2026,n.a.'),
    [
      'Line 8: “31/11/2026” is not a date (dd/mm/yyyy or YYYY-MM-DD).',
      'Line 9: “2026/11/12” is not a date (dd/mm/yyyy or YYYY-MM-DD).',
      'Line 10: 3 cells are more than the 2 of the header. Decimals stand behind a point.',
      'Line 11: “-1” is not a rate (pesos for one unit, such as 17.4215).',
      'Line 12: “0.0” is not a rate (pesos for one unit, such as 17.4215).',
      'Line 13: “n.a.” is not a rate (pesos for one unit, such as 17.4215).',
    ],
  ],
  [
    'currencies that are none, pesos among them',
    'currency,date,rate\nusd,2026-01-02,17\nMXN,2026-01-02,1\n,2026-01-02,17\nUDS,2026-01-02,17\nXXX,2026-01-02,1',
    [
      ...['usd', 'MXN', '', 'UDS', 'XXX'].map(
        (code, n) => `Line ${n + 2}: “${code}” is not a foreign currency of ISO 4217 (three capitals, as in c_Moneda).`,
      ),
    ],
  ],
  [
    'days that are still far away',
    'currency,date,rate\nUSD,2026-11-29,17\nUSD,2026-11-30,17\nUSD,2062-01-05,17',
    ['Line 3: 2026-11-30 is in the future.', 'Line 4: 2062-01-05 is in the future.'],
  ],
  [
    'two rates of one day',
    'currency,date,rate\nUSD,2026-01-02,17\nUSD,2026-01-05,17\nUSD,2026-01-02,17.1',
    ['Line 4: USD of 2026-01-02 has another rate on line 2.'],
  ],
])('refuses %s, with the lines', (_, text, faults) => {
  expect(faultsOf(text)).toEqual(faults)
})

it('tells the first twenty faults and how many there are', () => {
  const text = `currency,date,rate\n${'USD,yesterday,17\n'.repeat(50)}`
  expect(() => ratesIn(text, SERIES, TODAY)).toThrow(
    /^(Line \d+: “yesterday” is not a date \(dd\/mm\/yyyy or YYYY-MM-DD\)\.\n){20}… and 30 more\.$/,
  )
})
