import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isDue, scheduledPath } from '../../scripts/crons.ts'
import { Customer } from '../../scripts/customer.ts'
import { childrenLeft, type Runner } from '../../scripts/leftovers.ts'
import { follow } from '../../scripts/log.ts'
import { end, isAlive } from '../../scripts/processes.ts'
import { ensureSecrets } from '../../scripts/secrets.ts'
import { CRONS, DATABASES, ROOT } from '../../scripts/wrangler.ts'
import { listOf } from '../lists/support/list-csv.ts'
import { discard, freePort, freshState, isUp, Started, until } from './support/runner.ts'

const isLong = process.env['FUZZ'] === 'full'

describe('npm start', () => {
  const stateDir = freshState()
  const runners: Started[] = []
  let service: Started

  const start = async (state: string, port: number): Promise<Started> => {
    const one = new Started(state, port)
    runners.push(one)
    return one
  }

  beforeAll(async () => {
    service = await (await start(stateDir, await freePort())).ready()
  })
  afterAll(() => discard(stateDir, runners))

  it('serves the service, its reference and the files of that', async () => {
    expect(await isUp(service.url)).toBe(true)
    const page = await fetch(`${service.url}/docs`)
    expect(page.status).toBe(200)
    const html = await page.text()
    const files = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!)
    expect(files.length).toBeGreaterThan(3)
    expect(html).not.toMatch(/https?:\/\//)
    for (const path of files) expect([path, (await fetch(service.url + path)).status]).toEqual([path, 200])
    await until('the runner shows what the Worker logs', 60_000, () => /^\{.*"route":"\/docs"/m.test(service.said))
  })

  it('has applied the migrations of every database', async () => {
    expect(DATABASES.map(({ binding }) => binding)).toEqual(expect.arrayContaining(['DB', 'LEDGER_0', 'EVENTS_0']))
    const customer = await Customer.signUp(service.url, 'Despacho Uno')
    expect((await customer.ask<{ data: unknown[] }>('GET', '/v1/fiscal-entities')).data).toEqual([])
    expect(await customer.connect('STA050101AB7')).toMatch(/^fe_/)
  })

  it('reads the PDFs of tax documents in the Worker beside the service', async () => {
    const customer = await Customer.signUp(service.url, 'Despacho Dos')
    const path = `/v1/fiscal-entities/${await customer.connect('EKU9003173C9')}/documents?kind=csf`
    type Shown = { data: { fields_status: string; fields: { rfc: string } | null }[] }
    const shown = async () => (await customer.ask<Shown>('GET', path)).data
    await until('the certificate is there', 240_000, async () => (await shown()).length > 0)
    expect(await shown()).toMatchObject([{ fields_status: 'read', fields: { rfc: 'EKU9003173C9' } }])
  })

  it('keeps its state for its owner alone, in folders and files', () => {
    const open = ['', ...readdirSync(stateDir, { recursive: true, encoding: 'utf8' })].filter(
      (name) => (statSync(join(stateDir, name)).mode & 0o077) !== 0,
    )
    expect(open).toEqual([])
    expect(statSync(stateDir).mode & 0o777).toBe(0o700)
  })

  it('has every database asked by an operator', async () => {
    const script = join(ROOT, 'scripts/health.ts')
    const ask = (state: string) => promisify(execFile)(process.execPath, [script], { env: { ...process.env, STATE_DIR: state } })
    expect((await ask(stateDir)).stdout).toBe(`All ${DATABASES.length} databases answer and have their migrations.\n`)
    const empty = freshState()
    const missing = DATABASES.map(({ binding }) => `${binding} has no migrations.\n`).sort()
    await expect(ask(empty)).rejects.toMatchObject({ code: 1, stderr: missing.join('') })
    rmSync(empty, { recursive: true, force: true })
  })

  it('has the scheduled handler tried by hand', async () => {
    expect(CRONS).toContain('* * * * *')
    const tried = await fetch(service.url + scheduledPath('* * * * *', Date.now()))
    expect([tried.status, await tried.text()]).toEqual([200, 'ok'])
  })

  it.runIf(isLong)('takes a list that an operator brings, and says why it does not take another', async () => {
    const list = (day: string) => listOf([{ rfc: 'STA050101AB7', situacion: 'Presunto', presunto: '01/01/2019|02/01/2019' }], day)
    const bring = async (file: string, content: Uint8Array) => {
      writeFileSync(join(stateDir, file), content)
      const given = [join(ROOT, 'scripts/lists.ts'), join(stateDir, file)]
      return (await promisify(execFile)(process.execPath, given, { env: { ...process.env, STATE_DIR: stateDir } })).stdout
    }
    expect(await bring('list.csv', list('31 de julio de 2026'))).toMatch(/sat_69b: list of 2026-07-31, 1 row,/)
    expect(await bring('older.csv', list('30 de junio de 2026'))).toMatch(
      /sat_69b: list of 2026-07-31, 1 row,[\s\S]*A file was refused at[\s\S]*list\.older/,
    )
    const customer = await Customer.signUp(service.url, 'Despacho Dos')
    const found = await customer.ask<{ hits: unknown[] }>('GET', '/v1/blacklists/lookup?rfc=STA050101AB7')
    expect(found.hits).toMatchObject([{ source: 'sat_69b', situacion: 'presunto' }])
  })

  it.runIf(isLong)('takes rules and exchange rates that an operator brings, all or none', async () => {
    const run = async (script: string, name: string, content: string, ...words: string[]) => {
      const file = join(stateDir, name)
      writeFileSync(file, content)
      const given = [join(ROOT, `scripts/${script}.ts`), ...words, file]
      return promisify(execFile)(process.execPath, given, { env: { ...process.env, STATE_DIR: stateDir } })
    }
    const uma = { daily: '120', monthly: '3648', annual: '43776' }
    const own = {
      key: 'uma',
      value: uma,
      rule_ref: "Ley; 'UMA'",
      valid_from: '2027-02-01',
      valid_to: null,
      source: 'INEGI',
      confidence: 'verified',
    }
    expect((await run('rules', 'own.json', JSON.stringify([own]), 'set')).stdout).toBe('This deployment now sets 1 value itself.\n')
    await expect(run('rules', 'wrong.json', JSON.stringify([{ ...own, value: uma.annual }]), 'set')).rejects.toMatchObject({
      stderr: 'The file was refused, and nothing was changed.\n[0].value: Must be an object.\n',
    })
    const shown = await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/rules.ts'), 'show', 'uma'], {
      env: { ...process.env, STATE_DIR: stateDir },
    })
    expect(shown.stdout).toContain(`2027-02-01 to …  own, verified\n  Ley; 'UMA'. INEGI\n  ${JSON.stringify(uma)}\n2016-01-01`)
    const rates = await run('rates', 'fix.csv', 'Banco de México\nFecha,SF43718\n12/11/2026,18.1\n13/11/2026,18.2\n')
    expect(rates.stdout).toBe('2 rates were loaded.\nUSD: 2 rates from 2026-11-13 to 2026-11-16 (banxico)\n')
    await expect(run('rates', 'worse.csv', 'Fecha,SF43718\n12/11/2026,18.1\n12/13/2026,18.2\n')).rejects.toMatchObject({
      stderr: 'The file was refused, and nothing was changed.\nLine 3: “12/13/2026” is not a date (dd/mm/yyyy or YYYY-MM-DD).\n',
    })
  })

  it('fires what is daily at its minute alone', () => {
    const due = (cron: string) => ['09:59', '10:00', '10:01', '22:00'].map((at) => isDue(cron, Date.parse(`2027-03-17T${at}:00Z`)))
    expect(due('0 10 * * *')).toEqual([false, true, false, false])
    for (const cron of ['* * * * *', '*/15 * * * *']) expect(due(cron)).toEqual([true, true, true, true])
  })

  it('refuses a second service on the same STATE_DIR, and a port that is taken', async () => {
    const second = await start(stateDir, await freePort())
    expect(await second.exited).toBe(1)
    expect(second.said).toContain(`Already running on ${stateDir}: ${service.url}`)
    const elsewhere = freshState()
    const third = await start(elsewhere, service.port)
    expect(await third.exited).toBe(1)
    expect(third.said).toContain(`Port ${service.port} of 127.0.0.1 is not available`)
    rmSync(elsewhere, { recursive: true })
    expect(await isUp(service.url)).toBe(true)
  })

  it('starts the local runtime again when it dies', async () => {
    const { workerd } = service.children()
    expect(workerd.length).toBeGreaterThan(0)
    await end(workerd)
    await until('the runtime is back', 240_000, () => isUp(service.url))
    expect(workerd.filter((one) => isAlive(one))).toEqual([])
  })

  it.runIf(isLong)('ends a local runtime that hangs while it starts, and launches another', async () => {
    const elsewhere = freshState()
    const hung = await start(elsewhere, await freePort())
    const record = join(elsewhere, 'runner.json')
    const child = () => (existsSync(record) ? (JSON.parse(readFileSync(record, 'utf8')) as Runner).child : null)
    await until('the runtime is launched', 240_000, () => child() !== null, 5)
    const first = child()!
    process.kill(first.pid, 'SIGSTOP')
    await hung.ready()
    expect(isAlive(first)).toBe(false)
    expect(child()).not.toEqual(first)
    expect(await isUp(hung.url)).toBe(true)
    await discard(elsewhere, [hung])
  })

  it('after a SIGKILL of the runner, ends what it left and serves on the same port', async () => {
    const before = service.children()
    await end([service.runner])
    expect(before.runtime.every((one) => isAlive(one))).toBe(true)
    service = await (await start(stateDir, service.port)).ready()
    expect([...before.runtime, ...before.workerd].filter((one) => isAlive(one))).toEqual([])
    expect(await isUp(service.url)).toBe(true)
  })

  it('leaves alone what has a pid of its own from before', () => {
    const [runtime] = service.children().runtime
    expect(childrenLeft('/nowhere', runtime!)).not.toEqual([])
    expect(childrenLeft('/nowhere', { ...runtime!, started: 'another time' })).toEqual([])
  })

  it('ends with all of its children on SIGTERM', async () => {
    const { runtime, workerd } = service.children()
    expect(await service.stop()).toBe(0)
    expect([...runtime, ...workerd].filter((one) => isAlive(one))).toEqual([])
    expect(await isUp(service.url)).toBe(false)
  })
})

it('of its log the runner shows what Workers say, and what is wrong with their sources', () => {
  const folder = mkdtempSync(join(tmpdir(), 'log-'))
  const file = join(folder, 'service.log')
  writeFileSync(file, '{"said":"before"}\n')
  const shown: string[] = []
  const unfollow = follow(file, (line) => shown.push(line))
  const error = '\u001b[31m✘ \u001b[41;31m[\u001b[41;97mERROR\u001b[41;31m]\u001b[0m \u001b[1m'
  const lines = [
    '[fiscal-data-service] {"said":"by name"}',
    '{"said":"without"}',
    '[wrangler:info] GET /health 200 OK (2ms)',
    `${error}{"level":"error"}\u001b[0m`,
    `${error}Build failed with 1 error:\u001b[0m`,
    '      src/index.ts:12:7:',
    'env.DB (fiscal-local-control)      D1 Database      local',
  ]
  writeFileSync(file, `${lines.join('\n')}\n{"said":"not yet who`, { flag: 'a' })
  unfollow()
  rmSync(folder, { recursive: true })
  const build = ['✘ [ERROR] Build failed with 1 error:', '      src/index.ts:12:7:']
  expect(shown).toEqual(['{"said":"by name"}', '{"said":"without"}', '{"level":"error"}', ...build])
})

describe('local secrets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  const file = join(folder, '.dev.vars')
  afterAll(() => rmSync(folder, { recursive: true }))

  it('are made once, for nobody else to read', () => {
    ensureSecrets(file)
    const made = readFileSync(file, 'utf8')
    expect(made).toMatch(/^(\w+_KEYS=1:[A-Za-z0-9+/]{43}=\n){5}$/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    ensureSecrets(file)
    expect(readFileSync(file, 'utf8')).toBe(made)
  })

  it('are added where they lack', () => {
    writeFileSync(file, 'MINE=1\nCIEC_KEYS=kept')
    ensureSecrets(file)
    expect(readFileSync(file, 'utf8')).toMatch(
      /^MINE=1\nCIEC_KEYS=kept\nAPI_SECRET_KEYS=1:.{44}\nCURSOR_KEYS=1:.{44}\nWEBHOOK_KEYS=1:.{44}\nSESSION_KEYS=1:.{44}\n$/,
    )
  })
})
