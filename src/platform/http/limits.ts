import type { Context } from 'hono'
import { Failure } from '../../failures.ts'
import type { App, Ctx } from '../context.ts'
import { networkOf } from './network.ts'

/** Seconds that both limits count in. The platform counts at each of its locations by itself: against abuse, not for billing. */
const WINDOW = 60

interface RequestLimit {
  name: 'credential' | 'address'
  /** Undefined where no limit is bound. */
  binding: RateLimit | undefined
  /** The limit as the answer names it. */
  requests: number
}

async function count({ name, binding, requests }: RequestLimit, key: string): Promise<void> {
  if (!binding || (await binding.limit({ key })).success) return
  const message = `This ${name} has made more than ${requests} requests a minute. Send requests more slowly.`
  throw new Failure('too_many_requests', 'request.rate_limit', message, {
    retry_after_seconds: WINDOW,
    quota: { name, requests, seconds: WINDOW },
  })
}

/** Counts a request of a credential. Throws Failure 429 beyond the limit. */
export const limitCredential = ({ env, settings, actor }: Ctx): Promise<void> =>
  count(
    { name: 'credential', binding: env.PER_CREDENTIAL, requests: settings.credentialRequestsPerMinute },
    actor.kind === 'credential' ? actor.api_key : actor.process,
  )

/** Counts a request without a credential for the network that it comes from. Throws Failure 429 beyond the limit. */
export const limitAddress = ({ env, req, var: { system } }: Context<App>): Promise<void> =>
  count(
    { name: 'address', binding: env.PER_ADDRESS, requests: system.settings.addressRequestsPerMinute },
    networkOf(req.header('cf-connecting-ip') ?? ''),
  )
