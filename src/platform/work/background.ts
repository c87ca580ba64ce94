import { waitUntil } from 'cloudflare:workers'
import type { System } from '../context.ts'
import { log } from '../log.ts'

const ACKNOWLEDGE_AFTER_MS = 250

/** The work of this isolate that goes on in the background. */
const open = new Set<Promise<void>>()

/** Returns when nothing of it goes on any more. */
export async function backgroundEnded(): Promise<void> {
  while (open.size > 0) await Promise.all(open)
}

/**
 * Returns when the work ends, and after 250 ms at the latest: its message is then acknowledged, so that no other one waits behind a
 * customer's server, and the work continues in the background. A failure is logged with `failed`; a sweep has to find the rest.
 */
export async function inBackground(system: System, work: Promise<void>, failed: string, about: Record<string, unknown>): Promise<void> {
  const ended = work.catch((error: unknown) => log.error(system, failed, about, error)).finally(() => open.delete(ended))
  open.add(ended)
  waitUntil(ended)
  await Promise.race([work, scheduler.wait(ACKNOWLEDGE_AFTER_MS)])
}
