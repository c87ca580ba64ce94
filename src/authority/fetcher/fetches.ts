import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { connect } from '../../platform/db/commit.ts'
import { bare, readFirst, readRows } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { RowLease } from '../../platform/work/lease.ts'
import type { FetchedFile, FetchRow } from './states.ts'
import { fetches } from './tables.ts'

export interface FetchKey {
  entity: number
  source: string
  month: string
}

/** The lease of a fetcher on a fetch. */
export const fetchLease = new RowLease<{ fetch: number }>(fetches, ['fetch'], { until: fetches.due_at })

const f = alias(fetches, 'f')
const o = alias(fetches, 'o')
const [STATE, DUE_AT, TOKEN, FILES] = [bare(fetches.state), bare(fetches.due_at), bare(fetches.token), bare(fetches.files)]
const [ASKED_AT, IS_WHOLE, ERROR_CLASS] = [bare(fetches.asked_at), bare(fetches.is_whole), bare(fetches.error_class)]
const OFFERED = [fetches.entity, fetches.source, fetches.month, fetches.asked_at, fetches.state, fetches.due_at].map(bare)

export const readFetch = (ledger: D1Database, { entity, source, month }: FetchKey) =>
  readFirst(
    ledger,
    sql<FetchRow>`select * from ${fetches} where ${fetches.entity} = ${entity} and ${fetches.source} = ${source} and ${fetches.month} = ${month}`,
  )

/** Offers what a job needs, again if the existing offer is of an earlier job. */
export const offer = ({ entity, source, month }: FetchKey, asked_at: number) =>
  sql`insert into ${fetches} ${OFFERED} values (${entity}, ${source}, ${month}, ${asked_at}, 'offered', ${asked_at})
      on conflict do update set ${ASKED_AT} = excluded.${ASKED_AT}, ${DUE_AT} = excluded.${DUE_AT}, ${STATE} = 'offered', ${TOKEN} = null,
        ${ERROR_CLASS} = null
      where ${fetches.state} <> 'leased' or ${fetches.due_at} <= ${clock.now()}`

export const deleteFetch = (fetch: number) => sql`delete from ${fetches} where ${fetches.fetch} = ${fetch}`

/** The condition that nothing of an RFC is leased. */
const isFree = (entity: SQL, now: number): SQL =>
  sql`not exists (select 1 from ${fetches} ${o} where ${o.entity} = ${entity} and ${o.state} = 'leased' and ${o.due_at} > ${now})`

/** Fetches that can be leased. An RFC has at most one lease at a time. */
export const dueFetches = (ledger: D1Database, now: number, limit: number): Promise<FetchRow[]> =>
  readRows<FetchRow>(
    ledger,
    sql`select ${f}.* from ${fetches} ${f} indexed by fetches_due where ${f.due_at} <= ${now} and ${isFree(sql`${f.entity}`, now)}
        order by ${f.due_at} limit ${limit}`,
  )

/** Takes the lease on a due fetch, unless somebody else has it now. Uploads under an earlier lease do not count. */
export const takeFetch = async (
  ledger: D1Database,
  { fetch, entity, due_at }: FetchRow,
  { token, now, until, version, login }: { token: string; now: number; until: number; version: number; login: string },
): Promise<boolean> => {
  const { meta } = await connect(ledger)
    .update(fetches)
    .set({ state: 'leased', token, leased_at: now, due_at: until, version, login, files: '{}', error_class: null })
    .where(sql`${fetches.fetch} = ${fetch} and ${fetches.due_at} = ${due_at} and ${isFree(sql`${entity}`, now)}`)
  return meta.changes > 0
}

const hasToken = (fetch: number, token: string): SQL => fetchLease.isLeased({ fetch, token })
const isLeased = (fetch: number, token: string): SQL => sql`${hasToken(fetch, token)} and ${fetches.state} = 'leased'`

/** The fetch of a lease; null when somebody else has it, or it is needed no longer. */
export const readLeased = (ledger: D1Database, fetch: number, token: string) =>
  readFirst(ledger, sql<FetchRow>`select * from ${fetches} where ${hasToken(fetch, token)}`)

export const extendFetch = (fetch: number, token: string, until: number) =>
  sql`update ${fetches} set ${DUE_AT} = ${until} where ${isLeased(fetch, token)}`

/** Notes an upload. The first result has the earlier upload of the same name. */
export const noteFile = (fetch: number, token: string, name: string, file: FetchedFile): SQL[] => [
  sql`select ${fetches.files} ->> ${`$."${name}".key`} as key from ${fetches} where ${hasToken(fetch, token)}`,
  sql`update ${fetches} set ${FILES} = json_set(${fetches.files}, ${`$."${name}"`}, json(${JSON.stringify(file)})) where ${isLeased(fetch, token)}`,
]

export const completeFetch = (fetch: number, token: string, is_whole: boolean) =>
  sql`update ${fetches} set ${STATE} = 'complete', ${DUE_AT} = null, ${IS_WHOLE} = ${Number(is_whole)} where ${isLeased(fetch, token)}`

/** Completes a fetch with these uploads, unless others were noted since. */
export const completeWith = ({ fetch, token, files }: FetchRow, completed: string) =>
  sql`update ${fetches} set ${STATE} = 'complete', ${DUE_AT} = null, ${IS_WHOLE} = 1, ${FILES} = ${completed}
      where ${isLeased(fetch, token!)} and ${fetches.files} = ${files}`

export const failFetch = (fetch: number, token: string, error_class: string) =>
  sql`update ${fetches} set ${STATE} = 'failed', ${DUE_AT} = null, ${ERROR_CLASS} = ${error_class} where ${isLeased(fetch, token)}`

/** Forgets a leased fetch, unless somebody else has the lease. */
export const dropFetch = (fetch: number, token: string) => sql`delete from ${fetches} where ${hasToken(fetch, token)}`
