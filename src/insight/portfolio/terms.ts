const MARKS = /[\u0300-\u036f]/g
const MOST_DAYS = 365

/** Days until an invoice is due, as its terms of payment state them (insights.md 8.6). Null when they state none. */
export function daysUntilDue(condiciones: string | null): number | null {
  const text = (condiciones ?? '').normalize('NFD').replace(MARKS, '').toLowerCase()
  if (/contado|inmediato/.test(text)) return 0
  const days = /(\d{1,3})\s*(?:dias?|days?|d)\b/.exec(text)?.[1] ?? /\bneto?\s*(?:a\s*)?(\d{1,3})\b/.exec(text)?.[1]
  return days === undefined || Number(days) > MOST_DAYS ? null : Number(days)
}
