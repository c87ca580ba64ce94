import * as z from 'zod'
import { documented, Id, Instant, Paging } from '../http/shapes.ts'
import { ALERT_KINDS, SEVERITIES } from './kinds.ts'

const AlertKind = z.enum(ALERT_KINDS).meta({
  id: 'AlertKind',
  description:
    '`webhook.undelivered`: a webhook missed three or more deliveries in a row. `repse.expiring`: a REPSE registration ends within 60 ' +
    'days. `repse.expired`: a REPSE registration has ended. `connection.ciec_guessed`: the tax authority refused three or more CIECs ' +
    'or e.firmas that others sent for the RFC within a day; there is one such alert per day. `connection.login_refused`: one of the two logins of ' +
    'a connection, its CIEC or its e.firma, was refused or has expired, and downloads go on with the other. `storage.failed`: copying to a storage connector failed ' +
    'five times in a row, and nothing is copied to it until you activate it again. `certificate.expiring`: an e.firma or CSD of the RFC ' +
    'expires within 30 days; another alert follows 7 days before. `efirma.expiring`: the same of the e.firma with which a connection logs in. ' +
    '`mailbox.notification_received`: the tax mailbox received a notification that takes effect if nobody opens it; it is critical with one ' +
    'business day left or none. The first five of an RFC and day have an alert each; one alert about the fiscal entity is for all others. ' +
    '`connection.invalid`: a connection has no valid CIEC or e.firma any more, so that nothing is downloaded. `connection.failing`: every run of an ' +
    'RFC has had failed downloads for a day or more. `organization.suspended`: an unpaid invoice or the end of the trial paused all connections. ' +
    'These three are resolved when their cause ends. `counterparty.listed`: a blacklist newly names a supplier or customer, or finds it definitively listed; ' +
    '`amount` is what was bought from it and sold to it. `cfdi.cancelled_after_payment`: a CFDI was cancelled after it was paid or counted as ' +
    'income; `amount` is its total. `cancellation.requested`: the issuer of a received CFDI asks to cancel it; `amount` is its total, and the alert is resolved when the request has ended. ' +
    'Of these three, too, the first five of an RFC and day have an alert each, and one alert is for all others.',
})
const AlertSeverity = z.enum(SEVERITIES).meta({ id: 'AlertSeverity' })

export const Alert = z
  .strictObject({
    alert_id: Id('alr'),
    kind: AlertKind,
    severity: AlertSeverity,
    resource_id: z.string().meta({
      description:
        'The webhook (`wh_…`), fiscal entity (`fe_…`), storage connector (`stc_…`), notification (`ntf_…`) or organization (`org_…`) that the alert is about, or the UUID of the CFDI.',
    }),
    fiscal_entity_id: Id('fe').nullable().meta({ description: 'The fiscal entity that the alert is about; null when it is about none.' }),
    rfc: z.string().nullable().meta({ description: 'The RFC of the fiscal entity; null without one.' }),
    amount: z.string().nullable().meta({ description: 'The amount at stake, as a decimal; null when the alert is about no amount.' }),
    currency: z.string().nullable().meta({ description: 'The currency of the amount; null without one.' }),
    message: z.string().meta({ description: 'What happened, with its date. It does not change afterwards.' }),
    message_es: z.string().meta({ description: 'The same in Spanish.' }),
    created_at: Instant.meta({ description: 'When the alert was raised, or when it became critical.' }),
    resolved_at: Instant.nullable().meta({
      description: 'When the cause of the alert ended; null while it lasts, and of the kinds whose causes are not followed.',
    }),
    read_at: Instant.nullable().meta({ description: 'When the alert was marked as read; null if it is unread.' }),
  })
  .meta({ id: 'Alert' })
export type Alert = z.infer<typeof Alert>

const filters = {
  kind: AlertKind.optional(),
  severity: AlertSeverity.optional(),
  resource_id: z.string().max(100).optional().meta({
    description: 'Only alerts about this webhook, fiscal entity, storage connector, notification or CFDI.',
  }),
  fiscal_entity_id: Id('fe').optional().meta({ description: 'Only alerts about this fiscal entity.' }),
  rfc: z.string().max(13).optional().meta({ description: 'Only alerts about this RFC.' }),
  state: z
    .enum(['open', 'resolved'])
    .optional()
    .meta({ description: 'Only alerts whose cause lasts or is not followed (`open`), or only those whose cause has ended.' }),
}

/** The query of POST /v1/alerts/read. */
export const AlertFilters = z.strictObject(filters)
export type AlertFilters = z.infer<typeof AlertFilters>

export const AlertsRead = z
  .strictObject({ read_count: z.int().meta({ description: 'Number of alerts that were unread.' }) })
  .meta({ id: 'AlertsRead' })

export const AlertQuery = z.strictObject({
  ...Paging,
  ...filters,
  sort: z
    .enum(['newest', 'weight'])
    .default('newest')
    .meta({ description: '`weight`: the critical alerts come first, and of each severity the newest.' }),
  is_read: documented(
    z
      .enum(['true', 'false'])
      .transform((text) => text === 'true')
      .optional(),
    { type: 'boolean', description: 'Lists only alerts that are read, or only those that are unread.' },
  ),
})
export type AlertQuery = z.infer<typeof AlertQuery>

export const AlertPath = z.strictObject({ alert_id: Id('alr') })
