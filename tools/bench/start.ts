import { readFile } from 'node:fs/promises'
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from 'miniflare'
import { builtWorker } from '../../scripts/build.ts'
import { CONFIG, KEYS } from './bindings.ts'
import { measure, median } from './measures.ts'
import { built } from './rig.ts'
import { sized } from './sizes.ts'

const ROUNDS = sized(9, 1)

/** Milliseconds from a new runtime to its answer to a request, for a path that no Worker knows. */
async function timeOf(worker: V4MiniflareOptions): Promise<number> {
  const began = performance.now()
  const miniflare = new Miniflare(convertV4MiniflareOptions({ cf: false, handleStructuredLogs: () => {}, ...worker }))
  try {
    const { status } = await miniflare.dispatchFetch('http://localhost/nothing')
    if (status !== 404) throw new Error(`The Worker answered ${status}.`)
    return performance.now() - began
  } finally {
    await miniflare.dispose()
  }
}

export const start = measure({
  figures: {
    'start.ratio_vs_hono': {
      isRatioOfTimes: true,
      digits: 2,
      meaning: 'Time from a new runtime with the Worker to its first answer, to that of a Worker with nothing but Hono',
    },
  },
  async take() {
    await built('service')
    const service = { ...builtWorker(), name: CONFIG.name, bindings: { ...CONFIG.vars, ...KEYS } }
    const empty = { modules: true, script: await readFile(await built('empty'), 'utf8'), compatibilityDate: CONFIG.compatibility_date }
    const ratios: number[] = []
    // The first round finds nothing in the caches of the machine.
    for (let round = 0; round <= ROUNDS; round++) {
      const ours = await timeOf(service)
      const bare = await timeOf(empty)
      if (process.env['BENCH_VERBOSE']) console.error(`  the service ${ours.toFixed()} ms, Hono ${bare.toFixed()} ms`)
      if (round > 0) ratios.push(ours / bare)
    }
    return { 'start.ratio_vs_hono': median(ratios) }
  },
})
