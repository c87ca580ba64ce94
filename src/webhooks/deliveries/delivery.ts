import { waitUntil } from 'cloudflare:workers'
import { alertStatements } from '../../alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { errorMessage } from '../../platform/log.ts'
import type { Digests } from '../endpoints/secret.ts'
import { openDigests } from '../endpoints/signing.ts'
import { targetFault } from '../endpoints/target.ts'
import { wakeEndpoints } from '../endpoints/wake.ts'
import type { AttemptRecord } from '../tables.ts'
import {
  type Claimed,
  claimStatements,
  clearStatements,
  countUndelivered,
  deletedEndpoints,
  type EndpointRow,
  findEndpoint,
  recordAttempt,
  stuckEndpoints,
} from './delivery-store.ts'
import { post } from './post.ts'
import { outcomeOf, verdictAfter } from './retry.ts'
import { deliveryHeaders } from './signature.ts'

/** Attempts at once of one consumer: the platform allows an invocation six connections. */
const AT_ONCE = 4
/** Longer than an attempt and its record take. */
const LEASE_MS = 20_000
/** How long one message is worked on; what is left then gets a message of its own. */
const WORK_MS = 2_000
/** After this long a consumer leaves an attempt to itself, so that nobody waits behind a receiver that hangs. */
const LEAVE_AFTER_MS = 250
/** So many deliveries in a row that were not received are an alert. */
const ALERT_AFTER = 3
const CLEARED_AT_ONCE = 1_000
const SWEEP_LIMIT = 1_000

/** Attempts what an endpoint has due, and returns as soon as that is done or takes long; then it goes on by itself. */
export async function deliver(system: System, webhook: number): Promise<void> {
  const work = deliverDue(system, webhook)
  waitUntil(
    work.catch((error: unknown) => {
      console.error(JSON.stringify({ level: 'error', request_id: system.requestId, webhook, error: errorMessage(error) }))
    }),
  )
  await Promise.race([work, scheduler.wait(LEAVE_AFTER_MS)])
}

/**
 * Attempts what an endpoint has due, four at once, as long as the host's gate has room. A delivery is claimed under a lease and settled
 * by its holder only; its attempt number is that of the attempts on record, so one that a crash interrupted is made again under its own.
 */
export async function deliverDue(system: System, webhook: number): Promise<void> {
  const until = Date.now() + WORK_MS
  while (await deliverSome(system, webhook)) if (Date.now() >= until) return wakeEndpoints(system, [webhook])
}

/** As many as may be attempted at once, to the endpoint as it is now. False when that was all that can be done for the moment. */
async function deliverSome(system: System, webhook: number): Promise<boolean> {
  const d1 = system.db.$client
  const endpoint = await findEndpoint(d1, webhook, Date.now(), AT_ONCE + 1)
  if (!endpoint) return false
  if (endpoint.deleted_at !== null) return clearLog(d1, webhook)
  if (endpoint.is_enabled === 0 || endpoint.due === 0) return false
  const digests = await openDigests(system, endpoint)
  const gate = system.env.HOST_LIMITERS.getByName(new URL(endpoint.url).hostname)
  const token = crypto.randomUUID()
  const places = await gate.enter(token, webhook, Math.min(endpoint.due, AT_ONCE), LEASE_MS)
  if (places === 0) return false
  try {
    await attemptSome(system, endpoint, digests, token, places)
  } finally {
    await wakeEndpoints(system, await gate.leave(token))
  }
  return endpoint.due > places
}

/** Claims and attempts up to so many deliveries. */
async function attemptSome(system: System, endpoint: EndpointRow, digests: Digests, token: string, limit: number): Promise<void> {
  const d1 = system.db.$client
  const now = Date.now()
  const [, listed] = await d1.batch<Claimed>(claimStatements(d1, endpoint, { token, now, leaseUntil: now + LEASE_MS, limit }))
  const results = await Promise.allSettled(listed!.results.map((one) => attempt(system, endpoint, digests, token, one)))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

async function attempt(system: System, endpoint: EndpointRow, digests: Digests, token: string, one: Claimed): Promise<void> {
  const number = one.made + 1
  const obstacle = one.is_unlinked === 1 ? 'The RFC is no longer linked.' : targetFault(endpoint.url, system.settings.publicHosts)
  if (obstacle !== null) {
    const record = { at: Date.now(), duration_ms: 0, status_code: null, error: `Not sent: ${obstacle}`, response_body: null }
    return settle(system, endpoint, token, one, record, { status: 'failed' })
  }
  const body = new TextEncoder().encode(one.body)
  const headers = await deliveryHeaders(digests, { event_id: one.event_id, key: one.key, attempt: number, body, at: new Date() })
  const record = await post(system.env.EGRESS, endpoint.url, headers, body)
  await settle(system, endpoint, token, one, record, verdictAfter(number, outcomeOf(record.status_code)))
}

async function settle(
  system: System,
  endpoint: EndpointRow,
  token: string,
  one: Claimed,
  record: AttemptRecord,
  verdict: ReturnType<typeof verdictAfter>,
): Promise<void> {
  const d1 = system.db.$client
  const { webhook } = endpoint
  const now = Date.now()
  const wait = verdict.status === 'pending' ? verdict.wait_seconds : 0
  await d1.batch([
    // The receiver has nothing to do with an RFC that was unlinked.
    ...(one.is_unlinked === 1 ? [] : tallyStatements(system, endpoint, token, one, verdict.status, now)),
    recordAttempt(d1, webhook, one, token, record, { status: verdict.status, due_at: now + wait * 1_000 }),
  ])
  if (verdict.status === 'pending') await wakeEndpoints(system, [webhook], wait)
}

/** An endpoint that keeps losing deliveries is never disabled in silence: it raises an alert, one a day. */
function tallyStatements(system: System, endpoint: EndpointRow, token: string, one: Claimed, status: string, now: number) {
  const { db } = system
  if (status === 'pending' || (status === 'delivered' && endpoint.undelivered === 0)) return []
  endpoint.undelivered = status === 'delivered' ? 0 : endpoint.undelivered + 1
  const day = new Date(now).toISOString().slice(0, 10)
  const message =
    `${endpoint.undelivered} deliveries in a row to the webhook “${endpoint.name}” were not received, as of ${day}. ` +
    `It stays enabled; its log says why, and they can be sent again.`
  const alert = {
    organization_id: endpoint.organization_id,
    kind: 'webhook.undelivered',
    severity: 'warning',
    dedupe_key: `webhook.undelivered:${endpoint.webhook_id}:${day}`,
    resource_id: endpoint.webhook_id,
    message,
  } as const
  return [
    countUndelivered(db.$client, endpoint.webhook, one, token, status === 'delivered'),
    ...(endpoint.undelivered >= ALERT_AFTER ? alertStatements(db, [alert], new Date(now)) : []),
  ]
}

/** Clears part of a deleted endpoint's log, and with the last part the endpoint. False when that was it. */
async function clearLog(d1: D1Database, webhook: number): Promise<boolean> {
  const [cleared] = await d1.batch(clearStatements(d1, webhook, CLEARED_AT_ONCE))
  return cleared!.meta.changes === CLEARED_AT_ONCE
}

/** Calls again for endpoints whose message is lost or whose consumer died, and for logs that are to be cleared. */
export async function sweepDeliveries(system: System): Promise<void> {
  const d1 = system.db.$client
  const [stuck, deleted] = await Promise.all([stuckEndpoints(d1, Date.now(), SWEEP_LIMIT), deletedEndpoints(d1, SWEEP_LIMIT)])
  await wakeEndpoints(system, [...stuck, ...deleted])
}
