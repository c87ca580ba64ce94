import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { Change } from './sites.ts'
import type { Report } from './vitest.config.ts'

const WORKERS = 2
/** A mutant can make a test wait for what never happens; so can a slow machine. */
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
      ...['--config', 'tools/mutants/vitest.config.ts', '--maxWorkers', String(WORKERS), '--bail', String(bail)],
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
    if (!existsSync(report)) return undefined
    const { modules, failures, loaded } = JSON.parse(readFileSync(report, 'utf8')) as Report
    const named = <T extends { file: string }>(list: T[]): T[] =>
      list.map((one) => ({ ...one, file: one.file && relative(root, one.file) }))
    return { modules: named(modules), failures: named(failures), loaded }
  } finally {
    clearTimeout(timer)
    kill()
    process.off('SIGINT', stop).off('SIGTERM', stop)
    rmSync(folder, { recursive: true, force: true })
  }
}

export type Failure = Report['failures'][number]

/** A failure that a slow machine does not explain, other than one by time or one outside of any test. */
const isCertain = ({ test, message }: Failure): boolean => test !== '' && !IS_TIME_OUT.test(message)

/**
 * The failure by which test files tell a mutant, if there is one. One that is not certain, or the lack of an answer, counts when it
 * happens again while its file runs alone, and does not happen there without the mutant.
 */
export async function findFailure(
  run: (files: readonly string[], isMutated: boolean) => Promise<Report | undefined>,
  files: readonly string[],
): Promise<Failure | undefined> {
  if (files.length === 0) return undefined
  const failuresOf = async (some: readonly string[], isMutated: boolean): Promise<Failure[]> =>
    (await run(some, isMutated))?.failures ?? some.map((file) => ({ file, test: '', message: 'The run did not end.' }))
  const failures = await failuresOf(files, true)
  const certain = failures.find(isCertain)
  if (failures.length === 0 || certain) return certain
  const named = files.filter((name) => failures.some(({ file }) => file === name))
  const suspects = named.length > 0 ? named : files
  for (const suspect of suspects) {
    const again = await failuresOf([suspect], true)
    const failure = again.find(isCertain) ?? again[0]
    if (failure && (isCertain(failure) || (await failuresOf([suspect], false)).length === 0)) return { ...failure, file: suspect }
  }
  return findFailure(
    run,
    files.filter((file) => !suspects.includes(file)),
  )
}
