import type { ListChange, Situacion } from '../catalog.ts'

/** The kind of the outbox event, and the key of the event, of a change of a list that concerns a counterparty. */
export const BLACKLIST_CHANGED = 'blacklist.changed'

/** What the outbox says of such a change. */
export interface BlacklistChangedBody {
  counterparty_rfc: string
  counterparty_name: string
  source: string
  list_label: string
  change: ListChange
  situacion_before: Situacion | null
  situacion: Situacion | null
  /** When the list was loaded with which it changed, in milliseconds. */
  changed_at: number
}
