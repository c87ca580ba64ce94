import { WorkerEntrypoint } from 'cloudflare:workers'

/**
 * What stands behind the binding EGRESS where the service is hosted: the public network, and only that (global_fetch_strictly_public).
 * A redirect is an answer like any other. Throws when nobody answers.
 */
export class Egress extends WorkerEntrypoint<Env> {
  override fetch(request: Request): Promise<Response> {
    return fetch(request, { redirect: 'manual' })
  }
}
