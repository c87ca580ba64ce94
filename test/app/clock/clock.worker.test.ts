import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MOVE } from '../../../src/app/clock/moves.ts'
import { walk } from '../../../src/app/clock/walk.ts'
import { WORK } from '../../../src/app/work.ts'
import worker from '../../../src/index.ts'
import { clock } from '../../../src/platform/time/clock.ts'
import { api, basic } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { signUp } from '../../support/tenants.ts'
import { BEGIN, begin, cancelAfter, live, move, restoreClock, shown } from './support/worlds.ts'

afterEach(restoreClock)

const DAY = 86_400_000
const PATH = '/v1/test-helpers/clock'

/** Until mocks are restored, the worker dies at every step that it keeps: before it is kept, or after it, in turns. */
function dyingAtEachStep(): () => number {
  const statement = Object.getPrototypeOf(env.DB.prepare('select 1')) as D1PreparedStatement
  const { run } = statement
  let died = 0
  let isNext = false
  vi.spyOn(statement, 'run').mockImplementation(async function (this: D1PreparedStatement) {
    if (!/^update "clock" set "ahead"/.test((this as unknown as { statement: string }).statement)) return run.call(this) as never
    isNext = !isNext
    if (!isNext) return run.call(this) as never
    if (++died % 2 === 0) await run.call(this)
    throw new Error('The worker died.')
  })
  return () => died
}

const QUARTER = 900_000
const floored = (at: number): number => Math.floor(at / QUARTER) * QUARTER

/** The same with each time as its quarter of an hour. */
const byQuarters = (found: unknown): unknown =>
  JSON.parse(
    JSON.stringify(found)
      .replaceAll(/\b\d{13}\b/g, (at) => `${floored(Number(at))}`)
      .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]{8,12}Z/g, (at) => new Date(floored(Date.parse(at))).toISOString()),
  )

describe('days pass', () => {
  it('as if the service had lived through them, also when the worker dies at each step', async () => {
    const worlds = []
    let deaths = () => 0
    for (const pass of [
      live,
      move,
      async (service: Awaited<ReturnType<typeof begin>>, days: number) => {
        await service.ask('POST', PATH, { advance: `P${days}D` })
        deaths = dyingAtEachStep()
        while ((await api(service.tenant, 'GET', PATH)).status === 202) {
          await walk(env, 'test').catch(() => null)
          // A minute of the real clock later.
          await env.DB.prepare('update clock set lease_until = 1').run()
        }
      },
    ]) {
      const service = await begin('empty1')
      await pass(service, 2)
      worlds.push(await shown(service))
    }
    const [lived, moved, died] = worlds
    expect(moved).toEqual(lived)
    expect(moved!.runs.filter(({ local_date }) => local_date !== null)).toHaveLength(2)
    expect(deaths()).toBeGreaterThan(30)
    // A message that was lost is found by a sweep.
    expect(byQuarters(died)).toEqual(byQuarters(lived))
  })

  it('by the real queues, and the answer says what happened', async () => {
    const service = await begin()
    await cancelAfter(service, 1)
    vi.restoreAllMocks()
    vi.spyOn(env.EGRESS, 'fetch').mockImplementation(async () => new Response(null, { status: 204 }))
    const from = BEGIN + 60_000
    at(new Date(from).toISOString())
    const before = (await service.ask('GET', '/v1/extractors'))[1].next_run_at
    const begun = await api(service.tenant, 'POST', PATH, { to: new Date(from + 3 * DAY).toISOString() })
    expect(begun.status).toBe(202)
    expect(begun.body).toMatchObject({
      status: 'moving',
      move: { from: new Date(from).toISOString(), to: new Date(from + 3 * DAY).toISOString() },
    })
    let answer = begun
    for (let n = 0; answer.status === 202; n++) {
      expect(n).toBeLessThan(1_000)
      await scheduler.wait(100)
      answer = await api(service.tenant, 'GET', PATH)
    }
    const { body } = answer
    expect(body).toMatchObject({ now: new Date(from + 3 * DAY).toISOString(), ahead_seconds: 3 * 86_400, status: 'ready' })
    expect(body.move).toMatchObject({ percent: 100, happened: { runs: 3, invoices: 0 } })
    const events = Object.fromEntries(body.move.happened.events.map(({ event, count }: { event: string; count: number }) => [event, count]))
    expect(events).toMatchObject({ 'cfdi.cancelled': 1, 'extraction.completed': 3 })
    // What follows happens by the moved clock.
    const after = (await service.ask('GET', '/v1/extractors'))[1].next_run_at
    expect(Date.parse(after) - Date.parse(before)).toBe(3 * DAY)
    const [, { extractor_id }] = await service.ask('GET', '/v1/extractors')
    await service.ask('POST', `/v1/extractors/${extractor_id}/run`)
    const [, { last_run_at }] = await service.ask('GET', '/v1/extractors')
    expect(Date.parse(last_run_at) - from).toBeGreaterThanOrEqual(3 * DAY)
  })
})

describe('a move', () => {
  it('is refused while another goes on, to the past, too far, and without exactly one aim', async () => {
    const { tenant } = await begin('empty1')
    const asked = async (body: object) => {
      const answer = await api(tenant, 'POST', PATH, body)
      return [answer.status, answer.body.code]
    }
    expect(await asked({ to: new Date(BEGIN).toISOString() })).toEqual([422, 'clock.past'])
    expect(await asked({ advance: 'P367D' })).toEqual([422, 'clock.too_far'])
    for (const body of [
      {},
      { advance: 'P1D', to: '2026-06-01T00:00:00Z' },
      { advance: 'P' },
      { advance: 'PT' },
      { advance: 'P1Y' },
      { advance: '3' },
    ])
      expect(await asked(body)).toEqual([422, 'request.invalid'])
    expect(await asked({ advance: 'P1DT2H' })).toEqual([202, undefined])
    expect(await asked({ advance: 'P1D' })).toEqual([409, 'clock.moving'])
    expect((await api(tenant, 'GET', PATH)).body.move.to).toBe(new Date(BEGIN + DAY + 2 * 3_600_000).toISOString())
  })

  it('is the operator’s where the service has several organizations; their crons then go on with it', async () => {
    const { tenant } = await begin('empty1')
    await signUp()
    const { status, body } = await api(tenant, 'POST', PATH, { advance: 'P1D' })
    expect([status, body.code]).toEqual([409, 'clock.several_organizations'])
    expect((await api(tenant, 'GET', PATH)).body).toMatchObject({ status: 'ready', move: null })
    await env.DB.prepare('insert into clock (one, ahead, target, began_at, ends_at) values (1, 0, ?, ?, ?)')
      .bind(DAY, BEGIN, BEGIN + DAY)
      .run()
    const sent: unknown[] = []
    const TASKS = { send: async (message: unknown) => void sent.push(message) }
    await worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date() }), { ...env, TASKS } as unknown as Env)
    expect(sent).toEqual([MOVE])
    while ((await api(tenant, 'GET', PATH)).status === 202) await walk(env, 'test')
    expect(clock.now()).toBe(BEGIN + DAY)
  })

  it('is not there in `live`, which never reads a clock', async () => {
    const { tenant } = await begin('empty1')
    await env.DB.prepare('insert into clock (one, ahead, target, began_at, ends_at) values (1, ?, null, 0, 0)').bind(DAY).run()
    const live = { ...env, ENVIRONMENT: 'live', TAX_AUTHORITY: 'sat', PUBLIC_HOSTS: 'api.example.com' } as Env
    for (const method of ['GET', 'POST']) {
      const request = new Request(`https://api.test${PATH}`, { method, headers: { authorization: basic(tenant) } })
      expect((await worker.fetch(request, live)).status).toBe(404)
    }
    expect(clock.ahead).toBe(0)
    const hosted = { ...env, PUBLIC_HOSTS: 'api.example.com' } as unknown as Env
    await worker.fetch(new Request('https://api.test/v1/openapi.json'), hosted)
    expect(clock.ahead).toBe(DAY)
  })
})

it('work that every message tells anew does not hold the clock', async () => {
  const service = await begin('empty1')
  vi.spyOn(WORK['relay']!, 'handle').mockRejectedValue(new Error('It never works.'))
  await move(service, 1)
  expect(clock.now()).toBe(BEGIN + DAY)
})
