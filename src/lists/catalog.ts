/** The known lists, their Spanish names, and the severity of being listed. */

export const SITUACIONES = ['presunto', 'definitivo', 'desvirtuado', 'sentencia_favorable'] as const
export type Situacion = (typeof SITUACIONES)[number]
export const isSituacion = (text: string): text is Situacion => (SITUACIONES as readonly string[]).includes(text)

/** How a load can change a taxpayer's place on a list. */
export const LIST_CHANGES = ['listed', 'situacion_changed', 'removed'] as const
export type ListChange = (typeof LIST_CHANGES)[number]

export const SEVERITIES = ['info', 'low', 'medium', 'high', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

/** The organization_id of public lists, which every organization can look up. */
export const PUBLIC = ''

interface PublicList {
  label: string
  /** The severity of being listed. On a list with situations it applies where the situation is unknown. */
  severity: Severity
}

export const PUBLIC_LISTS = {
  sat_69b: { label: 'Art. 69-B (EFOS)', severity: 'high' },
  sat_69b_bis: { label: 'Art. 69-B Bis (pérdidas)', severity: 'high' },
  sat_69_firmes: { label: 'Art. 69 (créditos firmes)', severity: 'medium' },
  sat_69_exigibles: { label: 'Art. 69 (créditos exigibles)', severity: 'medium' },
  sat_69_no_localizados: { label: 'Art. 69 (no localizados)', severity: 'medium' },
  sat_69_sentencias: { label: 'Art. 69 (sentencias)', severity: 'medium' },
  sat_69_cancelados: { label: 'Art. 69 (créditos cancelados)', severity: 'info' },
  sat_69_condonados: { label: 'Art. 69 (créditos condonados)', severity: 'info' },
  sat_csd_sin_efectos: { label: 'CSD sin efectos (Art. 17-H)', severity: 'high' },
} as const satisfies Record<string, PublicList>
export type PublicSource = keyof typeof PUBLIC_LISTS
export const PUBLIC_SOURCES = Object.keys(PUBLIC_LISTS) as [PublicSource, ...PublicSource[]]

/** The key of a list's file in the bucket FILES. An operator or the daily work puts it there. */
export const objectOf = (source: PublicSource): string => `lists/${source}.csv`

const OF_SITUACION: Record<Situacion, Severity> = {
  definitivo: 'critical',
  presunto: 'high',
  desvirtuado: 'low',
  sentencia_favorable: 'low',
}

/** An organization's own list. */
const CUSTOM = /^custom:[a-z0-9]+(?:-[a-z0-9]+)*$/

export const isCustom = (text: string): boolean => text.length <= 64 && CUSTOM.test(text)

const publicList = (source: string): PublicList | undefined =>
  Object.hasOwn(PUBLIC_LISTS, source) ? PUBLIC_LISTS[source as PublicSource] : undefined

/** Whether a text is the key of a public list or `custom:<slug>`. */
export const isSource = (text: string): boolean => publicList(text) !== undefined || isCustom(text)

/** The keys that a request may name, as a phrase: the public lists, and the own ones or words for them. */
export const keysWith = (own: readonly string[]): string => `one of ${[...PUBLIC_SOURCES, ...own].join(', ')}`

/** The fault of a key that names no list. Only the organization knows its own lists. */
export const SOURCE_FAULT = `Must be ${keysWith(['or custom:<slug> for a list of your own (GET /v1/blacklists/custom)'])}.`

/** Returns the Spanish name of a list. `label` is the name that an organization gave its own list. */
export const labelOf = (source: string, label: string | null): string => publicList(source)?.label ?? label ?? source

/** Returns the severity of a situation on a list; null is a listing without a situation. */
export const severityOf = (source: string, situacion: Situacion | null): Severity =>
  situacion === null ? (publicList(source)?.severity ?? 'medium') : OF_SITUACION[situacion]

/** Returns the highest of these severities, or null when there are none. */
export const highest = (severities: readonly Severity[]): Severity | null =>
  severities.length === 0 ? null : SEVERITIES[Math.max(...severities.map((one) => SEVERITIES.indexOf(one)))]!

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

/** Whether a situation still lists a taxpayer: the authority keeps publishing situations that the taxpayer or a court disproved. */
export const isOnList = (situacion: Situacion | null): boolean => !CLEARED.includes(situacion)

/** Returns the day of a step's first publication, on the authority's page or in the Diario Oficial. The step counts from that day. */
export const publishedOn = ({ sat_at, dof_at }: ListingStep): string | null =>
  sat_at === null || dof_at === null ? (sat_at ?? dof_at) : sat_at < dof_at ? sat_at : dof_at

/**
 * Returns the status that follows from a history, whose last step is the current one, on the day `as_of`, or today when it is null. Returns
 * null when nothing had been published by that day. A later publication is not known yet, so its day is null. Steps without a readable date
 * count from `seen_on`, the date of the list in which they were first seen.
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
