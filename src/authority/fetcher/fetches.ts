import type { FetchedFile, FetchRow } from './states.ts'

export interface FetchKey {
  entity: number
  source: string
  month: string
}

export const readFetch = (ledger: D1Database, { entity, source, month }: FetchKey) =>
  ledger.prepare('select * from fetches where entity = ?1 and source = ?2 and month = ?3').bind(entity, source, month).first<FetchRow>()

/** Offers what a job needs, anew when what is there is of an earlier job. */
export const offer = (ledger: D1Database, { entity, source, month }: FetchKey, asked_at: number) =>
  ledger
    .prepare(
      `insert into fetches (entity, source, month, asked_at, state, due_at) values (?1, ?2, ?3, ?4, 'offered', ?4)
       on conflict do update set asked_at = excluded.asked_at, due_at = excluded.due_at, state = 'offered', token = null, error_class = null
       where state <> 'leased' or due_at <= ?5`,
    )
    .bind(entity, source, month, asked_at, Date.now())

export const deleteFetch = (ledger: D1Database, fetch: number) => ledger.prepare('delete from fetches where fetch = ?').bind(fetch)

/** Fetches that can be leased. Of an RFC nothing is leased while something else of it is. */
export const dueFetches = async (ledger: D1Database, now: number, limit: number): Promise<FetchRow[]> =>
  (
    await ledger
      .prepare(
        `select f.* from fetches f indexed by fetches_due where f.due_at <= ?1
         and not exists (select 1 from fetches o where o.entity = f.entity and o.state = 'leased' and o.due_at > ?1) order by f.due_at limit ?2`,
      )
      .bind(now, limit)
      .all<FetchRow>()
  ).results

/** Takes the lease on a due fetch, unless somebody else has it now. What was brought under an earlier lease does not count. */
export const takeFetch = async (
  ledger: D1Database,
  { fetch, entity, due_at }: FetchRow,
  lease: { token: string; now: number; until: number; version: number; login: string },
): Promise<boolean> =>
  (
    await ledger
      .prepare(
        `update fetches set state = 'leased', token = ?3, leased_at = ?4, due_at = ?5, version = ?6, login = ?7, files = '{}', error_class = null
         where fetch = ?1 and due_at = ?2
           and not exists (select 1 from fetches o where o.entity = ?8 and o.state = 'leased' and o.due_at > ?4)`,
      )
      .bind(fetch, due_at, lease.token, lease.now, lease.until, lease.version, lease.login, entity)
      .run()
  ).meta.changes > 0

const HELD = 'fetch = ?1 and token = ?2'

/** The fetch of a lease; null when somebody else has it, or it is needed no longer. */
export const readHeld = (ledger: D1Database, fetch: number, token: string) =>
  ledger.prepare(`select * from fetches where ${HELD}`).bind(fetch, token).first<FetchRow>()

export const extendFetch = (ledger: D1Database, fetch: number, token: string, until: number) =>
  ledger.prepare(`update fetches set due_at = ?3 where ${HELD} and state = 'leased'`).bind(fetch, token, until)

/** Notes an upload. The first result has the one before of the same name. */
export const noteFile = (ledger: D1Database, fetch: number, token: string, name: string, file: FetchedFile): D1PreparedStatement[] => [
  ledger.prepare(`select files ->> ('$."' || ?3 || '".key') as key from fetches where ${HELD}`).bind(fetch, token, name),
  ledger
    .prepare(`update fetches set files = json_set(files, '$."' || ?3 || '"', json(?4)) where ${HELD} and state = 'leased'`)
    .bind(fetch, token, name, JSON.stringify(file)),
]

export const completeFetch = (ledger: D1Database, fetch: number, token: string, is_whole: boolean) =>
  ledger
    .prepare(`update fetches set state = 'complete', due_at = null, is_whole = ?3 where ${HELD} and state = 'leased'`)
    .bind(fetch, token, Number(is_whole))

/** Completes a fetch with these uploads, unless others were noted since. */
export const completeWith = (ledger: D1Database, { fetch, token, files }: FetchRow, completed: string) =>
  ledger
    .prepare(
      `update fetches set state = 'complete', due_at = null, is_whole = 1, files = ?3 where ${HELD} and state = 'leased' and files = ?4`,
    )
    .bind(fetch, token, completed, files)

export const failFetch = (ledger: D1Database, fetch: number, token: string, error_class: string) =>
  ledger
    .prepare(`update fetches set state = 'failed', due_at = null, error_class = ?3 where ${HELD} and state = 'leased'`)
    .bind(fetch, token, error_class)

/** Forgets what was leased, unless somebody else has the lease. */
export const dropFetch = (ledger: D1Database, fetch: number, token: string) =>
  ledger.prepare(`delete from fetches where ${HELD}`).bind(fetch, token)
