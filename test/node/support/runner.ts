import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { childrenLeft, RUNTIME, type Runner } from '../../../scripts/leftovers.ts'
import { end, type Mark, markOf, processes } from '../../../scripts/processes.ts'
import { ROOT } from '../../../scripts/wrangler.ts'

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false)).listen(port, '127.0.0.1', () => server.close(() => done(true)))
  })

/** A port that nobody listens on, below those that systems give to connections: one of these could be taken before the service begins. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (await isFree(port)) return port
  }
}

export const freshState = (): string => mkdtempSync(join(tmpdir(), 'fiscal-state-'))

export const isUp = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) })).ok
  } catch {
    return false
  }
}

export async function until(
  what: string | (() => string),
  within: number,
  holds: () => Promise<boolean> | boolean,
  every = 100,
): Promise<void> {
  for (const end = Date.now() + within; !(await holds()); await sleep(every))
    if (Date.now() > end) throw new Error(`Not within ${within} ms: ${typeof what === 'string' ? what : what()}.`)
}

/** The runner launches a runtime that hangs once more: it needs its first minute, and three more. */
const READY_WITHIN = 300_000

/** `npm start` without npm: the runner itself as a child, with its own STATE_DIR and PORT. */
export class Started {
  readonly stateDir: string
  readonly port: number
  readonly url: string
  said = ''
  #child: ChildProcess
  readonly exited: Promise<number | string | null>

  constructor(stateDir: string, port: number, environment: Record<string, string> = {}) {
    this.stateDir = stateDir
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.#child = spawn(process.execPath, [join(ROOT, 'scripts/start.ts')], {
      cwd: ROOT,
      env: { ...process.env, STATE_DIR: stateDir, PORT: String(port), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { stdout, stderr } = this.#child
    for (const stream of [stdout!, stderr!])
      stream.on('data', (chunk: Buffer) => {
        this.said += chunk
      })
    this.exited = new Promise((done) => this.#child.once('exit', (code, signal) => done(code ?? signal)))
  }

  static async start(stateDir: string, port: number): Promise<Started> {
    const started = new Started(stateDir, port)
    await started.ready()
    return started
  }

  async ready(): Promise<this> {
    await until(
      () => `the service is ready; ${this.#notified()}`,
      READY_WITHIN,
      () => {
        if (this.#child.exitCode !== null) throw new Error(`The runner ended with ${this.#child.exitCode}:\n${this.said}`)
        return this.said.includes('Press Ctrl-C to stop.')
      },
    )
    return this
  }

  /** What the runner and the runtime said last. */
  #notified(): string {
    const log = join(this.stateDir, 'service.log')
    return `the runner said:\n${this.said}\nand the log ends:\n${existsSync(log) ? readFileSync(log, 'utf8').slice(-2_000) : 'there is none'}`
  }

  get runner(): Mark {
    return markOf(this.#child.pid!)
  }

  /** All that the runner has started, and what that has. */
  children(): { runtime: Mark[]; workerd: Mark[] } {
    const { child } = JSON.parse(readFileSync(join(this.stateDir, 'runner.json'), 'utf8')) as Runner
    const all = childrenLeft(this.stateDir, child)
    const isRuntime = ({ command }: { command: string }) => command.includes(RUNTIME)
    return { runtime: all.filter(isRuntime), workerd: all.filter((one) => !isRuntime(one) && one.command.includes('workerd')) }
  }

  async stop(): Promise<number | string | null> {
    this.#child.kill('SIGTERM')
    return this.exited
  }
}

/** Ends what a test may have left, in whatever state it failed, and forgets its folder. */
export async function discard(stateDir: string, runners: readonly Started[]): Promise<void> {
  for (const one of runners)
    if (processes().some(({ pid, started }) => pid === one.runner.pid && started === one.runner.started)) await one.stop()
  await end(childrenLeft(stateDir, null))
  rmSync(stateDir, { recursive: true, force: true })
}
