import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { contextOf, FISCAL_ENTITY, type GrantedRange, RFC, reaching } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { costOf } from '../../support/meter.ts'
import { applicationsOf, documents, insertApplications, insertCfdi, invoices, rowOf } from '../support/ledger.ts'

/** Rows that authentication reads: credential, organization, connection. */
const CONTROL_ROWS = 3
const SIZES = { 1: 1_000, 2: runs(4_000, 20_000) }
/** The first two pages, and one so deep that whatever grows with each page has shown. */
const PAGES = [1, 2, runs(4, 20)]
const CROWDED = 3
const BILLED = 4
const MIDNIGHT = 5
const MIDNIGHTS = 6

/** Documents of every third minute, day and night, in one time zone or in several by turns. */
const nights = (entity: number, zones: readonly number[]) =>
  documents(400 + entity, 1_200, '2025-06-13', 1, entity).map((row, n) => {
    const issued_at = Date.parse('2025-06-14T00:00:00Z') / 1_000 + n * 180
    const utc_offset = zones[n % zones.length]!
    return { ...row, issued_at, utc_offset, fecha: new Date((issued_at + utc_offset * 60) * 1_000).toISOString().slice(0, 19) }
  })

beforeAll(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  for (const [entity, size] of Object.entries(SIZES)) {
    const rows = documents(Number(entity) + 100, size, '2025-01-01', 420, Number(entity))
    await insertCfdi(env.LEDGER_0, rows)
    await insertApplications(env.LEDGER_0, applicationsOf(rows))
  }
  // Payroll: thousands in one second.
  const payroll = documents(200, 3_000, '2025-06-01', 1, CROWDED).map(({ uuid }) =>
    rowOf({ entity: CROWDED, uuid, fecha: '2025-06-15T09:00:00', tipo_comprobante: 'N', metodo_pago: 'PUE', payment_status: null }),
  )
  await insertCfdi(env.LEDGER_0, payroll)
  await insertCfdi(env.LEDGER_0, [...nights(MIDNIGHT, [-360]), ...nights(MIDNIGHTS, [-300, -360, -420, -480])])
  const billed = invoices(300, 4_000, '2025-01-01', 700, BILLED)
  await insertCfdi(env.LEDGER_0, billed.rows)
  await insertApplications(env.LEDGER_0, billed.applications)
})

/** How far the runs of each source have reached. `everything`: there are no extractors. */
type Windows = 'everything' | readonly [issued: GrantedRange, received: GrantedRange]

const upTo = (ceiling: string): GrantedRange => ['2018-01-01', ceiling]
const AFTER_ALL = upTo('2026-12-31T00:00:00Z')
const SAME: Windows = [AFTER_ALL, AFTER_ALL]

/** What each of these pages read and wrote, with the rows of authentication. */
async function costs(
  entity: number,
  query: Record<string, string>,
  pages: readonly number[],
  windows: Windows = 'everything',
  most_calls = 1,
) {
  const isOpen = windows === 'everything'
  const listed = JSON.stringify({ 'sat_69b|definitivo': ['BBB010101BB1', 'CCC010101CC1'] })
  const ctx = contextOf({ entity, listed, ...(isOpen ? reaching(null) : reaching(...windows)) }, { extractor_count: isOpen ? 0 : 2 })
  const read: { page: number; rows: number; data: number }[] = []
  let cursor: string | null = null
  for (let page = 1; page <= Math.max(...pages); page += 1) {
    const asked = CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query, ...(cursor && { cursor }) })
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => searchCfdi(ctx, asked))
    if (pages.includes(page)) {
      expect(cost).toMatchObject({ rows_written: 0, r2_gets: 0 })
      expect(cost.d1_calls).toBeLessThanOrEqual(most_calls)
      read.push({ page, rows: cost.rows_read + CONTROL_ROWS, data: result.data.length })
    }
    if (!result.has_more) break
    cursor = result.next_cursor
  }
  return read
}

const ALL_PAGES = Array.from({ length: 40 }, (_, n) => n + 1)

const INDEXED: Record<string, string>[] = [
  {},
  { direction: 'received' },
  { estatus: 'vigente' },
  { estatus: 'cancelado' },
  { direction: 'issued', estatus: 'vigente' },
  { tipo_comprobante: 'I' },
  { tipo_comprobante: 'N' },
  { tipo_comprobante: 'I', direction: 'issued' },
  { tipo_comprobante: 'I,E', direction: 'issued' },
  { payment_status: 'unpaid' },
  { payment_status: 'unpaid,partially_paid' },
  { payment_status: 'paid', direction: 'received' },
  { counterparty_rfc: 'BBB010101BB1' },
  { counterparty_rfc: 'BBB010101BB1', direction: 'issued' },
  { blacklist: 'definitivo' },
  { blacklist: 'sat_69b', direction: 'received' },
  { emisor_rfc: 'BBB010101BB1' },
  { emisor_rfc: RFC },
  { receptor_rfc: 'CCC010101CC1' },
  { receptor_rfc: RFC },
  { issued_from: '2025-02-01T00:00:00-06:00', issued_to: '2026-01-31T00:00:00-06:00' },
]

/** The directions that a search can find. */
function directionsOf({ direction, emisor_rfc, receptor_rfc }: Record<string, string>): string[] {
  if (direction) return [direction]
  if (emisor_rfc) return [emisor_rfc === RFC ? 'issued' : 'received']
  // What the RFC issued to itself is issued, and it received it too.
  return receptor_rfc && receptor_rfc !== RFC ? ['issued'] : ['issued', 'received']
}

describe('rows read by a page of an indexed filter', () => {
  it.each(INDEXED)('are at most limit + 8, however many documents there are: %j', async (query) => {
    for (const limit of [25, 100]) {
      const asked = { ...query, limit: String(limit) }
      const small = await costs(1, asked, PAGES)
      const large = await costs(2, asked, PAGES)
      for (const { rows } of [...small, ...large]) expect(rows).toBeLessThanOrEqual(limit + 8)
      for (const { page, rows, data } of small) {
        const same = large.find((one) => one.page === page)
        if (data === limit && same?.data === limit) expect(rows).toBe(same.rows)
      }
      // Four streams take it all; with a ceiling two seeks more say that nothing was issued after it.
      const most = query['payment_status'] === 'unpaid,partially_paid' ? limit + 10 : limit + 8
      for (const { rows } of await costs(2, asked, PAGES, SAME)) expect(rows).toBeLessThanOrEqual(most)
    }
  })

  it.each(INDEXED)('are the same when two windows that hide nothing are not the same: %j', async (query) => {
    const asked = { ...query, limit: '25' }
    const apart: Windows = [
      ['2018-01-01', '2026-12-31T00:00:00Z'],
      ['2018-01-02', '2027-01-01T00:00:00Z'],
    ]
    expect(await costs(2, asked, PAGES, apart)).toEqual(await costs(2, asked, PAGES, SAME))
  })

  // The ceilings divide a day; the floors are inside of what is held.
  const APART: [string, Windows][] = [
    ['other ceilings', [upTo('2025-11-20T17:30:00Z'), upTo('2025-12-05T18:45:00Z')]],
    ['two ceilings on one day', [upTo('2025-11-20T15:30:00Z'), upTo('2025-11-20T21:10:00Z')]],
    [
      'other floors and ceilings',
      [
        ['2025-02-10', '2026-01-20T17:30:00Z'],
        ['2025-03-03', '2025-11-20T21:10:00Z'],
      ],
    ],
    ['issued ones alone', [['2025-02-10', '2025-11-20T17:30:00Z'], null]],
    ['received ones alone', [null, ['2025-02-10', '2025-11-20T17:30:00Z']]],
  ]
  describe.each(APART)('through two windows, %s', (_, windows) => {
    const directions = ['issued', 'received'].filter((_, n) => windows[n as 0 | 1] !== null)
    const asked = INDEXED.filter((query) => directionsOf(query).some((one) => directions.includes(one)) && !('payment_status' in query))

    it.each(asked)('are at most limit + 8: %j', async (query) => {
      for (const limit of [25, 100]) {
        const read = await costs(2, { ...query, limit: String(limit) }, PAGES, windows)
        expect(read[0]?.data).toBeGreaterThan(0)
        for (const { rows } of read) expect(rows).toBeLessThanOrEqual(limit + 8)
      }
    })
  })

  it.each([[[AFTER_ALL, null]], [[null, AFTER_ALL]], [[AFTER_ALL, ['2025-03-03', '2027-01-01T00:00:00Z']]]] as [Windows][])(
    'are at most limit + 10 for payment statuses through %j',
    async (windows) => {
      for (const payment_status of ['unpaid', 'paid', 'unpaid,partially_paid'])
        for (const limit of [25, 100])
          for (const { rows } of await costs(2, { payment_status, limit: String(limit) }, PAGES, windows))
            expect(rows).toBeLessThanOrEqual(limit + 10)
    },
  )

  it.each(INDEXED.filter((query) => directionsOf(query).length === 1))(
    'are none of a direction that no run has reached, in the call that says what is downloaded: %j',
    async (query) => {
      const windows: Windows = directionsOf(query)[0] === 'issued' ? [null, AFTER_ALL] : [AFTER_ALL, null]
      expect(await costs(2, query, [1], windows)).toEqual([{ page: 1, rows: CONTROL_ROWS + 1, data: 0 }])
    },
  )

  it('are as few for whole days, however many documents are issued around midnight', async () => {
    const day = { issued_from: '2025-06-15', issued_to: '2025-06-15' }
    for (const asked of [day, { ...day, direction: 'issued' }, { ...day, tipo_comprobante: 'I' }, { issued_to: '2025-06-15' }])
      for (const windows of ['everything', SAME] as const)
        for (const limit of [25, 100]) {
          const read = await costs(MIDNIGHT, { ...asked, limit: String(limit) }, ALL_PAGES, windows)
          expect(read.length).toBeGreaterThan(1)
          for (const { rows, data } of read) expect(rows).toBeLessThanOrEqual(data + 9)
        }
  })

  it('are more for whole days only by documents around midnight where time zones mix', async () => {
    const day = { issued_from: '2025-06-15', issued_to: '2025-06-15' }
    const read = await costs(MIDNIGHTS, { ...day, limit: '25' }, ALL_PAGES)
    const ofDay = nights(MIDNIGHTS, [-300, -360, -420, -480]).filter(({ fecha }) => fecha.startsWith('2025-06-15'))
    expect(read.reduce((sum, { data }) => sum + data, 0)).toBe(ofDay.length)
    // In the three hours around each of the two midnights there are sixty documents.
    expect(read.reduce((sum, { rows, data }) => sum + Math.max(rows - data - 9, 0), 0)).toBeLessThanOrEqual(60)
    expect(read.filter(({ rows, data }) => rows > data + 9).length).toBeLessThanOrEqual(4)
  })

  it('are as few among thousands of one second', async () => {
    for (const { rows } of await costs(CROWDED, { limit: '25' }, [1, 2, 20, 100])) expect(rows).toBeLessThanOrEqual(33)
  })

  it('are at most three for each UUID', async () => {
    const uuid = documents(102, 100, '2025-01-01', 420)
      .map((row) => row.uuid)
      .join(',')
    for (const { rows } of await costs(2, { uuid, limit: '100' }, [1])) {
      expect(rows).toBeLessThanOrEqual(CONTROL_ROWS + 1 + 300)
    }
  })
})

describe('rows read by a page of a balance filter while payments are hidden', () => {
  it.each([{ payment_status: 'unpaid' }, { payment_status: 'paid' }, { balance_min: '1' }, { paid_from: '2026-01-01' }])(
    'are bounded: %j',
    async (query) => {
      const [winter, summer] = [upTo('2026-02-01T00:00:00Z'), upTo('2026-07-01T00:00:00Z')]
      const cut: Windows[] = [
        [winter, winter],
        [summer, summer],
        [winter, summer],
        [summer, winter],
        [winter, null],
        [null, winter],
      ]
      for (const windows of cut)
        for (const { rows } of await costs(BILLED, { ...query, limit: '25' }, PAGES, windows, 6))
          expect(rows).toBeLessThanOrEqual(25 + 10_011 + 5_000 * 5)
    },
  )
})

describe('rows read by a page of any other filter', () => {
  it.each([
    { forma_pago: '99' },
    { serie: 'nothing has it' },
    { counterparty_rfc: RFC, tipo_comprobante: 'I' },
    { total_min: '9990' },
    { q: 'two words' },
    { overdue_days_min: '1' },
  ])('are bounded: %j', async (query) => {
    for (const { rows } of await costs(2, { ...query, limit: '25' }, PAGES, 'everything', 2)) {
      expect(rows).toBeLessThanOrEqual(25 + 10_011)
    }
  })
})
