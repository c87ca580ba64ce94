import { sql } from 'drizzle-orm'
import * as z from 'zod'
import { readFirst } from '../db/statement.ts'
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
      description:
        'One sentence for each setting that cannot be used, and for the control plane if it has no migrations or does not answer.',
      examples: [['SPREAD_SECONDS must be an integer from 0 to 86400.']],
    }),
  })
  .meta({ id: 'Unhealthy' })
export type Unhealthy = z.infer<typeof Unhealthy>

type Answer = Health | Unhealthy

const KEPT_MS = 10_000
const LOOK_EVERY_MS = 10

/** The last check of this isolate, and until when it counts. Its answer is absent while it runs. */
const checks = new WeakMap<Env, { until: number; answer?: Answer }>()

/**
 * Whether the service can be used, as it was within the last ten seconds: whoever asks, and however many at once, there is one check in that
 * time. One that was broken off is repeated after it.
 */
export async function healthOf(env: Env, requestId: string): Promise<Answer> {
  for (let last = checks.get(env); last && Date.now() < last.until; last = checks.get(env)) {
    if (last.answer) return last.answer
    // A request cannot await what another one does.
    await scheduler.wait(LOOK_EVERY_MS)
  }
  const check: { until: number; answer?: Answer } = { until: Date.now() + KEPT_MS }
  checks.set(env, check)
  check.answer = await checkHealth(env, requestId)
  return check.answer
}

/** Checks the settings, and the control plane with one statement. `npm run health` asks every database. */
async function checkHealth(env: Env, requestId: string): Promise<Answer> {
  const databaseFault = await faultOf('DB', env.DB, requestId)
  const [settings, settingFaults] = settingsOrFaults(env)
  const missing = [...settingFaults, ...(databaseFault === null ? [] : [databaseFault])]
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
    await readFirst(d1, sql`select 1 from ${guards} limit 1`)
    return null
  } catch (error) {
    if (!/no such table/.test(errorMessage(error))) {
      log.error({ requestId }, 'A database does not answer.', { database: name }, error)
      return `${name} does not answer.`
    }
  }
  return `${name} has no migrations. Apply them with \`npm start\` locally, or with \`npm run deploy\` for a hosted service.`
}
