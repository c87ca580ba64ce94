/**
 * The rule for URLs that customers give: of webhooks and of storage. It judges their text alone: the network that requests
 * leave by judges what a host name resolves to.
 */

const MAX_LENGTH = 2_048
const PORTS = ['443', '8443']

/** Top-level names of one machine, of private networks, and of no public DNS zone. */
const INTERNAL = 'local localhost localdomain svc internal intranet private lan home corp test invalid onion alt arpa'.split(' ')

/**
 * Public names that resolve to this machine or to the address that they spell, 10.0.0.1.nip.io or 0a000001.nip.io: they stand for an IP address.
 * A destination has a name of its own, so none of them is needed.
 */
const WILDCARD =
  'nip.io sslip.io xip.io nip.me backname.io traefik.me rbndr.us localtest.me lvh.me vcap.me lacolhost.com fuf.me localho.st'.split(' ')

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
  if (WILDCARD.some((one) => name === one || name.endsWith(`.${one}`)))
    return 'Must have a name of its own: names of services such as nip.io stand for an IP address.'
  if (own.some((one) => name === one || name.endsWith(`.${one}`))) return 'Must be a host of your own: the service does not call itself.'
  if (!name.includes('.')) return 'Must have a full host name with a dot, such as hooks.example.com.'
  if (!PORTS.includes(port)) return `Must use port ${PORTS.join(' or ')}.`
  if (!NAME.test(host) || URL.parse(url)?.hostname !== host)
    return (
      'Must have a valid host name: labels of 1 to 63 letters, digits and inner hyphens, a last label that starts with a letter, at most ' +
      '253 characters, and no dot at the end.'
    )
  return null
}
