import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import { centralTime, instantOf, offsetText, zoneOf } from '../../../src/platform/time/months.ts'
import { randomOf } from '../../support/random.ts'

const PLACES = {
  '06600': 'America/Mexico_City',
  '21000': 'America/Tijuana',
  '23000': 'America/Mazatlan',
  '26000': 'America/Matamoros',
  '31000': 'America/Chihuahua',
  '32000': 'America/Ciudad_Juarez',
  '32881': 'America/Ojinaga',
  '63000': 'America/Mazatlan',
  '63732': 'America/Bahia_Banderas',
  '64000': 'America/Mexico_City',
  '65000': 'America/Matamoros',
  '77500': 'America/Cancun',
  '80000': 'America/Mazatlan',
  '83000': 'America/Hermosillo',
  '88500': 'America/Matamoros',
}

/** Temporal's own rule for what comes twice or is skipped is ours: `compatible`. */
function oracle(fecha: string, zone: string) {
  const zoned = Temporal.PlainDateTime.from(fecha).toZonedDateTime(zone, { disambiguation: 'compatible' })
  return { issued_at: zoned.epochMilliseconds / 1000, utc_offset: zoned.offsetNanoseconds / 60e9 }
}

describe('the instant of a Fecha', () => {
  it('knows the zone of a place of issue', () => {
    for (const [lugar, zone] of Object.entries(PLACES)) expect(zoneOf(lugar)).toBe(zone)
    for (const lugar of [null, '', '2100', 'Tijuana, B.C.', '99999', '20999']) expect(zoneOf(lugar)).toBe('America/Mexico_City')
  })

  it('equals Temporal at any time of twenty years', () => {
    const random = randomOf(7)
    for (const [lugar, zone] of Object.entries(PLACES)) {
      for (let i = 0; i < 120; i++) {
        const fecha = new Date(1.2e12 + Math.floor(random() * 6.5e8) * 1000).toISOString().slice(0, 19)
        expect({ fecha, ...instantOf(fecha, lugar) }).toEqual({ fecha, ...oracle(fecha, zone) })
      }
    }
  })

  it('equals Temporal around every change of the clocks, with hours that are skipped and that come twice', () => {
    for (const [lugar, zone] of Object.entries(PLACES)) {
      let at = Temporal.Instant.from('2008-01-01T00:00:00Z').toZonedDateTimeISO(zone)
      for (;;) {
        const next = at.getTimeZoneTransition('next')
        if (next === null || next.year > 2027) break
        for (let minutes = -180; minutes <= 180; minutes += 15) {
          const fecha = next.toPlainDateTime().add({ minutes }).toString({ smallestUnit: 'second' })
          expect({ fecha, zone, ...instantOf(fecha, lugar) }).toEqual({ fecha, zone, ...oracle(fecha, zone) })
        }
        at = next
      }
    }
  })

  it('writes offsets as ISO 8601 does', () => {
    expect(offsetText(-360)).toBe('-06:00')
    expect(offsetText(330)).toBe('+05:30')
    expect(centralTime('2022-07-01T10:00:00')).toBe('2022-07-01T10:00:00-05:00')
    expect(centralTime('2024-07-01T10:00:00')).toBe('2024-07-01T10:00:00-06:00')
  })
})
