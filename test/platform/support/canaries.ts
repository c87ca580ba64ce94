import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { dump } from '../../support/world.ts'

const utf8 = new TextEncoder()

/** The part of an encoding of a longer text that only depends on the secret inside, for each place that it can start at. */
function base64Cores(bytes: Uint8Array): string[] {
  return [0, 1, 2].map((shift) => {
    const text = new Uint8Array([...new Uint8Array(shift), ...bytes]).toBase64({ omitPadding: true })
    return text.slice(Math.ceil((shift * 4) / 3) + (shift ? 1 : 0), (shift + bytes.length) % 3 === 0 ? undefined : -1)
  })
}

/** What nobody may read: a text, or bytes. */
export type Secret = string | Uint8Array

const percented = (bytes: Uint8Array): string => [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** Every way in which bytes could stand somewhere. */
function formsOfBytes(bytes: Uint8Array): string[] {
  const [hex, percent, base64] = [bytes.toHex(), percented(bytes), base64Cores(bytes)]
  return [
    ...[hex, hex.toUpperCase(), percent, percent.toUpperCase()],
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    bytes.join(','),
    new TextDecoder('latin1').decode(bytes),
  ]
}

/** Every way in which a secret could stand somewhere. */
export function formsOf(secret: Secret): string[] {
  if (typeof secret !== 'string') return formsOfBytes(secret)
  const escaped = JSON.stringify(secret).slice(1, -1)
  const ascii = escaped.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const forms = [
    secret,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    ascii,
    encodeURIComponent(secret),
    encodeURIComponent(secret).replaceAll('%20', '+'),
    new URLSearchParams({ a: secret }).toString().slice(2),
    ...formsOfBytes(utf8.encode(secret)),
    [...secret].reverse().join(''),
  ]
  return [...new Set(forms)]
}

/** The secrets whose name stands for them, that a text holds in any form. */
export const leakedIn = (text: string, canaries: Record<string, Secret>): string[] =>
  Object.entries(canaries).flatMap(([name, secret]) => (formsOf(secret).some((form) => text.includes(form)) ? [name] : []))

/** Collects what the service says to anybody but its callers: log lines and queue messages. */
export function wiretap() {
  const heard: string[] = []
  const texts = (args: unknown[]) =>
    args.map((one) => (one instanceof Error ? `${one.message} ${one.stack}` : typeof one === 'string' ? one : JSON.stringify(one)))
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation((...args) => void heard.push(`${level} ${texts(args).join(' ')}`))
  const queue = Object.getPrototypeOf(env.DOWNLOADS) as {
    send(body: unknown): unknown
    sendBatch(messages: Iterable<{ body: unknown }>): unknown
  }
  const { send, sendBatch } = queue
  queue.send = function (this: unknown, ...args) {
    heard.push(`queue ${texts(args).join(' ')}`)
    return send.apply(this, args)
  }
  queue.sendBatch = function (this: unknown, messages, ...rest) {
    const list = [...messages]
    heard.push(`queue ${texts(list).join(' ')}`)
    return sendBatch.apply(this, [list, ...rest])
  }
  return {
    heard,
    stop() {
      Object.assign(queue, { send, sendBatch })
      vi.restoreAllMocks()
    },
  }
}

/** Everything that is kept: both databases, and the bucket with its names and contents. */
export async function everythingKept(): Promise<string> {
  const kept = [await dump()]
  for (let cursor: string | undefined, isMore = true; isMore; ) {
    const page = await env.FILES.list({ ...(cursor && { cursor }), include: ['customMetadata', 'httpMetadata'] })
    for (const { key, customMetadata, httpMetadata } of page.objects) {
      kept.push(key, JSON.stringify([customMetadata, httpMetadata]))
      // What a consumer deletes after it is listed is not kept.
      const object = await env.FILES.get(key)
      if (object) kept.push(new TextDecoder('latin1').decode(await object.arrayBuffer()))
    }
    isMore = page.truncated
    cursor = page.truncated ? page.cursor : undefined
  }
  return kept.join('\n')
}
