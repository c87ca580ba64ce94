import { env } from 'cloudflare:workers'
import { beforeEach, expect, it } from 'vitest'
import { waitingSince } from '../../src/downloads/progress-store.ts'
import type { Job } from '../../src/downloads/store.ts'

const ENTITY = 8_117
const key = (month: string, job_id: string) => ['sat_cfdi_issued', month, job_id] as const

async function insertJob(
  month: string,
  job_id: string,
  requesters: readonly string[],
  deferred: Record<string, string> = {},
): Promise<void> {
  await env.LEDGER_0.prepare(
    `insert into sync_jobs (entity, source, month, job_id, organizations, deferred, open, as_of, not_before, attempts, created_after,
       created_count, updated_count, cancelled_count, rejected_count) values (?, 'sat_cfdi_issued', ?, ?, ?, ?, 1, 1, 0, 0, 0, 0, 0, 0, 0)`,
  )
    .bind(ENTITY, month, job_id, JSON.stringify(requesters), JSON.stringify(deferred))
    .run()
}

async function insertRun(organization_id: string, run_id: string, instant: number, jobs: object): Promise<void> {
  await env.LEDGER_0.prepare(
    `insert into extractions (organization_id, entity, run_id, instant, jobs, dispatched, requested_at, attempts_before)
     values (?, ?, ?, ?, jsonb(?), 1, ?, '{}')`,
  )
    .bind(organization_id, ENTITY, run_id, instant, JSON.stringify(jobs), instant)
    .run()
}

beforeEach(async () => {
  const jobs = JSON.stringify([key('2026-01', 'j1'), key('2026-02', 'j2')])
  await env.LEDGER_0.prepare('insert into sync_work (entity, jobs, due_at) values (?, ?, 0)').bind(ENTITY, jobs).run()
  await insertJob('2026-01', 'j1', ['org_a', 'org_b'])
  await insertJob('2026-02', 'j2', ['org_a', 'org_c'])
  const [january, february] = [{ j1: { sat_cfdi_issued: ['2026-01'] } }, { j2: { sat_cfdi_issued: ['2026-02'] } }]
  await insertRun('org_a', 'run_1', 100, february)
  await insertRun('org_a', 'run_2', 200, { ...january, ...february })
  await insertRun('org_b', 'run_3', 50, { j0: { sat_cfdi_issued: ['2026-01'] } })
  await insertRun('org_b', 'run_4', 300, january)
  await insertRun('org_c', 'run_5', 400, february)
})

it('an organization waits since its own run for the job that is refused, or else for the others that are open', async () => {
  const [source, month, job_id] = key('2026-01', 'j1')
  const since = await waitingSince(env.LEDGER_0, { entity: ENTITY, source, month, job_id } as Job)
  // a asked for this job with its second run; b joined it with its second run, whoever asked first; c waits for another job.
  expect([...since].sort()).toEqual([
    ['org_a', 200],
    ['org_b', 300],
    ['org_c', 400],
  ])
})
