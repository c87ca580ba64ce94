import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QUIET, ROOT } from '../../../scripts/wrangler.ts'

const COPIED = ['assets', 'migrations', 'scripts', 'src', 'package.json', 'tsconfig.json', 'wrangler.toml']

/** A fresh clone of this repository in a folder of its own, after `npm ci`. */
export class Clone {
  folder = mkdtempSync(join(tmpdir(), 'clone-'))
  #children: ChildProcess[] = []

  constructor() {
    for (const name of COPIED) cpSync(join(ROOT, name), join(this.folder, name), { recursive: true, verbatimSymlinks: true })
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'))
  }

  get configuration(): string {
    return readFileSync(join(this.folder, 'wrangler.toml'), 'utf8')
  }

  /** What an operator writes into wrangler.toml before a deployment. */
  configure(): this {
    const text = this.configuration
      .replace('replace-with-the-name-of-your-host', 'api.example.com')
      .replace('replace-with-the-page-where-seats-are-sold.example', 'example.com')
    writeFileSync(join(this.folder, 'wrangler.toml'), text)
    return this
  }

  /** Runs Node in the clone, with nothing of this machine's account. */
  run(args: readonly string[], environment: Record<string, string> = {}): Run {
    const { PREPARED: _, CLOUDFLARE_API_TOKEN: _token, CLOUDFLARE_ACCOUNT_ID: _account, ...inherited } = QUIET
    const child = spawn(process.execPath, ['--no-warnings', ...args], {
      cwd: this.folder,
      env: { ...inherited, PATH: `${join(ROOT, 'node_modules/.bin')}:${inherited['PATH']}`, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#children.push(child)
    return new Run(child)
  }

  discard(): void {
    for (const { pid, exitCode, signalCode } of this.#children) if (exitCode === null && signalCode === null) process.kill(-pid!, 'SIGKILL')
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** A command with its output, in a process group of its own. */
export class Run {
  said = ''
  ended: Promise<number | string | null>
  #child: ChildProcess

  constructor(child: ChildProcess) {
    this.#child = child
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk: Buffer) => (this.said += chunk))
    this.ended = new Promise((done) => child.once('close', (code, signal) => done(code ?? signal)))
  }

  /** Kills the command and all that it has started. */
  kill(): void {
    process.kill(-this.#child.pid!, 'SIGKILL')
  }
}
