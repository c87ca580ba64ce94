import { linkSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, isAlive, type Mark, markOf, type Process, processes } from './processes.ts'
import { ROOT } from './wrangler.ts'

/** The local runtime that a runner starts. */
export const RUNTIME = join(ROOT, 'scripts/runtime.ts')

/** The process that runs a STATE_DIR, its launcher, its child, and the service's URL. */
export interface Runner extends Mark {
  launcher: Mark
  child: Mark | null
  url: string
}

/** The folder from which this project's processes run, with symbolic links resolved. */
const OURS = realpathSync(join(ROOT, 'node_modules'))

const fileOf = (stateDir: string): string => join(stateDir, 'runner.json')

function read(file: string): Runner | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Runner
  } catch {
    return null
  }
}

/** A runner is in charge only while its launcher (npm) lives; otherwise nothing could stop it any more. */
const isLeased = (runner: Runner | null): runner is Runner => runner !== null && isAlive(runner) && isAlive(runner.launcher)

/** The live runner of a STATE_DIR. */
export function runnerOf(stateDir: string): Runner | null {
  const runner = read(fileOf(stateDir))
  return isLeased(runner) ? runner : null
}

/** This project's processes in the process group of a dead runner's child. */
export function childrenLeft(stateDir: string, child: Mark | null): Process[] {
  const all = processes()
  const started = all
    .filter(({ command }) => command.includes(RUNTIME) && `${command} `.includes(`--persist-to ${stateDir} `))
    .map(({ pid }) => pid)
  const isReused = child && all.some(({ pid, started: at }) => pid === child.pid && at !== child.started)
  const groups = new Set([...started, ...(child && !isReused ? [child.pid] : [])])
  return all.filter(({ group, command }) => groups.has(group) && (command.includes(OURS) || command.includes(RUNTIME)))
}

/** Ends the processes that a dead runner left: the runner itself if only its launcher died, then its children. */
async function endLeftovers(stateDir: string): Promise<void> {
  const before = read(fileOf(stateDir))
  if (before !== null && isAlive(before)) await end([before])
  for (;;) {
    const left = childrenLeft(stateDir, read(fileOf(stateDir))?.child ?? null)
    if (left.length === 0) return
    await end(left)
  }
}

/** Removes a dead runner's file, unless another runner has replaced it. */
function clear(file: string, dead: Runner | null): void {
  const quarantined = `${file}.${process.pid}.old`
  try {
    renameSync(file, quarantined)
    if (read(quarantined)?.pid !== dead?.pid) linkSync(quarantined, file)
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    rmSync(quarantined, { force: true })
  }
}

/** Makes this process the runner of a STATE_DIR, after it has ended leftovers of a dead one. Null while another runner is alive. `follows` says that there was a dead one. */
export async function takeOver(stateDir: string, url: string): Promise<{ runner: Runner; follows: boolean } | null> {
  const file = fileOf(stateDir)
  const runner: Runner = { ...markOf(process.pid), launcher: markOf(process.ppid), child: null, url }
  const mine = `${file}.${process.pid}`
  writeFileSync(mine, JSON.stringify(runner))
  try {
    for (;;) {
      const before = read(file)
      if (isLeased(before)) return null
      await endLeftovers(stateDir)
      clear(file, before)
      try {
        // Only one of two concurrent runners can create the link.
        linkSync(mine, file)
        return { runner, follows: before !== null }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    }
  } finally {
    rmSync(mine, { force: true })
  }
}

export function recordChild(stateDir: string, runner: Runner): void {
  const next = `${fileOf(stateDir)}.next`
  writeFileSync(next, JSON.stringify(runner))
  renameSync(next, fileOf(stateDir))
}

export function giveUp(stateDir: string, runner: Runner): void {
  if (read(fileOf(stateDir))?.pid === runner.pid) rmSync(fileOf(stateDir), { force: true })
}
