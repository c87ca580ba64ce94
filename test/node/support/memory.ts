import { expect } from 'vitest'
import { HeapWatch } from './heap.ts'
import type { Started } from './runner.ts'

/** The Workers that hold what customers and the authority send: the uploads of requests, and what is ingested. Each has an isolate. */
const WORKERS = ['fiscal-data-service', 'fiscal-local-background']
/** The platform ends an isolate of more than 128 MB. Beside other tests garbage is collected late: there the limit is nearer to that. */
const MOST = process.env['FUZZ'] === 'full' ? 100_000_000 : 120_000_000

const mb = (bytes: number): string => (bytes / 1_000_000).toFixed(1)

/** Holds the memory that both Workers of a service take against the limit. */
export class Memory {
  readonly #heaps: HeapWatch[]
  readonly #figures: string[] = []

  private constructor(heaps: HeapWatch[]) {
    this.#heaps = heaps
  }

  static async of(service: Started): Promise<Memory> {
    return new Memory(await Promise.all(WORKERS.map((worker) => HeapWatch.of(service, worker))))
  }

  /** Does the work, and holds all that a Worker has in use against the limit. */
  async measured<T>(work: () => Promise<T>, most = MOST): Promise<T> {
    return (await this.#watched(work, most, false)).result
  }

  /** Does the work. Returns the most that a Worker had in use, with garbage. */
  async used(work: () => Promise<unknown>): Promise<number> {
    return (await this.#watched(work, MOST, false)).peak
  }

  /** Does the work. Returns the most that a Worker had in use, without garbage. */
  async needed(work: () => Promise<unknown>): Promise<number> {
    return (await this.#watched(work, MOST, true)).peak
  }

  async #watched<T>(work: () => Promise<T>, most: number, isCollected: boolean): Promise<{ result: T; peak: number }> {
    for (const heap of this.#heaps) await heap.collect()
    const done = work()
    const watched = await Promise.all(this.#heaps.map((heap) => heap.peakDuring(() => done, isCollected)))
    for (const [n, { peak, samples }] of watched.entries()) {
      const use = `${mb(peak.sum)} (${mb(peak.used)} + ${mb(peak.backing)}), ${samples} samples${isCollected ? ' without garbage' : ''}`
      this.#figures.push(`${use}, ${WORKERS[n]}: ${expect.getState().currentTestName}`)
      expect([WORKERS[n], peak.sum <= most || peak.sum]).toEqual([WORKERS[n], true])
    }
    return { result: await done, peak: Math.max(...watched.map(({ peak }) => peak.sum)) }
  }

  close(): void {
    console.log(`Most memory in use, in MB (used + backing storage):\n${this.#figures.join('\n')}`)
    for (const heap of this.#heaps) heap.close()
  }
}
