import { random } from './seed.ts'

const AROUND: Record<string, number> = { USD: 185_000, EUR: 203_000 }

/** Returns the pesos for one unit of a foreign currency on a day, in ten-thousandths; null for MXN and for XXX. */
export function exchangeRate(moneda: string, day: string): number | null {
  const around = AROUND[moneda]
  if (around === undefined) return null
  const month = random(`${moneda}|${day.slice(0, 7)}`).int(-9_000, 9_000)
  return around + month + random(`${moneda}|${day}`).int(-900, 900)
}
