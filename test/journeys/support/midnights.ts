import { Temporal } from 'temporal-polyfill'

/** What is fetched at once: a month of CFDIs, or with an empty month the files of a document source. */
export interface Cell {
  rfc: string
  source: string
  month: string
}

export interface Plan {
  organization: string
  extractor_id: string
  trigger_kind: string
  schedule_kind: string | null
  schedule_spec: Record<string, number>
  timezone: string
  is_enabled: boolean
  scope: string
  scope_months: number | null
  data_source_keys: string[]
}

interface Link {
  organization: string
  rfc: string
  /** Mandatory ones included. */
  sources: string[]
}

const EARLIEST = '2018-01-01'
const MEXICO = 'America/Mexico_City'
const WEST = 'Etc/GMT+8'

const dayOf = (instant: string, zone: string): Temporal.PlainDate => Temporal.Instant.from(instant).toZonedDateTimeISO(zone).toPlainDate()
const earlier = (a: string, b: string): string => (a < b ? a : b)

/**
 * A slow and plain account of midnights that share downloads: who is due, which cells that makes, where windows end up. Everything is
 * taken to succeed before the next tick.
 */
export class Midnights {
  readonly #saved: string
  #before: string
  readonly #links: Link[] = []
  readonly #plans: Plan[] = []
  readonly #windows = new Map<string, { from: string; to: number }>()
  /** Of (organization, RFC, source): the last tick at which one of its runs had it fetched. */
  readonly #reached = new Map<string, string>()
  /** Cells of all ticks. */
  fetches = 0

  constructor(saved: string) {
    this.#saved = saved
    this.#before = saved
  }

  link(link: Link): void {
    this.#links.push(link)
  }

  plan(plan: Plan): void {
    this.#plans.push(plan)
  }

  /** One evaluation of all zones. */
  tick(instant: string) {
    const cells = new Map<string, Cell>()
    const runs: { extractor_id: string; local_date: string; connections: number }[] = []
    const reached: string[] = []
    const notified = new Set<string>()
    for (const plan of this.#plans) {
      const local_date = this.#dueDay(plan, instant)
      if (local_date === undefined) continue
      const covered = this.#links.filter(({ organization }) => organization === plan.organization)
      runs.push({ extractor_id: plan.extractor_id, local_date, connections: covered.length })
      for (const link of covered) {
        for (const source of plan.data_source_keys.filter((key) => link.sources.includes(key))) {
          const key = `${plan.organization} ${link.rfc} ${source}`
          reached.push(key)
          for (const month of source.startsWith('sat_cfdi') ? this.#months(plan, key, instant) : ['']) {
            cells.set(`${link.rfc} ${source} ${month}`, { rfc: link.rfc, source, month })
            notified.add(`${plan.organization} ${link.rfc} ${source} ${month}`)
          }
        }
      }
    }
    for (const key of reached) this.#reached.set(key, instant)
    this.#before = instant
    this.fetches += cells.size
    return { cells: [...cells.values()], runs, notified: [...notified], windows: this.#allWindows() }
  }

  /** The last day that came since the last evaluation on which the extractor is due. */
  #dueDay(plan: Plan, instant: string): string | undefined {
    if (!plan.is_enabled || plan.trigger_kind !== 'schedule') return undefined
    const saved = dayOf(this.#saved, plan.timezone)
    const after = dayOf(this.#before, plan.timezone)
    for (let day = dayOf(instant, plan.timezone); Temporal.PlainDate.compare(day, after) > 0; day = day.subtract({ days: 1 })) {
      if (Temporal.PlainDate.compare(day, saved) > 0 && falls(plan, saved, day)) return day.toString()
    }
    return undefined
  }

  /** The months of a run's range for one link and source, whose window it widens. */
  #months({ scope, scope_months, timezone }: Plan, key: string, instant: string): string[] {
    const last = this.#reached.get(key)
    let from = EARLIEST
    if (scope === 'last_n_months')
      from = dayOf(instant, timezone)
        .subtract({ days: 30 * scope_months! })
        .toString()
    if (scope === 'since_watermark' && last !== undefined) {
      // Documents are stamped within 72 hours of their Fecha.
      const stamping = Temporal.Instant.from(last).subtract({ hours: 72 }).toString()
      from = earlier(dayOf(stamping, timezone).toString(), dayOf(stamping, WEST).toString())
    }
    const window = this.#windows.get(key)
    this.#windows.set(key, { from: earlier(from, window?.from ?? from), to: Date.parse(instant) })
    const ends = [dayOf(instant, timezone), dayOf(instant, MEXICO)].map((day) => day.toPlainYearMonth())
    const end = Temporal.PlainYearMonth.compare(ends[0]!, ends[1]!) < 0 ? ends[1]! : ends[0]!
    const months: string[] = []
    let month = Temporal.PlainDate.from(from).toPlainYearMonth()
    for (; Temporal.PlainYearMonth.compare(month, end) <= 0; month = month.add({ months: 1 })) months.push(month.toString())
    return months
  }

  /** `organization rfc source`, floor and ceiling. */
  #allWindows(): (string | number | null)[][] {
    return this.#links.flatMap(({ organization, rfc }) =>
      ['sat_cfdi_issued', 'sat_cfdi_received'].map((source) => {
        const key = `${organization} ${rfc} ${source}`
        const window = this.#windows.get(key)
        return [key, window?.from ?? null, window?.to ?? null]
      }),
    )
  }
}

function falls({ schedule_kind, schedule_spec }: Plan, saved: Temporal.PlainDate, day: Temporal.PlainDate): boolean {
  if (schedule_kind === 'daily') return true
  if (schedule_kind === 'every_n_days') return saved.until(day).days % schedule_spec['n']! === 0
  // The nth one: as many of the month's days up to this one fall on the weekday.
  const alike = Array.from({ length: day.day }, (_, i) => day.with({ day: i + 1 })).filter((it) => it.dayOfWeek === day.dayOfWeek)
  return day.dayOfWeek - 1 === schedule_spec['weekday'] && alike.length === schedule_spec['nth']
}
