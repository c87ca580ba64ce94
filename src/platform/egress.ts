import { WorkerEntrypoint } from 'cloudflare:workers'

/**
 * The target of the binding EGRESS in a hosted deployment: the public network and nothing else (global_fetch_strictly_public). It returns redirects instead of following them, and throws when there is no answer.
 */
export class Egress extends WorkerEntrypoint {
  override fetch(request: Request): Promise<Response> {
    return fetch(request, { redirect: 'manual' })
  }
}
