import * as z from 'zod'
import { Id, Instant } from '../../platform/http/shapes.ts'

export const Confirmation = z
  .strictObject({ token: z.string().min(1).max(200).meta({ description: 'What follows `#confirm=` in the link of the mail.' }) })
  .meta({ id: 'EmailConfirmation' })
export type Confirmation = z.infer<typeof Confirmation>

export const ConfirmedEmail = z
  .strictObject({
    organization_id: Id('org').meta({ description: 'The organization that signed up with this address.' }),
    email: z.string().meta({ description: 'The address that is confirmed.' }),
    email_confirmed_at: Instant.meta({ description: 'When it was confirmed.' }),
  })
  .meta({ id: 'ConfirmedEmail' })
export type ConfirmedEmail = z.infer<typeof ConfirmedEmail>

export const RequestedConfirmation = z
  .strictObject({ email: z.string().meta({ description: 'Where the mail goes: the address of the sign-up.' }) })
  .meta({ id: 'RequestedConfirmation' })
export type RequestedConfirmation = z.infer<typeof RequestedConfirmation>
