import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** A process and when it started: a pid alone may be another's by now. */
export interface Mark {
  pid: number
  started: string
}

export interface Process extends Mark {
  parent: number
  group: number
  command: string
}

/** Of Linux's own records: small systems have no `ps`. */
function fromProc(): Process[] {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        const [state, parent, group, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
        // A zombie is dead: it only waits for its parent to hear of it.
        return state === 'Z'
          ? []
          : [{ pid: Number(name), parent: Number(parent), group: Number(group), started: `${boot} ${rest[16]}`, command }]
      } catch {
        return [] // Gone since it was listed.
      }
    })
}

function fromPs(): Process[] {
  const asked = ['-axww', '-o', 'stat=,pid=,ppid=,pgid=,lstart=,args=']
  const { stdout } = spawnSync('ps', asked, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' }, maxBuffer: 1 << 26 })
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

/** Whether there is a process of that number at all: cheap enough to ask often. */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Ends processes at once and waits until they are gone. */
export async function end(victims: readonly Mark[]): Promise<void> {
  for (const victim of victims) if (isAlive(victim)) kill(victim.pid)
  for (let waited = 0; waited < 100; waited++) {
    const now = processes()
    if (!victims.some((victim) => isAlive(victim, now))) return
    await sleep(50)
  }
  throw new Error(`Processes ${victims.map(({ pid }) => pid).join(', ')} do not end.`)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}
