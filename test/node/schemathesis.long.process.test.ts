import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Customer } from '../../scripts/customer.ts'
import { ROOT } from '../../scripts/wrangler.ts'
import { discard, freePort, freshState, Started } from './support/runner.ts'

const isThere = spawnSync('schemathesis', ['--version']).status === 0
const HOW = isThere ? '' : ' (skipped: pip install schemathesis==4.32.5)'

const isLong = process.env['FUZZ'] === 'full'
/** For each of the operations, of which there are more than a hundred. */
const CASES = isLong ? 240 : 8
const MOST_SECONDS = isLong ? 3_600 : 150

/** What Schemathesis says, and how it ended. It keeps files of its own in the folder. */
function schemathesis(folder: string, ...args: string[]): Promise<{ said: string; code: number | null }> {
  return new Promise((done) => {
    const child = spawn('schemathesis', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk
      })
    child.once('exit', (code) => done({ said, code }))
  })
}

describe.skipIf(!isThere)(`requests that are made of the document${HOW}`, () => {
  // Each attempt has a service of its own: one that is out of time leaves its own running.
  const begun: [stateDir: string, one: Started][] = []
  afterAll(async () => {
    for (const [stateDir, one] of begun) await discard(stateDir, [one])
  })

  it(
    'are answered as it says',
    async () => {
      const stateDir = freshState()
      const one = new Started(stateDir, await freePort())
      begun.push([stateDir, one])
      const service = await one.ready()
      const { credential } = await Customer.signUp(service.url, 'Despacho Uno')
      const { said, code } = await schemathesis(
        stateDir,
        ...['--config-file', join(ROOT, 'test/node/support/schemathesis.toml'), 'run', `${service.url}/v1/openapi.json`],
        ...['--auth', `${credential.api_key}:${credential.api_secret}`, '--phases', 'fuzzing', '--max-examples', String(CASES)],
        ...[
          '--max-time',
          String(MOST_SECONDS),
          '--request-timeout',
          '60',
          '--request-retries',
          '2',
          '--suppress-health-check',
          'all',
          '--warnings',
          'off',
        ],
        ...['--generation-database', 'none', '--continue-on-failure', '--no-color', ...(isLong ? [] : ['--seed', '1'])],
      )
      expect(code, said.slice(said.indexOf('FAILURES'))).toBe(0)
    },
    (MOST_SECONDS + 240) * 1_000,
  )
})
