import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { FINISHED_WITHIN, killAndReturn, ROUNDS, Runners, victimOf } from './support/kills.ts'
import {
  areSettled,
  askForMuch,
  authorityHas,
  entitiesOf,
  expectedOf,
  lastDayOver,
  Midnight,
  officeHas,
  openOffices,
  runsOf,
} from './support/nights.ts'
import { discard, freePort, freshState, until } from './support/runner.ts'
import { inspect, isNotified, lastPut, tickOf } from './support/state.ts'

const isFull = ROUNDS >= 50
const [OFFICES, RFCS, MONTHS, MOST] = isFull ? [5, 50, 12, 48] : [3, 15, 2, 3]
/** The first kills come while the page is planned and runs are carried out, which takes about as long as this; the others later. */
const EARLY = 5
const EARLY_MS = 250
const LATER_MS = 1_500
/** Kills that find nothing begun, or everything done. */
const VAIN = Math.max(2, ROUNDS / 10)
/** What was lost with the queue is looked for when it is a minute old. */
const RESUMED_WITHIN = 120_000

const runners = new Runners()
const state = freshState()
afterAll(() => discard(state, runners.all))

/** A call to a process that was killed finds out by failing. */
const isGone = (error: unknown): false => {
  if (error instanceof TypeError) return false
  throw error
}

it(
  `does one midnight's work exactly once through ${ROUNDS} SIGKILLs`,
  async () => {
    const began = Date.now()
    // Shown where the test fails.
    const notify = (what: string) => console.info(`${((Date.now() - began) / 1_000).toFixed(1).padStart(6)} s  ${what}`)
    let service = await runners.start(state, await freePort())
    const offices = await openOffices(service.url, OFFICES, RFCS)
    const settled = (within: number, date?: string) =>
      until('nothing is planned, queued or running', within, () => areSettled(offices, date).catch(isGone), 1_000)
    await settled(FINISHED_WITHIN)
    const midnight = new Midnight()
    await askForMuch(offices, midnight, MONTHS, MOST)
    const expected = await expectedOf(offices, midnight)
    notify(`set up: ${expected.cells.length} cells at the midnight of ${midnight.date}`)

    const kills: number[] = []
    let revokedAt: number | undefined
    for (let round = 0; round < ROUNDS; round++) {
      const victim = victimOf(round)
      const { url, port } = service
      const back = Date.now()
      const striking = (revokedAt ? midnight.sweep(url) : midnight.strike(url)).then(
        () => {
          revokedAt ??= Date.now()
        },
        () => {},
      )
      // Only the first kill may come before there is anything to do.
      if (round > 0 && !revokedAt) await striking
      const isEarly = round < EARLY
      if (isFull && !isEarly) await until('documents come in again', RESUMED_WITHIN, () => lastPut(state) > back, 20)
      const idle = Date.now() - back
      const after = Math.round(Math.random() * (isEarly ? EARLY_MS : LATER_MS))
      await sleep(after)
      const notified = `${round}: ${victim}, back for ${idle} + ${after} ms`
      notify(notified)
      kills.push(Date.now())
      service = await killAndReturn(service, victim, () => runners.start(state, port), notified)
      await striking
    }
    notify('killed for the last time')
    await settled(4 * FINISHED_WITHIN, midnight.date)
    await until('everything is told', FINISHED_WITHIN, () => isNotified(state), 1_000)
    notify('settled')

    const windows = new Map(expected.windows.map(([key, ...window]) => [key, window]))
    const to = lastDayOver()
    for (const office of offices) {
      for (const runs of await runsOf(office)) {
        const { instant: started_at, date: local_date } = midnight
        const scheduled = runs.filter((run) => run.local_date !== null)
        expect(scheduled).toMatchObject([{ local_date, started_at, status: 'dispatched', connections: office.rfcs.length }])
      }
      const entities = await entitiesOf(office)
      expect(entities.map(({ rfc }) => rfc).sort()).toEqual([...office.rfcs].sort())
      for (const { rfc, fiscal_entity_id, windows: shown } of entities) {
        let found = 0
        for (const source of ['sat_cfdi_issued', 'sat_cfdi_received'] as const) {
          const { visible_from, visible_to } = shown[source]
          expect([visible_from, Date.parse(visible_to)]).toEqual(windows.get(`${office.id} ${rfc} ${source}`))
          const documents = await officeHas(office, fiscal_entity_id, source, visible_from, to)
          const fetched = expected.cells.filter((cell) => cell.rfc === rfc && cell.source === source)
          expect(documents).toEqual(authorityHas(fetched, visible_from, to))
          found += documents.length
        }
        expect(found).toBeGreaterThan(20)
      }
    }
    notify('read')
    await service.stop()

    const { faults, ...found } = inspect(state)
    const { cells, notified, during } = tickOf(state, midnight.at, kills)
    notify(JSON.stringify(found))
    for (const [round, { at: _, ...of }] of during.entries()) notify(`${round}: ${JSON.stringify(of)}`)
    expect(faults).toEqual([])
    expect(cells).toEqual(expected.cells.map(({ rfc, source, month }) => `${rfc} ${source} ${month}`).sort())
    expect(notified).toEqual(expected.notified.sort())
    const isMidway = ({ at, open, planned, coming }: (typeof during)[number]) => open + planned > 0 || (coming > 0 && at >= revokedAt!)
    expect(during.filter(isMidway).length).toBeGreaterThanOrEqual(ROUNDS - VAIN)
    if (isFull) expect(found.interrupted).toBeGreaterThan(ROUNDS / 2)
  },
  ROUNDS * 15_000 + 6 * FINISHED_WITHIN,
)
