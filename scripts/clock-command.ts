/** How far the words of a command line move the clock, in milliseconds; null when they say nothing of it. */
export function daysOf([days = '', ...rest]: readonly string[]): number | null {
  return /^\d{1,3}$/.test(days) && Number(days) > 0 && Number(days) <= 366 && rest.length === 0 ? Number(days) * 86_400_000 : null
}

/** Where the clock is, or what moves it on: a row when it could be moved. */
export const clockSqlOf = (by: number | null, now: number): string =>
  by === null
    ? 'select * from clock'
    : `insert into clock (one, ahead, target, began_at, ends_at) values (1, 0, ${by}, ${now}, ${now + by})
       on conflict do update set target = ahead + ${by}, began_at = ${now} + ahead, ends_at = ${now} + ahead + ${by} where target is null returning *`
