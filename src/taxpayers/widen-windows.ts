import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { bare } from '../platform/db/statement.ts'
import { epochDayOf } from '../platform/time/calendar.ts'
import { LATEST_STAMP_MS } from '../platform/time/months.ts'
import { connections } from './tables.ts'

/** How many granted ranges of a source a connection keeps. When some are forgotten, readers of the changes get everything again. */
export const MOST_GRANTED_RANGES = 256
/** How far behind UTC a month ends in the last of Mexico's time zones. */
const WESTERNMOST_SECONDS = 8 * 3_600

/** A member of an item in the stored form. */
const itemOf = (column: SQLiteColumn, path: string, n: number): SQL => sql`(${column}->>${sql.raw(`'$[${path}][${n}]'`)})`

/** A number of ours, in the text. */
const literal = (value: number): SQL => sql.raw(String(value))

/**
 * The granted ranges of a column, as numbered rows of the instant `at`, in milliseconds, and the floor, in days since 1970. The stored form
 * is `[[at, floor, count], [milliseconds, days, times], …]`: the last range and the number of ranges; then, from the first range on, the
 * steps by which instant and floor grow, each with the number of its repetitions. So the runs of every day are one item. `[]` without any.
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
 * The granted ranges of a column without every second one of the older half. It keeps ranges that reached further back than all before, and
 * ranges without which a month would not be reached: the next one begins after the month in which the previous one ended.
 */
const thinned = (column: SQLiteColumn): SQL => sql`
  select n, at, floor from (
    select *, min(floor) over (order by n rows between unbounded preceding and 1 preceding) as earliest,
      lead(floor) over (order by n) as next, lag(at) over (order by n) as previous from ${unpacked(column)})
  where n > ${literal(MOST_GRANTED_RANGES / 2)} or n % 2 = 1 or floor < earliest
    or strftime('%Y-%m', next * 86400, 'unixepoch') > strftime('%Y-%m', previous / 1000 - ${literal(WESTERNMOST_SECONDS)}, 'unixepoch')`

/**
 * The granted ranges of a column with another one, (j.ceiling, j.day), unless one of the last three covers it. They are unpacked only when
 * there are too many, once in many runs.
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
 * Widens the windows on issued or on received CFDIs to the earlier floor and the later ceiling, for connections that are active and have a
 * verified login, and notes the granted range, once even if the run is dispatched again. A run that reaches back as far as the revoked
 * ranges makes up for them, unless it was asked for a range of days alone. `from` is a day, `to` the instant of the run in milliseconds
 * since 1970; `last`, the last day of a range, is noted, too. There is at most one row for each connection. The result names the
 * connections. Both directions of a run are widened at the same time, `now`.
 */
export const widenWindows = (
  direction: 'issued' | 'received',
  rows: readonly { connection: number; from: string; to: number; last?: string | null }[],
  now: number,
): SQL => {
  const [grantedRanges, revoked] = [connections[`${direction}_granted_ranges`], connections[`${direction}_revoked`]]
  const [floor, ceiling] = [connections[`${direction}_from`], connections[`${direction}_to`]]
  const { widened_at, widened_before, state, ciec, ciec_verify_at, efirma, efirma_verify_at, efirma_valid_to } = connections
  const isWider = sql`coalesce(j.ceiling > ${ceiling} or j.floor < ${floor}, 1)`
  // A range raises the ceiling without asking for what was issued since the last run: the next run makes up for that.
  const unasked = sql`date(${ceiling} / 1000 - ${literal(LATEST_STAMP_MS / 1_000 + WESTERNMOST_SECONDS)}, 'unixepoch')`
  const values = rows.map(({ connection, from, to, last = null }) => [connection, from, epochDayOf(from), to, last && epochDayOf(last)])
  return sql`update ${connections} set
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
      returning ${bare(connections.connection)}`
}

/**
 * Revokes the granted ranges of connections from an instant on, in milliseconds, because they were not downloaded. Keeps their earliest
 * floor for the next run.
 */
export const revokeGrantedRanges = (revoked: readonly { connection: number; since: number }[]): SQL => {
  const revoke = (direction: 'issued' | 'received') => {
    const [column, kept] = [connections[`${direction}_granted_ranges`], connections[`${direction}_revoked`]]
    const grantedRanges = unpacked(column)
    const floor = sql`(select date(min(floor) * 86400, 'unixepoch') from ${grantedRanges} where at >= j.since)`
    return sql`${bare(column)} = ${packed(sql`(select n, at, floor from ${grantedRanges} where at < j.since)`)},
      ${bare(kept)} = coalesce(min(${kept}, ${floor}), ${kept}, ${floor})`
  }
  return sql`update ${connections} set ${revoke('issued')}, ${revoke('received')}
      from (select value->>0 as connection, value->>1 as since
        from json_each(${JSON.stringify(revoked.map(({ connection, since }) => [connection, since]))})) j
      where ${connections.connection} = j.connection`
}
