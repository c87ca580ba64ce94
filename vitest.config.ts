import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { buildConsole } from './scripts/console.ts'
import { recorder } from './test/support/recorder/keep.ts'

/** Where there is room in memory, databases lie there: each commit of a database on a disk costs as much as a small query. */
const MEMORY = '/dev/shm'
const ROOM_BYTES = 4 * 1024 ** 3
const roomIn = ({ bavail, bsize }: { bavail: number; bsize: number }): number => bavail * bsize
if (process.env['TMPDIR'] === undefined && existsSync(MEMORY) && roomIn(statfsSync(MEMORY)) > ROOM_BYTES) {
  const folder = mkdtempSync(join(MEMORY, 'fiscal-tests-'))
  process.env['TMPDIR'] = folder
  // What processes that were killed have left would stay in memory.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
}

// The pool runs the Worker without the build command of wrangler.toml.
await buildConsole()

const migrations = {
  CONTROL_MIGRATIONS: await readD1Migrations('migrations/control'),
  EVENTS_MIGRATIONS: await readD1Migrations('migrations/events'),
  LEDGER_MIGRATIONS: await readD1Migrations('migrations/ledger'),
}

const keyring = () => `1:${randomBytes(32).toString('base64')}`
const secrets = {
  API_SECRET_KEYS: keyring(),
  CIEC_KEYS: keyring(),
  CURSOR_KEYS: keyring(),
  WEBHOOK_KEYS: keyring(),
  SESSION_KEYS: keyring(),
}

/** A machine that does other things as well takes ten times as long. */
const TIMEOUT_MS = 120_000

const noNetwork = async () => new Response('The tests reach no network.', { status: 599 })

/** Tests of processes mostly wait, so they begin first. A worker goes on with a file of the same project only. */
const PROJECTS = ['processes', 'shards', 'workers', 'rules']

class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification): number => PROJECTS.indexOf(project.name)
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}

/** Tests whose name has `.long.` are for the long run (`npm run test:long`) alone; the others do more in it (test/support/fuzz.ts). */
const isLong = process.env['FUZZ'] === 'full'
const notShort = isLong ? [] : ['{test,tools}/**/*.long.*']

/** The snippet in JavaScript of docs/webhooks.md is a module that tests import. */
const documentedSnippet = {
  name: 'documented-snippet',
  resolveId: (id: string) => (id === 'virtual:documented-snippet' ? '\0virtual:documented-snippet' : undefined),
  load: (id: string) =>
    id === '\0virtual:documented-snippet' ? /^```js\n(.*?)^```$/ms.exec(readFileSync('docs/webhooks.md', 'utf8'))?.[1] : undefined,
}

const workers = (name: string, include: string[], exclude: string[] = [], shards: string[] = []) => ({
  plugins: [
    documentedSnippet,
    cloudflareTest({
      main: './src/index.ts',
      wrangler: { configPath: './wrangler.toml' },
      miniflare: {
        compatibilityFlags: ['service_binding_extra_handlers'],
        bindings: { ...migrations, ...secrets },
        d1Databases: shards,
        // For the tests of limits, in the place of the service's own.
        ratelimits: { TIGHT: { namespace_id: 'tight', simple: { limit: 3, period: 60 } } },
        // For the test of the platform's own sending of mail. The service itself sends none here.
        email: { send_email: [{ name: 'MAIL' }] },
        ...(recorder && { serviceBindings: { RECORDER: recorder } }),
        outboundService: noNetwork,
      },
    }),
  ],
  test: {
    ...{
      name,
      include,
      exclude: [...exclude, ...notShort],
      setupFiles: ['test/support/setup.ts'],
      testTimeout: TIMEOUT_MS,
      hookTimeout: TIMEOUT_MS,
    },
    // A worker goes from file to file. Each begins with nothing stored (test/support/setup.ts).
    isolate: false,
    // A line that another context logs while a file ends is never sent, and the run waits for it for good (cloudflare/workers-sdk#15719).
    disableConsoleIntercept: true,
  },
})

/** The sample e.firmas in base64, by their paths: a test in a Worker reads no files. */
const SAMPLES = process.env['SAMPLES_DIR']
const efirmas =
  SAMPLES === undefined
    ? {}
    : Object.fromEntries(
        readdirSync(join(SAMPLES, 'efirma'), { recursive: true, encoding: 'utf8' })
          .filter((path) => /\.(cer|key|pem)$/.test(path))
          .map((path) => [path, readFileSync(join(SAMPLES, 'efirma', path), 'base64')]),
      )

/** Gives Node what Workers have. */
const setupFiles = ['test/support/base64.ts']

export default defineConfig({
  test: {
    silent: 'passed-only',
    provide: { fuzz: process.env['FUZZ'] ?? '', efirmas },
    sequence: { sequencer: ByProject },
    // Much of a test is waiting for another process.
    maxWorkers: availableParallelism() + 2,
    // `npm run coverage`: 95.6 % on 2026-11-29. Below it are the adapters of the authority and of storage, which tests of processes reach.
    coverage: {
      provider: 'istanbul',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: { lines: 90 },
      reportOnFailure: true,
    },
    projects: [
      // Rules that depend on the language alone run in Node. What leans on the runtime (URLs, encodings, zones, hashes) is tested in workerd.
      {
        test: {
          name: 'rules',
          include: ['{test,tools}/**/*.rule.test.ts'],
          exclude: notShort,
          isolate: false,
          testTimeout: TIMEOUT_MS,
          setupFiles,
        },
      },
      workers('workers', ['{test,tools}/**/*.worker.test.ts'], ['test/**/*.shards.worker.test.ts']),
      // Over three ledgers and three events shards.
      workers('shards', ['test/**/*.shards.worker.test.ts'], [], ['LEDGER_1', 'LEDGER_2', 'EVENTS_1', 'EVENTS_2']),
      {
        test: {
          ...{ name: 'processes', include: ['{test,tools}/**/*.process.test.ts'], exclude: notShort },
          ...{ testTimeout: 5 * TIMEOUT_MS, hookTimeout: 5 * TIMEOUT_MS },
        },
      },
      { test: { name: 'samples', include: ['{test,tools}/**/*.sample.test.ts'], setupFiles } },
      workers('samples in workers', ['test/**/efirma.sample.test.ts']),
    ],
  },
})
