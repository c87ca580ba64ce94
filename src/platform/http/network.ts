const group = (text: string): string => Number.parseInt(text, 16).toString(16)

/** Whose a client's address is: an IPv4 address itself; of an IPv6 one the first 64 bits, for a subscriber has all of the rest. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  // An IPv4 address in an IPv6 one.
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [before = '', after = ''] = address.split('::')
  const [left, right] = [before, after].map((text) => (text === '' ? [] : text.split(':')))
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - left!.length - right!.length)).fill('0') : []
  return [...left!, ...zeros, ...right!].slice(0, 4).map(group).join(':')
}
