import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { expect, it } from 'vitest'
import { dayIn, endOfDay, startOfDay } from '../../console/pages/account/days.ts'
import { monthExportOf } from '../../console/pages/work/cfdi/month-export.ts'

const ZONES = ['America/Mexico_City', 'America/Tijuana', 'America/Havana', 'Europe/Madrid', 'Asia/Kolkata', 'Pacific/Apia', 'UTC']
const days = fc
  .integer({ min: 0, max: 10_000 })
  .map((n) => Temporal.PlainDate.from('2005-01-01').add({ days: n }).toString())
  // Apia left out a day, which has no start.
  .filter((day) => day !== '2011-12-30')

it('a day begins and ends when the clocks of the zone say so', () => {
  fc.assert(
    fc.property(days, fc.constantFrom(...ZONES), (day, zone) => {
      const start = Temporal.PlainDate.from(day).toZonedDateTime(zone)
      expect(Date.parse(startOfDay(day, zone))).toBe(start.epochMilliseconds)
      const next = Temporal.PlainDate.from(day).add({ days: 1 }).toString()
      if (next !== '2011-12-30') expect(Date.parse(endOfDay(day, zone))).toBe(start.add({ days: 1 }).startOfDay().epochMilliseconds - 1)
    }),
    { numRuns: 1_000 },
  )
})

it('an instant is on the day that the clocks of the zone show', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('2005-01-01'), max: new Date('2035-01-01'), noInvalidDate: true }),
      fc.constantFrom(...ZONES),
      (at, zone) => {
        const shown = Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(zone).toPlainDate().toString()
        expect(dayIn(at.toISOString(), zone)).toBe(shown)
      },
    ),
  )
  expect(dayIn('soon', 'UTC')).toBe('')
})

it('the export of a month is of all its days', () => {
  const daysOf = (month: string) => {
    const params = new URL(monthExportOf('fe_1', month, 'issued'), 'https://console.invalid').searchParams
    return [params.get('issued_from'), params.get('issued_to')]
  }
  expect(daysOf('2026-10')).toEqual(['2026-10-01', '2026-10-31'])
  expect(daysOf('2026-12')).toEqual(['2026-12-01', '2026-12-31'])
  expect(daysOf('2024-02')).toEqual(['2024-02-01', '2024-02-29'])
  expect(monthExportOf('fe_1', '2026-02')).toBe('/cfdi?fiscal_entity_id=fe_1&issued_from=2026-02-01&issued_to=2026-02-28&export=1')
})
