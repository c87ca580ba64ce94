import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { processes } from '../../scripts/processes.ts'
import { Clone, type Run } from './support/clone.ts'
import { ACCOUNT, type Cut, StandIn, TOKEN } from './support/stand-in.ts'

let platform: StandIn
let clone: Clone

beforeEach(async () => {
  platform = await new StandIn().start()
  clone = new Clone().configure()
})
afterEach(async () => {
  clone.discard()
  await platform.stop()
})

const deploy = (...more: string[]): Run =>
  clone.run([join(clone.folder, 'tools/deploy/deploy.ts'), 'live', ...more], {
    CLOUDFLARE_API_BASE_URL: platform.url,
    CLOUDFLARE_API_TOKEN: TOKEN,
    CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
    HEALTH_ORIGIN: platform.url,
  })

const WORKER = 'fiscal-data-service-live'
const QUEUES = [
  'dead-letters',
  'dispatch',
  'downloads',
  'downloads-spread',
  'exports',
  'imports',
  'reports',
  'repse',
  'storage',
  'tasks',
  'webhooks',
].map((name) => `fiscal-live-${name}`)
const SECRETS = ['API_SECRET_KEYS', 'CIEC_KEYS', 'CURSOR_KEYS', 'SESSION_KEYS', 'WEBHOOK_KEYS']

const migrationsOf = (folder: string): string =>
  readdirSync(join(clone.folder, 'migrations', folder))
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .join()

const ids = (): string[] =>
  [...clone.configuration.matchAll(/database_name = "fiscal-live-.*database_id = "([^"]+)"/g)].map(([, id]) => id!)

/** Everything that `live` needs, once. */
function expectWhole(): void {
  const state = platform.state()
  expect(state).toMatchObject({
    databases: [
      `fiscal-live-control: ${migrationsOf('control')}`,
      `fiscal-live-events-0: ${migrationsOf('events')}`,
      `fiscal-live-ledger-0: ${migrationsOf('ledger')}`,
    ],
    buckets: [
      ['fiscal-live-files', [{ id: 'Default Multipart Abort Rule' }, { id: 'abandoned-uploads', conditions: { prefix: 'imports/' } }]],
    ],
    queues: QUEUES,
    consumers: QUEUES.map((name) => `${name} → ${WORKER}`),
    scripts: [{ name: WORKER, secrets: SECRETS, crons: ['* * * * *', '*/15 * * * *', '0 10 * * *'] }],
  })
  expect(state.scripts[0]!.bindings).toEqual(
    expect.arrayContaining([
      'd1 DB',
      'd1 LEDGER_0',
      'd1 EVENTS_0',
      'durable_object_namespace MUTEXES',
      'queue REPORTS',
      'queue REPSE',
      'r2_bucket FILES',
      'service EGRESS',
      'service PDF',
      'service STORAGE_EGRESS',
    ]),
  )
  expect(ids()).toEqual([...platform.databases.keys()])
}

const secretsNow = (): Record<string, string> => Object.fromEntries(platform.scripts.get(WORKER)?.secrets ?? [])

describe('npm run deploy -- live', () => {
  it('makes a healthy service from nothing, shows no secret, and then has nothing more to make', async () => {
    const commands: string[] = []
    platform.cut = (call) => {
      if (call.endsWith('/secrets-bulk')) commands.push(...processes().map(({ command }) => command))
      return undefined
    }
    const first = deploy()
    expect([await first.ended, first.said]).toEqual([0, expect.stringContaining('`live` is deployed and healthy')])
    expectWhole()

    const secrets = secretsNow()
    for (const value of Object.values(secrets)) expect(value).toMatch(/^1:[A-Za-z0-9+/]{43}=$/)
    expect(new Set(Object.values(secrets)).size).toBe(5)
    expect(commands.some((command) => command.includes('secret bulk'))).toBe(true)
    const files = readdirSync(clone.folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    const texts = [first.said, ...commands, ...files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))]
    for (const value of Object.values(secrets)) expect(texts.filter((text) => text.includes(value.slice(2)))).toEqual([])

    const again = deploy('--dry-run')
    expect(await again.ended).toBe(0)
    for (const title of ['Databases', 'Buckets', 'Queues', 'Secrets', 'Migrations'])
      expect(again.said).toContain(`${title}: nothing to do.`)
  })

  it('goes on where it was killed or refused, at each step, and leaves what it made before', async () => {
    const refused = (end: string, nth = 1): ((call: string) => Cut | undefined) => {
      let left = nth
      return (call) => (call.endsWith(end) && --left === 0 ? { status: 403, code: 10000, message: 'Authentication error' } : undefined)
    }

    // Killed when the secrets have arrived, before anybody hears of it.
    let bulks = 0
    platform.cut = (call) => {
      if (!call.endsWith('/secrets-bulk') || ++bulks < 2) return undefined
      first.kill()
      return 'unanswered'
    }
    const first = deploy()
    expect(await first.ended).toBe('SIGKILL')
    const secrets = secretsNow()
    expect(Object.keys(secrets).sort()).toEqual(SECRETS)

    // Two queries look at what is applied; the sixth falls between the first migration and the last.
    const cuts = [
      ['d1 migrations apply', refused('/query', 6)],
      ['deploy', refused('/schedules')],
    ] as const
    for (const [command, cut] of cuts) {
      platform.cut = cut
      const run = deploy()
      expect([await run.ended, run.said]).toEqual([
        1,
        expect.stringMatching(new RegExp(`lacks the permission “.*: Edit”.*\`wrangler ${command} `)),
      ])
    }
    platform.cut = () => undefined
    expect(await deploy().ended).toBe(0)
    expectWhole()
    expect(secretsNow()).toEqual(secrets)
  })
})
