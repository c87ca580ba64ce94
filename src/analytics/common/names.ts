import type { DirectionNumber } from '../../taxpayers/visibility/scoped-ledger.ts'

/** The column with the name of the counterparty. */
export const nameColumn = (direction: DirectionNumber) => (direction === 0 ? ('receptor_nombre' as const) : ('emisor_nombre' as const))

/** Ten digits of issued_at and a UUID, before a name that SQL selected with `max(issued_at || uuid || name)`. */
const POSITION = 10 + 36

/** The name on the newest document: what stands behind the greatest of these texts. */
export const nameOf = (joined: string | null): string | null => (joined === null || joined === '' ? null : joined.slice(POSITION))

export const directionNumber = (direction: 'issued' | 'received'): DirectionNumber => (direction === 'issued' ? 0 : 1)

/** What the absence of a flag about specialized services does not say. */
export const REPSE_NOTE =
  'Only suppliers that the REPSE registry was asked about can be flagged: GET /v1/cfdi/repse-suppliers queues the look-ups, 50 in a request, and nothing else does.'
