import { expect, it } from 'vitest'
import { nameOf, periodOf } from '../../../src/copies/exports/start.ts'
import type { ExportRow } from '../../../src/copies/exports/store.ts'

it.each([
  [{ issued_from: '2026-10-01', issued_to: '2026-10-31' }, '2026-10'],
  [{ issued_from: '2024-02-01', issued_to: '2024-02-29' }, '2024-02'],
  [{ issued_from: '2026-10-01', issued_to: '2026-10-30' }, '2026-10-01_2026-10-30'],
  [{ issued_from: '2026-01-01', issued_to: '2026-03-31' }, '2026-01-01_2026-03-31'],
  [{ issued_from: '2026-10-05', issued_to: '2026-10-05' }, '2026-10-05'],
  // Instants are of days in central Mexico.
  [{ issued_from: '2026-10-01T06:00:00Z', issued_to: '2026-11-01T05:59:59Z' }, '2026-10'],
  [{ issued_from: '2026-10-01T00:00:00-06:00', issued_to: '2026-10-31T23:59:59-06:00' }, '2026-10'],
  // As of a day, nothing after it.
  [{ issued_from: '2026-10-01', issued_to: '2026-12-31T00:00:00-06:00', last_day: '2026-10-31' }, '2026-10'],
  [{ issued_from: '2026-11-01' }, '2026-11-01_2026-11-24'],
  [{ issued_from: '2027-01-01' }, '2027-01-01'],
  [{ issued_to: '2026-03-31' }, 'hasta-2026-03-31'],
  [{}, null],
])('the period of %j is %s', (filters, period) => {
  expect(periodOf(filters, '2026-11-24', 'hasta')).toBe(period)
})

it('the name of a file has the RFC, the kind, the direction and the period, and the day of the export without a period', () => {
  const row = (filters: object, headings: 'api' | 'es' = 'api') =>
    ({
      ...{ kind: 'cfdi', format: 'xlsx', headings, start: JSON.stringify({ filters }) },
      // Still the day before in central Mexico.
      created_at: Date.parse('2026-11-25T03:00:00Z'),
    }) as ExportRow
  expect(nameOf('DEM1906012G7', row({ issued_from: '2026-10-01', issued_to: '2026-10-31' }))).toBe('DEM1906012G7-cfdi-2026-10.xlsx')
  expect(nameOf('DEM1906012G7', row({}))).toBe('DEM1906012G7-cfdi-2026-11-24.xlsx')
  expect(nameOf('DEM1906012G7', row({ issued_to: '2026-03-31' }))).toBe('DEM1906012G7-cfdi-until-2026-03-31.xlsx')
  const october = { issued_from: '2026-10-01', issued_to: '2026-10-31' }
  expect(nameOf('DEM1906012G7', row({ ...october, direction: 'issued' }))).toBe('DEM1906012G7-cfdi-issued-2026-10.xlsx')
  expect(nameOf('DEM1906012G7', row({ ...october, direction: 'issued' }, 'es'))).toBe('DEM1906012G7-cfdi-emitidos-2026-10.xlsx')
  expect(nameOf('DEM1906012G7', row({ direction: 'received' }, 'es'))).toBe('DEM1906012G7-cfdi-recibidos-2026-11-24.xlsx')
})
