import type { Day } from '../../platform/time/calendar.ts'
import { addBusinessDays } from '../port/business-days.ts'
import { exchangeRate } from './world/comprobante.ts'

/** Returns the rate that the sandbox's Diario Oficial published last before a day; null of a currency that the sandbox does not know. */
export function sandboxRate(currency: string, day: Day): { date: Day; rate: string } | null {
  const date = addBusinessDays(day, -1)
  const rate = exchangeRate(currency, date)
  return rate === null ? null : { date, rate: (rate / 10_000).toFixed(4) }
}
