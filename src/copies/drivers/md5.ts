/** The value of the header Content-MD5, with which providers refuse what did not arrive as it was sent. */
export async function contentMd5(bytes: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest('MD5', bytes)).toBase64()
}
