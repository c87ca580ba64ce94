import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'

await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
for (const [name, binding] of Object.entries(env))
  if (/^LEDGER_\d+$/.test(name)) await applyD1Migrations(binding as D1Database, env.LEDGER_MIGRATIONS)
