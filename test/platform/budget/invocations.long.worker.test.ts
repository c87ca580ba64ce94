import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CRONS } from '../../../src/app/schedule.ts'
import { TASKS } from '../../../src/app/tasks.ts'
import { WORK } from '../../../src/app/work.ts'
import { at, restore } from '../../support/clock.ts'
import { Platform } from '../../support/invocations.ts'
import { silenceQueues } from '../../support/queues.ts'
import { conversationLoad } from '../support/conversation-load.ts'
import { CONSUMER_LOADS, CRON_LOADS, type Load, REQUEST_LOADS, TASK_LOADS } from '../support/loads.ts'

/** The platform allows 1,000 statements, six connections and 128 KB a message. */
const STATEMENTS = 900
const CONNECTIONS = 6
const MESSAGE_BYTES = 128_000

beforeEach(async () => {
  at('2026-05-20T09:00:00Z')
  silenceQueues()
  for (const database of [env.DB, env.LEDGER_0, env.EVENTS_0]) await empty(database)
})
afterEach(restore)

/** No row of an earlier test is left. */
async function empty(database: D1Database): Promise<void> {
  const { results } = await database
    .prepare(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '_cf_%' and name not like 'd1_%'",
    )
    .all<{ name: string }>()
  await database.batch(results.map(({ name }) => database.prepare(`delete from ${name}`)))
}

async function expectWithinBudget(load: Load): Promise<void> {
  const platform = new Platform()
  await load(platform)
  const { invocations, deadLetters } = platform
  const most = (member: 'statements' | 'connections') => Math.max(...invocations.map((one) => one[member]))
  console.log(JSON.stringify({ invocations: invocations.length, statements: most('statements'), connections: most('connections') }))
  expect(invocations.filter(({ statements }) => statements > STATEMENTS)).toEqual([])
  expect(invocations.filter(({ connections }) => connections > CONNECTIONS)).toEqual([])
  expect(invocations.filter(({ statements, counted }) => counted < statements)).toEqual([])
  expect(platform.bytes).toBeLessThanOrEqual(MESSAGE_BYTES)
  expect(deadLetters).toEqual([])
}

describe('an invocation stays within 900 statements and six connections at full load', () => {
  describe('of the queue', () => {
    it('of every queue has its load here', () => {
      const queues = new Set(Object.values(WORK).flatMap(({ queues }) => queues.map((one) => one.toLowerCase().replace('_', '-'))))
      expect(Object.keys(CONSUMER_LOADS).sort()).toEqual([...queues, 'dead-letters'].sort())
    })
    it.each(Object.keys(CONSUMER_LOADS).filter((name) => name !== 'tasks'))('%s', (name) => expectWithinBudget(CONSUMER_LOADS[name]!))
    it('downloads-spread, in the conversation with the tax authority', () => expectWithinBudget(conversationLoad))
  })

  describe('with the task', () => {
    it('of every name has its load here', () => {
      expect(Object.keys(TASK_LOADS).sort()).toEqual(Object.keys(TASKS).sort())
    })
    it.each(Object.entries(TASK_LOADS))('%s', (_, load) => expectWithinBudget(load))
  })

  describe('of the cron', () => {
    it('of every expression has its load here', () => {
      expect(Object.keys(CRON_LOADS).sort()).toEqual(Object.keys(CRONS).sort())
    })
    it.each(Object.entries(CRON_LOADS))('%s', (_, load) => expectWithinBudget(load))
  })

  it.each(Object.entries(REQUEST_LOADS))('of a request for %s', (_, load) => expectWithinBudget(load))
})
