import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Customer, type Sync } from '../../scripts/customer.ts'
import { all, booksOf, connected, rfcOf, wantFewMonths } from './support/books.ts'
import { type Delivery, type Endpoint, Hooks, isSigned, logOf, register } from './support/hooks.ts'
import { FINISHED_WITHIN, killAndReturn, ROUNDS, Runners, victimOf } from './support/kills.ts'
import { discard, freePort, freshState, until } from './support/runner.ts'

const hooks = await Hooks.open()
const runners = new Runners({ WEBHOOK_SINK: hooks.sink })
const [crashing, calm] = [freshState(), freshState()]
afterAll(async () => {
  for (const state of [crashing, calm]) await discard(state, runners.all)
  hooks.close()
})

const syncs = (customer: Customer, ids: readonly string[]): Promise<Sync[]> => Promise.all(ids.map((id) => customer.sync(id)))

const finished = (customer: Customer, ids: readonly string[]) =>
  until(
    'all downloads are done',
    FINISHED_WITHIN,
    async () => (await syncs(customer, ids)).every(({ status, jobs }) => status === 'idle' && jobs.total > 0),
    500,
  )

describe(`through ${ROUNDS} SIGKILLs during downloads the service`, () => {
  let customer: Customer
  let endpoint: Endpoint
  const ids: string[] = []
  const story: string[] = []

  /** The same service, which nobody kills. */
  let witness: Customer
  const undisturbed: string[] = []

  const killed = async (): Promise<void> => {
    let service = await runners.start(crashing, await freePort())
    customer = await Customer.signUp(service.url, 'Despacho que se cae')
    await wantFewMonths(customer)
    endpoint = await register(customer, '/c/200')
    for (let round = 0; round < ROUNDS; round++) {
      const victim = victimOf(round)
      const after = Math.round(Math.random() * 800)
      story.push(`${round}: ${victim} after ${after} ms`)
      const connecting = customer.connect(rfcOf(round)).catch(() => 'lost')
      await sleep(after)
      const { port } = service
      service = await killAndReturn(service, victim, () => runners.start(crashing, port), story.at(-1))
      await connecting
    }
    for (let round = 0; round < ROUNDS; round++) ids.push(await connected(customer, rfcOf(round)))
    await finished(customer, ids)
  }

  const leftAlone = async (): Promise<void> => {
    const service = await runners.start(calm, await freePort())
    witness = await Customer.signUp(service.url, 'Despacho tranquilo')
    await wantFewMonths(witness)
    for (let round = 0; round < ROUNDS; round++) undisturbed.push(await witness.connect(rfcOf(round)))
    await finished(witness, undisturbed)
  }

  beforeAll(() => Promise.all([killed(), leftAlone()]), ROUNDS * 15_000 + 2 * FINISHED_WITHIN)

  it('brings every document in exactly once', async () => {
    for (const [round, id] of ids.entries()) {
      const books = await booksOf(customer, id)
      expect(books, story.join('\n')).toEqual(await booksOf(witness, undisturbed[round]!))
      expect(books.documents).toBeGreaterThan(50)
      expect(books.different).toBe(books.documents)
      expect(books.jobs.filter((job) => !job.includes(' succeeded '))).toEqual([])
    }
  })

  it(
    'delivers every event at least once, under one id each',
    async () => {
      const jobsOf = (id: string) => all<{ job_id: string; status: string }>(customer, `/v1/fiscal-entities/${id}/sync-jobs?limit=100`)
      const jobs = (await Promise.all(ids.map(jobsOf)))
        .flat()
        .map(({ job_id, status }) => `${job_id} ${status}`)
        .sort()
      let log: Delivery[] = []
      const isDelivered = async () => {
        log = await logOf(customer, endpoint)
        return log.length >= jobs.length && log.every(({ status }) => status !== 'pending')
      }
      await until('everything has been delivered', FINISHED_WITHIN, isDelivered, 1_000)
      const received = Map.groupBy(hooks.of('/c/200'), ({ headers }) => String(headers['service-delivery-id']))
      expect(
        log.filter(({ status }) => status !== 'delivered'),
        story.join('\n'),
      ).toEqual([])
      expect([...received.keys()].sort(), story.join('\n')).toEqual(log.map(({ event_id }) => event_id).sort())
      const about = [...received.values()].map(([first]) => JSON.parse(first!.body.toString()) as { job_id: string })
      expect(about.map(({ job_id }) => `${job_id} succeeded`).sort(), story.join('\n')).toEqual(jobs)
      for (const same of received.values()) {
        expect(new Set(same.map(({ body }) => body.toString())).size).toBe(1)
        expect(same.every((one) => isSigned(one, endpoint.signing_secret))).toBe(true)
      }
    },
    2 * FINISHED_WITHIN,
  )
})
