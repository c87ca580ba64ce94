import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, chmodSync, closeSync, constants, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sinkOf } from '../src/platform/egress/sink.ts'
import { BUILD, isStale } from './build.ts'
import { buildConsole } from './console.ts'
import { Crons } from './crons.ts'
import { childrenLeft, giveUp, RUNTIME, type Runner, recordChild, runnerOf, takeOver } from './leftovers.ts'
import { migrate } from './migrate.ts'
import { end, exists, markOf } from './processes.ts'
import { ensureSecrets } from './secrets.ts'
import { endCommands, QUIET, ROOT, runScript } from './wrangler.ts'

export interface Place {
  port: number
  /** Absolute. */
  stateDir: string
  url: string
  log: string
  /** WEBHOOK_SINK, STORAGE_SINK and SAT_STAND_IN, or nothing. */
  sinks: Record<(typeof SINKS)[number], string>
  /** What the environment says in the place of wrangler.toml. */
  variables: Record<string, string>
  secrets: Record<string, string>
}

const SINKS = ['WEBHOOK_SINK', 'STORAGE_SINK', 'SAT_STAND_IN'] as const
const VARIABLES = ['TAX_AUTHORITY', 'AUTHORITY_WAIT_FACTOR', 'FETCHER_SOURCES', 'MAIL_FROM']
const SECRETS = ['FETCHER_KEYS']

export function placeOf(environment: Record<string, string | undefined>): Place {
  const port = Number(environment['PORT'] || 8787)
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Refusal(`PORT must be a number from 1 to 65535, not “${environment['PORT']}”.`)
  const given = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])))
  const stateDir = resolve(ROOT, environment['STATE_DIR'] || '.state')
  return {
    port,
    stateDir,
    url: `http://127.0.0.1:${port}`,
    log: join(stateDir, 'service.log'),
    sinks: Object.fromEntries(SINKS.map((name) => [name, checked(name, environment[name] ?? '')])) as Place['sinks'],
    variables: given(VARIABLES),
    secrets: given(SECRETS),
  }
}

function checked(name: string, sink: string): string {
  try {
    sinkOf(name, sink)
    return sink
  } catch (error) {
    throw new Refusal((error as Error).message)
  }
}

/** A reason why the service cannot run that the user has to fix. The message says how. */
export class Refusal extends Error {}

/** How long a launch may take, in milliseconds. A runtime that hangs is ended and launched once more. */
const READY_WITHIN = [60_000, 180_000]
const LOOK_EVERY = 300
const RESTARTS_A_MINUTE = 5
const LARGEST_LOG = 10_000_000
const STOP_WITHIN = 1_000

/** The service on local storage: the local runtime as a child process that is restarted when it dies. */
export class Service {
  readonly place: Place
  /** Resolves when the service ends: to null after stop(), otherwise to the reason. */
  readonly ended: Promise<string | null>
  #runner: Runner
  #crons: Crons
  #child: ChildProcess | null = null
  /** The pids of the child's own children when it last answered. */
  #watched: number[] = []
  #isStopping = false
  #settle!: (reason: string | null) => void

  private constructor(place: Place, runner: Runner) {
    this.place = place
    this.#runner = runner
    this.#crons = new Crons(place.url)
    this.ended = new Promise((settle) => {
      this.#settle = settle
    })
  }

  /** Starts the service. `stopping` ends the start, and the service with it, at any moment. */
  static async start(place: Place, stopping: AbortSignal): Promise<Service> {
    if (process.platform === 'win32')
      throw new Refusal('On Windows, run this inside WSL: the local runtime cannot be supervised otherwise.')
    makePrivate(place.stateDir)
    const taken = await takeOver(place.stateDir, place.url)
    if (!taken) {
      const other = runnerOf(place.stateDir)
      throw new Refusal(
        `Already running on ${place.stateDir}: ${other?.url} (process ${other?.pid}). Stop it there with Ctrl-C, ` +
          'or start a second service with another STATE_DIR and PORT.',
      )
    }
    const service = new Service(place, taken.runner)
    stopping.addEventListener('abort', () => {
      service.#isStopping = true
      endCommands()
    })
    try {
      const steps = [
        () => portIsFree(place.port, taken.follows ? 10_000 : 0),
        () => ensureSecrets(join(ROOT, '.dev.vars')),
        buildConsole,
        async () => void (isStale() && (await runScript(BUILD))),
        () => migrate(place.stateDir),
      ]
      for (const step of steps) {
        stopping.throwIfAborted()
        await step()
      }
      stopping.throwIfAborted()
      if (existsSync(place.log) && statSync(place.log).size > LARGEST_LOG) renameSync(place.log, `${place.log}.1`)
      await service.#launch()
    } catch (error) {
      await service.stop()
      throw error
    }
    void service.#lookAfter()
    return service
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#finish(null)
  }

  async #launch(): Promise<void> {
    for (const within of READY_WITHIN) {
      if (await this.#isLaunched(within)) return
      await this.#endChild()
    }
    throw this.#notStarted('time')
  }

  #notStarted(why: string | number): Refusal {
    const { log } = this.place
    return new Refusal(`The service did not start (${why}). The end of ${log}:\n\n${readFileSync(log, 'utf8').slice(-3_000)}`)
  }

  /** Launches the runtime, and waits until it answers. Returns whether it does, or need not any more. Throws when it says why it cannot. */
  async #isLaunched(within: number): Promise<boolean> {
    const { port, stateDir, log, sinks, variables, secrets } = this.place
    const output = openSync(log, 'a')
    const given = Object.entries({ ...sinks, ...variables, ...secrets }).flatMap(([name, value]) => ['--var', `${name}:${value}`])
    // Its own process group lets the next start find all its children, and keeps Ctrl-C for the runner.
    const child = spawn(process.execPath, ['--no-warnings', RUNTIME, '--port', String(port), '--persist-to', stateDir, ...given], {
      cwd: ROOT,
      env: QUIET,
      stdio: ['ignore', output, output],
      detached: true,
    })
    closeSync(output)
    if (child.pid !== undefined) this.#runner.child = markOf(child.pid)
    recordChild(stateDir, this.#runner)
    await new Promise((done, failed) => child.once('spawn', done).once('error', failed))
    this.#child = child
    for (const until = Date.now() + within; !(await this.#answers(2_000)); await sleep(100)) {
      const failure = child.exitCode ?? child.signalCode
      if (this.#isStopping) return true
      const missing = await this.#missing()
      if (missing.length > 0) throw new Refusal(`The service cannot start. ${missing.join(' ')}`)
      if (failure !== null) throw this.#notStarted(failure)
      if (Date.now() > until) return false
    }
    this.#goOn()
    return true
  }

  /** The local queues lived in the process that was replaced: the crons find what was in them. */
  #goOn(): void {
    this.#watched = this.#members()
    if (!this.#isStopping) this.#crons.start()
  }

  /** What /health says is missing; empty while nothing answers. */
  async #missing(): Promise<string[]> {
    try {
      const response = await fetch(`${this.place.url}/health`, { signal: AbortSignal.timeout(2_000) })
      return response.status === 503 ? ((await response.json()) as { missing: string[] }).missing : []
    } catch {
      return []
    }
  }

  #members = (): number[] => childrenLeft(this.place.stateDir, this.#runner.child).map(({ pid }) => pid)

  #answers = async (within: number): Promise<boolean> => {
    try {
      return (await fetch(`${this.place.url}/health`, { signal: AbortSignal.timeout(within) })).ok
    } catch {
      return false
    }
  }

  #isWell = (): boolean => this.#child?.exitCode === null && this.#child.signalCode === null && this.#watched.every(exists)

  async #lookAfter(): Promise<void> {
    const deaths: number[] = []
    try {
      for (;;) {
        await sleep(LOOK_EVERY)
        if (this.#isStopping) return
        if (this.#isWell()) continue
        if (this.#isStopping) return
        deaths.push(Date.now())
        if (deaths.filter((at) => at > Date.now() - 60_000).length > RESTARTS_A_MINUTE)
          throw new Error(`The local runtime died more than ${RESTARTS_A_MINUTE} times in a minute. Its log: ${this.place.log}`)
        console.error('The local runtime died. Restarting it.')
        this.#crons.stop()
        await this.#endChild()
        if (this.#isStopping) return
        await this.#launch()
      }
    } catch (error) {
      if (!this.#isStopping) await this.#finish(error instanceof Error ? error.message : String(error))
    }
  }

  #endChild = (): Promise<void> => end(childrenLeft(this.place.stateDir, this.#runner.child))

  async #finish(reason: string | null): Promise<void> {
    this.#crons.stop()
    const child = this.#child
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await Promise.race([new Promise((done) => child.once('exit', done)), sleep(STOP_WITHIN)])
    }
    await this.#endChild()
    giveUp(this.place.stateDir, this.#runner)
    this.#settle(reason)
  }
}

/** One folder after the other: in a folder of the system that takes none, Node's own recursion never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder) && statSync(folder).isDirectory()) return
  makeFolder(dirname(folder))
  mkdirSync(folder)
}

/** Makes a folder that only its owner reads, as everything in it. Throws Refusal when it cannot be used. */
function makePrivate(folder: string): void {
  process.umask(0o077)
  try {
    makeFolder(folder)
    chmodSync(folder, 0o700)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    for (const file of [join(folder, 'service.log'), join(folder, 'runner.json')])
      if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'EEXIST' || code === 'ENOTDIR'
        ? 'it is a file, or lies below one'
        : `it, or what is in it, cannot be made or written (${code})`
    throw new Refusal(`STATE_DIR cannot be ${folder}: ${why}. Choose another folder: STATE_DIR=/tmp/fiscal npm start`)
  }
}

async function portIsFree(port: number, slowLimit: number): Promise<void> {
  for (const until = Date.now() + slowLimit; ; await sleep(100)) {
    const problem = await new Promise<NodeJS.ErrnoException | null>((done) => {
      const server = createServer()
      server.once('error', done).listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => done(null)))
    })
    if (problem === null) return
    if (Date.now() >= until)
      throw new Refusal(`Port ${port} of 127.0.0.1 is not available (${problem.code}). Choose another one: PORT=8788 npm start`)
  }
}
