import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runTask } from '../../../src/app/tasks.ts'
import { ISSUED, later, losingMessages, NOW, subscriber } from '../../downloads/support/downloads.ts'
import { freshRfc } from '../../support/tenants.ts'
import { systemNow } from '../support/ciec.ts'
import { efirmaOf, numberOf } from '../support/efirmas.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const DAY = 86_400
/** 3 a.m. in Mexico City. */
const inDays = (days: number) => new Date(Date.parse(NOW) + days * DAY * 1_000)

async function ending(days: number) {
  const rfc = freshRfc()
  const one = await subscriber(rfc, ISSUED, null, { efirma: efirmaOf(rfc, { to: inDays(days) }) })
  return {
    ...one,
    rfc,
    alerts: async () =>
      ((await one.ask('GET', '/v1/alerts?kind=efirma.expiring')).body.data as Record<string, string>[]).map(
        ({ severity, resource_id, message }) => [severity, resource_id, message],
      ),
  }
}

/** The daily task of a day, once, and again as after a crash. */
async function daily(day: number) {
  later(day * DAY)
  for (const at of [Date.now(), Date.now() + 1_000]) await runTask(systemNow(), { task: 'alertEfirmas', at, cursor: '' })
}

describe('the end of an e.firma', () => {
  it('is told 30 and 7 days before, once each', async () => {
    const one = await ending(40)
    const message = `The e.firma ${numberOf('0001')}, with which ${one.rfc} is downloaded, expires on 2026-06-29. Send the new one before.`
    const seen: number[] = []
    for (const day of [9, 10, 11, 32, 33, 34, 39, 41]) {
      await daily(day)
      seen.push((await one.alerts()).length)
    }
    expect(seen).toEqual([0, 1, 1, 1, 2, 2, 2, 2])
    expect((await one.alerts()).sort()).toEqual([
      ['critical', one.fiscal_entity_id, message],
      ['warning', one.fiscal_entity_id, message],
    ])
  })

  it('is told of the next e.firma anew, of a connection that is not active not at all, and of a short one only that it is near', async () => {
    const [one, paused, short] = [await ending(20), await ending(20), await ending(5)]
    await paused.ask('PATCH', `/v1/billing/rfcs/${paused.fiscal_entity_id}`, { active: false })
    await daily(0)
    await one.ask('PATCH', one.path, { efirma: efirmaOf(one.rfc, { number: numberOf('0002'), to: inDays(25) }) })
    await daily(1)
    expect((await one.alerts()).map(([severity]) => severity)).toEqual(['warning', 'warning'])
    expect([await paused.alerts(), (await short.alerts()).map(([severity]) => severity)]).toEqual([[], ['critical']])
  })

  it('is told page by page, also to those who end at the same instant', async () => {
    const one = await ending(10)
    const { connection } = (await env.DB.prepare('select connection from connections where rfc = ?')
      .bind(one.rfc)
      .first<{ connection: number }>())!
    const columns = (
      await env.DB.prepare(
        "select name from pragma_table_info('connections') where name not in ('connection', 'fiscal_entity_id', 'entity')",
      ).all<{
        name: string
      }>()
    ).results.map(({ name }) => name)
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 120)
       insert into connections (fiscal_entity_id, entity, ${columns.join(', ')})
       select 'fe_copy' || n.i, 5000000 + n.i, ${columns.join(', ')} from n cross join connections where connection = ${connection}`,
    ).run()
    await daily(0)
    expect(
      await env.EVENTS_0.prepare("select count(*) as n from alerts where kind = 'efirma.expiring' and organization_id = ?")
        .bind(one.id)
        .first('n'),
    ).toBe(121)
    await env.DB.exec('delete from connections where entity > 5000000')
  })
})
