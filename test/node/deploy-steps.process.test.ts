import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ROOT } from '../../scripts/wrangler.ts'
import { type Configuration, configurationOf, missingVariables } from '../../tools/deploy/configuration.ts'
import { platformOf } from '../../tools/deploy/platform.ts'
import { follow, stepsOf } from '../../tools/deploy/steps.ts'
import type { Wrangler } from '../../tools/deploy/worker.ts'
import { Clone, isKept, unconfigured } from './support/clone.ts'
import { ACCOUNT, type Cut, StandIn, TOKEN } from './support/stand-in.ts'

let platform: StandIn
let folder: string

beforeEach(async () => {
  platform = await new StandIn().start()
  vi.stubEnv('CLOUDFLARE_API_BASE_URL', platform.url)
  folder = mkdtempSync(join(tmpdir(), 'steps-'))
  reset()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
  await platform.stop()
})

const configuration = (): Promise<Configuration> => configurationOf(folder, 'live')
function reset(): void {
  writeFileSync(join(folder, 'wrangler.toml'), unconfigured(readFileSync(join(ROOT, 'wrangler.toml'), 'utf8')))
  cpSync(join(ROOT, 'migrations'), join(folder, 'migrations'), { recursive: true, filter: isKept })
}
const file = (): string => readFileSync(join(folder, 'wrangler.toml'), 'utf8')

const steps = async (token = TOKEN, account = ACCOUNT, wrangler: Wrangler = () => Promise.reject(new Error('Not here.'))) =>
  stepsOf(platformOf(token, account), await configuration(), wrangler, { origin: platform.url, withinMs: 0 })

/** The steps that need no wrangler: databases, buckets, queues. Returns what they printed. */
async function makeResources(token = TOKEN, account = ACCOUNT): Promise<string[]> {
  const printed: string[] = []
  await follow((await steps(token, account)).slice(0, 3), false, (line) => printed.push(line))
  return printed
}

const fails = async (token = TOKEN, account = ACCOUNT): Promise<string> => {
  const error = await makeResources(token, account).then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toHaveProperty('message')
  return (error as Error).message
}

const written = (): string[] => [...file().matchAll(/database_name = "fiscal-live-.*database_id = "([^"]+)"/g)].map(([, id]) => id!)

describe('databases, buckets and queues', () => {
  const cuts: [string, Cut][] = [
    ['refused', { status: 500, code: 10002, message: 'Internal error' }],
    ['carried out without an answer', 'unanswered'],
  ]

  it.each(cuts)('are the same after any call was %s as after none', async (_, cut) => {
    await makeResources()
    const [state, calls] = [platform.state(), platform.calls.length]
    expect(calls).toBeGreaterThan(14)
    for (let nth = 1; nth <= calls; nth++) {
      const other = await new StandIn().start()
      vi.stubEnv('CLOUDFLARE_API_BASE_URL', other.url)
      reset()
      other.cut = (_call, number) => (number === nth ? cut : undefined)
      await fails()
      await makeResources()
      expect([nth, other.state(), written()]).toEqual([nth, state, [...other.databases.keys()]])
      expect(await makeResources()).toEqual(['Databases: nothing to do.', 'Buckets: nothing to do.', 'Queues: nothing to do.'])
      await other.stop()
    }
  })

  it('keep a lifecycle rule that an operator has changed', async () => {
    await makeResources()
    const rules = [{ id: 'abandoned-uploads', enabled: false }]
    platform.buckets.set('fiscal-live-files', rules)
    await makeResources()
    expect(platform.buckets.get('fiscal-live-files')).toEqual(rules)
  })

  it('are found on whatever page of the list they are', async () => {
    for (let n = 0; n < 60; n++) platform.addDatabase(`another-${n}`)
    const id = platform.addDatabase('fiscal-live-control')
    await makeResources()
    expect(written()[0]).toBe(id)
    expect(platform.databases.size).toBe(63)
  })

  it('write only the ids of their own environment into wrangler.toml', async () => {
    const before = file().split('\n')
    await makeResources()
    const changed = file()
      .split('\n')
      .filter((line, n) => line !== before[n])
    expect(changed).toEqual(['control', 'ledger-0', 'events-0'].map((name) => expect.stringContaining(`fiscal-live-${name}`)))
  })
})

it('the Worker is deployed once, after everything that it needs and before its health is asked for', async () => {
  platform.health = { status: 200, body: { status: 'ok', environment: 'live' } }
  const commands: string[] = []
  const wrangler: Wrangler = async (_, ...args) => {
    commands.push(args.slice(0, 2).join(' '))
    return ''
  }
  const printed: string[] = []
  await follow(await steps(TOKEN, ACCOUNT, wrangler), false, (line) => printed.push(line))
  expect(commands.filter((one) => one.startsWith('deploy'))).toHaveLength(1)
  expect(printed.filter((line) => !line.startsWith(' ')).map((line) => line.split(':')[0])).toEqual([
    ...['Databases', 'Buckets', 'Queues', 'Secrets', 'Migrations', 'Worker', 'Health'],
  ])
})

/** Carries out the step of this title; wrangler fails with `output`, or succeeds where that is null. */
async function failureOf(title: string, output: string | null): Promise<string> {
  const all = await steps(TOKEN, ACCOUNT, () => (output === null ? Promise.resolve('') : Promise.reject(new Error(output))))
  return follow(
    all.filter((one) => one.title === title),
    false,
    () => {},
  ).then(
    () => '',
    (error: Error) => error.message,
  )
}

describe('what wrangler says when it fails', () => {
  it('is its error alone, without its advice', async () => {
    const output =
      'wrangler deploy failed:\nTotal Upload: 1 KiB\n\u001b[31m✘ [ERROR]\u001b[0m No such\n  thing.\n\n  If you think this is a bug …'
    expect(await failureOf('Worker', output)).toEqual(
      expect.stringMatching(/^`wrangler deploy .*--env live` failed: No such thing\.\nCorrect that and run the command again\.$/),
    )
  })

  it('about a token without a permission is which one', async () => {
    const output = '✘ [ERROR] A request failed.\n\n  Authentication error [code: 10000]'
    expect(await failureOf('Secrets', output)).toMatch(
      /lacks the permission “Workers Scripts: Edit”, which `wrangler secret bulk --env live` needs/,
    )
  })
})

it('a secret that only the operator has is asked for where Stripe collects', async () => {
  expect(await failureOf('Secrets', null)).toBe('')
  writeFileSync(join(folder, 'wrangler.toml'), file().replaceAll('BILLING_PROVIDER = "manual"', 'BILLING_PROVIDER = "stripe"'))
  expect(await failureOf('Secrets', null)).toMatch(/^Set STRIPE_SECRET_KEY: `npx wrangler secret put STRIPE_SECRET_KEY --env live`/)
})

describe('the health', () => {
  const check = () => failureOf('Health', null)

  it('is refused where the service does not say that it is well, and when it is another environment', async () => {
    platform.health = { status: 503, body: { status: 'unavailable', environment: 'live' } }
    expect(await check()).toMatch(/The Worker is deployed, but http:.*\/health does not answer as the service in `live` \(503 /)
    platform.health = { status: 200, body: { status: 'ok', environment: 'test' } }
    expect(await check()).toMatch(/does not answer as the service in `live` \(200 /)
    platform.health = { status: 200, body: { status: 'ok', environment: 'live' } }
    expect(await check()).toBe('')
  })

  it('is refused where nothing listens', async () => {
    await platform.stop()
    expect(await check()).toMatch(/\(ECONNREFUSED\): check that the first host of PUBLIC_HOSTS leads to the Worker/)
    await platform.start()
  })
})

describe('a deployment stops with a sentence that says what to do', () => {
  it('about a token that is not accepted', async () => {
    expect(await fails('another-token')).toMatch(/^CLOUDFLARE_API_TOKEN is not accepted .*: make a new token at /)
  })

  it('about an account that does not exist', async () => {
    expect(await fails(TOKEN, 'nobody')).toMatch(/^There is no account nobody: check CLOUDFLARE_ACCOUNT_ID/)
  })

  it.each([
    ['/d1/database', 'D1: Edit'],
    ['/r2/buckets', 'Workers R2 Storage: Edit'],
    ['/queues', 'Queues: Edit'],
  ])('about a token without the permission for %s', async (path, permission) => {
    platform.cut = (call) => (call.endsWith(path) ? { status: 403, code: 10000, message: 'Authentication error' } : undefined)
    expect(await fails()).toMatch(new RegExp(`lacks the permission “${permission}” in the account ${ACCOUNT}`))
  })

  it('about a name that is taken', async () => {
    platform.cut = (call) =>
      call === 'POST /queues' ? { status: 409, code: 11009, message: 'The queue name is already taken' } : undefined
    expect(await fails()).toMatch(/says that the name is taken \(POST \/queues: .*choose another name in wrangler\.toml\.$/)
  })

  it('about a network that is not there', async () => {
    const { url } = platform
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', 'http://127.0.0.1:1')
    expect(await fails()).toMatch(/^The platform's API at http:\/\/127\.0\.0\.1:1 cannot be reached \(.+\): check the network/)
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', url)
  })

  it('about too many requests, and about a fault of the platform', async () => {
    platform.cut = () => ({ status: 429, code: 971, message: 'Please wait' })
    expect(await fails()).toMatch(/run the command again in five minutes\.$/)
    platform.cut = () => ({ status: 503, code: 10002, message: 'Unavailable' })
    expect(await fails()).toMatch(/has a fault of its own .*: run the command again later\.$/)
  })

  it('about an id in wrangler.toml that the account does not have under that name, which it leaves as it is', async () => {
    await makeResources()
    const [id] = written()
    const text = file()
    platform.databases.delete(id!)
    expect(await fails()).toContain(
      `wrangler.toml says that ${id} is the id of the database fiscal-live-control, but in this account there is none`,
    )
    const other = platform.addDatabase('fiscal-live-control')
    expect(await fails()).toContain(`but in this account it is ${other}`)
    expect(file()).toBe(text)
  })

  it.each([
    ['', 'PUBLIC_HOSTS in [env.live.vars] of wrangler.toml does not begin with a host name: '],
    ['https://api.example.com', 'PUBLIC_HOSTS in [env.live.vars] of wrangler.toml does not begin with a host name: '],
    ['replace-with-the-name-of-your-host', 'PUBLIC_HOSTS in [env.live.vars] of wrangler.toml is still a placeholder: '],
  ])('about PUBLIC_HOSTS = "%s"', async (hosts, sentence) => {
    writeFileSync(join(folder, 'wrangler.toml'), file().replaceAll('replace-with-the-name-of-your-host', hosts))
    const [first, second, ...more] = missingVariables(await configuration())
    const sentences = [first, second].sort()
    expect([sentences[0], more]).toEqual([
      expect.stringContaining('CHECKOUT_URL in [env.live.vars] of wrangler.toml is still a placeholder'),
      [],
    ])
    expect(sentences[1]).toContain(sentence)
  })

  it.each(['SAT_STAND_IN', 'WEBHOOK_SINK', 'STORAGE_SINK'])('about %s, which is for a laptop', async (name) => {
    const before = missingVariables(await configuration())
    writeFileSync(join(folder, 'wrangler.toml'), file().replaceAll(`${name} = ""`, `${name} = "http://127.0.0.1:9000"`))
    const sentences = missingVariables(await configuration())
    expect(sentences.filter((one) => !before.includes(one))).toEqual([
      `${name} in [env.live.vars] of wrangler.toml is for a laptop only: leave it empty, or the service does not start there.`,
    ])
  })
})

describe('on a fresh clone without an account', () => {
  const clone = new Clone()
  afterAll(() => clone.discard())
  const script = join(clone.folder, 'tools/deploy/deploy.ts')

  it.each(['live', 'test'])('%s --dry-run prints the whole plan, what to write first, and that it could not look', async (environment) => {
    const run = clone.run([script, environment, '--dry-run'])
    expect(await run.ended).toBe(0)
    expect(run.said).toContain('could not look at what exists already')
    expect(run.said).toContain(`First: PUBLIC_HOSTS in [env.${environment}.vars] of wrangler.toml is still a placeholder`)
    for (const task of [
      'create fiscal-% and',
      'create fiscal-%-files',
      'create fiscal-%-repse',
      'create fiscal-%-storage',
      'create fiscal-%-tasks',
      'generate API_SECRET_KEYS',
      'deploy fiscal-data-service-%',
    ])
      expect(run.said).toMatch(new RegExp(task.replace('fiscal-% and', `fiscal-${environment}-control and`).replace('%', environment)))
    expect(run.said).toMatch(/apply \d+ migrations? to fiscal-(live|test)-ledger-0\n.*to fiscal-(live|test)-events-0\n[\s\S]*wait until /)
  })

  it('without --dry-run it stops before it does anything, with a sentence for each thing that is missing', async () => {
    const run = clone.run([script, 'live'], { CLOUDFLARE_API_BASE_URL: platform.url })
    expect(await run.ended).toBe(1)
    expect(run.said.trim().split('\n')).toEqual([
      expect.stringContaining('PUBLIC_HOSTS in [env.live.vars]'),
      expect.stringContaining('CHECKOUT_URL in [env.live.vars]'),
      expect.stringMatching(/^CLOUDFLARE_API_TOKEN is not set: make a token at /),
      expect.stringMatching(/^CLOUDFLARE_ACCOUNT_ID is not set: put the id of your account there/),
    ])
    expect(platform.calls).toEqual([])
  })

  it('with an account --dry-run looks and changes nothing', async () => {
    platform.addDatabase('fiscal-live-control')
    const credentials = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_ACCOUNT_ID: ACCOUNT, CLOUDFLARE_API_BASE_URL: platform.url }
    const before = [platform.state(), clone.configuration]
    const run = clone.run([script, 'live', '--dry-run'], credentials)
    expect(await run.ended).toBe(0)
    expect(run.said).toContain('  write the id of fiscal-live-control into wrangler.toml\n  create fiscal-live-ledger-0')
    expect([platform.state(), clone.configuration]).toEqual(before)
  })

  it.each([[[]], [['local']], [['live', 'test']], [['live', '--dry']]])('%j is answered with how to use it', async (args) => {
    const run = clone.run([script, ...args])
    expect([await run.ended, run.said]).toEqual([1, expect.stringContaining('npm run deploy -- live --dry-run')])
  })

  it('checks the health nowhere but on loopback in the place of PUBLIC_HOSTS', async () => {
    const run = clone.run([script, 'live', '--dry-run'], { HEALTH_ORIGIN: 'http://example.com:80' })
    expect([await run.ended, run.said]).toEqual([1, expect.stringContaining('HEALTH_ORIGIN must be http://127.0.0.1:{port}')])
  })
})
