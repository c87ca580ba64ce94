import { createCipheriv } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decryptTripleDes } from '../../../src/authority/efirma/des.ts'
import { runs } from '../../support/fuzz.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const encrypted = (key: Uint8Array, iv: Uint8Array, plain: Uint8Array, isPadded = true): Uint8Array => {
  const cipher = createCipheriv('des-ede3-cbc', key, iv).setAutoPadding(isPadded)
  return new Uint8Array(Buffer.concat([cipher.update(plain), cipher.final()]))
}

it('what OpenSSL encrypts is decrypted, whatever the key, the vector and the length', () => {
  fc.assert(
    fc.property(bytes(24), bytes(8), fc.uint8Array({ maxLength: 70 }), (key, iv, plain) => {
      expect(decryptTripleDes(key, iv, encrypted(key, iv, plain))).toEqual(plain)
    }),
    { numRuns: runs(200, 5_000) },
  )
})

it('a text without whole blocks or right padding is nothing', () => {
  const [key, iv] = [new Uint8Array(24).fill(7), new Uint8Array(8)]
  for (const length of [0, 1, 7, 9]) expect(decryptTripleDes(key, iv, new Uint8Array(length))).toBeNull()
  for (const last of [[0], [9], [255], [1, 2], [7, 8, 8, 8, 8, 8, 8, 8]]) {
    const plain = new Uint8Array(16).fill(1)
    plain.set(last, 16 - last.length)
    expect(decryptTripleDes(key, iv, encrypted(key, iv, plain, false))).toBeNull()
  }
  expect(decryptTripleDes(key, iv, encrypted(key, iv, new Uint8Array(16), false))).toBeNull()
})
