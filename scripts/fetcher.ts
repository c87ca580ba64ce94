import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fetcherClient, Refused } from './fetcher/client.ts'
import { fetchOnce } from './fetcher/portal.ts'

/**
 * The reference fetcher: it speaks the contract of docs/fetcher.openapi.json, and generates what the portal would deliver. A real one logs in
 * there instead. FETCHER_KEYS is that of the service, of which it uses the first key.
 */
const { positionals } = parseArgs({ allowPositionals: true })
const [origin] = positionals
const [key] = (process.env['FETCHER_KEYS'] ?? '').split(',')
if (origin === undefined || !key) {
  console.error('Usage: FETCHER_KEYS=1:… npm run fetcher -- http://127.0.0.1:8787')
  process.exit(1)
}

const PAUSE_MS = 2_000
const client = fetcherClient(origin, key.trim())
for (;;) {
  try {
    if (await fetchOnce(client)) continue
  } catch (error) {
    // A job that was lost, or a service that does not answer: what was leased is offered again.
    console.error(error instanceof Refused ? error.message : 'The service does not answer.')
  }
  await setTimeout(PAUSE_MS)
}
