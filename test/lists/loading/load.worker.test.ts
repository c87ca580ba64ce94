import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { objectOf } from '../../../src/lists/catalog.ts'
import { loadList, refreshList } from '../../../src/lists/loading/load.ts'
import { api } from '../../support/client.ts'
import { daily as dailyCron } from '../../support/crons.ts'
import { costOf } from '../../support/meter.ts'
import { signUp } from '../../support/tenants.ts'
import { bytesOf, type Listed, listOf, listText, manyRows, rfcOf } from '../support/list-csv.ts'
import { forgetLists, NOW, stored, systemAt } from '../support/lists.ts'

const logged: string[] = []
beforeEach(async () => {
  await forgetLists()
  logged.length = 0
  for (const level of ['log', 'error'] as const) vi.spyOn(console, level).mockImplementation((line: string) => void logged.push(line))
})
afterEach(() => {
  vi.restoreAllMocks()
})

const LIST_OBJECT = objectOf('sat_69b')
const FETCHED = new Date('2026-08-05T09:59:00Z')
const load = (bytes: Uint8Array, system = systemAt()) => loadList(system, 'sat_69b', bytes, FETCHED)
const cost = async (work: () => Promise<unknown>) => (await costOf(env.LEDGER_0, env.FILES, work)).cost

const row = (n: number, more: Partial<Listed> = {}): Listed => ({
  rfc: rfcOf(n),
  situacion: 'Presunto',
  presunto: '01/01/2019|02/01/2019',
  ...more,
})
const JUNE = '30 de junio de 2026'
const JULY = '31 de julio de 2026'

describe('loading', () => {
  const rows = manyRows(15_000)
  const bytes = listOf(rows, JUNE)

  /** What breaks without it: a daily refresh that nobody pays attention to costs the operator as much as the first one. */
  it('15,000 rows takes a handful of statements in two calls; again unchanged it writes nothing; and else what changed', async () => {
    const first = await cost(() => load(bytes))
    // The list itself, and that it is to be told.
    expect(first).toMatchObject({ d1_calls: 2, rows_written: 15_002 })
    expect(first.d1_statements).toBeLessThanOrEqual(12)
    expect((await stored()).lists).toMatchObject([{ source: 'sat_69b', version: 1, list_date: '2026-06-30', row_count: 15_000 }])

    expect(await load(bytes)).toBe('unchanged')
    expect(await cost(() => load(bytes))).toMatchObject({ d1_calls: 1, d1_statements: 1, rows_read: 1, rows_written: 0 })

    const next = [...rows.slice(3), { ...rows[2]!, situacion: 'Definitivo', definitivo: '01/07/2026|15/07/2026' }, row(20_000)]
    // The list itself and its index, one changed, one new, two gone, and the record of each of these changes.
    expect(await cost(() => load(listOf(next, JULY)))).toMatchObject({ d1_calls: 2, rows_written: 10 })
    const { lists, entries } = await stored()
    expect(lists).toMatchObject([{ version: 2, list_date: '2026-07-31', row_count: 14_999 }])
    const of = (n: number) => entries.find(({ rfc }) => rfc === rfcOf(n))
    expect([of(0), of(1), of(2)?.['situacion'], of(20_000)?.['situacion']]).toEqual([undefined, undefined, 'definitivo', 'presunto'])
  }, 120_000)

  it('leaves what loading it into nothing leaves', async () => {
    const next = listOf([row(1), row(2, { situacion: 'Definitivo', definitivo: '01/07/2026|' }), row(4)], JULY)
    await load(listOf([row(1), row(2), row(3)], JUNE))
    await load(next)
    const { entries } = await stored()
    await forgetLists()
    await load(next)
    expect((await stored()).entries).toEqual(entries)
  })

  it('keeps the day on which a step without a date was first seen, until it has one', async () => {
    const undated = row(1, { situacion: 'Definitivo', definitivo: 'pendiente|' })
    const seen = async () => (await stored()).entries[0]?.['seen_on']
    await load(listOf([undated], JUNE))
    await load(listOf([{ ...undated, nombre: 'OTRO NOMBRE' }], JULY))
    expect(await seen()).toBe('2026-06-30')
    await load(listOf([{ ...undated, definitivo: '01/07/2026|' }], JULY))
    expect(await seen()).toBe(null)
  })
})

describe('a file that is not taken', () => {
  const good = listOf(
    Array.from({ length: 20 }, (_, n) => row(n)),
    JUNE,
  )

  it.each([
    [
      'shrank',
      listOf(
        Array.from({ length: 17 }, (_, n) => row(n)),
        JULY,
      ),
      'list.shrunk',
    ],
    [
      'is older',
      listOf(
        Array.from({ length: 20 }, (_, n) => row(n)),
        '31 de mayo de 2026',
      ),
      'list.older',
    ],
    [
      'lost its header',
      bytesOf(
        listText(
          Array.from({ length: 20 }, (_, n) => row(n)),
          JULY,
          ['a', 'b'],
        ),
      ),
      'list.no_header',
    ],
    [
      'lost its date',
      bytesOf(
        listText(
          Array.from({ length: 20 }, (_, n) => row(n)),
          null,
        ),
      ),
      'list.undated',
    ],
    ['lost its rows', listOf([], JULY), 'list.empty'],
    [
      'says a day that is years away',
      listOf(
        Array.from({ length: 20 }, (_, n) => row(n)),
        '31 de julio de 2062',
      ),
      'list.in_future',
    ],
    ['is an error page', bytesOf('<html>Service Unavailable</html>'), 'list.no_header'],
    ['was cut off in a quote', good.slice(0, good.length / 3), 'list.shrunk'],
  ])('because it %s leaves the held one as it is, and says why where it is looked for', async (_, bytes, code) => {
    await load(good)
    const before = await stored()
    expect(await load(bytes)).toBe('refused')
    const after = await stored()
    expect(after.entries).toEqual(before.entries)
    expect(after.lists[0]).toMatchObject({ version: 1, digest: before.lists[0]!['digest'], list_date: '2026-06-30', refused_code: code })
    expect(logged.map((line) => JSON.parse(line)).at(-1)).toMatchObject({ level: 'error', source: 'sat_69b', code, loaded: '2026-06-30' })
    const { body } = await api(await signUp(), 'GET', `/v1/blacklists/lookup?rfc=${rfcOf(19)}`)
    expect(body).toMatchObject({
      is_listed: true,
      checked_sources: [
        {
          list_updated_at: '2026-06-30',
          row_count: 20,
          refused: { code, detail: expect.any(String), refused_at: new Date(NOW).toISOString() },
        },
      ],
    })
    // Every day again, for nothing.
    expect(await cost(() => load(bytes))).toMatchObject({ rows_written: 0 })
  })

  it('is forgotten with the next one that is', async () => {
    await load(good)
    await load(listOf([row(1)], JULY))
    expect(
      await load(
        listOf(
          Array.from({ length: 20 }, (_, n) => row(n)),
          JULY,
        ),
      ),
    ).toBe('loaded')
    expect((await stored()).lists).toMatchObject([
      { version: 2, refused_code: null, refused_digest: null, refused_detail: null, refused_at: null },
    ])
  })

  it('as the first one leaves none that could be checked, and does not keep a good one out', async () => {
    expect(await load(bytesOf('<html></html>'))).toBe('refused')
    const { body } = await api(await signUp(), 'GET', `/v1/blacklists/lookup?rfc=${rfcOf(1)}`)
    expect(body).toMatchObject({ is_listed: null, severity: null, hits: [], checked_sources: [] })
    expect(await load(good)).toBe('loaded')
  })
})

describe('loads at once', () => {
  it('leave the newest list, whole, whichever came first', async () => {
    await load(listOf([row(1), row(2)], '31 de mayo de 2026'))
    const june = listOf([row(1), row(2), row(3)], JUNE)
    const july = listOf([row(2), row(3), row(4)], JULY)
    for (const files of [
      [june, july],
      [july, june],
      [june, july, june, july],
    ]) {
      await Promise.all(files.map((bytes) => load(bytes)))
      const { lists, entries } = await stored()
      expect(lists).toMatchObject([{ list_date: '2026-07-31', row_count: 3 }])
      expect(entries.map(({ rfc }) => rfc).sort()).toEqual([rfcOf(2), rfcOf(3), rfcOf(4)].sort())
      await forgetLists()
    }
  })

  it('show a reader one list or the other, never a part of both', async () => {
    const tenant = await signUp()
    const count = 3_000
    const all = (situacion: string, day: string) =>
      listOf(
        Array.from({ length: count }, (_, n) => row(n, { situacion, ...(situacion === 'Definitivo' && { definitivo: '01/02/2020|' }) })),
        day,
      )
    await load(all('Presunto', JUNE))
    const rfcs = Array.from({ length: 500 }, (_, n) => rfcOf(n * 6))
    const seen = new Set<string>()
    let isDone = false
    const loading = load(all('Definitivo', JULY)).finally(() => {
      isDone = true
    })
    do {
      const { body } = await api(tenant, 'POST', '/v1/blacklists/lookup', { rfcs })
      const [notified] = body.checked_sources
      seen.add(
        [notified.list_updated_at, ...new Set(body.hits.map((hit: { situacion: string }) => hit.situacion)), body.hits.length].join(),
      )
    } while (!isDone)
    await loading
    const { body } = await api(tenant, 'POST', '/v1/blacklists/lookup', { rfcs })
    expect(new Set(body.hits.map((hit: { situacion: string }) => hit.situacion))).toEqual(new Set(['definitivo']))
    for (const one of seen) expect(['2026-06-30,presunto,500', '2026-07-31,definitivo,500']).toContain(one)
  })
})

describe('the daily work', () => {
  const ADDRESS = 'https://lists.example/69-B.csv?sig=secreto'
  const put = (bytes: Uint8Array) => env.FILES.put(LIST_OBJECT, bytes)
  const july = listOf([row(1), row(2)], JULY)

  /** An address that answers as servers do, and what it was asked. */
  function published(bytes: Uint8Array, status = 200) {
    const asked: Record<string, string>[] = []
    const site = { bytes, status, asked }
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
      expect(url).toBe(ADDRESS)
      const headers = Object.fromEntries(new Headers(init?.headers))
      asked.push(headers)
      const etag = `"${site.bytes.length}"`
      if (site.status !== 200) return new Response('Nothing here', { status: site.status })
      if (headers['if-none-match'] === etag) return new Response(null, { status: 304 })
      return new Response(site.bytes, { headers: { etag, 'last-modified': 'Fri, 31 Jul 2026 00:00:00 GMT' } })
    })
    return site
  }
  const daily = (more: object = {}) => refreshList(systemAt(NOW, { LIST_URLS: `sat_69b=${ADDRESS}`, ...more }), 'sat_69b')
  const dates = async () => (await stored()).lists.map(({ list_date }) => list_date)

  it('loads what an operator has put into the bucket, and asks nobody where no address is configured', async () => {
    const asked = vi.spyOn(globalThis, 'fetch')
    await refreshList(systemAt(), 'sat_69b')
    expect((await stored()).lists).toMatchObject([{ digest: 'sandbox', list_date: '2026-01-01', row_count: 8 }])
    await put(july)
    await dailyCron(env, new Date(NOW))
    const list = (await stored()).lists.find(({ source }) => source === 'sat_69b')!
    expect(list).toMatchObject({ version: 2, list_date: '2026-07-31', row_count: 2 })
    expect(list['fetched_at']).toBe((await env.FILES.head(LIST_OBJECT))!.uploaded.getTime())
    expect(asked).not.toHaveBeenCalled()
  })

  it('brings what the address has into the bucket, and asks again only for what is new', async () => {
    const site = published(listOf([row(1)], JUNE))
    await daily()
    expect(await dates()).toEqual(['2026-06-30'])
    expect(await cost(() => daily())).toMatchObject({ r2_puts: 0, rows_written: 0 })
    site.bytes = july
    await daily()
    expect(await dates()).toEqual(['2026-07-31'])
    expect(site.asked).toEqual([
      {},
      { 'if-none-match': expect.any(String), 'if-modified-since': 'Fri, 31 Jul 2026 00:00:00 GMT' },
      { 'if-none-match': expect.any(String), 'if-modified-since': 'Fri, 31 Jul 2026 00:00:00 GMT' },
    ])
    expect(await (await env.FILES.get(LIST_OBJECT))!.bytes()).toEqual(july)
  })

  it('takes an operator’s file in before the address’s, and holds the newer one', async () => {
    published(listOf([row(1)], JUNE))
    await put(july)
    await daily()
    expect(await dates()).toEqual(['2026-07-31'])
    expect((await stored()).lists[0]).toMatchObject({ refused_code: 'list.older' })
  })

  it('does not write over a file that an operator puts there meanwhile', async () => {
    const site = published(listOf([row(1)], JUNE))
    vi.mocked(globalThis.fetch).mockImplementationOnce(async () => {
      await put(july)
      return new Response(site.bytes)
    })
    await daily()
    expect(await (await env.FILES.get(LIST_OBJECT))!.bytes()).toEqual(july)
    await daily()
    expect(await dates()).toEqual(['2026-07-31'])
  })

  it.each([404, 500, 599])(
    'fails, without saying the address, when that answers %i; the list is held and the next day works',
    async (status) => {
      const site = published(july, status)
      await put(listOf([row(1)], JUNE))
      await expect(daily()).rejects.toThrow(`The URL of sat_69b in LIST_URLS, at lists.example, answered ${status}.`)
      expect(await dates()).toEqual(['2026-06-30'])
      site.status = 200
      await daily()
      expect(await dates()).toEqual(['2026-07-31'])
      expect(logged.join()).not.toContain('secreto')
    },
  )

  it('does not say the address either when it is none, or nobody is there', async () => {
    expect(() => daily({ LIST_URLS: 'sat_69b=no_address_secreto' })).toThrow(
      /^LIST_URLS must be pairs such as sat_69b=https:\/\/…, with an http or https URL each/,
    )
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError(`Nobody at ${ADDRESS}`))
    await expect(daily()).rejects.toThrow(/^The URL of sat_69b in LIST_URLS could not be fetched \(TypeError\)\.$/)
  })

  it('refuses a file that is too large to be read', async () => {
    await put(listOf([row(1)], JUNE))
    await refreshList(systemAt(), 'sat_69b')
    await put(new Uint8Array(24 * 1024 * 1024 + 1))
    await refreshList(systemAt(), 'sat_69b')
    expect((await stored()).lists).toMatchObject([{ list_date: '2026-06-30', refused_code: 'list.too_large' }])
  })

  /** What breaks without it: a machine that goes at a bad moment leaves half a list, or none, to be looked up in. */
  it.each(['before', 'after'] as const)('dying %s any step leaves a whole list, and done again the new one', async (when) => {
    const before = listOf([row(1), row(2)], JUNE)
    const site = published(july)
    let steps = 0
    for (let step = 1; ; step++) {
      await forgetLists()
      await load(before)
      steps = 0
      let isDead = false
      const watched = <T extends object>(target: T, names: readonly string[]): T =>
        new Proxy(target, {
          get: (_, key) => {
            const method = target[key as keyof T]
            if (typeof method !== 'function') return method
            if (!names.includes(String(key))) return method.bind(target)
            return async (...args: unknown[]) => {
              steps += 1
              if (isDead || (steps === step && when === 'before')) isDead = true
              if (isDead) throw new Error('Died.')
              const result = await method.apply(target, args)
              if (steps === step) {
                isDead = true
                throw new Error('Died.')
              }
              return result
            }
          },
        })
      const died = await daily({ DB: watched(env.DB, ['batch']), FILES: watched(env.FILES, ['get', 'put']) }).then(
        () => false,
        () => true,
      )
      const { lists, entries } = await stored()
      expect(['2026-06-30', '2026-07-31'], `step ${step}`).toContain(lists[0]!['list_date'])
      expect(entries.map(({ rfc }) => rfc).sort(), `step ${step}`).toEqual([rfcOf(1), rfcOf(2)].sort())
      await daily()
      expect(await dates(), `step ${step}`).toEqual(['2026-07-31'])
      if (!died) break
    }
    // Look into the bucket, put the file there, look again, load.
    expect(steps).toBe(4)
    expect(site.asked.length).toBeGreaterThan(5)
  })
})
