import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { Customer, type Sync } from '../../scripts/customer.ts'
import { booksOf, connected, rfcOf, wantFewMonths } from './support/books.ts'
import { FINISHED_WITHIN, killAndReturn, ROUNDS, Runners, victimOf } from './support/kills.ts'
import { discard, freePort, freshState, until } from './support/runner.ts'

const runners = new Runners()
const [crashing, calm] = [freshState(), freshState()]
afterAll(async () => {
  for (const state of [crashing, calm]) await discard(state, runners.all)
})

const syncs = (customer: Customer, ids: readonly string[]): Promise<Sync[]> => Promise.all(ids.map((id) => customer.sync(id)))

const finished = (customer: Customer, ids: readonly string[]) =>
  until(
    'all downloads are done',
    FINISHED_WITHIN,
    async () => (await syncs(customer, ids)).every(({ status, jobs }) => status === 'idle' && jobs.total > 0),
    500,
  )

it(
  `brings every document in exactly once through ${ROUNDS} SIGKILLs during downloads`,
  async () => {
    let service = await runners.start(crashing, await freePort())
    const customer = await Customer.signUp(service.url, 'Despacho que se cae')
    await wantFewMonths(customer)
    const story: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const victim = victimOf(round)
      const after = Math.round(Math.random() * 500)
      story.push(`${round}: ${victim} after ${after} ms`)
      const connecting = customer.connect(rfcOf(round)).catch(() => 'lost')
      await sleep(after)
      const { port } = service
      service = await killAndReturn(service, victim, () => runners.start(crashing, port), story.at(-1))
      await connecting
    }
    const ids: string[] = []
    for (let round = 0; round < ROUNDS; round++) ids.push(await connected(customer, rfcOf(round)))
    await finished(customer, ids)

    const reference = await runners.start(calm, await freePort())
    const witness = await Customer.signUp(reference.url, 'Despacho tranquilo')
    await wantFewMonths(witness)
    const undisturbed: string[] = []
    for (let round = 0; round < ROUNDS; round++) undisturbed.push(await witness.connect(rfcOf(round)))
    await finished(witness, undisturbed)

    for (const [round, id] of ids.entries()) {
      const books = await booksOf(customer, id)
      expect(books, story.join('\n')).toEqual(await booksOf(witness, undisturbed[round]!))
      expect(books.documents).toBeGreaterThan(50)
      expect(books.different).toBe(books.documents)
      expect(books.jobs.filter((job) => !job.includes(' succeeded '))).toEqual([])
    }
  },
  ROUNDS * 15_000 + 2 * FINISHED_WITHIN,
)
