import { expect, it } from 'vitest'
import type { ScheduleKind } from '../../../src/connections/extractors/rules.ts'
import { arm, lastDueDay, nextRunAt, owedDay } from '../../../src/connections/extractors/rules.ts'
import { localDayOf } from '../../../src/platform/time/calendar.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const ZONES = Intl.supportedValuesOf('timeZone')
const HISTORIES = runs(1_000, 20_000)

interface Scheduled {
  schedule_kind: ScheduleKind
  schedule_spec: Record<string, number>
  timezone: string
  is_enabled: boolean
  cadence: string | null
  armed_day: string | null
}

/** The service as far as one extractor's dates go: ticks of its zones, and changes of its schedule. */
class Service {
  readonly evaluated = new Map<string, string>()
  readonly dates: string[] = []
  extractor: Scheduled | null = null

  get ranFor(): string | null {
    return this.dates.toSorted().at(-1) ?? null
  }

  save(settings: Omit<Scheduled, 'cadence' | 'armed_day'>, now: number): void {
    const at = new Date(now)
    const owed = this.extractor && owedDay(this.extractor, settings, this.ranFor, at)
    if (owed) this.run(owed)
    this.extractor = { ...settings, ...arm(settings, this.ranFor, at, this.extractor ?? undefined) }
    const { timezone } = settings
    if (!this.evaluated.has(timezone)) this.evaluated.set(timezone, localDayOf(at, timezone))
  }

  /** As evaluateCadences and planPage: a date that has run is not planned again. */
  tick(now: number): void {
    for (const [zone, evaluated] of this.evaluated) {
      const today = localDayOf(new Date(now), zone)
      if (today <= evaluated) continue
      this.evaluated.set(zone, today)
      const { timezone, cadence, armed_day, is_enabled } = this.extractor!
      if (timezone !== zone || !is_enabled) continue
      const due = lastDueDay(cadence!, evaluated, today)
      if (due !== null && armed_day! < due) this.run(due)
    }
  }

  run(date: string): void {
    if (!this.dates.includes(date)) this.dates.push(date)
  }
}

/**
 * What breaks without it: the console promises a run, nothing comes, and a customer looks for the invoices of that day. Whatever changes
 * before the promised instant makes another promise; what changes after it, before a late tick, finds the promise kept all the same.
 */
it(`what next_run_at promises runs, through ${HISTORIES} histories of changes over all zones`, () => {
  const random = randomOf(12)
  const below = (limit: number): number => Math.floor(random() * limit)
  const pick = <T>(of: readonly T[]): T => of[below(of.length)]!
  const far = ['Pacific/Kiritimati', 'Pacific/Midway', 'Etc/GMT+12', 'Pacific/Auckland', 'America/Mexico_City', 'Asia/Tokyo']
  let [kept, changed, moved] = [0, 0, 0]
  for (let history = 0; history < HISTORIES; history++) {
    const service = new Service()
    const anySchedule = () =>
      pick<Pick<Scheduled, 'schedule_kind' | 'schedule_spec'>>([
        { schedule_kind: 'daily', schedule_spec: {} },
        { schedule_kind: 'every_n_days', schedule_spec: { n: 1 + below(4) } },
        { schedule_kind: 'nth_weekday_monthly', schedule_spec: { weekday: below(7), nth: 1 + below(5) } },
      ])
    let now = Date.UTC(2018 + below(15), below(12), 1 + below(28), below(24), below(60))
    // All zones take turns; as often as not the other one is on the far side of the date line.
    const zones = [ZONES[history % ZONES.length]!, random() < 0.5 ? pick(far) : pick(ZONES)]
    service.save({ ...anySchedule(), timezone: zones[0]!, is_enabled: true }, now)
    let promise = nextRunAt(service.extractor!, new Date(now))
    const tale: unknown[] = []
    for (let step = 0; step < 12; step++) {
      now = promise !== null && random() < 0.6 ? promise.getTime() + pick([-HOUR, -1, 0, 1, HOUR, 5 * HOUR]) : now + below(3 * DAY)
      const before = service.dates.length
      const isDue = promise !== null && promise.getTime() <= now
      const isTick = random() < 0.6
      const { timezone, schedule_kind, schedule_spec } = service.extractor!
      if (isTick) service.tick(now)
      else {
        const schedule = random() < 0.3 ? anySchedule() : { schedule_kind, schedule_spec }
        service.save({ ...schedule, timezone: random() < 0.7 ? zones[timezone === zones[0] ? 1 : 0]! : timezone, is_enabled: true }, now)
        changed++
        if (service.extractor!.timezone !== timezone) moved++
      }
      tale.push({ now: new Date(now).toISOString(), isTick, promise, ...service.extractor, dates: [...service.dates] })
      const isSame =
        !isTick &&
        JSON.stringify([timezone, schedule_kind, schedule_spec]) ===
          JSON.stringify([service.extractor!.timezone, service.extractor!.schedule_kind, service.extractor!.schedule_spec])
      // A change that changes nothing leaves the date to the tick.
      const expected = before + (isDue && !isSame ? 1 : 0)
      if (service.dates.length !== expected) expect.fail(JSON.stringify({ history, zones, step, expected, tale }, null, 1))
      if (isDue && !isSame) kept++
      if (!(isDue && isSame)) promise = nextRunAt(service.extractor!, new Date(now))
    }
    // Dates go on, whatever the zones: none twice, none backwards.
    expect(service.dates, JSON.stringify(tale)).toEqual([...new Set(service.dates)].sort())
  }
  expect(Math.min(kept, changed, moved)).toBeGreaterThan(HISTORIES)
})
