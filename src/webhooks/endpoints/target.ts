/** Where a webhook may call, by its spelling alone: what a name resolves to is for the network that deliveries leave by. Source: decisions.md 9. */

const MAX_LENGTH = 2_048
const PORTS = ['443', '8443']

/** Names of one machine or of a private network, and names that the public DNS does not have. With everything below them. */
const INSIDE = 'local localhost internal intranet private lan home corp test invalid onion alt arpa'.split(' ')

/** What ends in a decimal, octal or hexadecimal number is an IPv4 address to the URL parser, and what begins with a bracket an IPv6 one. */
const ADDRESS = /^\[|(?:^|\.)(?:\d+|0x[\da-f]*)\.?$/
const NAME = /^(?=.{1,253}$)(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z](?:[a-z\d-]{0,61}[a-z\d])?$/
const NOT_ASCII = /[^\0-\x7f]/

/**
 * Why a webhook may not call this URL, as a reason fit for a 422; null when it may. `own` are this service's own host names (lower case).
 * The URL parser comes last: it strips tabs, decodes `%31` and folds `①` into `1`, after which nothing looks wrong any more. A reason
 * repeats nothing of the URL, which may hold secrets.
 */
export function targetFault(url: string, own: readonly string[]): string | null {
  if (url.length > MAX_LENGTH) return `Must have at most ${MAX_LENGTH} characters.`
  if (/[\s\p{Cc}]/u.test(url)) return 'Must hold no white space or control characters: percent-encode them in path and query.'
  if (url.includes('\\')) return 'Must hold no backslash: write / between the parts of a path.'

  const [, authority] = /^https:\/\/([^/?#]+)/i.exec(url) ?? []
  if (authority === undefined) return 'Must start with https:// and a host name: no other scheme is called.'
  if (authority.includes('@')) return 'Must hold no user name or password: deliveries are authenticated by their signature.'
  if (NOT_ASCII.test(authority)) return 'Must name its host in ASCII: write an international name in punycode (xn--…).'
  if (NOT_ASCII.test(url)) return 'Must be ASCII: percent-encode other characters in path and query.'
  if (url.includes('#')) return 'Must have no fragment: what follows # is never sent.'
  if (authority.includes('%')) return 'Must spell its host plainly: percent-encoding is for path and query.'

  const [host = '', port = '443', ...more] = authority.toLowerCase().split(':')
  if (ADDRESS.test(host) || more.length > 0) return 'Must call a host by its name: IP addresses are refused in every notation.'
  const name = host.replace(/\.$/, '')
  if (INSIDE.includes(name.slice(name.lastIndexOf('.') + 1)))
    return `Must be a public host: nothing under ${INSIDE.join(', ')} can be called.`
  if (own.some((one) => name === one || name.endsWith(`.${one}`))) return 'Must be a host of yours: this service does not call itself.'
  if (!name.includes('.')) return 'Must have a full host name, with a dot, such as hooks.example.com.'
  if (!PORTS.includes(port)) return `Must use port ${PORTS.join(' or ')}.`
  if (!NAME.test(host) || URL.parse(url)?.hostname !== host)
    return 'Must have a valid host name: labels of 1 to 63 letters, digits and inner hyphens, the last one from a letter on, 253 characters at most, no dot at the end.'
  return null
}
