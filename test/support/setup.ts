import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'

/** One worker runs many files. Each file begins with empty databases, buckets and queues, and with the real clock. */
const worker = globalThis as { hasRunFiles?: boolean; rfcs?: number }
const ledgers = Object.entries(env).flatMap(([name, binding]) => (/^LEDGER_\d+$/.test(name) ? [binding as D1Database] : []))

if (worker.hasRunFiles) {
  vi.useRealTimers()
  // Only what is loaded is emptied; what has been idle for some seconds is not.
  await Promise.all([...[env.DB, ...ledgers].map((database) => database.prepare('select 1').run()), env.FILES.head('any')])
  await reset()
} else {
  // The log line of a request would cost more than a query: vitest passes each line on to its main process.
  const { log } = console
  console.log = (...line: unknown[]) => {
    if (!String(line[0]).startsWith('{"level":"info"')) log(...line)
  }
}
worker.hasRunFiles = true
worker.rfcs = 0

await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
for (const ledger of ledgers) await applyD1Migrations(ledger, env.LEDGER_MIGRATIONS)
