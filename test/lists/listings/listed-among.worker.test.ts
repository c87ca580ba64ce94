import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { wasActiveOn } from '../../../src/lists/catalog.ts'
import { listedAmong } from '../../../src/lists/listings/listing.ts'
import { loadList } from '../../../src/lists/loading/load.ts'
import { costOf } from '../../support/meter.ts'
import { listOf, manyRows, rfcOf } from '../support/list-csv.ts'
import { forgetLists, systemAt } from '../support/lists.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

const ask = (rfcs: readonly string[], as_of: string | null = null, sources: readonly string[] | null = null) =>
  listedAmong({ db: systemAt().db, organization_id: 'org_of_nobody' }, rfcs, as_of, sources)

describe('the listings among counterparties', () => {
  beforeAll(async () => {
    await forgetLists()
    await loadList(systemAt(), 'sat_69b', listOf(manyRows(9_000), '31 de julio de 2026'), new Date('2026-08-05T09:59:00Z'))
  })

  it('of thousands of RFCs come in one call, with their dated history', async () => {
    const rfcs = Array.from({ length: 5_000 }, (_, n) => rfcOf(n * 3))
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => ask(rfcs))
    expect(cost).toMatchObject({ d1_calls: 1, rows_written: 0 })
    const { checked, listings } = result
    expect(checked).toEqual([{ source: 'sat_69b', list_updated_at: '2026-07-31' }])
    expect(listings.size).toBe(3_000)
    const [cleared] = listings.get(rfcOf(9))!
    expect(cleared).toMatchObject({
      source: 'sat_69b',
      situacion: 'sentencia_favorable',
      is_active: false,
      since: '2018-06-01',
      until: '2019-03-05',
    })
    expect(['2018-05-31', '2018-06-01', '2019-03-04', '2019-03-05'].map((day) => wasActiveOn(cleared!.history, day))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  it('are those of a day, of some lists, and of nobody without RFCs', async () => {
    expect((await ask([rfcOf(9)], '2018-05-31')).listings.size).toBe(0)
    expect((await ask([rfcOf(9)], '2018-07-01')).listings.get(rfcOf(9))).toMatchObject([{ situacion: 'presunto', is_active: true }])
    expect(await ask([rfcOf(9)], null, ['sat_69_firmes'])).toEqual({ checked: [], listings: new Map(), rest: [] })
    expect((await ask([])).listings.size).toBe(0)
  })
})
