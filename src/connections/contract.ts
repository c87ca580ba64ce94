import * as z from 'zod'
import { Problem } from '../platform/http/problem.ts'
import { documented, Id, Instant, Paging, trimmedText, Warning } from '../platform/http/shapes.ts'
import { INVALID_REASONS } from '../platform/tenant/tenant.ts'
import { ConnectionStatus, FiscalEntityId, Rfc } from '../taxpayers/contract.ts'
import { CfdiWindows, WindowStateName } from '../taxpayers/visibility/contract.ts'

export const BillingRfc = z
  .strictObject({
    id: Id('fe'),
    rfc: z.string(),
    active: z.boolean(),
    connection_status: ConnectionStatus,
    seat_source: z
      .enum(['trial', 'plan', 'allowance'])
      .nullable()
      .meta({
        description:
          'Where the seat comes from: the trial, the plan, or an allowance that was granted to the organization. Null when the RFC takes ' +
          'no seat.',
      }),
    active_since: Instant.nullable().meta({ description: 'When the connection last became active. Null unless it is active.' }),
  })
  .meta({ id: 'BillingRfc' })
export type BillingRfc = z.infer<typeof BillingRfc>

export const BillingRfcQuery = z.strictObject(Paging)
export type BillingRfcQuery = z.infer<typeof BillingRfcQuery>

export const BillingRfcPath = z.strictObject({ fiscal_entity_id: FiscalEntityId })
export const BillingRfcChanges = z
  .strictObject({ active: z.boolean().meta({ description: 'False pauses the RFC, true resumes it.' }) })
  .meta({ id: 'BillingRfcChanges' })

/** More characters than a file of an e.firma can have. */
const FILE = 16_000

const Ciec = z
  .string()
  .min(1)
  .max(100)
  .meta({ description: 'The password of the RFC at the tax authority. It is stored encrypted and never shown.', writeOnly: true })

const Efirma = z
  .strictObject({
    certificate: z
      .string()
      .min(1)
      .max(FILE)
      .meta({ description: 'The content of the `.cer` file as the tax authority gives it, in base64. PEM is accepted too.' }),
    private_key: z
      .string()
      .min(1)
      .max(FILE)
      .meta({ description: 'The content of the `.key` file as the tax authority gives it, in base64. PEM is accepted too.' }),
    password: z.string().max(256).meta({
      description:
        'The password of the private key. It opens the key now and is not stored. A key without encryption, which the tax authority does not give, needs none: what is sent then is not looked at.',
    }),
  })
  .meta({ id: 'EfirmaFiles', writeOnly: true })

const CREDENTIAL_KINDS = ['ciec', 'efirma', 'both'] as const

/** The customer's own identifier of a connection. */
const ExternalId = trimmedText(1, 200)

const EXTERNAL_ID = 'What you call the RFC in your own system. No two RFCs of the organization have the same. Unlinking the RFC frees it.'

const METADATA_KEYS = 50
const METADATA_KEY = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,39}$/
const METADATA_VALUE = 500

/** The fault of a value of metadata; null without one. */
function valueFault(value: unknown): string | null {
  if (value === null) return null
  if (typeof value !== 'string' || [...value].length > METADATA_VALUE)
    return `Must be text of at most ${METADATA_VALUE} characters, or null.`
  return null
}

const metadataSchema = (type: string | string[]) => ({
  type: 'object',
  maxProperties: METADATA_KEYS,
  propertyNames: { pattern: METADATA_KEY.source },
  additionalProperties: { type, maxLength: METADATA_VALUE },
})

/** zod's own records silently drop the key `__proto__`. */
const GivenMetadata = z
  .custom<Record<string, string | null>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'Must be an object.',
  )
  .superRefine((given, context) => {
    const fault = (message: string, ...path: string[]) => context.addIssue({ code: 'custom', path, message })
    if (Object.keys(given).length > METADATA_KEYS) fault(`Must have at most ${METADATA_KEYS} keys.`)
    for (const [key, value] of Object.entries(given)) {
      const message = METADATA_KEY.test(key)
        ? valueFault(value)
        : 'A key must have 1 to 40 letters, digits and characters of _.:-, and begin with a letter or digit.'
      if (message) fault(message, key)
    }
  })

const DataSourceKeys = z.array(z.string().max(64)).max(50)

export const FiscalEntity = z
  .strictObject({
    fiscal_entity_id: Id('fe'),
    fiscal_entity_uuid: z.uuid().meta({ description: 'The same identifier as a UUID, as events have it.' }),
    rfc: z.string(),
    name: z.string().nullable(),
    external_id: z.string().nullable().meta({ description: EXTERNAL_ID }),
    metadata: documented(z.record(z.string(), z.string()), {
      ...metadataSchema('string'),
      description: 'What you keep with the RFC, by keys of your own. The service does not read it.',
      examples: [{ branch: 'Monterrey' }],
    }),
    status: ConnectionStatus,
    data_source_keys: z
      .array(z.string())
      .meta({ description: 'Data sources that are enabled for this connection. The mandatory ones are always included.' }),
    invalid_reason: z
      .enum(INVALID_REASONS)
      .nullable()
      .meta({
        description:
          'Why there is no valid CIEC or e.firma: the tax authority `rejected` the CIEC, the authority refused the e.firma (`efirma_refused`), ' +
          'the e.firma has expired (`efirma_expired`), or the organization has `withdrawn` what was stored. Null unless the status is ' +
          'invalid_ciec, or a pause that ends in it.',
      }),
    ciec_set: z.boolean().meta({ description: 'Whether a CIEC is stored.' }),
    credential_kind: z
      .enum(CREDENTIAL_KINDS)
      .nullable()
      .meta({ description: 'What is stored to log in with at the tax authority: a CIEC, an e.firma, or both. Null when nothing is.' }),
    efirma: z
      .strictObject({
        certificate_number: z.string().meta({ description: 'The number of the certificate, 20 digits.' }),
        valid_from: Instant,
        valid_to: Instant.meta({ description: 'The last instant of its validity.' }),
        days_to_expiry: z.int().meta({
          description: 'Calendar days until then in the time zone of the organization. Negative when the e.firma has expired.',
        }),
      })
      .nullable()
      .meta({ description: 'The certificate of the stored e.firma. Null without one. The key is never shown.' }),
    visible_from: z.iso
      .date()
      .nullable()
      .meta({ description: 'The earlier floor of both windows: the first visible day of Fecha. Null before the first extraction.' }),
    visible_to: Instant.nullable().meta({
      description: 'The later ceiling of both windows: the last visible instant. Null before the first extraction.',
    }),
    windows: CfdiWindows.meta({
      description: 'How far the extractions of each source have reached. Null before the first extraction of the source.',
    }),
    window_state: WindowStateName,
    warnings: z.array(Warning),
    linked_at: Instant,
    updated_at: Instant,
  })
  .meta({ id: 'FiscalEntity' })
export type FiscalEntity = z.infer<typeof FiscalEntity>

export const FiscalEntityDraft = z
  .strictObject({
    rfc: Rfc,
    ciec: Ciec.optional(),
    efirma: Efirma.optional().meta({
      description:
        'The e.firma of the RFC, instead of the CIEC or beside it. It is stored encrypted and never shown; the password is not stored.',
    }),
    data_source_keys: DataSourceKeys.nullable()
      .optional()
      .meta({ description: 'Data sources to enable. Null or omitted: all active sources that are not premium.' }),
    name: trimmedText(1, 200).nullable().optional(),
    external_id: ExternalId.nullable().optional().meta({ description: EXTERNAL_ID }),
    metadata: GivenMetadata.nullable()
      .optional()
      .meta({
        documented: {
          ...metadataSchema(['string', 'null']),
          type: ['object', 'null'],
          description:
            'What you want to keep with the RFC: at most 50 keys with texts of at most 500 characters. A key with null is left out.',
          examples: [{ branch: 'Monterrey' }],
        },
      }),
    consent_reference: trimmedText(1, 200)
      .nullable()
      .optional()
      .meta({
        description:
          'Where you keep the consent of the taxpayer, which you declare by connecting: `GET /v1/consents` shows it. `POST /v1/connect-links` has the ' +
          'taxpayer give the login and the consent to the service instead.',
      }),
  })
  .meta({ id: 'FiscalEntityDraft' })
export type FiscalEntityDraft = z.infer<typeof FiscalEntityDraft>

const BATCH = 100

/** Each is read alone, so that a wrong one does not refuse the others. */
export const FiscalEntityBatch = z
  .strictObject({
    fiscal_entities: documented(z.array(z.unknown()).min(1).max(BATCH), {
      ...{ type: 'array', items: { $ref: '#/components/schemas/FiscalEntityDraft' }, minItems: 1, maxItems: BATCH },
      description: 'RFCs to connect, each as in `POST /v1/fiscal-entities`.',
    }),
  })
  .meta({ id: 'FiscalEntityBatch' })

const { request_id: _, ...refusalMembers } = Problem.shape

const BatchResult = z
  .strictObject({
    rfc: z.string().nullable().meta({ description: 'The RFC. Null when what was sent could not be read.' }),
    result: z.enum(['connected', 'already_connected', 'refused', 'not_attempted']).meta({
      description:
        '`connected`: the connection was made. `already_connected`: the organization had it before, and nothing was changed: ' +
        '`warnings` name what was sent and not applied. `refused`: ' +
        '`refusal` says why. `not_attempted`: the request ended first; send it again.',
    }),
    fiscal_entity: FiscalEntity.nullable().meta({ description: 'The connection; null when it was refused or not attempted.' }),
    refusal: z
      .strictObject({
        status: z.int().meta({ description: 'The status with which a request for this RFC alone would have been refused.' }),
        ...refusalMembers,
      })
      .nullable()
      .meta({ description: 'Why the RFC was refused, as the error of a request for it alone; null otherwise.' }),
    warnings: z.array(Warning).meta({
      description:
        'Of `already_connected`: with the code `fiscal_entity.not_applied`, the members that were sent and not applied, such as a CIEC or an ' +
        'external_id, which `PATCH /v1/fiscal-entities/{fiscal_entity_id}` applies. Labels that the connection has already are not named. ' +
        'Empty otherwise.',
    }),
  })
  .meta({ id: 'BatchResult' })
export type BatchResult = z.infer<typeof BatchResult>

export const FiscalEntityBatchAnswer = z
  .strictObject({
    data: z.array(BatchResult).meta({ description: 'A result for each RFC, in the order of the request.' }),
    counts: z
      .strictObject({
        connected: z.int().meta({ description: 'How many RFCs were connected.' }),
        already_connected: z.int().meta({ description: 'How many RFCs were connected before.' }),
        refused: z.int().meta({ description: 'How many RFCs were refused.' }),
        not_attempted: z.int().meta({ description: 'How many RFCs the request did not come to. Send them again.' }),
      })
      .meta({ description: 'How many RFCs have each result.' }),
  })
  .meta({ id: 'FiscalEntityBatchAnswer' })
export type FiscalEntityBatchAnswer = z.infer<typeof FiscalEntityBatchAnswer>

export const FiscalEntityChanges = z
  .strictObject({
    ciec: Ciec.nullable()
      .optional()
      .meta({
        description:
          'The password of the RFC at the tax authority. It is stored encrypted and never shown. Null erases the stored one: an active ' +
          'connection without an e.firma becomes invalid_ciec.',
        writeOnly: true,
      }),
    efirma: Efirma.nullable()
      .optional()
      .meta({
        description:
          'The e.firma of the RFC, instead of the CIEC or beside it. It is stored encrypted and never shown; the password is not stored. Null ' +
          'erases the stored one: an active connection without a CIEC becomes invalid_ciec.',
      }),
    data_source_keys: DataSourceKeys.nullable().optional(),
    name: trimmedText(1, 200).nullable().optional(),
    external_id: ExternalId.nullable().optional().meta({ description: 'What you call the RFC in your own system. Null erases it.' }),
    metadata: GivenMetadata.nullable()
      .optional()
      .meta({
        documented: {
          ...metadataSchema(['string', 'null']),
          type: ['object', 'null'],
          description:
            'The keys that you send are written, a key with null is erased, and the others stay. Null erases all of them. At most 50 keys may ' +
            'result, with texts of at most 500 characters.',
          examples: [{ branch: 'Monterrey', former_branch: null }],
        },
      }),
  })
  .meta({ id: 'FiscalEntityChanges' })
export type FiscalEntityChanges = z.infer<typeof FiscalEntityChanges>

/** Members that are looked for here, and where they are. */
export const ELSEWHERE: Record<string, string> = Object.fromEntries(
  ['status', 'active', 'paused'].map((name) => [
    name,
    ' PATCH /v1/billing/rfcs/{fiscal_entity_id} with {"active": false} pauses an RFC, and with {"active": true} resumes it.',
  ]),
)

export const FiscalEntityQuery = z.strictObject({
  ...Paging,
  status: ConnectionStatus.optional(),
  rfc: Rfc.optional().meta({
    documented: { type: 'string', description: 'Lists only the connection to this RFC.', examples: ['EKU9003173C9'] },
  }),
  external_id: ExternalId.optional().meta({
    documented: {
      ...{ type: 'string', minLength: 1, maxLength: 200 },
      description: 'Lists only the connection that you call so.',
      examples: ['cliente-0042'],
    },
  }),
})
export type FiscalEntityQuery = z.infer<typeof FiscalEntityQuery>
