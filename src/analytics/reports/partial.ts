import type { ReportKey } from './contract.ts'

type Row = Partial<Record<'year' | 'month' | 'period', string>>

/** The year or month of a row of a report that has one for each. */
const PERIODS: Partial<Record<ReportKey, (row: Row) => string | undefined>> = {
  'fiscal-summary': ({ year }) => year,
  'revenue-expenses': ({ month }) => month,
  'annual-comparison': ({ year, month }) => `${year}-${month}`,
  diot: ({ period }) => period,
  payroll: ({ month }) => month,
}

/** Says of each row of a year or month whether it was not over on the day up to which documents were known. */
export function withPartial(key: ReportKey, known: string, rows: readonly object[]): readonly object[] {
  const periodOf = PERIODS[key]
  if (periodOf === undefined) return rows
  return rows.map((row) => {
    const period = periodOf(row) ?? ''
    return { ...row, is_partial: period >= known.slice(0, period.length) }
  })
}
