/** Workers have these methods of Uint8Array, and Node 24 does not. */

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

const bytes: object = Uint8Array
if (!('fromBase64' in bytes)) {
  Object.assign(Uint8Array, {
    fromBase64: (text: string): Uint8Array => {
      const compact = text.replace(/[\t\n\f\r ]/g, '')
      if (!BASE64.test(compact)) throw new SyntaxError('The text is not base64.')
      return new Uint8Array(Buffer.from(compact, 'base64'))
    },
  })
  Object.assign(Uint8Array.prototype, {
    toBase64(this: Uint8Array): string {
      return Buffer.from(this).toString('base64')
    },
    toHex(this: Uint8Array): string {
      return Buffer.from(this).toString('hex')
    },
  })
}
