import { type FxRate, type RateWanted, ratesAt } from '../../authority/rules/rates/rates.ts'
import type { RateOfDay } from '../../cfdi/cash/measure.ts'
import type { System } from '../../platform/context.ts'

/** Looks up the published rates of the days that `collect` wants, and when each was published. At most one D1 call. */
export async function publishedFor(
  system: System,
  collect: (want: (one: RateWanted | null) => void) => void,
): Promise<(currency: string, day: string) => FxRate | null> {
  const wanted = new Map<string, RateWanted>()
  const keyOf = (currency: string, day: string): string => `${currency} ${day}`
  collect((one) => {
    if (one) wanted.set(keyOf(one.currency, one.day), { currency: one.currency, day: one.day })
  })
  const found = wanted.size === 0 ? [] : await ratesAt(system, [...wanted.values()])
  const rates = new Map([...wanted.keys()].map((key, n) => [key, found[n] ?? null]))
  return (currency, day) => rates.get(keyOf(currency, day)) ?? null
}

/** The same as rates alone. */
export async function ratesFor(...asked: Parameters<typeof publishedFor>): Promise<RateOfDay> {
  const published = await publishedFor(...asked)
  return (currency, day) => published(currency, day)?.rate ?? null
}
