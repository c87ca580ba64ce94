/** What the drivers use of the runtime of Workers and Node 24 lacks: bytes in hexadecimal and base64. */
Uint8Array.prototype.toHex ??= function () {
  return Buffer.from(this).toString('hex')
}
Uint8Array.prototype.toBase64 ??= function () {
  return Buffer.from(this).toString('base64')
}
Uint8Array.fromBase64 ??= (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
