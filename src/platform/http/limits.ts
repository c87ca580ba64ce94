import type { Context } from 'hono'
import type { App, Ctx } from '../context.ts'
import { Failure } from '../failures.ts'
import type { Settings } from '../settings.ts'
import type { PresentedCredential } from '../tenant/tenant.ts'

/** As many keys as one set holds in memory. When there are more, all are forgotten. */
const MAX = 10_000

/** Keys that are remembered for a while, in the memory of this isolate. */
class ExpiringSet {
  readonly #forMs: number
  readonly #until = new Map<string, number>()

  constructor(forMs: number) {
    this.#forMs = forMs
  }

  has(key: string): boolean {
    return (this.#until.get(key) ?? 0) > Date.now()
  }

  add(key: string): void {
    if (this.#until.size >= MAX && !this.#until.has(key)) this.#until.clear()
    this.#until.set(key, Date.now() + this.#forMs)
  }
}

/** Seconds that both limits count in. The platform counts at each of its locations separately: against abuse, not for billing. */
const WINDOW = 60

const utf8 = new TextEncoder()

interface RequestLimit {
  name: 'credential' | 'address'
  /** Undefined where no limit is bound. */
  binding: RateLimit | undefined
  /** The limit as the answer names it. */
  requests: number
  /** The name of the counted requests in the answer. */
  counted?: string
}

const tooMany = ({ name, requests, counted = 'requests' }: RequestLimit): Failure =>
  new Failure(
    'too_many_requests',
    'request.rate_limit',
    `This ${name} has made more than ${requests} ${counted} a minute. Send requests more slowly.`,
    {
      retry_after_seconds: WINDOW,
      quota: { name, requests, seconds: WINDOW },
    },
  )

async function count(limit: RequestLimit, key: string): Promise<void> {
  if (limit.binding && !(await limit.binding.limit({ key })).success) throw tooMany(limit)
}

const ofCredential = (env: Env, settings: Settings) => ({ binding: env.PER_CREDENTIAL, requests: settings.credentialRequestsPerMinute })

/** Counts a request of a credential. Throws Failure 429 beyond the limit. */
export const limitCredential = ({ env, settings, actor }: Ctx): Promise<void> =>
  count({ name: 'credential', ...ofCredential(env, settings) }, actor.kind === 'credential' ? actor.api_key : actor.process)

const perAddress = ({ env, var: { system } }: Context<App>): RequestLimit => ({
  name: 'address',
  binding: env.PER_ADDRESS,
  requests: system.settings.addressRequestsPerMinute,
})

/** Counts a request without a credential for the network that it comes from. Throws Failure 429 beyond the limit. */
export const limitAddress = (c: Context<App>): Promise<void> => count(perAddress(c), c.var.system.network)

/** Credentials that failed beyond the limit of their network, and the networks themselves: they are remembered for a minute. */
const refused = new ExpiringSet(WINDOW * 1_000)
const overLimit = new ExpiringSet(WINDOW * 1_000)
/** Credentials that were valid within the hour. */
const admitted = new ExpiringSet(3_600_000)

/** A credential as a network sent it; an unreadable one counts by its header. The memory keeps no secret. */
async function hashOf(network: string, presented: PresentedCredential | undefined, header: string): Promise<string> {
  const sent = presented ? `${presented.api_key ?? ''}:${presented.api_secret}` : header
  return new Uint8Array(await crypto.subtle.digest('SHA-256', utf8.encode(`${network} ${sent}`))).toBase64()
}

/**
 * Authenticates a request, and counts it for the network that it comes from when that fails. Throws Failure 429 beyond the limit. Only
 * failures count, so that others of the network are admitted. Beyond the limit, a credential that failed is not looked up again for a
 * minute, and credentials that were not admitted lately are looked up as often as one credential may send requests.
 */
export async function limitFailures<T>(
  c: Context<App>,
  credential: PresentedCredential | undefined,
  authenticate: () => Promise<T>,
): Promise<T> {
  const limit = { ...perAddress(c), counted: 'requests without a valid credential' }
  const { network } = c.var.system
  const presented = await hashOf(network, credential, c.req.header('authorization') ?? '')
  if (refused.has(presented)) throw tooMany(limit)
  if (overLimit.has(network) && !admitted.has(presented))
    await count({ ...limit, ...ofCredential(c.env, c.var.system.settings) }, `unknown ${network}`)
  try {
    const authenticated = await authenticate()
    admitted.add(presented)
    return authenticated
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unauthenticated') throw error
    try {
      await count(limit, `failed ${network}`)
    } catch (exceeded) {
      refused.add(presented)
      overLimit.add(network)
      throw exceeded
    }
    throw error
  }
}
