import { beforeAll, expect, it } from 'vitest'
import * as z from 'zod'
import { columnsOf, csvOf } from '../../../src/platform/csv.ts'
import { api, basic, request } from '../../support/client.ts'
import { connect, signUp, synced, type Tenant } from '../../support/tenants.ts'

let tenant: Tenant
let path: string

beforeAll(async () => {
  tenant = await signUp()
  const { fiscal_entity_id } = await connect(tenant)
  await synced(tenant, fiscal_entity_id)
  path = `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&direction=issued`
})

const table = async (url: string, accept = 'text/csv') => {
  const { status, headers, body } = await request('GET', url, { headers: { authorization: basic(tenant), accept } })
  return { status, headers, lines: String(body).trimEnd().split('\r\n') }
}

it('a list is a table for who accepts text/csv, page by page', async () => {
  const uuids: string[] = []
  for (let next: string | undefined = `${path}&limit=40`; next; ) {
    const { status, headers, lines } = await table(next)
    expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([200, 'text/csv; charset=utf-8; header=present', 'Accept'])
    const heading = lines[0]!.split(',')
    expect(heading).toEqual(expect.arrayContaining(['uuid', 'counterparty.rfc', 'total', 'balance']))
    uuids.push(...lines.slice(1).map((line) => line.split(',')[heading.indexOf('uuid')]!))
    next = /^<(.+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
  }
  const all: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await api(tenant, 'GET', `${path}&limit=100${cursor && `&cursor=${cursor}`}`)
    all.push(...body.data.map(({ uuid }: { uuid: string }) => uuid))
    cursor = body.next_cursor
  }
  expect(uuids.length).toBeGreaterThan(40)
  expect(uuids).toEqual(all)
})

it('an aggregate is a table as a whole, and empty fields are those that are null', async () => {
  const months = path.replace('/cfdi?', '/cfdi/summary/monthly?')
  const { body } = await api(tenant, 'GET', months)
  const { lines } = await table(months)
  const heading = lines[0]!.split(',')
  expect(lines.slice(1).map((line) => line.split(',')[heading.indexOf('net')])).toEqual(body.data.map(({ net }: { net: string }) => net))
})

const AGGREGATES = [
  ...['cfdi/concentration', 'cfdi/risk', 'cfdi/deductions', 'cfdi/withholdings', 'analytics/risk', 'analytics/vat-position'],
  ...['analytics/concepts', 'analytics/efos-exposure', 'analytics/financing', 'analytics/fx-exposure'],
]

/** Every path in a body that begins like this. */
function pathsIn(body: unknown, begin: string): string[] {
  if (typeof body === 'string') return body.startsWith(begin) ? [body] : []
  return typeof body === 'object' && body !== null ? Object.values(body).flatMap((one) => pathsIn(one, begin)) : []
}

it.each(AGGREGATES)('/v1/%s is a table with a line for each row, and so are the documents behind its figures', async (name) => {
  const expectTable = async (url: string): Promise<unknown> => {
    const { body } = await api(tenant, 'GET', url)
    const { status, lines } = await table(url)
    const rows = Array.isArray(body.data) ? body.data.length : 1
    expect([url, status, lines.length, lines[0]!.split(',').length > 2]).toEqual([url, 200, 1 + rows, true])
    return body
  }
  const own = path.replace('/cfdi?', `/${name}?`)
  const body = await expectTable(name === 'cfdi/concentration' ? own : own.replace('&direction=issued', ''))
  const links = [...new Set(pathsIn(body, `/v1/${name}/entries?`))]
  expect(links.length).toBeGreaterThan(0)
  // Those of what is left out come first, and usually have none.
  for (const link of links.reverse().slice(0, 12)) {
    const { data } = (await expectTable(link)) as { data: unknown[] }
    if (data.length > 0) break
  }
})

it.each(['application/json', '*/*', 'text/csv;q=0.5, application/json', 'text/html'])('%s gets JSON', async (accept) => {
  const { headers } = await table(path, accept)
  expect([headers.get('content-type'), headers.get('link')]).toEqual(['application/json', null])
})

it('refusals are problems in JSON', async () => {
  const { status, headers } = await table(`${path}&limit=0`)
  expect([status, headers.get('content-type')]).toEqual([422, 'application/json'])
})

it('no field is a formula, quotes are doubled, and lists are one value', () => {
  const row = z.object({
    a: z.string(),
    of: z
      .object({
        b: z.string().nullable(),
        list: z.array(z.string()),
        drilldown: z.record(z.string(), z.string()),
        rows: z.array(z.object({ c: z.string() })),
      })
      .nullable(),
  })
  const rows = [
    { a: '=1+1', of: { b: '-12.50', list: ['x', 'y'], drilldown: { a: '/' }, rows: [] } },
    { a: '-cmd', of: { b: 'two\r\nlines "quoted"', list: [] } },
    { a: 'a,b', of: null },
    { a: '\u200b＝1+1', of: null },
    { a: ' @sum', of: null },
    { a: '|cmd', of: null },
    { a: '\u200b｜cmd', of: null },
    ...['\u202a=1', '\u2066\u061c+1', '\u00ad@x', '\ufeff\u200b =1'].map((a) => ({ a, of: null })),
  ]
  expect(csvOf(columnsOf(row), rows)).toBe(
    'a,of.b,of.list\r\n\'=1+1,-12.50,x y\r\n\'-cmd,"two\r\nlines ""quoted""",\r\n"a,b",,\r\n\'\u200b＝1+1,,\r\n\' @sum,,\r\n\'|cmd,,\r\n\'\u200b｜cmd,,\r\n' +
      "'\u202a=1,,\r\n'\u2066\u061c+1,,\r\n'\u00ad@x,,\r\n'\ufeff\u200b =1,,\r\n",
  )
})
