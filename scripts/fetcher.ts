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
/** What to do about a refusal that does not end by itself. */
const REMEDIES: Readonly<Record<string, string>> = {
  'request.unknown_path':
    'The service has no fetcher. Set FETCHER_KEYS there too: `FETCHER_KEYS=… TAX_AUTHORITY=sat npm start` on a laptop, `npx wrangler secret put FETCHER_KEYS` in a deployment.',
  'fetcher.signature':
    'FETCHER_KEYS of the service has another key than the first one here, or the clocks are more than five minutes apart.',
}
const saidOf = (error: unknown): string =>
  error instanceof Refused ? [error.message, REMEDIES[error.code]].filter(Boolean).join(' ') : 'The service does not answer.'

let notified = ''
const client = fetcherClient(origin, key.trim())
for (;;) {
  try {
    const isDone = await fetchOnce(client)
    notified = ''
    if (isDone) continue
  } catch (error) {
    // A job that was lost, or a service that does not answer: what was leased is offered again.
    const said = saidOf(error)
    if (said !== notified) console.error(said)
    notified = said
  }
  await setTimeout(PAUSE_MS)
}
