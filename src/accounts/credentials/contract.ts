import * as z from 'zod'
import { GivenInstant, Id, Instant, Paging, trimmedText } from '../../platform/http/shapes.ts'
import { ROLES } from '../../platform/tenant/tenant.ts'

export const Role = z.enum(ROLES).meta({ id: 'Role' })

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
  })
  .meta({ id: 'CredentialDraft' })
export type CredentialDraft = z.infer<typeof CredentialDraft>

export const CredentialQuery = z.strictObject(Paging)
export type CredentialQuery = z.infer<typeof CredentialQuery>

export const CredentialPath = z.strictObject({
  api_key: z.string().regex(/^fds_(test|live)_key_[0-9A-Za-z]{22}$/, 'Must be an api_key, such as fds_test_key_5kQ0Yw3jUuM1oZrS8dXfLp.'),
})
