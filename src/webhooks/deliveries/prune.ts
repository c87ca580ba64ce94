import type { System } from '../../platform/context.ts'
import { pruneStatements } from './prune-store.ts'

const KEPT_MS = 90 * 86_400_000
const PAGE = 2_000
const MAX_PAGES = 400

/** Deletes events and their deliveries 90 days after the event (decisions.md 9). */
export async function pruneEvents({ db, now }: System): Promise<void> {
  const before = now.getTime() - KEPT_MS
  for (let page = 0; page < MAX_PAGES; page++) {
    const results = await db.$client.batch(pruneStatements(db.$client, before, PAGE))
    if (results.every(({ meta }) => meta.changes < PAGE)) return
  }
}
