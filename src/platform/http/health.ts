import { sql } from 'drizzle-orm'
import * as z from 'zod'
import { prepared } from '../db/statement.ts'
import { guards } from '../db/tables.ts'
import { errorMessage, log } from '../log.ts'
import { type Settings, settingsOf, UnusableSettings } from '../settings.ts'

export const Health = z
  .strictObject({ status: z.literal('ok'), environment: z.enum(['test', 'live']), tax_authority: z.string() })
  .meta({ id: 'Health' })
export type Health = z.infer<typeof Health>

export const Unhealthy = z
  .strictObject({
    status: z.literal('unavailable'),
    missing: z.array(z.string()).meta({
      description: 'One sentence for each setting that cannot be used and for each database that has no migrations or does not answer.',
      examples: [['SPREAD_SECONDS must be an integer from 0 to 86400.']],
    }),
  })
  .meta({ id: 'Unhealthy' })
export type Unhealthy = z.infer<typeof Unhealthy>

/** The platform allows an invocation six connections. */
const CONNECTIONS = 6

/** Checks the settings, and every database with one statement. */
export async function healthOf(env: Env, requestId: string): Promise<Health | Unhealthy> {
  const names = ['DB', ...Object.keys(env).filter((name) => /^(LEDGER|EVENTS)_\d+$/.test(name))]
  const databaseFaults: (string | null)[] = []
  for (let at = 0; at < names.length; at += CONNECTIONS) {
    const group = names.slice(at, at + CONNECTIONS)
    databaseFaults.push(...(await Promise.all(group.map((name) => faultOf(name, env[name as 'DB'], requestId)))))
  }
  const [settings, settingFaults] = settingsOrFaults(env)
  const missing = [...settingFaults, ...databaseFaults.filter((fault) => fault !== null)]
  return settings && missing.length === 0
    ? { status: 'ok', environment: settings.environment, tax_authority: settings.taxAuthority }
    : { status: 'unavailable', missing }
}

function settingsOrFaults(env: Env): [Settings | null, readonly string[]] {
  try {
    return [settingsOf(env), []]
  } catch (error) {
    if (error instanceof UnusableSettings) return [null, error.faults]
    throw error
  }
}

async function faultOf(name: string, d1: D1Database | undefined, requestId: string): Promise<string | null> {
  if (!d1) return `${name} is not bound.`
  try {
    // The table of the guards: without it, no guarded change can be committed.
    await prepared(d1, sql`select 1 from ${guards} limit 1`).first()
    return null
  } catch (error) {
    if (!/no such table/.test(errorMessage(error))) {
      log.error({ requestId }, 'A database does not answer.', { database: name }, error)
      return `${name} does not answer.`
    }
  }
  return `${name} has no migrations. Apply them with \`npm start\` locally, or with \`npm run deploy\` for a hosted service.`
}
