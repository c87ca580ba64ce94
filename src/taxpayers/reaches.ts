import { sql } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { prepared } from '../platform/db/statement.ts'
import { epochDayOf } from '../platform/time/calendar.ts'
import { LATEST_STAMP_MS } from '../platform/time/months.ts'

/** How many reaches of a source a connection keeps. When some are forgotten, whoever follows the changes is told everything again. */
export const MOST_REACHES = 256
/** How far behind UTC a month ends in the last of Mexico's time zones. */
const WESTERNMOST_SECONDS = 8 * 3_600

/**
 * The reaches of a column, as numbered rows of the instant `at`, in milliseconds, and the floor, in days since 1970. They are stored as
 * `[[at, floor, count], [milliseconds, days, times], …]`: the last reach with their number; then, from the first one on, how much later than those
 * of the reach before both are, so many times in a row. So the runs of every day are one item. `[]` without any.
 */
const unpacked = (column: string): string => `(
  with recursive steps (key, later, further, times) as (
    select 0, ${[0, 1].map((n) => `${column}->>'$[0][${n}]' - coalesce(sum((value->>${n}) * (value->>2)), 0)`)}, 1
    from json_each(${column}) where key > 0 having ${column} <> '[]'
    union all select key, value->>0, value->>1, value->>2 from json_each(${column}) where key > 0
    union all select key, later, further, times - 1 from steps where times > 1)
  select row_number() over each as n, sum(later) over each as at, sum(further) over each as floor
  from steps window each as (order by key, times desc))`

/** The stored form of such rows. */
const packed = (rows: string): string => `coalesce((
  select json_set(list, '$[0]', json_array(at, floor, size)) from (
    select json_group_array(json_array(later, further, times) order by n) as list from (
      select min(n) as n, later, further, count(*) as times from (
        select n, later, further, sum(is_other) over (order by n) as item from (
          select *, later is not lag(later) over (order by n) or further is not lag(further) over (order by n) as is_other from (
            select n, at - lag(at, 1, 0) over (order by n) as later, floor - lag(floor, 1, 0) over (order by n) as further from ${rows})))
      group by item))
  cross join (select at, floor, count(*) over () as size from ${rows} order by n desc limit 1)), '[]')`

/**
 * The reaches of a column without every second one of the older half, except those that reached further back than
 * all before them, and those without which a month would no longer be reached: the next one begins after the month in which the previous one
 * ended.
 */
const thinned = (column: string): string => `
  select n, at, floor from (
    select *, min(floor) over (order by n rows between unbounded preceding and 1 preceding) as earliest,
      lead(floor) over (order by n) as next, lag(at) over (order by n) as previous from ${unpacked(column)})
  where n > ${MOST_REACHES / 2} or n % 2 = 1 or floor < earliest
    or strftime('%Y-%m', next * 86400, 'unixepoch') > strftime('%Y-%m', previous / 1000 - ${WESTERNMOST_SECONDS}, 'unixepoch')`

/**
 * The reaches of a column with another one, (j.ceiling, j.day), unless it is among the last three. Only when there are too many, which is once
 * in many runs, they are unpacked.
 */
const added = (column: string): string => {
  const item = (place: string) => [0, 1, 2].map((n) => `(${column}->>'$[${place}][${n}]')`)
  const [[at, floor, size], [later, further, times], before] = [item('0'), item('#-1'), item('#-2')]
  const [laterBefore, furtherBefore] = [later, further].map((own, n) => `iif(${times} > 1, ${own}, ${before![n]})`)
  return `case when ${column} = '[]' then json_array(json_array(j.ceiling, j.day, 1)) else (
    select case
      when later = 0 and further >= 0 or later + ${later} = 0 and further + ${further} >= 0
        or later + ${later} + ${laterBefore} = 0 and further + ${further} + ${furtherBefore} >= 0 then ${column}
      when ${size} >= ${MOST_REACHES} then ${packed(`(${thinned(column)} union all select 1e9, j.ceiling, j.day)`)}
      else json_set(
        iif(later = ${later} and further = ${further}, json_set(${column}, '$[#-1][2]', ${times} + 1),
          json_insert(${column}, '$[#]', json_array(later, further, 1))),
        '$[0]', json_array(j.ceiling, j.day, ${size} + 1)) end
    from (select j.ceiling - ${at} as later, j.day - ${floor} as further)) end`
}

/** How many ranges of days a connection keeps. */
const MOST_RANGES = 64

/** The ranges of a connection with another one, (j.ceiling, j.day, j.last), unless it is the last one. */
const noted = `iif(j.last is null or asked_ranges->>'$[#-1][0]' is j.ceiling and asked_ranges->>'$[#-1][1]' is j.day, asked_ranges,
  json_insert(iif(json_array_length(asked_ranges) < ${MOST_RANGES}, asked_ranges, json_remove(asked_ranges, '$[0]')),
    '$[#]', json_array(j.ceiling, j.day, j.last)))`

/**
 * Widens the windows on issued or on received CFDIs to the earlier floor and the later ceiling (decisions.md 6), of connections that are
 * active and have a verified login, and notes what the run reached, once when the run is dispatched again. A run that reaches back as far as
 * what was struck makes up for it, unless it was asked for a range of days alone. `from` is a day, `to` the instant of the run in
 * milliseconds since 1970; `last`, the last day of a range, is noted, too. There is at most one row for each connection. The result names the
 * connections. Both directions of a run are widened at the same time, `now`.
 */
export const widenWindows = (
  db: Database,
  direction: 'issued' | 'received',
  rows: readonly { connection: number; from: string; to: number; last?: string | null }[],
  now: number,
): D1PreparedStatement => {
  const reaches = `${direction}_reaches`
  const isWider = `coalesce(j.ceiling > ${direction}_to or j.floor < ${direction}_from, 1)`
  // A range raises the ceiling without asking for what was issued since the last run: the next run makes up for that.
  const unasked = `date(${direction}_to / 1000 - ${LATEST_STAMP_MS / 1_000 + WESTERNMOST_SECONDS}, 'unixepoch')`
  return db.$client
    .prepare(
      `update connections set
         ${reaches} = ${added(reaches)},
         asked_ranges = ${noted},
         ${direction}_struck = case
           when j.last is not null then coalesce(min(${direction}_struck, ${unasked}), ${direction}_struck, ${unasked})
           when ${direction}_struck < j.floor then ${direction}_struck end,
         widened_before = iif(${isWider} and widened_at is not ?2, widened_at, widened_before),
         widened_at = iif(${isWider}, ?2, widened_at),
         ${direction}_from = min(coalesce(${direction}_from, j.floor), j.floor),
         ${direction}_to = max(coalesce(${direction}_to, j.ceiling), j.ceiling)
       from (select value->>0 as connection, value->>1 as floor, value->>2 as day, value->>3 as ceiling, value->>4 as last from json_each(?1)) j
       where connections.connection = j.connection and connections.state = 'active' and (
         connections.ciec is not null and connections.ciec_verify_at is null
         or connections.efirma is not null and connections.efirma_verify_at is null and connections.efirma_valid_to >= ?2)
       returning connections.connection`,
    )
    .bind(
      JSON.stringify(
        rows.map(({ connection, from, to, last = null }) => [connection, from, epochDayOf(from), to, last && epochDayOf(last)]),
      ),
      now,
    )
}

/**
 * Strikes what the runs of connections reached at an instant, in milliseconds, or later, because it was not downloaded. How far back that was
 * is kept for the next run.
 */
export const strikeReaches = (db: Database, strikes: readonly { connection: number; since: number }[]): D1PreparedStatement => {
  const struck = (direction: 'issued' | 'received') => {
    const [reaches, kept] = [unpacked(`${direction}_reaches`), `${direction}_struck`]
    const floor = `(select date(min(floor) * 86400, 'unixepoch') from ${reaches} where at >= j.since)`
    return sql.raw(`${direction}_reaches = ${packed(`(select n, at, floor from ${reaches} where at < j.since)`)},
      ${kept} = coalesce(min(${kept}, ${floor}), ${kept}, ${floor})`)
  }
  return prepared(
    db.$client,
    sql`update connections set ${struck('issued')}, ${struck('received')}
      from (select value->>0 as connection, value->>1 as since
        from json_each(${JSON.stringify(strikes.map(({ connection, since }) => [connection, since]))})) j
      where connections.connection = j.connection`,
  )
}
