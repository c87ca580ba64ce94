import { createCipheriv, generateKeyPairSync, randomBytes, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'

interface Script {
  decryptTripleDes(encrypted: Uint8Array, key: Uint8Array, iv: Uint8Array): Uint8Array
  openKey(bytes: Uint8Array, password: string): Promise<Uint8Array<ArrayBuffer>>
  sign(pkcs8: Uint8Array, message: string): Promise<string>
}
/** The script of the page, which no build changes. */
const path = '../../../assets/connect/connect.js'
const { decryptTripleDes, openKey, sign } = (await import(path)) as Script

describe('the script of the page', () => {
  it('decrypts triple DES as others encrypt it', () => {
    for (let n = 0; n < 20; n++) {
      const [key, iv, plain] = [randomBytes(24), randomBytes(8), randomBytes(8 * (1 + n))]
      const cipher = createCipheriv('des-ede3-cbc', key, iv).setAutoPadding(false)
      expect(Buffer.from(decryptTripleDes(Buffer.concat([cipher.update(plain), cipher.final()]), key, iv)).equals(plain)).toBe(true)
    }
  })

  it.each(['des-ede3-cbc', 'aes-128-cbc', 'aes-256-cbc'])('signs with a key under %s, and knows a wrong password', async (cipher) => {
    const passphrase = 'Contraseña "1" ñ'
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'der', cipher, passphrase },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    const signature = await sign(await openKey(privateKey, passphrase), 'Acepto.')
    expect(verify('sha256', Buffer.from('Acepto.'), publicKey, Buffer.from(signature, 'base64'))).toBe(true)
    await expect(openKey(privateKey, 'otra')).rejects.toMatchObject({ wrongPassword: true })
  })
})
