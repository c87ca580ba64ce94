/** `npm run migrations -- --name …`: a migration of each database whose tables have changed. */
import { spawnSync } from 'node:child_process'

for (const DATABASE of ['control', 'ledger', 'events']) {
  const { status } = spawnSync('drizzle-kit', ['generate', ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, DATABASE },
  })
  if (status !== 0) process.exit(status ?? 1)
}
