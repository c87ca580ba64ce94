import { Sha256 } from '@aws-crypto/sha256-js'
import { SignatureV4 } from '@smithy/signature-v4'

/** A request as it lies on the wire: the path still encoded, names of headers in lower case. */
export interface SignedRequest {
  method: string
  /** With the query. */
  path: string
  headers: Record<string, string>
  body: Uint8Array
}

export interface S3Refusal {
  status: number
  code: string
}

const SKEW_MS = 15 * 60_000

const hexOf = async (data: Uint8Array): Promise<string> => {
  const hash = new Sha256()
  hash.update(data)
  return Buffer.from(await hash.digest()).toString('hex')
}

/**
 * Why S3 refuses a request, or null: the signature is verified by making it once more with AWS's own library, and the body is compared with
 * the hash and the MD5 that are sent with it. `secretOf` knows the secret of an access key.
 */
export async function s3Refusal(
  { method, path, headers, body }: SignedRequest,
  secretOf: (accessKeyId: string) => string | undefined,
  region: string,
): Promise<S3Refusal | null> {
  const [, accessKeyId, day, scope, signed, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers['authorization'] ?? '',
    ) ?? []
  if (!accessKeyId) return { status: 403, code: 'AccessDenied' }
  const secretAccessKey = secretOf(accessKeyId)
  if (secretAccessKey === undefined) return { status: 403, code: 'InvalidAccessKeyId' }
  if (scope !== `${region}/s3/aws4_request`) return { status: 400, code: 'AuthorizationHeaderMalformed' }
  const at = dateOf(headers['x-amz-date'] ?? '')
  if (!at || !headers['x-amz-date']!.startsWith(day!)) return { status: 403, code: 'AccessDenied' }
  if (Math.abs(Date.now() - at.getTime()) > SKEW_MS) return { status: 403, code: 'RequestTimeTooSkewed' }
  const names = signed!.split(';')
  // S3 wants the host and every header of its own under the signature.
  const needed = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-') || name === 'content-md5')]
  if (needed.some((name) => !names.includes(name))) return { status: 403, code: 'AccessDenied' }

  const [pathname, query = ''] = path.split('?')
  const signer = new SignatureV4({
    credentials: { accessKeyId, secretAccessKey },
    ...{ region, service: 's3', sha256: Sha256, uriEscapePath: false, applyChecksum: false },
  })
  const request = {
    ...{ method, path: pathname!, protocol: 'https:', hostname: headers['host']!, body },
    query: Object.fromEntries(new URLSearchParams(query)),
    headers: Object.fromEntries(names.map((name) => [name, headers[name]!])),
  }
  const again = await signer.sign(request, { signingDate: at, signableHeaders: new Set(names) })
  if (!again.headers['authorization']!.endsWith(`Signature=${signature}`)) return { status: 403, code: 'SignatureDoesNotMatch' }
  if (headers['x-amz-content-sha256'] !== (await hexOf(body))) return { status: 400, code: 'XAmzContentSHA256Mismatch' }
  return null
}

function dateOf(text: string): Date | null {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? []
  return second === undefined ? null : new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}
