import { env } from 'cloudflare:workers'
import { fromString, toUUID } from 'typeid-js'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { checksum, newKeyPair } from '../../../src/accounts/credentials/key.ts'
import { basic, type Caller, request } from '../../support/client.ts'
import { runs, sample } from '../../support/fuzz.ts'
import { absent, callOf, type Entry, type Given, givenOf, malformed, ofEntity, ROWS, TABLE } from '../../support/matrix.ts'
import { silenceDownloads } from '../../support/queues.ts'
import { essence, made, metered, nameOf, ROUTES, send } from '../../support/wire.ts'
import { credentialOf, dump, quiet, type Side, sideOf, undisturbed } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

let ours: Side
let theirs: Side
let principals: Record<string, { authorization: string | undefined; d1: number }>

beforeAll(async () => {
  ;[ours, theirs] = await Promise.all([sideOf(), sideOf()])
  silenceDownloads()
  principals = await strangers(ours, theirs)
  await quiet()
}, 120_000)

const ROLES = ['owner', 'admin', 'member'] as const
const closed = TABLE.filter(({ row }) => row.may !== 'public')
const named = closed.filter(({ row }) => row.given)
const withEntity = named.filter(({ route, row }) => route.path.includes(':fiscal_entity_id') || row.query || row.json === ofEntity)

/** Who is not let in, and how often the database is asked about them. */
async function strangers({ callers: { owner } }: Side, other: Side): Promise<typeof principals> {
  const [revoked, expired] = [await credentialOf(owner, 'owner'), await credentialOf(owner, 'owner')]
  await send('DELETE', `/v1/credentials/${revoked.api_key}`, { authorization: basic(owner) })
  await env.DB.prepare('update credentials set expires_at = ? where api_key = ?')
    .bind(Date.now() - 1, expired.api_key)
    .run()
  const live = newKeyPair('live')
  const { api_key, api_secret } = owner
  const miscounted = api_secret.slice(0, -6) + checksum(`${api_secret}x`)
  const unknown = newKeyPair('test')
  const asked = (d1: number, authorization?: string) => ({ authorization, d1 })
  return {
    'nothing at all': asked(0),
    'an empty header': asked(0, ''),
    'another scheme': asked(0, `Digest ${btoa(`${api_key}:${api_secret}`)}`),
    'the secret without a scheme': asked(0, api_secret),
    'Basic alone': asked(0, 'Basic'),
    'Basic without a colon': asked(0, `Basic ${btoa(api_key + api_secret)}`),
    'Basic with one colon too many': asked(0, `Basic ${btoa(`${api_key}:${api_secret}:`)}`),
    'Basic with the secret first': asked(0, `Basic ${btoa(`${api_secret}:${api_key}`)}`),
    'bad base64': asked(0, 'Basic %%%%'),
    'truncated base64': asked(0, 'Basic A'),
    'not UTF-8': asked(0, `Basic ${btoa(`\xff\xfe${api_key}:${api_secret}\xc3`)}`),
    'a header of 64 KB': asked(0, `Basic ${'A'.repeat(65_536)}`),
    'two headers in one': asked(0, `${basic(owner)}, ${basic(owner)}`),
    'the key as the secret': asked(0, basic({ api_key, api_secret: api_key })),
    'the key as a Bearer token': asked(0, `Bearer ${api_key}`),
    'a wrong checksum': asked(0, basic({ api_key, api_secret: miscounted })),
    'a wrong checksum as a Bearer token': asked(0, `Bearer ${miscounted}`),
    'a key of live': asked(0, basic(live)),
    'a Bearer token of live': asked(0, `Bearer ${live.api_secret}`),
    'our secret under a key of live': asked(0, basic({ api_key: live.api_key, api_secret })),
    'a pair that nobody has': asked(1, basic(unknown)),
    'a Bearer token that nobody has': asked(1, `Bearer ${unknown.api_secret}`),
    'their key with our secret': asked(1, basic({ api_key: other.callers.owner.api_key, api_secret })),
    'our member’s key with the owner’s secret': asked(1, basic({ api_key: ours.callers.member.api_key, api_secret })),
    'a revoked pair': asked(1, basic(revoked)),
    'a revoked Bearer token': asked(1, `Bearer ${revoked.api_secret}`),
    'an expired pair': asked(1, basic(expired)),
  }
}

const as = (caller: Caller) => ({ authorization: basic(caller) })

it('has a row for every route and a route for every row', () => {
  expect(Object.keys(ROWS).sort()).toEqual(ROUTES.map(nameOf).sort())
})

describe('who is not let in reads the same everywhere', () => {
  /** What was read, by what somebody sent; of what only the database can tell, the same unless they have the secret of what has ended. */
  const read = new Map<string, string>()

  it.each(closed)('$name', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    for (const [who, { authorization, d1 }] of sample(Object.entries(principals), 5, closed.indexOf(entry))) {
      const ask = () => metered(entry.route.method, path, { ...sent, authorization })
      const asked = await undisturbed(ask, (one) => one.d1 === d1)
      expect([who, asked.answer.status, asked.d1]).toEqual([who, 401, d1])
      const kind = d1 === 0 ? who : (/revoked|expired/.exec(who)?.[0] ?? 'asked the database')
      expect([kind, essence(asked.answer)]).toEqual([kind, read.get(kind) ?? essence(asked.answer)])
      read.set(kind, essence(asked.answer))
    }
  })

  it('lets the lower-case scheme in, spaces, and the secret as a Bearer token', async () => {
    const { owner } = ours.callers
    const encoded = btoa(`${owner.api_key}:${owner.api_secret}`)
    for (const authorization of [`basic ${encoded}`, `BASIC   ${encoded}`, `Bearer ${owner.api_secret}`, `bearer ${owner.api_secret}`])
      expect((await send('GET', '/v1/organization', { authorization })).body.id).toBe(ours.organization_id)
  })

  it.each(TABLE.filter(({ row }) => row.may === 'public'))('nobody needs a credential for $name', async (entry) => {
    for (const { authorization } of sample(Object.values(principals), 3)) {
      const { path, sent } = callOf(entry, await givenOf(entry, ours))
      expect((await send(entry.route.method, path, { ...sent, authorization })).status).toBe(entry.row.answers)
    }
  })
})

describe('each role may what it may', () => {
  it.each(closed)('$name', async (entry) => {
    // Who is refused uses nothing up, so that the next one can send the same.
    let call: ReturnType<typeof callOf> | null = null
    for (const role of ROLES.toReversed()) {
      call ??= callOf(entry, await givenOf(entry, ours))
      const { path, sent } = call
      const isAllowed = entry.row.may.includes(role as never)
      if (isAllowed) call = null
      const headers = { ...sent.headers, authorization: basic(ours.callers[role]) }
      const reply = await request(entry.route.method, path, { headers, ...(sent.body === undefined ? {} : { body: sent.body }) })
      expect([role, reply.status, JSON.stringify(reply.body).slice(0, 300)]).toEqual([
        role,
        isAllowed ? entry.row.answers : 403,
        expect.anything(),
      ])
      if (!isAllowed) expect((reply.body as { code: string }).code).toBe('credential.role')
      made.requests++
    }
  })
})

describe('a list', () => {
  /** Feeds, whose last page has a cursor for what comes later. */
  const FEEDS = ['GET /v1/cfdi/changes', 'GET /v1/events']
  const listed = closed.filter(({ name, route, row }) => {
    const { schema } = route.clauses.flatMap(({ outputs = [] }) => outputs).find(({ status }) => status === 200) ?? {}
    const isList = schema instanceof z.ZodObject && schema.shape['data'] instanceof z.ZodArray
    return name.startsWith('GET ') && row.answers === 200 && isList && !FEEDS.includes(name)
  })

  it.each(listed)('ends with next_cursor: null: $name', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    for (let cursor = ''; ; ) {
      const { body } = await send('GET', path + cursor, { ...sent, authorization: basic(ours.callers.owner) })
      expect([Array.isArray(body.data), typeof body.next_cursor === 'string']).toEqual([true, body.has_more])
      if (!body.has_more) break
      cursor = `${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(body.next_cursor)}`
    }
  })
})

describe('an identifier in a path', () => {
  beforeAll(quiet)

  it.each(named)('$name: a malformed one is 400 before any lookup and before the role', async (entry) => {
    const given = await givenOf(entry, ours)
    let turn = 0
    for (const name of inPath(entry))
      for (const value of sample(malformed(name), 6, named.indexOf(entry))) {
        const { path, sent } = callOf(entry, { ...given, [name]: value })
        // The roles take turns: each meets several values of every name.
        for (const role of sample(ROLES, 3, turn++)) {
          const ask = () => metered(entry.route.method, path, { ...sent, ...as(ours.callers[role]) })
          const { answer, d1 } = await undisturbed(ask, (one) => one.d1 === 1)
          expect([path, role, answer.status, answer.body.code, d1]).toEqual([path, role, 400, 'request.malformed_id', 1])
        }
      }
  })

  it.each(withEntity)('$name: takes a fiscal entity’s UUID form', async (entry) => {
    const isInPath = entry.route.path.includes(':fiscal_entity_id')
    for (const form of isInPath ? [...FORMS, encoded] : FORMS) {
      const given = await givenOf(entry, ours)
      const { path, sent } = callOf(entry, { ...given, fiscal_entity_id: form(given['fiscal_entity_id']!) })
      const { status } = await send(entry.route.method, path, { ...sent, ...as(ours.callers.owner) })
      expect([path, status]).toEqual([path, entry.row.answers])
    }
  })
})

describe('a fiscal entity in a query', () => {
  const named = withEntity.filter(({ row, route }) => row.query && !route.path.includes(':fiscal_entity_id'))
  it.each(named)('$name: goes by either name, and by both only when they agree', async (entry) => {
    const given = await givenOf(entry, ours)
    const call = callOf(entry, given)
    const [path, asked] = call.path.split('?')
    const more = new URLSearchParams(asked)
    more.delete('fiscal_entity_id')
    const id = given['fiscal_entity_id'] ?? ours.fiscal_entity_id
    const other = id === ours.spare_entity_id ? ours.fiscal_entity_id : ours.spare_entity_id
    const ask = async (query: string) =>
      (await send(entry.route.method, `${path}?${query}&${more}`, { ...call.sent, ...as(ours.callers.owner) })).status
    expect(await ask(`fiscalEntityId=${id}`)).toBe(entry.row.answers)
    // What may be done once in a while may be done again.
    await givenOf(entry, ours)
    expect(await ask(`fiscalEntityId=${uuidForm(id)}&fiscal_entity_id=${id}`)).toBe(entry.row.answers)
    for (const query of [
      '',
      'fiscal_entity_id=',
      'fiscal_entity_id=nonsense',
      `fiscal_entity_id=${ours.extractor_id}`,
      `fiscal_entity_id=${id}&fiscalEntityId=${other}`,
      `fiscalentityid=${id}`,
    ])
      expect([query, await ask(query)]).toEqual([query, 422])
  })
})

const uuidForm = (id: string): string => toUUID(fromString(id))
const encoded = (id: string): string => id.replace('_', '%5F')
const FORMS = [uuidForm, (id: string) => uuidForm(id).toUpperCase()]

const inPath = ({ route }: Entry): string[] => [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!)

describe('what is another organization’s is told like what is not there', () => {
  beforeAll(quiet)

  const looked = named.flatMap((entry) => {
    const names = [...new Set([...inPath(entry), ...(withEntity.includes(entry) ? ['fiscal_entity_id'] : [])])]
    return names.filter((name) => !entry.row.free?.includes(name)).map((name) => ({ ...entry, id: name }))
  })

  it.each(looked)('$name by $id', async (entry) => {
    const [mine, foreign] = [await givenOf(entry, theirs), await givenOf(entry, ours)]
    const ask = async (role: (typeof ROLES)[number], value: string) => {
      const { path, sent } = callOf(entry, { ...mine, [entry.id]: value })
      const { answer, d1 } = await metered(entry.route.method, path, { ...sent, ...as(theirs.callers[role]) })
      return { status: answer.status, essence: essence(answer), d1 }
    }
    // The roles take turns.
    for (const role of sample(
      ROLES,
      3,
      looked.findIndex(({ name, id }) => name === entry.name && id === entry.id),
    )) {
      const both = async () => [await ask(role, foreign[entry.id]!), await ask(role, absent(entry.id))]
      const notified = await undisturbed(both, ([one, other]) => one!.d1 === other!.d1)
      expect(notified[0]).toEqual(notified[1])
      expect(notified[0]!.status).toBe(entry.row.may.includes(role as never) ? 404 : 403)
    }
  })

  it('and nothing of it changed', async () => {
    const of = ({ organization_id }: Side) => dump(organization_id)
    const { callers, organization_id: _, ...ids } = ours
    const given: Given = { ...(ids as unknown as Given), api_key: callers.member.api_key }
    const before = await of(ours)
    for (const entry of named) {
      const { path, sent } = callOf(entry, given)
      await send(entry.route.method, path, { ...sent, ...as(theirs.callers.owner) })
    }
    expect(await of(ours)).toBe(before)
  })
})

afterAll(() => {
  // So that a matrix whose rows went missing does not pass for one without a fault.
  expect(made.requests).toBeGreaterThan(runs(900, 2_000))
})
