import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { EfirmaRefused } from '../../src/authority/efirma/der.ts'
import { openPrivateKey, readPrivateKey } from '../../src/authority/efirma/der.ts'
import { exchange, textOf } from '../../src/authority/sat/exchange.ts'
import { loginRequest, packageRequest, readPackage, signerOf } from '../../src/authority/sat/session.ts'
import { authorityKey, certificateOf, damaged, HASHES, newKey, opensslKey, pem, subjectOf } from './support/certificates.ts'
import { openFiles } from './support/open-files.ts'
import { packageAnswer } from './support/sat-answers.ts'
import { verified } from './support/signatures.ts'

/** What the rest of the tests of e.firmas and of the wire try in Node works with the cryptography and the encodings of Workers, too. */

const RFC = 'Ñ&A050908GT0'
const PASSWORD = 'contraseña'
const NOW = new Date('2026-11-22T12:00:00Z')

describe('in workerd', () => {
  const key = newKey()
  const certificate = new Uint8Array(certificateOf(key, { subject: subjectOf(`${RFC} / VADA800927DJ3`, 't61') }))

  it.each([
    ['as the authority encrypts it', () => authorityKey(key, PASSWORD, { iterations: 10_000 })],
    ['by AES', () => opensslKey(key, 'aes-256-cbc', PASSWORD)],
    ['by AES with 192 bits', () => opensslKey(key, 'aes-192-cbc', PASSWORD)],
    ...HASHES.map((hash) => [`with ${hash}`, () => authorityKey(key, PASSWORD, { hash })] as [string, () => Buffer]),
  ])('an e.firma whose key is encrypted %s is opened and signs requests', async (_, encrypted) => {
    const files = { certificate: certificate.toBase64(), private_key: new Uint8Array(encrypted()).toBase64() }
    await expect(openFiles({ ...files, password: 'other' }, RFC, NOW)).rejects.toMatchObject({ code: 'efirma.wrong_password' })
    const efirma = await openFiles({ ...files, password: PASSWORD }, RFC, NOW)
    expect(efirma.certificate.number).toBe('30001000000500003415')
    const signer = await signerOf(efirma)
    const requests = [
      await loginRequest(signer, 'cfdi', NOW, crypto.randomUUID()),
      await packageRequest({ signer, family: 'cfdi', token: 't' }, 'x_01'),
    ]
    for (const { body } of requests) expect(verified(body)).toBeInstanceOf(X509Certificate)
  })

  it('a key of another certificate, and one that is none, are refused', async () => {
    const open = (private_key: string) =>
      openFiles({ certificate: pem('CERTIFICATE', certificate), private_key, password: PASSWORD }, RFC, NOW)
    const other = new Uint8Array(newKey().export({ format: 'der', type: 'pkcs8' }))
    await expect(open(pem('PRIVATE KEY', other))).rejects.toMatchObject({ code: 'efirma.key_mismatch' })
    const broken = other.slice()
    broken.fill(0xff, 30, 200)
    await expect(open(pem('PRIVATE KEY', broken))).rejects.toMatchObject({ code: 'efirma.key_unreadable' })
  })

  it('a damaged key, a wrong password and a key of another kind are three answers', async () => {
    const code = (bytes: Uint8Array, password = PASSWORD) => {
      try {
        openPrivateKey(readPrivateKey(bytes), password)
      } catch (error) {
        return (error as EfirmaRefused).code
      }
    }
    const file = authorityKey(key, PASSWORD, { iterations: 1 })
    expect(code(file)).toBeUndefined()
    for (const at of [0, 3, 9, 40, file.length - 1]) expect(code(file.subarray(0, at))).toBe('efirma.key_unreadable')
    for (let n = 0; n < 600; n++) expect(code(file, `other ${n}`)).toBe('efirma.wrong_password')
    // What is encrypted here is padded rightly, or not at all.
    for (const length of [0, 7, 8, 100]) expect(code(authorityKey(new Uint8Array(length), PASSWORD))).toBe('efirma.wrong_password')
    const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    expect(code(authorityKey(curve, PASSWORD))).toBe('efirma.key_unsupported')
  })

  it('a key that the password opens is damaged, wherever that is, and its password is not called wrong', async () => {
    const file = authorityKey(key, PASSWORD)
    const open = (bytes: Uint8Array) =>
      openFiles({ certificate: certificate.toBase64(), private_key: bytes.toBase64(), password: PASSWORD }, RFC, NOW)
    await open(new Uint8Array(file))
    for (const at of [-1, -9, -300, -600, -1_000])
      await expect(open(damaged(file, at)), `${at}`).rejects.toMatchObject({ code: 'efirma.key_damaged', member: 'private_key' })
  })

  it('an answer that stops coming is aborted when it took longer than its size is worth', async () => {
    const { readable, writable } = new IdentityTransformStream()
    const writer = writable.getWriter()
    const send = async (_: string, { signal }: RequestInit) => {
      signal!.addEventListener('abort', () => void writer.abort(signal!.reason).catch(() => {}))
      void writer.write(new TextEncoder().encode('UEsD')).catch(() => {})
      return new Response(readable)
    }
    const request = { url: 'https://example.com/', headers: {}, body: '' }
    const asked = exchange(send, request, 60_000, textOf, { waited: 50, bytesPerSecond: 1_000 })
    await expect(asked).rejects.toMatchObject({ kind: 'timed_out', status: 200 })
  })

  it('a package is read from a stream, to the last byte', async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(60_001))
    const body = new Response(packageAnswer(bytes.toBase64().replace(/.{76}/g, '$&\r\n'))).body!
    const parts: Uint8Array[] = []
    const { meaning } = await readPackage(body, async (part) => {
      parts.push(part.slice())
    })
    expect(meaning).toBe('accepted')
    expect(new Uint8Array(await new Blob(parts).arrayBuffer())).toEqual(bytes)
  })
})
