import { Failure } from '../failures.ts'
import { type ActingOrganization, type Actor, type CredentialActor, ROLES, type Role } from './tenant.ts'

/** What a credential may do, as `resource:verb`, with the lowest role that has it. A role is the bundle of the scopes that it has. */
const LOWEST = {
  'alerts:read': 'member',
  'alerts:write': 'admin',
  'audit:read': 'admin',
  'billing:read': 'member',
  'billing:write': 'admin',
  'blacklists:read': 'member',
  'blacklists:write': 'admin',
  'cfdi:read': 'member',
  'cfdi:check': 'member',
  'cfdi:write': 'admin',
  'connect_links:read': 'member',
  'connect_links:write': 'admin',
  'credentials:read': 'member',
  'credentials:write': 'admin',
  'documents:read': 'member',
  'downloads:read': 'member',
  'events:read': 'member',
  'exports:read': 'member',
  'exports:write': 'admin',
  'extractions:read': 'admin',
  'extractions:write': 'admin',
  'extractors:list': 'member',
  'extractors:read': 'admin',
  'extractors:write': 'admin',
  'fiscal_entities:read': 'member',
  'fiscal_entities:write': 'admin',
  'fiscal_entities:connect': 'admin',
  'imports:read': 'member',
  'imports:write': 'admin',
  'insight:read': 'member',
  'insight:write': 'admin',
  'mails:read': 'member',
  'mails:write': 'member',
  'organization:read': 'member',
  'organization:write': 'admin',
  'repse:read': 'member',
  'repse:write': 'member',
  'sandbox:read': 'owner',
  'sandbox:write': 'owner',
  'storage_connectors:read': 'member',
  'storage_connectors:write': 'admin',
  'tax_mailbox:read': 'member',
  'tax_mailbox:open': 'admin',
  'team:read': 'member',
  'team:write': 'admin',
  'webhooks:read': 'member',
  'webhooks:write': 'admin',
} as const satisfies Record<string, Role>

export type Scope = keyof typeof LOWEST
export const SCOPES = Object.keys(LOWEST) as [Scope, ...Scope[]]

/** What concerns the whole organization. A credential that is bound to RFCs has of these only what its own scopes name. */
const OF_ORGANIZATION: ReadonlySet<Scope> = new Set<Scope>([
  ...(['audit:read', 'billing:read', 'billing:write', 'blacklists:write', 'connect_links:read', 'connect_links:write'] as const),
  ...(['credentials:read', 'credentials:write'] as const),
  ...(['extractors:read', 'extractors:write', 'fiscal_entities:connect', 'organization:write', 'team:read', 'team:write'] as const),
  ...(['sandbox:read', 'sandbox:write'] as const),
])

/** Operations whose scope does not follow from their tag and method. */
const EXCEPTIONS: Readonly<Record<string, Scope>> = {
  checkCfdiStatus: 'cfdi:check',
  connectFiscalEntities: 'fiscal_entities:connect',
  connectFiscalEntity: 'fiscal_entities:connect',
  getMailPreferences: 'mails:read',
  listDataSources: 'fiscal_entities:read',
  listExtractors: 'extractors:list',
  lookUpBlacklistsBatch: 'blacklists:read',
  previewExtractor: 'extractors:read',
  resendConfirmation: 'organization:write',
  updateMailPreferences: 'mails:write',
}

/** The scope of an operation: the resource is its tag, and what is no GET writes. */
export const scopeOf = (operation: { id: string; tag: string }, method: string): Scope =>
  EXCEPTIONS[operation.id] ??
  (`${operation.tag.toLowerCase().replaceAll(' ', '_')}:${method === 'GET' || method === 'HEAD' ? 'read' : 'write'}` as Scope)

/** The roles that have a scope, the highest first. */
export const rolesWith = (scope: Scope): Role[] => ROLES.slice(0, ROLES.indexOf(LOWEST[scope]) + 1)

/** What a credential may do: a role, the scopes that it is limited to, and the RFCs that it is bound to; each null where there is no limit. */
export interface Rights {
  role: Role
  scopes: readonly string[] | null
  fiscal_entity_ids: readonly string[] | null
}

/** Whether these rights include a scope. Nothing else decides what a credential may do. */
export const includes = ({ role, scopes, fiscal_entity_ids }: Rights, scope: Scope): boolean =>
  rolesWith(scope).includes(role) && (scopes?.includes(scope) ?? !(fiscal_entity_ids && OF_ORGANIZATION.has(scope)))

interface Caller {
  actor: Actor
  organization: Pick<ActingOrganization, 'bound_to'>
}

const rightsOf = ({ role, scopes = null }: CredentialActor, { organization }: Caller): Rights => ({
  ...{ role, scopes },
  fiscal_entity_ids: organization.bound_to ?? null,
})

/** Whether the caller may do what a scope names. */
export const mayDo = (caller: Caller, scope: Scope): boolean =>
  caller.actor.kind === 'credential' && includes(rightsOf(caller.actor, caller), scope)

/** Whether the caller may do all that a role may, so that whoever gets the role from it may do no more. */
export const mayGive = (caller: Caller, role: Role): boolean =>
  SCOPES.every((scope) => !rolesWith(scope).includes(role) || mayDo(caller, scope))

/** Throws Failure 403 credential.role or credential.scope unless the caller may do what a scope names. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (mayDo(caller, scope)) return
  const { actor } = caller
  const allowed = rolesWith(scope)
  if (actor.kind !== 'credential' || !allowed.includes(actor.role))
    throw new Failure('forbidden', 'credential.role', `This request needs a credential with the role ${allowed.join(' or ')}.`)
  const why = actor.scopes
    ? 'which the credential does not have'
    : 'which concerns the whole organization: a credential that is bound to RFCs has it only if its scopes name it'
  throw new Failure('forbidden', 'credential.scope', `This request needs the scope ${scope}, ${why}.`)
}
