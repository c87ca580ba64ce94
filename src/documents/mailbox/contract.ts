import * as z from 'zod'
import { DEADLINE_BASES } from '../../authority/port/business-days.ts'
import { NOTIFICATION_KINDS } from '../../authority/port/mailbox.ts'
import { documented, GivenInstant, Id, Instant, Paging } from '../../platform/http/shapes.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'
import { NOTIFICATION_SEVERITIES, NOTIFICATION_STATUSES } from './deadlines.ts'

export const NotificationKind = z.enum(NOTIFICATION_KINDS).meta({
  id: 'NotificationKind',
  description:
    'A `notificacion` or `requerimiento` takes effect: when it is opened, or on the fourth business day after it was sent. A ' +
    '`mensaje_interes`, `comunicado` or `aviso` only informs.',
})

export const NotificationStatus = z.enum(NOTIFICATION_STATUSES).meta({
  id: 'NotificationStatus',
  description:
    '`pending`: it can still be opened, and takes effect then; so it is until its fourth business day begins. `opened`: somebody opened it. `notified_by_expiry`: nobody opened it in time, so ' +
    'that it counts as notified. `informational`: it takes no effect.',
})

const NotificationSeverity = z.enum(NOTIFICATION_SEVERITIES).meta({
  id: 'NotificationSeverity',
  description:
    '`critical`: it is pending with one business day left or none, or was notified by expiry. `warning`: it is pending. `info`: it was opened, ' +
    'or only informs.',
})

export const Notification = z
  .strictObject({
    notification_id: Id('ntf'),
    kind: NotificationKind,
    title: z.string(),
    authority: z.string().meta({ description: 'The unit of the tax authority that sent it.' }),
    document_number: z.string().nullable().meta({ description: 'The number of the letter (oficio).' }),
    sent_at: Instant,
    open_deadline: z.iso
      .date()
      .nullable()
      .meta({
        description:
          'The third business day after it was sent. It can still be opened on days off that follow this day, until `effective_at`. Null if it ' +
          'only informs.',
      }),
    deadline_basis: z
      .enum(DEADLINE_BASES)
      .nullable()
      .meta({
        description:
          '`published`: every day off that the authority published is counted. `estimated`: the table of these days does not reach so far, so that ' +
          'only weekends and the holidays of the law are sure to be left out: `open_deadline`, and `effective_at` and `status` of one that nobody ' +
          'opened, may come earlier than the true ones, and never later. Null if it only informs.',
      }),
    effective_at: Instant.nullable().meta({
      description:
        'When it takes or took effect: when it was opened, else the beginning of the fourth business day after it was sent, in Mexico City. Null ' +
        'if it only informs.',
    }),
    opened_at: Instant.nullable().meta({ description: 'When it was opened, whoever opened it.' }),
    status: NotificationStatus,
    severity: NotificationSeverity,
    days_left: z
      .int()
      .nullable()
      .meta({
        description:
          'Business days after today up to `open_deadline`; 0 on that day, and on days off that follow it, on which it is still pending. Null ' +
          'unless it is pending.',
      }),
    has_document: z.boolean().meta({ description: 'Whether there is a document to download.' }),
    document_kind: z
      .string()
      .nullable()
      .meta({ description: 'What the document is, in the words of the tax authority.', examples: ['requerimiento'] }),
  })
  .meta({ id: 'Notification' })
export type Notification = z.infer<typeof Notification>

export const NotificationQuery = z.strictObject({
  ...Paging,
  status: NotificationStatus.optional(),
  kind: NotificationKind.optional(),
  since: GivenInstant.optional().meta({ description: 'Only what was sent at this instant or later.' }),
})
export type NotificationQuery = z.infer<typeof NotificationQuery>

export const NotificationPath = z.strictObject({ fiscal_entity_id: FiscalEntityId, notification_id: Id('ntf') })

export const NotificationDocumentQuery = z.strictObject({
  notification_id: Id('ntf'),
  acknowledge_notification: documented(
    z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
    {
      type: 'boolean',
      default: false,
      description:
        'Opens the notification if it is pending, which makes the acknowledgement of receipt at the tax authority and begins the periods of ' +
        'the law. Needs the role owner or admin.',
    },
  ),
})
export type NotificationDocumentQuery = z.infer<typeof NotificationDocumentQuery>

export const NotificationFetching = z.strictObject({ status: z.literal('fetching'), retry_after_seconds: z.int() }).meta({
  id: 'NotificationFetching',
  description: 'The notification is being opened, or its document fetched from the tax authority.',
})
export type NotificationFetching = z.infer<typeof NotificationFetching>
