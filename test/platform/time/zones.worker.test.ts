import { describe, expect, it } from 'vitest'
import { localDayOf } from '../../../src/platform/time/calendar.ts'
import { isTimeZone } from '../../../src/platform/time/zones.ts'

describe('a time zone', () => {
  it.each([
    'America/Mexico_City',
    'UTC',
    'GMT',
    'GMT+0',
    'EST',
    'EST5EDT',
    'US/Pacific',
    'Asia/Calcutta',
    'Asia/Kolkata',
    'America/Buenos_Aires',
    'America/Argentina/Buenos_Aires',
    'America/Argentina/ComodRivadavia',
    'Etc/GMT+6',
    'Etc/GMT-14',
    'Mexico/General',
    'Mexico/BajaNorte',
    'America/Ciudad_Juarez',
    'Europe/Kyiv',
    'Europe/Kiev',
    'Australia/Lord_Howe',
    'America/Port-au-Prince',
    'NZ-CHAT',
    'W-SU',
    'Etc/Zulu',
  ])('is %s', (name) => {
    expect(isTimeZone(name)).toBe(true)
    expect(localDayOf(new Date('2026-01-15T12:00:00Z'), name)).toMatch(/^2026-01-1[456]$/)
  })

  it.each([
    '',
    ' ',
    '+06:00',
    '-0600',
    '+06',
    'UTC+6',
    'GMT-06:00',
    'Etc/GMT+13',
    'america/mexico_city',
    'AMERICA/MEXICO_CITY',
    'America/mexico_city',
    'utc',
    'us/pacific',
    'PST',
    'IST',
    'CST',
    'JST',
    'America/Mexico City',
    ' UTC',
    'America/',
    'Mexico',
    'Etc/Unknown',
    'Factory',
    'posixrules',
    'SystemV/PST8',
    'Asia/Hanoi',
    '__proto__',
    'toString',
    'America/Mexico_City\n',
  ])('is not %j', (name) => {
    expect(isTimeZone(name)).toBe(false)
  })

  it('is every one that the runtime lists', () => {
    const listed = Intl.supportedValuesOf('timeZone')
    expect(listed.length).toBeGreaterThan(400)
    expect(listed.filter((name) => !isTimeZone(name))).toEqual([])
  })
})
