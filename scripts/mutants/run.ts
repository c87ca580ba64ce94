import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Change } from './sites.ts'
import type { Report } from './vitest.config.ts'

const WORKERS = 2
/** A mutant that waits for an event that never comes, or never ends, fails by time; so does a slow machine. */
const IS_TIME_OUT = /timed? ?out/i

/**
 * Runs test files, all without any, with changed sources up to the first failure; `changes` are by path. Without an answer in
 * `limitMs` milliseconds it ends them and returns undefined.
 */
export async function runTests(
  root: string,
  files: readonly string[],
  changes: Record<string, readonly Change[]>,
  leftOut: readonly string[],
  limitMs: number,
  bail: number,
): Promise<Report | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'mutants-'))
  const run = join(folder, 'run.json')
  const report = join(folder, 'report.json')
  const absolute = Object.fromEntries(Object.entries(changes).map(([file, list]) => [join(root, file), list]))
  writeFileSync(run, JSON.stringify({ changes: absolute, leftOut, report }))
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      ...['--config', 'scripts/mutants/vitest.config.ts', '--maxWorkers', String(WORKERS), '--bail', String(bail)],
      ...files.map((file) => join(root, file)),
    ],
    { cwd: root, env: { ...process.env, MUTANTS_RUN: run }, stdio: 'ignore', detached: true },
  )
  const kill = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {} // It has ended.
  }
  const stop = (): never => {
    kill()
    process.exit(1)
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const timer = setTimeout(kill, limitMs)
  try {
    await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject))
    return existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined
  } finally {
    clearTimeout(timer)
    kill()
    process.off('SIGINT', stop).off('SIGTERM', stop)
    rmSync(folder, { recursive: true, force: true })
  }
}

export type Failure = Report['failures'][number]

/** The failure that tells a mutant, if there is one. A time-out and a run that ended without a report have to happen twice. */
export async function findFailure(run: () => Promise<Report | undefined>): Promise<Failure | undefined> {
  for (let attempt = 1; ; attempt++) {
    const report = await run()
    if (report?.failures.length === 0) return undefined
    const failures = report?.failures ?? [{ file: '', test: '', message: 'The run timed out.' }]
    const failure = failures.find(({ test, message }) => test !== '' && !IS_TIME_OUT.test(message))
    if (failure || attempt === 2) return failure ?? failures[0]!
  }
}
