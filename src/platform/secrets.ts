import { WorkerEntrypoint } from 'cloudflare:workers'
import { secretsOf } from './settings.ts'

/**
 * The target of the binding SECRETS, which only the other Workers of the service have; no request reaches it. So each secret is held, set and
 * rotated at one place, and no Worker meets a key that it does not have yet.
 */
export class Secrets extends WorkerEntrypoint<Env> {
  all(): Record<string, string> {
    return secretsOf(this.env)
  }
}

export interface WithSecrets extends Env {
  SECRETS: Service<Secrets>
}

/** The bindings with the secrets, as the last invocation had them: what is derived from them is kept as long as they are the same. */
let known: { secrets: string; env: Env } | null = null

/** The bindings of a Worker that holds no secret itself, with those of the Worker that answers requests. */
export async function withSecrets(env: WithSecrets): Promise<Env> {
  const given = await env.SECRETS.all()
  const secrets = JSON.stringify(given)
  known = known?.secrets === secrets ? known : { secrets, env: { ...env, ...given } }
  return known.env
}
