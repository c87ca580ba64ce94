import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { runs, sample } from '../../support/fuzz.ts'
import { organization } from '../../support/tenants.ts'
import { Courier, type Endpoint, endpoint, type Kept, keptOf, pending } from '../support/deliveries.ts'

const WAITS = [0, 60, 300, 1_800, 7_200, 21_600]
const MINUTE = 60_000

/** Plays that go on at once, each with an endpoint of its own. */
const AT_ONCE = 24

/** One time for all plays: it goes on when every one of them waits, to the first moment that one waits for. */
let clock = Date.parse('2027-01-04T12:00:00Z')
const waiting: { moment: number; resume: () => void }[] = []
let active = 0

function goOn(): void {
  if (waiting.length === 0 || waiting.length < active) return
  const [first] = waiting.sort((a, b) => a.moment - b.moment).splice(0, 1)
  clock = Math.max(clock, first!.moment)
  at(new Date(clock).toISOString())
  first!.resume()
}

async function until(moment: number): Promise<void> {
  if (moment <= clock) return
  await new Promise<void>((resume) => {
    waiting.push({ moment, resume })
    goOn()
  })
}

const free: Endpoint[] = []
const wanted: ((it: Endpoint) => void)[] = []

async function play(scenario: Scenario): Promise<string[]> {
  const to = free.pop() ?? (await new Promise<Endpoint>((take) => wanted.push(take)))
  active += 1
  try {
    // What a crash left at the gate is over.
    await until(clock + MINUTE)
    return await perform(to, scenario)
  } finally {
    active -= 1
    const next = wanted.shift()
    if (next) next(to)
    else free.push(to)
    goOn()
  }
}

beforeAll(async () => {
  losingMessages()
  const of = await organization()
  for (let n = 0; n < AT_ONCE; n++) free.push(await endpoint(of, `https://hooks-${n}.acme.example/in`))
})
beforeEach(() => {
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  at(new Date(clock).toISOString())
})
afterEach(restore)

/** The call of a binding that goes wrong, counted from 1, and whether it was done all the same. */
interface Fault {
  step: number
  when: 'before' | 'after'
}

/** `error`: that call alone fails. `crash`: from there on nothing is done until somebody else begins anew. */
type Manner = 'error' | 'crash'

interface Scenario {
  /** What the receiver answers to each attempt; the last to all that follow. */
  script: number[]
  /** Attempts that were made before, without an answer. */
  made?: number
  faults: Fault[]
  manner: Manner
  /** Whether the queue brings a message again that was not acknowledged. */
  messages: 'kept' | 'lost'
}

const notified = (it: Scenario) => JSON.stringify(it)

/** One delivery from its event to its end, with what goes wrong; answers which calls went wrong. */
async function perform(to: Endpoint, scenario: Scenario): Promise<string[]> {
  const { script, made = 0, faults, manner, messages } = scenario
  const courier = new Courier()
  const answerTo = (attempt: number): number => script[Math.min(attempt - made, script.length) - 1]!
  const arrived: number[] = []
  courier.answer = ({ attempt }) => new Response(null, { status: answerTo(attempt) })
  const left: number[] = []
  const came: string[] = []
  let [steps, isDead] = [0, false]
  courier.watch = (name, when) => {
    if (isDead) throw new Error('Dead.')
    if (when === 'before') steps += 1
    if (when === 'before' && name === 'EGRESS') left.push(steps)
    if (faults.some((fault) => fault.step === steps && fault.when === when)) {
      came.push(name)
      isDead = manner === 'crash'
      throw new Error(`${name} failed.`)
    }
    if (name === 'EGRESS' && when === 'after') arrived.push(answerTo(courier.sent.at(-1)!.attempt))
  }
  /** A consumer, or a cron, which a crash ends. */
  const live = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work()
      return true
    } catch {
      return false
    } finally {
      isDead = false
    }
  }

  const event_id = await pending(to)
  if (made > 0) {
    const record = { at: clock, duration_ms: 1, status_code: 500, error: null, response_body: null }
    await env.EVENTS_0.prepare(
      `update deliveries set attempts = ?3 where webhook = ?1 and seq = (select max(seq) from events where body->>'event_id' = ?2)`,
    )
      .bind(to.webhook, event_id, JSON.stringify(Array(made).fill(record)))
      .run()
  }
  courier.notified.push({ webhook: to.webhook, delaySeconds: 0, at: clock })
  const kept = async () => (await keptOf({ event_id }))[0]!
  let it: Kept
  for (let rounds = 0; ; rounds++) {
    expect(rounds, `stuck: ${notified(scenario)}`).toBeLessThan(20)
    for (let retries = 0; courier.notified.length > 0; ) {
      const [message] = courier.notified.sort((a, b) => a.at - b.at).splice(0, 1)
      await until(message!.at)
      if (!(await live(() => courier.deliver(message!.webhook))) && messages === 'kept' && retries++ < 5)
        courier.notified.push({ ...message!, at: clock + 10_000 })
    }
    it = await kept()
    if (it.status !== 'pending') break
    await until(Math.max(it.due_at, it.lease_until ?? 0, clock + MINUTE))
    await live(courier.sweep)
    // It calls for the endpoints of all plays.
    courier.notified.splice(0, courier.notified.length, ...courier.notified.filter(({ webhook }) => webhook === to.webhook))
  }

  expect(it.lease_until, notified(scenario)).toBe(null)
  const codes = it.attempts.map(({ status_code }) => status_code)
  const last = codes.at(-1)!
  const delivered = last !== null && last >= 200 && last < 300
  const expected = delivered ? 'delivered' : last === 404 ? 'failed' : 'lost'
  expect(it.status, notified(scenario)).toBe(expected)
  expect(codes.filter((code) => code !== null && code < 300).length, notified(scenario)).toBe(delivered ? 1 : 0)
  expect(codes.length, notified(scenario)).toBeLessThanOrEqual(6)
  if (expected === 'lost') expect(codes.length, notified(scenario)).toBe(6)
  // Each attempt in the log left at least once; what it says that was answered was answered.
  expect(left.length, notified(scenario)).toBeGreaterThanOrEqual(codes.length - made)
  for (const [n, code] of codes.entries()) if (n >= made && code !== null) expect(code, notified(scenario)).toBe(answerTo(n + 1))
  if (delivered) expect(arrived.at(-1), notified(scenario)).toBe(last)
  else expect(codes.includes(null) || arrived.every((code) => code >= 300), notified(scenario)).toBe(true)
  // Nothing is early.
  for (let n = made + 1; n < it.attempts.length; n++)
    expect(it.attempts[n]!.at - it.attempts[n - 1]!.at, notified(scenario)).toBeGreaterThanOrEqual(WAITS[n]! * 1_000)
  // What the receiver saw: that event and no other, the same bytes, numbers that go up by one at most where none was lost on the way.
  const numbers = courier.sent.map(({ attempt }) => attempt)
  const lostOnTheWay = codes.slice(made).filter((code) => code === null).length
  expect(
    courier.sent.every((one) => one.event_id === event_id && new TextDecoder().decode(one.body) === it.body),
    notified(scenario),
  ).toBe(true)
  let [before, gaps] = [made, 0]
  for (const number of numbers) {
    expect(number, notified(scenario)).toBeGreaterThanOrEqual(Math.max(before, made + 1))
    gaps += Math.max(0, number - before - 1)
    before = number
  }
  expect(gaps, notified(scenario)).toBeLessThanOrEqual(lostOnTheWay)
  expect(before, notified(scenario)).toBeLessThanOrEqual(codes.length)
  return came
}

/** After a crash it is the same whether it came right after a call or right before the next. */
const WHEN = { error: ['before', 'after'], crash: ['before'] } as const

/** Each fault that can come after those before, one at a time, or those of one step in so many. */
async function each(scenario: Omit<Scenario, 'faults'>, before: Fault[] = [], stride = 1): Promise<Fault[][]> {
  const all: Fault[][] = []
  for (let step = (before.at(-1)?.step ?? 0) + 1; ; step += stride)
    for (const when of WHEN[scenario.manner]) {
      const faults = [...before, { step, when }]
      const came = await play({ ...scenario, faults })
      if (came.length < faults.length) return all
      all.push(faults)
      // Whether a read that fails was made makes no difference.
      if (came.at(-1) === 'READ') break
    }
}

/** One first fault in nine is followed by each second one; all are in the long run. */
const ONE_IN = 9

const eachPair = async (scenario: Omit<Scenario, 'faults'>): Promise<Fault[][]> =>
  (await Promise.all(sample(await each(scenario), ONE_IN).map((one) => each(scenario, one)))).flat()

describe('whatever goes wrong once', () => {
  it.each<[string, number[], number]>([
    ['received at once', [200], 6],
    ['refused', [404], 6],
    ['received the second time', [500, 204], 13],
    ['told to slow down, then received', [429, 408, 200], 20],
    ['never received', [500, 503, 502, 500, 429, 599], 41],
  ])('a delivery that would be %s ends as it should', { timeout: 240_000 }, async (_, script, steps) => {
    // What takes many steps takes the same ones again and again.
    const stride = steps > 10 ? runs(5, 1) : 1
    const [errors, crashes] = await Promise.all([
      each({ script, manner: 'error', messages: 'kept' }, [], stride),
      each({ script, manner: 'crash', messages: 'lost' }, [], stride),
    ])
    expect([errors.length > (1.5 * steps) / stride, crashes.length]).toEqual([true, Math.ceil(steps / stride)])
  })
})

describe('whatever goes wrong twice', () => {
  it.each<[string, number[], number, Partial<Record<Manner, number>>]>([
    ['received at once', [200], 0, { error: 120, crash: 40 }],
    ['received the second time', [500, 200], 0, { error: 380 }],
    ['received the last time', [200], 5, { error: 100 }],
    ['lost the last time', [500], 5, { error: 100, crash: 40 }],
  ])('a delivery that would be %s ends as it should', { timeout: 240_000 }, async (_, script, made, atLeast) => {
    for (const [manner, count] of Object.entries(atLeast) as [Manner, number][])
      expect((await eachPair({ script, made, manner, messages: 'lost' })).length).toBeGreaterThanOrEqual(runs(count / (ONE_IN + 1), count))
  })
})
