/**
 * The rule for URLs that customers give: of webhooks and of storage. It judges their text alone and early. No text tells what a name
 * resolves to, which its owner can change at any time: that a request reaches no private address is up to the network that it leaves by
 * (platform/egress).
 */

const MAX_LENGTH = 2_048
const PORTS = ['443', '8443']

/** Top-level names of one machine, of private networks, and of no public DNS zone. */
const INTERNAL = 'local localhost localdomain svc internal intranet private lan home corp test invalid onion alt arpa'.split(' ')

/**
 * Public names that resolve to this machine or to the address that they spell, 10.0.0.1.nip.io or 0a000001.nip.io: they stand for an IP address.
 * A destination has a name of its own, so none of them is needed.
 */
const WILDCARD = (
  'nip.io sslip.io xip.io xip.name nip.me backname.io traefik.me local-ip.co local-ip.sh plex.direct rbndr.us 1u.ms local.gd alt.io ' +
  'localtest.me lvh.me vcap.me lacolhost.com fuf.me ulh.us localho.st localhost.direct localdev.me lcl.host lndo.site ddev.site ' +
  '127-0-0-1.org.uk smackaho.st 42foo.com yoogle.com'
).split(' ')

/**
 * A private, loopback, link-local, shared or unspecified IPv4 address with dots or hyphens, in a name of any zone. One number that spells it,
 * as in 0a000001.example.com, is not judged: it can be anybody's identifier.
 */
const PRIVATE =
  /(?<![a-z\d])0*(?:(?:0|10|127)[.-]\d+|100[.-]0*(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|169[.-]0*254|172[.-]0*(?:1[6-9]|2\d|3[01])|192[.-]0*168)[.-]\d+[.-]\d+(?=[.-][a-z\d])/

/** The hosts of the tax authority, which the service asks as a client and sends nobody's events. */
export const AUTHORITY = /(?:^|\.)sat\.gob\.mx$/

/** The URL parser reads a host that ends in a decimal, octal or hexadecimal number as IPv4, and one that begins with a bracket as IPv6. */
const ADDRESS = /^\[|(?:^|\.)(?:\d+|0x[\da-f]*)\.?$/
const NAME = /^(?=.{1,253}$)(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z](?:[a-z\d-]{0,61}[a-z\d])?$/
const NOT_ASCII = /[^\0-\x7f]/

/**
 * Returns why the service may not call this URL, as the message of a 422, or null if it may. `own` are the service's own host names in
 * lower case. The URL parser comes last, because it hides faults: it strips tabs, decodes `%31` and folds `①` into `1`. A message repeats
 * no part of the URL, which may contain secrets.
 */
export function targetFault(url: string, own: readonly string[]): string | null {
  if (url.length > MAX_LENGTH) return `Must have at most ${MAX_LENGTH} characters.`
  if (/[\s\p{Cc}]/u.test(url)) return 'Must contain no white space or control characters: percent-encode them in the path and query.'
  if (url.includes('\\')) return 'Must contain no backslash: separate the parts of the path with /.'

  const [, authority] = /^https:\/\/([^/?#]+)/i.exec(url) ?? []
  if (authority === undefined) return 'Must start with https:// and a host name.'
  if (authority.includes('@')) return 'Must contain no user name or password.'
  if (NOT_ASCII.test(authority)) return 'Must have its host name in ASCII: write an internationalized name in punycode (xn--…).'
  if (NOT_ASCII.test(url)) return 'Must be ASCII: percent-encode other characters in the path and query.'
  if (url.includes('#')) return 'Must have no fragment: the part after # is never sent.'
  if (authority.includes('%')) return 'Must have its host name without percent-encoding.'

  const [host = '', port = '443', ...more] = authority.toLowerCase().split(':')
  if (ADDRESS.test(host) || more.length > 0) return 'Must name a host: IP addresses are refused in every notation.'
  const name = host.replace(/\.$/, '')
  if (INTERNAL.includes(name.slice(name.lastIndexOf('.') + 1)))
    return `Must be a public host: names under ${INTERNAL.join(', ')} cannot be called.`
  const isUnder = (one: string): boolean => name === one || name.endsWith(`.${one}`)
  if (WILDCARD.some(isUnder) || PRIVATE.test(name))
    return 'Must have a name of its own: names of services such as nip.io stand for an IP address.'
  if (AUTHORITY.test(name)) return 'Must be a host of your own: the hosts of the tax authority cannot be called.'
  if (own.some(isUnder)) return 'Must be a host of your own: the service does not call itself.'
  if (!name.includes('.')) return 'Must have a full host name with a dot, such as hooks.example.com.'
  if (!PORTS.includes(port)) return `Must use port ${PORTS.join(' or ')}.`
  if (!NAME.test(host) || URL.parse(url)?.hostname !== host)
    return (
      'Must have a valid host name: labels of 1 to 63 letters, digits and inner hyphens, a last label that starts with a letter, at most ' +
      '253 characters, and no dot at the end.'
    )
  return null
}
