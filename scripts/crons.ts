import { CRONS } from './wrangler.ts'

const MINUTE = 60_000
/** A dead worker's leases and calls are free again after half a minute to a minute: until then the sweep looks often. */
const RECOVERY = 75_000
const RECOVERY_STEP = 5_000

export const scheduledPath = (cron: string, time: number): string =>
  `/cdn-cgi/handler/scheduled?cron=${encodeURIComponent(cron).replaceAll('%20', '+')}&time=${time}`

/** What comes once a day comes at its minute, beside at the start; the rest every time. */
export function isDue(cron: string, time: number): boolean {
  const [minute, hour] = cron.split(' ')
  const at = new Date(time)
  return hour === '*' || (Number(hour) === at.getUTCHours() && Number(minute) === at.getUTCMinutes())
}

/** Fires the crons as Cloudflare would, which the local runtime does not do by itself. */
export class Crons {
  #url: string
  #recoveringUntil = 0
  #next: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  constructor(url: string) {
    this.#url = url
  }

  /** The service has come up, maybe after something died: fire at once, and often for a while. */
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
    // What goes wrong inside is in the Worker's log; whether the service is there at all is looked after elsewhere.
    await Promise.allSettled(fired)
    if (this.#isStopped) return
    const now = Date.now()
    const minute = Math.floor(now / MINUTE + 1) * MINUTE
    const at = now < this.#recoveringUntil ? Math.min(minute, now + RECOVERY_STEP) : minute
    this.#next = setTimeout(() => void this.#fire(at), at - now)
  }
}
