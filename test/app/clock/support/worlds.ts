import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { setClock } from '../../../../src/app/clock/moves.ts'
import { walk } from '../../../../src/app/clock/walk.ts'
import { Messages } from '../../../journeys/support/messages.ts'
import { api } from '../../../support/client.ts'
import { at, restore } from '../../../support/clock.ts'
import { signUp } from '../../../support/tenants.ts'

export const BEGIN = Date.parse('2026-05-20T18:00:00Z')
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
const RFC = 'EKU9003173C9'

export function restoreClock(): void {
  restore()
  setClock({ ahead: 0, target: null })
}

const rows = async (d1: D1Database, query: string) => (await d1.prepare(query).all()).results

/** A service with one organization, whose webhooks fail once in a while. Its messages arrive when a test says so. */
export async function begin(ciec = 'secreta1') {
  restoreClock()
  await reset()
  await Promise.all([
    applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS),
    applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS),
    applyD1Migrations(env.EVENTS_0, env.EVENTS_MIGRATIONS),
  ])
  at(new Date(BEGIN).toISOString())
  const messages = new Messages()
  let sent = 0
  vi.spyOn(env.EGRESS, 'fetch').mockImplementation(async () => new Response(null, { status: ++sent % 5 === 0 ? 503 : 204 }))
  const tenant = await signUp('Despacho')
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await api(tenant, method, path, body)
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await ask('POST', '/v1/test-helpers/organization', { plan: 'starter', trial_ends_at: null })
  await ask('POST', '/v1/webhooks', {
    name: 'All',
    url: 'https://receiver.example.com/',
    event_keys: ['cfdi.cancelled', 'sync.completed', 'extraction.completed', 'alert.raised', 'alert.resolved', 'obligation.due_soon'],
  })
  const { fiscal_entity_id } = await ask('POST', '/v1/fiscal-entities', { rfc: RFC, ciec })
  await messages.deliverAll()
  await messages.cron('*/15 * * * *')
  const { next_cursor } = await ask('GET', `/v1/cfdi/changes?fiscal_entity_id=${fiscal_entity_id}&from=now`)
  return { tenant, messages, ask, fiscal_entity_id, cursor: next_cursor as string }
}

type Service = Awaited<ReturnType<typeof begin>>

/** The authority cancels received invoices after some days. */
export async function cancelAfter({ ask, fiscal_entity_id }: Service, ...days: number[]): Promise<void> {
  const { data } = await ask('GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&direction=received&estatus=vigente&limit=${days.length}`)
  for (const [n, after] of days.entries())
    await ask('POST', `/v1/test-helpers/cfdi/${data[n].uuid}/cancel`, {
      fiscal_entity_id,
      cancelled_at: new Date(BEGIN + after * DAY).toISOString(),
    })
}

/** What the organization has, without what chance makes. */
export async function shown({ ask, fiscal_entity_id, cursor }: Service) {
  const found = {
    runs: await rows(env.DB, 'select trigger, local_date, instant, status, connections, dispatched from runs order by instant, trigger'),
    jobs: await rows(
      env.LEDGER_0,
      'select source, month, status, as_of, finished_at, created_count from sync_jobs order by as_of, source, month',
    ),
    events: await rows(env.EVENTS_0, 'select body from events order by seq'),
    deliveries: await rows(env.EVENTS_0, 'select status, json_array_length(attempts) as attempts from deliveries order by seq'),
    invoices: await rows(env.DB, 'select period, status, issued_at, due_on, total from invoices order by issued_at'),
    alerts: await rows(env.EVENTS_0, 'select kind, created_at, resolved_at from alerts order by created_at, kind'),
    lists: await rows(env.DB, 'select source, list_date, fetched_at from blacklist_lists order by source'),
    repse: await rows(env.DB, 'select rfc, checked_at, due_at from repse_records order by rfc'),
    extractors: (await ask('GET', '/v1/extractors')).map(({ next_run_at, last_run_at }: Record<string, string>) => [
      next_run_at,
      last_run_at,
    ]),
    entity: await ask('GET', `/v1/fiscal-entities/${fiscal_entity_id}`),
    summary: await ask('GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${fiscal_entity_id}&from=2026-01&to=2026-06`),
    changes: await ask('GET', `/v1/cfdi/changes?fiscal_entity_id=${fiscal_entity_id}&limit=100&cursor=${cursor}`),
  }
  const text = JSON.stringify(found, (key, value) => (/cursor/.test(key) ? undefined : value))
  return JSON.parse(
    text.replaceAll(/\b[a-z]{2,3}_[0-9a-z]{26}\b/g, 'id').replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'uuid'),
  ) as typeof found
}

/** Hours in UTC: midnight of Mexico City, the daily work, and others. */
const HOURS = [0, 6, 10, 16]

/** Lives through the days: the crons of some hours, of their second minutes and of their second quarters. */
export async function live({ messages }: Service, days: number): Promise<void> {
  for (let hour = BEGIN + HOUR; hour <= BEGIN + days * DAY; hour += HOUR)
    for (const time of HOURS.includes((hour % DAY) / HOUR) ? [hour, hour + MINUTE, hour + 15 * MINUTE] : []) {
      at(new Date(time).toISOString())
      await messages.cron('* * * * *')
      if (time % (15 * MINUTE) === 0) await messages.cron('*/15 * * * *')
      if (time % DAY === 10 * HOUR) await messages.cron('0 10 * * *')
    }
  at(new Date(BEGIN + days * DAY).toISOString())
}

/** Has the clock moved on, by one worker after the other. */
export async function move({ tenant, ask }: Service, days: number): Promise<void> {
  await ask('POST', '/v1/test-helpers/clock', { advance: `P${days}D` })
  for (let legs = 0; (await api(tenant, 'GET', '/v1/test-helpers/clock')).status === 202; legs++) {
    if (legs > 2_000) throw new Error('The move never ends.')
    await walk(env, 'test')
  }
}
