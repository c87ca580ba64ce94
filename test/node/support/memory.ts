import { expect } from 'vitest'
import { HeapWatch } from './heap.ts'
import type { Started } from './runner.ts'

/** The platform ends an isolate of more than 128 MB. Beside other tests garbage is collected late: there the limit is nearer to that. */
const MOST = process.env['FUZZ'] === 'full' ? 110_000_000 : 120_000_000

/** The environment of a service whose isolate an inspector looks into. */
export const INSPECTED = { INSPECTOR_PORT: '0' }

const mb = (bytes: number): string => (bytes / 1_000_000).toFixed(1)

/** Holds the memory that the isolate of a service takes against the limit. */
export class Memory {
  readonly #heap: HeapWatch
  readonly #figures: string[] = []

  private constructor(heap: HeapWatch) {
    this.#heap = heap
  }

  static async of(service: Started): Promise<Memory> {
    return new Memory(await HeapWatch.of(service))
  }

  /** Does the work, and holds all that is in use against the limit. */
  async measured<T>(work: () => Promise<T>, most = MOST): Promise<T> {
    return (await this.#watched(work, most, false)).result
  }

  /** Does the work. Returns the most that was in use, with garbage. */
  async used(work: () => Promise<unknown>): Promise<number> {
    return (await this.#watched(work, MOST, false)).peak
  }

  /** Does the work. Returns the most that was in use, without garbage. */
  async needed(work: () => Promise<unknown>): Promise<number> {
    return (await this.#watched(work, MOST, true)).peak
  }

  async #watched<T>(work: () => Promise<T>, most: number, isCollected: boolean): Promise<{ result: T; peak: number }> {
    const before = await this.#heap.collect()
    this.#figures.push(`${mb(before.used)} + ${mb(before.backing)} before`)
    const { result, peak, samples } = await this.#heap.peakDuring(work, isCollected)
    const use = `${mb(peak.sum)} (${mb(peak.used)} + ${mb(peak.backing)}), ${samples} samples${isCollected ? ' without garbage' : ''}`
    this.#figures.push(`${use}: ${expect.getState().currentTestName}`)
    expect(peak.sum <= most || peak.sum).toBe(true)
    return { result, peak: peak.sum }
  }

  close(): void {
    console.log(`Most memory in use, in MB (used + backing storage):\n${this.#figures.join('\n')}`)
    this.#heap.close()
  }
}
