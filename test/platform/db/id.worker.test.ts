import fc from 'fast-check'
import { fromString, fromUUID, toUUID } from 'typeid-js'
import { expect, it } from 'vitest'
import { idOfText, idOfUuid, idsFrom, isId, newId, uuidOf } from '../../../src/platform/db/id.ts'

it('an identifier is the TypeID of its UUID, as the reference library has it', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      const id = idOfUuid('fe', uuid.toUpperCase())
      expect(id).toBe(fromUUID(uuid, 'fe'))
      expect([uuidOf(id), toUUID(fromString(id)), isId('fe', id), isId('org', id)]).toEqual([uuid, uuid, true, false])
    }),
    { numRuns: 500 },
  )
})

it('a text is an identifier exactly when the reference library reads it with the prefix', () => {
  const reads = (text: string): boolean => {
    try {
      return fromString(text, 'fe') !== undefined && text.startsWith('fe_')
    } catch {
      return false
    }
  }
  const good = newId('fe')
  const near = fc
    .tuple(fc.nat(good.length - 1), fc.constantFrom(...'0789abilouz_-AZ é'))
    .map(([at, by]) => good.slice(0, at) + by + good.slice(at + 1))
  fc.assert(
    fc.property(fc.oneof(near, fc.string(), fc.constantFrom('fe_', '', good.slice(1), `${good}0`, good.toUpperCase())), (text) => {
      expect([text, isId('fe', text)]).toEqual([text, reads(text)])
    }),
    { numRuns: 500 },
  )
})

it('new identifiers are UUIDs of version 7 that sort in the order in which they were made, and after idsFrom of their instant', () => {
  const before = new Date()
  const made = Array.from({ length: 5_000 }, () => newId('job'))
  expect(made.toSorted()).toEqual(made)
  expect(new Set(made).size).toBe(made.length)
  expect(made[0]! >= idsFrom('job', before)).toBe(true)
  expect(made.at(-1)! < idsFrom('job', new Date(Date.now() + 1_000))).toBe(true)
  for (const id of made.slice(0, 100)) expect(uuidOf(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

it('the identifier of a text is always the same and says nothing of a time', async () => {
  const id = await idOfText('evt', 'a fact')
  expect(id).toBe(await idOfText('evt', 'a fact'))
  expect(id).not.toBe(await idOfText('evt', 'another fact'))
  expect(uuidOf(id)).toMatch(/^.{14}8.{4}[89ab]/)
})
