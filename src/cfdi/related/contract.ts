import * as z from 'zod'
import { STATUS_ANSWERS } from '../../authority/port/status.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Cfdi, Estatus } from '../contract.ts'

export const RelationsQuery = z.strictObject({ ...ofFiscalEntity, ...Paging }).superRefine(requireFiscalEntity)
export type RelationsQuery = z.infer<typeof RelationsQuery>

/** How one document refers to another. */
export const CfdiRelation = z
  .strictObject({
    side: z.enum(['refers_to', 'referred_by']).meta({
      description: '`refers_to`: the document names this one. `referred_by`: this one names the document.',
    }),
    relation: z.string().meta({
      description:
        '`pago`: a payment complement pays an invoice. `cancelacion`: the cancellation names this one as its substitute. Otherwise TipoRelacion, ' +
        'such as `01` or `04`. Of `referred_by` only payments and the relations 01, 03 and 04 are known.',
    }),
    uuid: z.string().meta({ description: 'In upper case.' }),
    cfdi: Cfdi.nullable().meta({ description: 'The other document. Null when your windows do not show it, or it is not held.' }),
  })
  .meta({ id: 'CfdiRelation' })
export type CfdiRelation = z.infer<typeof CfdiRelation>

export const CfdiRelations = pageOf(CfdiRelation).meta({ id: 'CfdiRelations' })

export const HISTORY_EVENTS = ['issued', 'certified', 'stored', 'xml', 'substituted', 'cancelled', 'status_check'] as const

const HistoryEvent = z
  .strictObject({
    event: z.enum(HISTORY_EVENTS).meta({
      id: 'CfdiHistoryEventName',
      description:
        '`issued`, `certified`: by the issuer and the PAC. `stored`: it came into what you can read, with its XML or without. `xml`: its XML came ' +
        'later. `substituted`: a vigente document of relation 04 names it. `cancelled`. `status_check`: the last answer of the authority that you asked for.',
    }),
    at: z.iso.datetime().nullable().meta({ description: 'When it happened. Null when that is not known.' }),
    known_at: z.iso.datetime().nullable().meta({
      description:
        'Since when you could know of it: not before your own run first reached the document. Null when that is not known any more, and for what the document says of itself.',
    }),
    uuid: z
      .string()
      .nullable()
      .meta({ description: 'The document that substitutes it, or that the cancellation names as its substitute.' }),
    status_answer: z.enum(STATUS_ANSWERS).nullable().meta({ description: 'What the authority answered.' }),
  })
  .meta({ id: 'CfdiHistoryEvent' })
export type HistoryEvent = z.infer<typeof HistoryEvent>

const KnownDay = z
  .strictObject({
    day: z.iso.date().meta({ description: 'A day in America/Mexico_City on whose end you could know something new.' }),
    estatus: Estatus,
    has_xml: z.boolean(),
    is_substituted: z.boolean(),
  })
  .meta({ id: 'CfdiKnownDay' })
export type KnownDay = z.infer<typeof KnownDay>

export const CfdiHistory = z
  .strictObject({
    uuid: z.string(),
    events: z.array(HistoryEvent).meta({ description: 'In the order in which they happened.' }),
    known: z
      .array(KnownDay)
      .meta({ description: 'What could be known of the document at the end of a day, oldest first, where it changed.' }),
  })
  .meta({ id: 'CfdiHistory' })
export type CfdiHistory = z.infer<typeof CfdiHistory>
