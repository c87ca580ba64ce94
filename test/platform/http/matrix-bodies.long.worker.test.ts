import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { basic } from '../../support/client.ts'
import { runs, sample } from '../../support/fuzz.ts'
import { absent, callOf, type Entry, type Given, givenOf, TABLE } from '../../support/matrix.ts'
import { silenceDownloads } from '../../support/queues.ts'
import { type Answer, essence, isPublic, json, made, type Sent, send, shapeOf } from '../../support/wire.ts'
import { type Side, sideOf } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

let ours: Side
beforeAll(async () => {
  ours = await sideOf()
  silenceDownloads()
}, 120_000)

const MIB = 1024 * 1024
const MOST_BYTES = 100_000_000
const JSON_TYPE = { 'content-type': 'application/json' }
/** Of the fetcher, whose routes look at the signature first, bodies are tested in test/connections/fetcher. */
const isOfFetcher = ({ route }: Entry): boolean => route.path.startsWith('/fetcher/')
const withBody = TABLE.filter((one) => one.row.json && !isOfFetcher(one) && !one.route.clauses.some(({ upload }) => upload))
const uploads = TABLE.filter((one) => one.row.upload && !isOfFetcher(one))

/** Asks a route of ours, as its owner, with another body than the right one. */
async function ask(entry: Entry, given: Given, sent: Sent): Promise<Answer> {
  return send(entry.route.method, callOf(entry, given).path, { authorization: basic(ours.callers.owner), ...sent })
}

const pathsOf = ({ body }: Answer): string[] => body.errors.map(({ path }: { path: string }) => path)

/** A stream, so that nothing but its end says how long it is. */
function streamed(size: number, head = ''): ReadableStream<Uint8Array> {
  const first = new TextEncoder().encode(head)
  let left = size
  return new ReadableStream({
    pull(controller) {
      const part = left === size && head ? first : new Uint8Array(Math.min(left, 64 * 1024)).fill(0x20)
      left -= part.length
      if (part.length > 0) controller.enqueue(part)
      if (left <= 0) controller.close()
    },
  })
}

/** Members that a row of ours has and that nobody may set from outside. */
const COLUMNS = [
  'organization_id',
  'org_id',
  'entity',
  'shard',
  'connection',
  'state',
  'plan',
  'digest',
  'api_secret',
  'created_at',
  'extractor_count',
  'issued_from',
  'issued_to',
  'received_from',
  'received_to',
  'first_active_at',
  'revoked_at',
  'next_run_at',
  'armed_day',
]

const withoutBody = TABLE.filter(
  ({ row, route }) => route.method !== 'GET' && !row.json && !row.upload && !isPublic(route) && !route.clauses.some(({ upload }) => upload),
)

describe('a route that reads no body', () => {
  it.each(withoutBody)('$name: a member is 422 and changes nothing, as is anything but an empty object', async (entry) => {
    const given = await givenOf(entry, ours)
    const named = await ask(entry, given, json({ fiscal_entity_id: 'fe_01kabcdefghjkmnpqrstvwxyz0', force: true }))
    // A test delivery has a body that may be left out.
    const message = shapeOf(entry.route, 'json') ? 'Unknown member.' : 'Unknown member. This request takes no body.'
    expect([named.status, named.body.errors]).toEqual([422, ['fiscal_entity_id', 'force'].map((path) => ({ path, message }))])
    for (const body of ['{', 'force=true', '[]', 'null', '"x"', ' '.repeat(MIB + 1)])
      expect((await ask(entry, given, { body, headers: JSON_TYPE })).status, body.slice(0, 20)).toBe(422)
    expect((await ask(entry, given, json({}))).status).toBe(entry.row.answers)
  })
})

describe('a JSON body', () => {
  it.each(withBody)('$name: malformed, empty or not UTF-8 is 400', async (entry) => {
    const given = await givenOf(entry, ours)
    const malformed = [
      '{',
      '{"a":1}}',
      "{'a':1}",
      ' ',
      'undefined',
      'NaN',
      '{"a":01}',
      '[1,]',
      '\u0000',
      '{"a":"\n"}',
      new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    ]
    for (const body of sample(malformed, 3, withBody.indexOf(entry))) {
      const { status, body: notified } = await ask(entry, given, { headers: JSON_TYPE, body })
      expect([body, status, notified.code]).toEqual([body, 400, 'request.malformed_json'])
    }
  })

  it.each(withBody)('$name: another content type is 415, whatever the body says', async (entry) => {
    const given = await givenOf(entry, ours)
    const { body } = callOf(entry, given).sent
    const others = [
      'text/plain',
      'application/xml',
      'multipart/form-data',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      'application/vnd.api+json',
      'json',
      '',
    ]
    for (const type of sample(others, 2, withBody.indexOf(entry)))
      expect([type, (await ask(entry, given, { headers: { 'content-type': type }, body })).status]).toEqual([type, 415])
    expect((await ask(entry, given, { body: '{' })).status).toBe(415)
    const compressed = await ask(entry, given, { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body })
    expect([compressed.status, compressed.body.code]).toEqual([415, 'request.content_encoding'])
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;', ' application/json ;x']) {
      const fresh = await givenOf(entry, ours)
      const { status } = await ask(entry, fresh, { ...callOf(entry, fresh).sent, headers: { 'content-type': type } })
      expect([type, status]).toEqual([type, entry.row.answers])
    }
  })

  it.each(withBody)('$name: over 1 MiB is 413, however long it says it is', async (entry) => {
    const given = await givenOf(entry, ours)
    const lengths: Record<string, string>[] = [
      {},
      { 'content-length': String(MIB + 1) },
      { 'content-length': '10' },
      { 'content-length': '-1' },
      { 'content-length': 'many' },
    ]
    for (const said of sample(lengths, 2, withBody.indexOf(entry)))
      expect((await ask(entry, given, { headers: { ...JSON_TYPE, ...said }, body: streamed(MIB + 1, '{') })).status).toBe(413)
    expect((await ask(entry, given, { headers: { ...JSON_TYPE, 'content-length': String(MIB + 1) }, body: '{}' })).status).toBe(413)
    const right = String(callOf(entry, given).sent.body)
    const padded = right + ' '.repeat(MIB - new TextEncoder().encode(right).length)
    expect((await ask(entry, given, { headers: JSON_TYPE, body: padded })).status).toBe(entry.row.answers)
    expect((await ask(entry, given, { headers: JSON_TYPE, body: `${padded} ` })).status).toBe(413)
    // Size comes before type, and type before syntax.
    expect((await ask(entry, given, { headers: { 'content-type': 'text/plain' }, body: streamed(MIB + 1) })).status).toBe(413)
  })

  it.each(withBody)('$name: what is not an object is 422', async (entry) => {
    const given = await givenOf(entry, ours)
    for (const body of ['null', '[]', '[{}]', '1', '-0.5', 'true', '"text"', '1e400'])
      expect([body, (await ask(entry, given, { headers: JSON_TYPE, body })).status]).toEqual([body, 422])
  })

  it.each(withBody)('$name: every unknown member is named, those of our tables and of Object among them', async (entry) => {
    const given = await givenOf(entry, ours)
    const right = entry.row.json!(given)
    const shape = shapeOf(entry.route, 'json')!
    const unknown = ['surprise', '', '__proto__', 'constructor', 'toString', 'hasOwnProperty', ...COLUMNS].filter(
      (name) => !Object.hasOwn(shape, name),
    )
    const members = [...Object.entries(right), ...unknown.map((name) => [name, { admin: true }])]
    const body = `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
    const answer = await ask(entry, given, { headers: JSON_TYPE, body })
    expect(answer.status).toBe(422)
    // The first twenty of more.
    const told = new Set(pathsOf(answer))
    expect([told.size, told.isSubsetOf(new Set(unknown))]).toEqual([Math.min(unknown.length, 20), true])
    expect(answer.body.detail).toContain(answer.body.errors[0].message)
  })

  it.each(withBody)('$name: takes the last of two members with one name, as every JSON parser does', async (entry) => {
    const given = await givenOf(entry, ours)
    const [[name, value]] = Object.entries(entry.row.json!(given)) as [[string, unknown]]
    const rest = JSON.stringify(entry.row.json!(given)).slice(1)
    // A batch tells of each of its items alone what is wrong with it.
    const wrong = Array.isArray(value) ? '"x"' : '[1]'
    const first = `{${JSON.stringify(name)}:${wrong},${rest}`
    expect((await ask(entry, given, { headers: JSON_TYPE, body: first })).status).toBe(entry.row.answers)
    const last = `${JSON.stringify({ [name]: value }).slice(0, -1)},${JSON.stringify(name)}:${wrong}}`
    expect((await ask(entry, given, { headers: JSON_TYPE, body: last })).status).toBe(422)
  })

  it.each(withBody)('$name: breaks at no value of any member', async (entry) => {
    const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000)
    const values = [
      deep('[', ']'),
      deep('{"a":', '}').replace('}', '1}'),
      'null',
      'true',
      '1e400',
      '-0',
      '""',
      '" "',
      '[]',
      '{}',
      '[null]',
      '"\\u0000"',
      '"\\ud800"',
      '"\' OR 1=1 --"',
      '"%00"',
      `"${'x'.repeat(100_000)}"`,
      '{"__proto__":1}',
      '9007199254740993',
    ]
    for (const [n, name] of [...Object.keys(shapeOf(entry.route, 'json')!), 'unknown'].entries())
      for (const value of sample(values, 6, n + withBody.indexOf(entry))) {
        const given = entry.row.given ? { ...(await givenOf(entry, ours)) } : {}
        const { [name]: _, ...others } = entry.row.json!(given)
        const rest = JSON.stringify(others).slice(1)
        const body = `{${JSON.stringify(name)}:${value}${rest === '}' ? '' : ','}${rest}`
        const { status, body: notified } = await ask(entry, given, { headers: JSON_TYPE, body })
        expect([entry.row.answers, 404, 409, 422], `${name}: ${value.slice(0, 50)} → ${status}`).toContain(status)
        // What is wrong is said, what was sent is not said again.
        if (status === 422) expect(JSON.stringify(notified).length).toBeLessThan(5_000)
      }
  })
})

describe('the order of the checks', () => {
  it.each(withBody.filter(({ row }) => row.may !== 'public'))(
    '$name: 401, path, role, body, shape, and only then what is stored',
    async (entry) => {
      const { method, path } = entry.route
      const names = [...path.matchAll(/:(\w+)/g)].map(([, one]) => one!)
      const missing: Given = Object.fromEntries(['fiscal_entity_id', ...names].map((one) => [one, absent(one)]))
      const [name] = names
      const member = { authorization: basic(ours.callers.member) }
      const at = (given: Given) => callOf(entry, given).path
      const broken = { headers: { 'content-type': 'text/plain' }, body: '{' }
      expect((await send(method, at({ ...missing, ...(name && { [name]: 'x' }) }), broken)).status).toBe(401)
      if (name) expect((await send(method, at({ ...missing, [name]: 'x' }), { ...broken, ...member })).status).toBe(400)
      const isAllowed = entry.row.may.includes('member' as never)
      expect((await send(method, at(missing), { ...broken, ...member })).status).toBe(isAllowed ? 415 : 403)
      expect((await ask(entry, missing, broken)).status).toBe(415)
      expect((await ask(entry, missing, { headers: JSON_TYPE, body: '{' })).status).toBe(400)
      const foreign = await ask(entry, { ...missing, ...(await givenOf(entry, ours)) }, json({ surprise: 1 }))
      const nobodys = await ask(entry, missing, json({ surprise: 1 }))
      expect(essence(nobodys)).toBe(essence(foreign))
      expect(nobodys.status).toBe(422)
    },
  )
})

describe('an upload', () => {
  it.each(uploads)(
    '$name: over 100 MB is 413, however long it says it is',
    async (entry) => {
      const given = await givenOf(entry, ours)
      const type = { 'content-type': 'application/zip' }
      for (const said of [{ 'content-length': String(MOST_BYTES + 1) }, { 'content-length': '10' }])
        expect((await ask(entry, given, { headers: { ...type, ...said }, body: streamed(MOST_BYTES + 1) })).status).toBe(413)
      expect((await ask(entry, given, { headers: type, body: streamed(MOST_BYTES) })).status).toBe(202)
    },
    120_000,
  )

  it.each(uploads)('$name: another content type is 415, an empty body 422', async (entry) => {
    const given = await givenOf(entry, ours)
    for (const type of ['application/json', 'multipart/form-data; boundary=x', 'text/plain', ''])
      expect([type, (await ask(entry, given, { headers: { 'content-type': type }, body: 'x' })).status]).toEqual([type, 415])
    const compressed = await ask(entry, given, { headers: { 'content-type': 'text/xml', 'content-encoding': 'gzip' }, body: 'x' })
    expect([compressed.status, compressed.body.code]).toEqual([415, 'request.content_encoding'])
    for (const body of [undefined, ''])
      expect((await ask(entry, given, { headers: { 'content-type': 'text/xml; charset=utf-8' }, body })).status).toBe(422)
  })
})

afterAll(() => {
  // So that a matrix whose rows went missing does not pass for one without a fault.
  expect(made.requests).toBeGreaterThan(runs(900, 1_200))
})
