import { applyD1Migrations, env } from 'cloudflare:test'

/** A ledger with its tables. */
export const applyMigrations = (): Promise<void> => applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
