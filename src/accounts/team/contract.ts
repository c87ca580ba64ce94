import * as z from 'zod'
import { documented, Email, Id, Instant, Paging, trimmedText } from '../../platform/http/shapes.ts'
import { limits, limitsDraft, NewCredential, Role } from '../credentials/contract.ts'
import { OrganizationProfile } from '../organization/contract.ts'

const Name = trimmedText(1, 120)

export const Member = z
  .strictObject({ member_id: Id('mem'), name: z.string(), email: z.string(), role: Role, created_at: Instant })
  .meta({ id: 'Member' })
export type Member = z.infer<typeof Member>

/** The answer to joining an organization: the organization, the new member, and the member's credential with its secret. */
export const Signup = z
  .strictObject({ organization: OrganizationProfile, member: Member, credential: NewCredential })
  .meta({ id: 'Signup' })
export type Signup = z.infer<typeof Signup>

export const InvitationDraft = z
  .strictObject({
    email: Email,
    role: Role,
    name: Name.optional().meta({ description: 'Suggested name; the invited person chooses the final name.' }),
    ...limitsDraft,
  })
  .meta({ id: 'InvitationDraft' })
export type InvitationDraft = z.infer<typeof InvitationDraft>

const invitation = {
  invitation_id: Id('ivt'),
  email: z.string(),
  role: Role,
  name: z.string().nullable(),
  ...limits,
  invited_by: z.string().meta({ description: 'The api_key of the credential that sent it.' }),
  created_at: Instant,
  expires_at: Instant.meta({
    description: 'Seven days after created_at, or when the credential that sent it expires, if that is earlier.',
  }),
}

export const Invitation = z.strictObject(invitation).meta({ id: 'Invitation' })
export type Invitation = z.infer<typeof Invitation>

export const NewInvitation = z
  .strictObject({
    ...invitation,
    token: z.string().meta({
      description:
        'Shown only in this answer; the service stores a keyed hash of it. Pass it on to the invited person where no mail is sent.',
    }),
    is_mailed: z.boolean().meta({
      description:
        'Whether the invited person gets a mail with a link of its own, which can be used in place of the token: where the service sends mail and the ' +
        'address of your sign-up is confirmed.',
    }),
  })
  .meta({ id: 'NewInvitation' })
export type NewInvitation = z.infer<typeof NewInvitation>

export const Acceptance = z.strictObject({ token: z.string().min(1).max(200), name: Name }).meta({ id: 'Acceptance' })
export type Acceptance = z.infer<typeof Acceptance>

export const MemberChanges = z.strictObject({ role: Role.exactOptional(), name: Name.exactOptional() }).meta({ id: 'MemberChanges' })
export type MemberChanges = z.infer<typeof MemberChanges>

export const MemberQuery = z.strictObject(Paging)
export type MemberQuery = z.infer<typeof MemberQuery>

export const MemberPath = z.strictObject({ member_id: Id('mem') })

export const MemberRemovalQuery = z.strictObject({
  keep_credentials: documented(
    z
      .enum(['true', 'false'])
      .transform((text) => text === 'true')
      .optional(),
    {
      type: 'boolean',
      default: false,
      description: 'With true, the credentials that the member made stay valid. The member’s own credentials are always revoked.',
    },
  ),
})

export const MemberRemoval = z
  .strictObject({
    member_id: Id('mem'),
    revoked_api_keys: z
      .array(z.string())
      .meta({ description: 'The credentials that were revoked: the member’s own, and those that the member made.' }),
  })
  .meta({ id: 'MemberRemoval' })
export type MemberRemoval = z.infer<typeof MemberRemoval>

export const InvitationPath = z.strictObject({ invitation_id: Id('ivt') })
