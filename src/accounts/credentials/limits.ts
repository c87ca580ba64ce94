import { isWithin } from '../../platform/addresses.ts'
import type { Ctx } from '../../platform/context.ts'
import { type Fault, refuseFaults } from '../../platform/failures.ts'
import { includes, rolesWith, SCOPES } from '../../platform/tenant/scopes.ts'
import type { Role } from '../../platform/tenant/tenant.ts'
import { refuseUnlinked } from '../../taxpayers/connection.ts'
import type { LimitsDraft } from './contract.ts'
import type { CredentialLimits, CredentialRow } from './store.ts'

export const NO_LIMITS: CredentialLimits = { scopes: null, fiscal_entity_ids: null, allowed_addresses: null }

const OF_MAKER = 'the credential of this request'

/** The members of a credential that reach beyond another one, with what is wrong. */
export function beyond(maker: CredentialRow, made: CredentialLimits & { role: Role }): Fault[] {
  const scope = SCOPES.find((one) => includes(made, one) && !includes(maker, one))
  const entities = maker.fiscal_entity_ids
  const networks = maker.allowed_addresses
  return [
    ...(scope === undefined ? [] : [{ path: 'scopes', message: `Must not have ${scope}, which ${OF_MAKER} does not have.` }]),
    ...(entities === null || made.fiscal_entity_ids?.every((id) => entities.includes(id))
      ? []
      : [{ path: 'fiscal_entity_ids', message: `Must be among those of ${OF_MAKER}.` }]),
    ...(networks === null || made.allowed_addresses?.every((one) => isWithin(one, networks))
      ? []
      : [{ path: 'allowed_addresses', message: `Must be within those of ${OF_MAKER}: ${networks.join(', ')}.` }]),
  ]
}

/**
 * The limits of a credential that another one makes: those that are asked for, or else the maker's own. Throws Failure 422 credential.scopes
 * for scopes that the role does not have, credential.fiscal_entity for RFCs that the maker is not connected to, and credential.exceeds_maker.
 */
export async function limitsOf(
  ctx: Ctx,
  maker: CredentialRow,
  { role, ...draft }: LimitsDraft & { role: Role },
): Promise<CredentialLimits> {
  refuseFaults(
    'credential.scopes',
    (draft.scopes ?? []).flatMap((scope, n) =>
      rolesWith(scope).includes(role) ? [] : [{ path: `scopes[${n}]`, message: `Must be a scope of the role ${role}.` }],
    ),
  )
  await refuseUnlinked(ctx, draft.fiscal_entity_ids, 'fiscal_entity_ids', 'credential.fiscal_entity')
  const { scopes = maker.scopes?.filter((scope) => rolesWith(scope).includes(role)) ?? null } = draft
  const { fiscal_entity_ids = maker.fiscal_entity_ids, allowed_addresses = maker.allowed_addresses } = draft
  const limits = { scopes, fiscal_entity_ids, allowed_addresses }
  refuseFaults('credential.exceeds_maker', beyond(maker, { role, ...limits }))
  return limits
}
