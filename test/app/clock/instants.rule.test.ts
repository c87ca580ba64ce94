import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cronsOf, nextByCalendar, QUARTER } from '../../../src/app/clock/instants.ts'
import { localTimeOf } from '../../../src/platform/time/calendar.ts'
import { runs } from '../../support/fuzz.ts'

const ZONES = ['America/Mexico_City', 'America/Tijuana', 'Asia/Kathmandu', 'America/Sao_Paulo', 'Pacific/Apia', 'Europe/Madrid']
const instant = fc.integer({ min: Date.parse('2012-01-01'), max: Date.parse('2036-01-01') })

it('the next instant of the calendar is the first quarter of an hour that begins a local day or the work of a local Monday, or the daily work', () => {
  fc.assert(
    fc.property(instant, fc.subarray(ZONES), (now, zones) => {
      const isDue = (quarter: number): boolean =>
        cronsOf(quarter).length === 3 ||
        zones.some((zone) => {
          const [local, before] = [quarter, Math.max(now, quarter - QUARTER)].map((at) => localTimeOf(new Date(at), zone)) as [
            string,
            string,
          ]
          const isMonday = new Date(`${local}Z`).getUTCDay() === 1
          return local.slice(0, 10) !== before.slice(0, 10) || (isMonday && local.slice(11) >= '08:00' && before.slice(11) < '08:00')
        })
      let first = (Math.floor(now / QUARTER) + 1) * QUARTER
      while (!isDue(first)) first += QUARTER
      expect(nextByCalendar(zones, now)).toBe(first)
    }),
    { numRuns: runs(300, 20_000) },
  )
})
