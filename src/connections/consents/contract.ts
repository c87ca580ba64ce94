import * as z from 'zod'
import { Id, Instant, Paging, pageOf } from '../../platform/http/shapes.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'
import { CONSENT_METHODS, CONSENT_STATES, LANGUAGES, SUBJECT_KINDS, WITHDRAWN_BY } from '../tables.ts'

export const Consent = z
  .strictObject({
    consent_id: Id('cns'),
    fiscal_entity_id: Id('fe'),
    rfc: z.string(),
    connect_link_id: Id('lnk')
      .nullable()
      .meta({ description: 'The link with which it was given; null when the organization declared it.' }),
    consent_reference: z.string().nullable().meta({ description: 'Where the organization keeps a consent that it declared.' }),
    subject: z
      .strictObject({
        kind: z.enum(SUBJECT_KINDS).meta({ description: 'The taxpayer in person, or somebody who represents the taxpayer.' }),
        name: z.string(),
        email: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'Who gave it, in their own words; null when the organization declared it.' }),
    text: z
      .strictObject({
        version: z.string().meta({ description: 'The version of the words of the service.' }),
        language: z.enum(LANGUAGES).meta({ description: 'The language of the text.' }),
        sha256: z.string().meta({ description: 'The SHA-256 of `content` in UTF-8, in lower hexadecimal.' }),
        content: z.string().meta({ description: 'The text itself.' }),
      })
      .nullable()
      .meta({ description: 'What was agreed to, word for word; null when the organization declared it.' }),
    purposes: z
      .array(
        z.strictObject({
          key: z.string(),
          necessary: z.boolean().meta({ description: 'Whether the login is of no use without it.' }),
          granted: z.boolean().meta({ description: 'Whether the taxpayer accepted it.' }),
        }),
      )
      .meta({ description: 'What it was asked for for; empty when the organization declared it.' }),
    sources: z.array(z.string()).nullable().meta({ description: 'The data sources; null for the default ones.' }),
    access: z
      .strictObject({
        from: z.iso.date().nullable().meta({ description: 'The first day of the documents; null without a bound.' }),
        until: z.iso.date().nullable().meta({
          description:
            'The last day of the access, in Mexico City. Then the consent expires, and the logins are erased. Null without a bound.',
        }),
      })
      .meta({ description: 'How long the access lasts, and how far back it goes.' }),
    granted_at: Instant.meta({ description: 'When it was given, or declared.' }),
    address_hash: z
      .string()
      .nullable()
      .meta({ description: 'A keyed hash of the network that it came from: the same for the same network.' }),
    user_agent: z.string().nullable().meta({ description: 'What the browser calls itself.' }),
    method: z.enum(CONSENT_METHODS).meta({
      description:
        'How it is proven. `ciec_verified`: the tax authority accepted the CIEC at that minute. `ciec_given`: a CIEC was given, and this ' +
        'deployment could not ask the authority about it at once. `efirma_signed`: the e.firma signed it. `declared_by_customer`: the ' +
        'organization says that it has it, by giving a login through the API.',
    }),
    signature: z
      .strictObject({
        algorithm: z.literal('RSASSA-PKCS1-v1_5-SHA-256').meta({ description: 'RSA (PKCS #1 v1.5) with SHA-256.' }),
        message: z.string().meta({
          description:
            'What is signed: the consent_id, the `sha256` of the text and the keys of the granted purposes with commas, in three lines.',
        }),
        value: z.string().meta({ description: 'The signature in base64.' }),
        certificate: z.string().meta({ description: 'The certificate of the e.firma, DER in base64.' }),
      })
      .nullable()
      .meta({ description: 'What the e.firma signed, so that anybody can verify it; null without one.' }),
    status: z.enum(CONSENT_STATES).meta({
      description: '`superseded`: a later consent for the same connection took its place.',
    }),
    ended_at: Instant.nullable().meta({ description: 'When it ended; null while it is active.' }),
    withdrawn_by: z.enum(WITHDRAWN_BY).nullable().meta({
      description:
        'Who withdrew it: the taxpayer (`subject`), the organization (`customer`), also by unlinking the RFC, or the `operator` of the service.',
    }),
  })
  .meta({ id: 'Consent' })
export type Consent = z.infer<typeof Consent>

export const ConsentPage = pageOf(Consent)

export const ConsentQuery = z.strictObject({
  ...Paging,
  fiscal_entity_id: FiscalEntityId.optional().meta({ documented: { type: 'string', description: 'Lists only those of this connection.' } }),
  status: z.enum(CONSENT_STATES).optional(),
})
export type ConsentQuery = z.infer<typeof ConsentQuery>

export const ConsentPath = z.strictObject({ consent_id: Id('cns') })
