import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { basic } from '../../support/client.ts'
import { absent, callOf, givenOf, TABLE } from '../../support/matrix.ts'
import { silenceDownloads } from '../../support/queues.ts'
import { type Answer, pathOf, type Sent, send, shapeOf } from '../../support/wire.ts'
import { quiet, type Side, sideOf } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

let side: Side
beforeAll(async () => {
  side = await sideOf()
  silenceDownloads()
}, 120_000)
// What the calls have started goes on after them.
afterAll(quiet)

const post = (path: string, key: string, { headers, ...sent }: Sent): Promise<Answer> =>
  send('POST', path, { ...sent, authorization: basic(side.callers.owner), headers: { ...headers, 'idempotency-key': key } })

const keyed = TABLE.filter(({ route }) => route.clauses.some(({ isIdempotent }) => isIdempotent))

/** Another value that is as well formed. */
const other = (name: string): string => (name === 'key' ? 'risk' : absent(name))

it('is of every route with an Idempotency-Key, some of which take a query', () => {
  expect(keyed.length).toBeGreaterThan(30)
  expect(keyed.filter(({ row }) => row.query).length).toBeGreaterThan(1)
})

it.each(keyed)('$name: another path or query under the key is refused, and never gets the answer', async (entry) => {
  const { route, row } = entry
  const given = await givenOf(entry, side)
  const { path, sent } = callOf(entry, given)
  const key = entry.name
  const first = await post(path, key, sent)
  expect(first.status).toBe(row.answers)
  const [pathname] = path.split('?') as [string]
  const query = row.query?.(given) ?? {}
  const withQuery = (parameters: Record<string, string>) => `${pathname}?${new URLSearchParams(parameters)}`
  const mismatches = [
    ...[...route.path.matchAll(/:(\w+)/g)].map(([, name]) =>
      path.replace(pathname, pathOf(route.path, { ...given, [name!]: other(name!) })),
    ),
    ...Object.keys(query).map((name) => withQuery({ ...query, [name]: other(name) })),
    // The same fiscal entity, written otherwise.
    ...('fiscalEntityId' in (shapeOf(route, 'query') ?? {}) ? [withQuery({ fiscalEntityId: given['fiscal_entity_id']! })] : []),
  ]
  for (const one of mismatches) {
    const { status, body } = await post(one, key, sent)
    expect([one, status, body.code]).toEqual([one, 422, 'idempotency.mismatch'])
  }
  const unknown = await post(withQuery({ ...query, x: '1' }), key, sent)
  expect([unknown.status, unknown.body.code]).toEqual([422, 'request.invalid'])
  const again = await post(path, key, sent)
  expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true'])
})
