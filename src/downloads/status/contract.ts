import * as z from 'zod'
import { DEADLINE_BASES } from '../../authority/port/business-days.ts'
import { REPLIES } from '../../authority/port/status.ts'
import { Cfdi, Direction } from '../../cfdi/contract.ts'
import { Application } from '../../cfdi/detail/contract.ts'
import { REQUEST_STATUSES } from '../../cfdi/tables.ts'
import { Instant, Paging } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'

const RequestStatus = z.enum(REQUEST_STATUSES).meta({
  id: 'CancellationRequestStatus',
  description:
    '`pending`: the authority says that the cancellation is in process. `accepted`: the receiver accepted it. `expired`: nobody answered in time, which ' +
    'accepts it too. `cancelled`: the document is cancelled, and the authority does not say, or not yet, how that came. `rejected`: the receiver refused ' +
    'it, or it ended without a cancellation; the document stays valid.',
})

/** The members of the document that a request has. */
export const CFDI_MEMBERS = [
  ...(['uuid', 'fiscal_entity_id', 'direction', 'estatus', 'issued_at', 'tipo_comprobante', 'serie', 'folio', 'counterparty'] as const),
  ...(['total', 'currency', 'total_mxn', 'payment_status', 'paid_amount', 'credited_amount', 'balance'] as const),
] as const
type CfdiMember = (typeof CFDI_MEMBERS)[number]
const OfCfdi = Cfdi.pick(Object.fromEntries(CFDI_MEMBERS.map((name) => [name, true])) as Record<CfdiMember, true>)

export const CancellationRequest = z
  .strictObject({
    ...OfCfdi.shape,
    status: RequestStatus,
    detected_at: Instant.meta({ description: 'When the authority first answered that the cancellation is in process.' }),
    clear_at: Instant.nullable().meta({
      description: 'When it last answered before that there was no request; null when it was not asked.',
    }),
    checked_at: Instant.meta({ description: 'When it last answered about the request.' }),
    decided_at: Instant.nullable().meta({ description: 'When it first answered how the request ended; null before.' }),
    deadline: z.iso.date().meta({
      description:
        'The last day, in America/Mexico_City, on which an answer of the receiver is surely in time: three business days after the earliest time at which ' +
        'the request can have been made, which the authority does not say, and not before the day on which it was detected.',
    }),
    latest_deadline: z.iso
      .date()
      .meta({ description: 'Three business days after the request was detected: the last day on which an answer can be in time.' }),
    deadline_basis: z.enum(DEADLINE_BASES).meta({
      description: '`estimated`: the authority may have published days off that are not known, so that the deadlines may be later.',
    }),
    days_left: z
      .int()
      .nullable()
      .meta({ description: 'Business days after today up to `deadline`; 0 on it and after it. Null unless the request is pending.' }),
    if_silent: z.enum(['cancelled']).nullable().meta({
      description: 'What becomes of the document if the receiver does not answer: it is cancelled. Null unless the request is pending.',
    }),
    answer: z
      .strictObject({
        answer: z.enum(REPLIES).meta({ description: 'What was answered.' }),
        sent_at: Instant.nullable().meta({
          description: 'When it was sent; null while it is not known whether it arrived. Send the same answer again then.',
        }),
      })
      .nullable()
      .meta({ description: 'The answer that was given through the service; null without one. The status follows from the authority.' }),
  })
  .meta({ id: 'CancellationRequest' })
export type CancellationRequest = z.infer<typeof CancellationRequest>

export const CancellationRequestDetail = CancellationRequest.extend({
  aplicaciones: z
    .array(Application)
    .meta({ description: 'What was paid or credited of the document, as `GET /v1/cfdi/{uuid}/payments` lists it.' }),
}).meta({ id: 'CancellationRequestDetail' })
export type CancellationRequestDetail = z.infer<typeof CancellationRequestDetail>

export const CancellationRequestQuery = z
  .strictObject({
    ...ofFiscalEntity,
    ...Paging,
    direction: Direction.optional().meta({
      description: 'Only requests about documents that the fiscal entity issued, or only about received ones.',
    }),
    status: RequestStatus.optional(),
  })
  .superRefine(requireFiscalEntity)
export type CancellationRequestQuery = z.infer<typeof CancellationRequestQuery>

export const CancellationAnswer = z
  .strictObject({
    answer: z.enum(REPLIES).meta({ description: '`accept`: the document is to be cancelled. `reject`: it is to stay valid.' }),
  })
  .meta({ id: 'CancellationAnswer' })
export type CancellationAnswer = z.infer<typeof CancellationAnswer>
