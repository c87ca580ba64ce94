const PATIENCE_MS = 120_000

/** The body, counted as it arrives. */
async function bytesOf(response: Response, limit: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > limit) throw new Error(`The address of the list answered more than ${limit} bytes.`)
    parts.push(part)
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/**
 * Brings what an address has now into an object of the bucket, unless it has not changed since the object was brought from there, or
 * somebody has put another file in its place since `before` was looked at. Whether it did. Throws when the address does not answer 200
 * or 304; its path and query, which may be secret, are not said.
 */
export async function fetchInto(files: R2Bucket, key: string, address: string, before: R2Object | null, limit: number): Promise<boolean> {
  const known = before?.customMetadata?.['address'] === address ? before.customMetadata : {}
  const headers = {
    ...(known['etag'] !== undefined && { 'If-None-Match': known['etag'] }),
    ...(known['last_modified'] !== undefined && { 'If-Modified-Since': known['last_modified'] }),
  }
  const response = await fetch(address, { headers, signal: AbortSignal.timeout(PATIENCE_MS) }).catch((error: Error) => {
    throw new Error(`The address of the list could not be asked (${error.name}).`)
  })
  if (response.status !== 200) await response.body?.cancel()
  if (response.status === 304) return false
  if (response.status !== 200) throw new Error(`The address of the list, at ${new URL(address).host}, answered ${response.status}.`)
  const [etag, last_modified] = [response.headers.get('etag'), response.headers.get('last-modified')]
  const customMetadata = { address, ...(etag !== null && { etag }), ...(last_modified !== null && { last_modified }) }
  const onlyIf = before === null ? { etagDoesNotMatch: '*' } : { etagMatches: before.etag }
  return (await files.put(key, await bytesOf(response, limit), { customMetadata, onlyIf })) !== null
}
