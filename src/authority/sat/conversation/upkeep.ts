/** Taxpayers whose conversation should have gone on by now: its worker died, or nobody took it since an instant. */
export const stuckConversations = (ledger: D1Database, now: number, since: number, limit: number) =>
  ledger
    .prepare(
      'select entity from authority_conversations where due_at <= ?1 and busy_until <= ?1 and (busy_until > 0 or due_at <= ?2) limit ?3',
    )
    .bind(now, since, limit)
    .all<{ entity: number }>()

/**
 * Forgets metadata requests of a taxpayer from before an instant that reached up to their present: no later one can have the same period. The
 * others stay, because the authority refuses the same period for ever.
 */
export const forgetRequests = (ledger: D1Database, entity: number, before: number): D1PreparedStatement =>
  ledger
    .prepare(
      `delete from authority_requests where entity = ?1 and asked_at < ?2 and kind = 'metadata' and packages = '[]'
         and state in ('stored', 'empty', 'failed', 'replaced') and unixepoch(last) * 1000 > asked_at - 86400000`,
    )
    .bind(entity, before)
