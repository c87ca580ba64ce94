import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { graceEnd, subscriptionStatus, trialEnd } from '../../../../src/accounts/billing/subscription/status.ts'
import { losingMessages } from '../../../downloads/support/downloads.ts'
import { at, restore } from '../../../support/clock.ts'
import { runs } from '../../../support/fuzz.ts'
import { freshRfc } from '../../../support/tenants.ts'
import { billed } from '../support/billing.ts'

afterEach(restore)

/** Zones whose clocks change at midnight, by half an hour, over the date line, or where most customers are. */
const ZONES = [
  ...['America/Mexico_City', 'America/Tijuana', 'America/Santiago', 'America/Sao_Paulo', 'America/Havana', 'America/Asuncion'],
  ...['Africa/Cairo', 'Asia/Beirut', 'Asia/Tehran', 'Atlantic/Azores', 'Australia/Lord_Howe', 'Pacific/Apia', 'Pacific/Auckland', 'UTC'],
]
const MINUTE = 60_000

/** The date that a calendar on the wall shows. */
const formats = new Map(ZONES.map((zone) => [zone, new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' })]))
const shown = (at: number, zone: string): string => formats.get(zone)!.format(at)
const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 86_400_000

/** The first minute, looked for one after the other, at which the calendar shows this many days more than a date. */
function firstMinute(zone: string, from: number, date: string, days: number): number {
  for (let at = Math.floor(from / MINUTE) * MINUTE; ; at += MINUTE) if (daysBetween(date, shown(at, zone)) >= days) return at
}

const zone = fc.constantFrom(...ZONES)
/** Anywhere, and around the changes of clocks of these zones. */
const changes = [
  ...['2011-12-29', '2018-11-03', '2019-02-16', '2021-09-04', '2022-04-03', '2022-09-10', '2022-10-30', '2024-03-10'],
  ...['2024-03-29', '2024-04-25', '2024-10-31', '2025-04-05', '2026-03-08', '2026-09-05', '2026-11-01', '2027-03-14'],
].map((day) => Date.parse(day))
const instant = fc.oneof(
  fc.integer({ min: Date.parse('2011-01-01'), max: Date.parse('2028-01-01') }),
  fc.tuple(fc.constantFrom(...changes), fc.integer({ min: -9 * 86_400_000, max: 9 * 86_400_000 })).map(([day, off]) => day + off),
)

describe('against a calendar that is looked at every minute', () => {
  it('the trial ends with its seventh local day', () => {
    fc.assert(
      fc.property(zone, instant, (timezone, now) => {
        const end = trialEnd(new Date(now), timezone).getTime()
        expect(end).toBe(firstMinute(timezone, now + 4 * 86_400_000, shown(now, timezone), 7))
        const terms = {
          plan: 'diagnostic',
          rfc_allowance: null,
          trial_ends_at: new Date(end),
          is_trial_used: false,
          timezone,
          oldest_due: null,
        }
        const state = (when: number) => subscriptionStatus(terms, new Date(when)).state
        expect([state(end - 1), state(end)]).toEqual(['trialing', 'diagnostic_expired'])
      }),
      { numRuns: runs(10, 150) },
    )
  })

  it('grace ends three calendar days after the day of issue', () => {
    fc.assert(
      fc.property(zone, instant, (timezone, issued) => {
        const due = shown(issued, timezone)
        const end = graceEnd(due, timezone).getTime()
        expect(end).toBe(firstMinute(timezone, issued, due, 3))
        const terms = { plan: 'api', rfc_allowance: null, trial_ends_at: null, is_trial_used: true, timezone, oldest_due: due }
        const state = (when: number) => subscriptionStatus(terms, new Date(when)).state
        const next = firstMinute(timezone, issued, due, 1)
        expect([state(issued), state(next - 1), state(end)]).toEqual(['active', 'active', 'suspended'])
        // Where a whole day is skipped nothing may be left of the grace.
        expect([state(next), state(end - 1)]).toEqual(next < end ? ['past_due', 'past_due'] : ['suspended', 'active'])
      }),
      { numRuns: runs(10, 150) },
    )
  })

  it('whoever owes or tries at any instant stands where its calendar says', () => {
    fc.assert(
      fc.property(zone, instant, fc.integer({ min: -3, max: 9 * 24 * 60 }), fc.boolean(), (timezone, then, minutes, isDiagnostic) => {
        const now = then + minutes * MINUTE
        const since = daysBetween(shown(then, timezone), shown(now, timezone))
        const owing = isDiagnostic
          ? { plan: 'diagnostic', trial_ends_at: trialEnd(new Date(then), timezone), oldest_due: null }
          : { plan: 'starter', trial_ends_at: null, oldest_due: shown(then, timezone) }
        const right = isDiagnostic
          ? since >= 7
            ? 'diagnostic_expired'
            : 'trialing'
          : since >= 3
            ? 'suspended'
            : since >= 1
              ? 'past_due'
              : 'active'
        expect(subscriptionStatus({ rfc_allowance: null, is_trial_used: false, timezone, ...owing }, new Date(now)).state).toBe(right)
      }),
      { numRuns: runs(60, 1_000) },
    )
  })
})

describe('through the front door', () => {
  it.each([
    ['America/Tijuana', '2026-03-06', '2026-03-09T07:00:00.000Z'],
    ['America/Santiago', '2026-09-03', '2026-09-06T04:00:00.000Z'],
    ['Africa/Cairo', '2024-04-23', '2024-04-25T22:00:00.000Z'],
    ['Pacific/Auckland', '2027-04-02', '2027-04-04T12:00:00.000Z'],
    ['America/Mexico_City', '2022-10-28', '2022-10-31T06:00:00.000Z'],
  ])('in %s what was due on %s blocks from %s on', async (timezone, due, end) => {
    losingMessages()
    at(`${due}T09:00:00Z`)
    const of = await billed()
    await of.set('timezone = ?', timezone)
    const invoice = await of.invoice(due)
    expect(invoice).toMatchObject({ status: 'open', due_at: invoice.issued_at, grace_until: end, is_overdue: false })
    const before = new Date(Date.parse(end) - 1).toISOString()
    at(before)
    expect(await of.billing()).toMatchObject({ state: 'past_due', grace_until: end })
    expect((await of.invoices())[0]?.is_overdue).toBe(true)
    expect((await of.connect(freshRfc())).status).toBe(201)
    at(end)
    expect((await of.billing()).state).toBe('suspended')
    expect((await of.connect(freshRfc())).body.code).toBe('billing.overdue')
    expect((await of.connect(freshRfc(), null)).status).toBe(201)
  })
})
