import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, expect, it, vi } from 'vitest'
import { getCfdi, getXml } from '../../../src/cfdi/detail/detail.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { contextOf, FISCAL_ENTITY } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { all, newBook } from '../support/book.ts'
import { packageOf, plainOf, xmlOf } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'

const LINES = 4_000
const random = randomOf(3535)
/** Each has about 1.6 MiB. */
const DOCUMENTS = Array.from({ length: 4 }, (_, n) => plainOf(random, '2026-01', { fecha: `2026-01-0${n + 1}T12:00:00`, lines: LINES }))
const [first] = DOCUMENTS

beforeAll(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  await all(ingestZip({ ...newBook(), entity: 1 }, packageOf(DOCUMENTS)))
})

/** What breaks without it: thirty details of documents with 50,000 lines at once end the isolate, and every request in it. */
it('as many large documents are read at once as fit into memory, whoever asks', async () => {
  let [reading, most] = [0, 0]
  const proto = Object.getPrototypeOf(env.FILES) as R2Bucket
  const { get } = proto
  vi.spyOn(proto, 'get').mockImplementation(async function (this: R2Bucket, ...args: Parameters<R2Bucket['get']>) {
    most = Math.max(most, ++reading)
    await scheduler.wait(50)
    reading--
    return get.apply(this, args) as never
  } as never)
  const details = await Promise.all(DOCUMENTS.map(({ uuid }, n) => getCfdi(contextOf({}, { organization: `org_${n}` }), uuid)))
  vi.restoreAllMocks()
  expect(details.map(({ uuid, conceptos }) => [uuid, conceptos.length])).toEqual(DOCUMENTS.map(({ uuid }) => [uuid, LINES]))
  expect(most).toBe(2)
})

it('a large detail takes two calls, and its XML is a stream', async () => {
  expect((await costOf(env.LEDGER_0, env.FILES, () => getCfdi(contextOf(), first!.uuid))).cost).toMatchObject({ d1_calls: 2, r2_gets: 1 })
  expect(await new Response((await getXml(contextOf(), first!.uuid)).bytes).text()).toBe(xmlOf(first!))
})

/** What breaks without it: one page with the lines of a hundred such documents ends the isolate. */
it.each(['issued_at', 'total'])(
  'a page with contents ends where they would not fit into memory, and the next one goes on: %s',
  async (sort) => {
    const found: [string, number][] = []
    const pages: number[] = []
    for (let cursor: string | undefined, isMore = true; isMore; ) {
      const query = { fiscal_entity_id: FISCAL_ENTITY, sort, include: 'conceptos', limit: '100', ...(cursor && { cursor }) }
      const { data, has_more, next_cursor } = await searchCfdi(contextOf(), CfdiSearch.parse(query))
      found.push(...data.map(({ uuid, conceptos }): [string, number] => [uuid, conceptos!.length]))
      pages.push(data.length)
      isMore = has_more
      cursor = next_cursor ?? undefined
    }
    expect(pages).toEqual([2, 2])
    expect(found.sort()).toEqual(DOCUMENTS.map(({ uuid }) => [uuid, LINES]).sort())
  },
)
