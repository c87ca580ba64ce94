import { highest, isCustom, isOnList, isSituacion, type ListChange, type Severity, type Situacion, severityOf } from '../catalog.ts'

/** The counterparties that are on a list, by RFC, each with the lists and its situation on them. */
export type ListedParties = ReadonlyMap<string, readonly ListedAs[]>

/** A list that an RFC is on, and its situation; null on a list without situations. */
export interface ListedAs {
  source: string
  situacion: Situacion | null
}

/**
 * The stored form: the RFCs of each list and situation, or of several, `{"sat_69b|definitivo,sat_69_firmes|": ["AAA010101AAA"]}`. It is the same
 * for the same listings.
 */
export function writeListed(listings: readonly (ListedAs & { rfc: string })[]): string {
  const keysOf = Map.groupBy(listings, ({ rfc }) => rfc)
  const keyOf = (rfc: string): string =>
    [...new Set(keysOf.get(rfc)!.map(({ source, situacion }) => `${source}|${situacion ?? ''}`))].sort().join()
  const groups = Map.groupBy([...keysOf.keys()].sort(), keyOf)
  return JSON.stringify(Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1))))
}

export function parseListed(text: string): ListedParties {
  const listed = new Map<string, ListedAs[]>()
  for (const [key, rfcs] of Object.entries(JSON.parse(text) as Record<string, string[]>)) {
    const all = key.split(',').map((one): ListedAs => {
      const [source = '', situacion = ''] = one.split('|')
      return { source, situacion: isSituacion(situacion) ? situacion : null }
    })
    for (const rfc of rfcs) listed.set(rfc, all)
  }
  return listed
}

/** The stored form after changes of lists. The last change of an RFC on a list counts. */
export function withChanges(text: string, changes: readonly (ListedAs & { rfc: string; version: number; change: ListChange })[]): string {
  const keyOf = ({ source, rfc }: { source: string; rfc: string }) => `${source} ${rfc}`
  const latest = new Map(changes.toSorted((a, b) => a.version - b.version).map((change) => [keyOf(change), change]))
  const kept = [...parseListed(text)].flatMap(([rfc, all]) => all.map((as) => ({ ...as, rfc }))).filter((one) => !latest.has(keyOf(one)))
  return writeListed([...kept, ...[...latest.values()].filter(({ change }) => change !== 'removed')])
}

const severityAs = ({ source, situacion }: ListedAs): Severity => severityOf(source, situacion)

/** The severest of the lists that an RFC is on; of equal ones a public list before an own one, then the first by source. Null for none. */
export function severest(all: readonly ListedAs[] | undefined): ListedAs | null {
  if (all === undefined) return null
  const top = highest(all.map(severityAs))
  const tied = all.filter((one) => severityAs(one) === top)
  return tied.find(({ source }) => !isCustom(source)) ?? tied[0] ?? null
}

/** The RFCs that are on one of these lists, or on any in one of these situations. Cleared RFCs are on none. */
export const nowListedAs = (listed: ListedParties, values: readonly string[]): string[] =>
  [...listed].flatMap(([rfc, all]) =>
    all.some(
      ({ source, situacion }) => (values.includes(source) && isOnList(situacion)) || (situacion !== null && values.includes(situacion)),
    )
      ? [rfc]
      : [],
  )

/** The RFCs that one of these lists names, or any in one of these situations, also cleared ones: they may have been listed on a day. */
export const listedAs = (listed: ListedParties, values: readonly string[]): string[] =>
  [...listed].flatMap(([rfc, all]) =>
    all.some(({ source, situacion }) => values.includes(source) || (situacion !== null && values.includes(situacion))) ? [rfc] : [],
  )

/** The kind of the outbox event, and the key of the event, of a change of a list that concerns a counterparty. */
export const BLACKLIST_CHANGED = 'blacklist.changed'

/** The body of the outbox event of a change. */
export interface BlacklistChangedBody {
  counterparty_rfc: string
  counterparty_name: string
  source: string
  list_label: string
  change: ListChange
  situacion_before: Situacion | null
  situacion: Situacion | null
  /** What the organization can read that was bought from the counterparty and sold to it, in MXN; null when it left the list. */
  purchases_mxn: string | null
  sales_mxn: string | null
  /** When the load of the change was made, in milliseconds. */
  changed_at: number
}
