import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { basic, type Caller } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { daily } from '../../support/crons.ts'
import { callOf, givenOf, TABLE } from '../../support/matrix.ts'
import { silenceDownloads } from '../../support/queues.ts'
import { freshRfc, signUp } from '../../support/tenants.ts'
import { type Answer, isPublic, json, nameOf, ROUTES, type Sent, send } from '../../support/wire.ts'
import { credentialOf, organizationWith, type Side, sideOf } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
afterEach(() => {
  vi.useRealTimers()
})

let keys = 0
const freshKey = (): string => `key ${++keys} ~!`

const post = (caller: Caller, path: string, key: string | undefined, { headers, ...sent }: Sent): Promise<Answer> =>
  send('POST', path, {
    ...sent,
    authorization: basic(caller),
    headers: { ...headers, ...(key !== undefined && { 'idempotency-key': key }) },
  })

const CREDENTIALS = '/v1/credentials'
const draft = (name = 'CI', role = 'member') => json({ name, role })
const credentialsOf = async (caller: Caller) =>
  (await send('GET', `${CREDENTIALS}?limit=100`, { authorization: basic(caller) })).body.data as { api_key: string; name: string }[]
const isReplayed = ({ headers }: Answer): string | null => headers.get('idempotency-replayed')
const rowOf = (key: string) => env.DB.prepare('select * from idempotency_keys where key = ?').bind(key).first<Record<string, string>>()

const keyed = TABLE.filter(({ route }) => route.clauses.some(({ isIdempotent }) => isIdempotent))
/** The refresh of a report is refused here, because the windows are bounded. It is tested with the reports. */
const carriedOut = keyed.filter(({ row }) => row.answers < 300)
/** Reads, however often they are sent. */
const READS = ['POST /v1/blacklists/lookup', 'POST /v1/extractors/preview']

describe('every POST that does something', () => {
  let ours: Side
  let other: Caller
  beforeAll(async () => {
    ours = await sideOf()
    silenceDownloads()
    other = await credentialOf(ours.callers.owner, 'owner')
  }, 120_000)

  it('takes a key, and nothing else does', () => {
    const posts = ROUTES.filter((route) => route.method === 'POST' && !isPublic(route) && !READS.includes(nameOf(route)))
    expect(keyed.map(({ name }) => name)).toEqual(posts.map(nameOf))
    expect(keyed.length).toBeGreaterThan(15)
    // The last of a route's clauses: what the others refuse is not kept.
    for (const { route } of keyed) expect(route.clauses.at(-1)!.isIdempotent).toBe(true)
  })

  const changes = async () => {
    const counts = [env.DB, env.EVENTS_0].map((database) =>
      database.prepare('select count(*) as n from audit_events where organization_id = ?').bind(ours.organization_id).first<number>('n'),
    )
    return (await Promise.all(counts)).reduce<number>((sum, n) => sum + n!, 0)
  }

  it.each(carriedOut)('$name: sent again, is answered alike and done once', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    const key = freshKey()
    const before = await changes()
    const first = await post(ours.callers.owner, path, key, sent)
    expect([first.status, isReplayed(first)]).toEqual([entry.row.answers, null])
    for (let again = 0; again < 3; again++) {
      const { status, headers, text } = await post(ours.callers.owner, path, key, sent)
      expect([status, text, headers.get('content-type')]).toEqual([first.status, first.text, first.headers.get('content-type')])
      expect([headers.get('idempotency-replayed'), headers.get('cache-control')]).toEqual(['true', 'no-store'])
    }
    expect(await changes()).toBe(before + 1)
    // The same organization, but not who was answered.
    const { status, body } = await post(other, path, key, sent)
    expect([status, body.code, body.resource_id]).toEqual([409, 'idempotency.other_credential', (await rowOf(key))!['resource_id']])
    expect(body.resource_id).toMatch(/./)
    if (first.status === 201) expect(first.text).toContain(body.resource_id)
    if (sent.body !== undefined) {
      const mismatch = await post(ours.callers.owner, path, key, {
        ...sent,
        body: new Blob([sent.body as string | Uint8Array<ArrayBuffer>, ' ']),
      })
      expect([mismatch.status, mismatch.body.code]).toEqual([422, 'idempotency.mismatch'])
    }
    expect(await changes()).toBe(before + 1)
  })

  it.each(carriedOut)('$name: fifty at once make one thing', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    const key = freshKey()
    const before = await changes()
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(ours.callers.owner, path, key, sent)))
    const made = answers.filter(({ status }) => status === entry.row.answers)
    const others = answers.filter(({ status }) => status !== entry.row.answers)
    expect(new Set(made.map(({ text }) => text)).size).toBe(1)
    expect(made.filter((answer) => isReplayed(answer) === null)).toHaveLength(1)
    expect(others.map(({ status, body }) => [status, body.code])).toEqual(others.map(() => [409, 'idempotency.in_flight']))
    expect(await changes()).toBe(before + 1)
    expect((await post(ours.callers.owner, path, key, sent)).text).toBe(made[0]!.text)
  })

  it.each(keyed)('$name: keeps of its answer nothing that can be read', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    const key = freshKey()
    const { text } = await post(ours.callers.owner, path, key, sent)
    const { answer, state } = (await rowOf(key))!
    expect(state).toBe('answered')
    const bytes = new TextDecoder('latin1').decode(Uint8Array.fromBase64(answer!))
    for (const [, value] of Object.entries(JSON.parse(text))) if (String(value).length > 8) expect(bytes).not.toContain(value)
  })
})

describe('a signing secret', () => {
  it('is the same for who asks again, of a new webhook and of its next secret', async () => {
    const owner = await signUp()
    const hook = json({ name: 'ERP', url: 'https://erp.example.com/cfdi', event_keys: ['cfdi.cancelled'] })
    const [first, again] = [await post(owner, '/v1/webhooks', 'hook', hook), await post(owner, '/v1/webhooks', 'hook', hook)]
    expect([first.status, again.text]).toEqual([201, first.text])
    expect(first.body.signing_secret).toMatch(/^whsec_/)
    const rotate = `/v1/webhooks/${first.body.webhook_id}/rotate-secret`
    const [next, same] = [await post(owner, rotate, 'next', {}), await post(owner, rotate, 'next', {})]
    expect([next.status, same.text]).toEqual([201, next.text])
    expect((await post(owner, rotate, 'another', {})).text).not.toBe(next.text)
  })
})

describe('a key', () => {
  it.each([
    ['', 422],
    ['a', 201],
    ['a'.repeat(255), 201],
    ['a'.repeat(256), 422],
    ['"quoted", twice', 201],
    ['~ ! \\ %', 201],
    ['ñ', 422],
    ['a\tb', 422],
  ])('%j is %i', async (key, expected) => {
    const owner = await signUp()
    const { status, body } = await post(owner, CREDENTIALS, key, draft())
    expect([status, body.code]).toEqual([expected, expected === 422 ? 'idempotency.invalid_key' : undefined])
    expect(await credentialsOf(owner)).toHaveLength(expected === 201 ? 2 : 1)
  })

  it('is an organization’s own', async () => {
    const [one, two] = [await signUp(), await signUp()]
    const key = freshKey()
    const answers = [await post(one, CREDENTIALS, key, draft()), await post(two, CREDENTIALS, key, draft())]
    expect(answers.map((answer) => [answer.status, isReplayed(answer)])).toEqual([
      [201, null],
      [201, null],
    ])
    expect(answers[0]!.body.api_key).not.toBe(answers[1]!.body.api_key)
  })

  it('left out, makes a new thing each time', async () => {
    const owner = await signUp()
    for (let n = 0; n < 3; n++) expect((await post(owner, CREDENTIALS, undefined, draft())).status).toBe(201)
    expect(await credentialsOf(owner)).toHaveLength(4)
  })

  it('is good for one request: method, path and every byte of the body', async () => {
    const owner = await signUp()
    const key = freshKey()
    expect((await post(owner, CREDENTIALS, key, draft())).status).toBe(201)
    const others: [string, Sent][] = [
      [CREDENTIALS, draft('CI', 'admin')],
      [CREDENTIALS, { ...draft(), body: '{"role":"member","name":"CI"}' }],
      [CREDENTIALS, { ...draft(), body: '{"name":"CI", "role":"member"}' }],
      ['/v1/fiscal-entities', json({ rfc: freshRfc() })],
    ]
    for (const [path, sent] of others) {
      const { status, body } = await post(owner, path, key, sent)
      expect([path, status, body.code]).toEqual([path, 422, 'idempotency.mismatch'])
    }
    expect(isReplayed(await post(owner, CREDENTIALS, key, draft()))).toBe('true')
  })

  it('is read with a Bearer token as with Basic', async () => {
    const owner = await signUp()
    const key = freshKey()
    const { text } = await post(owner, CREDENTIALS, key, draft())
    const { headers, ...sent } = draft()
    const bearer = { ...sent, headers: { ...headers, 'idempotency-key': key }, authorization: `Bearer ${owner.api_secret}` }
    expect((await send('POST', CREDENTIALS, bearer)).text).toBe(text)
  })

  it('is still known when the pepper has been rotated', async () => {
    const owner = await signUp()
    const key = freshKey()
    const { text } = await post(owner, CREDENTIALS, key, draft())
    const rotated = { ...env, API_SECRET_KEYS: `9:${btoa('k'.repeat(32))},${env.API_SECRET_KEYS}` }
    expect((await post(owner, CREDENTIALS, key, { ...draft(), env: rotated })).text).toBe(text)
    expect((await post(owner, CREDENTIALS, key, { ...draft('Otra'), env: rotated })).body.code).toBe('idempotency.mismatch')
  })

  it('is kept for 24 hours, to the millisecond, and gone from the database by the next morning', async () => {
    at('2026-11-18T18:00:00Z')
    const owner = await signUp()
    const key = freshKey()
    const first = await post(owner, CREDENTIALS, key, draft())
    at('2026-11-19T17:59:59.999Z')
    expect((await post(owner, CREDENTIALS, key, draft())).text).toBe(first.text)
    at('2026-11-19T18:00:00Z')
    const second = await post(owner, CREDENTIALS, key, draft('Otra'))
    expect([second.status, isReplayed(second)]).toEqual([201, null])
    await daily(env, new Date('2026-11-20T10:00:00Z'))
    expect((await post(owner, CREDENTIALS, key, draft('Otra'))).text).toBe(second.text)
    await daily(env, new Date('2026-11-21T10:00:00Z'))
    expect(await rowOf(key)).toBeNull()
  })

  it('is removed with any number of others', async () => {
    await env.DB.prepare(
      `insert into idempotency_keys (organization_id, key, fingerprint, token, lease_until, state, created_at)
       with recursive n (i) as (select 1 union all select i + 1 from n where i < 2500)
       select 'org_many', i, '', '', 0, 'answered', i from n`,
    ).run()
    await daily(env, new Date(86_400_000 + 2_400))
    expect(await env.DB.prepare("select count(*) as n from idempotency_keys where organization_id = 'org_many'").first('n')).toBe(100)
  })
})

describe('which answers are kept', () => {
  const EXTRACTOR = { name: 'x', trigger_kind: 'connection_created', scope: 'full_history', data_source_keys: ['sat_csf'] }

  /** What a request is answered with, and then, with the same key, when what stood in its way is gone. */
  const cases: Record<string, { isKept: boolean; status: number; run: (key: string) => Promise<[Answer, Answer]> }> = {
    'a shape that is wrong': {
      isKept: false,
      status: 422,
      run: async (key) => {
        const owner = await signUp()
        return [await post(owner, CREDENTIALS, key, draft('')), await post(owner, CREDENTIALS, key, draft())]
      },
    },
    'no JSON': {
      isKept: false,
      status: 400,
      run: async (key) => {
        const owner = await signUp()
        return [await post(owner, CREDENTIALS, key, { ...draft(), body: '{' }), await post(owner, CREDENTIALS, key, draft())]
      },
    },
    'a role that may not': {
      isKept: false,
      status: 403,
      run: async (key) => {
        const { callers } = await organizationWith()
        return [await post(callers.member, CREDENTIALS, key, draft()), await post(callers.admin, CREDENTIALS, key, draft())]
      },
    },
    'an unknown query parameter': {
      isKept: false,
      status: 422,
      run: async (key) => {
        const owner = await signUp()
        return [await post(owner, `${CREDENTIALS}?x=1`, key, draft()), await post(owner, CREDENTIALS, key, draft())]
      },
    },
    'a credential that is not one': {
      isKept: false,
      status: 401,
      run: async (key) => {
        const owner = await signUp()
        return [
          await post({ ...owner, api_key: owner.api_key.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }, CREDENTIALS, key, draft()),
          await post(owner, CREDENTIALS, key, draft()),
        ]
      },
    },
    'a failure of ours': {
      isKept: false,
      status: 500,
      run: async (key) => {
        const owner = await signUp()
        const error = vi.spyOn(console, 'error').mockImplementation(() => {})
        await env.DB.prepare("create trigger refuse before insert on credentials begin select raise(abort, 'not today'); end").run()
        const first = await post(owner, CREDENTIALS, key, { ...draft(), breaks: true })
        await env.DB.prepare('drop trigger refuse').run()
        error.mockRestore()
        return [first, await post(owner, CREDENTIALS, key, draft('Otra'))]
      },
    },
    'what is stored against it': {
      isKept: true,
      status: 409,
      run: async (key) => {
        const owner = await signUp()
        const rfc = freshRfc()
        const made = await post(owner, '/v1/fiscal-entities', undefined, json({ rfc }))
        const first = await post(owner, '/v1/fiscal-entities', key, json({ rfc }))
        await send('DELETE', `/v1/fiscal-entities/${made.body.fiscal_entity_id}`, { authorization: basic(owner) })
        return [first, await post(owner, '/v1/fiscal-entities', key, json({ rfc }))]
      },
    },
    'a limit of the plan': {
      isKept: false,
      status: 409,
      run: async (key) => {
        const owner = await signUp()
        const first = await post(owner, '/v1/extractors', key, json(EXTRACTOR))
        await post(owner, '/v1/test-helpers/organization', undefined, json({ plan: 'enterprise_gold' }))
        return [first, await post(owner, '/v1/extractors', key, json(EXTRACTOR))]
      },
    },
    'a value that is not acceptable': {
      isKept: true,
      status: 422,
      run: async (key) => {
        const owner = await signUp()
        at('2026-11-18T18:00:00Z')
        const sent = json({ name: 'CI', role: 'member', expires_at: '2026-11-18T18:00:00Z' })
        const first = await post(owner, CREDENTIALS, key, sent)
        at('2026-11-18T17:00:00Z')
        return [first, await post(owner, CREDENTIALS, key, sent)]
      },
    },
    'a verb that the role may not': {
      isKept: false,
      status: 403,
      run: async (key) => {
        const { callers } = await organizationWith()
        return [
          await post(callers.admin, CREDENTIALS, key, draft('CI', 'owner')),
          await post(callers.owner, CREDENTIALS, key, draft('CI', 'owner')),
        ]
      },
    },
  }

  it.each(Object.entries(cases))('%s', async (_, { isKept, status, run }) => {
    const key = freshKey()
    const [first, second] = await run(key)
    expect(first.status).toBe(status)
    if (isKept) expect([second.status, isReplayed(second), second.body.detail]).toEqual([status, 'true', first.body.detail])
    else expect([second.status, isReplayed(second)]).toEqual([201, null])
    expect((await rowOf(key))!['state']).toBe('answered')
  })
})
