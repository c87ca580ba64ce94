import type * as z from 'zod'
import { invalid } from '../../platform/failures.ts'
import { type Day, dayOfEpoch, epochDayOf } from '../../platform/time/calendar.ts'
import { lastDayOf } from '../../platform/time/months.ts'
import type { RuleBasis } from './contract.ts'
import type { SHAPES } from './shapes.ts'

export type RuleKey = keyof typeof SHAPES
export type RuleValues = { [Key in RuleKey]: z.infer<(typeof SHAPES)[Key]> }

/** A value of a rule and the days on which it is in force, both included. */
export type RuleRow = Omit<RuleBasis, 'key'> & { key: RuleKey }

/** The unit by which a rule counts: a month or year has the value in force on its last day. */
export type Unit = 'day' | 'month' | 'year'

const firstDayIn = (unit: Unit, day: Day): Day =>
  unit === 'day' ? day : unit === 'month' ? `${day.slice(0, 7)}-01` : `${day.slice(0, 4)}-01-01`
const lastDayIn = (unit: Unit, day: Day): Day =>
  unit === 'day' ? day : unit === 'month' ? lastDayOf(day.slice(0, 7)) : `${day.slice(0, 4)}-12-31`

const latestFirst = (rows: readonly RuleRow[]): RuleRow[] => rows.toSorted((a, b) => (a.valid_from < b.valid_from ? 1 : -1))

/** The shared state of the rules of one answer. */
class Source {
  readonly used = new Set<RuleRow>()
  readonly days = new Map<Day, Rules>()
  readonly #rows: Map<RuleKey, RuleRow[]>
  readonly #own: ReadonlySet<RuleRow>

  constructor(own: readonly RuleRow[], defaults: readonly RuleRow[]) {
    this.#own = new Set(own)
    this.#rows = Map.groupBy([...latestFirst(own), ...latestFirst(defaults)], ({ key }) => key)
  }

  rowOf(key: RuleKey, day: Day): RuleRow | undefined {
    const rows = this.#rows.get(key) ?? []
    const found = rows.find(({ valid_from, valid_to }) => valid_from <= day && (valid_to === null || day <= valid_to))
    if (found) return found
    // The defaults have no first day of their own: their first value also covers earlier days.
    const later = rows.filter(({ valid_from }) => day < valid_from)
    if (later.length === 0 || rows.some((row) => !this.#own.has(row) && row.valid_from <= day)) return undefined
    return later.reduce((one, row) => (row.valid_from < one.valid_from ? row : one))
  }

  /** The days within a range, after its first, on which a value may begin or have ended. */
  changesIn({ first, last }: { first: Day; last: Day }): Day[] {
    const days = [...this.#rows.values()]
      .flat()
      .flatMap(({ valid_from, valid_to }) => [valid_from, ...(valid_to === null ? [] : [dayOfEpoch(epochDayOf(valid_to) + 1)])])
    return [...new Set(days)].filter((day) => first < day && day <= last).sort()
  }
}

/**
 * The rules in force on a day; before the defaults of a rule, the first value that begins later. Values that are read are noted, and
 * `basis()` returns them.
 */
export class Rules {
  readonly #source: Source
  readonly #day: Day
  readonly #found = new Map<RuleKey, RuleRow | null>()

  private constructor(source: Source, day: Day) {
    this.#source = source
    this.#day = day
    source.days.set(day, this)
  }

  /** A deployment's own rows come before the defaults; of several in force, the one that began last counts. */
  static of(own: readonly RuleRow[], defaults: readonly RuleRow[], day: Day): Rules {
    return new Rules(new Source(own, defaults), day)
  }

  /** Returns the same rules on another day. What is read there is in the same `basis()`. */
  on(day: Day): Rules {
    return this.#source.days.get(day) ?? new Rules(this.#source, day)
  }

  /** Returns the rules of the month or year of a day. */
  in(unit: Unit, day: Day): Rules {
    return this.on(lastDayIn(unit, day))
  }

  /** Divides a range where rules change: each part has its first day, and the rules of its days, months or years. */
  partsOf(days: { first: Day; last: Day }, unit: Unit = 'day'): { from: Day; rules: Rules }[] {
    const range = { first: days.first, last: lastDayIn(unit, days.last) }
    const starts = [
      days.first,
      ...this.#source
        .changesIn(range)
        .map((day) => firstDayIn(unit, day))
        .filter((day) => day > days.first),
    ]
    return [...new Set(starts)].map((from) => ({ from, rules: this.in(unit, from) }))
  }

  /** Returns the rows of some rules that were in force on days of a range. They are not noted. */
  rowsOf(keys: readonly RuleKey[], days: { first: Day; last: Day }): RuleRow[] {
    const starts = [days.first, ...this.#source.changesIn(days)]
    return [...new Set(keys.flatMap((key) => starts.flatMap((day) => this.#source.rowOf(key, day) ?? [])))]
  }

  /** Returns the value of a rule, or null when it has none on that day. */
  find<Key extends RuleKey>(key: Key): RuleValues[Key] | null {
    let row = this.#found.get(key)
    if (row === undefined) {
      row = this.#source.rowOf(key, this.#day) ?? null
      this.#found.set(key, row)
      if (row !== null) this.#source.used.add(row)
    }
    return row === null ? null : (row.value as RuleValues[Key])
  }

  /** Returns the value of a rule. Throws Failure 422 rule.none when it has none on that day. */
  get<Key extends RuleKey>(key: Key): RuleValues[Key] {
    const value = this.find(key)
    if (value === null) throw invalid('rule.none', [{ path: 'query', message: `The rule ${key} has no value on ${this.#day}.` }])
    return value
  }

  /** Returns every row that was read so far, for the `basis` of an answer: by key, then by first day. */
  basis(): RuleBasis[] {
    return basisOf([...this.#source.used])
  }
}

/** Returns rows as the `basis` of an answer cites them. It does not repeat catalogs, which are long: their value is null. */
export const basisOf = (rows: readonly RuleRow[]): RuleBasis[] =>
  rows
    .toSorted((a, b) => (`${a.key} ${a.valid_from}` < `${b.key} ${b.valid_from}` ? -1 : 1))
    .map((row) => (row.key.startsWith('catalog.') ? { ...row, value: null } : row))
