import { afterEach, expect, it } from 'vitest'
import { begin, cancelAfter, live, move, restoreClock, shown } from './support/worlds.ts'

const DAYS = 31

afterEach(restoreClock)

it('a month that the clock passes is one that the service lived through: the same runs, events, deliveries, invoices and figures', async () => {
  const worlds = []
  for (const pass of [live, move]) {
    const service = await begin()
    await cancelAfter(service, 2, 9, 16)
    await pass(service, DAYS)
    worlds.push(await shown(service))
  }
  const [lived, moved] = worlds
  expect(moved).toEqual(lived)
  // The month had something to show.
  expect(moved!.runs.length).toBeGreaterThan(10)
  expect(moved!.invoices).toHaveLength(1)
  expect(JSON.stringify(moved!.events).match(/"cfdi\.cancelled/g)?.length ?? 0).toBeGreaterThan(0)
}, 1_200_000)
