import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addBusinessDays, businessDaysBetween, isBusinessDay, KNOWN_UNTIL } from '../../../src/authority/port/business-days.ts'
import { NOTIFICATION_KINDS } from '../../../src/authority/port/mailbox.ts'
import { deadlinesOf, pendingSince, statusOf } from '../../../src/documents/mailbox/deadlines.ts'

/** The days that the authority does not count, besides weekends, written out by hand. */
const HOLIDAYS: Record<string, readonly string[]> = {
  2025: [
    ...['01-01', '02-03', '03-17', '04-17', '04-18', '05-01', '05-05', '09-16', '11-17', '12-25'],
    ...['07-18', '07-21', '07-22', '07-23', '07-24', '07-25', '07-28', '07-29', '07-30', '07-31'],
    ...['12-18', '12-19', '12-22', '12-23', '12-24', '12-26', '12-29', '12-30', '12-31'],
  ],
  2026: [
    ...['01-01', '01-02', '02-02', '03-16', '04-02', '04-03', '05-01', '05-05', '09-16', '11-02', '11-16', '12-25'],
    ...['07-20', '07-21', '07-22', '07-23', '07-24', '07-27', '07-28', '07-29', '07-30', '07-31'],
  ],
  2027: ['01-01', '02-01', '03-15', '05-05', '09-16', '11-15'],
  2030: ['01-01', '02-04', '03-18', '05-01', '09-16', '10-01', '11-18', '12-25'],
}

const DAY = 86_400_000
const next = (day: string, days = 1): string => new Date(Date.parse(`${day}T12:00:00Z`) + days * DAY).toISOString().slice(0, 10)
const isWeekend = (day: string): boolean => [0, 6].includes(new Date(`${day}T12:00:00Z`).getUTCDay())
const counts = (day: string): boolean => !isWeekend(day) && !HOLIDAYS[day.slice(0, 4)]!.includes(day.slice(5))

/** Mexico City has no daylight saving since 2022: its days begin at 06:00 UTC. */
const noon = (day: string): Date => new Date(`${day}T18:00:00Z`)

const anyDay = fc.tuple(fc.constantFrom('2025', '2026'), fc.integer({ min: 0, max: 364 })).map(([year, n]) => next(`${year}-01-01`, n))
const anyEffective = fc.constantFrom('notificacion', 'requerimiento')

describe('the business days of the authority', () => {
  it('are all but weekends, the holidays of the law and the days that the authority published', () => {
    for (const [year, holidays] of Object.entries(HOLIDAYS)) {
      const days = Array.from({ length: 365 }, (_, n) => next(`${year}-01-01`, n)).filter((day) => !isWeekend(day) && !isBusinessDay(day))
      expect(days.map((day) => day.slice(5))).toEqual([...holidays].sort())
    }
  })

  it('are counted one by one, forwards and backwards', () => {
    fc.assert(
      fc.property(anyDay, fc.integer({ min: 1, max: 12 }), (day, count) => {
        let [at, left] = [day, count]
        while (left > 0) {
          at = next(at)
          if (at < '2027' && counts(at)) left--
          else if (at >= '2027' && isBusinessDay(at)) left--
        }
        expect(addBusinessDays(day, count)).toBe(at)
        expect(businessDaysBetween(day, at)).toBe(count)
        if (isBusinessDay(day)) expect(addBusinessDays(at, -count)).toBe(day)
      }),
    )
  })
})

describe('the deadlines of a notification', () => {
  it('are three business days to open it, and the fourth on which it counts as notified', () => {
    // Wednesday 30 April 2026 is followed by two holidays and a weekend.
    const sent = { kind: 'requerimiento', sent_at: noon('2026-04-30'), opened_at: null } as const
    const on = (day: string) => deadlinesOf(sent, noon(day))
    expect(on('2026-04-30')).toEqual({
      ...{ status: 'pending', severity: 'warning', open_deadline: '2026-05-07', deadline_basis: 'published', days_left: 3 },
      effective_at: new Date('2026-05-08T06:00:00Z'),
    })
    expect(['2026-05-03', '2026-05-04', '2026-05-05', '2026-05-06', '2026-05-07'].map((day) => on(day).days_left)).toEqual([3, 2, 2, 1, 0])
    expect(['2026-05-05', '2026-05-06'].map((day) => on(day).severity)).toEqual(['warning', 'critical'])
    expect(deadlinesOf(sent, new Date('2026-05-08T05:59:59.999Z')).status).toBe('pending')
    expect(deadlinesOf(sent, new Date('2026-05-08T06:00:00Z'))).toMatchObject({
      ...{ status: 'notified_by_expiry', severity: 'critical', open_deadline: '2026-05-07', days_left: null },
    })
  })

  it('begin with the local day: what is sent late in the evening in Mexico City belongs to that day', () => {
    const sent_at = new Date('2026-06-02T05:30:00Z')
    expect(deadlinesOf({ kind: 'notificacion', sent_at, opened_at: null }, sent_at).open_deadline).toBe('2026-06-04')
  })

  it('take effect when it is opened', () => {
    const opened_at = noon('2026-06-02')
    expect(deadlinesOf({ kind: 'notificacion', sent_at: noon('2026-06-01'), opened_at }, noon('2026-09-01'))).toEqual({
      ...{
        status: 'opened',
        severity: 'info',
        open_deadline: '2026-06-04',
        deadline_basis: 'published',
        effective_at: opened_at,
        days_left: null,
      },
    })
  })

  it('are none for what only informs, opened or not', () => {
    for (const kind of NOTIFICATION_KINDS.slice(2))
      for (const opened_at of [null, noon('2026-06-02')])
        expect(deadlinesOf({ kind, sent_at: noon('2026-06-01'), opened_at }, noon('2026-06-02'))).toEqual({
          ...{ status: 'informational', severity: 'info', open_deadline: null, deadline_basis: null, effective_at: null, days_left: null },
        })
  })

  it('are said to be estimated where the table of published days does not reach: before it begins, and across its end', () => {
    const of = (sent: string) => {
      const { open_deadline, deadline_basis } = deadlinesOf({ kind: 'notificacion', sent_at: noon(sent), opened_at: null }, noon(sent))
      return [open_deadline, deadline_basis]
    }
    // The authority was on vacation in the last week of July 2023, which the table does not have.
    expect(of('2023-07-24')).toEqual(['2023-07-27', 'estimated'])
    expect([of('2024-12-22'), of('2024-12-23')]).toEqual([
      ['2025-01-06', 'estimated'],
      ['2025-01-06', 'published'],
    ])
    // The fourth business day after the 24th is the 30th, the last day up to which the table is complete.
    expect([of('2026-11-24'), of('2026-11-25')]).toEqual([
      ['2026-11-27', 'published'],
      ['2026-11-30', 'estimated'],
    ])
    const opened = { kind: 'notificacion', sent_at: noon('2026-12-10'), opened_at: noon('2026-12-11') } as const
    expect(deadlinesOf(opened, noon('2026-12-12'))).toMatchObject({ deadline_basis: 'estimated', effective_at: opened.opened_at })
  })

  it('are published for every day that the table of this test has, and for none later', () => {
    fc.assert(
      fc.property(anyDay, (sent) => {
        const { effective_at, deadline_basis } = deadlinesOf({ kind: 'requerimiento', sent_at: noon(sent), opened_at: null }, noon(sent))
        expect(deadline_basis).toBe(effective_at!.toISOString().slice(0, 10) <= KNOWN_UNTIL ? 'published' : 'estimated')
      }),
    )
  })

  it('agree with an oracle that counts day by day', () => {
    fc.assert(
      fc.property(anyEffective, anyDay, fc.integer({ min: 0, max: 25 }), (kind, sent, after) => {
        const today = next(sent, after)
        if (today >= '2027') return
        let passed = 0
        for (let day = sent; day < today; ) {
          day = next(day)
          if (counts(day)) passed++
        }
        const { status, days_left } = deadlinesOf({ kind: kind as 'notificacion', sent_at: noon(sent), opened_at: null }, noon(today))
        expect(status).toBe(passed >= 4 ? 'notified_by_expiry' : 'pending')
        expect(days_left).toBe(passed >= 4 ? null : 3 - passed)
      }),
    )
  })

  it('have one instant from which on everything is pending that was sent then or later, and nothing from before', () => {
    fc.assert(
      fc.property(anyDay, fc.integer({ min: -30 * 24, max: 0 }), (today, hours) => {
        const now = noon(today)
        const sent_at = new Date(now.getTime() + hours * 3_600_000)
        const isPending = statusOf({ kind: 'notificacion', sent_at, opened_at: null }, now) === 'pending'
        expect(isPending).toBe(sent_at >= pendingSince(now))
      }),
    )
  })
})
