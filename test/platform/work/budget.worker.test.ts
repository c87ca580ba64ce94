import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { WORK } from '../../../src/app/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { Budget, BudgetUsedUp } from '../../../src/platform/work/budget.ts'
import { pageByPage } from '../../../src/platform/work/pages.ts'
import { sendAll } from '../../../src/platform/work/send.ts'
import { Platform } from '../../support/invocations.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const system = () => systemOf(env, new Date(), 'req_test')

describe('a budget', () => {
  it('counts each statement of each database, alone or in a batch, and allows 900', async () => {
    const { budget, db, settings } = system()
    const ledger = settings.ledgers[0]!
    await db.$client.prepare('select 1').first()
    await ledger.batch([ledger.prepare('select 1'), ledger.prepare('select ?').bind(2)])
    await commit(db.$client, [db.$client.prepare('select 1'), db.$client.prepare('select 1')])
    expect([budget.allows(895), budget.allows(896)]).toEqual([true, false])
    for (let n = 0; n < 895; n++) budget.count()
    expect([budget.allows(0), budget.allows(1)]).toEqual([true, false])
    expect(() => budget.require(1)).toThrow(BudgetUsedUp)
  })

  it('allows 25 seconds, whatever the clock of a test says', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000)
    const budget = new Budget()
    now.mockReturnValue(25_999)
    expect(budget.allows(1)).toBe(true)
    now.mockReturnValue(26_000)
    expect(budget.allows(1)).toBe(false)
  })

  it('is one for all messages of a batch: a message that it is too late to begin with is sent again, and is no failed attempt', async () => {
    const platform = new Platform()
    const handle = vi.spyOn(WORK['imports']!, 'handle').mockImplementation(async ({ budget }) => {
      for (let n = 0; n < 400; n++) budget.count()
    })
    const bodies = ['a', 'b', 'c', 'd'].map((import_id) => ({ shard: 0, import_id }))
    await platform.deliver('imports', bodies)
    expect(handle.mock.calls.map(([, body]) => body)).toEqual(bodies.slice(0, 2))
    expect([platform.of('imports'), platform.deadLetters]).toEqual([bodies.slice(2), []])
    await platform.run(['imports'])
    expect(handle.mock.calls.map(([, body]) => body)).toEqual(bodies)
  })
})

describe('pages', () => {
  const counting = (it: ReturnType<typeof system>, statements: number) => {
    for (let n = 0; n < statements; n++) it.budget.count()
  }

  it('are worked on while the budget allows another, from the place where the invocation before stopped', async () => {
    const seen: string[][] = []
    let cursor: string | null = ''
    for (let n = 0; cursor !== null && n < 10; n++) {
      const it = system()
      const pages: string[] = []
      cursor = await pageByPage(it, 300, cursor, async (from) => {
        pages.push(from)
        counting(it, 300)
        return pages.length + 3 * seen.length === 8 ? null : String(Number(from) + 1)
      })
      seen.push(pages)
    }
    expect(seen).toEqual([
      ['', '1', '2'],
      ['3', '4', '5'],
      ['6', '7'],
    ])
  })

  it('that do not begin are repeated by the next invocation, the first one too', async () => {
    const ending = async (from: string) => {
      if (from === '2' || from === '') throw new BudgetUsedUp()
      return '2'
    }
    expect([await pageByPage(system(), 1, '', ending), await pageByPage(system(), 1, '1', ending)]).toEqual(['', '2'])
  })

  it('report what failed in them: at the end as an error, otherwise in the log', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const failing = (last: string) => async (from: string, fail: (error: unknown) => void) => {
      fail(new Error(`page ${from}`))
      return from === last ? null : `${from}1`
    }
    await expect(pageByPage(system(), 1, '', failing(''))).rejects.toThrow('page ')
    await expect(pageByPage(system(), 1, '', failing('1'))).rejects.toThrow(/2 parts failed/)
    expect(logged).not.toHaveBeenCalled()
    expect(await pageByPage(system(), 901, '', failing('1'))).toBe('1')
    expect(logged.mock.calls.flat().join()).toMatch(/A part of a task failed.*page /)
  })
})

describe('queue messages', () => {
  const sent = async (bodies: readonly unknown[]) => {
    const batches: number[] = []
    const sendBatch = async (batch: Iterable<unknown>) => void batches.push([...batch].length)
    await sendAll(
      { sendBatch } as unknown as Queue,
      bodies.map((body) => ({ body })),
    )
    return batches
  }

  it('leave in batches of at most 100 messages and 256 KB', async () => {
    expect(await sent(Array.from({ length: 250 }, (_, n) => n))).toEqual([100, 100, 50])
    expect(await sent(Array.from({ length: 5 }, () => 'x'.repeat(120_000)))).toEqual([2, 2, 1])
    expect(await sent([])).toEqual([])
  })

  it('of more than 128 KB are refused, in bytes and not in characters', async () => {
    expect(await sent(['x'.repeat(127_998)])).toEqual([1])
    await expect(sent(['x'.repeat(127_999)])).rejects.toThrow('A queue message has 128001 bytes. The limit is 128000.')
    await expect(sent(['€'.repeat(43_000)])).rejects.toThrow(RangeError)
  })
})
