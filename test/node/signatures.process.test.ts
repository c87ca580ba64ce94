import { describe, expect, it } from 'vitest'
import vectors from '../delivery/deliveries/vectors/signatures.json'
import { hasOpenssl, isInstalled, LANGUAGES, opensslHmac, type Signed, snippetOf, verifierOf } from './support/snippets.ts'

describe('the vectors', () => {
  it.skipIf(!hasOpenssl)('are what openssl computes', () => {
    expect(vectors.length).toBeGreaterThanOrEqual(10)
    for (const { secret, id, timestamp, text, times, service_signature, webhook_signature } of vectors) {
      const body = Buffer.from(text.repeat(times))
      expect([id, `v1,${opensslHmac(Buffer.from(secret), body)}`]).toEqual([id, service_signature])
      const stamped = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body])
      const standard = opensslHmac(Buffer.from(secret.slice('whsec_'.length), 'base64'), stamped)
      expect([id, `v1,${Buffer.from(standard, 'hex').toString('base64')}`]).toEqual([id, webhook_signature])
    }
  })
})

const LINES = 10
const [example] = vectors.slice(4)
const genuine: Signed = {
  secret: example!.secret,
  header: example!.service_signature,
  body: Buffer.from(example!.text.repeat(example!.times)),
}
const hex = genuine.header.slice('v1,'.length)

describe.each(LANGUAGES)('docs/webhooks.md in $name', (language) => {
  it(`says it in at most ${LINES} lines`, () => {
    expect(snippetOf(language).trimEnd().split('\n').length).toBeLessThanOrEqual(LINES)
  })

  it.skipIf(!isInstalled(language))('takes what is signed, whatever its bytes', () => {
    const verify = verifierOf(language)
    for (const { secret, service_signature: header, text, times } of vectors)
      expect([text.slice(0, 20), verify({ secret, header, body: Buffer.from(text.repeat(times)) })]).toEqual([text.slice(0, 20), true])
  })

  const forged: [string, Partial<Signed>][] = [
    ['a byte more', { body: Buffer.concat([genuine.body, Buffer.from(' ')]) }],
    ['the JSON written anew', { body: Buffer.from(JSON.stringify(JSON.parse(genuine.body.toString()), null, 1)) }],
    ['another secret', { secret: vectors[0]!.secret }],
    ['the secret without its prefix', { secret: genuine.secret.slice('whsec_'.length) }],
    ['no header', { header: '' }],
    ['another version', { header: `v2,${hex}` }],
    ['no version', { header: hex }],
    ['half of it', { header: genuine.header.slice(0, -32) }],
    ['one digit changed', { header: `v1,${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}` }],
    ['more behind it', { header: `${genuine.header},v1,${hex}` }],
    ['letters beyond ASCII', { header: `v1,${'é'.repeat(32)}` }],
  ]
  it.skipIf(!isInstalled(language)).each(forged)('refuses %s', (_, change) => {
    expect(verifierOf(language)({ ...genuine, ...change })).toBe(false)
  })
})
