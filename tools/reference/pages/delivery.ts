import '../../../scripts/mirror/bytes.ts'
import { SAMPLES } from '../../../src/delivery/catalog/catalog.ts'
import { deliveryHeaders } from '../../../src/delivery/deliveries/post.ts'

const KEY = 'extraction.completed'
/** Of nobody: a secret as long as those of webhooks. */
const SECRET_BYTES = new Uint8Array(66).fill(0xa5)

const utf8 = new TextEncoder()
const sha256 = async (bytes: BufferSource) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

/** A delivery with its headers, its body and its secret, as Markdown. The code that signs real ones signs it. */
export async function deliveryExample(): Promise<string> {
  const { event_id, ordering, occurred_at } = SAMPLES[KEY]
  const text = JSON.stringify(SAMPLES[KEY])
  const secret = `whsec_${SECRET_BYTES.toBase64()}`
  const digests = { a: await sha256(utf8.encode(secret)), b: await sha256(SECRET_BYTES) }
  const attempt = { event_id, ordering, key: KEY, attempt: 1, body: utf8.encode(text), at: new Date(Date.parse(occurred_at) + 2_000) }
  const headers = Object.entries(await deliveryHeaders(digests, attempt)).map(([name, value]) => `${name}: ${value}`)
  const request = ['POST /fiscal HTTP/1.1', 'Host: hooks.example.com', ...headers, '', text].join('\n')
  return `\`\`\`http\n${request}\n\`\`\`\n\nIt is signed with \`${secret}\`, which is the secret of nobody: try your verification with it. The body is one line.`
}
