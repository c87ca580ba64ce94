import { createExecutionContext, createMessageBatch, createScheduledController, getQueueResult } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import { consume } from '../../../src/app/work.ts'
import { stampedAt } from '../../../src/authority/sandbox/world/invoices.ts'
import { documentsOf } from '../../../src/authority/sandbox/world/month.ts'
import type { SyncJob } from '../../../src/downloads/contract.ts'
import type { DownloadHint } from '../../../src/downloads/downloads.ts'
import worker from '../../../src/index.ts'
import { created } from '../../connections/extractors/support/extractors.ts'
import { at } from '../../support/clock.ts'
import { takingNoTurns } from '../../support/queues.ts'
import { organization } from '../../support/tenants.ts'

/**
 * Downloads without chance: no message of a queue arrives by itself, the clock stands still, and a test delivers what it wants
 * when it wants.
 */

const queue = (method: 'send' | 'sendBatch') =>
  vi.spyOn(Object.getPrototypeOf(env.DOWNLOADS) as Queue, method).mockResolvedValue(undefined as never)

/** From here on messages are lost, and known to the test. So no RFC waits for a turn, unless the test handles them all. */
export function losingMessages({ areInTurn = false } = {}) {
  if (!areInTurn) takingNoTurns()
  const [one, many] = [queue('send'), queue('sendBatch')]
  return {
    /** Announcements since the last look, in order. */
    announced: (): DownloadHint[] =>
      many.mock.calls
        .splice(0)
        .flatMap(([batch]) => [...(batch as Iterable<MessageSendRequest<DownloadHint>>)].map(({ body }) => body))
        // Calls of the relay come whenever something is to be told.
        .filter((body) => !('outbox' in body)),
    /** Delays of messages that were sent to come later, in seconds. */
    delays: (): (number | undefined)[] =>
      one.mock.calls.splice(0).flatMap(([body, options]) => ('entity' in (body as object) ? [options?.delaySeconds] : [])),
  }
}

export const NOW = '2026-05-20T09:00:00Z'

/** From `NOW` on, so many seconds later. */
export const later = (seconds: number): void => at(new Date(Date.parse(NOW) + seconds * 1_000).toISOString())

export const cfdiOf = (scope_months: number, more: object = {}) => ({
  ...{ name: 'CFDI', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months },
  data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'],
  ...more,
})

export const sinceWatermark = (more: object = {}) => cfdiOf(1, { scope: 'since_watermark', scope_months: null, ...more })

/** An organization with one extractor that does not run by itself on connecting, and a connection to the RFC. */
export async function subscriber(rfc: string, extractor: object, ciec: string | null = 'secreta1', more: object = {}) {
  const of = await organization('enterprise_gold')
  const { extractor_id } = await created(of, { ...extractor, trigger_kind: 'connection_reactivated' })
  const { status, body } = await of.ask('POST', '/v1/fiscal-entities', { rfc, ...(ciec !== null && { ciec }), ...more })
  expect(status).toBe(201)
  const path = `/v1/fiscal-entities/${body.fiscal_entity_id}`
  return {
    ...of,
    extractor_id,
    fiscal_entity_id: body.fiscal_entity_id as string,
    path,
    run: async (id = extractor_id) => (await of.ask('POST', `/v1/extractors/${id}/run`)).body,
    entity: async () => (await of.ask('GET', path)).body,
    sync: async () => (await of.ask('GET', `${path}/sync`)).body,
    jobs: async (query = ''): Promise<SyncJob[]> => (await of.ask('GET', `${path}/sync-jobs?limit=100${query}`)).body.data,
    page: async (query = '') => of.ask('GET', `/v1/cfdi?fiscal_entity_id=${body.fiscal_entity_id}&limit=100${query}`),
    give: async (secret: string) => of.ask('PATCH', path, { ciec: secret }),
  }
}

export const callOf = async (rfc: string): Promise<DownloadHint> =>
  (await env.DB.prepare('select shard, entity from fiscal_entities where rfc = ?').bind(rfc).first<DownloadHint>())!

/** The ledger that holds what is fetched for the RFC. */
export const ledgerOf = async (rfc: string): Promise<D1Database> => {
  const { shard } = await callOf(rfc)
  return (env as unknown as Record<string, D1Database>)[`LEDGER_${shard}`]!
}

let messages = 0

/** Gives bodies to the consumer of a queue as one batch. */
export async function deliver(bodies: readonly unknown[], purpose = 'downloads') {
  const batch = createMessageBatch(
    `fiscal-local-${purpose}`,
    bodies.map((body) => ({ id: `m${++messages}`, timestamp: new Date(), attempts: 1, body })),
  )
  const ctx = createExecutionContext()
  await consume(batch, env)
  return getQueueResult(batch, ctx)
}

/** Messages until everything that may be fetched now is. */
export async function work(rfc: string): Promise<void> {
  const call = await callOf(rfc)
  for (let n = 0; n < 10; n++) await deliver([call])
}

/** The cron of every minute, and the runs that it finds. */
export async function sweep(): Promise<void> {
  const found: unknown[] = []
  const sendBatch = async (messages: Iterable<{ body: unknown }>) => void found.push(...[...messages].map(({ body }) => body))
  const bindings = { ...env, DISPATCH: { sendBatch } } as unknown as Env
  await worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date() }), bindings)
  for (const body of found) if ('runs' in (body as object)) await deliver([body], 'dispatch')
}

/** Every row of the RFC's book in some tables, with every column. */
export async function bookOf(rfc: string, tables = ['cfdi', 'cfdi_chunks', 'cfdi_commits', 'cfdi_payments', 'cfdi_months', 'documents']) {
  const { entity } = await callOf(rfc)
  const ledger = await ledgerOf(rfc)
  const results = await ledger.batch(
    tables.map((table) => ledger.prepare(`select * from ${table} where entity = ? order by 1, 2, 3`).bind(entity)),
  )
  return Object.fromEntries(tables.map((table, n) => [table, results[n]!.results]))
}

export interface JobState {
  job_id: string
  source: string
  month: string
  status: string
  attempts: number
  not_before: number
  error_class: string | null
  created_count: number
  rejected_count: number
  organizations: string | null
}

/** Jobs of the RFC, by source and month. */
export const jobsOf = async (rfc: string): Promise<JobState[]> => {
  const { results } = await (await ledgerOf(rfc))
    .prepare('select * from sync_jobs where entity = ? order by source, month, job_id')
    .bind((await callOf(rfc)).entity)
    .all<JobState>()
  return results
}

/** Months that jobs are for, in order; every source's when none is said. */
export const monthsOf = (jobs: readonly JobState[], source: string): string[] =>
  jobs.filter((job) => job.source === source).map(({ month }) => month)

/** Until a test restores mocks, the first batch of a database with a statement like this fails, as if the isolate had ended there. */
export function breakingAt(like: RegExp): { happened: () => boolean } {
  const proto = Object.getPrototypeOf(env.LEDGER_0) as D1Database
  const batch = proto.batch
  let happened = false
  vi.spyOn(proto, 'batch').mockImplementation(function (this: D1Database, statements: D1PreparedStatement[]) {
    if (happened || !statements.some((one) => like.test(sqlOf(one)))) return batch.call(this, statements) as never
    happened = true
    return Promise.reject(new Error('The isolate was evicted here.'))
  })
  return { happened: () => happened }
}

/** Until a test restores mocks, something happens right before the first statement like this, in a batch or by itself. */
export function before(like: RegExp, something: () => Promise<unknown>): () => boolean {
  const proto = Object.getPrototypeOf(env.LEDGER_0) as D1Database
  const batch =
    (vi.isMockFunction(proto.batch) ? (vi.mocked(proto.batch).getMockImplementation() as typeof proto.batch) : undefined) ?? proto.batch
  const alone = Object.getPrototypeOf(env.LEDGER_0.prepare('select 1')) as D1PreparedStatement
  const { run } = alone
  let happened = false
  const meet = async (statements: D1PreparedStatement[]) => {
    if (happened || !statements.some((one) => like.test(sqlOf(one)))) return
    happened = true
    await something()
  }
  vi.spyOn(proto, 'batch').mockImplementation(async function (this: D1Database, statements: D1PreparedStatement[]) {
    await meet(statements)
    return batch.call(this, statements) as never
  })
  vi.spyOn(alone, 'run').mockImplementation(async function (this: D1PreparedStatement) {
    await meet([this])
    return run.call(this) as never
  })
  return () => happened
}

/** What D1 does not tell of a statement, its own object knows. Names are without quotes. */
export const sqlOf = (statement: D1PreparedStatement): string =>
  (statement as unknown as { statement: string }).statement.replaceAll('"', '')

/** Two months of issued CFDIs. */
export const ISSUED = cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] })
const MONTHS = ['2026-04', '2026-05']

/** Documents that the authority has of these months by now. */
export const issuedBy = (rfc: string): string[] =>
  MONTHS.flatMap((month) => documentsOf(rfc, 'issued', month))
    .filter((document) => stampedAt(document) <= '2026-05-20T03:00:00')
    .map(({ uuid }) => uuid)
    .sort()

export const leasedOf = async (rfc: string): Promise<string[]> =>
  ((await bookOf(rfc, ['cfdi']))['cfdi'] as { uuid: string }[]).map(({ uuid }) => uuid).sort()

/** Every document once, counted once, and no job left. */
export async function expectDone(rfc: string): Promise<void> {
  expect(await leasedOf(rfc)).toEqual(issuedBy(rfc))
  const jobs = await jobsOf(rfc)
  expect(jobs.every(({ status }) => status === 'succeeded')).toBe(true)
  const of = jobs.filter(({ source }) => source === 'sat_cfdi_issued')
  expect(of.reduce((sum, { created_count }) => sum + created_count, 0)).toBe(issuedBy(rfc).length)
}
