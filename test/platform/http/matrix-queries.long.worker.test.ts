import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { basic, type Caller } from '../../support/client.ts'
import { runs, sample } from '../../support/fuzz.ts'
import { callOf, type Entry, fill, type Given, givenOf, TABLE } from '../../support/matrix.ts'
import { silenceDownloads } from '../../support/queues.ts'
import { made, send, shapeOf } from '../../support/wire.ts'
import { type Side, sideOf } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

let ours: Side
let theirs: Side
beforeAll(async () => {
  ;[ours, theirs] = await Promise.all([sideOf(), sideOf()])
  silenceDownloads()
  await Promise.all([fill(ours), fill(theirs)])
}, 120_000)

const closed = TABLE.filter(({ row }) => row.may !== 'public')
const asking = closed.flatMap((entry) => {
  const query = shapeOf(entry.route, 'query')
  return query ? [{ ...entry, query }] : []
})
const lists = asking.filter(({ query, row }) => 'cursor' in query && !row.isShort)

/** What was last given to a route that only reads: it is still there, and can be asked for again. */
let last: { entry: Entry; side: Side; given: Given } | undefined
afterEach(() => {
  last = undefined
})
async function stillGivenOf(entry: Entry, side: Side): Promise<Given> {
  if (last?.entry === entry && last.side === side) return last.given
  const given = await givenOf(entry, side)
  if (entry.route.method === 'GET') last = { entry, side, given }
  return given
}

/** Asks a route of a side's, as its owner, with more in the query. */
async function ask(entry: Entry, side: Side, more: string, caller: Caller = side.callers.owner) {
  return askFor(entry, await stillGivenOf(entry, side), more, caller)
}

async function askFor(entry: Entry, given: Given, more: string, caller: Caller) {
  const { path, sent } = callOf(entry, given)
  return send(entry.route.method, `${path}${path.includes('?') ? '&' : '?'}${more}`, { ...sent, authorization: basic(caller) })
}

const given = (entry: Entry) => Object.keys(entry.row.query?.({ fiscal_entity_id: '' }) ?? {})

describe('a parameter that nobody knows', () => {
  it.each(closed)('$name: is 422 and named, for a misspelled filter must not be ignored', async (entry) => {
    // What is refused changes nothing: the same can be given each time.
    const given = await givenOf(entry, ours)
    const names = ['surprise', 'Limit', 'limit[]', '__proto__', 'constructor', 'organization_id', 'a.b', 'x'.repeat(500)]
    for (const name of sample(names, 2, closed.indexOf(entry))) {
      const { status, body } = await askFor(entry, given, `${encodeURIComponent(name)}=1`, ours.callers.owner)
      expect([name, status]).toEqual([name, 422])
      expect(body.errors).toEqual([
        {
          path: name.length > 100 ? expect.stringMatching(/^x+…$/) : name,
          message: expect.stringMatching(/^Unknown query parameter\.( Did you mean \w+\?)?$/),
        },
      ])
    }
  })
})

describe('a parameter', () => {
  it.each(asking)('$name: given twice is 422', async (entry) => {
    for (const name of Object.keys(entry.query)) {
      const { status, body } = await ask(entry, ours, given(entry).includes(name) ? `${name}=x` : `${name}=x&${name}=x`)
      expect([name, status]).toEqual([name, 422])
      expect(body.errors.map(({ path }: { path: string }) => path)).toContain(name)
    }
  })

  it.each(lists)('$name: a limit is an integer from 1 to 100', async (entry) => {
    // A page over all RFCs has up to 500.
    const most = entry.route.path.startsWith('/v1/portfolio/') ? 500 : 100
    const wrong = [
      '0',
      `${most + 1}`,
      '-1',
      '1.5',
      '%205',
      '+5',
      '1e2',
      '1e9',
      '',
      'ten',
      '0x10',
      '٣',
      '100000000000000000000',
      'NaN',
      '5;',
      '5%00',
    ]
    for (const limit of sample(wrong, 3, lists.indexOf(entry))) {
      const { status, body } = await ask(entry, ours, `limit=${limit}`)
      expect([limit, status, body.errors?.[0].path]).toEqual([limit, 422, 'limit'])
    }
    for (const limit of [1, 2, 100]) {
      const { status, body } = await ask(entry, ours, `limit=${limit}`)
      expect(status).toBe(200)
      expect(body.data.length).toBeLessThanOrEqual(limit)
    }
  })

  it.each(asking)('$name: breaks at no value, and says nothing of SQL', async (entry) => {
    const values = [
      "'",
      '"',
      ';',
      '--',
      "' or 1=1 --",
      '%',
      '_',
      '\\',
      '\u0000',
      '\ud800',
      '\uffff',
      '🧾',
      '[]',
      '{}',
      'null',
      '-0',
      '1e400',
      'x'.repeat(8_000),
      ',',
      ',,,',
      `${'a,'.repeat(500)}a`,
      '2026-02-30',
      '0000-00-00',
      '+275760-09-13',
      '9999999999999999',
    ]
    const names = Object.keys(entry.query).filter((one) => !given(entry).includes(one))
    for (const [n, name] of names.entries())
      for (const value of sample(values, 5, n + asking.indexOf(entry))) {
        const { status } = await ask(entry, ours, new URLSearchParams({ [name]: value.isWellFormed() ? value : '' }).toString())
        expect([200, 400, 422, entry.row.answers], `${name}=${value.slice(0, 20)} → ${status}`).toContain(status)
      }
    for (const broken of ['%', '%zz', '%ff', '%c3%28', '%ed%a0%80']) {
      const [name] = Object.keys(entry.query).filter((one) => !given(entry).includes(one) && one !== 'limit')
      if (name) expect([200, 400, 422, entry.row.answers]).toContain((await ask(entry, ours, `${name}=${broken}`)).status)
    }
  })
})

/** Names of the two ends of a range. */
const ENDS = [
  ['from', 'to'],
  ['since', 'until'],
  ['issued_from', 'issued_to'],
  ['cancelled_from', 'cancelled_to'],
  ['paid_from', 'paid_to'],
  ['total_min', 'total_max'],
] as const
/** Two values in each of the forms that a range can have. */
const FORMS = [
  ['2026-01-01', '2026-01-02'],
  ['2026-01', '2026-02'],
  ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00-06:00'],
  ['9.99', '10'],
] as const

describe('a range', () => {
  const ranges = asking.flatMap((entry) =>
    ENDS.filter(([from, to]) => from in entry.query && to in entry.query).map((ends) => ({ ...entry, ends, of: ends.join(' and ') })),
  )

  it.each(ranges)('$name, $of: the wrong way round is 422, and named', async ({ ends: [from, to], ...entry }) => {
    let forms = 0
    for (const [first, last] of FORMS) {
      const statusOf = async (one: string, other: string) => {
        const { status, body } = await ask(entry, ours, new URLSearchParams({ [from]: one, [to]: other }).toString())
        return [status, body.errors?.[0].path] as const
      }
      const [right] = await statusOf(first, last)
      if (right === 422) continue
      forms++
      const [wrong, path] = await statusOf(last, first)
      expect([right, wrong]).toEqual([entry.row.answers, 422])
      expect([from, to]).toContain(path)
    }
    expect(forms).toBeGreaterThan(0)
  })

  it('is known of every query that has one', () => {
    const named = asking.flatMap(({ name, query }) =>
      Object.keys(query)
        .filter((one) => /_?(from|since|min)$/.test(one))
        .map((one) => [name, one]),
    )
    const open = named.filter(([name, one]) => !ranges.some((range) => range.name === name && range.ends[0] === one))
    expect(open).toEqual(OPEN_RANGES)
  })
})

/** Those that have a beginning and no end. */
const OPEN_RANGES = [
  ['GET /v1/events', 'since'],
  ['GET /v1/portfolio/listed', 'since'],
  ['GET /v1/fiscal-entities/:fiscal_entity_id/buzon/notifications', 'since'],
  ['GET /v1/cfdi', 'balance_min'],
  ['GET /v1/cfdi', 'overdue_days_min'],
  ['GET /v1/cfdi/summary', 'balance_min'],
  ['GET /v1/cfdi/summary', 'overdue_days_min'],
  ['GET /v1/cfdi/changes', 'from'],
  ['GET /v1/blacklists/watch', 'since'],
]

/** A filter of each list that says what no filter says, or something else. */
const OTHER: Record<string, string> = {
  'GET /v1/audit-events': 'action=credential.created',
  'GET /v1/fiscal-entities': 'status=active',
  'GET /v1/fiscal-entities/:fiscal_entity_id/sync-jobs': 'status=succeeded',
  'GET /v1/runs/:run_id/jobs': 'status=succeeded',
  'GET /v1/fiscal-entities/:fiscal_entity_id/documents': 'data_source_key=sat_declaracion_mensual',
  'GET /v1/cfdi': 'direction=issued',
  'GET /v1/webhooks/:webhook_id/deliveries': 'status=lost',
  'GET /v1/events': 'event_key=sync.completed',
  'GET /v1/alerts': 'kind=webhook.undelivered',
}

/** One list at two addresses. */
const SAME = new Set(['GET /v1/portfolio/listed', 'GET /v1/blacklists/watch'])

const STEP = runs(63, 7)

describe('a cursor', () => {
  const cursorOf = async (entry: Entry, side: Side, more = 'limit=1'): Promise<string> => {
    const { body } = await ask(entry, side, more)
    expect(body.has_more, entry.name).toBe(true)
    return body.next_cursor
  }
  const refused = async (entry: Entry, cursor: string, more = 'limit=1') => {
    const { status, body } = await ask(entry, ours, `${more}&cursor=${encodeURIComponent(cursor)}`)
    expect([cursor.slice(0, 200), status, body.code]).toEqual([cursor.slice(0, 200), 400, 'cursor.invalid'])
  }

  it.each(lists)('$name: goes on where it was, with another limit as well', async (entry) => {
    const cursor = await cursorOf(entry, ours)
    const [all, next] = [await ask(entry, ours, 'limit=3'), await ask(entry, ours, `limit=2&cursor=${cursor}`)]
    expect(next.body.data).toEqual(all.body.data.slice(1))
  })

  it.each(lists)('$name: with a bit of it flipped is 400, never other rows', async (entry) => {
    const cursor = await cursorOf(entry, ours)
    // The last characters carry bits that decoding drops: all of theirs, and a sample of the others.
    const isTail = (at: number) => at >= cursor.length - 2 || cursor[at + 1] === '.' || cursor[at + 1] === undefined
    for (let bit = 0; bit < cursor.length * 7; bit++) {
      const at = Math.floor(bit / 7)
      // The lists take turns, so that together they try every character.
      if ((bit + 7 * lists.indexOf(entry)) % STEP !== 0 && !isTail(at)) continue
      // Each sampled character loses another of its bits.
      const flipped = String.fromCharCode(cursor.charCodeAt(at) ^ (1 << (isTail(at) ? bit % 7 : at % 7)))
      await refused(entry, cursor.slice(0, at) + flipped + cursor.slice(at + 1))
    }
  })

  it.each(lists)('$name: cut, extended, made up or of 8 KB is 400', async (entry) => {
    const cursor = await cursorOf(entry, ours)
    const [version, position, mac] = cursor.split('.') as [string, string, string]
    const forged = btoa(JSON.stringify(['zzz', 'zzz'])).replace(/=+$/, '')
    const bad = [
      cursor.slice(0, -1),
      cursor.slice(1),
      cursor.slice(0, 10),
      `${cursor}A`,
      `${cursor}=`,
      `${cursor}.`,
      `${cursor}.x`,
      ` ${cursor}`,
      `${cursor}\n`,
      '',
      '.',
      '..',
      '1..',
      'null',
      'x',
      '%',
      '∞',
      'A'.repeat(8_192),
      `${version}.${'A'.repeat(8_192)}.${mac}`,
    ]
    const all = [
      ...bad,
      `2.${position}.${mac}`,
      `.${position}.${mac}`,
      `${version}.${forged}.${mac}`,
      `${version}.${position}`,
      `${version}.${mac}.${position}`,
      `__proto__.${position}.${mac}`,
    ]
    // A cursor that nobody can read has no part behind the second one: one of these is the cursor itself.
    const altered = all.filter((one) => one !== cursor)
    for (const one of sample(altered, 3, lists.indexOf(entry))) await refused(entry, one)
  })

  const cursors = new Map<string, string>()
  const knownCursorOf = async (entry: Entry): Promise<string> => {
    const cursor = cursors.get(entry.name) ?? (await cursorOf(entry, ours))
    cursors.set(entry.name, cursor)
    return cursor
  }

  it.each(lists)('$name: of another list, another organization or another query is 400', async (entry) => {
    for (const other of sample(lists, 3, lists.indexOf(entry) + 1))
      if (other.name !== entry.name && !(SAME.has(other.name) && SAME.has(entry.name))) await refused(entry, await knownCursorOf(other))
    await refused(entry, await cursorOf(entry, theirs))
    const more = OTHER[entry.name]
    if (more) {
      await refused(entry, await cursorOf(entry, ours), `limit=1&${more}`)
      await refused(entry, await cursorOf(entry, ours, `limit=1&${more}`))
    }
    const isOfRfc =
      entry.route.path.includes(':fiscal_entity_id') || 'fiscal_entity_id' in (entry.row.query?.({ fiscal_entity_id: '' }) ?? {})
    if (!isOfRfc) return
    const spare = { ...ours, fiscal_entity_id: ours.spare_entity_id }
    await refused(entry, await cursorOf(entry, spare))
  })
})

afterAll(() => {
  // So that a matrix whose rows went missing does not pass for one without a fault.
  expect(made.requests).toBeGreaterThan(runs(1_000, 2_400))
})
