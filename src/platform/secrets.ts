import { WorkerEntrypoint } from 'cloudflare:workers'
import { secretsOf } from './settings.ts'

/**
 * The target of the binding SECRETS, which the Worker of background work alone has; no request reaches it. So each secret is held, set and
 * rotated at one place, and neither Worker meets a key that it does not have yet.
 */
export class Secrets extends WorkerEntrypoint<Env> {
  all(): Record<string, string> {
    return secretsOf(this.env)
  }
}
