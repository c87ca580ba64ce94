import { cadenceOf } from '../../src/connections/extractors/rules.ts'
import { dayOfEpoch, epochDayOf } from '../../src/platform/time/calendar.ts'
import { randomOf } from '../../test/support/random.ts'
import { CADENCES, CLASSES, FIRST_DAY, ORGANIZATION_SIZES, ZONES } from './assumptions.ts'

/** The organizations whose extractors share a time zone and a cadence, which a tick finds as one page after the other. */
export interface Group {
  zone: string
  cadence: string
  organizations: number[]
}

/** RFCs over organizations. The RFCs of an organization follow each other, and each has one connection. */
export interface Population {
  rfcs: string[]
  /** The organization of each RFC. */
  organizationOf: Int32Array
  /** The first RFC of each organization and, at the end, the number of RFCs. */
  firstRfc: number[]
  groups: Group[]
  /** Documents a day, of each RFC. */
  documents: Float64Array
  /** Days between its scheduled runs, of each RFC. */
  days: Uint8Array
}

/** One of some things with shares that add up to 1, for a number from 0 to 1. */
function drawn<T extends { share: number }>(things: readonly T[], at: number): T {
  let left = at
  for (const thing of things) {
    left -= thing.share
    if (left < 0) return thing
  }
  return things[0]!
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const DIGITS = `0123456789${LETTERS}`
export const DAYS_A_MONTH = 365 / 12

function rfcOf(random: () => number): string {
  const one = (of: string): string => of[Math.floor(random() * of.length)]!
  const two = (from: number, count: number): string => String(from + Math.floor(random() * count)).padStart(2, '0')
  const name = one(LETTERS) + one(LETTERS) + one(LETTERS) + (random() < 0.5 ? '' : one(LETTERS))
  return name + two(0, 100) + two(1, 12) + two(1, 28) + one(DIGITS) + one(DIGITS) + one(DIGITS)
}

/** Makes RFCs and the organizations that connect them. The same seed makes the same ones, and many begin with those of few. */
export function populationOf(count: number, seed: number): Population {
  const random = randomOf(seed)
  const groups = new Map<string, Group>()
  const rfcs: string[] = []
  const firstRfc: number[] = []
  const [organizationOf, documents, days] = [new Int32Array(count), new Float64Array(count), new Uint8Array(count)]
  while (rfcs.length < count) {
    const { zone } = drawn(ZONES, random())
    const schedule = drawn(CADENCES, random())
    const anchor = dayOfEpoch(epochDayOf(FIRST_DAY) - 1 - Math.floor(random() * 28))
    const cadence = cadenceOf(schedule.kind, schedule.spec, anchor)
    const group = groups.get(`${zone} ${cadence}`) ?? { zone, cadence, organizations: [] }
    groups.set(`${zone} ${cadence}`, group)
    group.organizations.push(firstRfc.length)
    const { connections } = drawn(ORGANIZATION_SIZES, random())
    firstRfc.push(rfcs.length)
    for (let n = 0; n < connections && rfcs.length < count; n++) {
      organizationOf[rfcs.length] = firstRfc.length - 1
      documents[rfcs.length] = drawn(CLASSES, random()).documents / DAYS_A_MONTH
      days[rfcs.length] = schedule.days
      rfcs.push(rfcOf(random))
    }
  }
  return { rfcs, organizationOf, firstRfc: [...firstRfc, count], groups: [...groups.values()], documents, days }
}
