import type { Situacion } from './catalog.ts'

/** A step of a taxpayer's procedure on a list. Dates are `YYYY-MM-DD`, or null where the list has no readable one. */
export interface ListingStep {
  situacion: Situacion | null
  sat_at: string | null
  dof_at: string | null
  oficio: string | null
}

/** The status of a taxpayer on a list on a given day. */
export interface ListingStatus {
  /** The current step; null on a list without steps. */
  step: ListingStep | null
  is_active: boolean
  /** First day from which the taxpayer was listed without interruption; null when the list does not state it. */
  since: string | null
  /** First day on which the listing had ended, because the taxpayer or a court disproved it; null while it lasts. */
  until: string | null
  history: ListingStep[]
}

const CLEARED: readonly (Situacion | null)[] = ['desvirtuado', 'sentencia_favorable']

/** Whether a taxpayer in a situation is still on its list: the authority goes on publishing those who, or whose court, disproved it. */
export const isOnList = (situacion: Situacion | null): boolean => !CLEARED.includes(situacion)

/** Returns the day of a step's first publication, on the authority's page or in the Diario Oficial. The step counts from that day. */
export const publishedOn = ({ sat_at, dof_at }: ListingStep): string | null =>
  sat_at === null || dof_at === null ? (sat_at ?? dof_at) : sat_at < dof_at ? sat_at : dof_at

/**
 * Returns the status that follows from a history, with the current step last, on the day `as_of`, or today when it is null. Returns null
 * when nothing had been published by that day; a publication after it is not known yet, so that its day is null. Steps without a readable date count from `seen_on`, the date of the list in which they were
 * first seen.
 */
export function listingStatus(history: readonly ListingStep[], seen_on: string | null, as_of: string | null): ListingStatus | null {
  const dayOf = (step: ListingStep): string => publishedOn(step) ?? seen_on ?? ''
  const knownDay = (day: string | null): string | null => (as_of === null || day === null || day <= as_of ? day : null)
  const known = history
    .filter((step) => as_of === null || dayOf(step) <= as_of)
    .map((step) => ({ ...step, sat_at: knownDay(step.sat_at), dof_at: knownDay(step.dof_at) }))
  const step = known.at(-1) ?? null
  if (step === null && history.length > 0) return null
  let since: string | null = null
  let until: string | null = null
  let isOpen = false
  for (const one of known) {
    const isCleared = !isOnList(one.situacion)
    if (isCleared) until ??= publishedOn(one)
    else if (!isOpen) [since, until] = [publishedOn(one), null]
    isOpen = !isCleared
  }
  return { step, is_active: isOnList(step?.situacion ?? null), since, until, history: known }
}

/** Whether a listing was active on a day, `YYYY-MM-DD`, as far as its history says: for example when a supplier was paid. */
export const wasActiveOn = (history: readonly ListingStep[], day: string): boolean => listingStatus(history, null, day)?.is_active ?? false
