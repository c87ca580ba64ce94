import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { objectOf } from '../../../src/lists/catalog.ts'
import { loadList, refreshLists } from '../../../src/lists/loading/load.ts'
import { Budget, BudgetUsedUp } from '../../../src/platform/work/budget.ts'
import { api } from '../../support/client.ts'
import { signUp } from '../../support/tenants.ts'
import { bytesOf, csvOf, rfcOf } from '../support/list-csv.ts'
import { forgetLists, stored, systemAt } from '../support/lists.ts'

for (const level of ['log', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {})
beforeEach(forgetLists)

const SOURCE = 'sat_69_firmes'
const BASE = ['RFC', 'RAZON SOCIAL', 'TIPO PERSONA', 'SUPUESTO', 'FECHA DE PRIMERA PUBLICACION', 'ENTIDAD FEDERATIVA']
const NAME = 'APLICA, S.A. DE C.V.'
/** Lists of over 16,000 taxpayers are loaded in two parts. */
const PARTS = 2
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)
const fileOf = (rows: readonly number[]) =>
  bytesOf(csvOf([BASE, ...rows.map((n) => [rfcOf(n), NAME, 'M', 'FIRMES', '01/01/2014', 'JALISCO'])]))
const [FIRST, SECOND, THIRD] = [
  numbers(0, 16_100),
  [...numbers(3, 16_100), 50_000, 50_001],
  [...numbers(1, 16_099), 50_001, 50_002],
] as const
const rfcsOf = (rows: readonly number[]) => rows.map(rfcOf).sort()

const load = (rows: readonly number[], system = systemAt()) => loadList(system, SOURCE, fileOf(rows), new Date('2026-08-07T12:00:00Z'))
const storedRfcs = async () => (await stored()).entries.map(({ rfc }) => rfc)
const list = async () => (await stored()).lists[0]!

/** A database that dies before the nth commit. */
function dyingAt(step: number): D1Database {
  let commits = 0
  return new Proxy(env.DB, {
    get: (target, key) => {
      const method = target[key as keyof D1Database] as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        if (key === 'batch' && ++commits >= step) throw new Error('Died.')
        return method.apply(target, args)
      }
    },
  })
}
const dies = (rows: readonly number[], step: number) =>
  expect(load(rows, systemAt(undefined, { DB: dyingAt(step) }))).rejects.toThrow('Died.')

/** What a list has become, by the changes that were recorded. */
async function replayed(from: readonly number[]): Promise<string[]> {
  const { results } = await env.DB.prepare('select rfc, change from blacklist_changes order by version').all<{
    rfc: string
    change: string
  }>()
  const rfcs = new Set(from.map(rfcOf))
  for (const { rfc, change } of results) {
    expect(rfcs.has(rfc)).toBe(change === 'removed')
    if (change === 'removed') rfcs.delete(rfc)
    else rfcs.add(rfc)
  }
  return [...rfcs].sort()
}

describe('a list of many taxpayers', () => {
  it('whose load dies between its parts is finished by the same file, and records each change once', async () => {
    await load(FIRST)
    await dies(SECOND, PARTS)
    expect(await list()).toMatchObject({ version: 1, loading: expect.any(String) })
    expect(await load(SECOND)).toBe('loaded')
    expect(await storedRfcs()).toEqual(rfcsOf(SECOND))
    expect(await list()).toMatchObject({ version: 2, loading: null })
    expect(await replayed(FIRST)).toEqual(rfcsOf(SECOND))
    expect((await env.DB.prepare('select * from blacklist_changes').all()).results).toHaveLength(5)
    expect(await load(SECOND)).toBe('unchanged')
  })

  it('whose load dies between its parts leaves a whole list after another file, or the former one', async () => {
    await load(FIRST)
    await dies(SECOND, PARTS)
    expect(await load(THIRD)).toBe('loaded')
    expect(await storedRfcs()).toEqual(rfcsOf(THIRD))
    expect(await replayed(FIRST)).toEqual(rfcsOf(THIRD))
    await dies(FIRST, PARTS)
    expect(await load(THIRD)).toBe('loaded')
    expect(await storedRfcs()).toEqual(rfcsOf(THIRD))
    expect(await replayed(FIRST)).toEqual(rfcsOf(THIRD))
  })

  it('is not looked up before its first load is over', async () => {
    await dies(FIRST, PARTS)
    expect((await storedRfcs()).length).toBeGreaterThan(0)
    const path = `/v1/blacklists/lookup?rfc=${(await storedRfcs())[0]}`
    expect((await api(await signUp(), 'GET', path)).body.hits).toEqual([])
    await load(THIRD)
    expect(await storedRfcs()).toEqual(rfcsOf(THIRD))
    expect(await list()).toMatchObject({ version: 1 })
  })

  it('is loaded whole by several at once', async () => {
    await load(FIRST)
    const ends = await Promise.all([load(SECOND), load(SECOND), load(SECOND)])
    expect(ends.filter((end) => end === 'loaded')).toHaveLength(1)
    expect(await storedRfcs()).toEqual(rfcsOf(SECOND))
    expect(await replayed(FIRST)).toEqual(rfcsOf(SECOND))
  })

  it('is loaded in several invocations when one has no budget for it', async () => {
    const many = numbers(0, 26_200)
    await env.FILES.put(objectOf(SOURCE), fileOf(many))
    const system = systemAt()
    let parts = 1
    const budget = Object.assign(new Budget(), {
      require: () => {
        if (parts-- === 0) throw new BudgetUsedUp()
      },
    })
    expect(await refreshLists({ ...system, budget }, SOURCE)).toBe(SOURCE)
    expect(await list()).toMatchObject({ version: 0, loading: expect.any(String) })
    expect(await refreshLists(system, SOURCE)).toBeNull()
    expect(await list()).toMatchObject({ version: 1, loading: null, row_count: 26_200 })
    expect(await storedRfcs()).toEqual(rfcsOf(many))
  })
})
