import * as z from 'zod'
import { LOGIN_KINDS } from '../../authority/port/login.ts'
import { documented, GivenDay, Id, Instant, Paging, pageOf, trimmedText } from '../../platform/http/shapes.ts'
import { targetFault } from '../../platform/target.ts'
import { FiscalEntityId, Rfc } from '../../taxpayers/contract.ts'
import { PURPOSE_KEYS } from '../consents/text.ts'
import { FiscalEntityDraft } from '../contract.ts'
import { LANGUAGES, LINK_STATES } from '../tables.ts'
import { MOST_LOGINS } from './store.ts'

/** The page leads there, so it is a public address of somebody else's. */
const PublicUrl = documented(
  z.string().superRefine((url, context) => {
    const message = targetFault(url, [])
    if (message) context.addIssue({ code: 'custom', message })
  }),
  { type: 'string', maxLength: 2_048, description: 'An https URL with a public host name.' },
)

const Purpose = z
  .strictObject({
    key: z
      .string()
      .max(64)
      .meta({ description: `One of ${PURPOSE_KEYS.map((key) => `\`${key}\``).join(', ')}.` }),
    necessary: z.boolean().meta({ description: 'Whether the login is of no use without it. The taxpayer accepts each other one apart.' }),
  })
  .meta({ id: 'Purpose' })

const Day = GivenDay.nullable().optional()
const MOST_PURPOSES = 20
const [SHORTEST, STANDARD, LONGEST] = [300, 86_400, 2_592_000] as const

export const ConnectLinkDraft = z
  .strictObject({
    rfc: Rfc.nullable()
      .optional()
      .meta({
        documented: {
          type: ['string', 'null'],
          description: 'The RFC that the link is for. Null or omitted: the taxpayer types it.',
          examples: ['EKU9003173C9'],
        },
      }),
    fiscal_entity_id: FiscalEntityId.nullable()
      .optional()
      .meta({
        documented: {
          type: ['string', 'null'],
          description: 'The connection whose login is asked for again: it keeps its identifier, windows and history.',
        },
      }),
    external_id: FiscalEntityDraft.shape.external_id,
    metadata: FiscalEntityDraft.shape.metadata,
    purposes: z.array(Purpose).min(1).max(MOST_PURPOSES).optional().meta({
      description:
        'What the login is asked for for. At least one is necessary. Required, unless the link is for a connection with an active consent, which then goes on.',
    }),
    controller: z
      .strictObject({
        name: trimmedText(2, 200),
        privacy_notice_url: PublicUrl.nullable()
          .optional()
          .meta({
            documented: {
              type: ['string', 'null'],
              maxLength: 2_048,
              description: 'The privacy notice, an https URL that the page shows.',
            },
          }),
      })
      .optional()
      .meta({ description: 'Who answers for the data, as the page says it; by default the organization by its name.' }),
    sources: FiscalEntityDraft.shape.data_source_keys.meta({
      description: 'The data sources. Null or omitted: all active ones that are not premium.',
    }),
    logins: z
      .array(z.enum(LOGIN_KINDS))
      .min(1)
      .max(LOGIN_KINDS.length)
      .optional()
      .meta({ description: 'What the taxpayer may log in with; by default all that the deployment can use.' }),
    access: z
      .strictObject({
        from: Day.meta({ description: 'The first day of the documents.' }),
        until: Day.meta({ description: 'The last day of the access: then the consent expires and the login is erased.' }),
      })
      .optional()
      .meta({ description: 'How long the access lasts, and how far back it goes; without bounds by default.' }),
    language: z.enum(LANGUAGES).default('es').meta({ description: 'The language of the page, which the taxpayer can change.' }),
    return_url: PublicUrl.nullable()
      .optional()
      .meta({
        documented: {
          ...{ type: ['string', 'null'], maxLength: 2_048 },
          description: 'Where the page leads afterwards, with `connect_link_id`, `status` and `state` in the query.',
        },
      }),
    state: trimmedText(1, 500).nullable().optional().meta({ description: 'A text of yours that comes back with return_url.' }),
    expires_in: z.int().min(SHORTEST).max(LONGEST).default(STANDARD).meta({ description: 'Seconds until the link can no longer be used.' }),
  })
  .meta({ id: 'ConnectLinkDraft' })
export type ConnectLinkDraft = z.infer<typeof ConnectLinkDraft>

export const ConnectLink = z
  .strictObject({
    connect_link_id: Id('lnk'),
    status: z.enum(LINK_STATES).meta({
      description:
        '`created`, `opened` once somebody saw the page, `verifying` while the tax authority is asked, `connected` when it accepted the login, ' +
        '`submitted` when a login is stored about which this deployment could not ask at once, `refused` when the last login was refused, ' +
        '`expired` or `revoked`.',
    }),
    rfc: z.string().nullable(),
    fiscal_entity_id: Id('fe').nullable().meta({ description: 'The connection that the link is for, or that it made.' }),
    is_relink: z.boolean().meta({ description: 'Whether the login of a connection is asked for again.' }),
    external_id: z.string().nullable().meta({ description: 'What you call the RFC in your own system.' }),
    metadata: documented(z.record(z.string(), z.string()), {
      ...{ type: 'object', additionalProperties: { type: 'string' } },
      description: 'What the connection keeps with the RFC, by keys of your own.',
    }),
    purposes: z.array(Purpose).meta({ description: 'Empty when no new consent is asked for.' }),
    controller: z
      .strictObject({
        name: z.string(),
        privacy_notice_url: z.string().nullable().meta({ description: 'The privacy notice; null without one.' }),
      })
      .meta({ description: 'Who answers for the data, as the page says it.' }),
    sources: z.array(z.string()).meta({ description: 'The data sources that the taxpayer is asked for.' }),
    logins: z.array(z.enum(LOGIN_KINDS)).meta({ description: 'What the taxpayer may log in with.' }),
    access: z
      .strictObject({
        from: z.iso.date().nullable().meta({ description: 'The first day of the documents; null without a bound.' }),
        until: z.iso.date().nullable().meta({ description: 'The last day of the access; null without a bound.' }),
      })
      .meta({ description: 'How long the access lasts, and how far back it goes.' }),
    language: z.enum(LANGUAGES).meta({ description: 'The language of the page.' }),
    return_url: z.string().nullable().meta({ description: 'Where the page leads afterwards.' }),
    state: z.string().nullable().meta({ description: 'The text that comes back with return_url.' }),
    code: z
      .string()
      .nullable()
      .meta({ description: 'Why the last login was refused, such as `fiscal_entity.ciec_rejected`; null when none was.' }),
    tries_left: z.int().meta({ description: `How many more logins can be refused, of ${MOST_LOGINS}. At 0 make another link.` }),
    consent_id: Id('cns').nullable().meta({ description: 'The consent that was given with the link; null before, and without a new one.' }),
    created_at: Instant,
    expires_at: Instant,
    opened_at: Instant.nullable().meta({ description: 'When the page was first opened; null before.' }),
    connected_at: Instant.nullable().meta({ description: 'When a login was stored.' }),
  })
  .meta({ id: 'ConnectLink' })
export type ConnectLink = z.infer<typeof ConnectLink>

export const NewConnectLink = ConnectLink.extend({
  url: z.string().meta({
    description: 'The page. Whoever has the address can use the link. It is shown only here, because the service keeps a hash of it.',
    examples: ['https://api.example.com/connect/8yZkQm3t7cY1xW0pVbN5rJ2sL4hG6dF9aE3uT8iO7qM'],
  }),
}).meta({ id: 'NewConnectLink' })
export type NewConnectLink = z.infer<typeof NewConnectLink>

export const ConnectLinkPage = pageOf(ConnectLink)
export const ConnectLinkQuery = z.strictObject({ ...Paging, status: z.enum(LINK_STATES).optional() })
export type ConnectLinkQuery = z.infer<typeof ConnectLinkQuery>
export const ConnectLinkPath = z.strictObject({ connect_link_id: Id('lnk') })
