import * as z from 'zod'
import { DOCUMENT_KINDS } from '../authority/port/authority.ts'
import { documentedAs, Id, Instant, Paging, trimmedText } from '../platform/http/shapes.ts'
import { InvalidInput, parse } from '../platform/http/validation/faults.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'
import { DEFAULT_TEMPLATE, prefixFault, templateFault } from './template.ts'

/** The kinds that the service holds. */
export const STORED_KINDS = ['cfdi_xml', ...DOCUMENT_KINDS, 'buzon'] as const
/** The kinds that a storage connector mirrors: those, and what is made of them. */
export const MIRRORED_KINDS = [...STORED_KINDS, 'cfdi_pdf'] as const
export type MirroredKind = (typeof MIRRORED_KINDS)[number]

/** The settings of a destination that each provider needs (config). */

export const PROVIDERS = ['s3', 'azure_blob', 'google_drive', 'onedrive'] as const
export type Provider = (typeof PROVIDERS)[number]

/** Paths are compared in composed form. */
const composed = (text: string): string => text.normalize('NFC')

const text = (pattern: RegExp, message: string, description: string) => z.string().trim().regex(pattern, message).meta({ description })

/** A part that the URL parser would take for a step to another folder. */
const STEP = /[/\\](?:\.|%2e){1,2}(?=[/\\]|$)/i

const endpoint = (description: string) =>
  z
    .string()
    .max(500)
    .regex(/^https:\/\/[^?#]+$/i, 'Must be an https URL without query and fragment.')
    .refine((url) => !STEP.test(url), 'Must have no . or .. as a part of its path.')
    .transform((url) => url.replace(/\/+$/, ''))
    .nullable()
    .default(null)
    .meta({ description })

const location = {
  prefix: z
    .string()
    .max(300)
    .transform((prefix) => composed(prefix).replace(/\/$/, ''))
    .default('')
    .meta({
      description:
        'The folder in which everything is stored, such as `fiscal/cfdi`. By default it is empty, and nothing stands before the paths.',
    }),
  path_template: z
    .string()
    .max(300)
    .transform(composed)
    .default(DEFAULT_TEMPLATE)
    .meta({
      description:
        'The path of each CFDI below the prefix, `{rfc}/{yyyy}/{mm}/{direction}/{uuid}.xml` by default. It contains `{uuid}`; it contains `{rfc}`, because two of your RFCs may have ' +
        'a CFDI of the same UUID; it ends in `.xml`. Variables: `{rfc}` (your own), `{yyyy}`, `{mm}`, `{dd}` (of `Fecha`), `{direction}` (`issued` or ' +
        '`received`), `{uuid}`, `{kind}` (`cfdi` or `retenciones`), `{tipo}` (`I`, `E`, `P`, `N`, `T`; `R` for retenciones, `X` for another ' +
        'type), `{emisor_rfc}`, `{receptor_rfc}`. In an RFC, `Ñ` is written `_N` and `&` is written `_Y`. Outside variables, letters, digits, ' +
        'spaces and `- _ . , ( ) + = @ /` are allowed, but no name that a provider reserves. A change does not move what is copied.',
    }),
}

/** Faults of the prefix and of the template with it. */
const judgeLocation = ({ prefix, path_template }: { prefix: string; path_template: string }, context: z.RefinementCtx): void => {
  const fault = prefixFault(prefix)
  const message = fault ?? templateFault(path_template, prefix)
  if (message !== null) context.addIssue({ code: 'custom', path: [fault === null ? 'path_template' : 'prefix'], message })
}

/** Buckets that Amazon takes: other services take more. */
const AMAZON_BUCKET = /^(?!(?:\d+\.){3}\d+$)[a-z\d.-]+$/

const S3Config = z
  .strictObject({
    ...location,
    bucket: text(
      /^(?!.*\.\.)[A-Za-z\d][A-Za-z\d._-]{1,61}[A-Za-z\d]$/,
      'Must be the name of a bucket: 3 to 63 letters, digits, single dots, hyphens and underscores.',
      'The name of the bucket, which exists.',
    ),
    region: z
      .string()
      .trim()
      .regex(/^[A-Za-z\d-]{1,40}$/, 'Must be the name of a region, such as us-east-1.')
      .default('us-east-1')
      .meta({ description: 'The region for which requests are signed.' }),
    endpoint: endpoint('The URL of an S3-compatible service. Null for Amazon S3.'),
    path_style: z.boolean().nullable().default(null).meta({
      description:
        'Whether the bucket stands in the path of the URL (true) or in its host (false). Null: in the path with an `endpoint`, otherwise in the host.',
    }),
  })
  .superRefine(judgeLocation)
  .superRefine(({ bucket, endpoint }, context) => {
    if (endpoint !== null || AMAZON_BUCKET.test(bucket)) return
    const message =
      'Must be the name of a bucket of Amazon S3, without an endpoint: lower-case letters, digits, dots and hyphens, and no IP address.'
    context.addIssue({ code: 'custom', path: ['bucket'], message })
  })
  .meta({ id: 'S3Config' })

const AzureBlobConfig = z
  .strictObject({
    ...location,
    account: text(
      /^[a-z\d]{3,24}$/,
      'Must be the name of a storage account: 3 to 24 lower-case letters and digits.',
      'The storage account.',
    ),
    container: text(
      /^(?!.*--)[a-z\d][a-z\d-]{1,61}[a-z\d]$/,
      'Must be the name of a container: 3 to 63 lower-case letters, digits and single hyphens.',
      'The container, which exists.',
    ),
    endpoint: endpoint('The URL of the blob service, if it is not `https://{account}.blob.core.windows.net`.'),
  })
  .superRefine(judgeLocation)
  .meta({ id: 'AzureBlobConfig' })

const folder = /^(?!\.+$)[A-Za-z\d!_.-]{1,200}$/

const GoogleDriveConfig = z
  .strictObject({
    ...location,
    folder_id: text(
      folder,
      'Must be the identifier of a folder, as its URL has it.',
      'The folder, on a shared drive or shared with the account.',
    ),
  })
  .superRefine(judgeLocation)
  .meta({ id: 'GoogleDriveConfig' })

const optionalId = (what: string, description: string) =>
  z.string().trim().regex(folder, `Must be the identifier of ${what}.`).nullable().default(null).meta({ description })

const OneDriveConfig = z
  .strictObject({
    ...location,
    tenant: z
      .string()
      .trim()
      .regex(/^(?!\.+$)[A-Za-z\d.-]{1,100}$/, 'Must be a tenant: its identifier, its domain, common, organizations or consumers.')
      .default('common')
      .meta({
        description: 'The Microsoft Entra tenant that issues tokens: its identifier or domain, or `common`, `organizations`, `consumers`.',
      }),
    drive_id: optionalId(
      'a drive',
      'The drive, also that of a SharePoint library. Null: the drive of the account, which the connector keeps here from its first test or use on, ' +
        'also when the credentials change. Null with new credentials: the drive of their account.',
    ),
    folder_id: optionalId('a folder', 'The folder (item) in the drive. Null: the root.'),
  })
  .superRefine(judgeLocation)
  .meta({ id: 'OneDriveConfig' })

/** The credentials for a destination of each provider. */

/** A key, token or secret. White space around it comes from pasting. No message repeats it. */
const secret = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .regex(/^[\x21-\x7e]+$/, 'Must contain only printable ASCII characters, and no white space.')

/** Exactly one of these groups of members must be there, and whole. Members of another one are too many. */
const oneOf =
  (...groups: readonly (readonly string[])[]) =>
  (sent: object, context: z.RefinementCtx) => {
    const names = Object.keys(sent)
    const isWhole = groups.some((group) => group.every((name) => names.includes(name)) && names.every((name) => group.includes(name)))
    const listed = groups.map((group) => group.join(', ')).join('; or else ')
    const isMixed = groups.filter((group) => group.some((name) => names.includes(name))).length > 1
    if (!isWhole)
      context.addIssue({ code: 'custom', message: isMixed ? `Must have only one of these: ${listed}.` : `Must have ${listed}.` })
  }

const S3Credentials = z
  .strictObject({
    access_key_id: secret(128),
    secret_access_key: secret(200),
    session_token: secret(4_096).exactOptional(),
  })
  .meta({ id: 'S3Credentials' })

const AzureBlobCredentials = z
  .strictObject({
    account_key: secret(200)
      .regex(/^[A-Za-z\d+/]+={0,2}$/, 'Must be base64.')
      .exactOptional()
      .meta({ description: 'A key of the storage account.' }),
    sas_token: secret(2_000)
      .transform((token) => token.replace(/^\?/, ''))
      .refine((token) => /(?:^|&)sig=/.test(token) && !token.includes('#'), 'Must be a shared access signature, with sig=.')
      .exactOptional()
      .meta({ description: 'A shared access signature of the container, with the permissions to read, create, write and delete.' }),
  })
  .superRefine(oneOf(['account_key'], ['sas_token']))
  .meta({ id: 'AzureBlobCredentials', description: 'Either of the two.' })

const GoogleDriveCredentials = z
  .strictObject({
    service_account: z
      .object({
        client_email: secret(320),
        private_key: z
          .string()
          // A key of 4,096 bits has 3,300 characters. Signing with a much longer one takes seconds of the processor.
          .max(4_000)
          .regex(/^\s*-----BEGIN PRIVATE KEY-----[\sA-Za-z\d+/=]+-----END PRIVATE KEY-----\s*$/, 'Must be a private key in PEM (PKCS #8).'),
      })
      .exactOptional()
      .meta({ description: 'The key file of a service account. Its other members are accepted and not stored.' }),
    client_id: secret(300).exactOptional(),
    client_secret: secret(300).exactOptional(),
    refresh_token: secret(4_096).exactOptional(),
  })
  .superRefine(oneOf(['service_account'], ['client_id', 'client_secret', 'refresh_token']))
  .meta({ id: 'GoogleDriveCredentials', description: 'A service account, or the other three.' })
export type GoogleDriveCredentials = z.infer<typeof GoogleDriveCredentials>

const OneDriveCredentials = z
  .strictObject({
    client_id: secret(300),
    client_secret: secret(300).exactOptional().meta({ description: 'Absent for a public client.' }),
    refresh_token: secret(8_192),
  })
  .meta({ id: 'OneDriveCredentials' })
export type OneDriveCredentials = z.infer<typeof OneDriveCredentials>

const SCHEMAS = {
  config: { s3: S3Config, azure_blob: AzureBlobConfig, google_drive: GoogleDriveConfig, onedrive: OneDriveConfig },
  credentials: {
    s3: S3Credentials,
    azure_blob: AzureBlobCredentials,
    google_drive: GoogleDriveCredentials,
    onedrive: OneDriveCredentials,
  },
} as const

/** The config and the credentials of a destination, by its provider. */
export type DestinationSettings = {
  [P in Provider]: { provider: P } & { [Member in keyof typeof SCHEMAS]: z.infer<(typeof SCHEMAS)[Member][P]> }
}[Provider]

/** A destination as the driver of its provider needs it: the paths that a driver gets contain the prefix. */
export type SpecOf<P extends Provider, Settings extends DestinationSettings = Extract<DestinationSettings, { provider: P }>> = {
  config: Omit<Settings['config'], keyof typeof location>
  credentials: Settings['credentials']
}
export type DestinationSpec = { [P in Provider]: { provider: P } & SpecOf<P> }[Provider]
export type ConnectorConfig = DestinationSettings['config']
export type ConnectorCredentials = DestinationSettings['credentials']

/** Reads a config or credentials as its provider has them. Throws InvalidInput, which names each fault by its path in the body. */
export function readMember<M extends keyof typeof SCHEMAS>(member: M, provider: Provider, value: unknown): DestinationSettings[M] {
  try {
    return parse('json', SCHEMAS[member][provider] as z.ZodType, value) as DestinationSettings[M]
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidInput(
      'json',
      error.faults.map(({ path, message }) => ({ path: path === '' ? member : `${member}.${path}`, message })),
      error.unlisted,
    )
  }
}

/** Either of these, as the OpenAPI document shows them. */
const AnyConfig = z.union(PROVIDERS.map((provider) => SCHEMAS.config[provider]))
const AnyCredentials = z.union(PROVIDERS.map((provider) => SCHEMAS.credentials[provider]))

/** Some members of one of them. Absent members have no default, because they stay as they are. */
const AnyConfigChanges = z.union(
  PROVIDERS.map((provider) => {
    const { shape } = SCHEMAS.config[provider]
    const changed = Object.entries(shape).map(([name, field]) => {
      const inner = (field instanceof z.ZodDefault ? field.unwrap() : field) as z.ZodType
      return [name, inner.optional().meta({ description: field.description as string })]
    })
    return z.strictObject(Object.fromEntries(changed))
  }),
)

/** The members of a draft for each provider, with its own config and credentials, as the OpenAPI document shows them. */
const draftsOf = (members: z.ZodRawShape) => {
  const [first, ...others] = PROVIDERS.map((provider) =>
    z.strictObject({
      ...members,
      provider: z.literal(provider),
      config: SCHEMAS.config[provider],
      credentials: SCHEMAS.credentials[provider],
    }),
  )
  return z.discriminatedUnion('provider', [first!, ...others])
}

/** The kinds to mirror. */

const NAME = 'A label of your choice.'
const FISCAL_ENTITIES = 'The fiscal entities whose documents are copied. Null: all of them, and those that you connect later.'
const KINDS =
  'The kinds of documents that are copied: `cfdi_xml` XML of CFDIs and retenciones, `csf` tax status certificates, `opinion_32d` compliance ' +
  'opinions, `obligations` registered obligations, `declaracion` returns, `acuse` receipts for returns, `registration` the registration data, ' +
  '`certificates` lists of certificates, `rug` the collateral registry, `buzon` documents of the tax mailbox. That is every kind that the service holds. `cfdi_pdf` is the PDF of each XML, in Spanish, in its state when it is copied.'

const Kind = z.enum(MIRRORED_KINDS)
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
    .transform((kinds) => [...new Set(kinds ?? STORED_KINDS)])
    .meta({ description: `${KINDS} Null: all that it holds.` }),
}
const everything = { fiscal_entity_ids: null, kinds: [...STORED_KINDS] }

const LOCATION = 'Where the destination is. Its members depend on the provider.'
// Which of them is meant depends on another member.
const members = z.record(z.string(), z.unknown())
const config = documentedAs(members, AnyConfig).meta({ description: LOCATION })
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
          if (error.unlisted > 0) context.addIssue({ code: 'custom', path: [member], message: `Has ${error.unlisted} further faults.` })
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
    config: documentedAs(members as unknown as z.ZodType<ConnectorConfig>, AnyConfig).meta({ description: LOCATION }),
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
        'Number of fiscal entities (not documents) that have documents waiting to be copied. It also counts while the connector is paused. ' +
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
