import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { created, draft, EXTRACTORS } from '../../extractors/support/extractors.ts'
import { api } from '../../support/client.ts'
import { connect, type Organization, organization } from '../../support/tenants.ts'

export interface Kept {
  fact_id: string
  kind: string
  entity: number
  organizations: string[] | null
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
  body: Record<string, any>
}

const JOBS_LISTED = `select value from outbox, json_each(outbox.body) where outbox.entity = ?1 and kind = 'jobs' and organizations is null
  union select value from sync_work, json_each(sync_work.jobs) where sync_work.entity = ?1`

/** The ends of an entity's jobs that are still to be relayed to all who asked for them before. */
async function endsOf(entity: number): Promise<Kept[]> {
  const { results } = await env.LEDGER_0.prepare(
    `select s.* from (${JOBS_LISTED}) j cross join sync_jobs s
       on s.entity = ?1 and s.source = j.value->>0 and s.month = j.value->>1 and s.job_id = j.value->>2
     where s.open = 0`,
  )
    .bind(entity)
    .all<JobRow & { late: string | null; finished_at: number }>()
  return results.map(({ source, month, job_id, status, error_class, attempts, finished_at, organizations, late }) => {
    const kind = status === 'succeeded' ? 'sync.completed' : 'sync.failed'
    const named = (JSON.parse(organizations) as string[]).filter((one) => !(JSON.parse(late ?? '[]') as string[]).includes(one))
    const body = { job_id, data_source_key: source, period: month || null, error_class, attempts, completed_at: finished_at }
    return { fact_id: `${kind}:${source}:${month}:${job_id}`, kind, entity, organizations: named, body }
  })
}

/** The facts about an entity in either outbox, of kinds that begin so. */
export async function factsOf(entity: number, kind: string): Promise<Kept[]> {
  const read = (database: D1Database) =>
    database.prepare("select * from outbox where entity = ? and kind like ? || '%' order by fact_id").bind(entity, kind)
  const rows = (await Promise.all([env.DB, env.LEDGER_0].map((database) => read(database).all<Record<string, string>>()))).flatMap(
    (it) => it.results,
  )
  const facts = rows.map(
    (row) => ({ ...row, organizations: JSON.parse(row['organizations'] ?? 'null'), body: JSON.parse(row['body']!) }) as unknown as Kept,
  )
  const ends = (await endsOf(entity)).filter((end) => end.kind.startsWith(kind))
  return [...facts, ...ends].filter((fact) => fact.kind !== 'jobs').sort((a, b) => (a.fact_id < b.fact_id ? -1 : 1))
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
