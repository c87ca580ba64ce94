import type { Context, MiddlewareHandler } from 'hono'
import type { App, Ctx } from '../context.ts'
import { type CountedLimit, Failure } from '../failures.ts'
import type { Settings } from '../settings.ts'
import type { PresentedCredential } from '../tenant/tenant.ts'

/** As many keys as the memory of this isolate holds of a kind. When there are more, all are forgotten. */
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

/** Seconds that limits of requests count in. The platform counts at each of its locations separately: against abuse, not for billing. */
const WINDOW = 60

const utf8 = new TextEncoder()

interface RequestLimit {
  name: 'credential' | 'organization' | 'address' | 'public'
  /** Who makes the requests, in the refusal. */
  who: string
  /** Undefined where no limit is bound. */
  binding: RateLimit | undefined
  /** The limit as the answer names it. */
  requests: number
  /** The name of the counted requests in the answer. */
  counted?: string
}

const tooMany = ({ name, who, requests, counted = 'requests' }: RequestLimit): Failure =>
  new Failure(
    'too_many_requests',
    'request.rate_limit',
    `${who} made more than ${requests} ${counted} a minute. Send requests more slowly.`,
    {
      retry_after_seconds: WINDOW,
      limit: { name, requests, seconds: WINDOW, remaining: 0, reset: WINDOW },
    },
  )

/** The requests that this isolate has counted, each key from its first request on. The platform does not say how many it has counted. */
const counts = new Map<string, { until: number; requests: number }>()

function countHere(key: string): { requests: number; reset: number } {
  const now = Date.now()
  let counted = counts.get(key)
  if (!counted || counted.until <= now) {
    if (counts.size >= MAX) counts.clear()
    counted = { until: now + WINDOW * 1_000, requests: 0 }
    counts.set(key, counted)
  }
  return { requests: ++counted.requests, reset: Math.ceil((counted.until - now) / 1_000) }
}

const note = (c: Context<App>, limit: CountedLimit) => c.set('limits', [...(c.get('limits') ?? []), limit])

async function count(c: Context<App>, limit: RequestLimit, key: string): Promise<void> {
  if (!limit.binding) return
  if (!(await limit.binding.limit({ key })).success) throw tooMany(limit)
  const { name, requests } = limit
  const here = countHere(`${name} ${key}`)
  note(c, { name, requests, seconds: WINDOW, remaining: Math.max(0, requests - here.requests), reset: here.reset })
}

/**
 * Tells in every answer which limits its request was counted against, and how much is left of the tightest one: at most so much, because
 * another isolate may have counted too.
 */
export const limitHeaders: MiddlewareHandler<App> = async (c, next) => {
  await next()
  const exceeded = c.error instanceof Failure ? c.error.extra.limit : undefined
  // What a network may have looked up has the name of what it may get wrong, which is the less.
  const counted = [...new Map([...(c.get('limits') ?? []), ...(exceeded ? [exceeded] : [])].map((limit) => [limit.name, limit])).values()]
  const [tightest] = counted.toSorted((a, b) => a.remaining - b.remaining)
  if (!tightest) return
  c.res.headers.set('RateLimit-Policy', counted.map(({ name, requests, seconds }) => `"${name}";q=${requests};w=${seconds}`).join(', '))
  c.res.headers.set('RateLimit', `"${tightest.name}";r=${tightest.remaining};t=${tightest.reset}`)
}

const ofCredential = (env: Env, settings: Settings) => ({ binding: env.PER_CREDENTIAL, requests: settings.credentialRequestsPerMinute })
const ofOrganization = (env: Env, settings: Settings) => ({
  binding: env.PER_ORGANIZATION,
  requests: settings.organizationRequestsPerMinute,
})

/** Counts a request of a credential, for it and for its organization. Throws Failure 429 beyond either limit. */
export async function limitCredential(c: Context<App>, { env, settings, actor, organization }: Ctx): Promise<void> {
  const credential = actor.kind === 'credential' ? actor.api_key : actor.process
  const counted = await Promise.allSettled([
    count(c, { name: 'credential', who: 'This credential has', ...ofCredential(env, settings) }, credential),
    count(c, { name: 'organization', who: 'The credentials of this organization have', ...ofOrganization(env, settings) }, organization.id),
  ])
  const refusal = counted.find(({ status }) => status === 'rejected')
  if (refusal) throw (refusal as PromiseRejectedResult).reason
}

const perAddress = ({ env, var: { system } }: Context<App>): RequestLimit => ({
  name: 'address',
  who: 'This address has',
  binding: env.PER_ADDRESS,
  requests: system.settings.addressRequestsPerMinute,
})

/** Counts a sign-up, or what is alike, for the network that it comes from. Throws Failure 429 beyond the limit. */
export const limitAddress = (c: Context<App>): Promise<void> => count(c, perAddress(c), c.var.system.network)

/** Counts a request that needs no credential for the network that it comes from. Throws Failure 429 beyond the limit. */
export const limitPublic = (c: Context<App>): Promise<void> =>
  count(
    c,
    {
      name: 'public',
      who: 'This address has',
      counted: 'requests that need no credential',
      ...ofOrganization(c.env, c.var.system.settings),
    },
    `public ${c.var.system.network}`,
  )

/** Credentials that failed beyond the limit of their network, and the networks themselves: they are remembered for a minute. */
const refused = new ExpiringSet(WINDOW * 1_000)
const overLimit = new ExpiringSet(WINDOW * 1_000)
/** Credentials that were valid within the hour. */
const admitted = new ExpiringSet(3_600_000)

/** A credential as a network sent it; an unreadable one counts by its header. The memory keeps no secret. */
async function hashOf(network: string, presented: PresentedCredential | undefined, header: string): Promise<string> {
  const sent = presented ? `${presented.api_key ?? ''}:${presented.api_secret}:${presented.session_id ?? ''}` : header
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
    await count(c, { ...limit, ...ofCredential(c.env, c.var.system.settings) }, `unknown ${network}`)
  try {
    const authenticated = await authenticate()
    admitted.add(presented)
    return authenticated
  } catch (error) {
    if (!(error instanceof Failure) || !['unauthenticated', 'forbidden'].includes(error.kind)) throw error
    try {
      await count(c, limit, `failed ${network}`)
    } catch (exceeded) {
      refused.add(presented)
      overLimit.add(network)
      throw exceeded
    }
    throw error
  }
}

/** Admits what a party without a credential has signed. Of one network, as many failures are looked at as it may make requests that need none. */
export async function limitUnsigned(c: Context<App>, verify: () => Promise<void>): Promise<void> {
  try {
    await verify()
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthenticated') await limitPublic(c)
    throw error
  }
}
