import type { Context } from 'hono'
import { Failure } from '../../failures.ts'
import type { App, Ctx } from '../context.ts'
import { networkOf } from './network.ts'

/** Of both limits, in seconds: the platform counts in minutes, at each of its places for itself. Against abuse, not for accounts. */
const WINDOW = 60

interface Limit {
  name: 'credential' | 'address'
  /** Bound where there is a limit. */
  binding: RateLimit | undefined
  requests: string
}

async function take({ name, binding, requests }: Limit, key: string): Promise<void> {
  if (!binding || (await binding.limit({ key })).success) return
  throw new Failure('too_many_requests', 'request.rate_limit', `More than ${requests} requests a minute from one ${name}. Slow down.`, {
    retry_after_seconds: WINDOW,
    quota: { name, requests, seconds: WINDOW },
  })
}

/** 429 when a credential asks too often. */
export const limitCredential = ({ env, actor }: Ctx): Promise<void> =>
  take(
    { name: 'credential', binding: env.PER_CREDENTIAL, requests: env.CREDENTIAL_REQUESTS_PER_MINUTE },
    actor.kind === 'credential' ? actor.api_key : actor.process,
  )

/** 429 when a client asks too often for what needs no credential. */
export const limitAddress = ({ env, req }: Context<App>): Promise<void> =>
  take(
    { name: 'address', binding: env.PER_ADDRESS, requests: env.ADDRESS_REQUESTS_PER_MINUTE },
    networkOf(req.header('cf-connecting-ip') ?? ''),
  )
