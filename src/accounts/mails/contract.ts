import * as z from 'zod'
import { Instant } from '../../platform/http/shapes.ts'
import { LANGUAGES, MAILED_ALERTS } from '../tables.ts'

const alerts = z.enum(MAILED_ALERTS).meta({
  description:
    'Which alerts come by mail: the critical ones, all, or none. At the next quarter of an hour, all that an organization has; then at the earliest after an hour.',
})
const weekly_digest = z.boolean().meta({
  description: 'Whether a summary of what needs attention comes on Mondays at 08:00, in the time zone of the organization.',
})
const language = z.enum(LANGUAGES).meta({ description: 'The language of these mails.' })

export const MailPreferences = z
  .strictObject({
    email: z.string().meta({ description: 'The address of the member whose credential was presented.' }),
    email_confirmed_at: Instant.nullable().meta({
      description: 'When the address was confirmed, by a link in a mail to it. Null until then: it gets no alerts and no digests before.',
    }),
    ...{ alerts, weekly_digest, language },
  })
  .meta({ id: 'MailPreferences' })
export type MailPreferences = z.infer<typeof MailPreferences>

export const MailPreferenceChanges = z
  .strictObject({ alerts: alerts.exactOptional(), weekly_digest: weekly_digest.exactOptional(), language: language.exactOptional() })
  .meta({ id: 'MailPreferenceChanges' })
export type MailPreferenceChanges = z.infer<typeof MailPreferenceChanges>
