import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { alias } from 'drizzle-orm/sqlite-core'
import { syncJobs } from '../../../src/downloads/jobs/tables.ts'
import { idOfUuid } from '../../../src/platform/db/id.ts'
import { inlined } from '../../../src/platform/db/statement.ts'
import { requestersOf } from '../../../src/taxpayers/visibility/jobs.ts'

interface Fact {
  outbox_event_id: string
  kind: string
  entity: number
  organizations: string | null
  body: string
}

/** The databases with this table, of a service that has stopped. */
function databasesWith(stateDir: string, table: string): DatabaseSync[] {
  const folder = join(stateDir, 'v3', 'd1')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sqlite'))
  return files.flatMap((name) => {
    const database = new DatabaseSync(join(folder, name), { readOnly: true })
    if (database.prepare('select 1 from sqlite_master where name = ?').get(table)) return [database]
    database.close()
    return []
  })
}

/** When the service, running or not, last kept an object: documents come in. Databases are written to also where nothing is done. */
export const lastPut = (stateDir: string): number => statSync(join(stateDir, 'v3', 'r2', 'fiscal-local-files', 'blobs')).mtimeMs

/** What was told of a ledger's facts: one for each organization. Nothing else here knows where it is kept. */
function factsOf(stateDir: string, ledger: DatabaseSync): Fact[] {
  const left = ledger.prepare('select count(*) as n from outbox').get()!['n']
  if (left !== 0) throw new Error(`${left} facts have not been told.`)
  const entities = new Set(
    ledger
      .prepare('select entity from entities')
      .all()
      .map(({ entity }) => entity),
  )
  const connections = new Map(
    databasesWith(stateDir, 'connections').flatMap((control) => {
      const rows = control.prepare('select organization_id, fiscal_entity_id, entity from connections').all()
      control.close()
      return rows.map((row) => [`${row['organization_id']} ${row['fiscal_entity_id']}`, Number(row['entity'])] as const)
    }),
  )
  return databasesWith(stateDir, 'events').flatMap((shard) => {
    const rows = shard.prepare('select organization_id, body from events').all() as unknown as { organization_id: string; body: string }[]
    shard.close()
    return rows.flatMap(({ organization_id, body }) => {
      const { event, event_id, fiscal_entity_id } = JSON.parse(body) as Record<string, string>
      const of = fiscal_entity_id === undefined ? undefined : connections.get(`${organization_id} ${idOfUuid('fe', fiscal_entity_id)}`)
      return of === undefined || !entities.has(of)
        ? []
        : [{ outbox_event_id: event_id!, kind: event!, entity: of, organizations: JSON.stringify([organization_id]), body }]
    })
  })
}

const hasRows = (stateDir: string, table: string): boolean =>
  databasesWith(stateDir, table).some((database) => {
    const left = database.prepare(`select 1 from ${table} limit 1`).get()
    database.close()
    return left !== undefined
  })

/** Whether every job has ended and every fact has been told, of a service that runs. */
export const isNotified = (stateDir: string): boolean => !hasRows(stateDir, 'outbox') && !hasRows(stateDir, 'sync_work')

/** The reasons of what could not be handled, of a service that runs or has stopped. */
export const deadLettersOf = (stateDir: string): string[] =>
  databasesWith(stateDir, 'dead_letters').flatMap((control) => {
    const rows = control.prepare('select dead_letter_id, reason from dead_letters').all()
    control.close()
    return rows.map(({ dead_letter_id, reason }) => `${dead_letter_id}: ${reason}`)
  })

/** A job's identifier as a connection is shown it, like shownJobId of the service, which waits for its hash. */
function shownId(...of: readonly [fiscal_entity_id: string, source: string, month: string, job_id: string]): string {
  const bytes = createHash('sha256').update(JSON.stringify(of)).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return idOfUuid('job', bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))
}

/** A job `j` among all: those that one run requests for an RFC have the same identifier. */
const JOB = `(j.entity || ' ' || j.source || ' ' || j.month || ' ' || j.job_id)`

/** Who asked for a job `j`. */
const REQUESTERS = inlined(requestersOf(alias(syncJobs, 'j')))

/** The jobs of a ledger by the identifiers that connections are shown: who waited for a login knows a job by that of the one before. */
function shownJobs(stateDir: string, ledger: DatabaseSync): Map<string, string> {
  const connections = databasesWith(stateDir, 'connections').flatMap((control) => {
    const rows = control.prepare('select entity, organization_id, fiscal_entity_id from connections').all()
    control.close()
    return rows as { entity: number; organization_id: string; fiscal_entity_id: string }[]
  })
  const byEntity = Map.groupBy(connections, ({ entity }) => entity)
  const asked = `select j.*, ${REQUESTERS} as requesters, ${JOB} as job from sync_jobs j`
  const jobs = ledger.prepare(asked).all() as Record<'entity' | 'source' | 'month' | 'job_id' | 'deferred' | 'requesters' | 'job', string>[]
  return new Map(
    jobs.flatMap(({ entity, source, month, job_id, deferred, requesters, job }) => {
      const known = JSON.parse(deferred) as Record<string, string>
      const theirs = (byEntity.get(Number(entity)) ?? []).filter(({ organization_id }) => requesters.includes(organization_id))
      return theirs.map(({ organization_id, fiscal_entity_id }): [string, string] => [
        shownId(fiscal_entity_id, source, month, known[organization_id] ?? job_id),
        job,
      ])
    }),
  )
}

/** Lays the facts out as a table beside the ledger's own, for the questions below. */
function spread(stateDir: string, ledger: DatabaseSync): void {
  const jobs = shownJobs(stateDir, ledger)
  ledger.exec('create temp table facts (outbox_event_id, kind, entity, organizations, body, job)')
  ledger.exec('create index temp.facts_job on facts (job)')
  const insert = ledger.prepare('insert into facts values (?, ?, ?, ?, ?, ?)')
  for (const { outbox_event_id, kind, entity, organizations, body } of factsOf(stateDir, ledger))
    insert.run(outbox_event_id, kind, entity, organizations, body, jobs.get((JSON.parse(body) as { job_id?: string }).job_id ?? '') ?? null)
}

/** Jobs with who asked for them, as many times as a fact tells one of them of it. */
const NOTIFIED = `select ${JOB} as job, o.value as organization, (
    select count(*) from facts f cross join json_each(f.organizations) t
    where f.kind = 'sync.completed' and f.job = ${JOB} and t.value = o.value) as times
  from sync_jobs j cross join json_each(${REQUESTERS}) o`

/** What must not be found there: each a question and its answers. */
const FAULTS: Record<string, string> = {
  'jobs that are not settled with success': `select job_id, status, error_class, attempts from sync_jobs where status <> 'succeeded' or open <> 0`,
  'organizations that were not told once': `select * from (${NOTIFIED}) where times <> 1`,
  'facts that are there twice': `select outbox_event_id from facts group by outbox_event_id having count(*) > 1`,
  'facts of no job': `select outbox_event_id from facts where kind like 'sync.%' and not exists (
      select 1 from sync_jobs j where ${JOB} = facts.job)`,
  'jobs that count otherwise by day than in all': `select ${JOB} as job from sync_jobs j left join json_each(j.brought) b left join json_each(b.value) c
      where j.month <> '' group by 1
      having j.created_count <> coalesce(sum(iif(c.value->>0 = 'created', c.value->>2, 0)), 0)
        or j.updated_count <> coalesce(sum(iif(c.value->>0 = 'updated', c.value->>2, 0)), 0)
        or j.cancelled_count <> coalesce(sum(iif(c.value->>0 = 'cancelled', c.value->>2, 0)), 0)`,
  'months that say they created more or less than there is': `select c.entity, count(*) as kept, j.created from cfdi c
      join (select entity, sum(created_count) as created from sync_jobs where month <> '' group by entity) j on j.entity = c.entity
      group by c.entity having kept <> j.created`,
  'documents of a source that are there twice': `select entity, source, name from documents group by entity, source, name having count(*) > 1`,
  'cancellations that were told to an organization twice': `select entity, organizations, body->>'cfdi_uuid' as uuid from facts
      where kind = 'cfdi.cancelled' group by entity, organizations, uuid having count(*) > 1`,
}

/** What is wrong in the ledgers, and how much there was to look at. */
export function inspect(stateDir: string) {
  const found = { jobs: 0, interrupted: 0, facts: 0, faults: [] as string[] }
  for (const ledger of databasesWith(stateDir, 'sync_jobs')) {
    spread(stateDir, ledger)
    const count = (from: string) => Number(ledger.prepare(`select count(*) as n from ${from}`).get()!['n'])
    found.jobs += count('sync_jobs')
    found.interrupted += count('sync_jobs where attempts > 1')
    found.facts += count('facts')
    for (const [what, question] of Object.entries(FAULTS)) {
      const rows = ledger.prepare(question).all()
      if (rows.length > 0) found.faults.push(`${rows.length} ${what}: ${JSON.stringify(rows.slice(0, 5))}`)
    }
    ledger.close()
  }
  return found
}

interface Job {
  cell: string
  created_at: number
  started_at: number
  finished_at: number
}

/** What a tick came to: the cells of its jobs, who is told of them, and what was going on at each of some moments. */
export function tickOf(stateDir: string, instant: number, moments: readonly number[]) {
  const jobs: Job[] = []
  const notified: string[] = []
  const requests: { run_id: string; requested_at: number }[] = []
  for (const ledger of databasesWith(stateDir, 'sync_jobs')) {
    spread(stateDir, ledger)
    const cell = `e.rfc || ' ' || j.source || ' ' || j.month`
    const ask = (what: string, from: string) => ledger.prepare(`select ${what} from ${from} where j.as_of = ?`).all(instant)
    jobs.push(...(ask(`${cell} as cell, j.*`, 'sync_jobs j join entities e using (entity)') as unknown as Job[]))
    const facts = `facts f join sync_jobs j on f.job = ${JOB} join entities e on e.entity = j.entity, json_each(f.organizations) o`
    notified.push(...ask(`o.value || ' ' || ${cell} as notified`, facts).map((row) => String(row['notified'])))
    requests.push(
      ...(ledger.prepare('select run_id, requested_at from extractions where instant = ?').all(instant) as unknown as typeof requests),
    )
    ledger.close()
  }
  const planned = new Map<unknown, number>()
  for (const control of databasesWith(stateDir, 'runs')) {
    for (const run of control.prepare(`select run_id, created_at from runs where trigger = 'schedule' and instant = ?`).all(instant))
      planned.set(run['run_id'], Number(run['created_at']))
    control.close()
  }
  const during = moments.map((at) => ({
    at,
    /** Runs that were not there yet: their page was open, once the midnight had struck. */
    coming: [...planned.values()].filter((created_at) => at < created_at).length,
    /** Runs that had not asked yet for what they asked for. */
    planned: new Set(requests.flatMap(({ run_id, requested_at }) => (planned.get(run_id)! <= at && at < requested_at ? [run_id] : [])))
      .size,
    /** Jobs that wait or are worked on. */
    open: jobs.filter(({ created_at, finished_at }) => created_at <= at && at < finished_at).length,
    /** Jobs that somebody had taken up, maybe one who was killed since. */
    begun: jobs.filter(({ started_at, finished_at }) => started_at <= at && at < finished_at).length,
  }))
  return { cells: jobs.map(({ cell }) => cell).sort(), notified: notified.sort(), during }
}
