const ACCENTS = /[\u0300-\u036f]/g
const AT_ONCE = /contado|inmediato/
const DAYS = /(\d{1,3})\s*(?:dias?|days?|d)\b/
const NET = /\bneto?\s*(?:a\s*)?(\d{1,3})\b/
const MOST = 365

/** Returns the days after its date until an invoice is due, as its CondicionesDePago state them; null when these state none. */
export function termDaysOf(condiciones: string | null): number | null {
  if (condiciones === null) return null
  const text = condiciones.normalize('NFD').replace(ACCENTS, '').toLowerCase()
  if (AT_ONCE.test(text)) return 0
  const days = DAYS.exec(text)?.[1] ?? NET.exec(text)?.[1]
  return days === undefined || Number(days) > MOST ? null : Number(days)
}
