import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { BARE, CLASSES, CONFIG, DATABASES, OUTSIDE, QUEUES, SERVICE, STORAGE, serviceWith } from './bindings.ts'
import { build, ROOT } from './builds.ts'
import type { Recording, Used } from './workers/storage.ts'

type Origin = `http://127.0.0.1:${number}`

/** The built Worker under plain workerd, with stand-ins for D1 and R2 that count, and another Worker beside it. */
export interface Rig {
  service: Origin
  /** The Worker for bare work, or the one that hands the service its messages: there is one of them. */
  work: Origin
  outside: Origin
  /** The folder of what is stored. */
  state: string
  /** Asks the Worker of the bench. */
  ask(path: string, body?: BodyInit): Promise<unknown>
  /** SQL past the bindings: the rows. */
  query(database: string, sql: string, ...params: unknown[]): Promise<{ columns: string[]; rows: unknown[][] }>
  /** What D1 and R2 did while something ran. */
  recorded<T>(work: () => Promise<T>): Promise<{ result: T; recording: Recording }>
  /** What D1 and R2 did since this was last asked. */
  used(): Promise<Used>
  /** The file of a database. */
  fileOf(database: string): Promise<string>
  stop(): Promise<void>
}

interface Worker {
  file: string
  classes: readonly string[]
  bindings: readonly string[]
  flags?: readonly string[]
}

const workerOf = (folder: string, { file, classes, bindings, flags = [] }: Worker) => `(worker = (
  modules = [(name = "index.js", esModule = embed "${relative(folder, file)}")],
  compatibilityDate = "${CONFIG.compatibility_date}",
  compatibilityFlags = ${JSON.stringify(flags)},
  durableObjectNamespaces = [${classes.map((name) => `(className = "${name}", uniqueKey = "${name}", enableSql = true)`).join(', ')}],
  ${classes.length > 0 ? 'durableObjectStorage = (localDisk = "disk"),' : ''}
  bindings = [${bindings.join(',\n    ')}],
))`

const configOf = (workers: readonly string[], services: Record<string, string>) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${Object.entries(services)
      .map(([name, service]) => service.replace('(', `(name = "${name}", `))
      .join(',\n    ')},
  ],
  sockets = [${workers.map((name) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}")`).join(', ')}],
);
`

let home: Promise<string> | null = null
const builds = new Map<string, Promise<string>>()

/** The folder of this process, with what was built in it. */
async function homeOf(): Promise<string> {
  const folder = join(ROOT, '.bench')
  await mkdir(folder, { recursive: true })
  home ??= mkdtemp(join(folder, 'run-'))
  return home
}

/** A Worker's file, which is built when it is first asked for. */
export function built(name: Parameters<typeof build>[1]): Promise<string> {
  const known = builds.get(name) ?? homeOf().then((folder) => build(folder, name))
  builds.set(name, known)
  return known
}

/** Without an address, the service as it would be deployed, and a Worker for bare work beside it. */
async function workersIn(around: string | undefined, variables: Record<string, string>): Promise<Record<string, Worker>> {
  const names = around === undefined ? (['storage', 'service', 'work'] as const) : (['storage', 'metered', 'outside'] as const)
  const [storage, service, other] = (await Promise.all(names.map(built))) as [string, string, string]
  return {
    service: { file: service, classes: CLASSES, bindings: around === undefined ? SERVICE : [...serviceWith(variables), ...QUEUES] },
    storage: {
      file: storage,
      classes: ['Database'],
      bindings: ['(name = "DATABASES", durableObjectNamespace = "Database")', '(name = "DISK", service = "disk")'],
    },
    ...(around === undefined
      ? {
          work: { file: other, classes: [], bindings: [...STORAGE, ...BARE] },
        }
      : {
          outside: {
            file: other,
            classes: [],
            bindings: ['(name = "SERVICE", service = "service")'],
            flags: ['service_binding_extra_handlers'],
          },
        }),
  }
}

const running = new Set<() => Promise<void>>()

export const runningRigs = (): number => running.size

/** Stops what was started and not stopped yet, and forgets what was built. */
export async function stopRigs(): Promise<void> {
  await Promise.all([...running].map((stop) => stop()))
  builds.clear()
  const folder = await home
  home = null
  if (folder !== null) await rm(folder, { recursive: true, force: true })
}

/** A service of its own for some work, with nothing stored: no other work has an effect on it. */
export async function withRig<T>(work: (rig: Rig) => Promise<T>): Promise<T> {
  const rig = await startRig()
  try {
    return await work(rig)
  } finally {
    await rig.stop()
  }
}

/**
 * Builds the Workers once, starts workerd on free ports of 127.0.0.1 and applies the migrations. With the address of a server, queues and
 * webhook deliveries go there, and the service counts what its Durable Objects do, has a clock that can be set, and other `variables`.
 */
export async function startRig(around?: string, variables: Record<string, string> = {}): Promise<Rig> {
  const folder = await mkdtemp(join(await homeOf(), 'rig-'))
  let child: ChildProcess | null = null
  const stop = async () => {
    running.delete(stop)
    if (child !== null && child.exitCode === null && child.signalCode === null)
      await new Promise((resolve) => child!.once('exit', resolve) && child!.kill('SIGKILL'))
    await rm(folder, { recursive: true, force: true })
  }
  running.add(stop)
  try {
    await mkdir(join(folder, 'state'))
    const workers = await workersIn(around, variables)
    const names = Object.keys(workers)
    const services = {
      ...Object.fromEntries(Object.entries(workers).map(([name, worker]) => [name, workerOf(folder, worker)])),
      assets: `(disk = (path = "${join(ROOT, 'assets')}"))`,
      disk: `(disk = (path = "${join(folder, 'state')}", writable = true))`,
      ...Object.fromEntries(
        (around === undefined ? [] : OUTSIDE).map((name) => [
          name,
          `(external = (address = "${around}", http = (injectRequestHeaders = [(name = "x-for", value = "${name}")])))`,
        ]),
      ),
    }
    await writeFile(join(folder, 'config.capnp'), configOf(names, services))
    // For looking closer: WORKERD_ARGS=--inspector-addr=127.0.0.1:9229
    const more = process.env['WORKERD_ARGS']?.split(' ') ?? []
    child = spawn(workerdBinary(), ['serve', '--experimental', '--control-fd=3', ...more, join(folder, 'config.capnp')], {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    })
    const ports = await portsOf(child, names)
    const origin = (name: string): Origin => `http://127.0.0.1:${ports.get(name)!}`
    const rig: Rig = {
      ...{ service: origin('service'), work: origin('work'), outside: origin('outside'), state: join(folder, 'state') },
      ...throughStorage(origin('work'), origin('storage')),
      stop,
    }
    for (const database of DATABASES) await migrate(rig, database)
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

function throughStorage(work: Origin, storage: Origin): Pick<Rig, 'ask' | 'query' | 'recorded' | 'used' | 'fileOf'> {
  const post = async (url: string, body?: BodyInit): Promise<unknown> => {
    const response = await fetch(url, { method: 'POST', ...(body === undefined ? {} : { body }) })
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${(await response.text()).slice(0, 1_000)}`)
    return response.json()
  }
  return {
    ask: (path, body) => post(work + path, body),
    async query(database, sql, ...params) {
      const answer = (await post(`${storage}/query/${database}`, JSON.stringify({ sql, params }))) as
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
    used: async () => (await post(`${storage}/used`)) as Used,
    fileOf: async (database) => join('Database', `${await post(`${storage}/file/${database}`)}.sqlite`),
  }
}

async function migrate({ query }: Pick<Rig, 'query'>, { name, migrations }: (typeof DATABASES)[number]): Promise<void> {
  const folder = join(ROOT, 'migrations', migrations)
  for (const file of (await readdir(folder)).filter((it) => it.endsWith('.sql')).sort())
    for (const statement of (await readFile(join(folder, file), 'utf8')).split('--> statement-breakpoint')) await query(name, statement)
}
