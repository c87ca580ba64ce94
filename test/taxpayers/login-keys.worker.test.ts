import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type System, systemOf } from '../../src/platform/context.ts'
import { keyring } from '../../src/platform/crypto/keyring.ts'
import { before, callOf, ISSUED, subscriber } from '../downloads/support/downloads.ts'
import { freshRfc } from '../support/tenants.ts'
import { ciecFor, refusedNow } from './support/ciec.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** The service with these keys for CIECs. */
const system = (ciecKeys = env.CIEC_KEYS): System => {
  const made = systemOf(env, new Date(), 'req_test')
  return { ...made, settings: { ...made.settings, ciecKeys: keyring('CIEC_KEYS', ciecKeys) } }
}

/** An active connection with the CIEC empty1, alone on its RFC. */
async function linked() {
  const rfc = freshRfc()
  const one = await subscriber(rfc, ISSUED, 'empty1')
  const { entity } = await callOf(rfc)
  const row = async () =>
    (await env.DB.prepare('select * from connections where entity = ?').bind(entity).first<Record<string, unknown>>())!
  return { ...one, rfc, entity, row }
}

type Linked = Awaited<ReturnType<typeof linked>>

describe('a new key for CIECs', () => {
  const fresh = `2:${new Uint8Array(32).fill(9).toBase64()}`
  const both = `${fresh},${env.CIEC_KEYS}`

  it('seals again what it opens, and the old one can go', async () => {
    const one = await linked()
    const login = (by: System) => ciecFor(one.rfc, [one.id], by)
    const old = await one.row()
    expect(old['ciec']).toMatch(/^1:/)
    expect(await login(system())).toBe('empty1')
    expect(await one.row()).toEqual(old)
    expect(await login(system(fresh))).toBeNull()
    expect(await login(system(both))).toBe('empty1')
    const sealed = await one.row()
    expect(sealed).toEqual({ ...old, ciec: expect.stringMatching(/^2:/) })
    expect(await login(system(both))).toBe('empty1')
    expect(await one.row()).toEqual(sealed)
    expect(await login(system(fresh))).toBe('empty1')
    expect(await login(system())).toBeNull()
    await refusedNow(one.rfc, 'empty1', system(fresh))
    expect((await one.row())['state']).toBe('invalid_ciec')
  })

  it.each([
    ['an unlink', async (one: Linked) => one.ask('DELETE', one.path), /null/],
    ['another CIEC', async (one: Linked) => one.give('empty2'), /^1:/],
  ])('does not undo %s in the same moment', async (_, meanwhile, left) => {
    const one = await linked()
    const met = before(/^update connections set ciec = \? where/, () => meanwhile(one))
    expect(await ciecFor(one.rfc, [one.id], system(both))).toBe('empty1')
    expect([met(), String((await one.row())['ciec'])]).toEqual([true, expect.stringMatching(left)])
  })
})
