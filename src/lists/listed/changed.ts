import type { ListChange, Situacion } from '../catalog.ts'

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
