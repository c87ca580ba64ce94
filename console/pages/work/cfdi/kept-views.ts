/** A search that somebody gave a name. It is kept in this browser, and is of any RFC. */
export interface View {
  name: string
  search: string
}

const KEPT = 'cfdi-views'
const OWN = ['fiscal_entity_id', 'fiscalEntityId', 'export', 'cursor', 'limit']

/** What of an address is a view: its filters and its order. */
export function viewOf(params: URLSearchParams): string {
  const view = new URLSearchParams(params)
  for (const name of OWN) view.delete(name)
  view.sort()
  return view.toString()
}

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>

/** The views that are kept. What another program wrote there is none. */
export function keptViews(storage: Storage): View[] {
  try {
    const read: unknown = JSON.parse(storage.getItem(KEPT) ?? '[]')
    const isView = (one: unknown): one is View =>
      typeof one === 'object' &&
      one !== null &&
      'name' in one &&
      'search' in one &&
      typeof one.name === 'string' &&
      typeof one.search === 'string'
    return Array.isArray(read) ? read.filter(isView) : []
  } catch {
    return []
  }
}

/** Keeps a search under a name, instead of the one that had it; without a search, forgets it. */
export function keepView(storage: Storage, name: string, search: string | null): View[] {
  const others = keptViews(storage).filter((one) => one.name !== name)
  const all = search === null ? others : [...others, { name, search }].sort((one, other) => one.name.localeCompare(other.name))
  storage.setItem(KEPT, JSON.stringify(all))
  return all
}
