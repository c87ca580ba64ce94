import { afterEach, describe, expect, it, vi } from 'vitest'
import { runs, sample } from '../support/fuzz.ts'
import { randomOf } from '../support/random.ts'
import { check } from './support/sharing-checks.ts'
import { begin, type History, step } from './support/sharing-history.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** A history follows from its seed alone: a failing one is repeated by `[seed]` here. */
const SEEDS = sample(
  Array.from({ length: 40 }, (_, seed) => seed),
  21,
  4,
)
const STEPS = runs(5, 13)

/** Looks at an RFC through an organization's window, by what it showed and hid at once. */
const looks = { both: 0, onlyShown: 0, onlyHidden: 0 }

function count({ shown, hidden }: { shown: number; hidden: number }): void {
  if (shown > 0 && hidden > 0) looks.both++
  else if (shown > 0) looks.onlyShown++
  else if (hidden > 0) looks.onlyHidden++
}

async function live(seed: number): Promise<void> {
  const history: History = await begin(seed, randomOf(seed), seed % 5 === 4 ? 3 : 2)
  try {
    for (let n = 0; n < STEPS; n++) {
      await step(history)
      for (const player of history.players) count(await check(history, player))
    }
  } catch (error) {
    const tale = history.notified_so_far.join('\n')
    throw new Error(`Seed ${seed}:\n${tale}\n${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

// Whoever leaks here shows one customer the invoices that another one had downloaded; whoever hides loses a customer's own.
describe('organizations that share an RFC see of it what their own windows show, everywhere', () => {
  it.each(SEEDS)('through history %i', live)

  it('and the histories were not idle: windows cut, hid everything and showed everything', () => {
    const least = (SEEDS.length * STEPS) / 13
    expect(looks.both).toBeGreaterThan(3 * least)
    expect(looks.onlyShown).toBeGreaterThan(least)
    expect(looks.onlyHidden).toBeGreaterThan(least)
  })
})
