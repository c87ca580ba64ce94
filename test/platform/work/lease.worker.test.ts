import { env } from 'cloudflare:workers'
import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { mailLease } from '../../../src/accounts/mails/store.ts'
import { mails } from '../../../src/accounts/tables.ts'
import { reportLease } from '../../../src/analytics/reports/state-store.ts'
import { reportStates } from '../../../src/analytics/reports/tables.ts'
import { fetchLease } from '../../../src/authority/fetcher/fetches.ts'
import { fetches } from '../../../src/authority/fetcher/tables.ts'
import { conversationLease } from '../../../src/authority/sat/conversation/store.ts'
import { authorityConversations } from '../../../src/authority/sat/conversation/tables.ts'
import { importLease } from '../../../src/cfdi/imports/store.ts'
import { imports } from '../../../src/cfdi/imports/tables.ts'
import { exportLease } from '../../../src/copies/exports/store.ts'
import { exports_ } from '../../../src/copies/exports/tables.ts'
import { connectorLease } from '../../../src/copies/mirror/store.ts'
import { storageConnectors } from '../../../src/copies/tables.ts'
import { deliveryLease } from '../../../src/delivery/deliveries/delivery-store.ts'
import { deliveries } from '../../../src/delivery/tables.ts'
import { requestLease } from '../../../src/documents/mailbox/requests/store.ts'
import { mailboxRequests } from '../../../src/documents/mailbox/requests/tables.ts'
import { syncWork } from '../../../src/downloads/jobs/tables.ts'
import { jobsLease } from '../../../src/downloads/lease-store.ts'
import { lookupLease } from '../../../src/lists/repse/store.ts'
import { repseRecords } from '../../../src/lists/tables.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { bare, prepared } from '../../../src/platform/db/statement.ts'
import type { Leased, RowLease } from '../../../src/platform/work/lease.ts'

interface Kind {
  lease: RowLease<Record<string, unknown>>
  table: SQLiteTable
  d1: D1Database
}
const kind = <Row extends object>(lease: RowLease<Row>, table: SQLiteTable, d1: D1Database): Kind => ({
  lease: lease as unknown as Kind['lease'],
  table,
  d1,
})

/** Every kind of work that is done under a lease. */
const KINDS: Record<string, Kind> = {
  downloads: kind(jobsLease, syncWork, env.LEDGER_0),
  conversations: kind(conversationLease, authorityConversations, env.LEDGER_0),
  fetches: kind(fetchLease, fetches, env.LEDGER_0),
  imports: kind(importLease, imports, env.LEDGER_0),
  reports: kind(reportLease, reportStates, env.LEDGER_0),
  exports: kind(exportLease, exports_, env.DB),
  mails: kind(mailLease, mails, env.DB),
  mailbox: kind(requestLease, mailboxRequests, env.DB),
  lookups: kind(lookupLease, repseRecords, env.DB),
  mirror: kind(connectorLease, storageConnectors, env.EVENTS_0),
  deliveries: kind(deliveryLease, deliveries, env.EVENTS_0),
}

const START = Date.parse('2026-05-20T09:00:00Z')
let [now, rows] = [START, 0]
beforeEach(() => {
  now = START
  vi.spyOn(Date, 'now').mockImplementation(() => now)
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** Inserts a row of the table that nobody works on. Returns the condition that finds it. */
async function free({ table, d1 }: Kind): Promise<SQL> {
  const n = ++rows
  const columns = Object.values(getTableColumns(table)) as SQLiteColumn[]
  const filler = (column: SQLiteColumn): string | number => {
    if (column.name === 'lease_until') return 0
    if (column.getSQLType() !== 'text') return n
    return column.enumValues?.find((one) => one === 'running') ?? column.enumValues?.[0] ?? `"${n}"`
  }
  const filled = columns.filter((column) => (column.notNull && !column.hasDefault) || column.primary)
  await prepared(d1, sql`insert into ${table} ${filled.map(bare)} values ${filled.map(filler)}`).run()
  const [first] = filled as [SQLiteColumn]
  return sql`${first} = ${filler(first)}`
}

const claim = async ({ lease, d1 }: Kind, found: SQL): Promise<Leased<Record<string, unknown>> | undefined> =>
  (await lease.claim(d1, found))[0]

/** Whether a worker can commit something. */
async function commits({ lease, d1 }: Kind, row: Leased<Record<string, unknown>>): Promise<boolean> {
  try {
    await commit(d1, [lease.assertLeased(row)])
    return true
  } catch (error) {
    expect(lease.isLost(error)).toBe(true)
    return false
  }
}

describe.each(Object.entries(KINDS))('the lease of %s', (_, it_) => {
  const { lease, d1 } = it_

  it('is one worker’s until it ends, and then that of whoever claims it; the first one can commit nothing more', async () => {
    const found = await free(it_)
    const first = (await claim(it_, found))!
    expect([await claim(it_, found), await commits(it_, first)]).toEqual([undefined, true])
    now += lease.milliseconds - 1
    expect(await claim(it_, found)).toBeUndefined()
    await commit(d1, [lease.extend(first)])
    now += lease.milliseconds - 1
    expect(await claim(it_, found)).toBeUndefined()
    now += 2
    const second = (await claim(it_, found))!
    expect([await commits(it_, first), await commits(it_, second)]).toEqual([false, true])
    await commit(d1, [lease.extend(first), lease.release(first)])
    expect([await claim(it_, found), await commits(it_, second)]).toEqual([undefined, true])
  })

  it('is given back at the end of the work; one that failed waits for the end of the lease, and a worker that lost it calls another', async () => {
    const found = await free(it_)
    expect(await lease.work(d1, (await claim(it_, found))!, async () => false)).toBe(false)
    now += 1
    const failing = lease.work(d1, (await claim(it_, found))!, () => Promise.reject(new Error('It failed.')))
    await expect(failing).rejects.toThrow('It failed.')
    now += 1
    expect(await claim(it_, found)).toBeUndefined()
    now += lease.milliseconds
    const row = (await claim(it_, found))!
    now += lease.milliseconds + 1
    const next = (await claim(it_, found))!
    expect(await lease.work(d1, row, async () => void (await commit(d1, [lease.assertLeased(row)])) !== undefined)).toBe(true)
    expect(await commits(it_, next)).toBe(true)
  })
})

it('any workers, of whom any die, hold a row one after the other', async () => {
  const it_ = KINDS['reports']!
  const { lease, d1 } = it_
  const step = fc.record({
    worker: fc.nat(2),
    does: fc.constantFrom('claim', 'commit', 'extend', 'release'),
    after: fc.constantFrom(0, 1, lease.milliseconds / 2, lease.milliseconds + 1),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      const found = await free(it_)
      const mine: (Leased<Record<string, unknown>> | undefined)[] = []
      let [holder, until] = [-1, 0]
      for (const { worker, does, after } of steps) {
        now += after
        const row = mine[worker]
        if (does === 'claim') {
          const claimed = await claim(it_, found)
          const isFree = holder === -1 || until < now
          expect(claimed !== undefined).toBe(isFree)
          if (claimed) [mine[worker], holder, until] = [claimed, worker, now + lease.milliseconds]
        } else if (row && does === 'commit') expect(await commits(it_, row)).toBe(holder === worker)
        else if (row && does === 'extend') {
          await commit(d1, [lease.extend(row)])
          if (holder === worker) until = now + lease.milliseconds
        } else if (row && does === 'release') {
          await commit(d1, [lease.release(row)])
          if (holder === worker) holder = -1
        }
      }
    }),
    { numRuns: 40 },
  )
})
