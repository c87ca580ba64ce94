import * as z from 'zod'
import { documented, Email, Id, Instant, trimmedText } from '../../platform/http/shapes.ts'
import { targetFault } from '../../platform/target.ts'
import { isTimeZone } from '../../platform/time/zones.ts'

export const OrganizationProfile = z
  .strictObject({
    id: Id('org'),
    name: z.string(),
    contact_email: z.string().nullable(),
    logo_url: z.string().nullable(),
    timezone: z.string().meta({ examples: ['America/Mexico_City'] }),
    email_confirmed_at: Instant.nullable().meta({
      description:
        'When the e-mail address of the sign-up was confirmed; at the sign-up where the service sends no mail. Until then no RFC can be connected and nothing ' +
        'imported (`email.unconfirmed`).',
    }),
  })
  .meta({ id: 'Organization' })
export type OrganizationProfile = z.infer<typeof OrganizationProfile>

/** Pages of others show it, so it may not mean another address there, and may carry no secret. */
const LogoUrl = documented(
  z
    .string()
    .trim()
    .superRefine((url, context) => {
      const message = url === '' ? null : targetFault(url, [])
      if (message) context.addIssue({ code: 'custom', message })
    }),
  {
    ...{ type: 'string', maxLength: 2_048, examples: ['https://example.com/logo.png'] },
    description: 'An https URL with a public host name, without a user name, password or fragment. An empty text removes the logo.',
  },
)

/** An IANA time zone in a request. */
export const TimeZone = z.string().refine(isTimeZone, 'Must be the exact name of an IANA time zone, such as America/Mexico_City.')

/** Members that are omitted or null keep their value. An empty logo_url removes the logo. */
export const OrganizationChanges = z
  .strictObject({
    name: trimmedText(2, 200).nullable().optional(),
    contact_email: Email.nullable().optional(),
    logo_url: LogoUrl.nullable().optional(),
    timezone: TimeZone.nullable()
      .optional()
      .meta({
        description:
          'Decides on which day it is for invoices, limits a day and expiries. Extractors have time zones of their own, which stay.',
        examples: ['America/Mexico_City'],
      }),
  })
  .meta({ id: 'OrganizationChanges' })
export type OrganizationChanges = z.infer<typeof OrganizationChanges>

export const OrganizationStats = z
  .strictObject({
    total_members: z.int().meta({ description: 'Members who were not removed.' }),
    active_rfcs: z.int().meta({ description: 'Connections whose status is `active`.' }),
  })
  .meta({ id: 'OrganizationStats' })
export type OrganizationStats = z.infer<typeof OrganizationStats>
