import * as z from 'zod'
import { FETCH_ERRORS } from '../../authority/fetcher/states.ts'
import { DOCUMENT_KINDS } from '../../authority/port/authority.ts'
import { DocumentFields } from '../../authority/port/fields-contract.ts'
import { NOTIFICATION_KINDS } from '../../authority/port/mailbox.ts'
import { documented, Instant } from '../../platform/http/shapes.ts'

/** The ledger, the fetch and the token of a lease; for a login, its connection, the version of the RFC's CIECs, and the end. */
const LEASE = /^(\d{1,4}-\d{1,15}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|login-\d{1,15}-\d{1,15}-\d{1,15})$/

const LeaseId = z.string().regex(LEASE).meta({ description: 'The lease. Nothing follows from its parts.' })

export const Lease = z
  .strictObject({
    lease_id: LeaseId,
    until: Instant.meta({ description: 'When the lease runs out, unless it is renewed before.' }),
    task: z.enum(['login', 'month', 'documents']).meta({
      description:
        '`login`: log in, and say with complete that the portal accepts the CIEC, or with fail that it does not; the lease cannot be renewed. `month`: bring the metadata and the XML of the CFDIs of a source and month. `documents`: bring everything that the portal shows of a source that is not one of CFDIs, also what was brought before.',
    }),
    rfc: z.string(),
    ciec: z.string().meta({ description: 'The password of the RFC at the portal. Keep it in memory only, and never log it.' }),
    source: z
      .string()
      .nullable()
      .meta({ description: 'The data source, such as `sat_cfdi_issued` or `sat_cfdi_received`. Null for `login`.' }),
    month: z.string().nullable().meta({ description: 'The month of the literal Fecha, `YYYY-MM`. Null for `login` and `documents`.' }),
  })
  .meta({ id: 'Lease' })
export type Lease = z.infer<typeof Lease>

export const LeaseAnswer = z
  .strictObject({ lease: Lease.nullable().meta({ description: 'Null when there is nothing to do. Ask again in some seconds.' }) })
  .meta({ id: 'LeaseAnswer' })

export const Renewed = z.strictObject({ until: Instant }).meta({ id: 'Renewed' })

export const Empty = z.strictObject({})

export const LeaseRequest = z
  .strictObject({
    nonce: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Any text that no other request has, such as a UUID: a signature is answered once.' }),
  })
  .meta({ id: 'LeaseRequest' })

export const LeasePath = z.strictObject({ lease_id: LeaseId })

export const PackagePath = z.strictObject({
  lease_id: LeaseId,
  kind: z.enum(['metadata', 'xml']),
  n: documented(z.string().regex(/^\d{1,4}$/), { type: 'integer', minimum: 0, maximum: 9_999 }),
})

/** Documents of a lease, and notifications, at most. */
const MOST = 400

const DocumentNumber = documented(z.string().regex(/^\d{1,3}$/), { type: 'integer', minimum: 0, maximum: 999 })
export const DocumentPath = z.strictObject({ lease_id: LeaseId, n: DocumentNumber })

const text = z.string().min(1).max(300)

const uploaded = {
  n: z.int().min(0).max(999).meta({ description: 'The number under which it was uploaded.' }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .meta({ description: 'The SHA-256 of what was uploaded, in lower hexadecimal.' }),
  rfc: z.string().meta({ description: 'The RFC that the document names. It must be that of the lease.' }),
  name: text.meta({ description: 'File name.' }),
  content_type: z.enum(['application/pdf', 'application/json', 'application/octet-stream']),
}

const FetchedDocument = z
  .strictObject({
    ...uploaded,
    kind: z.enum(DOCUMENT_KINDS).meta({
      description:
        'Of `sat_csf`: `csf`. Of `sat_opinion_32d`: `opinion_32d`. Of `sat_obligations`: `obligations`. Of `sat_declaracion_anual` and ' +
        '`sat_declaracion_mensual`: `declaracion`, and `acuse` for its receipt. Of `sat_miinformacion`: `registration`. Of ' +
        '`sat_certificates`: `certificates`. Of `sat_rug`: `rug`.',
    }),
    series: text.meta({
      description:
        'Documents of a source with the same series are versions of each other: all tax status certificates, or the returns of one period, the amended ones too. It must never change.',
    }),
    title: text,
    document_date: z.iso.date().meta({ description: 'The day on which it was issued or filed, or to which it refers.' }),
    period_end: z.iso.date().nullable().meta({ description: 'The last day of the period that a return covers; null for other documents.' }),
    attributes: z
      .record(z.string().max(60), z.string().max(1_000))
      .default({})
      .meta({
        description:
          'What the portal lists beside it. A `declaracion` has `ejercicio`, `periodo` (`01` to `12`, or `del ejercicio`), and `impuesto`: the ' +
          'taxes or forms that it declares, as the authority names them, with commas between them.',
      }),
    fields: DocumentFields.nullable().default(null).meta({
      description:
        'What a document of the kind `csf`, `opinion_32d`, `obligations` or `certificates` says. Null for the other kinds. The service reads the PDF of a `csf` or an `opinion_32d` itself when it is null.',
    }),
  })
  .meta({ id: 'FetchedDocument' })

const FetchedNotification = z
  .strictObject({
    notification: z.string().min(1).max(100).meta({ description: 'The portal’s identifier of it, which never changes.' }),
    kind: z.enum(NOTIFICATION_KINDS),
    title: text,
    authority: text.meta({ description: 'The unit of the authority that sent it.' }),
    document_number: text.nullable(),
    sent_at: Instant,
    opened_at: Instant.nullable().meta({ description: 'When somebody opened it; null before.' }),
    document_kind: text.nullable().meta({ description: 'What its document is, in the authority’s words; null without a document.' }),
    document: z.strictObject(uploaded).nullable().default(null).meta({
      description:
        'Its document, if it can be had without opening the notification: it only informs, was opened, or was notified by expiry. A fetcher never opens one.',
    }),
  })
  .meta({ id: 'FetchedNotification' })

export const Completion = z
  .strictObject({
    metadata: z.int().min(0).max(10_000).default(0).meta({ description: 'How many packages of metadata were uploaded: those from 0 on.' }),
    xml: z
      .int()
      .min(0)
      .max(10_000)
      .default(0)
      .meta({ description: 'How many packages of XML were uploaded: those from 0 on. A whole month with XML has metadata too.' }),
    is_whole: z.boolean().default(true).meta({
      description:
        'False when the portal lists documents of the month that could not be brought. Documents are brought as a whole, or the lease fails.',
    }),
    documents: z
      .array(FetchedDocument)
      .max(MOST)
      .default([])
      .meta({ description: 'Of the task `documents`: each document that was uploaded, all that the portal shows of the source.' }),
    notifications: z
      .array(FetchedNotification)
      .max(MOST)
      .default([])
      .meta({ description: 'Of `sat_miinformacion`: what the tax mailbox lists.' }),
  })
  .meta({ id: 'Completion' })
export type Completion = z.infer<typeof Completion>

export const LOGIN_REJECTED = 'login_rejected'

export const FailureReport = z
  .strictObject({
    error_class: z.enum([LOGIN_REJECTED, ...FETCH_ERRORS]).meta({
      description:
        '`login_rejected`: the portal says that RFC and CIEC do not match; the connections with this CIEC end. `account_locked`, ' +
        '`sat_unavailable` and `rate_limited`: the job is offered again after a wait, twelve times in all. `not_delivered`: the portal will ' +
        'never deliver it; the job fails.',
    }),
  })
  .meta({ id: 'FailureReport' })
export type FailureReport = z.infer<typeof FailureReport>
