import * as z from 'zod'
import { Email } from '../../platform/http/shapes.ts'

export const Pair = z.strictObject({ api_key: z.string().trim().max(200), api_secret: z.string().trim().max(200) })

/** The text after `#link=` in a sign-in link. */
export const Link = z.strictObject({ link: z.string().max(2_100) })

/** The token of an invitation, or of a mail that asks to confirm an address. */
export const Token = z.strictObject({ token: z.string().min(1).max(200) })

/** Where a sign-in link goes. */
export const Address = z.strictObject({ email: Email })

/** The token of a mail, and the organization that was chosen of those that the person is in. */
export const Choice = z.strictObject({ token: z.string().min(1).max(200), organization_id: z.string().max(200) })

/** Another organization of the same person. */
export const Other = z.strictObject({ organization_id: z.string().max(200) })

/** An organization that a person is in. */
export interface OrganizationOf {
  id: string
  name: string
  role: SessionView['role']
}

/** Who is signed in, or whom a link signs in. */
export interface SessionView {
  api_key: string
  role: 'owner' | 'admin' | 'member'
  /** Whether the credential is bound to some RFCs. */
  is_bound: boolean
  environment: 'test' | 'live'
  /** Where downloads come from: the sandbox invents them. */
  tax_authority: 'sandbox' | 'sat'
  organization: { id: string; name: string; timezone: string }
  /** The member behind the credential. */
  person: { name: string; email: string } | null
  /** Whether the e-mail address of the sign-up is to be confirmed before an RFC is connected. */
  awaits_confirmation: boolean
  /** Where else the person can go who signed in by mail; empty otherwise. */
  organizations: OrganizationOf[]
  /** When the session, or the link, ends; at the latest with its credential. */
  expires_at: string
}
