/** Who acts, and for whom: the types that a request, a cron and a consumer share. */

export type Role = 'owner' | 'admin' | 'member'

export interface Organization {
  id: string
  name: string
  timezone: string
  plan: string
  /** Number of configured extractors. An organization without extractors sees everything (service.md, Visibility window, 4). */
  extractor_count: number
}

/** A credential of the organization, or the service itself on the organization's behalf. */
export type Actor = { kind: 'credential'; api_key: string; role: Role } | { kind: 'system'; process: string }

export const CONNECTION_STATES = ['draft', 'active', 'paused', 'invalid_ciec', 'unlinked'] as const
export type ConnectionState = (typeof CONNECTION_STATES)[number]

/** Why billing pauses an organization's connections. */
export const SUSPENSIONS = ['payment', 'trial'] as const
export type Suspension = (typeof SUSPENSIONS)[number]

/** Who paused a connection: the organization itself, or a suspension. */
export const PAUSED_BY = ['customer', ...SUSPENSIONS] as const
export type PausedBy = (typeof PAUSED_BY)[number]

/** The organization's connection to the fiscal entity that a request names, as authentication found it. */
export interface Connection {
  connection: number
  fiscal_entity_id: string
  /** The number under which the RFC's ledger keeps the authority's documents. */
  entity: number
  rfc: string
  shard: number
  state: ConnectionState
  /** Null unless the connection is paused. */
  paused_by: PausedBy | null
  /** Floor of the window, a literal day; null before the first extraction. */
  visible_from: string | null
  /** Ceiling of the window, in milliseconds; null before the first extraction. */
  visible_to: number | null
  /** In milliseconds; null until the organization imports a file for this RFC. */
  imported_at: number | null
}
