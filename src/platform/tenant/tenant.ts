/** Who acts for which organization: the types that requests, crons and consumers share. */

/** From the highest to the lowest. */
export const ROLES = ['owner', 'admin', 'member'] as const
export type Role = (typeof ROLES)[number]

/** The roles that are higher than this one. */
export const rolesAbove = (role: Role): Role[] => ROLES.slice(0, ROLES.indexOf(role))

export interface ActingOrganization {
  id: string
  name: string
  timezone: string
  plan: string
  /**
   * Number of extractors, disabled ones included. An organization without extractors sees everything.
   */
  extractor_count: number
  /** The number of its events shard. */
  events_shard: number
  /** When the e-mail address of the sign-up was confirmed; null until it is. */
  email_confirmed_at: Date | null
  /** The fiscal entities to which the credential of the request is bound: nobody else's exist for it. Absent when it is bound to none. */
  bound_to?: readonly string[]
}

/** Whose rows a query may read. */
export type Tenant = Pick<ActingOrganization, 'id' | 'bound_to'>

/** A credential as a request presents it, not checked yet. */
export interface PresentedCredential {
  /** Null when only the secret is presented, as a Bearer token. */
  api_key: string | null
  /** In a session that began by mail, a random text of the session. */
  api_secret: string
  /** The session of the console in whose cookie it came; absent when a header presents it. */
  session_id?: string
}

export interface CredentialActor {
  kind: 'credential'
  api_key: string
  role: Role
  /** The scopes that it is limited to, of those of its role; null or absent when it has all of them. */
  scopes?: readonly string[] | null
}

/** A credential of the organization, or the service itself on the organization's behalf. */
export type Actor = CredentialActor | { kind: 'system'; process: string }

export const CONNECTION_STATES = ['draft', 'active', 'paused', 'invalid_ciec', 'unlinked'] as const
export type ConnectionState = (typeof CONNECTION_STATES)[number]

/** Why billing pauses an organization's connections. */
export const SUSPENSIONS = ['payment', 'trial'] as const
export type Suspension = (typeof SUSPENSIONS)[number]

/** Who paused a connection: the organization itself, or a suspension. */
export const PAUSED_BY = ['customer', ...SUSPENSIONS] as const
export type PausedBy = (typeof PAUSED_BY)[number]

/**
 * Why a connection has no valid login: the tax authority rejected its CIEC or refused its e.firma, the e.firma has expired, or the
 * organization withdrew what was stored.
 */
export const INVALID_REASONS = ['rejected', 'withdrawn', 'efirma_refused', 'efirma_expired'] as const
/** Reasons that arise without the organization, and are reported. */
export const REFUSED_REASONS = [
  'rejected',
  'efirma_refused',
  'efirma_expired',
] as const satisfies readonly (typeof INVALID_REASONS)[number][]
export type RefusedReason = (typeof REFUSED_REASONS)[number]
export type InvalidReason = (typeof INVALID_REASONS)[number]

/** The organization's connection to the fiscal entity that a request names, as authentication read it. */
export interface Connection {
  connection: number
  fiscal_entity_id: string
  /** The RFC's number in its ledger, under which the authority's documents are stored. */
  entity: number
  rfc: string
  shard: number
  state: ConnectionState
  /** Null unless the connection is paused. */
  paused_by: PausedBy | null
  /** When it first became active, in milliseconds since 1970; null before. */
  first_active_at: number | null
  /** When it left the state active, in milliseconds since 1970, until everything since is reported again; null otherwise. */
  inactive_since: number | null
  /** Floor of the window on issued CFDIs, a calendar day `YYYY-MM-DD`; null before the source is first extracted. */
  issued_from: string | null
  /** Ceiling of that window, in milliseconds since 1970; null before the source is first extracted. */
  issued_to: number | null
  /** The window on received CFDIs. */
  received_from: string | null
  received_to: number | null
  /** The ranges of issued CFDIs that its own runs reached, as JSON (taxpayers/widen-windows.ts). */
  issued_granted_ranges: string
  /** The same for the received CFDIs. */
  received_granted_ranges: string
  /** The ranges of its own runs that asked for a range of days alone, as JSON (taxpayers/widen-windows.ts). */
  asked_ranges: string
  /** When the organization first imported a file for this RFC, in milliseconds since 1970; null before. */
  imported_at: number | null
  /** The counterparties that are on a blacklist, as JSON; null when that is to be found out. */
  listed: string | null
  listed_version: number
}
