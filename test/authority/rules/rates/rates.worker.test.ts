import { env } from 'cloudflare:test'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ratesAt, refreshRates } from '../../../../src/authority/rules/rates/rates.ts'
import { type LoadedRate, loadSql } from '../../../../src/authority/rules/rates/rates-csv.ts'
import { sandboxRate } from '../../../../src/authority/sandbox/world/comprobante.ts'
import { systemOf } from '../../../../src/platform/context.ts'
import { type Day, dayOfEpoch, epochDayOf } from '../../../../src/platform/time/calendar.ts'
import { contextOf } from '../../../support/context.ts'

const FIRST = epochDayOf('2026-01-01')
const dayAt = (n: number): Day => dayOfEpoch(FIRST + n)
/** The sandbox knows no yen and no pound. */
const [YEN, POUND] = ['JPY', 'GBP']

const load = (rates: readonly LoadedRate[], source = 'banxico') => env.DB.batch(loadSql(rates, source).map((sql) => env.DB.prepare(sql)))
const writtenBy = async (rates: readonly LoadedRate[]) => (await load(rates)).reduce((sum, { meta }) => sum + meta.rows_written, 0)
const stored = async (currency: string) =>
  (await env.DB.prepare('select date, rate, source from fx_rates where currency = ? order by date').bind(currency).raw()).map((row) =>
    (row as string[]).join(' '),
  )

const system = contextOf(null)
const rateAt = async (currency: string, day: Day) => (await ratesAt(system, [{ currency, day }]))[0]

afterEach(async () => {
  await env.DB.exec('delete from fx_rates')
  vi.restoreAllMocks()
})

describe('the rate of a day', () => {
  it('is the one that was published last before it, over any gaps', async () => {
    const days = fc.uniqueArray(fc.nat(60), { maxLength: 25 })
    await fc.assert(
      fc.asyncProperty(
        days,
        days,
        fc.array(fc.tuple(fc.constantFrom(YEN, POUND), fc.integer({ min: -3, max: 70 })), { maxLength: 30 }),
        async (yen, pound, asked) => {
          await env.DB.exec('delete from fx_rates')
          const published = { [YEN]: new Set(yen), [POUND]: new Set(pound) }
          const rateOf = (currency: string, n: number) => `${currency === YEN ? 0 : 20}.${1000 + n}`
          const rates = Object.entries(published).flatMap(([currency, own]) =>
            [...own].sort((a, b) => a - b).map((n) => ({ currency, date: dayAt(n), rate: rateOf(currency, n) })),
          )
          if (rates.length > 0) await load(rates)
          // Day after day backwards, from the day before.
          const slow = (currency: string, day: number) => {
            for (let n = day - 1; n >= -5; n--)
              if (published[currency]!.has(n)) return { currency, rate: rateOf(currency, n), date: dayAt(n), source: 'banxico' }
            return null
          }
          const wanted = asked.map(([currency, n]) => ({ currency, day: dayAt(n) }))
          expect(await ratesAt(system, wanted)).toEqual(asked.map(([currency, n]) => slow(currency, n)))
        },
      ),
      { numRuns: 25 },
    )
  })

  it('is one of a Friday on the Saturday, Sunday and Monday after it, not on the Friday itself', async () => {
    await load([
      { currency: YEN, date: '2026-01-08', rate: '0.1201' },
      { currency: YEN, date: '2026-01-09', rate: '0.1202' },
    ])
    const rates = await ratesAt(
      system,
      ['09', '10', '11', '12'].map((day) => ({ currency: YEN, day: `2026-01-${day}` })),
    )
    expect(rates.map((one) => one!.rate)).toEqual(['0.1201', '0.1202', '0.1202', '0.1202'])
  })

  it('is 1 for pesos and for XXX, asks D1 once, and reads few rows however long the series is', async () => {
    await load(Array.from({ length: 3_000 }, (_, n) => ({ currency: YEN, date: dayAt(n - 3_000), rate: '0.12' })))
    const reads: number[] = []
    const prepare = env.DB.prepare.bind(env.DB)
    vi.spyOn(env.DB, 'prepare').mockImplementation((sql) => {
      const statement = prepare(sql)
      const bind = statement.bind.bind(statement)
      statement.bind = (...values) => {
        const bound = bind(...values)
        const all = bound.all.bind(bound)
        bound.all = async <T>() => {
          const result = await all<T>()
          reads.push(result.meta.rows_read)
          return result
        }
        return bound
      }
      return statement
    })
    const wanted = [YEN, 'MXN', YEN, 'XXX', POUND].map((currency) => ({ currency, day: '2026-02-01' }))
    const rates = await ratesAt(contextOf(null), [...wanted, { currency: YEN, day: '2019-01-01' }])
    expect(rates.map((one) => one?.rate ?? null)).toEqual(['0.12', '1', '0.12', '1', null, '0.12'])
    expect(reads).toHaveLength(1)
    expect(reads[0]).toBeLessThanOrEqual(12)
    expect(await ratesAt(contextOf(null), [{ currency: 'MXN', day: '2026-02-01' }])).toHaveLength(1)
    expect(reads).toHaveLength(1)
  })

  it('is invented by the sandbox where none is loaded until then, the same every time, for business days', async () => {
    await load([{ currency: 'USD', date: '2026-03-04', rate: '17.1234' }])
    const loaded = { currency: 'USD', rate: '17.1234', date: '2026-03-04', source: 'banxico' }
    expect(await rateAt('USD', '2026-03-06')).toEqual(loaded)
    const before = await rateAt('USD', '2026-03-02')
    expect(before).toEqual({ currency: 'USD', ...sandboxRate('USD', '2026-03-02'), source: 'sandbox' })
    // A Monday: the rate of the Friday.
    expect(before!.date).toBe('2026-02-27')
    expect(Number(before!.rate)).toBeGreaterThan(10)
    expect(await rateAt('EUR', '2026-03-02')).toMatchObject({ date: '2026-02-27', source: 'sandbox' })
    expect(await rateAt(YEN, '2026-03-02')).toBeNull()
  })
})

describe('loading rates', () => {
  const january = [5, 6, 7, 8, 9].map((n) => ({ currency: YEN, date: dayAt(n), rate: `0.12${n}` }))

  it('replaces what is held between the first and last day of the file, of its currencies alone', async () => {
    await load([...january, { currency: POUND, date: dayAt(6), rate: '23.5' }, { currency: YEN, date: dayAt(30), rate: '0.13' }])
    await load(
      [
        { currency: YEN, date: dayAt(6), rate: '0.99' },
        { currency: YEN, date: dayAt(8), rate: '0.128' },
      ],
      'operator',
    )
    expect(await stored(YEN)).toEqual([
      `${dayAt(5)} 0.125 banxico`,
      `${dayAt(6)} 0.99 operator`,
      `${dayAt(8)} 0.128 operator`,
      `${dayAt(9)} 0.129 banxico`,
      `${dayAt(30)} 0.13 banxico`,
    ])
    expect(await stored(POUND)).toEqual([`${dayAt(6)} 23.5 banxico`])
  })

  it('writes nothing the second time', async () => {
    const years = Array.from({ length: 4_500 }, (_, n) => ({ currency: YEN, date: dayAt(n - 5_000), rate: `0.1${n}` }))
    expect(await writtenBy(years)).toBe(4_500)
    expect(await writtenBy(years)).toBe(0)
    expect(Math.max(...loadSql(years, 'banxico').map((sql) => sql.length))).toBeLessThan(100_000)
  })

  const ADDRESS = 'https://rates.example/fix.csv?token=secreto'
  const daily = (more: object = {}) =>
    refreshRates(systemOf({ ...env, FX_RATES_URL: ADDRESS, ...more } as Env, new Date('2026-11-22T10:00:00Z'), 'cron_1'))
  const answers = (text: string, status = 200) =>
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(text, { status }))

  it('fetches nothing where no address is set, and every day what is at the address that is set', async () => {
    const asked = answers('Fecha,SF43718\n12/11/2026,18.1\n13/11/2026,18.2\n')
    await daily({ FX_RATES_URL: '' })
    expect(asked).not.toHaveBeenCalled()
    await daily()
    expect(asked.mock.calls.map(([url]) => url)).toEqual([ADDRESS])
    expect(await stored('USD')).toEqual(['2026-11-13 18.1 banxico', '2026-11-16 18.2 banxico'])
  })

  it('keeps the held rates when the file at the address is none, and says why', async () => {
    await load([{ currency: 'USD', date: '2026-11-13', rate: '18.1' }])
    const logged = vi.spyOn(console, 'error').mockReturnValue()
    answers('<html>Mantenimiento</html>')
    await daily()
    expect(logged.mock.calls.join()).toContain('No line is `Fecha,SF43718,…`')
    answers('', 503)
    await expect(daily()).rejects.toThrow(/^FX_RATES_URL, at rates\.example, answered 503\.$/)
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError(`no route to ${ADDRESS}`))
    await expect(daily()).rejects.toThrow(/^FX_RATES_URL could not be fetched \(TypeError\)\.$/)
    expect(await stored('USD')).toEqual(['2026-11-13 18.1 banxico'])
  })
})
