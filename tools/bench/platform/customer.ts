import { withCheckDigit } from '../../../src/authority/sandbox/world/taxpayers.ts'
import { EVENT_KEYS } from '../../../src/delivery/catalog/payload-contract.ts'
import type { World } from './world.ts'

const MARKS = 'ABCDEFGHJK'

/** The nth RFC, a company's: the sandbox makes the same documents of it every time. */
export const rfcOf = (n: number): string =>
  withCheckDigit(`CTA${String(100_101 + (n % 28))}${MARKS[Math.floor(n / 28) % 10]!}${MARKS[n % 10]!}`)

/** The sandbox has every document for one who logs in so. */
export const BUSY = 'secreta1'
/** It has the first three of each month and direction, so that nothing is new after the first days of a month. */
export const QUIET = 'busy3secreta'

/** Signs up as anybody does, with the default extractors, for a trial that does not end and has seats for many RFCs. Returns the Authorization. */
export async function signUp(world: World, n = 0): Promise<string> {
  const { credential } = await world.ask<{ credential: { api_key: string; api_secret: string } }>('POST', '/v1/auth/signup', undefined, {
    ...{ organization_name: `Costs ${n}`, name: 'Ada', email: `ada${n}@example.com` },
  })
  const authorization = `Basic ${btoa(`${credential.api_key}:${credential.api_secret}`)}`
  await world.ask('POST', '/v1/test-helpers/organization', authorization, { rfc_allowance: 1_000, trial_ends_at: '2036-01-01T00:00:00Z' })
  return authorization
}

export const connect = async (world: World, authorization: string, rfc: string, ciec: string): Promise<string> =>
  (await world.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', authorization, { rfc, ciec })).fiscal_entity_id

/** An endpoint that is told everything but what is off unless it is named. */
export const subscribe = (world: World, authorization: string) =>
  world.ask('POST', '/v1/webhooks', authorization, {
    name: 'ERP',
    url: 'https://hooks.example.com/in',
    event_keys: EVENT_KEYS.filter((key) => key !== 'cfdi.new'),
  })
