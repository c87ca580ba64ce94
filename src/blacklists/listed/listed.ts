import { highest, isSituacion, type Severity, type Situacion, severityOf } from '../catalog.ts'

/** The counterparties that are on a list, by RFC, each with the lists and its situation on them. */
export type ListedParties = ReadonlyMap<string, readonly ListedAs[]>

/** A list that an RFC is on, and its situation; null on a list without situations. */
export interface ListedAs {
  source: string
  situacion: Situacion | null
}

/** The stored form: the RFCs of each list and situation, `{"sat_69b|definitivo": ["AAA010101AAA"]}`. It is the same for the same listings. */
export function writeListed(listings: readonly (ListedAs & { rfc: string })[]): string {
  const groups = Map.groupBy(listings, ({ source, situacion }) => `${source}|${situacion ?? ''}`)
  return JSON.stringify(
    Object.fromEntries([...groups.keys()].sort().map((key) => [key, [...new Set(groups.get(key)!.map(({ rfc }) => rfc))].sort()])),
  )
}

export function parseListed(text: string): ListedParties {
  const listed = new Map<string, ListedAs[]>()
  for (const [key, rfcs] of Object.entries(JSON.parse(text) as Record<string, string[]>)) {
    const [source = '', situacion = ''] = key.split('|')
    const as: ListedAs = { source, situacion: isSituacion(situacion) ? situacion : null }
    for (const rfc of rfcs) listed.set(rfc, [...(listed.get(rfc) ?? []), as])
  }
  return listed
}

const severityAs = ({ source, situacion }: ListedAs): Severity => severityOf(source, situacion)

/** The severest of the lists that an RFC is on, of equal ones the first by source; null when it is on none. */
export function severest(all: readonly ListedAs[] | undefined): ListedAs | null {
  if (all === undefined) return null
  const top = highest(all.map(severityAs))
  return all.find((one) => severityAs(one) === top) ?? null
}

/** The RFCs that are on one of these lists, or in one of these situations on any. */
export const listedAs = (listed: ListedParties, values: readonly string[]): string[] =>
  [...listed].flatMap(([rfc, all]) =>
    all.some(({ source, situacion }) => values.includes(source) || (situacion !== null && values.includes(situacion))) ? [rfc] : [],
  )
