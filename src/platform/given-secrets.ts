import type { Secrets } from './secrets.ts'

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
