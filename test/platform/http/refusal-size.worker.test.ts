import { beforeAll, describe, expect, it, vi } from 'vitest'
import { basic } from '../../support/client.ts'
import { absent, callOf, type Given, TABLE } from '../../support/matrix.ts'
import { type Answer, json, type Sent, send, shapeOf } from '../../support/wire.ts'
import { organizationWith } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

/** A refusal is read by people: it is small, whatever was sent. */
const MOST = 16 * 1024

let owner: string
beforeAll(async () => {
  owner = basic((await organizationWith()).owner)
})

const entries = TABLE.filter(({ row }) => row.may !== 'public')
const given = (path: string): Given => Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name!, absent(name!)]))

const object = (length: number, name: (n: number) => string, value: unknown = 1) =>
  Object.fromEntries(Array.from({ length }, (_, n) => [name(n), value]))
const deep = (levels: number, leaf: string) => '{"a":'.repeat(levels) + leaf + '}'.repeat(levels)
const BODIES: Record<string, string> = {
  'eighty thousand unknown members': JSON.stringify(object(80_000, (n) => `m${n}`)),
  'a hundred unknown members with long names': JSON.stringify(object(100, (n) => n + 'x'.repeat(9_000))),
  'a long unknown name of emoji': JSON.stringify({ ['😀'.repeat(100_000)]: 1 }),
  'ten thousand broken texts under a long name': JSON.stringify({ ['y'.repeat(500_000)]: Array(10_000).fill('\u0000') }),
  'many levels around a broken text': deep(100_000, '["\\u0000"]'),
  'no object': JSON.stringify('z'.repeat(1_000_000)),
}

async function bounded(answer: Answer, what: string): Promise<void> {
  expect([what, answer.status < 500]).toEqual([what, true])
  if (answer.status < 400) return
  expect(answer.text.length, what).toBeLessThan(MOST)
  expect(answer.body.errors?.length ?? 0, what).toBeLessThanOrEqual(20)
}

describe.each(entries)('$name', (entry) => {
  const { route } = entry
  const ask = (path: string, sent: Sent = {}) => send(route.method, path, { ...sent, authorization: owner })
  const path = () =>
    callOf({ ...entry, row: { ...entry.row, json: undefined as never, query: undefined as never } }, given(route.path)).path

  it('refuses a hostile query in few words', async () => {
    const query = new URLSearchParams(object(300, (n) => `p${n}`, 'v') as Record<string, string>)
    await bounded(await ask(`${path()}?${query}`), 'many parameters')
    await bounded(await ask(`${path()}?${'q'.repeat(8_000)}=1&fiscal_entity_id=${'f'.repeat(8_000)}`), 'long names')
    await bounded(await ask(`${path()}?${Array.from({ length: 300 }, (_, n) => `e${n}=%ff`).join('&')}`), 'broken encoding')
  })

  if (route.method !== 'GET' && shapeOf(route, 'json'))
    it('refuses a hostile body in few words', async () => {
      const names = Object.keys(shapeOf(route, 'json')!)
      for (const [what, body] of Object.entries(BODIES))
        await bounded(await ask(path(), { headers: { 'content-type': 'application/json' }, body }), what)
      for (const value of ['w'.repeat(40_000), object(100, (n) => 'k'.repeat(300) + n), Array(300).fill({ l: 'o'.repeat(100) })])
        await bounded(await ask(path(), json(Object.fromEntries(names.map((name) => [name, value])))), 'each member')
    })
})

it('says how many faults there are beside those that it names', async () => {
  const answer = await send('POST', '/v1/extractors/preview', { ...json(object(1_000, (n) => `m${n}`)), authorization: owner })
  expect(answer.body.errors).toHaveLength(20)
  // The 1,000 unknown members, and those of the draft that are absent: name, trigger_kind, scope and data_source_keys.
  expect(answer.body.detail).toMatch(/ `errors` names 19 more and leaves out 984\.$/)
})
