import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Ledgers of a service that has stopped. */
function ledgersOf(stateDir: string): DatabaseSync[] {
  const folder = join(stateDir, 'v3', 'd1')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sqlite'))
  return files.flatMap((name) => {
    const database = new DatabaseSync(join(folder, name), { readOnly: true })
    if (database.prepare(`select 1 from sqlite_master where name = 'sync_jobs'`).get()) return [database]
    database.close()
    return []
  })
}

/** Jobs with who asked for them, as many times as a fact tells one of them of it. */
const TOLD = `select j.job_id, o.value as organization, (
    select count(*) from outbox f cross join json_each(f.organizations) t
    where f.kind = 'sync.completed' and f.body->>'job_id' = j.job_id and t.value = o.value) as times
  from sync_jobs j cross join json_each(j.organizations) o`

/** What must not be found there: each a question and its answers. */
const FAULTS: Record<string, string> = {
  'jobs that are not settled with success': `select job_id, status, error_class, attempts from sync_jobs where status <> 'succeeded' or open <> 0`,
  'organizations that were not told once': `select * from (${TOLD}) where times <> 1`,
  'facts of no job': `select fact_id from outbox where kind like 'sync.%' and not exists (
      select 1 from sync_jobs j where j.job_id = outbox.body->>'job_id')`,
  'facts that differ from their job': `select fact_id from outbox f join sync_jobs j on j.job_id = f.body->>'job_id'
      where f.kind like 'sync.%' and (f.body->>'created_count', f.body->>'updated_count', f.body->>'cancelled_count')
        is not (j.created_count, j.updated_count, j.cancelled_count)`,
  'months that say they created more or less than there is': `select c.entity, count(*) as kept, j.created from cfdi c
      join (select entity, sum(created_count) as created from sync_jobs where month <> '' group by entity) j on j.entity = c.entity
      group by c.entity having kept <> j.created`,
  'documents of a source that are there twice': `select entity, source, name from documents group by entity, source, name having count(*) > 1`,
  'cancellations that were not told once': `select j.entity, j.cancelled, count(f.fact_id) as told
      from (select entity, sum(cancelled_count) as cancelled from sync_jobs group by entity) j
      left join outbox f on f.entity = j.entity and f.kind = 'cfdi.cancelled'
      group by j.entity having told <> j.cancelled`,
}

/** What is wrong in the ledgers, and how much there was to look at. */
export function inspect(stateDir: string) {
  const found = { jobs: 0, interrupted: 0, facts: 0, faults: [] as string[] }
  for (const ledger of ledgersOf(stateDir)) {
    const count = (table: string) => Number(ledger.prepare(`select count(*) as n from ${table}`).get()!['n'])
    found.jobs += count('sync_jobs')
    found.interrupted += count('sync_jobs where attempts > 1')
    found.facts += count('outbox')
    for (const [what, question] of Object.entries(FAULTS)) {
      const rows = ledger.prepare(question).all()
      if (rows.length > 0) found.faults.push(`${rows.length} ${what}: ${JSON.stringify(rows.slice(0, 5))}`)
    }
    ledger.close()
  }
  return found
}
