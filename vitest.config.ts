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

const noNetwork = async () => new Response('The tests reach no network.', { status: 599 })

/**
 * The files that take longest come first, so that none of them runs alone at the end. Those of test/node mostly wait, for leases and for
 * processes that they start; everything else is done meanwhile.
 */
const LONGEST = [
  ...[
    'node/mirror',
    'node/sat',
    'node/midnight',
    'node/crash',
    'node/memory',
    'node/memory-packages',
    'node/start',
    'node/deploy',
    'node/connectors',
    'node/storage',
  ],
  ...['journeys/journey', 'journeys/paired-worlds', 'journeys/shared-downloads', 'journeys/shared-midnight', 'platform/budget/invocations'],
  ...[
    'storage/mirror/worlds',
    'imports/imports-deletion',
    'platform/http/matrix',
    'platform/http/matrix-queries',
    'platform/http/matrix-bodies',
  ],
  ...[
    'billing/entitlements',
    'billing/invoices/invoices',
    'identity/team/team',
    'downloads/missed-cancellations',
    'cfdi/search/search-cost',
  ],
].map((name) => `/test/${name}.test.ts`)

/** A worker goes on with a file of the same project only. */
const PROJECTS = ['node', 'journeys', 'workers', 'shards', 'rules']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification): number => {
      const long = LONGEST.findIndex((path) => moduleId.endsWith(path))
      return 100 * PROJECTS.indexOf(project.name) + (long < 0 ? LONGEST.length : long)
    }
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}

/** Rules that depend on the language alone run in Node. What leans on the runtime (URLs, encodings, zones, hashes) is tested in workerd. */
const RULES = [
  'test/architecture/*.test.ts',
  'test/authority/{efirma,sandbox,sat}/*.test.ts',
  'test/bench/*.test.ts',
  'test/cfdi/ingest/row.test.ts',
  'test/cfdi/{balances,checks,chunks,decimal,payment-thresholds,products,substitution,totals}.test.ts',
  'test/cfdi/taxes/*.test.ts',
  'test/clients/*.test.ts',
  'test/platform/xml-reader.test.ts',
  'test/billing/subscription/trial-email.test.ts',
  'test/extractors/{cadence,cadence-oracle,promises}.test.ts',
  'test/extractors/runs/scope.test.ts',
  'test/insight/*-example.test.ts',
  'test/documents/pdf.test.ts',
  'test/platform/{hash,db/statement}.test.ts',
  'test/platform/time/zone-of-postcode.test.ts',
  'test/reference/*.test.ts',
  'test/rules/{by-day,dated,defaults,rule-commands,withholding-classes}.test.ts',
  'test/rules/rates/rates-csv.test.ts',
  'test/simulate/simulation.test.ts',
  'test/stand-in/*.test.ts',
  'test/console/{alerts,check-digit,codes,days,evidence,figures,format,formulas,names,qr,rules,scale,searches,sentences,timbre,told}.test.ts',
  'test/exports/{cells,file-name,headings}.test.ts',
  'test/storage/template.test.ts',
  'test/storage/mirror/places.test.ts',
  'test/visibility/{coverage,slice-counts}.test.ts',
  'test/webhooks/hosts/host-places.test.ts',
  'test/webhooks/relay/turns.test.ts',
]

/**
 * Histories of whole services, many days of one RFC, every invocation at its full load, open destinations, faults at
 * every step of long work, seeded years of fiscal insight against their oracle, and what else takes long, so that `npm test` stays short.
 */
const JOURNEYS = [
  ...['test/journeys/*.test.ts', 'test/platform/budget/invocations.test.ts', 'test/storage/destination.test.ts'],
  ...[
    'test/storage/mirror/{fairness,faults,move,refusals,rounds,worlds}.test.ts',
    'test/downloads/quiet-day.test.ts',
    'test/simulate/quiet-day.test.ts',
  ],
  ...[
    'test/imports/imports-deletion.test.ts',
    'test/downloads/missed-cancellations.test.ts',
    'test/extractors/ticks/ticks-crashes.test.ts',
  ],
  ...[
    'test/downloads/{lease,progress,drain-survival}.test.ts',
    'test/downloads/conversation/{conversation,days,kills,packages}.test.ts',
    'test/downloads/counts/own-counts.test.ts',
  ],
  ...['test/webhooks/deliveries/delivery-faults.test.ts', 'test/storage/drivers/drives.test.ts'],
  ...[
    'test/billing/invoices/invoices.test.ts',
    'test/billing/entitlements.test.ts',
    'test/identity/team/team.test.ts',
    'test/cfdi/search/{search,search-cost,pages}.test.ts',
    'test/cfdi/changes/histories.test.ts',
    'test/exports/{filters,measure}.test.ts',
  ],
  ...['test/status/{doubts,status-check}.test.ts', 'test/taxpayers/{verification,reaches}.test.ts', 'test/watch/watch.test.ts'],
  ...[
    'test/platform/http/{matrix,matrix-bodies,matrix-queries,csv}.test.ts',
    'test/platform/idempotency/*.test.ts',
    'test/platform/secrets.test.ts',
  ],
  ...['test/extractors/ticks/{ticks,ticks-cost}.test.ts', 'test/repse/rounds.test.ts', 'test/visibility/sources.test.ts'],
  ...['test/downloads/completeness/coverage.test.ts', 'test/downloads/conversation/lacking.test.ts', 'test/downloads/data-status.test.ts'],
  ...[
    'test/imports/{imports-budget,uploads}.test.ts',
    'test/exports/{kills,exports}.test.ts',
    'test/blacklists/loading/load-parts.test.ts',
  ],
  ...['test/webhooks/relay/{fan-out,poison}.test.ts', 'test/fetcher/{documents,kills}.test.ts'],
  ...['equality', 'concentration', 'efos-exposure', 'financing', 'fx-exposure', 'risk', 'vat-position', 'withholdings'].map(
    (name) => `test/insight/${name}.test.ts`,
  ),
]

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
        ...(recorder && { serviceBindings: { RECORDER: recorder } }),
        outboundService: noNetwork,
      },
    }),
  ],
  test: {
    ...{ name, include, exclude, setupFiles: ['test/support/setup.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
    // A worker goes from file to file. Each begins with nothing stored (test/support/setup.ts).
    isolate: false,
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
    sequence: { sequencer: LongestFirst },
    // Much of a test is waiting for another process.
    maxWorkers: availableParallelism() + 3,
    projects: [
      { test: { name: 'rules', include: RULES, isolate: false, testTimeout: 60_000, setupFiles } },
      workers('workers', ['test/**/*.test.ts'], ['test/{node,samples}/**', ...JOURNEYS, ...RULES]),
      workers('journeys', JOURNEYS),
      // The same journeys over three ledgers and three events shards.
      workers(
        'shards',
        ['test/**/{journey,imports,downloads,relay,shared-downloads,shards}.test.ts'],
        [],
        ['LEDGER_1', 'LEDGER_2', 'EVENTS_1', 'EVENTS_2'],
      ),
      { test: { name: 'samples', include: ['test/samples/*.test.ts'], setupFiles } },
      workers('samples in workers', ['test/samples/efirma.test.ts']),
      { test: { name: 'node', include: ['test/node/*.test.ts'], testTimeout: 120_000, hookTimeout: 420_000 } },
    ],
  },
})
