import { Failure } from '../failures.ts'
import type { ConnectionState, PausedBy } from './tables.ts'

/** The organization's tie to the fiscal entity that a request names, as authentication found it. */
export interface Connection {
  connection: number
  fiscal_entity_id: string
  /** The authority's book of the RFC in its ledger. */
  entity: number
  rfc: string
  shard: number
  state: ConnectionState
  /** Who paused it; null when it is not paused. */
  paused_by: PausedBy | null
  /** Floor of the window, a literal day; null before the first extraction. */
  visible_from: string | null
  /** Ceiling of the window, milliseconds. */
  visible_to: number | null
  /** Milliseconds; null as long as the organization imported nothing for this RFC. */
  imported_at: number | null
}

/**
 * Whether the organization may read what it has of the RFC: with an active connection, and also while a debt pauses it, which stops
 * downloads and leaves reading unaffected (service.md, Errors).
 */
export const isReadable = ({ state, paused_by }: Pick<Connection, 'state' | 'paused_by'>): boolean =>
  state === 'active' || (state === 'paused' && paused_by === 'payment')

/** The same for an RFC that is absent, another’s, or the organization’s and not to be read. */
export const notActive = (): Failure =>
  new Failure('not_found', 'fiscal_entity.not_found', 'There is no active connection to this fiscal entity.')
