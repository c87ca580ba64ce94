import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import main from '../../src/index.ts'

/** One worker runs many files. Each file begins with empty databases, buckets and queues, and with the real clock. */
const worker = globalThis as { hasRunFiles?: boolean; rfcs?: number; consume?: typeof main.queue }
const shards = (kind: string) =>
  Object.entries(env).flatMap(([name, binding]) => (new RegExp(`^${kind}_\\d+$`).test(name) ? [binding as D1Database] : []))
const [ledgers, events] = [shards('LEDGER'), shards('EVENTS')]

if (worker.hasRunFiles) {
  vi.useRealTimers()
  // Only what is loaded is emptied; what has been idle for some seconds is not, and a busy machine makes seconds of moments.
  const databases = [env.DB, ...ledgers, ...events]
  const tables = (database: D1Database) =>
    database.prepare("select count(*) as n from sqlite_master where name = 'd1_migrations'").first('n')
  do {
    await Promise.all([...databases.map(tables), env.FILES.head('any')])
    await reset()
  } while ((await Promise.all(databases.map(tables))).some((n) => n !== 0))
} else {
  // The log lines of requests would hide what the tests say.
  const { log } = console
  console.log = (...line: unknown[]) => {
    if (!String(line[0]).startsWith('{"level":"info"')) log(...line)
  }
}
worker.hasRunFiles = true
// Messages that a file leaves in the queues are not for the next one. Those that a test makes have the time of its clock.
const HOUR_MS = 3_600_000
const began = Date.now()
worker.consume ??= main.queue
const { consume } = worker
main.queue = async ({ queue, messages }, bindings) => {
  const isOwn = ({ timestamp }: Message): boolean => timestamp.getTime() >= began || timestamp.getTime() < began - HOUR_MS
  for (const message of messages) if (!isOwn(message)) message.ack()
  const own = messages.filter(isOwn)
  if (own.length > 0) await consume({ queue, messages: own } as unknown as MessageBatch, bindings)
}
worker.rfcs = 0

await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
for (const ledger of ledgers) await applyD1Migrations(ledger, env.LEDGER_MIGRATIONS)
for (const shard of events) await applyD1Migrations(shard, env.EVENTS_MIGRATIONS)
