/** Networks of addresses in CIDR notation, of IPv4 and IPv6. */

interface Network {
  /** The first address, as a number. */
  first: bigint
  /** How many bits an address has: 32 or 128. */
  width: number
  /** How many of them are the network's. */
  prefix: number
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`)

const numberOf = (parts: readonly number[], bits: bigint): bigint => parts.reduce((sum, part) => (sum << bits) | BigInt(part), 0n)

/** The groups of an IPv6 address in any of its spellings; null for another text. */
function groupsOf(text: string): number[] | null {
  if (!/^[0-9a-f:.]{2,45}$/i.test(text) || !URL.canParse(`http://[${text}]/`)) return null
  // Without leading zeros, and without an IPv4 address at its end.
  const [before = '', after] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split('::')
  const [left, right] = [before, after ?? ''].map((half) => (half === '' ? [] : half.split(':').map((group) => Number.parseInt(group, 16))))
  return [...left!, ...Array<number>(8 - left!.length - right!.length).fill(0), ...right!]
}

/** An address as the network that has nothing but it; null when the text is none. An IPv4 address mapped into IPv6 is an IPv4 address. */
function addressOf(text: string): Network | null {
  if (IPV4.test(text)) return { first: numberOf(text.split('.').map(Number), 8n), width: 32, prefix: 32 }
  const groups = groupsOf(text)
  if (groups === null) return null
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  return isMapped
    ? { first: numberOf(groups.slice(6), 16n), width: 32, prefix: 32 }
    : { first: numberOf(groups, 16n), width: 128, prefix: 128 }
}

/** Reads `10.0.0.0/8`, `2001:db8::/32` or a single address; null for another text, or when bits beyond the prefix are set. */
function readNetwork(text: string): Network | null {
  const [address = '', prefix, ...rest] = text.split('/')
  const one = addressOf(address)
  if (!one || rest.length > 0) return null
  if (prefix === undefined) return one
  if (!/^(0|[1-9]\d{0,2})$/.test(prefix) || Number(prefix) > one.width || (one.width === 32 && address.includes(':'))) return null
  const isFirst = (one.first & ((1n << BigInt(one.width - Number(prefix))) - 1n)) === 0n
  return isFirst ? { ...one, prefix: Number(prefix) } : null
}

export const isNetwork = (text: string): boolean => readNetwork(text) !== null

/** Whether all addresses of a network, or an address, are in one of these networks. */
export function isWithin(text: string, networks: readonly string[]): boolean {
  const one = readNetwork(text)
  return (
    one !== null &&
    networks.some((other) => {
      const network = readNetwork(other)
      if (network?.width !== one.width || network.prefix > one.prefix) return false
      const shift = BigInt(one.width - network.prefix)
      return one.first >> shift === network.first >> shift
    })
  )
}
