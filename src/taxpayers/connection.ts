import { Failure } from '../failures.ts'
import type { Connection } from '../platform/tenant.ts'

/**
 * Whether the organization may read the RFC's documents: while the connection is active, and while an unpaid invoice pauses it, because
 * that stops downloads only (service.md, Errors).
 */
export const isReadable = ({ state, paused_by }: Pick<Connection, 'state' | 'paused_by'>): boolean =>
  state === 'active' || (state === 'paused' && paused_by === 'payment')

/** The refusal for an RFC that the organization may not read. It is the same when the RFC is absent or connected by others only. */
export const notActive = (): Failure =>
  new Failure('not_found', 'fiscal_entity.not_found', 'The organization has no active connection to this fiscal entity.')
