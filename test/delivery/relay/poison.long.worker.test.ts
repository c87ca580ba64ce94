import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DEAD_LETTERS, deadLetterCommandOf, deadLetterSqlOf } from '../../../scripts/dead-letter-commands.ts'
import { carryOutDeadLetters } from '../../../src/app/schedule.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import type { OutboxEvent } from '../../../src/platform/outbox/outbox.ts'
import { reportDeadLetters } from '../../../src/platform/work/dead-letters.ts'
import { at } from '../../support/clock.ts'
import { reaching } from '../../support/context.ts'
import { silenceQueues } from '../../support/queues.ts'
import {
  cancelled,
  feedOf,
  type Linked,
  left,
  link,
  newEntity,
  notify,
  OUTBOXES,
  organizations,
  systemIn,
  type Watch,
  watchedEnv,
} from '../support/relay.ts'

/** What breaks without it: one event that cannot be relayed stops the events of everybody, and nobody hears of it. */

const NOW = '2026-03-20T20:00:00.000Z'
const MARK = 'POISON'

let logged: Record<string, unknown>[] = []

beforeEach(async () => {
  at(NOW)
  silenceQueues()
  logged = []
  vi.spyOn(console, 'error').mockImplementation((line: string) => void logged.push(JSON.parse(line)))
  await env.DB.prepare('delete from dead_letters').run()
  for (const database of [env.DB, env.LEDGER_0])
    await database.batch(['outbox', 'outbox_quarantined'].map((table) => database.prepare(`delete from ${table}`)))
})
afterEach(async () => {
  await env.EVENTS_0.prepare('drop trigger if exists poison').run()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

async function reader(entity = newEntity()) {
  const [organization_id] = (await organizations([{ extractor_count: 0 }])) as [string]
  await link([{ organization_id, ...entity, state: 'active', ...reaching(null) } as Linked])
  return { organization_id, ...entity }
}
const fact = (entity: number, more: Record<string, unknown> = {}): OutboxEvent => cancelled(entity, '2026-03-03T10:15:00', more)
const poison = (entity: number): OutboxEvent => fact(entity, { emisor_rfc: MARK })

interface DeadLetterRow {
  dead_letter_id: string
  queue: string
  body: string
  reason: string
  wanted: string | null
}
const deadLetters = async (): Promise<DeadLetterRow[]> =>
  (await env.DB.prepare('select * from dead_letters order by dead_letter_id').all<DeadLetterRow>()).results
const quarantined = async (database: D1Database = env.LEDGER_0): Promise<string[]> =>
  (await database.prepare('select outbox_event_id from outbox_quarantined order by 1').all<{ outbox_event_id: string }>()).results.map(
    ({ outbox_event_id }) => outbox_event_id,
  )
const notifiedTo = async (organization_id: string): Promise<string[]> =>
  (await feedOf([organization_id])).map(({ body }) => body.cfdi_uuid as string).sort()
const uuidsOf = (facts: readonly OutboxEvent[]): unknown[] => facts.map(({ body }) => body['cfdi_uuid']).sort()
const databaseOf = (outbox: 'control' | 0): D1Database => (outbox === 'control' ? env.DB : env.LEDGER_0)
const relay = (outbox: 'control' | 0, it = watchedEnv().env): Promise<void> => relayOutbox(systemIn(it), outbox)

/** The events shard refuses batches with the mark, as it would in an outage of that batch alone. */
const refusing: Watch = (name, when, batch) => {
  if (name === 'EVENTS_0' && when === 'before' && batch.some(({ params }) => params.some((value) => String(value).includes(MARK))))
    throw new Error('The batch failed.')
}
/** The database itself refuses an event with the mark. */
const refusedByDatabase = () =>
  env.EVENTS_0.prepare(
    `create trigger poison before insert on events when new.body like '%${MARK}%' begin select raise(abort, 'This event is poison.'); end`,
  ).run()

describe.each(['control', 0] as const)('in outbox %s, an event whose commit', (outbox) => {
  const source = databaseOf(outbox)

  it('is refused by the database is quarantined at once, and all others are relayed', async () => {
    await refusedByDatabase()
    const all = [await reader(), await reader(), await reader()]
    const good = all.flatMap(({ entity }) => Array.from({ length: 30 }, () => fact(entity)))
    const bad = [poison(all[0]!.entity), poison(all[0]!.entity), poison(all[2]!.entity)]
    await notify(source, [...good, ...bad])
    await relay(outbox)
    for (const { organization_id, entity } of all)
      expect(await notifiedTo(organization_id)).toEqual(uuidsOf(good.filter((one) => one.entity === entity)))
    const ids = bad.map(({ outbox_event_id }) => outbox_event_id).sort()
    expect([await left(source), await quarantined(source)]).toEqual([[], ids])
    expect(await deadLetters()).toEqual(
      ids.map((id) =>
        expect.objectContaining({ queue: 'outbox', dead_letter_id: `outbox:${id}`, reason: expect.stringMatching(/poison/) }),
      ),
    )
    expect(logged.map(({ dead_letter_id }) => dead_letter_id).sort()).toEqual(ids.map((id) => `outbox:${id}`))
  })

  it('always fails is tried five times, with longer and longer waits, and then quarantined; nobody waits for it', async () => {
    const [sick, healthy] = [await reader(), await reader()]
    const bad = poison(sick.entity)
    await notify(source, [bad])
    const waits: number[] = []
    for (let attempt = 1; attempt <= 5; attempt++) {
      const news = [fact(sick.entity), fact(healthy.entity)]
      await notify(source, news)
      const it = watchedEnv(refusing)
      await relay(outbox, it.env)
      expect([(await notifiedTo(sick.organization_id)).length, (await notifiedTo(healthy.organization_id)).length]).toEqual([
        attempt,
        attempt,
      ])
      if (attempt === 5) break
      expect([await left(source), await deadLetters()]).toEqual([[bad.outbox_event_id], []])
      expect(it.sent).toContainEqual({ outbox })
      const retry_at = await source.prepare('select retry_at from outbox').first<number>('retry_at')
      waits.push(retry_at! - Date.now())
      // Before its time it is not tried.
      await relay(outbox, it.env)
      expect(await source.prepare('select attempts from outbox').first('attempts')).toBe(attempt)
      vi.setSystemTime(retry_at!)
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000])
    expect([await left(source), await quarantined(source)]).toEqual([[], [bad.outbox_event_id]])
    expect(await deadLetters()).toEqual([expect.objectContaining({ reason: 'Error: The batch failed.' })])
  })

  it('fails once, because the platform did, is relayed with the next attempt', async () => {
    const { organization_id, entity } = await reader()
    const one = poison(entity)
    await notify(source, [one])
    await relay(outbox, watchedEnv(refusing).env)
    expect(await notifiedTo(organization_id)).toEqual([])
    vi.setSystemTime(Date.now() + 5_000)
    await relay(outbox)
    expect([await notifiedTo(organization_id), await left(source), await deadLetters()]).toEqual([uuidsOf([one]), [], []])
  })
})

describe('an outage of the events shard', () => {
  it('puts nothing aside, however long it takes, and everything is relayed after it', async () => {
    const { organization_id, entity } = await reader()
    const facts = Array.from({ length: 20 }, () => fact(entity))
    await notify(env.LEDGER_0, facts)
    const down = watchedEnv((name, when, batch) => {
      if (name === 'EVENTS_0' && when === 'before' && batch.length > 0) throw new Error('D1 is overloaded.')
    })
    for (let n = 0; n < 12; n++) {
      await relay(0, down.env)
      vi.setSystemTime(Date.now() + 600_000)
    }
    expect([await quarantined(), await deadLetters(), (await left(env.LEDGER_0)).length]).toEqual([[], [], 20])
    await relay(0)
    expect([await notifiedTo(organization_id), await left(env.LEDGER_0)]).toEqual([uuidsOf(facts), []])
  })
})

describe('an outage of the control plane', () => {
  it('puts nothing aside, because nobody would hear of it, and holds nothing else up', async () => {
    const { organization_id, entity } = await reader()
    const facts = Array.from({ length: 20 }, () => fact(entity))
    const bad = poison(entity)
    await refusedByDatabase()
    await notify(env.LEDGER_0, [...facts, bad])
    const noWrites: Watch = (name, when, batch) => {
      if (name === 'DB' && when === 'before' && batch.length > 0) throw new Error('D1 is overloaded.')
    }
    const down = watchedEnv(noWrites)
    const prepare = down.env.DB.prepare.bind(down.env.DB)
    const failing = new Proxy(down.env.DB, {
      get: (target, key) =>
        key === 'prepare'
          ? (sql: string) => {
              if (/dead_letters/.test(sql)) throw new Error('D1 is overloaded.')
              return prepare(sql)
            }
          : Reflect.get(target, key),
    })
    for (let n = 0; n < 12; n++) {
      await relay(0, { ...down.env, DB: failing } as Env).catch(() => {})
      vi.setSystemTime(Date.now() + 600_000)
    }
    expect([await quarantined(), await deadLetters(), await left(env.LEDGER_0)]).toEqual([[], [], [bad.outbox_event_id]])
    expect(await notifiedTo(organization_id)).toEqual(uuidsOf(facts))
    await relay(0)
    expect([await quarantined(), (await deadLetters()).length, await left(env.LEDGER_0)]).toEqual([[bad.outbox_event_id], 1, []])
    expect(await notifiedTo(organization_id)).toEqual(uuidsOf(facts))
  })
})

describe('an event that is too large', () => {
  const insert = (entity: number, body: string) =>
    env.LEDGER_0.prepare(
      'insert into outbox (outbox_event_id, kind, entity, organizations, body, created_at) values (?1, ?2, ?3, null, ?4, ?5)',
    )
      .bind(`cfdi.cancelled:${entity}:large`, 'cfdi.cancelled', entity, body, Date.parse(NOW))
      .run()

  it('with a body of 3 MB is quarantined without being read, and all others are relayed', async () => {
    const [sick, healthy] = [await reader(), await reader()]
    const body = JSON.stringify({ ...fact(sick.entity).body, padding: 'x'.repeat(3_000_000) })
    await insert(sick.entity, body)
    const good = [fact(sick.entity), fact(healthy.entity)]
    await notify(env.LEDGER_0, good)
    await relay(0)
    expect([await notifiedTo(sick.organization_id), await notifiedTo(healthy.organization_id)]).toEqual([
      uuidsOf([good[0]!]),
      uuidsOf([good[1]!]),
    ])
    const [deadLetter] = await deadLetters()
    expect(deadLetter!.reason).toMatch(/has 30\d{5} bytes; at most 1500000/)
    expect(deadLetter!.body.length).toBeLessThan(1_000)
    expect(await env.LEDGER_0.prepare('select octet_length(body) as n from outbox_quarantined').first('n')).toBe(body.length)
  })

  it('only for a payload is quarantined too', async () => {
    const { organization_id, entity } = await reader()
    await insert(entity, JSON.stringify({ ...fact(entity).body, total: '1'.repeat(200_000) }))
    await relay(0)
    expect([await notifiedTo(organization_id), await left(env.LEDGER_0)]).toEqual([[], []])
    expect((await deadLetters())[0]!.reason).toMatch(/The payload has \d+ characters; at most 100000/)
  })

  it('in sum does not make a page that is held in memory at once: such events take several pages', async () => {
    const { organization_id, entity } = await reader()
    const facts = Array.from({ length: 12 }, () => fact(entity, { padding: 'x'.repeat(1_000_000) }))
    for (const one of facts) await notify(env.LEDGER_0, [one])
    const most: number[] = []
    const it = watchedEnv()
    const database = it.env.LEDGER_0
    const prepare = database.prepare.bind(database)
    const LEDGER_0 = new Proxy(database, {
      get: (target, key) =>
        key === 'prepare'
          ? (sql: string) => {
              const statement = prepare(sql)
              if (!/page as materialized/.test(sql)) return statement
              const bind = statement.bind.bind(statement)
              return {
                bind: (...values: unknown[]) => {
                  const bound = bind(...values)
                  return {
                    all: async () => {
                      const answer = await bound.all<{ body: string | null }>()
                      most.push(answer.results.reduce((sum, { body }) => sum + (body?.length ?? 0), 0))
                      return answer
                    },
                  }
                },
              }
            }
          : Reflect.get(target, key),
    })
    await relay(0, { ...it.env, LEDGER_0 } as Env)
    expect(Math.max(...most)).toBeLessThan(4_000_000)
    expect([await notifiedTo(organization_id), await left(env.LEDGER_0)]).toEqual([uuidsOf(facts), []])
  })
})

describe('many events that fail', () => {
  it('of one organization cost a bounded number of statements, and leave the first page of others alone', async () => {
    await refusedByDatabase()
    const [sick, healthy] = [await reader(), await reader()]
    await notify(
      env.LEDGER_0,
      Array.from({ length: 300 }, () => poison(sick.entity)),
    )
    const good = [fact(healthy.entity), fact(healthy.entity)]
    await notify(env.LEDGER_0, good)
    let statements = 0
    const it = watchedEnv((_, when, batch) => {
      if (when === 'before') statements += Math.max(1, batch.length)
    })
    await relay(0, it.env)
    expect(await notifiedTo(healthy.organization_id)).toEqual(uuidsOf(good))
    expect(statements).toBeLessThan(950)
    for (let n = 0; n < 20 && (await left(env.LEDGER_0)).length > 0; n++) await relay(0)
    expect([await left(env.LEDGER_0), (await quarantined()).length]).toEqual([[], 300])
  })
})

describe('an operator', () => {
  const decide = (...words: string[]) => env.DB.prepare(deadLetterSqlOf(deadLetterCommandOf(words)!)).all<{ dead_letter_id: string }>()
  const carryOut = (it = watchedEnv().env) => carryOutDeadLetters(systemIn(it))

  it.each(OUTBOXES())('puts an event of outbox %s back, and it is relayed under the same id', async (outbox, source) => {
    await refusedByDatabase()
    const { organization_id, entity } = await reader()
    const one = poison(entity)
    await notify(source, [one])
    await relay(outbox as 0)
    await env.EVENTS_0.prepare('drop trigger poison').run()
    await decide('retry', 'all')
    const it = watchedEnv()
    await carryOut(it.env)
    expect(it.sent).toEqual([{ outbox }])
    expect([await left(source), await quarantined(source), await deadLetters()]).toEqual([[one.outbox_event_id], [], []])
    await relay(outbox as 0)
    expect([await notifiedTo(organization_id), await left(source)]).toEqual([uuidsOf([one]), []])
  })

  it('who puts it back while it still fails finds it quarantined again', async () => {
    await refusedByDatabase()
    const { entity } = await reader()
    await notify(env.LEDGER_0, [poison(entity)])
    await relay(0)
    await decide('retry', 'all')
    await carryOut()
    await relay(0)
    expect([(await deadLetters()).map(({ wanted }) => wanted), (await quarantined()).length]).toEqual([[null], 1])
  })

  it('drops an event for good', async () => {
    await refusedByDatabase()
    const { organization_id, entity } = await reader()
    await notify(env.LEDGER_0, [poison(entity)])
    await relay(0)
    await decide('drop', 'all')
    await carryOut()
    expect([await deadLetters(), await notifiedTo(organization_id), await left(env.LEDGER_0)]).toEqual([[], [], []])
    expect(await quarantined()).toEqual([])
  })

  it.each(['before', 'after'] as const)('is obeyed also when the service dies %s any step', async (when) => {
    let ended = false
    for (let step = 1; !ended; step++) {
      await refusedByDatabase()
      const { organization_id, entity } = await reader()
      const one = poison(entity)
      await notify(env.LEDGER_0, [one])
      await relay(0)
      await env.EVENTS_0.prepare('drop trigger poison').run()
      await decide('retry', 'all')
      let [steps, hasDied] = [0, false]
      const dying = watchedEnv((_, now) => {
        if (now === 'before') steps++
        if (steps === step && now === when) hasDied = true
        if (hasDied) throw new Error('Died.')
      })
      await carryOut(dying.env).catch(() => {})
      ended = !hasDied
      await carryOut()
      await relay(0)
      expect([await notifiedTo(organization_id), await deadLetters(), await left(env.LEDGER_0)], `${step} ${when}`).toEqual([
        uuidsOf([one]),
        [],
        [],
      ])
    }
  })

  it('sends a message again to the queue that takes it, and keeps the letter of one that no queue takes', async () => {
    const insert = (id: string, body: unknown) =>
      env.DB.prepare(
        "insert into dead_letters (dead_letter_id, queue, body, reason, created_at, wanted) values (?1, 'dead-letters', ?2, 'It failed.', 1, 'retry')",
      )
        .bind(id, JSON.stringify(body))
        .run()
    await insert('dead-letters:1', { endpoint: '0.7' })
    await insert('dead-letters:2', { nobody: 'knows' })
    const it = watchedEnv()
    await carryOut(it.env)
    expect(it.sent).toEqual([{ endpoint: '0.7' }])
    expect(await deadLetters()).toEqual([
      expect.objectContaining({ dead_letter_id: 'dead-letters:2', wanted: null, reason: expect.stringMatching(/No queue takes/) }),
    ])
  })

  it('lists dead letters with their reasons, and decides on one or on all of them', async () => {
    await refusedByDatabase()
    const { entity } = await reader()
    const [one, other] = [poison(entity), poison(entity)]
    await notify(env.LEDGER_0, [one, other])
    await relay(0)
    const listed = async () =>
      (await env.DB.prepare(DEAD_LETTERS).all<{ dead_letter_id: string; reason: string; dead_letters: number }>()).results
    expect((await listed()).map(({ reason, dead_letters }) => [reason, dead_letters])).toEqual(
      Array(2).fill([expect.stringMatching(/poison/), 2]),
    )
    const id = `outbox:${one.outbox_event_id}`
    expect((await decide('drop', id)).results).toEqual([{ dead_letter_id: id }])
    expect((await listed()).filter(({ reason }) => reason.startsWith('(is dropped) ')).map(({ dead_letter_id }) => dead_letter_id)).toEqual(
      [id],
    )
    await carryOut()
    expect([(await listed()).length, await quarantined()]).toEqual([1, [other.outbox_event_id]])
    expect((await decide('drop', "nobody' or 'x' = 'x")).results).toEqual([])
    expect((await decide('retry', 'all')).results.length).toBe(1)
  })

  it.each([[], ['retry'], ['drop'], ['drop', ''], ['list', 'all'], ['drop', 'a', 'b']])(
    'who writes %s %s %s gives no command',
    (...words) => {
      expect(deadLetterCommandOf(words.filter((word) => word !== undefined))).toBeNull()
    },
  )

  it('is reminded every day of what is still quarantined, and of nothing else', async () => {
    await reportDeadLetters(systemIn(env))
    expect(logged).toEqual([])
    await refusedByDatabase()
    const { entity } = await reader()
    await notify(env.LEDGER_0, [poison(entity), poison(entity)])
    await relay(0)
    logged = []
    await reportDeadLetters(systemIn(env))
    expect(logged).toEqual([
      expect.objectContaining({ level: 'error', deadLetters: 2, message: expect.stringMatching(/npm run dead-letters/) }),
    ])
  })
})
