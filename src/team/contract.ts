import * as z from 'zod'
import { Organization } from '../account/contract.ts'
import { NewCredential, Role } from '../credentials/contract.ts'
import { Id, Instant, trimmedText } from '../http/shapes.ts'

export const Member = z
  .strictObject({ member_id: Id('mem'), name: z.string(), email: z.string(), role: Role, created_at: Instant })
  .meta({ id: 'Member' })
export type Member = z.infer<typeof Member>

export const SignupDraft = z
  .strictObject({
    organization_name: trimmedText(2, 200),
    name: trimmedText(1, 120),
    email: z.string().trim().pipe(z.email('Not an e-mail address.').max(254)),
  })
  .meta({ id: 'SignupDraft' })
export type SignupDraft = z.infer<typeof SignupDraft>

export const Signup = z.strictObject({ organization: Organization, member: Member, credential: NewCredential }).meta({ id: 'Signup' })
export type Signup = z.infer<typeof Signup>
