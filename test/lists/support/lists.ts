import { env } from 'cloudflare:workers'
import { PUBLIC_SOURCES } from '../../../src/lists/catalog.ts'
import { type System, systemOf } from '../../../src/platform/context.ts'

export const NOW = '2026-08-05T10:00:00Z'

/** What the daily work is given, with other bindings where a test says so. */
export const systemAt = (now = NOW, more: Partial<Record<keyof Env, unknown>> = {}): System =>
  systemOf({ ...env, ...more } as Env, new Date(now), 'cron_test')

/** Everything that is held of the lists, in order. */
export const stored = async () => {
  const [lists, entries] = await env.DB.batch([
    env.DB.prepare('select * from blacklist_lists order by organization_id, source'),
    env.DB.prepare('select * from blacklist_entries order by organization_id, source, rfc'),
  ])
  return { lists: lists!.results as Record<string, unknown>[], entries: entries!.results as Record<string, unknown>[] }
}

/** No list of an earlier test is left. */
export const forgetLists = async (): Promise<void> => {
  await env.DB.batch(['blacklist_lists', 'blacklist_entries', 'blacklist_changes'].map((table) => env.DB.prepare(`delete from ${table}`)))
  await env.FILES.delete(PUBLIC_SOURCES.map((source) => `lists/${source}.csv`))
}
