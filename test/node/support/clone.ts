import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QUIET, ROOT } from '../../../scripts/wrangler.ts'

const COPIED = ['assets', 'console', 'migrations', 'scripts', 'src', 'tools', 'package-lock.json', 'package.json', 'tsconfig.json']

/** wrangler.toml as it is before an operator has written anything into it, whatever this repository's own has by now. */
export function unconfigured(text: string): string {
  const withoutShards = text.replace(/^ *\{ binding = "(LEDGER|EVENTS)_[1-9].*\n/gm, '')
  const withoutIds = withoutShards.replace(
    /"(fiscal-(?:test|live)-[\w-]+)", database_id = "[^"]*"/g,
    '"$1", database_id = "replace-with-the-id-of-$1"',
  )
  const [local, test, live] = withoutIds.split(/(?=^\[env\.(?:test|live)\]$)/m)
  const withoutHosts = (one: string) =>
    one.replace(/^PUBLIC_HOSTS = .*$/m, 'PUBLIC_HOSTS = "replace-with-the-name-of-your-host"').replace(/^routes = .*\n/m, '')
  const withoutBilling = (one: string) =>
    one
      .replace(/^CHECKOUT_URL = .*$/m, 'CHECKOUT_URL = "https://replace-with-the-page-where-seats-are-sold.example/"')
      .replace(/^BILLING_PROVIDER = .*$/m, 'BILLING_PROVIDER = "manual"')
  return local! + withoutHosts(test!) + withoutBilling(withoutHosts(live!))
}

/** Wrangler writes its own files beside a configuration, while files are copied. */
export const isKept = (path: string): boolean => !/\/\.wrangler$/.test(path)

/** A fresh clone of this repository in a folder of its own, after `npm ci`. */
export class Clone {
  folder = mkdtempSync(join(tmpdir(), 'clone-'))
  #children: ChildProcess[] = []

  constructor() {
    for (const name of COPIED)
      cpSync(join(ROOT, name), join(this.folder, name), { recursive: true, verbatimSymlinks: true, filter: isKept })
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'))
    this.configuration = unconfigured(readFileSync(join(ROOT, 'wrangler.toml'), 'utf8'))
  }

  get configuration(): string {
    return readFileSync(join(this.folder, 'wrangler.toml'), 'utf8')
  }

  set configuration(text: string) {
    writeFileSync(join(this.folder, 'wrangler.toml'), text)
  }

  /** Writes into wrangler.toml what an operator does before a deployment. */
  configure(): this {
    this.configuration = this.configuration
      .replaceAll('replace-with-the-name-of-your-host', 'api.example.com')
      .replace('replace-with-the-page-where-seats-are-sold.example', 'example.com')
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
