import * as z from 'zod'
import { isNetwork } from '../../platform/addresses.ts'
import { GivenInstant, Id, Instant, Paging, trimmedText } from '../../platform/http/shapes.ts'
import { SCOPES } from '../../platform/tenant/scopes.ts'
import { ROLES } from '../../platform/tenant/tenant.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'

export const Role = z.enum(ROLES).meta({ id: 'Role' })

const Scope = z
  .enum(SCOPES)
  .meta({ id: 'CredentialScope', description: 'What a credential may do. Each operation names the one that it needs.' })

const SCOPES_TEXT = 'The scopes that it has, of those of its role. Null: all of them.'
const ENTITIES_TEXT =
  'The fiscal entities that it is bound to: for it, the organization has no others. Null: all, and those that you connect later. What concerns the whole ' +
  'organization, such as the team, it may do only if `scopes` names it.'
const ADDRESSES_TEXT =
  'The networks from which it may be used, as IPv4 or IPv6 addresses or in CIDR notation; requests from elsewhere are refused with 403. Null: all.'

/** As a list without repetitions. */
const unique = <T>(list: T[]): T[] => [...new Set(list)]
const INHERITED = 'If omitted, it has those of the credential that makes it, and never more.'

/** What limits a credential within its role and organization, as a request gives it. */
export const limitsDraft = {
  scopes: z
    .array(Scope)
    .min(1)
    .max(100)
    .transform(unique)
    .nullable()
    .optional()
    .meta({ description: `${SCOPES_TEXT} ${INHERITED}` }),
  fiscal_entity_ids: z
    .array(FiscalEntityId)
    .min(1)
    .max(1_000)
    .transform(unique)
    .nullable()
    .optional()
    .meta({ description: `${ENTITIES_TEXT} ${INHERITED}` }),
  allowed_addresses: z
    .array(
      z
        .string()
        .max(49)
        .refine(isNetwork, 'Must be an address or a network, such as 192.0.2.0/24 or 2001:db8::/32, without bits beyond its prefix.'),
    )
    .min(1)
    .max(20)
    .transform(unique)
    .nullable()
    .optional()
    .meta({ description: `${ADDRESSES_TEXT} ${INHERITED}`, examples: [['192.0.2.0/24', '2001:db8::/32']] }),
}
export type LimitsDraft = { [K in keyof typeof limitsDraft]?: z.infer<(typeof limitsDraft)[K]> }

/** The same as an answer shows it. */
export const limits = {
  scopes: z.array(Scope).nullable().meta({ description: SCOPES_TEXT }),
  fiscal_entity_ids: z.array(Id('fe')).nullable().meta({ description: ENTITIES_TEXT }),
  allowed_addresses: z.array(z.string()).nullable().meta({ description: ADDRESSES_TEXT }),
}

const fields = {
  api_key: z.string().meta({ examples: ['fds_test_key_5kQ0Yw3jUuM1oZrS8dXfLp'] }),
  name: z.string(),
  role: Role,
  member_id: Id('mem').meta({
    description:
      'The member whose credential it is, or who made it, directly or through other credentials. Removing the member revokes it.',
  }),
  created_by: z.string().nullable().meta({
    description:
      'The api_key of the credential that made it. Null for the one that a member got by signing up or by accepting an invitation.',
  }),
  created_at: Instant,
  expires_at: Instant.nullable(),
  ...limits,
  overlap_until: Instant.nullable().meta({
    description: 'Until when the secret from before the last roll is valid as well. Null when there is none.',
  }),
  last_used_on: z.iso
    .date()
    .nullable()
    .meta({ description: 'The last day, in UTC, on which a request was sent with it. Null before the first one.' }),
}

export const Credential = z.strictObject(fields).meta({ id: 'Credential' })
export type Credential = z.infer<typeof Credential>

export const NewCredential = z
  .strictObject({
    ...fields,
    api_secret: z.string().meta({ description: 'Shown only in this answer; the service stores a keyed hash of it.' }),
  })
  .meta({ id: 'NewCredential' })
export type NewCredential = z.infer<typeof NewCredential>

export const CredentialDraft = z
  .strictObject({
    name: trimmedText(1, 120),
    role: Role,
    expires_at: GivenInstant.nullable()
      .optional()
      .meta({
        description:
          'Must be in the future, and not after the expiry of the credential that makes this one. If omitted, both expire at the same ' +
          'time. Null: it never expires.',
      }),
    ...limitsDraft,
  })
  .meta({ id: 'CredentialDraft' })
export type CredentialDraft = z.infer<typeof CredentialDraft>

export const CredentialRoll = z
  .strictObject({
    overlap_hours: z
      .int()
      .min(0)
      .max(72)
      .meta({ description: 'For how long the secret from before stays valid. 0: it ends at once, as when somebody else may have it.' }),
  })
  .meta({ id: 'CredentialRoll' })
export type CredentialRoll = z.infer<typeof CredentialRoll>

export const CredentialQuery = z.strictObject(Paging)
export type CredentialQuery = z.infer<typeof CredentialQuery>

export const CredentialPath = z.strictObject({
  api_key: z.string().regex(/^fds_(test|live)_key_[0-9A-Za-z]{22}$/, 'Must be an api_key, such as fds_test_key_5kQ0Yw3jUuM1oZrS8dXfLp.'),
})
