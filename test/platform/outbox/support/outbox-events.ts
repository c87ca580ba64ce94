import { env } from 'cloudflare:workers'
import { alias } from 'drizzle-orm/sqlite-core'
import { expect } from 'vitest'
import { syncJobs } from '../../../../src/downloads/jobs/tables.ts'
import { inlined } from '../../../../src/platform/db/statement.ts'
import { requestersOf } from '../../../../src/taxpayers/visibility/jobs.ts'
import { created, draft, EXTRACTORS } from '../../../connections/extractors/support/extractors.ts'
import { api } from '../../../support/client.ts'
import { connect, type Organization, organization } from '../../../support/tenants.ts'

export interface Kept {
  outbox_event_id: string
  kind: string
  entity: number
  organizations: string[] | null
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
  body: Record<string, any>
}

/** Jobs to be told of, with the organization that found them finished and when, or null and null; those of a lease as well. */
const LISTED = `select j.value as job, organizations->>0 as organization, created_at
  from outbox, json_each(outbox.body) j where outbox.entity = ?1 and kind = 'jobs'
  union all select j.value, null, null from sync_work, json_each(sync_work.jobs) j where sync_work.entity = ?1`

/** The ends of an entity's jobs that are still to be relayed. */
async function endsOf(entity: number): Promise<Kept[]> {
  const { results } = await env.LEDGER_0.prepare(
    `select s.*, ${inlined(requestersOf(alias(syncJobs, 's')))} as requesters, l.organization, l.created_at as listed_at from (${LISTED}) l cross join sync_jobs s
       on s.entity = ?1 and s.source = l.job->>0 and s.month = l.job->>1 and s.job_id = l.job->>2
     where s.open = 0`,
  )
    .bind(entity)
    .all<
      JobRow & {
        requesters: string
        late: string | null
        deferred: string
        finished_at: number
        organization: string | null
        listed_at: number
      }
    >()
  return results.map((row) => {
    const { source, month, job_id, error_class, attempts, organization } = row
    const kind = row.status === 'succeeded' ? 'sync.completed' : 'sync.failed'
    const late = JSON.parse(row.late ?? '[]') as string[]
    const named = organization === null ? (JSON.parse(row.requesters) as string[]).filter((one) => !late.includes(one)) : [organization]
    const completed_at = organization === null ? row.finished_at : row.listed_at
    const body = {
      job_id,
      data_source_key: source,
      period: month || null,
      deferred: JSON.parse(row.deferred),
      error_class,
      attempts,
      completed_at,
    }
    const outbox_event_id = [kind, entity, source, month, job_id, ...(organization === null ? [] : [organization])].join(':')
    return { outbox_event_id, kind, entity, organizations: named, body }
  })
}

/** The facts about an entity in either outbox, of kinds that begin so. */
export async function factsOf(entity: number, kind: string): Promise<Kept[]> {
  const read = (database: D1Database) =>
    database.prepare("select * from outbox where entity = ? and kind like ? || '%' order by outbox_event_id").bind(entity, kind)
  const rows = (await Promise.all([env.DB, env.LEDGER_0].map((database) => read(database).all<Record<string, string>>()))).flatMap(
    (it) => it.results,
  )
  const facts = rows.map(
    (row) => ({ ...row, organizations: JSON.parse(row['organizations'] ?? 'null'), body: JSON.parse(row['body']!) }) as unknown as Kept,
  )
  const ends = (await endsOf(entity)).filter((end) => end.kind.startsWith(kind))
  return [...facts, ...ends].filter((fact) => fact.kind !== 'jobs').sort((a, b) => (a.outbox_event_id < b.outbox_event_id ? -1 : 1))
}

export interface JobRow {
  job_id: string
  source: string
  month: string
  status: string
  attempts: number
  error_class: string | null
  created_count: number
  organizations: string
}

export const jobsOf = async (entity: number): Promise<JobRow[]> =>
  (await env.LEDGER_0.prepare('select * from sync_jobs where entity = ? order by job_id').bind(entity).all<JobRow>()).results

export const entityOf = async (fiscal_entity_id: string): Promise<number> =>
  (await env.DB.prepare('select entity from connections where fiscal_entity_id = ?').bind(fiscal_entity_id).first<number>('entity'))!

/** An organization whose one extractor fetches some sources as soon as an RFC is connected. */
export async function fetching(data_source_keys: string[], scope_months = 1): Promise<Organization & { extractor_id: string }> {
  const of = await organization('enterprise_gold')
  const { extractor_id } = await created(of, { ...draft, scope: 'last_n_months', scope_months, data_source_keys })
  return { ...of, extractor_id }
}

export async function connected(of: Organization, rfc?: string, ciec = 'secreta1') {
  const made = await connect(of.owner, rfc, { ciec })
  return { ...made, entity: await entityOf(made.fiscal_entity_id) }
}

export async function runNow(of: Organization & { extractor_id: string }): Promise<void> {
  expect((await of.ask('POST', `${EXTRACTORS}/${of.extractor_id}/run`)).status).toBe(200)
}

export const statusOf = async (of: Organization, fiscal_entity_id: string): Promise<string> =>
  (await api(of.owner, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}`)).body.status
