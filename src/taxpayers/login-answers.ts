import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { kindOf, LOGIN_KINDS, type Login, type LoginKind, loginValue } from '../authority/port/login.ts'
import { raiseAlerts } from '../platform/alerts/alerts.ts'
import { auditedEach } from '../platform/audit/audit.ts'
import type { System } from '../platform/context.ts'
import { commit, type Database, type Statement } from '../platform/db/commit.ts'
import { isConflict, retryOnConflict } from '../platform/db/retry.ts'
import { bare, prepared } from '../platform/db/statement.ts'
import { Failure } from '../platform/failures.ts'
import { insertOutboxEvents, wakeRelay } from '../platform/outbox/outbox.ts'
import type { RefusedReason } from '../platform/tenant/tenant.ts'
import { epochDayOf } from '../platform/time/calendar.ts'
import { LATEST_STAMP_MS } from '../platform/time/months.ts'
import { canLogIn, readLogin, type VersionedLogin } from './login.ts'
import {
  assertLoginVersion,
  assertStatesUnchanged,
  bumpLoginVersion,
  connectionsWithLogin,
  eraseLogin,
  invalidateLogin,
  type LoginRow,
  loginVersion,
  markVerified,
  requireVerification,
} from './login-store.ts'
import { connections } from './tables.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** How many granted ranges of a source a connection keeps. When some are forgotten, whoever follows the changes gets everything again. */
export const MOST_GRANTED_RANGES = 256
/** How far behind UTC a month ends in the last of Mexico's time zones. */
const WESTERNMOST_SECONDS = 8 * 3_600

/** A member of an item in the stored form. */
const itemOf = (column: SQLiteColumn, path: string, n: number): SQL => sql`(${column}->>${sql.raw(`'$[${path}][${n}]'`)})`

/** A number of ours, in the text. */
const literal = (value: number): SQL => sql.raw(String(value))

/**
 * The granted ranges of a column, as numbered rows of the instant `at`, in milliseconds, and the floor, in days since 1970. They are stored as
 * `[[at, floor, count], [milliseconds, days, times], …]`: the last range with their number; then, from the first one on, how much later than those
 * of the range before both are, so many times in a row. So the runs of every day are one item. `[]` without any.
 */
const unpacked = (column: SQLiteColumn): SQL => sql`(
  with recursive steps (key, later, further, times) as (
    select 0, ${itemOf(column, '0', 0)} - coalesce(sum((value->>0) * (value->>2)), 0),
      ${itemOf(column, '0', 1)} - coalesce(sum((value->>1) * (value->>2)), 0), 1
    from json_each(${column}) where key > 0 having ${column} <> '[]'
    union all select key, value->>0, value->>1, value->>2 from json_each(${column}) where key > 0
    union all select key, later, further, times - 1 from steps where times > 1)
  select row_number() over each as n, sum(later) over each as at, sum(further) over each as floor
  from steps window each as (order by key, times desc))`

/** The stored form of such rows. */
const packed = (rows: SQL): SQL => sql`coalesce((
  select json_set(list, '$[0]', json_array(at, floor, size)) from (
    select json_group_array(json_array(later, further, times) order by n) as list from (
      select min(n) as n, later, further, count(*) as times from (
        select n, later, further, sum(is_other) over (order by n) as item from (
          select *, later is not lag(later) over (order by n) or further is not lag(further) over (order by n) as is_other from (
            select n, at - lag(at, 1, 0) over (order by n) as later, floor - lag(floor, 1, 0) over (order by n) as further from ${rows})))
      group by item))
  cross join (select at, floor, count(*) over () as size from ${rows} order by n desc limit 1)), '[]')`

/**
 * The granted ranges of a column without every second one of the older half, except those that reached further back than
 * all before them, and those without which a month would no longer be reached: the next one begins after the month in which the previous one
 * ended.
 */
const thinned = (column: SQLiteColumn): SQL => sql`
  select n, at, floor from (
    select *, min(floor) over (order by n rows between unbounded preceding and 1 preceding) as earliest,
      lead(floor) over (order by n) as next, lag(at) over (order by n) as previous from ${unpacked(column)})
  where n > ${literal(MOST_GRANTED_RANGES / 2)} or n % 2 = 1 or floor < earliest
    or strftime('%Y-%m', next * 86400, 'unixepoch') > strftime('%Y-%m', previous / 1000 - ${literal(WESTERNMOST_SECONDS)}, 'unixepoch')`

/**
 * The granted ranges of a column with another one, (j.ceiling, j.day), unless it is among the last three. Only when there are too many, which is once
 * in many runs, they are unpacked.
 */
const added = (column: SQLiteColumn): SQL => {
  const item = (path: string) => [0, 1, 2].map((n) => itemOf(column, path, n)) as [SQL, SQL, SQL]
  const [[at, floor, size], [later, further, times], before] = [item('0'), item('#-1'), item('#-2')]
  const [laterBefore, furtherBefore] = [sql`iif(${times} > 1, ${later}, ${before[0]})`, sql`iif(${times} > 1, ${further}, ${before[1]})`]
  return sql`case when ${column} = '[]' then json_array(json_array(j.ceiling, j.day, 1)) else (
    select case
      when later = 0 and further >= 0 or later + ${later} = 0 and further + ${further} >= 0
        or later + ${later} + ${laterBefore} = 0 and further + ${further} + ${furtherBefore} >= 0 then ${column}
      when ${size} >= ${literal(MOST_GRANTED_RANGES)} then ${packed(sql`(${thinned(column)} union all select 1e9, j.ceiling, j.day)`)}
      else json_set(
        iif(later = ${later} and further = ${further}, json_set(${column}, '$[#-1][2]', ${times} + 1),
          json_insert(${column}, '$[#]', json_array(later, further, 1))),
        '$[0]', json_array(j.ceiling, j.day, ${size} + 1)) end
    from (select j.ceiling - ${at} as later, j.day - ${floor} as further)) end`
}

/** How many ranges of days a connection keeps. */
const MOST_RANGES = 64

/** The ranges of a connection with another one, (j.ceiling, j.day, j.last), unless it is the last one. */
const { asked_ranges } = connections
const noted = sql`iif(j.last is null or ${itemOf(asked_ranges, '#-1', 0)} is j.ceiling
  and ${itemOf(asked_ranges, '#-1', 1)} is j.day, ${asked_ranges},
  json_insert(iif(json_array_length(${asked_ranges}) < ${literal(MOST_RANGES)}, ${asked_ranges}, json_remove(${asked_ranges}, '$[0]')),
    '$[#]', json_array(j.ceiling, j.day, j.last)))`

/**
 * Widens the windows on issued or on received CFDIs to the earlier floor and the later ceiling (decisions.md 6), of connections that are
 * active and have a verified login, and notes what the run reached, once when the run is dispatched again. A run that reaches back as far as
 * what was revoked makes up for it, unless it was asked for a range of days alone. `from` is a day, `to` the instant of the run in
 * milliseconds since 1970; `last`, the last day of a range, is noted, too. There is at most one row for each connection. The result names the
 * connections. Both directions of a run are widened at the same time, `now`.
 */
export const widenWindows = (
  db: Database,
  direction: 'issued' | 'received',
  rows: readonly { connection: number; from: string; to: number; last?: string | null }[],
  now: number,
): D1PreparedStatement => {
  const [grantedRanges, revoked] = [connections[`${direction}_granted_ranges`], connections[`${direction}_revoked`]]
  const [floor, ceiling] = [connections[`${direction}_from`], connections[`${direction}_to`]]
  const { widened_at, widened_before, state, ciec, ciec_verify_at, efirma, efirma_verify_at, efirma_valid_to } = connections
  const isWider = sql`coalesce(j.ceiling > ${ceiling} or j.floor < ${floor}, 1)`
  // A range raises the ceiling without asking for what was issued since the last run: the next run makes up for that.
  const unasked = sql`date(${ceiling} / 1000 - ${literal(LATEST_STAMP_MS / 1_000 + WESTERNMOST_SECONDS)}, 'unixepoch')`
  const values = rows.map(({ connection, from, to, last = null }) => [connection, from, epochDayOf(from), to, last && epochDayOf(last)])
  return prepared(
    db.$client,
    sql`update ${connections} set
        ${bare(grantedRanges)} = ${added(grantedRanges)},
        ${bare(asked_ranges)} = ${noted},
        ${bare(revoked)} = case
          when j.last is not null then coalesce(min(${revoked}, ${unasked}), ${revoked}, ${unasked})
          when ${revoked} < j.floor then ${revoked} end,
        ${bare(widened_before)} = iif(${isWider} and ${widened_at} is not ${now}, ${widened_at}, ${widened_before}),
        ${bare(widened_at)} = iif(${isWider}, ${now}, ${widened_at}),
        ${bare(floor)} = min(coalesce(${floor}, j.floor), j.floor),
        ${bare(ceiling)} = max(coalesce(${ceiling}, j.ceiling), j.ceiling)
      from (
        select value->>0 as connection, value->>1 as floor, value->>2 as day, value->>3 as ceiling, value->>4 as last
        from json_each(${JSON.stringify(values)})) j
      where ${connections.connection} = j.connection and ${state} = 'active' and (
        ${ciec} is not null and ${ciec_verify_at} is null
        or ${efirma} is not null and ${efirma_verify_at} is null and ${efirma_valid_to} >= ${now})
      returning ${bare(connections.connection)}`,
  )
}

/**
 * Strikes what the runs of connections reached at an instant, in milliseconds, or later, because it was not downloaded. How far back that was
 * is kept for the next run.
 */
export const revokeGrantedRanges = (db: Database, strikes: readonly { connection: number; since: number }[]): D1PreparedStatement => {
  const revoked = (direction: 'issued' | 'received') => {
    const [column, kept] = [connections[`${direction}_granted_ranges`], connections[`${direction}_revoked`]]
    const grantedRanges = unpacked(column)
    const floor = sql`(select date(min(floor) * 86400, 'unixepoch') from ${grantedRanges} where at >= j.since)`
    return sql`${bare(column)} = ${packed(sql`(select n, at, floor from ${grantedRanges} where at < j.since)`)},
      ${bare(kept)} = coalesce(min(${kept}, ${floor}), ${kept}, ${floor})`
  }
  return prepared(
    db.$client,
    sql`update ${connections} set ${revoked('issued')}, ${revoked('received')}
      from (select value->>0 as connection, value->>1 as since
        from json_each(${JSON.stringify(strikes.map(({ connection, since }) => [connection, since]))})) j
      where ${connections.connection} = j.connection`,
  )
}

/** What happened to a login, and what the connection goes on with. */
const message = ({ rfc, efirma_number, efirma_valid_to }: ConnectionRow, reason: RefusedReason): string => {
  switch (reason) {
    case 'rejected':
      return `The tax authority rejected the CIEC of ${rfc}, and it was erased. Downloads go on with the e.firma.`
    case 'efirma_refused':
      return `The tax authority refused the e.firma ${efirma_number} of ${rfc}, and it was erased. Downloads go on with the CIEC.`
    case 'efirma_expired':
      return `The e.firma ${efirma_number} of ${rfc} expired at ${efirma_valid_to?.toISOString()}, and it was erased. Downloads go on with the CIEC.`
  }
}

const message_es = ({ rfc, efirma_number, efirma_valid_to }: ConnectionRow, reason: RefusedReason): string => {
  switch (reason) {
    case 'rejected':
      return `El SAT rechazó la CIEC de ${rfc} y se borró. Las descargas continúan con la e.firma.`
    case 'efirma_refused':
      return `El SAT rechazó la e.firma ${efirma_number} de ${rfc} y se borró. Las descargas continúan con la CIEC.`
    case 'efirma_expired':
      return `La e.firma ${efirma_number} de ${rfc} venció el ${efirma_valid_to?.toISOString()} y se borró. Las descargas continúan con la CIEC.`
  }
}

/**
 * Raises an alert for each organization of connections that lose one of their two logins, once for each version of the RFC's logins of that
 * kind. A repetition changes nothing.
 */
async function notifyRefused(system: System, rows: readonly ConnectionRow[], reason: RefusedReason, version: number): Promise<void> {
  if (rows.length === 0) return
  const ids = JSON.stringify(rows.map(({ organization_id }) => organization_id))
  const { results } = await prepared(
    system.db.$client,
    sql`select id, events_shard from organizations where id in (select value from json_each(${ids}))`,
  ).all<{ id: string; events_shard: number }>()
  const shards = new Map(results.map(({ id, events_shard }) => [id, events_shard]))
  const drafts = rows.map((row) => ({
    organization_id: row.organization_id,
    events_shard: shards.get(row.organization_id)!,
    kind: 'connection.login_refused' as const,
    severity: 'warning' as const,
    dedupe_key: `connection.login_refused:${row.fiscal_entity_id}:${reason}:${version}`,
    resource_id: row.fiscal_entity_id,
    message: message(row, reason),
    message_es: message_es(row, reason),
  }))
  await raiseAlerts(system, drafts, system.now)
}

/** The version of an RFC's logins of this kind, to read before the authority is asked about one. */
export const loginVersionOf = ({ db }: System, login: Login): Promise<number> => loginVersion(db, login.rfc, kindOf(login))

export const changing = () => new Failure('contention', 'fiscal_entity.changed', 'The connections to this RFC keep changing.')

/**
 * The connections whose stored login of this kind counts: those that hold this one, and the others. A login that cannot be opened is another
 * one. A CIEC is compared with CIECs, and an e.firma with e.firmas, which are the same if their certificates are.
 */
async function holdersOf(system: System, entity: number, login: Login): Promise<{ same: LoginRow[]; others: LoginRow[] }> {
  const kind = kindOf(login)
  const same: LoginRow[] = []
  const others: LoginRow[] = []
  for (const { row } of await connectionsWithLogin(system.db, entity, kind))
    ((await holdsThis(system, row, login)) ? same : others).push(row)
  return { same, others }
}

/** Whether a connection holds this login. */
export async function holdsThis(system: System, row: LoginRow, login: Login): Promise<boolean> {
  const stored = await readLogin(system, row, kindOf(login))
  return stored !== null && loginValue(stored) === loginValue(login)
}

/**
 * The statements that go with storing an accepted login. Every other one of its kind that is held for the RFC has to be verified from now
 * on. Equal ones are verified, and `isVerified` is true, unless another one was accepted or refused since the authority was asked. The
 * commit is refused when one is accepted or refused meanwhile.
 */
export async function acceptance(system: System, entity: number, { login, version }: VersionedLogin, own?: number) {
  const { db } = system
  const kind = kindOf(login)
  const current = await loginVersion(db, login.rfc, kind)
  const holders = await holdersOf(system, entity, login)
  const same = holders.same.filter(({ connection }) => connection !== own)
  const others = holders.others.filter(({ connection }) => connection !== own)
  const isVerified = current === version
  const statements: Statement[] = [
    assertLoginVersion(db, login.rfc, kind, current),
    bumpLoginVersion(db, login.rfc, kind),
    ...(others.length > 0 ? [requireVerification(db, others, kind, new Date())] : []),
    ...(isVerified && same.length > 0 ? [markVerified(db, same, kind)] : []),
  ]
  return { statements, isVerified, areOthersOutstanding: others.length > 0 }
}

/**
 * Records that the tax authority refused a login: every connection that holds it becomes invalid_ciec, a paused one for when it is resumed,
 * unless it goes on with a login of the other kind; and every other login of this kind and RFC has to be verified. The same commit writes
 * each organization's outbox event and audit event. When another login of this kind was accepted or refused since the authority was asked,
 * the refused one has to be verified instead. `stopped` has the instants of the first runs whose downloads the refusal stopped, in milliseconds,
 * by organization: connections without another login reached nothing with these and with later runs.
 */
export async function rejectLogin(
  system: System,
  entity: number,
  { login, version }: VersionedLogin,
  stopped: ReadonlyMap<string, number> = new Map(),
): Promise<void> {
  const { db } = system
  const kind = kindOf(login)
  await retryOnConflict(async () => {
    const current = await loginVersion(db, login.rfc, kind)
    const { same, others } = await holdersOf(system, entity, login)
    if (same.length === 0) return
    const refused = { kind, reason: kind === 'ciec' ? 'rejected' : 'efirma_refused', version, stopped } as const
    const outcome =
      current === version
        ? [
            ...(await invalidation(system, entity, same, refused)),
            bumpLoginVersion(db, login.rfc, kind),
            ...(others.length > 0 ? [requireVerification(db, others, kind, new Date())] : []),
          ]
        : [requireVerification(db, same, kind, new Date())]
    await commit(db.$client, [assertLoginVersion(db, login.rfc, kind, current), ...outcome])
  }, changing)
  await wakeRelay(system, 'control')
}

/** What the outbox event of a connection says that has no valid login any more. */
export interface InvalidBody {
  rejected_at: string
  invalid_reason: RefusedReason
}

/** Why the logins of a kind of some connections are of no use any more, and the version of the RFC's logins of that kind. */
interface Refused {
  kind: LoginKind
  reason: RefusedReason
  version: number
  stopped?: ReadonlyMap<string, number>
}

/**
 * The statements that end logins. Those who go on with another login get an alert, which is raised before the commit, so that no crash
 * prevents it.
 */
async function invalidation(system: System, entity: number, rows: readonly LoginRow[], refused: Refused): Promise<Statement[]> {
  const { db, now } = system
  const { kind, reason, version, stopped } = refused
  const others = LOGIN_KINDS.filter((one) => one !== kind)
  const [going = [], ended = []] = [true, false].map((goesOn) => rows.filter((row) => canLogIn(system, row, others) === goesOn))
  const strikes = ended.flatMap(({ connection, organization_id }) => {
    const since = stopped?.get(organization_id)
    return since === undefined ? [] : { connection, since }
  })
  await notifyRefused(system, going, reason, version)
  const audited = (of: readonly LoginRow[], changed: string) =>
    auditedEach(
      { ...system, actor: { kind: 'system', process: 'downloads' } },
      of.map((row) => ({ organization_id: row.organization_id, resource_id: row.fiscal_entity_id })),
      { action: `fiscal_entity.${kind}_invalid`, changed: [changed] },
    )
  return [
    assertStatesUnchanged(db, rows, kind),
    ...(going.length === 0 ? [] : [eraseLogin(db, going, kind, now), ...audited(going, kind)]),
    ...(ended.length === 0 ? [] : [invalidateLogin(db, ended, kind, reason, now), ...audited(ended, 'status')]),
    ...(strikes.length === 0 ? [] : [revokeGrantedRanges(db, strikes)]),
    ...insertOutboxEvents(
      db.$client,
      ended.map((row) => ({
        outbox_event_id: `connection.ciec_invalid:${row.connection}:${kind === 'ciec' ? '' : 'efirma:'}${version}`,
        kind: 'connection.ciec_invalid',
        entity,
        organizations: [row.organization_id],
        body: { rejected_at: now.toISOString(), invalid_reason: reason } satisfies InvalidBody,
      })),
      now.getTime(),
    ),
  ]
}

/** Gives up an e.firma that has ended. It says nothing about the others of the RFC. Returns false when the connection has changed since. */
export const expireEfirma = (system: System, entity: number, row: LoginRow, version: number): Promise<boolean> =>
  committed(system, async () => [
    assertLoginVersion(system.db, row.rfc, 'efirma', version),
    ...(await invalidation(system, entity, [row], { kind: 'efirma', reason: 'efirma_expired', version })),
  ])

/** Commits, and wakes the relay. Returns false when a guard refuses it. */
async function committed(system: System, statements: () => Promise<Statement[]>): Promise<boolean> {
  try {
    await commit(system.db.$client, await statements())
  } catch (error) {
    if (!isConflict(error)) throw error
    return false
  }
  await wakeRelay(system, 'control')
  return true
}

/** A conflict leaves the login unverified, because another one was accepted or refused since the authority was asked. */
export async function keepVerified(system: System, entity: number, { login, version }: VersionedLogin): Promise<void> {
  const kind = kindOf(login)
  const { same } = await holdersOf(system, entity, login)
  if (same.length === 0) return
  try {
    await commit(system.db.$client, [assertLoginVersion(system.db, login.rfc, kind, version), markVerified(system.db, same, kind)])
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
