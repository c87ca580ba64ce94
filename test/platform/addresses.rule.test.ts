import { BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNetwork, isWithin } from '../../src/platform/addresses.ts'

describe('an address or a network', () => {
  it.each([
    ...['192.0.2.7', '192.0.2.0/24', '0.0.0.0/0', '255.255.255.255/32', '10.0.0.0/8'],
    ...['::', '::/0', '::1/128', '2001:db8::/32', '2001:DB8::1', '::ffff:192.0.2.7', 'fe80::1', '1:2:3:4:5:6:7:8', '64:ff9b::192.0.2.1'],
  ])('%s is one', (text) => expect(isNetwork(text)).toBe(true))

  it.each([
    ...['', '/', '192.0.2', '192.0.2.256', '192.0.2.07', '1.2.3.4/33', '1.2.3.4/', '1.2.3.4/08', '1.2.3.4/-1', '10.1.2.3/8', '1.2.3.4/8/8'],
    ...[
      '2001:db8::1/32',
      '::1::',
      '1:2:3:4:5:6:7:8:9',
      ':::',
      'g::1',
      '::/129',
      '::ffff:192.0.2.0/120',
      'localhost',
      '0x7f.1',
      ' 1.2.3.4',
      '[::1]',
    ],
    ...['fe80::1%eth0', '1.2.3.4]:80/x[', '1:2:3:4:5:6:7:8/'],
  ])('%j is none', (text) => expect(isNetwork(text)).toBe(false))

  it('has the addresses that the library of Node says', () => {
    const v4 = fc.nat(0xffffffff).map((n) => [24, 16, 8, 0].map((shift) => (n >>> shift) & 255).join('.'))
    const v6 = fc
      .array(fc.oneof(fc.constantFrom(0, 0x2001, 0xdb8), fc.nat(0xffff)), { minLength: 8, maxLength: 8 })
      .map((groups) => groups.map((group) => group.toString(16)).join(':'))
    const one = fc.oneof(
      fc.tuple(fc.constant('ipv4' as const), v4, v4, fc.nat(32)),
      fc.tuple(fc.constant('ipv6' as const), v6, v6, fc.nat(128)),
    )
    fc.assert(
      fc.property(one, fc.boolean(), ([family, base, other, prefix], isNear) => {
        const width = family === 'ipv4' ? 32 : 128
        const bits = (text: string): string =>
          family === 'ipv4'
            ? text
                .split('.')
                .map((part) => Number(part).toString(2).padStart(8, '0'))
                .join('')
            : text
                .split(':')
                .map((part) => Number.parseInt(part, 16).toString(2).padStart(16, '0'))
                .join('')
        const text = (all: string): string =>
          family === 'ipv4'
            ? all
                .match(/.{8}/g)!
                .map((part) => Number.parseInt(part, 2))
                .join('.')
            : all
                .match(/.{16}/g)!
                .map((part) => Number.parseInt(part, 2).toString(16))
                .join(':')
        const first = text(bits(base).slice(0, prefix).padEnd(width, '0'))
        const address = isNear ? text(bits(base).slice(0, prefix) + bits(other).slice(prefix)) : other
        const list = new BlockList()
        list.addSubnet(first, prefix, family)
        expect(isNetwork(`${first}/${prefix}`)).toBe(true)
        expect(isWithin(address, [`${first}/${prefix}`])).toBe(list.check(address, family))
        expect(isWithin(`${first}/${prefix}`, [address])).toBe(prefix === width && first === address)
      }),
    )
  })

  it('is within one of several, as narrow or narrower, and never within the other family', () => {
    expect(isWithin('10.1.0.0/16', ['192.0.2.0/24', '10.0.0.0/8'])).toBe(true)
    expect(isWithin('10.0.0.0/8', ['10.0.0.0/9'])).toBe(false)
    expect(isWithin('::ffff:10.0.0.1', ['10.0.0.0/8'])).toBe(true)
    expect(isWithin('10.0.0.1', ['::/0'])).toBe(false)
    expect(isWithin('', ['0.0.0.0/0', '::/0'])).toBe(false)
    expect(isWithin('10.0.0.1', [])).toBe(false)
  })
})
