import { describe, expect, it } from 'vitest'
import { quickXorHash, shardAmong, shardOf, slotOf } from '../../src/platform/hash.ts'
import { populationOf } from '../../tools/simulate/population.ts'

const { rfcs } = populationOf(100_000, 7)
const counts = (of: (rfc: string) => number, among: readonly string[] = rfcs): Map<number, number> => {
  const found = new Map<number, number>()
  for (const rfc of among) found.set(of(rfc), (found.get(of(rfc)) ?? 0) + 1)
  return found
}

describe('a hundred thousand RFCs', () => {
  it('are spread evenly over the ledgers, however many there are', () => {
    for (const ledgers of [1, 2, 3, 7, 100]) {
      const each = [...counts((rfc) => shardOf(rfc, ledgers)).values()]
      expect(each).toHaveLength(ledgers)
      expect(Math.min(...each)).toBeGreaterThan((0.85 * rfcs.length) / ledgers)
      expect(Math.max(...each)).toBeLessThan((1.15 * rfcs.length) / ledgers)
    }
  })

  it('are spread evenly over the ledgers that are open, and the others get none', () => {
    const open = [2, 3, 5]
    const each = counts((rfc) => shardAmong(rfc, open))
    expect([...each.keys()].sort()).toEqual(open)
    for (const count of each.values()) expect(count / rfcs.length).toBeCloseTo(1 / 3, 1)
  })

  it('are spread evenly over the minutes of a night', () => {
    const each = [...counts((rfc) => Math.floor(slotOf(rfc, 21_600) / 60)).values()]
    expect(each).toHaveLength(360)
    expect(Math.max(...each)).toBeLessThan((1.4 * rfcs.length) / 360)
  })

  it('of one ledger begin in different seconds, also when the seconds are a multiple of the ledgers', () => {
    const ledgers = 100
    const ofOne = rfcs.filter((rfc) => shardOf(rfc, ledgers) === 0)
    const bySecond = counts((rfc) => slotOf(rfc, 21_600), ofOne)
    expect(Math.max(...bySecond.values())).toBeLessThanOrEqual(5)
    expect(new Set([...bySecond.keys()].map((second) => second % ledgers)).size).toBe(ledgers)
  })

  it('have their places from the first second to the last, and all the first one without a spread', () => {
    const seconds = rfcs.map((rfc) => slotOf(rfc, 3_600))
    expect([Math.min(...seconds.slice(0, 50_000)), Math.max(...seconds.slice(0, 50_000))]).toEqual([0, 3_599])
    expect(rfcs.every((rfc) => slotOf(rfc, 0) === 0)).toBe(true)
  })
})

describe('QuickXorHash', () => {
  // Test vectors of rclone, which compares files with OneDrive by this hash.
  it.each([
    ['', 'AAAAAAAAAAAAAAAAAAAAAAAAAAA='],
    ['Sg==', 'SgAAAAAAAAAAAAAAAQAAAAAAAAA='],
    ['tbQ=', 'taAFAAAAAAAAAAAAAgAAAAAAAAA='],
    ['0pZP', '0rDEEwAAAAAAAAAAAwAAAAAAAAA='],
    ['T6LYJIfDh81JrAK309H2JMJTXis=', 'zBTHrspn3mEcohlJdIUAbjGNaNg='],
    ['DWAAX5/CIfrmErgZa8ot6ZraeSbu', 'LR2Z0PjuRYGKQB/mhQAuMrAGZbQ='],
    ['Mb7EGva2rEE5fENDL85P+BsapHEEjv2/siVhKjvAQe02feExVOQSkfmuYzU/kTF1MaKjPmKF/w+cbvwfdWL8aQ==', 'n1anP5NfvD4XDYWIeRPW3ZkPv1Y='],
    [
      'qwGf2ESubE5jOUHHyc94ORczFYYbc2OmEzo+hBIyzJiNwAzC8PvJqtTzwkWkSslgHFGWQZR2BV5+uYTrYT7HVwRM40vqfj0dBgeDENyTenIOL1LHkjtDKoXEnQ0mXAHoJ8PjbNC93zi5TovVRXTNzfGEs5dpWVqxUzb5lc7dwkyvOluBw482mQ4xrzYyIY1t+//OrNi1ObGXuUw2jBQOFfJVj2Y6BOyYmfB1y36eBxi3zxeG5d5NYjm2GSh6e08QMAwu3zrINcqIzLOuNIiGXBtl7DjKt7b5wqi4oFiRpZsCyx2smhSrdrtK/CkdU6nDN+34vSR/M8rZpWQdBE7a8g==',
      'WYT9JY3JIo/pEBp+tIM6Gt2nyTM=',
    ],
  ])('of %s is %s', (bytes, hash) => {
    expect(Buffer.from(quickXorHash(Buffer.from(bytes, 'base64'))).toString('base64')).toBe(hash)
  })
})
