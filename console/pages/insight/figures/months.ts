/** The month after a month. */
export function following(month: string): string {
  const [year, n] = month.split('-') as [string, string]
  return n === '12' ? `${Number(year) + 1}-01` : `${year}-${String(Number(n) + 1).padStart(2, '0')}`
}

/** The month before a month. */
export function preceding(month: string): string {
  const [year, n] = month.split('-') as [string, string]
  return n === '01' ? `${Number(year) - 1}-12` : `${year}-${String(Number(n) - 1).padStart(2, '0')}`
}
