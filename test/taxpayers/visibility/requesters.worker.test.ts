import { env } from 'cloudflare:workers'
import { alias } from 'drizzle-orm/sqlite-core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { syncJobs } from '../../../src/downloads/jobs/tables.ts'
import { inlined } from '../../../src/platform/db/statement.ts'
import { requestersOf } from '../../../src/taxpayers/visibility/jobs.ts'
import { callOf, cfdiOf, later, ledgerOf, losingMessages, subscriber, work } from '../../downloads/support/downloads.ts'
import { freshRfc } from '../../support/tenants.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

interface Row {
  month: string
  as_of: number
  organizations: string | null
  requesters: string
}

describe('who asked for a job', () => {
  it('is named by its row unless it is only the organization that asked first, and is told to each alike', async () => {
    const rfc = freshRfc()
    const [first, second] = [await subscriber(rfc, cfdiOf(1), 'propia12'), await subscriber(rfc, cfdiOf(1), 'ajena123')]
    const { entity } = await callOf(rfc)
    const ledger = await ledgerOf(rfc)
    const rows = async () =>
      (
        await ledger
          .prepare(
            `select month, as_of, organizations, ${inlined(requestersOf(alias(syncJobs, 's')))} as requesters from sync_jobs s where entity = ? order by as_of, job_id`,
          )
          .bind(entity)
          .all<Row>()
      ).results
    const shownTo = async (of: typeof first) => (await of.ask('GET', `${of.path}/sync-jobs?limit=100`)).body.data.length as number
    await first.run()
    const alone = await rows()
    expect(alone.length).toBeGreaterThan(0)
    expect(new Set(alone.map(({ organizations, requesters }) => `${organizations} ${requesters}`))).toEqual(
      new Set([`null ${JSON.stringify([first.id])}`]),
    )
    expect([await shownTo(first), await shownTo(second)]).toEqual([alone.length, 0])
    // The second one joins jobs that are open, and finds them finished later.
    await second.run()
    const both = JSON.stringify([first.id, second.id])
    expect(new Set((await rows()).map(({ organizations }) => organizations))).toEqual(new Set([both]))
    await work(rfc)
    later(86_400)
    await second.run()
    const own = (await rows()).filter(({ as_of }) => as_of > alone[0]!.as_of)
    expect(new Set(own.map(({ organizations, requesters }) => `${organizations} ${requesters}`))).toEqual(
      new Set([`${JSON.stringify([second.id])} ${JSON.stringify([second.id])}`]),
    )
    expect([await shownTo(first), await shownTo(second)]).toEqual([alone.length, alone.length + own.length])
    expect(await env.LEDGER_0.prepare('select organization_id from entities where entity = ?').bind(entity).first('organization_id')).toBe(
      first.id,
    )
  })
})
