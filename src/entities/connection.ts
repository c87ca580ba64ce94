import type { ConnectionState } from './tables.ts'

/** The organization's tie to the fiscal entity that a request names, as authentication found it. */
export interface Connection {
  connection: number
  fiscal_entity_id: string
  /** The authority's book of the RFC in its ledger. */
  entity: number
  rfc: string
  shard: number
  state: ConnectionState
  /** Floor of the window, a literal day; null before the first extraction. */
  visible_from: string | null
  /** Ceiling of the window, milliseconds. */
  visible_to: number | null
  /** Milliseconds; null as long as the organization imported nothing for this RFC. */
  imported_at: number | null
}
