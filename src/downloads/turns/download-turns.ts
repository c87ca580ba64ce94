import { DurableObject } from 'cloudflare:workers'
import { Turns, type WaitingRfc } from './turns.ts'

/**
 * The turns of the organizations that wait for downloads. The state is kept in memory only: when it is lost, messages are handled in the order in
 * which they were sent.
 */
export class DownloadTurns extends DurableObject<Env> {
  readonly #turns = new Turns()

  enter(entries: readonly WaitingRfc[]): void {
    for (const entry of entries) this.#turns.enter(entry)
  }

  next(own: string, now: number): string {
    return this.#turns.next(own, now)
  }
}
