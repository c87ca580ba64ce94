import type { System } from './context.ts'

const group = (text: string): string => Number.parseInt(text, 16).toString(16)

/**
 * The network of a client's address: an IPv4 address itself, or the first 64 bits of an IPv6 address, because one subscriber controls all
 * the other bits.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  // An IPv4 address mapped into IPv6.
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [before = '', after = ''] = address.split('::')
  const [left, right] = [before, after].map((text) => (text === '' ? [] : text.split(':')))
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - left!.length - right!.length)).fill('0') : []
  return [...left!, ...zeros, ...right!].slice(0, 4).map(group).join(':')
}

/**
 * The key under which is counted what comes from a network: the first 24 bits of an IPv4 address, which one attacker easily has all of, or
 * the first 48 of an IPv6 address, which a customer's line can have. It is an HMAC, so that no address is kept.
 */
export async function networkKey({ settings, network }: Pick<System, 'settings' | 'network'>): Promise<string> {
  const prefix = network.includes(':') ? network.split(':').slice(0, 3).join(':') : network.split('.').slice(0, 3).join('.')
  return (await settings.apiSecretKeys.current.hmac(`network ${prefix}`)).subarray(0, 16).toBase64()
}
