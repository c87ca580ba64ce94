import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newId } from '../../../../src/platform/db/id.ts'
import { Budget } from '../../../../src/platform/work/budget.ts'
import { multiply } from '../../../platform/support/rows.ts'
import { at, restore } from '../../../support/clock.ts'
import { connect, freshRfc, organization } from '../../../support/tenants.ts'
import { created, draft, EXTRACTORS } from '../support/extractors.ts'
import { Clockwork, forget, runsOf } from '../support/ticks.ts'

const COUNT = 170

beforeEach(async () => {
  await forget()
  await env.DB.prepare('delete from connections').run()
  at('2026-05-20T09:00:00Z')
})
afterEach(restore)

/** An organization with 170 RFCs, seven pages, and a planned run over them. */
async function planned() {
  const of = await organization('enterprise_gold')
  const { extractor_id } = await created(of, { ...draft, trigger_kind: 'connection_reactivated', data_source_keys: ['sat_csf'] })
  await connect(of.owner, freshRfc(), { ciec: 'empty' })
  await multiply('connections', COUNT - 1, {
    ...{ connection: 'null', fiscal_entity_id: `t.j->>'$.fiscal_entity_id' || n.i`, entity: '7000000 + n.i', rfc: `'RFC' || n.i` },
  })
  await env.LEDGER_0.prepare('delete from sync_jobs').run()
  const run_id = newId('run')
  await env.DB.prepare(
    `insert into runs (run_id, organization_id, extractor_id, trigger, instant, status, connections, dispatched, created_at, moved_at)
     values (?1, ?2, ?3, 'manual', ?4, 'planned', 0, 0, ?4, ?4)`,
  )
    .bind(run_id, of.id, extractor_id, Date.now())
    .run()
  return { ...of, extractor_id, run_id }
}

/** The budget suffices for one page at a time. */
const onePageAtATime = () => {
  let asked = 0
  vi.spyOn(Budget.prototype, 'allows').mockImplementation(() => asked++ % 3 !== 2)
}

const LEDGERS = 40
/** As many ledgers as a service for many RFCs has, which are one here. */
const manyLedgers = async (clockwork: Clockwork): Promise<void> => {
  const { env: bindings } = clockwork as { env: Env }
  for (let n = 1; n < LEDGERS; n++) Object.assign(bindings, { [`LEDGER_${n}`]: bindings.LEDGER_0 })
  await env.DB.prepare('update connections set shard = entity % ?').bind(LEDGERS).run()
}

/** Each RFC has a job of the extractor's source and one of the source that every run downloads. */
const jobs = () => env.LEDGER_0.prepare('select count(*) as n, count(distinct entity) as rfcs from sync_jobs').first()
const outcome = ({ status, connections, dispatched }: { status: string; connections: number; dispatched: number }) => [
  ...[status, connections, dispatched],
]

/** What breaks without it: a run over thousands of RFCs is ended by the platform, begins again from the first, and never reaches the last. */
describe('a run over more RFCs than the budget suffices for', () => {
  it('keeps its place, shows what it has done so far, and sends itself on', async () => {
    const of = await planned()
    onePageAtATime()
    const clockwork = new Clockwork()
    clockwork.sent.push({ runs: [of.run_id] })
    const seen: unknown[] = []
    for (let n = 0; n < 20 && clockwork.sent.length > 0; n++) {
      await clockwork.deliver(clockwork.sent.splice(0, 1))
      seen.push(outcome((await runsOf(of, of.extractor_id))[0]!))
    }
    expect(seen.length).toBeGreaterThan(1)
    expect(seen.slice(0, -1).every((one) => (one as string[])[0] === 'planned')).toBe(true)
    expect(seen.at(-1)).toEqual(['dispatched', COUNT, COUNT])
    expect(await jobs()).toEqual({ n: 2 * COUNT, rfcs: COUNT })
  })

  it('is dispatched once when its messages repeat, overlap and come late', async () => {
    const of = await planned()
    onePageAtATime()
    const clockwork = new Clockwork()
    const message = { runs: [of.run_id] }
    for (let n = 0; n < 6; n++) await Promise.all([clockwork.deliver([message, message]), clockwork.deliver([message])])
    vi.restoreAllMocks()
    at('2026-05-20T09:00:00Z')
    await clockwork.settle()
    await clockwork.deliver([message])
    expect(outcome((await runsOf(of, of.extractor_id))[0]!)).toEqual(['dispatched', COUNT, COUNT])
    expect(await jobs()).toEqual({ n: 2 * COUNT, rfcs: COUNT })
  })

  it('goes on with the sweep after a crash at any step, and a sweep leaves alone what has just moved', async () => {
    for (let crash = 1; crash <= 6; crash++) {
      at('2026-05-20T09:00:00Z')
      await forget()
      await env.DB.prepare('delete from connections').run()
      const of = await planned()
      onePageAtATime()
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const clockwork = new Clockwork()
      let steps = 0
      clockwork.watch = (_, when) => {
        if (when === 'before' && ++steps === crash) throw new Error('The isolate was evicted here.')
      }
      await clockwork.deliver([{ runs: [of.run_id] }])
      clockwork.watch = () => {}
      clockwork.sent.splice(0)
      vi.restoreAllMocks()
      await clockwork.sweep('2026-05-20T09:00:20Z')
      expect(clockwork.sent).toEqual([])
      for (const minute of ['01', '02']) {
        await clockwork.sweep(`2026-05-20T09:${minute}:00Z`)
        await clockwork.settle()
      }
      expect([crash, ...outcome((await runsOf(of, of.extractor_id))[0]!)]).toEqual([crash, 'dispatched', COUNT, COUNT])
      expect(await jobs()).toEqual({ n: 2 * COUNT, rfcs: COUNT })
    }
  })

  it('answers a request with all RFCs that it covers and those dispatched by then', async () => {
    const of = await planned()
    await env.DB.prepare('delete from runs').run()
    onePageAtATime()
    const { status, body } = await of.ask('POST', `${EXTRACTORS}/${of.extractor_id}/run`)
    expect([status, outcome(body)]).toEqual([200, ['dispatched', COUNT, expect.any(Number)]])
    expect(body.dispatched).toBeLessThan(COUNT)
    vi.restoreAllMocks()
    at('2026-05-20T09:05:00Z')
    const clockwork = new Clockwork()
    await clockwork.sweep('2026-05-20T09:05:00Z')
    await clockwork.settle()
    expect(outcome((await runsOf(of, of.extractor_id))[0]!)).toEqual(['dispatched', COUNT, COUNT])
  })

  it('is dispatched page by page over forty ledgers, more than an invocation has statements for, and so are those after it', async () => {
    const of = await planned()
    const clockwork = new Clockwork()
    await manyLedgers(clockwork)
    const run_ids = [of.run_id, newId('run'), newId('run')]
    await multiply('runs', 2, { run_id: `json_extract('${JSON.stringify(run_ids)}', '$[' || n.i || ']')` })
    clockwork.sent.push({ runs: run_ids })
    let messages = 0
    for (; messages < 40 && clockwork.sent.length > 0; messages++) await clockwork.deliver(clockwork.sent.splice(0, 1))
    expect((await runsOf(of, of.extractor_id)).map(outcome).sort()).toEqual([
      ['dispatched', COUNT, 0],
      ['dispatched', COUNT, 0],
      ['dispatched', COUNT, COUNT],
    ])
    expect(await jobs()).toEqual({ n: 2 * COUNT, rfcs: COUNT })
    // An invocation dispatches a page of 25 RFCs, and sometimes the few that are left of a run with it.
    expect(messages).toBeGreaterThan(10)
    expect(messages).toBeLessThanOrEqual(21)
  })
})
