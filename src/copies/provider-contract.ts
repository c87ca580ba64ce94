import * as z from 'zod'
import { InvalidInput, parse } from '../platform/http/validation/faults.ts'
import { AzureBlobCredentials, GoogleDriveCredentials, OneDriveCredentials, S3Credentials } from './provider-credentials.ts'
import { DEFAULT_TEMPLATE, prefixFault, templateFault } from './template.ts'

/** What each provider needs to know of a destination (config). */

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

const place = {
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
const judgePlace = ({ prefix, path_template }: { prefix: string; path_template: string }, context: z.RefinementCtx): void => {
  const fault = prefixFault(prefix)
  const message = fault ?? templateFault(path_template, prefix)
  if (message !== null) context.addIssue({ code: 'custom', path: [fault === null ? 'path_template' : 'prefix'], message })
}

/** What Amazon takes: other services take more. */
const AMAZON_BUCKET = /^(?!(?:\d+\.){3}\d+$)[a-z\d.-]+$/

export const S3Config = z
  .strictObject({
    ...place,
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
  .superRefine(judgePlace)
  .superRefine(({ bucket, endpoint }, context) => {
    if (endpoint !== null || AMAZON_BUCKET.test(bucket)) return
    const message =
      'Must be the name of a bucket of Amazon S3, without an endpoint: lower-case letters, digits, dots and hyphens, and no IP address.'
    context.addIssue({ code: 'custom', path: ['bucket'], message })
  })
  .meta({ id: 'S3Config' })
export type S3Config = z.infer<typeof S3Config>

export const AzureBlobConfig = z
  .strictObject({
    ...place,
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
  .superRefine(judgePlace)
  .meta({ id: 'AzureBlobConfig' })
export type AzureBlobConfig = z.infer<typeof AzureBlobConfig>

const folder = /^(?!\.+$)[A-Za-z\d!_.-]{1,200}$/

export const GoogleDriveConfig = z
  .strictObject({
    ...place,
    folder_id: text(
      folder,
      'Must be the identifier of a folder, as its URL has it.',
      'The folder, on a shared drive or shared with the account.',
    ),
  })
  .superRefine(judgePlace)
  .meta({ id: 'GoogleDriveConfig' })
export type GoogleDriveConfig = z.infer<typeof GoogleDriveConfig>

const optionalId = (what: string, description: string) =>
  z.string().trim().regex(folder, `Must be the identifier of ${what}.`).nullable().default(null).meta({ description })

export const OneDriveConfig = z
  .strictObject({
    ...place,
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
  .superRefine(judgePlace)
  .meta({ id: 'OneDriveConfig' })
export type OneDriveConfig = z.infer<typeof OneDriveConfig>

/** A destination as a driver needs it. */
export type DestinationSettings =
  | { provider: 's3'; config: S3Config; credentials: S3Credentials }
  | { provider: 'azure_blob'; config: AzureBlobConfig; credentials: AzureBlobCredentials }
  | { provider: 'google_drive'; config: GoogleDriveConfig; credentials: GoogleDriveCredentials }
  | { provider: 'onedrive'; config: OneDriveConfig; credentials: OneDriveCredentials }
export type ConnectorConfig = DestinationSettings['config']
export type ConnectorCredentials = DestinationSettings['credentials']

const SCHEMAS = {
  config: { s3: S3Config, azure_blob: AzureBlobConfig, google_drive: GoogleDriveConfig, onedrive: OneDriveConfig },
  credentials: {
    s3: S3Credentials,
    azure_blob: AzureBlobCredentials,
    google_drive: GoogleDriveCredentials,
    onedrive: OneDriveCredentials,
  },
} as const

/** Reads a config or credentials as its provider has them. Throws InvalidInput, which names each fault by its path in the body. */
export function readMember<M extends keyof typeof SCHEMAS>(member: M, provider: Provider, value: unknown): DestinationSettings[M] {
  try {
    return parse('json', SCHEMAS[member][provider] as z.ZodType, value) as DestinationSettings[M]
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidInput(
      'json',
      error.faults.map(({ path, message }) => ({ path: path === '' ? member : `${member}.${path}`, message })),
    )
  }
}

/** Either of these, as the OpenAPI document shows them. */
export const AnyConfig = z.union(PROVIDERS.map((provider) => SCHEMAS.config[provider]))
export const AnyCredentials = z.union(PROVIDERS.map((provider) => SCHEMAS.credentials[provider]))

/** Some members of one of them. What is absent has no default, because it stays as it is. */
export const AnyConfigChanges = z.union(
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
export const draftsOf = (members: z.ZodRawShape) => {
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
