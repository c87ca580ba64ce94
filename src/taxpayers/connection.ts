import { takesCiecs } from '../authority/port/login.ts'
import type { System } from '../platform/context.ts'
import { Failure, notFound } from '../platform/failures.ts'
import type { Connection } from '../platform/tenant/tenant.ts'

/**
 * Whether the organization may read the RFC's documents: while the connection is active, and while an unpaid invoice pauses it, because
 * that stops downloads only.
 */
export const isReadable = ({ state, paused_by }: Pick<Connection, 'state' | 'paused_by'>): boolean =>
  state === 'active' || (state === 'paused' && paused_by === 'payment')

type Standing = Pick<Connection, 'state' | 'paused_by'>

/** Says why a connection is not active, and what activates it. Where nobody logs in with CIECs, only an e.firma does. */
function remedy({ state, paused_by }: Standing, settings: System['settings']): string {
  const [login, an] = takesCiecs(settings) ? ['CIEC or e.firma', 'a CIEC or an e.firma'] : ['e.firma', 'an e.firma']
  const give = `Send ${an} with PATCH /v1/fiscal-entities/{fiscal_entity_id}.`
  if (state === 'draft') return `is a draft, because no ${login} was accepted yet. ${give}`
  if (state === 'invalid_ciec') return `is invalid_ciec: it has no valid ${login} any more. ${give}`
  if (paused_by === 'payment') return 'is paused, because an invoice is unpaid. GET /v1/billing/invoices shows what to pay.'
  if (paused_by === 'trial')
    return 'is paused, because the trial has ended. GET /v1/billing/plans lists the plans with a link where you can buy each.'
  return 'is paused. Resume it with PATCH /v1/billing/rfcs/{fiscal_entity_id} and {"active": true}.'
}

/** The refusal for an RFC that is not active. It says nothing more of an RFC that is absent, or that only others connected. */
export const notActive = ({ settings }: Pick<System, 'settings'>, connection: Standing | null | undefined): Failure =>
  connection
    ? new Failure('not_found', 'fiscal_entity.not_active', `The connection to this fiscal entity ${remedy(connection, settings)}`)
    : notFound('fiscal_entity')
