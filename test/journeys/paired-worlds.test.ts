import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import { withCheckDigit } from '../../src/authority/sandbox/world/taxpayers.ts'
import { at } from '../support/clock.ts'
import { runs } from '../support/fuzz.ts'
import { randomOf } from '../support/random.ts'
import { Messages } from './support/messages.ts'
import { answersTo, renamed } from './support/paired-answers.ts'
import { historyOf, join, perform, type Step, type World } from './support/paired-history.ts'

/**
 * Two services get the same history of an organization B. In one of them, a stranger A works with the same RFC. After B's own last run, B is
 * answered the same by both: nothing tells B that A exists.
 */

const HISTORIES = runs(40, 2_000)

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

async function empty(): Promise<void> {
  await reset()
  await Promise.all([applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS), applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)])
}

async function live(rfc: string, begin: number, steps: readonly Step[]) {
  await empty()
  at(new Date(begin).toISOString())
  vi.spyOn(env.EGRESS, 'fetch').mockImplementation(async () => new Response('Thank you.'))
  const world: World = { rfc, messages: new Messages(), players: { A: await join('Ana'), B: await join('Beto') } }
  for (const step of steps) await perform(world, step)
  const { B } = world.players
  const answers = renamed(B, { said: B.said, ...(await answersTo(B)) })
  vi.restoreAllMocks()
  return answers
}

// biome-ignore lint/suspicious/noExplicitAny: answers are compared whole.
type Any = any

/** Members that may tell that the RFC is shared, and why. */
const EXCEPTIONS = [
  // A download that A's run has queued already is not queued again (service.md, Run rules 3).
  'dispatched',
  // Something newer than B's ceiling is held for the RFC (decisions.md 6), with the 409 of precomputed reports.
  'window_state',
]

/** The moment at which a change inside B's window becomes known may differ: A's download may have found it earlier. */
function comparable(answers: Any): Any {
  return JSON.parse(JSON.stringify(answers), (key, value) => (EXCEPTIONS.includes(key) ? undefined : value))
}

/** Where two answers differ, as paths with both values. */
function differences(a: Any, b: Any, path = ''): string[] {
  if (a === b) return []
  if (a && b && typeof a === 'object' && typeof b === 'object') {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)])
    return [...keys].flatMap((key) => differences(a[key], b[key], `${path}/${key}`))
  }
  return [`${path}: alone ${JSON.stringify(a)?.slice(0, 300)}, shared ${JSON.stringify(b)?.slice(0, 300)}`]
}

describe('an organization is answered as if no other had connected its RFC', () => {
  it.each(Array.from({ length: HISTORIES }, (_, seed) => seed))('through history %i', async (seed) => {
    const { steps, rfc } = historyOf(seed, randomOf(seed + 1))
    const checked = withCheckDigit(rfc.slice(0, -1))
    const alone = comparable(
      await live(
        checked,
        steps.filter(({ who }) => who !== 'A'),
      ),
    )
    const shared = comparable(await live(checked, steps))
    const found = differences(alone, shared)
    if (found.length > 0)
      throw new Error(
        [
          `Seed ${seed}: ${found.length} differences`,
          ...found.slice(0, 20),
          ...steps.map(({ at: when, who, what }) => `${new Date(when).toISOString()} ${who} ${JSON.stringify(what)}`),
        ].join('\n'),
      )
  })
})
