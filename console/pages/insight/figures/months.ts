/** The month after a month. */
export function following(month: string): string {
  const [year, n] = month.split('-') as [string, string]
  return n === '12' ? `${Number(year) + 1}-01` : `${year}-${String(Number(n) + 1).padStart(2, '0')}`
}
