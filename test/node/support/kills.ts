import { end } from '../../../scripts/processes.ts'
import { isUp, Started, until } from './runner.ts'

const asked = process.env['CRASH_ROUNDS']
/** Kills of a test: a few with every run, and all of them where they are what is wanted. */
export const ROUNDS = asked === 'full' ? 50 : Number(asked ?? 2)
/** Leases of half a minute and a sweep every minute: by then everything has been found again. */
export const FINISHED_WITHIN = 180_000
const VICTIMS = ['workerd', 'runtime', 'runner', 'all'] as const
type Victim = (typeof VICTIMS)[number]

export const victimOf = (round: number): Victim => VICTIMS[round % VICTIMS.length]!

/** SIGKILL, for one of a kind or for everything, to processes that this test started. */
async function kill(service: Started, victim: Victim): Promise<void> {
  const { runtime, workerd } = service.children()
  const one = workerd[Math.floor(Math.random() * workerd.length)]
  if (victim === 'workerd') await end(one ? [one] : [])
  else if (victim === 'runtime') await end(runtime)
  else if (victim === 'runner') await end([service.runner])
  else await end([service.runner, ...runtime, ...workerd])
}

/** Kills, and answers for the service when it is back: another one where the runner died. */
export async function killAndReturn(service: Started, victim: Victim, again: () => Promise<Started>, notified = ''): Promise<Started> {
  const before = service.children().runtime.map(({ pid }) => pid)
  await kill(service, victim)
  const back = victim === 'runner' || victim === 'all' ? await again() : service
  // Wrangler replaces a dead workerd by itself; where runtime dies its workerd answers on until the runner ends it.
  const isAnother = () => {
    const { runtime } = back.children()
    return victim === 'workerd' || (runtime.length > 0 && runtime.every(({ pid }) => !before.includes(pid)))
  }
  await until(`the service is back (${notified})`, 240_000, async () => isAnother() && (await isUp(back.url)))
  return back
}

/** The services that a test has started, to be ended with it. */
export class Runners {
  readonly all: Started[] = []
  readonly #environment: Record<string, string>

  constructor(environment: Record<string, string> = {}) {
    this.#environment = environment
  }

  start(stateDir: string, port: number): Promise<Started> {
    const one = new Started(stateDir, port, this.#environment)
    this.all.push(one)
    return one.ready()
  }
}
