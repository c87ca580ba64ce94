import type { DestinationSpec } from '../../../src/storage/drivers/adapters.ts'
import type { Destinations, Session } from '../../../src/storage/drivers/session.ts'

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
  async fetch(request: Request, env: { DESTINATIONS: Destinations }): Promise<Response> {
    const call = JSON.parse(decodeURIComponent(request.headers.get('x-call')!)) as StorageCall
    using session = await env.DESTINATIONS.open(call.spec, [], async () => {})
    const answer = await answerOf(session, call, new Uint8Array(await request.arrayBuffer()))
    if ('fault' in answer) return Response.json(answer.fault, { status: 400 })
    return new Response(answer.ok ?? null, { headers: answer.ok === null ? { 'x-absent': '1' } : {} })
  },
}

function answerOf(
  session: Session,
  { operation, path, content_type, sha256 }: StorageCall,
  bytes: Uint8Array,
): ReturnType<Session['read']> {
  if (operation === 'read') return session.read(path)
  const done = operation === 'remove' ? session.remove(path) : session.put(path, { bytes, content_type: content_type!, sha256: sha256! })
  return done as ReturnType<Session['read']>
}
