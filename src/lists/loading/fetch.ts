const TIMEOUT_MS = 120_000

/** Reads the body. Throws as soon as it exceeds the limit. */
async function bytesOf(response: Response, limit: number, name: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > limit) throw new Error(`The response of ${name} exceeds ${limit} bytes.`)
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
 * Stores the file at a URL as an object of the bucket. Does nothing when the file has not changed since it was last fetched from that URL,
 * or when the object has been replaced since `before` was read. Returns whether it stored the file. Throws when the response is neither 200
 * nor 304; the error has the `name` of the URL, and not its path and query, which may be secret.
 */
export async function fetchInto(
  files: R2Bucket,
  key: string,
  { url, name }: { url: string; name: string },
  before: R2Object | null,
  limit: number,
): Promise<boolean> {
  const known = before?.customMetadata?.['address'] === url ? before.customMetadata : {}
  const headers = {
    ...(known['etag'] !== undefined && { 'If-None-Match': known['etag'] }),
    ...(known['last_modified'] !== undefined && { 'If-Modified-Since': known['last_modified'] }),
  }
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => {
    throw new Error(`${name} could not be fetched (${error.name}).`)
  })
  if (response.status !== 200) await response.body?.cancel()
  if (response.status === 304) return false
  if (response.status !== 200) throw new Error(`${name}, at ${new URL(url).host}, answered ${response.status}.`)
  const [etag, last_modified] = [response.headers.get('etag'), response.headers.get('last-modified')]
  const customMetadata = { address: url, ...(etag !== null && { etag }), ...(last_modified !== null && { last_modified }) }
  const onlyIf = before === null ? { etagDoesNotMatch: '*' } : { etagMatches: before.etag }
  return (await files.put(key, await bytesOf(response, limit, name), { customMetadata, onlyIf })) !== null
}
