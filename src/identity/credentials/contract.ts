import * as z from 'zod'
import { Instant, Paging, trimmedText } from '../../platform/http/shapes.ts'

export const Role = z.enum(['owner', 'admin', 'member']).meta({ id: 'Role' })

const fields = {
  api_key: z.string().meta({ examples: ['fds_test_key_5kQ0Yw3jUuM1oZrS8dXfLp'] }),
  name: z.string(),
  role: Role,
  created_at: Instant,
  expires_at: Instant.nullable(),
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
    expires_at: z.iso
      .datetime({ offset: true })
      .nullable()
      .default(null)
      .meta({ description: 'Must be in the future. A credential without it never expires.' }),
  })
  .meta({ id: 'CredentialDraft' })
export type CredentialDraft = z.infer<typeof CredentialDraft>

export const CredentialQuery = z.strictObject(Paging)
export type CredentialQuery = z.infer<typeof CredentialQuery>

export const CredentialPath = z.strictObject({
  api_key: z.string().regex(/^fds_(test|live)_key_[0-9A-Za-z]{22}$/, 'Must be an api_key, such as fds_test_key_5kQ0Yw3jUuM1oZrS8dXfLp.'),
})
