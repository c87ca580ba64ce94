import * as z from 'zod'
import { documentedAs, Id, Instant, Paging, trimmedText } from '../platform/http/shapes.ts'
import { InvalidInput } from '../platform/http/validation/faults.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'
import { MIRRORED_KINDS } from './kinds.ts'
import { AnyConfig, AnyConfigChanges, AnyCredentials, type ConnectorConfig, draftsOf, PROVIDERS, readMember } from './provider-contract.ts'

/** What can be mirrored. */

const NAME = 'A label of your choice.'
const FISCAL_ENTITIES = 'The fiscal entities whose documents are copied. Null: all of them, and those that you connect later.'
const KINDS =
  'The kinds of documents that are copied: `cfdi_xml` XML of CFDIs and retenciones, `csf` tax status certificates, `opinion_32d` compliance ' +
  'opinions, `declaracion` returns, `acuse` receipts for returns, `buzon` documents of the tax mailbox. No other document is copied: not the ' +
  'registered obligations, the registration data, the lists of certificates, nor the collateral registry.'

const Kind = z.enum(MIRRORED_KINDS, {
  error: ({ input }) => (input === 'cfdi_pdf' ? 'Must not be cfdi_pdf: the service holds no PDFs of CFDIs.' : undefined),
})
const scope = {
  fiscal_entity_ids: z
    .array(FiscalEntityId)
    .min(1)
    .max(1_000)
    .transform((ids) => [...new Set(ids)])
    .nullable()
    .meta({ description: FISCAL_ENTITIES }),
  kinds: z
    .array(Kind)
    .min(1)
    .max(20)
    .nullable()
    .transform((kinds) => [...new Set(kinds ?? MIRRORED_KINDS)])
    .meta({ description: `${KINDS} Null: all of them.` }),
}
const everything = { fiscal_entity_ids: null, kinds: [...MIRRORED_KINDS] }

const PLACE = 'Where the destination is. Its members depend on the provider.'
// Which of them is meant depends on another member.
const members = z.record(z.string(), z.unknown())
const config = documentedAs(members, AnyConfig).meta({ description: PLACE })
const credentials = documentedAs(members, AnyCredentials).meta({
  description: 'What admits the service to the destination. They are stored encrypted, and no response shows any part of them.',
})
const writable = { name: trimmedText(1, 120).meta({ description: NAME }) }

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

const draft = {
  ...writable,
  provider: z.enum(PROVIDERS),
  config,
  credentials,
  scope: z
    .strictObject({ fiscal_entity_ids: scope.fiscal_entity_ids.default(null), kinds: scope.kinds.default(everything.kinds) })
    .default(everything),
}

export const ConnectorDraft = documentedAs(z.strictObject(draft), draftsOf(draft))
  .superRefine(
    (draft, context) => {
      if (!PROVIDERS.includes(draft.provider)) return
      for (const member of ['config', 'credentials'] as const)
        try {
          if (isObject(draft[member])) readMember(member, draft.provider, draft[member])
        } catch (error) {
          if (!(error instanceof InvalidInput)) throw error
          for (const { path, message } of error.faults) context.addIssue({ code: 'custom', path: [path], message })
        }
    },
    // Together with the faults of other members.
    { when: ({ value }) => isObject(value) },
  )
  .meta({ id: 'StorageConnectorDraft' })
export type ConnectorDraft = z.infer<typeof ConnectorDraft>

export const ConnectorChanges = z
  .strictObject({
    name: writable.name.exactOptional(),
    config: documentedAs(members, AnyConfigChanges)
      .exactOptional()
      .meta({ description: 'The members of the place that change. The others stay as they are.' }),
    credentials: credentials.exactOptional().meta({ description: 'They replace the stored credentials as a whole.' }),
    scope: z
      .strictObject({ fiscal_entity_ids: scope.fiscal_entity_ids.exactOptional(), kinds: scope.kinds.exactOptional() })
      .exactOptional(),
    connector_status: z
      .enum(['active', 'paused'])
      .exactOptional()
      .meta({
        description:
          '`active` resumes copying where it stopped, also after an error. Of a connector that is active, it only ends the wait after a failure: ' +
          '`consecutive_failures` goes on. `error` cannot be set.',
      }),
  })
  .meta({ id: 'StorageConnectorChanges' })
export type ConnectorChanges = z.infer<typeof ConnectorChanges>

const Scope = z.strictObject({
  fiscal_entity_ids: z.array(Id('fe')).nullable().meta({ description: FISCAL_ENTITIES }),
  kinds: z.array(z.enum(MIRRORED_KINDS)).meta({ description: KINDS }),
})
export type ConnectorScope = z.infer<typeof Scope>

export const LastError = z
  .strictObject({
    code: z.string().meta({
      description:
        '`access_denied`, `not_found`, `storage_full`, `rate_limited`, `unavailable`, `timeout`, `connection_failed`, `address_refused` or `refused`.',
    }),
    message: z.string().meta({ description: 'What the provider did not do, in one sentence.' }),
    at: Instant,
  })
  .meta({ id: 'StorageError' })
export type LastError = z.infer<typeof LastError>

export const RefusedDocument = LastError.extend({
  fiscal_entity_id: Id('fe'),
  path: z.string().meta({ description: 'Its path below the prefix.' }),
}).meta({ id: 'StorageRefusedDocument', description: 'A document that the destination refused while it took others.' })
export type RefusedDocument = z.infer<typeof RefusedDocument>

export const Backfill = z
  .strictObject({
    status: z
      .enum(['queued', 'running', 'paused', 'completed'])
      .meta({ description: '`paused`: it goes on when the connector is active again.' }),
    total: z.int().nullable().meta({ description: 'How many documents of active connections it copies; null until they are counted.' }),
    copied: z.int().meta({ description: 'How many of them are copied.' }),
    failed: z.int().meta({ description: 'How many of them the destination refused while it took others. See `…/refused-documents`.' }),
    requested_at: Instant,
    completed_at: Instant.nullable(),
  })
  .meta({ id: 'StorageBackfill', description: 'The latest backfill.' })
export type Backfill = z.infer<typeof Backfill>

export const CONNECTOR_STATUSES = ['active', 'paused', 'error'] as const

export const StorageConnector = z
  .strictObject({
    connector_id: Id('stc'),
    name: z.string().meta({ description: NAME }),
    provider: z.enum(PROVIDERS),
    connector_status: z.enum(CONNECTOR_STATUSES).meta({
      description: '`error`: copying failed five times in a row, and nothing is sent until you set `active`. Downloads go on.',
    }),
    config: documentedAs(members as unknown as z.ZodType<ConnectorConfig>, AnyConfig).meta({ description: PLACE }),
    scope: Scope,
    credentials_set: z.literal(true).meta({ description: 'Credentials are stored. They are never shown.' }),
    last_copied_at: Instant.nullable().meta({ description: 'When a document was last copied.' }),
    last_error: LastError.nullable().meta({
      description:
        'The last failure, or one of the documents that the destination refuses; null once copying has succeeded again and none is refused.',
    }),
    copied_count: z.int().meta({ description: 'Number of documents that were copied, each time that they were.' }),
    pending_count: z.int().meta({
      description:
        'Number of fiscal entities, and not of documents, of which something waits to be copied, also while the connector is paused. ' +
        'Documents are counted when they are copied. 0: the copy is up to date but for the documents that the destination refuses.',
    }),
    failed_count: z.int().meta({
      description:
        'Number of times that a document could not be stored, since the connector was created. Each is tried again: see `…/refused-documents`.',
    }),
    consecutive_failures: z.int().meta({ description: 'Number of failures in a row. The fifth sets the status `error`.' }),
    next_attempt_at: Instant.nullable().meta({
      description: 'When copying is tried again after a failure; null when nothing waits for that.',
    }),
    backfill: Backfill.nullable(),
    last_manifest: z
      .strictObject({ path: z.string(), sha256: z.string() })
      .nullable()
      .meta({ description: 'The last manifest at the present place. Each names the one before it. Null before the first one.' }),
    preview: z
      .array(z.string())
      .meta({ description: 'Examples of paths at the destination: of two CFDIs and of a tax status certificate.' }),
    created_at: Instant,
    updated_at: Instant,
  })
  .meta({ id: 'StorageConnector' })
export type StorageConnector = z.infer<typeof StorageConnector>

const Step = z.strictObject({
  step: z.enum(['write', 'read', 'delete']),
  ok: z.boolean(),
  ms: z.int().meta({ description: 'How long it took, in milliseconds.' }),
})

export const ConnectorTest = z
  .strictObject({
    ok: z.boolean(),
    steps: z.array(Step).meta({ description: 'The steps up to the first that failed.' }),
    error: LastError.omit({ at: true }).nullable().meta({ description: 'Why the last step failed; null when all succeeded.' }),
  })
  .meta({ id: 'StorageConnectorTest' })
export type ConnectorTest = z.infer<typeof ConnectorTest>

export const ConnectorPath = z.strictObject({ connector_id: Id('stc') })
export const ConnectorQuery = z.strictObject(Paging)
export type ConnectorQuery = z.infer<typeof ConnectorQuery>
