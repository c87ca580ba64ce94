import { WorkerEntrypoint } from 'cloudflare:workers'
import type { DestinationSpec } from '../src/storage/drivers/adapters.ts'
import { type CredentialsCallback, openSession, type Session } from '../src/storage/drivers/session.ts'

export { Egress as StorageEgress } from '../src/platform/egress.ts'

/** Opens customers' storage for the service. Nothing of a session is logged, and nothing of it is stored. */
export default class extends WorkerEntrypoint<{ STORAGE_EGRESS: Fetcher }> {
  open(spec: DestinationSpec, publicHosts: readonly string[], onNewCredentials: CredentialsCallback): Session {
    return openSession({ publicHosts, fetch: (url, init) => this.env.STORAGE_EGRESS.fetch(url, init) }, spec, onNewCredentials)
  }
}
