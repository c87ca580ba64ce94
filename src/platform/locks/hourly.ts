import type { Ctx } from '../context.ts'
import { Failure } from '../failures.ts'
import { clock } from '../time/clock.ts'

const HOUR_SECONDS = 3_600

/** What is expensive, and how much of it an organization may ask for in an hour, all its credentials together. */
export const HOURLY = {
  /** Each leaves an audit event, or a row of its Idempotency-Key, in a database of all organizations. */
  changes: { most: 5_000, things: 'changes' },
  logins: { most: 3_000, things: 'verifications of CIECs and of resumed RFCs' },
  efirmas: { most: 600, things: 'openings of e.firmas' },
  status_checks: { most: 1_000, things: 'status checks' },
  runs: { most: 1_000, things: 'runs and extractions' },
  imports: { most: 2_000, things: 'imports' },
  exports: { most: 1_000, things: 'exports' },
  report_refreshes: { most: 1_000, things: 'refreshes of reports' },
  repse_refreshes: { most: 1_000, things: 'refreshes of REPSE registrations' },
  connector_tests: { most: 120, things: 'tests of storage connectors' },
  deliveries: { most: 1_000, things: 'requests for tests or repeated deliveries of webhooks' },
} as const

/** Counts what an organization asks for, exactly and at one place for all locations. Throws Failure 429 organization.hourly_limit. */
export async function countHourly({ env, organization }: Pick<Ctx, 'env' | 'organization'>, what: keyof typeof HOURLY): Promise<void> {
  const { most, things } = HOURLY[what]
  const counted = await env.COOLDOWNS.getByName(`hourly:${what}:${organization.id}`).acquire(HOUR_SECONDS, clock.now(), most)
  if (counted.acquired) return
  const { retry_after_seconds } = counted
  throw new Failure(
    'too_many_requests',
    'organization.hourly_limit',
    `The organization may ask for ${most} ${things} in an hour, and has done so. Try again in ${retry_after_seconds} s.`,
    { retry_after_seconds, limit: { name: what, requests: most, seconds: HOUR_SECONDS, remaining: 0, reset: retry_after_seconds } },
  )
}
