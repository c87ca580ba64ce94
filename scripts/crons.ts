import { CRONS } from './wrangler.ts'

const MINUTE = 60_000
/** The leases of a dead worker end within a minute. Until then, the sweep runs often. */
const RECOVERY = 75_000
const RECOVERY_STEP = 5_000

export const scheduledPath = (cron: string, time: number): string =>
  `/cdn-cgi/handler/scheduled?cron=${encodeURIComponent(cron).replaceAll('%20', '+')}&time=${time}`

/** Whether a cron is due. A daily cron is due at its minute; all others are due every minute. */
export function isDue(cron: string, time: number): boolean {
  const [minute, hour] = cron.split(' ')
  const at = new Date(time)
  return hour === '*' || (Number(hour) === at.getUTCHours() && Number(minute) === at.getUTCMinutes())
}

/** Fires the crons as Cloudflare does; the local runtime fires none. */
export class Crons {
  #url: string
  #recoveringUntil = 0
  #next: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  constructor(url: string) {
    this.#url = url
  }

  /** Fires all crons at once, then often for a while: something may have died before this start. */
  start(): void {
    clearTimeout(this.#next)
    this.#recoveringUntil = Date.now() + RECOVERY
    this.#isStopped = false
    void this.#fire(Date.now(), true)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#next)
  }

  async #fire(time: number, isStart = false): Promise<void> {
    const due = CRONS.filter((cron) => isStart || isDue(cron, time))
    const fired = due.map((cron) => fetch(`${this.#url}${scheduledPath(cron, time)}`, { signal: AbortSignal.timeout(MINUTE) }))
    // The Worker logs its own failures, and service.ts restarts it when it dies.
    await Promise.allSettled(fired)
    if (this.#isStopped) return
    const now = Date.now()
    const minute = Math.floor(now / MINUTE + 1) * MINUTE
    const at = now < this.#recoveringUntil ? Math.min(minute, now + RECOVERY_STEP) : minute
    this.#next = setTimeout(() => void this.#fire(at), at - now)
  }
}
