import type { System } from '../../platform/context.ts'
import { log } from '../../platform/log.ts'

export const keyOf = ({ shard, entity }: { shard: number; entity: number }): string => `${shard}:${entity}`

/** One object for all, because any worker may work on any RFC. */
export const turnsOf = ({ env }: System) => env.DOWNLOAD_TURNS.getByName('downloads')

/** Has RFCs wait for the turns of their organizations, from a time on. A failure is only logged: their messages come all the same. */
export async function enterTurns(
  system: System,
  hints: readonly { shard: number; entity: number; organizations?: readonly string[] }[],
  due_at: number,
): Promise<void> {
  const entries = hints.flatMap(({ organizations = [], ...hint }) =>
    organizations.length === 0 ? [] : [{ rfc: keyOf(hint), organizations, due_at }],
  )
  if (entries.length === 0) return
  try {
    await turnsOf(system).enter(entries)
  } catch (error) {
    log.error(system, 'Downloads could not be put in turn. Their messages come in the order in which they were sent.', {}, error)
  }
}
