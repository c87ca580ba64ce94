import { describe, expect, it } from 'vitest'
import { pathsOf } from '../support/client.ts'
import { audited, freshRfc, type Organization, organization } from '../support/tenants.ts'

const PATH = '/v1/fiscal-entities'

const connected = async (of: Organization, body: object = {}) => {
  const reply = await of.ask('POST', PATH, { rfc: freshRfc(), ...body })
  expect(reply).toEqual(expect.objectContaining({ status: 201 }))
  return reply.body
}
const pathOf = ({ fiscal_entity_id }: { fiscal_entity_id: string }) => `${PATH}/${fiscal_entity_id}`
const found = async (of: Organization, query: string) =>
  (await of.ask('GET', `${PATH}?${query}`)).body.data.map((one: { rfc: string }) => one.rfc)

describe('external_id', () => {
  it('is unique in an organization, is free in another one, and is free again when its RFC is unlinked', async () => {
    const [acme, other] = [await organization(), await organization()]
    const one = await connected(acme, { external_id: ' cliente-1 ' })
    const two = await connected(acme)
    expect([one.external_id, two.external_id]).toEqual(['cliente-1', null])
    await connected(other, { external_id: 'cliente-1' })
    const taken = { status: 409, body: expect.objectContaining({ code: 'fiscal_entity.external_id_taken' }) }
    // Before the authority is asked.
    expect(await acme.ask('POST', PATH, { rfc: freshRfc(), external_id: 'cliente-1', ciec: 'rejected' })).toMatchObject(taken)
    const refused = await acme.ask('PATCH', pathOf(two), { external_id: 'cliente-1' })
    expect(refused).toMatchObject(taken)
    expect(refused.body.detail).toContain(`with PATCH ${pathOf(one)}.`)
    expect((await acme.ask('PATCH', pathOf(one), { external_id: 'cliente-1', name: 'Uno' })).status).toBe(200)
    expect((await acme.ask('DELETE', pathOf(one))).status).toBe(204)
    expect((await acme.ask('PATCH', pathOf(two), { external_id: 'cliente-1' })).body.external_id).toBe('cliente-1')
    // The former owner comes back without it.
    expect((await connected(acme, { rfc: one.rfc })).external_id).toBeNull()
    expect((await acme.ask('PATCH', pathOf(two), { external_id: null })).body.external_id).toBeNull()
    expect((await audited(acme, 'fiscal_entity.updated')).map(({ changed }) => changed)).toContainEqual(['external_id'])
  })

  it('of many concurrent requests one has it', async () => {
    const acme = await organization()
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => acme.ask('POST', PATH, { rfc: freshRfc(), external_id: 'uno', ciec: 'empty-1' })),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    expect(await found(acme, 'external_id=uno')).toHaveLength(1)
  })

  it('and the RFC find one connection of the organization alone', async () => {
    const [acme, other] = [await organization(), await organization()]
    const one = await connected(acme, { external_id: 'a b/ñ' })
    const two = await connected(acme)
    await connected(other, { rfc: two.rfc, external_id: 'suyo' })
    expect(await found(acme, `external_id=${encodeURIComponent('a b/ñ')}`)).toEqual([one.rfc])
    expect(await found(acme, 'external_id=suyo')).toEqual([])
    expect(await found(acme, `rfc=${two.rfc.toLowerCase()}`)).toEqual([two.rfc])
    expect(await found(acme, `rfc=${freshRfc()}`)).toEqual([])
    expect(await found(acme, `rfc=${one.rfc}&status=active`)).toEqual([])
    expect(await found(acme, `rfc=${one.rfc}&external_id=${encodeURIComponent('a b/ñ')}&status=draft`)).toEqual([one.rfc])
  })
})

describe('metadata', () => {
  it('keeps what was sent, merges changes key by key, and is erased key by key or whole', async () => {
    const acme = await organization()
    const one = await connected(acme, { metadata: { a: '1', 'b.c': 'dos', gone: null, constructor: 'x' } })
    expect(one.metadata).toEqual({ a: '1', 'b.c': 'dos', constructor: 'x' })
    const changed = await acme.ask('PATCH', pathOf(one), { metadata: { a: null, d: '', constructor: null } })
    expect(changed.body.metadata).toEqual({ 'b.c': 'dos', d: '' })
    expect((await acme.ask('PATCH', pathOf(one), { name: 'Uno' })).body.metadata).toEqual({ 'b.c': 'dos', d: '' })
    expect((await acme.ask('GET', PATH)).body.data[0].metadata).toEqual({ 'b.c': 'dos', d: '' })
    expect((await acme.ask('PATCH', pathOf(one), { metadata: null })).body.metadata).toEqual({})
    await acme.ask('PATCH', pathOf(one), { metadata: { z: '1' } })
    await acme.ask('DELETE', pathOf(one))
    expect((await connected(acme, { rfc: one.rfc })).metadata).toEqual({})
  })

  it('loses no key of concurrent changes', async () => {
    const acme = await organization()
    const one = await connected(acme)
    const keys = Array.from({ length: 8 }, (_, n) => `k${n}`)
    await Promise.all(keys.map((key) => acme.ask('PATCH', pathOf(one), { metadata: { [key]: key } })))
    expect((await acme.ask('GET', pathOf(one))).body.metadata).toEqual(Object.fromEntries(keys.map((key) => [key, key])))
  })

  it('has 50 keys at most, also when they come in several requests', async () => {
    const acme = await organization()
    const full = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, 'ñ'.repeat(500)]))
    const one = await connected(acme, { metadata: full })
    expect(one.metadata).toEqual(full)
    const more = await acme.ask('PATCH', pathOf(one), { metadata: { other: 'x' } })
    expect([more.status, more.body.code, pathsOf(more.body)]).toEqual([422, 'fiscal_entity.metadata_keys', ['metadata']])
    expect((await acme.ask('PATCH', pathOf(one), { metadata: { other: 'x', k0: null } })).status).toBe(200)
  })

  it.each<[string, unknown, string]>([
    ['a number', { a: 1 }, 'metadata.a'],
    ['a list', ['a'], 'metadata'],
    ['a long text', { a: 'x'.repeat(501) }, 'metadata.a'],
    ['half a character', { a: '\ud83d' }, 'metadata.a'],
    ['a key with a space', { 'a b': 'x' }, 'metadata.a b'],
    ['a long key', { ['k'.repeat(41)]: 'x' }, `metadata.${'k'.repeat(41)}`],
    ['a key that objects have', JSON.parse('{"__proto__": "x"}'), 'metadata.__proto__'],
    ['too many keys', Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, null])), 'metadata'],
  ])('refuses %s', async (_, metadata, path) => {
    const acme = await organization()
    const { status, body } = await acme.ask('POST', PATH, { rfc: freshRfc(), metadata })
    expect([status, pathsOf(body)]).toEqual([422, [path]])
  })
})
