import * as z from 'zod'

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

export const S3Credentials = z
  .strictObject({
    access_key_id: secret(128),
    secret_access_key: secret(200),
    session_token: secret(4_096).exactOptional(),
  })
  .meta({ id: 'S3Credentials' })
export type S3Credentials = z.infer<typeof S3Credentials>

export const AzureBlobCredentials = z
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
export type AzureBlobCredentials = z.infer<typeof AzureBlobCredentials>

export const GoogleDriveCredentials = z
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

export const OneDriveCredentials = z
  .strictObject({
    client_id: secret(300),
    client_secret: secret(300).exactOptional().meta({ description: 'Absent for a public client.' }),
    refresh_token: secret(8_192),
  })
  .meta({ id: 'OneDriveCredentials' })
export type OneDriveCredentials = z.infer<typeof OneDriveCredentials>
