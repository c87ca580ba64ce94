import * as z from 'zod'
import { Email, trimmedText } from '../../platform/http/shapes.ts'

export const SignupDraft = z
  .strictObject({ organization_name: trimmedText(2, 200), name: trimmedText(1, 120), email: Email })
  .meta({ id: 'SignupDraft' })
export type SignupDraft = z.infer<typeof SignupDraft>
