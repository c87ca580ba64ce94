import { Failure } from '../failures.ts'
import type { Connection } from '../platform/tenant.ts'

/**
 * Whether the organization may read what it has of the RFC: with an active connection, and also while a debt pauses it, which stops
 * downloads and leaves reading unaffected (service.md, Errors).
 */
export const isReadable = ({ state, paused_by }: Pick<Connection, 'state' | 'paused_by'>): boolean =>
  state === 'active' || (state === 'paused' && paused_by === 'payment')

/** The same for an RFC that is absent, another’s, or the organization’s and not to be read. */
export const notActive = (): Failure =>
  new Failure('not_found', 'fiscal_entity.not_found', 'There is no active connection to this fiscal entity.')
