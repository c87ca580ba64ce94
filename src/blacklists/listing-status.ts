import type { Situacion } from './catalog.ts'

/** A step of a taxpayer's way through a list. Dates are `YYYY-MM-DD`; null where the list has none that can be read. */
export interface Event {
  situacion: Situacion | null
  sat_at: string | null
  dof_at: string | null
  oficio: string | null
}

/** Where a taxpayer stands on a list on a day. */
export interface ListingStatus {
  /** The step that it is at; null on a list without steps. */
  event: Event | null
  is_active: boolean
  /** First day of being on the list without a break, as far as the list tells. */
  since: string | null
  /** First day on which that was over: it disproved the presumption, or a court did. */
  until: string | null
  history: Event[]
}

const CLEARED: readonly (Situacion | null)[] = ['desvirtuado', 'sentencia_favorable']

/** A step counts from its first publication on, be it on the authority's page or in the Diario Oficial. */
export const publishedOn = ({ sat_at, dof_at }: Event): string | null =>
  sat_at === null || dof_at === null ? (sat_at ?? dof_at) : sat_at < dof_at ? sat_at : dof_at

/**
 * The standing that a history (its steps in order, the last one current) leaves on a day, or now; null when nothing had been
 * published by then. `seen_on` is the date of the list in which steps without a legible date were first seen: they count from it.
 */
export function listingStatus(history: readonly Event[], seen_on: string | null, as_of: string | null): ListingStatus | null {
  const dayOf = (event: Event): string => publishedOn(event) ?? seen_on ?? ''
  const known = history.filter((event) => as_of === null || dayOf(event) <= as_of)
  const event = known.at(-1) ?? null
  if (event === null && history.length > 0) return null
  let since: string | null = null
  let until: string | null = null
  let isOpen = false
  for (const one of known) {
    const isCleared = CLEARED.includes(one.situacion)
    if (isCleared) until ??= publishedOn(one)
    else if (!isOpen) [since, until] = [publishedOn(one), null]
    isOpen = !isCleared
  }
  return { event, is_active: !CLEARED.includes(event?.situacion ?? null), since, until, history: known }
}
