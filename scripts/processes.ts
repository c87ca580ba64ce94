import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** A process and its start time: the pid alone may belong to another process by now. */
export interface Mark {
  pid: number
  started: string
}

export interface Process extends Mark {
  parent: number
  group: number
  command: string
}

/** Reads /proc, because small Linux systems have no `ps`. */
function fromProc(): Process[] {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        const [state, parent, group, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
        // A zombie has ended and only waits for its parent.
        return state === 'Z'
          ? []
          : [{ pid: Number(name), parent: Number(parent), group: Number(group), started: `${boot} ${rest[16]}`, command }]
      } catch {
        return [] // It ended after it was listed.
      }
    })
}

function fromPs(): Process[] {
  const options = ['-axww', '-o', 'stat=,pid=,ppid=,pgid=,lstart=,args=']
  const { stdout } = spawnSync('ps', options, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' }, maxBuffer: 1 << 26 })
  return stdout.split('\n').flatMap((line) => {
    const [, state, pid, parent, group, started, command] =
      /^\s*(\S+)\s+(\d+)\s+(\d+)\s+(\d+)\s+((?:\S+\s+){4}\d{4})\s(.*)$/.exec(line) ?? []
    return !state || state.startsWith('Z')
      ? []
      : [{ pid: Number(pid), parent: Number(parent), group: Number(group), started: started!, command: command! }]
  })
}

export const processes: () => Process[] = existsSync('/proc/self/stat') ? fromProc : fromPs

export const isAlive = ({ pid, started }: Mark, among = processes()): boolean =>
  among.some((one) => one.pid === pid && one.started === started)

export function markOf(pid: number, among = processes()): Mark {
  const found = among.find((one) => one.pid === pid)
  return { pid, started: found?.started ?? 'gone' }
}

/** Whether any process has this pid. Cheap enough to call often. */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Kills processes and waits until they have ended. */
export async function end(victims: readonly Mark[]): Promise<void> {
  for (const victim of victims) if (isAlive(victim)) kill(victim.pid)
  for (let waited = 0; waited < 100; waited++) {
    const now = processes()
    if (!victims.some((victim) => isAlive(victim, now))) return
    await sleep(50)
  }
  throw new Error(`Processes ${victims.map(({ pid }) => pid).join(', ')} did not end.`)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}
