import * as z from 'zod'

const Pair = z.strictObject({ api_key: z.string().trim().max(200), api_secret: z.string().trim().max(200) })

/** How somebody signs in: with a credential, or with what follows `#link=` in a sign-in link. */
export const SignIn = z.union([Pair, z.strictObject({ link: z.string().max(2_100) })])
export type SignIn = z.infer<typeof SignIn>

/** Who is signed in. */
export interface SessionView {
  api_key: string
  role: 'owner' | 'admin' | 'member'
  environment: 'test' | 'live'
  organization: { id: string; name: string; timezone: string }
  expires_at: string
}
