import { destinationOf } from '../../../src/copies/drivers/adapters.ts'
import { type Destination, DestinationError } from '../../../src/copies/drivers/port.ts'
import type { DestinationSpec } from '../../../src/copies/provider-contract.ts'

export { StorageEgress } from '../../../src/platform/egress/egress.ts'

/** What a caller asks of a destination; the bytes of a put are the request's body. */
export interface StorageCall {
  spec: DestinationSpec
  operation: 'put' | 'read' | 'remove'
  path: string
  content_type?: string
  sha256?: string
}

/** A Worker that uses destinations as the service does, and says what it got. */
export default {
  async fetch(request: Request, env: { STORAGE_EGRESS: Fetcher }): Promise<Response> {
    const call = JSON.parse(decodeURIComponent(request.headers.get('x-call')!)) as StorageCall
    const network = { publicHosts: [], fetch: (url: string, init: RequestInit) => env.STORAGE_EGRESS.fetch(url, init) }
    const destination = destinationOf(network, call.spec, async () => {})
    try {
      const answer = await answerOf(destination, call, new Uint8Array(await request.arrayBuffer()))
      return new Response(answer ?? null, { headers: answer === null ? { 'x-absent': '1' } : {} })
    } catch (error) {
      if (!(error instanceof DestinationError)) throw error
      const { code, message, retry_after_seconds } = error
      return Response.json({ code, message, retry_after_seconds }, { status: 400 })
    }
  },
}

function answerOf(destination: Destination, { operation, path, content_type, sha256 }: StorageCall, bytes: Uint8Array) {
  if (operation === 'read') return destination.read(path)
  if (operation === 'remove') return destination.remove(path)
  return destination.put(path, { bytes, content_type: content_type!, sha256: sha256! })
}
