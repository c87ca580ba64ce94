import type { Context } from 'hono'
import { Failure } from '../../failures.ts'
import type { App, Ctx } from '../context.ts'
import { networkOf } from './network.ts'
import { RefusedCredentials } from './refused-credentials.ts'

/** Seconds that both limits count in. The platform counts at each of its locations by itself: against abuse, not for billing. */
const WINDOW = 60

interface RequestLimit {
  name: 'credential' | 'address'
  /** Undefined where no limit is bound. */
  binding: RateLimit | undefined
  /** The limit as the answer names it. */
  requests: number
  /** What is counted, as the answer names it. */
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

/** Counts a request of a credential. Throws Failure 429 beyond the limit. */
export const limitCredential = ({ env, settings, actor }: Ctx): Promise<void> =>
  count(
    { name: 'credential', binding: env.PER_CREDENTIAL, requests: settings.credentialRequestsPerMinute },
    actor.kind === 'credential' ? actor.api_key : actor.process,
  )

const networkOfRequest = ({ req }: Context<App>): string => networkOf(req.header('cf-connecting-ip') ?? '')

const perAddress = ({ env, var: { system } }: Context<App>): RequestLimit => ({
  name: 'address',
  binding: env.PER_ADDRESS,
  requests: system.settings.addressRequestsPerMinute,
})

/** Counts a request without a credential for the network that it comes from. Throws Failure 429 beyond the limit. */
export const limitAddress = (c: Context<App>): Promise<void> => count(perAddress(c), networkOfRequest(c))

const refused = new RefusedCredentials(WINDOW * 1_000)

/**
 * Authenticates a request, and counts it for the network that it comes from when that fails. Throws Failure 429 beyond the limit. Only
 * failures count, so a valid credential is admitted whatever others send from its network. A credential that failed beyond the limit is
 * refused for a minute without being looked up.
 */
export async function limitFailures<T>(c: Context<App>, authenticate: () => Promise<T>): Promise<T> {
  const limit = { ...perAddress(c), counted: 'requests without a valid credential' }
  const [network, authorization] = [networkOfRequest(c), c.req.header('authorization') ?? '']
  if (await refused.has(network, authorization)) throw tooMany(limit)
  try {
    return await authenticate()
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unauthenticated') throw error
    try {
      await count(limit, `failed ${network}`)
    } catch (exceeded) {
      await refused.add(network, authorization)
      throw exceeded
    }
    throw error
  }
}
