import { type SQL, sql } from 'drizzle-orm'
import { authorityConversations, authorityRequests } from './tables.ts'

/** Taxpayers whose conversation should have continued by now: its worker died, or nobody took it since an instant. */
export const stuckConversations = (now: number, since: number, limit: number): SQL<{ entity: number }> => {
  const { entity, due_at, busy_until } = authorityConversations
  return sql`select ${entity} from ${authorityConversations}
      where ${due_at} <= ${now} and ${busy_until} <= ${now} and (${busy_until} > 0 or ${due_at} <= ${since}) limit ${limit}`
}

/**
 * Forgets metadata requests of a taxpayer from before an instant that reached up to their present: no later one can have the same period. The
 * others stay, because the authority refuses the same period for ever.
 */
export const forgetRequests = (taxpayer: number, before: number): SQL => {
  const { entity, asked_at, kind, packages, state, last } = authorityRequests
  return sql`delete from ${authorityRequests} where ${entity} = ${taxpayer} and ${asked_at} < ${before} and ${kind} = 'metadata' and ${packages} = '[]'
      and ${state} in ('stored', 'empty', 'failed', 'replaced') and unixepoch(${last}) * 1000 > ${asked_at} - 86400000`
}
