import * as z from 'zod'
import { doc } from '#doc'
import { Email, Id, trimmedText } from '../../platform/http/shapes.ts'
import { isTimeZone } from '../../platform/time/zones.ts'

export const OrganizationProfile = z
  .strictObject({
    id: Id('org'),
    name: z.string(),
    contact_email: z.string().nullable(),
    logo_url: z.string().nullable(),
    timezone: z.string().meta({ examples: ['America/Mexico_City'] }),
  })
  .meta({ id: 'Organization' })
export type OrganizationProfile = z.infer<typeof OrganizationProfile>

const HttpUrl = z.url({ protocol: /^https?$/, error: 'Must be an http or https URL.' }).max(2_048)

/** An IANA time zone in a request. */
export const TimeZone = z.string().refine(isTimeZone, 'Must be the exact name of an IANA time zone, such as America/Mexico_City.')

/** Members that are omitted or null keep their value. */
export const OrganizationChanges = z
  .strictObject({
    name: trimmedText(2, 200).nullable().optional(),
    contact_email: Email.nullable().optional(),
    logo_url: HttpUrl.nullable().optional(),
    timezone: TimeZone.nullable()
      .optional()
      .meta({
        description: doc(
          'Decides on which day it is for invoices, limits a day and expiries. Extractors have time zones of their own, which stay.',
        ),
        examples: ['America/Mexico_City'],
      }),
  })
  .meta({ id: 'OrganizationChanges' })
export type OrganizationChanges = z.infer<typeof OrganizationChanges>
