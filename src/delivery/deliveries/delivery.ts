import { alertStatements } from '../../platform/alerts/alerts.ts'
import { NO_RFC } from '../../platform/alerts/kinds.ts'
import type { System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { readColumn, readFirst } from '../../platform/db/statement.ts'
import { targetFault } from '../../platform/target.ts'
import { clock } from '../../platform/time/clock.ts'
import { inBackground } from '../../platform/work/background.ts'
import { each } from '../../platform/work/pages.ts'
import { type Digests, endpointKey, openDigests, openHeader, wakeEndpoints } from '../endpoints/endpoints.ts'
import { hiddenOf } from '../events/events.ts'
import { sentOf } from '../events/stored-body.ts'
import type { AttemptRecord } from '../tables.ts'
import {
  type ClaimedDelivery,
  claimStatements,
  clearStatements,
  countUndeliveredStatement,
  type EndpointRow,
  findDeletedEndpoints,
  findEndpoint,
  findStuckEndpoints,
  paceStatements,
  recordAttemptStatement,
} from './delivery-store.ts'
import { deliveryHeaders, outcomeOf, post, type Verdict, verdictAfter } from './post.ts'

/** Concurrent attempts of one consumer. The platform allows an invocation six connections. */
const CONCURRENT_ATTEMPTS = 4
/** How long an unreturned permit lasts: longer than an attempt takes, its recording included. */
const PERMIT_MS = 20_000
/** How long a consumer works on one message before it sends another for the rest. */
const WORK_MS = 2_000
/** Batches of attempts of one message. A batch makes at most 23 D1 statements, and the platform allows an invocation 1,000. */
const BATCHES_PER_MESSAGE = 30
/** Number of undelivered deliveries in a row that raises an alert. */
const ALERT_AFTER = 3
const CLEAR_ROWS = 1_000
const SWEEP_ENDPOINTS = 1_000
/** So that the endpoints of one organization do not hide those of another. */
const SWEEP_PAGES = 20

/** An endpoint, with its name in messages and its database. */
interface Endpoint extends EndpointRow {
  key: string
  d1: D1Database
}

/**
 * Attempts the due deliveries of an endpoint, which `endpointKey` names. Returns after 250 ms at the latest; the attempts then continue in
 * the background.
 */
export const deliver = (system: System, endpoint: string): Promise<void> =>
  inBackground(system, deliverDue(system, endpoint), 'Deliveries to an endpoint could not be attempted. The next sweep finds them.', {
    endpoint,
  })

/**
 * Attempts the due deliveries of an endpoint, at most four at once and only while the host limiter has permits. A delivery is claimed under
 * a lease, and only the holder of the claim records the attempt. The number of an attempt follows from the attempts on record, so that an
 * attempt that a crash interrupted is made again under the same number.
 */
export async function deliverDue(system: System, endpoint: string): Promise<void> {
  const until = Date.now() + WORK_MS
  for (let batches = 1; await deliverBatch(system, endpoint); batches++)
    if (Date.now() >= until || batches === BATCHES_PER_MESSAGE) return wakeEndpoints(system, [endpoint])
}

/** The decrypted digests and header of an endpoint's deliveries. */
interface Opened {
  digests: Digests
  /** The customer's own header. */
  header: Record<string, string>
}

/** How far ahead of its pace an endpoint is served, because a message comes at whole seconds. */
const AHEAD_MS = 1_000

/** How many of these deliveries the pace of an endpoint allows now, and up to when they use it up. With one second more, no minute has too many. */
function pacedAt({ max_per_minute, paced_until }: Pick<EndpointRow, 'max_per_minute' | 'paced_until'>, wanted: number, now: number) {
  if (max_per_minute === null) return { count: wanted, until: paced_until }
  const each = (60_000 + AHEAD_MS) / max_per_minute
  const from = Math.max(paced_until, now)
  const count = Math.min(wanted, Math.max(0, Math.ceil((now + AHEAD_MS - from) / each)))
  return { count, until: Math.ceil(from + count * each) }
}

/** Attempts as many deliveries as may be in flight at once. Returns whether more can be done now. */
async function deliverBatch(system: System, key: string): Promise<boolean> {
  const [shard, webhook] = key.split('.').map(Number)
  const d1 = system.settings.events[shard!]!
  const row = await readFirst(d1, findEndpoint(webhook!, clock.now(), 2 * CONCURRENT_ATTEMPTS))
  if (!row) return false
  if (row.deleted_at !== null) return clearLog(d1, row.webhook)
  const endpoint = { ...row, key, d1 }
  const limiter = system.env.HOST_LIMITERS.getByName(new URL(endpoint.url).hostname)
  const token = crypto.randomUUID()
  const caller = { endpoint: key, organization_id: endpoint.organization_id }
  if (endpoint.is_enabled === 0 || endpoint.due === 0) {
    // Others can use permits that may be kept for the endpoint.
    await wakeEndpoints(system, await limiter.release(token, caller, 0))
    return false
  }
  const wanted = pacedAt(endpoint, Math.min(endpoint.due, CONCURRENT_ATTEMPTS), clock.now()).count
  // Whoever has used up the pace has asked for a message that comes when there is room again.
  if (wanted === 0) return false
  const opened = { digests: await openDigests(system, endpoint), header: await openHeader(system, endpoint) }
  const { permits, next } = await limiter.acquire(token, caller, wanted, PERMIT_MS)
  await wakeEndpoints(system, next)
  if (permits === 0) return false
  let rest = 0
  try {
    await attemptClaimed(system, endpoint, opened, token, permits)
    rest = endpoint.due - permits
  } finally {
    const others = await limiter.release(token, caller, Math.min(rest, CONCURRENT_ATTEMPTS))
    // This consumer continues with its own endpoint anyway.
    await wakeEndpoints(
      system,
      others.filter((other) => other !== key),
    )
  }
  if (endpoint.max_per_minute === null) return rest > 0
  const now = clock.now()
  if (rest > 0 && pacedAt(endpoint, 1, now).count > 0) return true
  await wakeEndpoints(system, [key], Math.max(1, Math.ceil((endpoint.paced_until - now - AHEAD_MS + 1) / 1_000)))
  return false
}

/** Claims at most `limit` deliveries and attempts them. */
async function attemptClaimed(system: System, endpoint: Endpoint, opened: Opened, token: string, limit: number): Promise<void> {
  const { d1, organization_id } = endpoint
  const now = clock.now()
  const { until } = pacedAt(endpoint, limit, now)
  const pace = endpoint.max_per_minute === null ? [] : paceStatements(endpoint, until)
  const claimed = (await commit<ClaimedDelivery>(d1, [...pace, ...claimStatements(endpoint, { token, now, limit })])).at(-1)
  endpoint.paced_until = until
  const hidden = await hiddenOf(system, { id: organization_id }, claimed!.results)
  const results = await Promise.allSettled(
    claimed!.results.map((delivery) =>
      attempt(system, endpoint, opened, token, {
        ...delivery,
        isUnlinked: hidden.has(delivery),
        isOfOther: isOfOther(endpoint, delivery.body),
      }),
    ),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** A claimed delivery, and whether its event is about an RFC that is no longer linked, or for which the endpoint is not any more. */
interface CheckedDelivery extends ClaimedDelivery {
  isUnlinked: boolean
  isOfOther: boolean
}

/** Who changes a webhook for some RFCs gets nothing of others with it. */
function isOfOther({ fiscal_entity_uuids }: Endpoint, body: string): boolean {
  if (fiscal_entity_uuids === null) return false
  const { fiscal_entity_id } = JSON.parse(body) as { fiscal_entity_id?: string | null }
  return fiscal_entity_id != null && !(JSON.parse(fiscal_entity_uuids) as string[]).includes(fiscal_entity_id)
}

async function attempt(
  system: System,
  endpoint: Endpoint,
  { digests, header }: Opened,
  token: string,
  delivery: CheckedDelivery,
): Promise<void> {
  const number = delivery.attempt_count + 1
  const obstacle = delivery.isUnlinked
    ? 'The RFC is no longer linked.'
    : delivery.isOfOther
      ? 'The webhook is not for this RFC any more.'
      : targetFault(endpoint.url, system.settings.publicHosts)
  if (obstacle !== null) {
    const record = { at: clock.now(), duration_ms: 0, status_code: null, error: `Not sent: ${obstacle}`, response_body: null }
    return recordAttempt(system, endpoint, token, delivery, record, { status: 'failed' })
  }
  const { payload, isTest } = sentOf(delivery.body, delivery.seq)
  const body = new TextEncoder().encode(payload)
  const { event_id, event_key: key } = delivery
  const headers = await deliveryHeaders(digests, { event_id, ordering: delivery.seq, key, attempt: number, body, at: new Date(), isTest })
  const record = await post(system.env.EGRESS, endpoint.url, { ...header, ...headers }, body)
  const shown = { ...record, response_body: withoutValues(record.response_body, Object.values(header)) }
  await recordAttempt(system, endpoint, token, delivery, shown, verdictAfter(number, outcomeOf(record.status_code)))
}

/** A text without values that nobody may read: some receivers answer with the headers that they got. */
const withoutValues = (text: string | null, values: readonly string[]): string | null =>
  values.reduce((shown, value) => shown?.replaceAll(value, '[header value]') ?? null, text)

async function recordAttempt(
  system: System,
  endpoint: Endpoint,
  token: string,
  delivery: CheckedDelivery,
  record: AttemptRecord,
  verdict: Verdict,
): Promise<void> {
  const { d1, webhook, key } = endpoint
  const claim = { webhook, seq: delivery.seq, redelivery: delivery.redelivery, token }
  const now = clock.now()
  const wait = verdict.status === 'pending' ? verdict.wait_seconds : 0
  await commit(d1, [
    // A delivery that ends because its RFC was unlinked says nothing about the receiver.
    ...(delivery.isUnlinked || delivery.isOfOther || verdict.status === 'pending'
      ? []
      : countStatements(endpoint, claim, verdict.status === 'delivered', now)),
    recordAttemptStatement(claim, record, { status: verdict.status, due_at: now + wait * 1_000 }),
  ])
  if (verdict.status === 'pending') await wakeEndpoints(system, [key], wait)
}

/** Counts a delivery that ended. An endpoint that keeps missing deliveries stays enabled, and an alert is raised, at most one a day. */
function countStatements(
  endpoint: Endpoint,
  claim: Parameters<typeof countUndeliveredStatement>[0],
  isDelivered: boolean,
  now: number,
): Statement[] {
  if (isDelivered && endpoint.undelivered === 0) return []
  endpoint.undelivered = isDelivered ? 0 : endpoint.undelivered + 1
  const day = new Date(now).toISOString().slice(0, 10)
  const alert = {
    organization_id: endpoint.organization_id,
    ...NO_RFC,
    kind: 'webhook.undelivered',
    severity: 'warning',
    dedupe_key: `webhook.undelivered:${endpoint.webhook_id}:${day}`,
    resource_id: endpoint.webhook_id,
    message:
      `${endpoint.undelivered} deliveries in a row to the webhook “${endpoint.name}” were not received, as of ${day}. ` +
      'The webhook stays enabled. Its delivery log shows the reasons, and you can redeliver the events.',
    message_es:
      `${endpoint.undelivered} entregas seguidas al webhook “${endpoint.name}” no fueron recibidas al ${day}. ` +
      'El webhook sigue activo; su bitácora de entregas muestra los motivos y puede reenviar los eventos.',
  } as const
  return [
    countUndeliveredStatement(claim, isDelivered),
    ...(endpoint.undelivered >= ALERT_AFTER ? alertStatements([alert], new Date(now)) : []),
  ]
}

/** Clears a part of a deleted endpoint's log; the last part takes the endpoint along. Returns whether more is left. */
async function clearLog(d1: D1Database, webhook: number): Promise<boolean> {
  const [cleared] = await commit(d1, clearStatements(webhook, CLEAR_ROWS))
  return cleared!.meta.changes === CLEAR_ROWS
}

/** Wakes endpoints whose message was lost or whose consumer died, and deleted endpoints whose log is not cleared. */
export const sweepDeliveries = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], ([shard, d1]) => sweepShard(system, shard, d1))

async function sweepShard(system: System, shard: number, d1: D1Database): Promise<void> {
  const wake = (webhooks: readonly number[]) =>
    wakeEndpoints(
      system,
      webhooks.map((webhook) => endpointKey(shard, webhook)),
    )
  const now = clock.now()
  const pages = Math.ceil(SWEEP_PAGES / system.settings.events.length)
  let stuck: number[] = []
  for (let page = 0; page === 0 || (page < pages && stuck.length === SWEEP_ENDPOINTS); page++) {
    stuck = await readColumn(d1, findStuckEndpoints(now, stuck.at(-1) ?? 0, SWEEP_ENDPOINTS))
    await wake(stuck)
  }
  await wake(await readColumn(d1, findDeletedEndpoints(SWEEP_ENDPOINTS)))
}
