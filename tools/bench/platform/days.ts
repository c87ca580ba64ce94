import { plus, type Spent } from './prices.ts'
import type { World } from './world.ts'

export const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** What a day used, with what forgetting used apart. */
export interface Day {
  spent: Spent
  forgotten: Spent
}

/** What the service uses whoever its customers are: in a minute in which there is nothing to do, and in a day's daily work. */
export interface Base {
  minute: Spent
  daily: Day
}

/** Measures what the service uses without customers, on the two days before `midnight`. */
export async function baseOf(world: World, midnight: number): Promise<Base> {
  const daily = async (before: number) => {
    await world.spent()
    await world.cron('0 10 * * *', midnight - before * DAY_MS + 240 * MINUTE_MS)
    return world.spent()
  }
  // The second day has the first one's round to put away.
  await daily(2)
  const base = await daily(1)
  await world.cron('* * * * *', midnight - DAY_MS + 300 * MINUTE_MS)
  return { daily: base, minute: (await world.spent()).spent }
}

/**
 * A day: its midnight in Mexico City, the sweep after it, and the daily work. Returns what it used beyond what the service needs without
 * customers.
 */
export async function dayOf(world: World, midnight: number, { minute, daily }: Base): Promise<Day> {
  await world.spent()
  await world.cron('*/15 * * * *', midnight)
  await world.cron('* * * * *', midnight + 10 * MINUTE_MS)
  await world.cron('0 10 * * *', midnight + 240 * MINUTE_MS)
  const { spent, forgotten } = await world.spent()
  return { spent: plus(plus(spent, minute, -1), daily.spent, -1), forgotten: plus(forgotten, daily.forgotten, -1) }
}
