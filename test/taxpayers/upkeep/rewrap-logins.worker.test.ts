import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type System, systemOf } from '../../../src/platform/context.ts'
import { keyring } from '../../../src/platform/crypto/keyring.ts'
import { rewrapLogins } from '../../../src/taxpayers/upkeep.ts'
import { before, ISSUED, later, losingMessages, subscriber, work } from '../../downloads/support/downloads.ts'
import { freshRfc } from '../../support/tenants.ts'
import { ciecFor } from '../support/ciec.ts'
import { efirmaOf, numberOf } from '../support/efirmas.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const FRESH = `2:${new Uint8Array(32).fill(9).toBase64()}`
const both = `${FRESH},${env.CIEC_KEYS}`
const system = (keys: string): System => {
  const made = systemOf(env, new Date(), 'req_test')
  return { ...made, settings: { ...made.settings, ciecKeys: keyring('CIEC_KEYS', keys) } }
}

/** Three connections to an RFC: with an e.firma, with a CIEC, with both. */
async function three() {
  const rfc = freshRfc()
  const efirma = (end: string) => ({ efirma: efirmaOf(rfc, { number: numberOf(end) }) })
  const all = [
    await subscriber(rfc, ISSUED, null, efirma('0001')),
    await subscriber(rfc, ISSUED, 'empty1'),
    await subscriber(rfc, ISSUED, 'empty1', efirma('0002')),
  ]
  // Others are verified after each that is accepted.
  await work(rfc)
  const rows = async () =>
    (await env.DB.prepare('select * from connections where rfc = ? order by connection').bind(rfc).all<Record<string, string | null>>())
      .results
  const versions = async () => (await rows()).map(({ ciec, efirma }) => [ciec, efirma].map((sealed) => sealed?.split(':')[0] ?? null))
  return { rfc, all, rows, versions }
}

describe('a new key for stored logins', () => {
  it('wraps CIECs and e.firmas anew with the daily task, whether they are used or not, so that the old one can go', async () => {
    const { rfc, all, rows, versions } = await three()
    const old = await rows()
    expect(await rewrapLogins(system(env.CIEC_KEYS))).toBeNull()
    expect(await rows()).toEqual(old)
    expect(await rewrapLogins(system(both))).toBeNull()
    expect(await versions()).toEqual([
      [null, '2'],
      ['2', null],
      ['2', '2'],
    ])
    const sealed = await rows()
    for (const [n, { ciec: _, efirma: __, ...rest }] of sealed.entries()) expect(old[n]).toMatchObject(rest)
    await rewrapLogins(system(both))
    expect(await rows()).toEqual(sealed)
    await ciecFor(rfc, [all[0]!.id], system(FRESH))
    for (const [n, secret] of [numberOf('0001'), 'empty1', numberOf('0002')].entries())
      expect(await ciecFor(rfc, [all[n]!.id], system(FRESH))).toBe(secret)
    expect(await ciecFor(rfc, [all[0]!.id], system(env.CIEC_KEYS))).toBeNull()
  })

  it('wraps an e.firma anew when it is used', async () => {
    const { rfc, all, versions } = await three()
    expect(await ciecFor(rfc, [all[0]!.id], system(both))).toBe(numberOf('0001'))
    expect(await versions()).toEqual([
      [null, '2'],
      ['1', null],
      ['1', '1'],
    ])
  })

  it('does not undo another e.firma in the same moment, and one that cannot be opened stops no other', async () => {
    const { rfc, all, versions } = await three()
    const next = { efirma: efirmaOf(rfc, { number: numberOf('0003') }) }
    const met = before(/^update connections set efirma = \? where/, () => all[0]!.ask('PATCH', all[0]!.path, next))
    await env.DB.prepare("update connections set ciec = '7:AAAA' where organization_id = ?").bind(all[1]!.id).run()
    await expect(rewrapLogins(system(both))).rejects.toThrow('The ciec of fe_')
    expect([met(), await versions()]).toEqual([
      true,
      [
        [null, '1'],
        ['7', null],
        ['2', '2'],
      ],
    ])
    expect((await all[0]!.entity()).efirma.certificate_number).toBe(numberOf('0003'))
  })
})
