import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { basic } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { audited, freshRfc, type Organization, organization } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
afterEach(() => {
  vi.useRealTimers()
})

const KIB = 1024
const MOST_OF_AN_ANSWER = 64 * KIB
const MOST_OF_A_DAY = 16 * KIB * KIB

const post = (of: Organization, path: string, key: string, value: unknown) => {
  const { headers, body } = json(value)
  return send('POST', path, { authorization: basic(of.owner), headers: { ...headers, 'idempotency-key': key }, body })
}
const BATCH = '/v1/fiscal-entities/batch'
const CREDENTIALS = '/v1/credentials'
const draft = { name: 'CI', role: 'member' }

const storedOf = (of: Organization, key: string) =>
  env.DB.prepare('select length(answer) from idempotency_keys where organization_id = ? and key = ?')
    .bind(of.id, key)
    .first<number>('length(answer)')
const usageOf = async (of: Organization) => (await of.ask('GET', '/v1/billing/usage')).body.kept_answers
const useUp = (of: Organization, bytes: number, day: string) =>
  env.DB.prepare('insert or replace into kept_answers (organization_id, day, bytes) values (?, ?, ?)').bind(of.id, day, bytes).run()
const sha256 = async (text: string) => new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toHex()

/** Text that cannot be compressed to less than three quarters. */
const noise = (characters: number) => crypto.getRandomValues(new Uint8Array((characters * 3) / 4)).toBase64()
/** As much metadata as an RFC of a batch can have within 1 MiB. */
const noisy = () => ({ rfc: freshRfc(), metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, noise(480)])) })

describe('an answer', () => {
  it('to a batch of a hundred RFCs with 260 unknown members each is no longer than what was sent, and is kept in little', async () => {
    const of = await organization()
    const wrong = () => ({ rfc: freshRfc(), ...Object.fromEntries(Array.from({ length: 260 }, (_, n) => [`m${n}`, 1])) })
    const sent = { fiscal_entities: Array.from({ length: 100 }, wrong) }
    const first = await post(of, BATCH, 'wrong', sent)
    expect([first.status, first.body.counts.refused]).toEqual([200, 100])
    expect(first.text.length).toBeLessThan(100 * KIB)
    const { detail, errors } = first.body.data[99].refusal
    expect(errors.map(({ path }: { path: string }) => path)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4'])
    expect(detail).toBe('m0: Unknown member. `errors` names 4 more and leaves out 255.')
    expect(await storedOf(of, 'wrong')).toBeLessThan(8 * KIB)
    expect((await post(of, BATCH, 'wrong', sent)).text).toBe(first.text)
  })

  it('counts in what the organization has kept today, and once when it is repeated', async () => {
    at('2026-11-18T18:00:00Z')
    const of = await organization()
    expect(await usageOf(of)).toEqual({ used: 0, limit: MOST_OF_A_DAY, unit: 'bytes', resets_at: '2026-11-19T06:00:00.000Z' })
    for (const key of ['a', 'b', 'a']) expect((await post(of, CREDENTIALS, key, draft)).status).toBe(201)
    const stored = (await storedOf(of, 'a'))! + (await storedOf(of, 'b'))!
    expect(stored).toBeGreaterThan(200)
    expect((await usageOf(of)).used).toBe(stored)
    at('2026-11-19T05:59:59.999Z')
    expect((await usageOf(of)).used).toBe(stored)
    at('2026-11-19T06:00:00Z')
    expect(await usageOf(of)).toMatchObject({ used: 0, resets_at: '2026-11-20T06:00:00.000Z' })
    await post(of, CREDENTIALS, 'c', draft)
    expect((await usageOf(of)).used).toBe(await storedOf(of, 'c'))
  })
})

describe('an answer that is too large to be kept', () => {
  it('of a batch: its repetition changes nothing and says what there is', async () => {
    const of = await organization()
    const known = freshRfc()
    await of.ask('POST', '/v1/fiscal-entities', { rfc: known, external_id: 'taken' })
    const items = [
      ...Array.from({ length: 90 }, noisy),
      { rfc: known, name: 'Otro', ciec: 'empty-1' },
      { rfc: 'ABC123' },
      { rfc: freshRfc(), external_id: 'taken' },
      { rfc: freshRfc(), ciec: 'rejected' },
    ]
    const first = await post(of, BATCH, 'large', { fiscal_entities: items })
    expect(first.body.counts).toEqual({ connected: 90, already_connected: 1, refused: 3, not_attempted: 0 })
    expect(first.text.length).toBeGreaterThan(500 * KIB)
    expect(await storedOf(of, 'large')).toBeLessThan(KIB)
    expect((await usageOf(of)).used).toBe(0)
    // What stood in the way of an RFC is gone, and still it is not attempted.
    const { data } = (await of.ask('GET', '/v1/fiscal-entities?external_id=taken')).body
    await of.ask('PATCH', `/v1/fiscal-entities/${data[0].fiscal_entity_id}`, { external_id: null })
    const attempts = () => env.DB.prepare('select count(*) as n from ciec_attempts where organization_id = ?').bind(of.id).first('n')
    const before = await attempts()
    for (let n = 0; n < 2; n++) {
      const again = await post(of, BATCH, 'large', { fiscal_entities: items })
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
      expect(again.body.counts).toEqual({ connected: 0, already_connected: 91, refused: 1, not_attempted: 2 })
      const results = again.body.data.map(({ result }: { result: string }) => result)
      expect(results.slice(89)).toEqual(['already_connected', 'already_connected', 'refused', 'not_attempted', 'not_attempted'])
      expect(again.body.data.slice(0, 90).map(({ fiscal_entity }: { fiscal_entity: unknown }) => fiscal_entity)).toEqual(
        first.body.data.slice(0, 90).map(({ fiscal_entity }: { fiscal_entity: unknown }) => fiscal_entity),
      )
      expect(again.body.data.slice(0, 90).flatMap(({ warnings }: { warnings: unknown[] }) => warnings)).toEqual([])
      expect(again.body.data[90].warnings[0].message).toMatch(/: name of this request was not applied/)
      expect(again.body.data[91].refusal).toEqual(first.body.data[91].refusal)
    }
    expect(await attempts()).toBe(before)
    expect(await audited(of, 'fiscal_entity.connected')).toHaveLength(91)
    expect(await storedOf(of, 'large')).toBeLessThan(KIB)
  })

  it('and the same batch with another key answers whole', async () => {
    const of = await organization()
    const items = Array.from({ length: 90 }, noisy)
    await post(of, BATCH, 'one', { fiscal_entities: items })
    const { body } = await post(of, BATCH, 'two', { fiscal_entities: items })
    expect(body.counts).toMatchObject({ already_connected: 90, not_attempted: 0 })
  })
})

describe('when the room of the day is used', () => {
  const TODAY = '2026-11-18'
  const full = async () => {
    at('2026-11-18T18:00:00Z')
    const of = await organization()
    await useUp(of, MOST_OF_A_DAY - 10, TODAY)
    return of
  }
  const made = async (of: Organization) =>
    (await of.ask('GET', `${CREDENTIALS}?limit=100`)).body.data.filter(({ name }: { name: string }) => name === 'CI')

  it('a request is carried out once all the same, and its repetition says what it made', async () => {
    const of = await full()
    const first = await post(of, CREDENTIALS, 'full', draft)
    expect(first.status).toBe(201)
    for (let n = 0; n < 2; n++) {
      const { status, body } = await post(of, CREDENTIALS, 'full', draft)
      expect([status, body.code, body.resource_id]).toEqual([409, 'idempotency.done', first.body.api_key])
      expect(body.first_answer).toEqual({ status: 201, bytes: first.text.length, sha256: await sha256(first.text) })
      expect(body.detail).toMatch(/answered with 201.*not kept.*Read the resource that resource_id names\.$/)
    }
    expect((await made(of)).map(({ api_key }: { api_key: string }) => api_key)).toEqual([first.body.api_key])
    expect((await post(of, CREDENTIALS, 'full', { ...draft, role: 'admin' })).body.code).toBe('idempotency.mismatch')
    expect(await usageOf(of)).toMatchObject({ used: MOST_OF_A_DAY - 10, limit: MOST_OF_A_DAY })
  })

  it('a refusal is not kept, because nothing was made: the request is carried out again', async () => {
    const of = await full()
    const sent = { ...draft, expires_at: '2026-11-18T18:00:01Z' }
    at('2026-11-18T18:00:02Z')
    for (let n = 0; n < 2; n++) {
      const { status, headers } = await post(of, CREDENTIALS, 'refused', sent)
      expect([status, headers.get('idempotency-replayed'), await storedOf(of, 'refused')]).toEqual([422, null, null])
    }
    at('2026-11-18T18:00:00Z')
    expect((await post(of, CREDENTIALS, 'refused', sent)).status).toBe(201)
    expect((await post(of, CREDENTIALS, 'refused', sent)).body.code).toBe('idempotency.done')
    expect(await made(of)).toHaveLength(1)
  })

  it('ends with the day, and what was kept before stays', async () => {
    const of = await full()
    at('2026-11-18T17:00:00Z')
    await useUp(of, 0, TODAY)
    const early = await post(of, CREDENTIALS, 'early', draft)
    await useUp(of, MOST_OF_A_DAY, TODAY)
    expect((await post(of, CREDENTIALS, 'early', draft)).text).toBe(early.text)
    at('2026-11-19T06:00:00Z')
    const late = await post(of, CREDENTIALS, 'late', draft)
    expect((await post(of, CREDENTIALS, 'late', draft)).text).toBe(late.text)
    // A clock that is behind counts to the later day.
    at('2026-11-19T05:59:00Z')
    const used = (await usageOf(of)).used
    await post(of, CREDENTIALS, 'behind', draft)
    expect((await usageOf(of)).used).toBe(used + (await storedOf(of, 'behind'))!)
  })

  it('is exact for requests at once: as many answers are kept as fit', async () => {
    const of = await full()
    await post(of, CREDENTIALS, 'measure', draft)
    await useUp(of, 0, TODAY)
    const keys = Array.from({ length: 12 }, (_, n) => `at once ${n}`)
    await post(of, CREDENTIALS, 'one', draft)
    const one = (await usageOf(of)).used
    await useUp(of, MOST_OF_A_DAY - Math.floor(one * 4.5), TODAY)
    await Promise.all(keys.map((key) => post(of, CREDENTIALS, key, draft)))
    const { used } = await usageOf(of)
    expect(used).toBeLessThanOrEqual(MOST_OF_A_DAY)
    const again = await Promise.all(keys.map((key) => post(of, CREDENTIALS, key, draft)))
    expect(again.filter(({ status }) => status === 201)).toHaveLength(4)
    expect(again.filter(({ body }) => body.code === 'idempotency.done')).toHaveLength(8)
  })
})

it('no answer that is stored is larger than 64 KiB', async () => {
  const of = await organization()
  for (const count of [4, 8, 9, 10, 11, 12, 16])
    await post(of, BATCH, `of ${count}`, { fiscal_entities: Array.from({ length: count }, noisy) })
  const { results } = await env.DB.prepare('select length(answer) as n from idempotency_keys where organization_id = ?')
    .bind(of.id)
    .all<{ n: number }>()
  const sizes = results.map(({ n }) => n)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MOST_OF_AN_ANSWER)
  expect(Math.max(...sizes)).toBeGreaterThan(MOST_OF_AN_ANSWER / 2)
  expect(sizes.filter((n) => n < KIB).length).toBeGreaterThan(0)
  expect((await usageOf(of)).used).toBe(sizes.filter((n) => n >= KIB).reduce((sum, n) => sum + n, 0))
})
