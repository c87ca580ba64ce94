import { random } from '../../../src/authority/sandbox/world/seed.ts'
import type { GrantedRange } from '../../support/context.ts'
import type { Day } from '../oracle/shapes.ts'
import { addDays, type Range } from '../oracle/world.ts'
import type { Year } from './year.ts'

/** What an organization reads of a year: without extractors everything (null), or a window for each direction. */
export type Sight = { issued: GrantedRange; received: GrantedRange } | null

/** Three organizations with different windows on a year. */
export function sightsOf({ seed, months, today }: Year): Sight[] {
  const { chance, pick, int } = random(`sights|${seed}`)
  const grantedRange = (): GrantedRange => {
    if (chance(0.08)) return null
    const floor = addDays(`${pick(months.slice(0, Math.ceil(months.length / 2)))}-01`, int(0, 27))
    const ceiling = chance(0.5) ? today : addDays(`${pick(months.slice(Math.floor(months.length / 2)))}-01`, int(0, 27))
    return [floor, `${ceiling}T${pick(['06:00:00', '17:31:07', '23:59:59'])}Z`]
  }
  const same = grantedRange()
  return [null, { issued: same, received: same }, { issued: grantedRange(), received: grantedRange() }]
}

/** Ranges to ask for: the whole year, some months, a month, and some days. */
export function rangesOf({ seed, months, today }: Year): Range[] {
  const { pick, int } = random(`ranges|${seed}`)
  const day = (): Day => addDays(`${pick(months)}-01`, int(0, 27))
  const ordered = ([a, b]: [Day, Day]): Range => (a < b ? { from: a, to: b } : { from: b, to: a })
  const month = pick(months)
  const [first, last] = [pick(months), pick(months)].sort() as [string, string]
  const endOf = (one: string) => addDays(`${one}-28`, 4).slice(0, 8)
  const lastDay = (one: string) => addDays(`${endOf(one)}01`, -1)
  return [
    { from: `${months[0]}-01`, to: today },
    { from: `${first}-01`, to: lastDay(last) },
    { from: `${month}-01`, to: lastDay(month) },
    ordered([day(), day()]),
  ]
}
