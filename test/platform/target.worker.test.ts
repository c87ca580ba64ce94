import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { targetFault } from '../../src/platform/target.ts'
import { GOOD, OWN, REFUSED } from '../delivery/support/targets.ts'
import { runs } from '../support/fuzz.ts'

afterEach(() => vi.restoreAllMocks())

const faultOf = (url: string): string | null => targetFault(url, OWN)

/** Names that stand for an address. */
const STANDING =
  'nip.io sslip.io xip.io localtest.me lvh.me vcap.me traefik.me rbndr.us localho.st local-ip.co local.gd alt.io localhost.direct lcl.host'.split(
    ' ',
  )

/** Whether four numbers beside each other are an address of a private network. */
function spellsPrivate(host: string): boolean {
  const parts = host.split(/[.-]/).map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : Number.NaN))
  return parts.some((a, at) => {
    const [b = Number.NaN, c = Number.NaN, d = Number.NaN] = parts.slice(at + 1, at + 4)
    const isPrivate =
      [0, 10, 127].includes(a) ||
      [a, b].join() === '192,168' ||
      [a, b].join() === '169,254' ||
      (a === 172 && b >> 4 === 1) ||
      (a === 100 && b >> 6 === 1)
    return isPrivate && [b, c, d].every((one) => !Number.isNaN(one))
  })
}

/** What an accepted URL must be, found without a pattern of the rule's own: by cutting the text by hand and by asking the parser. */
function stainsOf(url: string, own: readonly string[] = OWN): string[] {
  const parsed = URL.parse(url)
  if (parsed === null) return ['parses']
  const authority = url.slice(8).split('/')[0]!.split('?')[0]!
  const [host, ...ports] = authority.toLowerCase().split(':')
  const parts = host!.split('.')
  const isPlain = (part: string): boolean =>
    part.length > 0 &&
    part.length < 64 &&
    [...part].every((one) => 'abcdefghijklmnopqrstuvwxyz0123456789-'.includes(one)) &&
    !/^-|-$/.test(part)
  const last = parts.at(-1)!
  const inside = 'local localhost localdomain svc internal intranet private lan home corp test invalid onion alt arpa'.split(' ')
  const facts: Record<string, boolean> = {
    'is https': parsed.protocol === 'https:' && url.slice(0, 8).toLowerCase() === 'https://',
    'is visible ASCII': [...url].every((one) => one > ' ' && one < '\u007f' && one !== '\\'),
    'is short': url.length <= 2_048,
    'has no userinfo': parsed.username === '' && parsed.password === '' && !authority.includes('@'),
    'has no fragment': !url.includes('#') && parsed.hash === '',
    'uses a permitted port': ['', '8443'].includes(parsed.port) && (ports.length === 0 || ['443', '8443'].includes(ports.join(':'))),
    'has a dotted host': parts.length > 1 && host!.length <= 253,
    'has plain labels': parts.every(isPlain),
    'ends in letters': Number.isNaN(Number(last)) && last >= 'a' && last < '{',
    'is read alike by the parser': parsed.hostname === host,
    'is outside': !inside.includes(last),
    'spells no address': parts.every((_, at) => !STANDING.includes(parts.slice(at).join('.'))) && !spellsPrivate(host!),
    'is not the authority’s': !`.${host}`.endsWith('.sat.gob.mx'),
    'is not ours': own.every((one) => !`.${host}`.endsWith(`.${one}`)),
    'is what will be called': parsed.origin.toLowerCase() === `https://${host}${ports[0] === '8443' ? ':8443' : ''}`,
  }
  return Object.keys(facts).filter((fact) => !facts[fact])
}

describe('targetFault', () => {
  describe.each(Object.entries(REFUSED))('refuses by %s', (_, { reason, refused }) => {
    it.each(refused)('%j', (url) => {
      const fault = faultOf(url)
      expect(fault).toMatch(reason)
      expect(Object.values(REFUSED).filter((one) => one.reason.test(fault!))).toHaveLength(1)
      expect(fault).toMatch(/^Must [^\n]+\.$/)
      expect(fault).not.toContain('5ecret')
    })
  })

  it.each(GOOD)('accepts %j', (url) => {
    expect(faultOf(url)).toBeNull()
    expect(stainsOf(url)).toEqual([])
  })

  it.each([null, new URL('https://127.0.0.1/')])('refuses what the URL parser reads otherwise: %s', (parsed) => {
    vi.spyOn(URL, 'parse').mockReturnValue(parsed)
    expect(faultOf('https://example.com/')).toMatch(/valid host name/)
  })

  it('the oracle of the tests below sees what is wrong with each of them', () => {
    const all = Object.values(REFUSED).flatMap(({ refused }) => refused)
    expect(all.length).toBeGreaterThan(150)
    expect(all.filter((url) => stainsOf(url).length === 0)).toEqual([])
  })
})

const pick = (text: string): fc.Arbitrary<string> => fc.constantFrom(...text.split(' '))
const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd })
const SCHEMES = ['https://', 'HTTPS://']
const ODD_SCHEMES = ['http://', 'https:', 'https:/', 'https:///', '//', '', 'wss://', ' https://', 'https:\\\\', 'https:/\t/']
const odd = fc.constantFrom(
  ...'@:/\\?#%[].-_ \t\n\0。．｡①０ⓛ\u00ad\u200d0x17fF',
  '%2e',
  '%00',
  '@127.0.0.1',
  '.localhost',
  '0x',
  ':22',
  'xn--',
  '..',
)

/** Changes a text in random places: puts something in, takes something out, writes it twice, or swaps it for something. */
const mutated = (text: string, max: number): fc.Arbitrary<string> =>
  fc.array(fc.tuple(fc.nat(), fc.nat(3), odd, fc.nat(6)), { minLength: 1, maxLength: max }).map((changes) =>
    changes.reduce((now, [where, kind, what, span]) => {
      const at = where % (now.length + 1)
      const piece = now.slice(at, at + span)
      return now.slice(0, at) + [what, '', piece + piece, what + what][kind] + now.slice(kind === 0 || kind === 2 ? at : at + span)
    }, text),
  )

const url = fc
  .tuple(
    often(fc.constantFrom(...SCHEMES), fc.constantFrom(...ODD_SCHEMES)),
    often(fc.constant(''), pick('@ user@ a:b@ example.com@')),
    often(
      fc.domain(),
      fc.oneof(
        fc.ipV4Extended(),
        fc.ipV6().map((ip) => `[${ip}]`),
        fc.domain().chain((one) => mutated(one, 3)),
        fc.string(),
      ),
    ),
    often(
      pick(' :443 :8443'),
      fc.oneof(
        fc.nat(70_000).map((port) => `:${port}`),
        fc.string({ maxLength: 4 }).map((port) => `:${port}`),
      ),
    ),
    often(fc.webPath(), fc.oneof(fc.string(), fc.string({ unit: 'binary' }))),
    often(
      fc.constant(''),
      fc.webFragments().map((fragment) => `#${fragment}`),
    ),
  )
  .map((parts) => parts.join(''))

/** Runs a property and hands back how many of its URLs were accepted. */
function acceptedOf(arbitrary: fc.Arbitrary<string>, numRuns: number): number {
  let accepted = 0
  fc.assert(
    fc.property(arbitrary, (one) => {
      if (faultOf(one) !== null) return
      accepted++
      expect(stainsOf(one)).toEqual([])
    }),
    { numRuns },
  )
  return accepted
}

describe('whatever is accepted is clean', () => {
  it('of URLs made of good and bad parts', () => {
    const tried = runs(6_000, 60_000)
    const accepted = acceptedOf(url, tried)
    expect(accepted / tried).toBeGreaterThan(0.2)
    expect(accepted / tried).toBeLessThan(0.9)
  })

  it('of good URLs with changes in random places', () => {
    const changed = fc.constantFrom(...GOOD.filter(({ length }) => length < 200)).chain((good) => mutated(good, 4))
    const tried = runs(4_000, 40_000)
    const accepted = acceptedOf(changed, tried)
    expect(accepted / tried).toBeGreaterThan(0.05)
    expect(accepted / tried).toBeLessThan(0.9)
  })

  it('of any text at all', () => {
    acceptedOf(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.string().map((text) => `https://${text}`),
        fc.webUrl({ withFragments: true }),
      ),
      runs(1_000, 5_000),
    )
  })
})

/** Loopback, private, link-local with the metadata service, shared, unspecified. */
const NETWORKS = [
  [0x7f000000, 8],
  [0x0a000000, 8],
  [0xac100000, 12],
  [0xc0a80000, 16],
  [0xa9fe0000, 16],
  [0x64400000, 10],
  [0, 8],
] as const
const address = fc.oneof(
  fc.constantFrom(0x7f000001, 0xa9fea9fe, 0x6464_64c8, 0),
  fc.tuple(fc.constantFrom(...NETWORKS), fc.nat(0xffffff)).map(([[base, bits], rest]) => base + (rest % 2 ** (32 - bits))),
)
const dotted = (ip: number): string => [ip >>> 24, (ip >>> 16) & 255, (ip >>> 8) & 255, ip & 255].join('.')

/** An IPv4 address in one to four numbers, each decimal, octal or hexadecimal with any zeros before it. */
const inNumbers = (ip: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.integer({ min: 1, max: 4 }), fc.array(fc.tuple(fc.nat(2), fc.nat(3)), { minLength: 4, maxLength: 4 }))
    .map(([count, styles]) => {
      const bytes = [ip >>> 24, (ip >>> 16) & 255, (ip >>> 8) & 255, ip & 255]
      const parts = [...bytes.slice(0, count - 1), bytes.slice(count - 1).reduce((sum, byte) => sum * 256 + byte, 0)]
      return parts
        .map((part, at) => {
          const [base, zeros] = styles[at]!
          return [`${part}`, `0${'0'.repeat(zeros)}${part.toString(8)}`, `0x${'0'.repeat(zeros)}${part.toString(16)}`][base]!
        })
        .join('.')
    })

/** The same text to the URL parser: letters and digits in other clothes, other dots, percent-encoding, what it deletes, another case. */
const disguised = (plain: string): fc.Arbitrary<string> =>
  fc.array(fc.nat(9), { minLength: plain.length, maxLength: plain.length }).map((clothes) =>
    [...plain]
      .map((one, at) => {
        const code = one.charCodeAt(0)
        const cloth = clothes[at]!
        if (cloth === 1) return `%${code.toString(16)}`
        if (cloth === 2) return one.toUpperCase()
        if (cloth === 3) return `${one}\t`
        if (cloth === 4) return `\n${one}`
        if (one === '.') return '.....。．｡..'[cloth]!
        if (cloth === 5 && /[a-z]/.test(one)) return String.fromCodePoint(0x24d0 + code - 97)
        if (cloth === 5 && /\d/.test(one)) return one === '0' ? '⓪' : String.fromCodePoint(0x245f + code - 48)
        if (cloth === 6) return String.fromCodePoint(code + 0xfee0)
        if (cloth === 7 && /\d/.test(one)) return String.fromCodePoint(0x1d7ce + code - 48)
        return one
      })
      .join(''),
  )
const around = (host: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      pick('https:// HTTPS:// https:\\\\ https:/ https: http://'),
      pick(' a@ example.com@ a:b@'),
      host,
      pick(' .'),
      pick(' :443 :8443 :80'),
      pick(' / /x ?x #x /x@example.com'),
    )
    .map((parts) => parts.join(''))

/** Every spelling is one that the URL parser takes for what it hides, and is refused all the same. */
const neverAccepts = (spelled: fc.Arbitrary<readonly [hidden: RegExp | string, url: string]>, numRuns: number): void =>
  fc.assert(
    fc.property(spelled, ([hidden, one]) => {
      expect(URL.parse(one)?.hostname).toMatch(hidden)
      expect(faultOf(one)).not.toBeNull()
    }),
    { numRuns },
  )
const exactly = (text: string): RegExp => new RegExp(`^${text.replaceAll('.', '\\.')}\\.?$`)

describe('no spelling hides', () => {
  it('an IPv4 address', () => {
    const plain = address.chain((ip) => inNumbers(ip).map((host) => [exactly(dotted(ip)), `https://${host}/`] as const))
    const dressed = address.chain((ip) => around(inNumbers(ip).chain(disguised)).map((one) => [exactly(dotted(ip)), one] as const))
    neverAccepts(plain, runs(1_000, 5_000))
    neverAccepts(dressed, runs(2_000, 10_000))
  })

  it('an IPv6 address, or an IPv4 address within one', () => {
    const within = address.chain((ip) => {
      const hex = `${(ip >>> 16).toString(16)}:${(ip & 0xffff).toString(16)}`
      return fc.constantFrom(
        ...['::ffff:', '::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', 'fe80::5efe:', '0:0:0:0:0:ffff:'].flatMap((before) => [
          before + hex,
          before + dotted(ip),
        ]),
        `2002:${hex}::1`,
        `2001:0:${hex}::`,
      )
    })
    const bracketed = fc.oneof(within, fc.ipV6()).chain((ip) => fc.constantFrom(`[${ip}]`, `[${ip.toUpperCase()}]`))
    const tail = fc
      .tuple(bracketed, pick(' :443 :8443'), pick(' / /x ?x'))
      .map((parts) => [/^\[[\da-f:]+\]$/, `https://${parts.join('')}`] as const)
    neverAccepts(tail, runs(1_000, 5_000))
  })

  it('a name of the inside, or this service', () => {
    const name = fc
      .tuple(
        pick(' a. metadata.google. b-1.c.'),
        fc.constantFrom(
          ...'local localhost localdomain svc internal intranet private lan home corp test invalid onion alt arpa'.split(' '),
          ...OWN,
        ),
      )
      .map((parts) => parts.join(''))
    neverAccepts(
      name.chain((plain) => around(disguised(plain)).map((one) => [exactly(plain), one] as const)),
      runs(2_000, 10_000),
    )
    neverAccepts(
      name.chain((plain) =>
        fc.constantFrom(plain, plain.toUpperCase(), `${plain}.`).map((host) => [exactly(plain), `https://${host}/`] as const),
      ),
      500,
    )
  })
})
