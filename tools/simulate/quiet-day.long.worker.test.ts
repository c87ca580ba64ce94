import { env } from 'cloudflare:workers'
import { afterEach, expect, it, vi } from 'vitest'
import { dispatchRuns } from '../../src/connections/extractors/runs/dispatch.ts'
import { markReadersDue } from '../../src/copies/due.ts'
import { relayOutbox } from '../../src/delivery/relay/relay.ts'
import { drain } from '../../src/downloads/drain.ts'
import { systemOf } from '../../src/platform/context.ts'
import { newId } from '../../src/platform/db/id.ts'
import { multiply } from '../../test/platform/support/rows.ts'
import { api } from '../../test/support/client.ts'
import { ownerOf, patched } from '../../test/support/meter.ts'
import { silenceQueues } from '../../test/support/queues.ts'
import { connect, signUp, synced } from '../../test/support/tenants.ts'
import { quiet } from '../../test/support/world.ts'
import { KINDS, type Kind, QUIET_DAY, type Work } from './costs.ts'

type Counts = Omit<Work, 'bytes'>

afterEach(() => vi.restoreAllMocks())

const sessionOf = (database: D1Database): object => (database as unknown as { alwaysPrimarySession: object }).alwaysPrimarySession

/** Counts what each kind of database is asked for meanwhile, without the tables in which the sandbox keeps what a real authority knows. */
async function counted(work: () => Promise<unknown>): Promise<Record<Kind, Counts>> {
  const none = (): Counts => ({ reads: 0, writes: 0, statements: 0, rowsRead: 0, rowsWritten: 0 })
  const counts = { control: none(), ledger: none(), events: none() }
  const kindOf = new Map<unknown, Kind>([
    [sessionOf(env.DB), 'control'],
    [sessionOf(env.LEDGER_0), 'ledger'],
    [sessionOf(env.EVENTS_0), 'events'],
  ])
  const restore = patched(
    ownerOf(sessionOf(env.DB), '_send'),
    '_send',
    (send) =>
      async function (this: unknown, ...args) {
        const answer = await send.apply(this, args)
        if (JSON.stringify(args).includes('sandbox_')) return answer
        const metas = (Array.isArray(answer) ? answer : [answer]).map(({ meta }) => meta as { rows_read: number; rows_written: number })
        const of = counts[kindOf.get(this)!]
        const written = metas.reduce((sum, { rows_written }) => sum + rows_written, 0)
        of[written > 0 ? 'writes' : 'reads']++
        of.statements += metas.length
        of.rowsRead += metas.reduce((sum, { rows_read }) => sum + rows_read, 0)
        of.rowsWritten += written
        return answer
      },
  )
  await work().finally(restore)
  return counts
}

it('a quiet day of an RFC asks the databases for no more than the simulation supposes', async () => {
  const owner = await signUp()
  const extractors = (await api(owner, 'GET', '/v1/extractors')).body as { extractor_id: string; trigger_kind: string }[]
  const first = extractors.find(({ trigger_kind }) => trigger_kind === 'connection_created')!
  await api(owner, 'DELETE', `/v1/extractors/${first.extractor_id}`)
  const { fiscal_entity_id } = await connect(owner)
  await synced(owner, fiscal_entity_id)
  await quiet()
  const sent = silenceQueues() as { entity?: number; shard: number; outbox?: number }[]
  const run_id = newId('run')
  await multiply('runs', 1, {
    ...{
      run_id: `'${run_id}'`,
      trigger: "'schedule'",
      status: "'planned'",
      fiscal_entity_id: 'null',
      // Later than the cooldown of what connecting has downloaded.
      instant: `${Date.now() + 660_000}`,
      after: "''",
    },
    extractor_id: `(select extractor_id from extractors where organization_id = '${owner.organization_id}' and schedule_kind = 'daily')`,
  })
  const system = () => systemOf(env, new Date(), 'test')
  const counts = await counted(async () => {
    await dispatchRuns(system(), [run_id])
    for (let n = 0; n < 20 && sent.length > 0; n++) {
      const { entity, shard, outbox } = sent.shift()!
      if (entity !== undefined) await drain(system(), { shard, entity }, markReadersDue)
      if (outbox !== undefined) await relayOutbox(system(), outbox)
    }
  })
  expect(sent).toEqual([])
  expect(counts.events.rowsWritten).toBeGreaterThanOrEqual(QUIET_DAY.jobs)
  for (const kind of KINDS)
    for (const of of ['reads', 'writes', 'statements', 'rowsRead', 'rowsWritten'] as const) {
      const supposed = QUIET_DAY[kind][of] + (kind === 'control' ? QUIET_DAY.run[of] : 0)
      expect.soft(counts[kind][of], `${kind}.${of}`).toBeLessThanOrEqual(supposed)
    }
})
