import { linkSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, isAlive, type Mark, markOf, type Process, processes } from './processes.ts'
import { ROOT, WRANGLER } from './wrangler.ts'

/** Who looks after a STATE_DIR: the runner, who started it, the child that it started, and where they are found. */
export interface Runner extends Mark {
  launcher: Mark
  child: Mark | null
  url: string
}

/** Where processes of this project are run from. A link to it is followed, as whatever runs them does. */
const OURS = realpathSync(join(ROOT, 'node_modules'))

const fileOf = (stateDir: string): string => join(stateDir, 'runner.json')

function read(file: string): Runner | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Runner
  } catch {
    return null
  }
}

/** A runner whose launcher (npm) was killed is a leftover like its children: nobody could stop it any more. */
const isHeld = (runner: Runner | null): runner is Runner => runner !== null && isAlive(runner) && isAlive(runner.launcher)

/** The live runner of a STATE_DIR. */
export function runnerOf(stateDir: string): Runner | null {
  const runner = read(fileOf(stateDir))
  return isHeld(runner) ? runner : null
}

/** What a dead runner's child and that one's children leave: its process group, and only processes of this project in it. */
export function childrenLeft(stateDir: string, child: Mark | null): Process[] {
  const all = processes()
  const started = all
    .filter(({ command }) => command.includes(WRANGLER) && command.includes(`--persist-to ${stateDir} `))
    .map(({ pid }) => pid)
  const isReused = child && all.some(({ pid, started: at }) => pid === child.pid && at !== child.started)
  const groups = new Set([...started, ...(child && !isReused ? [child.pid] : [])])
  return all.filter(({ group, command }) => groups.has(group) && command.includes(OURS))
}

/** Ends what a dead runner left: itself where it only lost its launcher, then its children. */
async function endLeftovers(stateDir: string): Promise<number> {
  const before = read(fileOf(stateDir))
  const orphan = before !== null && isAlive(before)
  if (orphan) await end([before])
  let ended = orphan ? 1 : 0
  for (;;) {
    const left = childrenLeft(stateDir, read(fileOf(stateDir))?.child ?? null)
    if (left.length === 0) return ended
    ended += left.length
    await end(left)
  }
}

/** Takes a dead runner's file away, unless another one's has come in its place. */
function clear(file: string, dead: Runner | null): void {
  const aside = `${file}.${process.pid}.old`
  try {
    renameSync(file, aside)
    if (read(aside)?.pid !== dead?.pid) linkSync(aside, file)
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

/** Makes this process the runner of a STATE_DIR, after ending what a dead one left. Null when somebody else is, who is alive. */
export async function takeOver(stateDir: string, url: string): Promise<{ runner: Runner; ended: number } | null> {
  const file = fileOf(stateDir)
  const runner: Runner = { ...markOf(process.pid), launcher: markOf(process.ppid), child: null, url }
  const mine = `${file}.${process.pid}`
  writeFileSync(mine, JSON.stringify(runner))
  try {
    for (;;) {
      const before = read(file)
      if (isHeld(before)) return null
      const ended = await endLeftovers(stateDir)
      clear(file, before)
      try {
        // Of two who come at once one links.
        linkSync(mine, file)
        return { runner, ended }
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
