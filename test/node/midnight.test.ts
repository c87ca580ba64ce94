import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { FINISHED_WITHIN, killAndReturn, ROUNDS, Runners, victimOf } from './support/kills.ts'
import { authorityHas, entitiesOf, isSettled, lastDayOver, Nights, officeHas, openOffices, runsOf, windowOf } from './support/nights.ts'
import { inspect } from './support/outbox.ts'
import { discard, freePort, freshState, until } from './support/runner.ts'

const isFull = ROUNDS >= 50
const [OFFICES, RFCS] = isFull ? [5, 50] : [3, 15]
/** Then the next midnight strikes, though the work of the one before may not be done: dead workers' leases take half a minute. */
const KILLS_A_NIGHT = 2
/** About as long as what a midnight causes takes when nobody is killed. */
const WORK_MS = isFull ? 4_000 : 2_000

const runners = new Runners()
const state = freshState()
afterAll(() => discard(state, runners.all))

/** A call to a process that was killed finds out by failing. */
const isGone = (error: unknown): false => {
  if (error instanceof TypeError) return false
  throw error
}

it(
  `does a midnight's work exactly once through ${ROUNDS} SIGKILLs`,
  async () => {
    const began = Date.now()
    let service = await runners.start(state, await freePort())
    const offices = await openOffices(service.url, OFFICES, RFCS)
    const nights = new Nights()
    let hasStruck = true
    const isDone = async () => {
      if (!hasStruck) await nights.strike(service.url)
      hasStruck = true
      if (nights.dates.length > 0) await nights.sweep(service.url)
      return (await Promise.all(offices.map((office) => isSettled(office, nights.dates)))).every(Boolean)
    }
    const settled = () => until('nothing is planned, queued or running', FINISHED_WITHIN, () => isDone().catch(isGone), 2_000)
    await settled()

    const story = [`set up after ${Date.now() - began} ms`]
    for (let round = 0, ofNight = 0; round < ROUNDS; round++, ofNight++) {
      if (hasStruck && (round === 0 || ofNight >= KILLS_A_NIGHT)) {
        nights.next()
        hasStruck = false
        ofNight = 0
      }
      const victim = victimOf(round)
      const after = Math.round(Math.random() * WORK_MS)
      story.push(`${round}: ${nights.dates.at(-1)} ${victim} after ${after} ms, ${Date.now() - began} ms`)
      const { url, port } = service
      const striking: Promise<boolean> = (hasStruck ? nights.sweep(url) : nights.strike(url)).then(
        () => true,
        () => false,
      )
      await sleep(after)
      service = await killAndReturn(service, victim, () => runners.start(state, port), story.at(-1))
      hasStruck = (await striking) || hasStruck
    }
    story.push(`killed after ${Date.now() - began} ms`)
    await settled()
    story.push(`settled after ${Date.now() - began} ms`)

    const to = lastDayOver()
    for (const office of offices) {
      const told = story.join('\n')
      for (const runs of await runsOf(office)) {
        const scheduled = runs.filter(({ local_date }) => local_date !== null)
        expect(scheduled.map(({ local_date }) => local_date).sort(), told).toEqual(nights.dates)
        for (const { local_date, started_at, status, connections } of scheduled)
          expect({ started_at, status, connections }).toEqual({
            started_at: `${local_date}T06:00:00.000Z`,
            status: 'dispatched',
            connections: office.rfcs.length,
          })
      }
      const entities = await entitiesOf(office)
      expect(entities.map(({ rfc }) => rfc).sort()).toEqual([...office.rfcs].sort())
      for (const entity of entities) {
        expect(entity, told).toMatchObject(windowOf(office, entity, nights.instant))
        const documents = await officeHas(office, entity.fiscal_entity_id, entity.visible_from, to)
        expect(documents, told).toEqual(authorityHas(entity.rfc, entity.visible_from, to))
        expect(documents.length).toBeGreaterThan(20)
      }
    }
    await service.stop()
    const { faults, ...found } = inspect(state)
    expect(faults, story.join('\n')).toEqual([])
    story.push(`${JSON.stringify(found)} after ${Date.now() - began} ms`)
    console.info(story.join('\n'))
  },
  ROUNDS * 15_000 + 3 * FINISHED_WITHIN,
)
