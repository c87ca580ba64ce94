import { type DestinationSpec, destinationOf } from '../../../src/storage/drivers/adapters.ts'
import type { Network } from '../../../src/storage/drivers/call.ts'
import { DestinationError } from '../../../src/storage/drivers/port.ts'

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
    const { spec, operation, path, content_type, sha256 } = JSON.parse(decodeURIComponent(request.headers.get('x-call')!)) as StorageCall
    const network: Network = { publicHosts: [], fetch: (url, init) => env.STORAGE_EGRESS.fetch(url, init) }
    const destination = destinationOf(network, spec, async () => {})
    try {
      if (operation === 'read') {
        const bytes = await destination.read(path)
        return new Response(bytes, { headers: bytes === null ? { 'x-absent': '1' } : {} })
      }
      if (operation === 'remove') await destination.remove(path)
      else await destination.put(path, { bytes: new Uint8Array(await request.arrayBuffer()), content_type: content_type!, sha256: sha256! })
      return new Response(null)
    } catch (error) {
      if (!(error instanceof DestinationError)) throw error
      const { code, message, retry_after_seconds } = error
      return Response.json({ code, message, retry_after_seconds }, { status: 400 })
    }
  },
}
