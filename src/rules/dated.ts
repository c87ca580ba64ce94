import type * as z from 'zod'
import { Failure } from '../failures.ts'
import type { Day } from '../platform/time/calendar.ts'
import type { RuleBasis } from './contract.ts'
import type { SHAPES } from './shapes.ts'

export type RuleKey = keyof typeof SHAPES
export type RuleValues = { [Key in RuleKey]: z.infer<(typeof SHAPES)[Key]> }

/** A value of a rule and the days on which it is in force, both included. */
export type RuleRow = Omit<RuleBasis, 'key'> & { key: RuleKey }

const latestFirst = (rows: readonly RuleRow[]): RuleRow[] => rows.toSorted((a, b) => (a.valid_from < b.valid_from ? 1 : -1))

/** What the rules of one answer share. */
class Source {
  readonly used = new Set<RuleRow>()
  readonly days = new Map<Day, Rules>()
  readonly #rows: Map<RuleKey, RuleRow[]>

  constructor(own: readonly RuleRow[], defaults: readonly RuleRow[]) {
    this.#rows = Map.groupBy([...latestFirst(own), ...latestFirst(defaults)], ({ key }) => key)
  }

  rowOf(key: RuleKey, day: Day): RuleRow | undefined {
    return this.#rows.get(key)?.find(({ valid_from, valid_to }) => valid_from <= day && (valid_to === null || day <= valid_to))
  }
}

/** The rules in force on a day. What is read is noted, and `basis()` returns it. */
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
    if (value === null) throw new Failure('invalid', 'rule.none', `The rule ${key} has no value on ${this.#day}.`)
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
