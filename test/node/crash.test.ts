import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { Customer, type Sync } from '../../scripts/customer.ts'
import { end } from '../../scripts/processes.ts'
import { booksOf, connected, rfcOf, wantFewMonths } from './support/books.ts'
import { discard, freePort, freshState, isUp, Started, until } from './support/runner.ts'

const asked = process.env['CRASH_ROUNDS']
const ROUNDS = asked === 'full' ? 50 : Number(asked ?? 10)
/** Leases of half a minute and a sweep every minute: by then everything has been found again. */
const FINISHED_WITHIN = 180_000
const VICTIMS = ['workerd', 'wrangler', 'runner', 'all'] as const

const runners: Started[] = []
const [crashing, calm] = [freshState(), freshState()]
afterAll(async () => {
  for (const state of [crashing, calm]) await discard(state, runners)
})

async function start(stateDir: string, port: number): Promise<Started> {
  const one = new Started(stateDir, port)
  runners.push(one)
  return one.ready()
}

const syncs = (customer: Customer, ids: readonly string[]): Promise<Sync[]> => Promise.all(ids.map((id) => customer.sync(id)))

const finished = (customer: Customer, ids: readonly string[]) =>
  until(
    'all downloads are done',
    FINISHED_WITHIN,
    async () => (await syncs(customer, ids)).every(({ status, jobs }) => status === 'idle' && jobs.total > 0),
    500,
  )

/** SIGKILL, for one of a kind or for everything, to processes that this test started. */
async function kill(service: Started, victim: (typeof VICTIMS)[number]): Promise<void> {
  const { wrangler, workerd } = service.children()
  const one = workerd[Math.floor(Math.random() * workerd.length)]
  if (victim === 'workerd') await end(one ? [one] : [])
  else if (victim === 'wrangler') await end(wrangler)
  else if (victim === 'runner') await end([service.runner])
  else await end([service.runner, ...wrangler, ...workerd])
}

it(
  `brings every document in exactly once through ${ROUNDS} SIGKILLs during downloads`,
  async () => {
    let service = await start(crashing, await freePort())
    const customer = await Customer.signUp(service.url, 'Despacho que se cae')
    await wantFewMonths(customer)
    const story: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const victim = VICTIMS[round % VICTIMS.length]!
      const after = Math.round(Math.random() * 500)
      story.push(`${round}: ${victim} after ${after} ms`)
      const connecting = customer.connect(rfcOf(round)).catch(() => 'lost')
      await sleep(after)
      const before = service.children().wrangler.map(({ pid }) => pid)
      await kill(service, victim)
      if (victim === 'runner' || victim === 'all') service = await start(crashing, service.port)
      await connecting
      // Wrangler replaces a dead workerd by itself; where wrangler dies its workerd answers on until the runner ends it.
      const isAnother = () => victim === 'workerd' || service.children().wrangler.every(({ pid }) => !before.includes(pid))
      await until(`the service is back (${story.at(-1)})`, 90_000, async () => isAnother() && (await isUp(service.url)))
    }
    const ids: string[] = []
    for (let round = 0; round < ROUNDS; round++) ids.push(await connected(customer, rfcOf(round)))
    await finished(customer, ids)

    const reference = await start(calm, await freePort())
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
