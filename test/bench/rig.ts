import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { buildService, buildWorker, compatibilityDate, ROOT } from './builds.ts'
import type { Recording } from './workers/storage.ts'

export type DatabaseName = 'control' | 'ledger' | 'events'

type Origin = `http://127.0.0.1:${number}`

/** The built Worker under plain workerd, with stand-ins for D1 and R2 that count, and a Worker that does bare work beside it. */
export interface Rig {
  /** The file of the built Worker. */
  bundle: string
  service: Origin
  work: Origin
  /** Asks the Worker of the bench. */
  ask(path: string, body?: BodyInit): Promise<unknown>
  /** SQL past the bindings: the rows. */
  query(database: DatabaseName, sql: string, ...params: unknown[]): Promise<{ columns: string[]; rows: unknown[][] }>
  /** What D1 and R2 did while something ran. */
  recorded<T>(work: () => Promise<T>): Promise<{ result: T; recording: Recording }>
  stop(): Promise<void>
}

const KEY = `1:${Buffer.alloc(32, 7).toString('base64')}`

const d1 = (binding: string, entrypoint: string) =>
  `(name = "${binding}", wrapped = (moduleName = "cloudflare-internal:d1-api", innerBindings = [(name = "fetcher", service = (name = "storage", entrypoint = "${entrypoint}"))]))`

const STORAGE = [
  d1('DB', 'Control'),
  d1('LEDGER_0', 'Ledger'),
  d1('EVENTS_0', 'Events'),
  '(name = "FILES", r2Bucket = (name = "storage", entrypoint = "Files"))',
]

/** Queues are left out: no figure needs them so far. */
const SERVICE = [
  ...STORAGE,
  '(name = "ASSETS", service = "assets")',
  ...[
    'ENVIRONMENT:test',
    'TAX_AUTHORITY:sandbox',
    `API_SECRET_KEYS:${KEY}`,
    `CIEC_KEYS:${KEY}`,
    `CURSOR_KEYS:${KEY}`,
    `WEBHOOK_KEYS:${KEY}`,
    'PUBLIC_HOSTS:',
    'REPSE_REGISTRY:sandbox',
    'REPSE_REGISTRY_URL:https://repse.example.com',
    'SPREAD_SECONDS:0',
    'CREDENTIAL_REQUESTS_PER_MINUTE:60000',
    'ADDRESS_REQUESTS_PER_MINUTE:6000',
    'LIST_69B_URL:',
    'BILLING_PROVIDER:manual',
    'CHECKOUT_URL:https://checkout.example.com/seats',
    'STRIPE_API_BASE:https://api.stripe.example.com',
  ]
    .map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)])
    .map(([name, text]) => `(name = "${name}", text = "${text}")`),
  ...[
    ['COOLDOWNS', 'Cooldown'],
    ['MUTEXES', 'Mutex'],
  ].map(([binding, name]) => `(name = "${binding}", durableObjectNamespace = "${name}")`),
]

interface Worker {
  file: string
  classes: string[]
  bindings: string[]
}

const workerOf = (date: string, folder: string, { file, classes, bindings }: Worker) => `(
  modules = [(name = "index.js", esModule = embed "${relative(folder, file)}")],
  compatibilityDate = "${date}",
  durableObjectNamespaces = [${classes.map((name) => `(className = "${name}", uniqueKey = "${name}", enableSql = true)`).join(', ')}],
  ${classes.length > 0 ? 'durableObjectStorage = (localDisk = "disk"),' : ''}
  bindings = [${bindings.join(',\n    ')}],
)`

const configOf = (folder: string, workers: Record<string, string>) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${Object.entries(workers)
      .map(([name, worker]) => `(name = "${name}", worker = ${worker}),`)
      .join('\n    ')}
    (name = "assets", disk = (path = "${join(ROOT, 'assets')}")),
    (name = "disk", disk = (path = "${join(folder, 'state')}", writable = true)),
  ],
  sockets = [${Object.keys(workers)
    .map((name) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}")`)
    .join(', ')}],
);
`

/** Builds the Workers, starts workerd on free ports of 127.0.0.1 and applies the migrations. */
export async function startRig(): Promise<Rig> {
  await mkdir(join(ROOT, '.bench'), { recursive: true })
  const folder = await mkdtemp(join(ROOT, '.bench', 'run-'))
  let child: ChildProcess | null = null
  const stop = async () => {
    if (child !== null && child.exitCode === null) await new Promise((resolve) => child!.once('exit', resolve) && child!.kill('SIGKILL'))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await mkdir(join(folder, 'state'))
    const [bundle, work, storage] = await Promise.all([buildService(folder), buildWorker(folder, 'work'), buildWorker(folder, 'storage')])
    const date = await compatibilityDate()
    const workers = {
      service: workerOf(date, folder, { file: bundle, classes: ['Cooldown', 'Mutex'], bindings: SERVICE }),
      work: workerOf(date, folder, { file: work, classes: [], bindings: [...STORAGE, `(name = "WEBHOOK_KEYS", text = "${KEY}")`] }),
      storage: workerOf(date, folder, {
        file: storage,
        classes: ['Database'],
        bindings: ['(name = "DATABASES", durableObjectNamespace = "Database")', '(name = "DISK", service = "disk")'],
      }),
    }
    await writeFile(join(folder, 'config.capnp'), configOf(folder, workers))
    // For looking closer: WORKERD_ARGS=--inspector-addr=127.0.0.1:9229
    const more = process.env['WORKERD_ARGS']?.split(' ') ?? []
    child = spawn(workerdBinary(), ['serve', '--experimental', '--control-fd=3', ...more, join(folder, 'config.capnp')], {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    })
    const ports = await portsOf(child, Object.keys(workers))
    const origin = (name: string): Origin => `http://127.0.0.1:${ports.get(name)!}`
    const rig = { bundle, service: origin('service'), work: origin('work'), ...throughStorage(origin('work'), origin('storage')), stop }
    for (const database of ['control', 'ledger', 'events'] as const) await migrate(rig, database)
    return rig
  } catch (error) {
    await stop()
    throw error
  }
}

/** workerd comes with wrangler, whatever its version. */
function workerdBinary(): string {
  const ofWrangler = createRequire(createRequire(import.meta.url).resolve('wrangler/package.json'))
  return (ofWrangler('workerd') as { default: string }).default
}

async function portsOf(child: ChildProcess, names: readonly string[]): Promise<Map<string, number>> {
  const ports = new Map<string, number>()
  let text = ''
  const ended = new Promise<never>((_, reject) => child.once('exit', (code) => reject(new Error(`workerd ended with ${code}.`))))
  ended.catch(() => {})
  const listening = async () => {
    for await (const chunk of child.stdio[3] as Readable) {
      text += chunk
      for (const [, line] of text.matchAll(/^(.+)\n/gm)) {
        const { event, socket, port } = JSON.parse(line!) as { event: string; socket: string; port: number }
        if (event === 'listen') ports.set(socket, port)
      }
      if (names.every((name) => ports.has(name))) return
    }
  }
  await Promise.race([listening(), ended])
  return ports
}

function throughStorage(work: Origin, storage: Origin): Pick<Rig, 'ask' | 'query' | 'recorded'> {
  const post = async (url: string, body?: BodyInit): Promise<unknown> => {
    const response = await fetch(url, { method: 'POST', ...(body === undefined ? {} : { body }) })
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${(await response.text()).slice(0, 1_000)}`)
    return response.json()
  }
  return {
    ask: (path, body) => post(work + path, body),
    async query(database, sql, ...params) {
      const answer = (await post(`${storage}/${database}`, JSON.stringify({ sql, params }))) as
        | { success: false; error: string }
        | { results: { columns: string[]; rows: unknown[][] } }[]
      if (!Array.isArray(answer)) throw new Error(`${answer.error}: ${sql.slice(0, 200)}`)
      return answer[0]!.results
    },
    async recorded(run) {
      await post(`${storage}/record`)
      const result = await run()
      return { result, recording: (await post(`${storage}/recorded`)) as Recording }
    },
  }
}

async function migrate({ query }: Pick<Rig, 'query'>, database: DatabaseName): Promise<void> {
  const folder = join(ROOT, 'migrations', database)
  for (const name of (await readdir(folder)).filter((it) => it.endsWith('.sql')).sort()) {
    for (const statement of (await readFile(join(folder, name), 'utf8')).split('--> statement-breakpoint')) await query(database, statement)
  }
}
