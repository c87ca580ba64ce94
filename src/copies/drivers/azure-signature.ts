import { DestinationError } from './port.ts'

interface ToSign {
  method: string
  url: string
  headers: Record<string, string>
  /** Of the body, in bytes. */
  length: number
}

/** Content-Encoding to Range, in the order of the string to sign; requests of this service carry only one of them beside the length. */
const stringToSign = ({ method, headers, length }: ToSign, resource: string): string =>
  [
    ...[method, '', '', length === 0 ? '' : length, headers['content-md5'] ?? '', headers['content-type'] ?? '', '', '', '', '', '', ''],
    ...Object.keys(headers)
      .filter((name) => name.startsWith('x-ms-'))
      .sort()
      .map((name) => `${name}:${headers[name]}`),
    resource,
  ].join('\n')

/**
 * The header Authorization of a request without a query to Azure Blob under an account key (Shared Key, version 2009-09-19 and later). Names of headers are
 * in lower case. Throws DestinationError access_denied when the key is not base64.
 */
export async function authorizationOf(request: ToSign, account: string, account_key: string): Promise<string> {
  const text = stringToSign(request, `/${account}${new URL(request.url).pathname}`)
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', await keyOf(account_key), new TextEncoder().encode(text)))
  return `SharedKey ${account}:${btoa(String.fromCharCode(...signature))}`
}

async function keyOf(account_key: string): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey('raw', Uint8Array.fromBase64(account_key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  } catch {
    throw new DestinationError('access_denied', 'The account key is not what Azure shows: it must be base64.')
  }
}
