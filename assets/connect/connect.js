/**
 * Signs the consent with the e.firma before the form is sent, so that the signature is made where only the taxpayer has the key. Web Crypto has
 * no triple DES, with which the tax authority encrypts the keys (FIPS 46-3); it is below.
 */

const table = (text) => Uint8Array.from(text.trim().split(/\s+/), Number)

const IP = table(`58 50 42 34 26 18 10 2 60 52 44 36 28 20 12 4 62 54 46 38 30 22 14 6 64 56 48 40 32 24 16 8
  57 49 41 33 25 17 9 1 59 51 43 35 27 19 11 3 61 53 45 37 29 21 13 5 63 55 47 39 31 23 15 7`)
const FP = table(`40 8 48 16 56 24 64 32 39 7 47 15 55 23 63 31 38 6 46 14 54 22 62 30 37 5 45 13 53 21 61 29
  36 4 44 12 52 20 60 28 35 3 43 11 51 19 59 27 34 2 42 10 50 18 58 26 33 1 41 9 49 17 57 25`)
const E = table(`32 1 2 3 4 5 4 5 6 7 8 9 8 9 10 11 12 13 12 13 14 15 16 17 16 17 18 19 20 21 20 21 22 23 24 25 24 25 26 27 28 29
  28 29 30 31 32 1`)
const P = table('16 7 20 21 29 12 28 17 1 15 23 26 5 18 31 10 2 8 24 14 32 27 3 9 19 13 30 6 22 11 4 25')
const PC1 = table(`57 49 41 33 25 17 9 1 58 50 42 34 26 18 10 2 59 51 43 35 27 19 11 3 60 52 44 36
  63 55 47 39 31 23 15 7 62 54 46 38 30 22 14 6 61 53 45 37 29 21 13 5 28 20 12 4`)
const PC2 = table(`14 17 11 24 1 5 3 28 15 6 21 10 23 19 12 4 26 8 16 7 27 20 13 2
  41 52 31 37 47 55 30 40 51 45 33 48 44 49 39 56 34 53 46 42 50 36 29 32`)
const SHIFTS = table('1 1 2 2 2 2 2 2 1 2 2 2 2 2 2 1')
const S = [
  '14 4 13 1 2 15 11 8 3 10 6 12 5 9 0 7 0 15 7 4 14 2 13 1 10 6 12 11 9 5 3 8 4 1 14 8 13 6 2 11 15 12 9 7 3 10 5 0 15 12 8 2 4 9 1 7 5 11 3 14 10 0 6 13',
  '15 1 8 14 6 11 3 4 9 7 2 13 12 0 5 10 3 13 4 7 15 2 8 14 12 0 1 10 6 9 11 5 0 14 7 11 10 4 13 1 5 8 12 6 9 3 2 15 13 8 10 1 3 15 4 2 11 6 7 12 0 5 14 9',
  '10 0 9 14 6 3 15 5 1 13 12 7 11 4 2 8 13 7 0 9 3 4 6 10 2 8 5 14 12 11 15 1 13 6 4 9 8 15 3 0 11 1 2 12 5 10 14 7 1 10 13 0 6 9 8 7 4 15 14 3 11 5 2 12',
  '7 13 14 3 0 6 9 10 1 2 8 5 11 12 4 15 13 8 11 5 6 15 0 3 4 7 2 12 1 10 14 9 10 6 9 0 12 11 7 13 15 1 3 14 5 2 8 4 3 15 0 6 10 1 13 8 9 4 5 11 12 7 2 14',
  '2 12 4 1 7 10 11 6 8 5 3 15 13 0 14 9 14 11 2 12 4 7 13 1 5 0 15 10 3 9 8 6 4 2 1 11 10 13 7 8 15 9 12 5 6 3 0 14 11 8 12 7 1 14 2 13 6 15 0 9 10 4 5 3',
  '12 1 10 15 9 2 6 8 0 13 3 4 14 7 5 11 10 15 4 2 7 12 9 5 6 1 13 14 0 11 3 8 9 14 15 5 2 8 12 3 7 0 4 10 1 13 11 6 4 3 2 12 9 5 15 10 11 14 1 7 6 0 8 13',
  '4 11 2 14 15 0 8 13 3 12 9 7 5 10 6 1 13 0 11 7 4 9 1 10 14 3 5 12 2 15 8 6 1 4 11 13 12 3 7 14 10 15 6 8 0 5 9 2 6 11 13 8 1 4 10 7 9 5 0 15 14 2 3 12',
  '13 2 8 4 6 15 11 1 10 9 3 14 5 0 12 7 1 15 13 8 10 3 7 4 12 5 6 11 0 14 9 2 7 11 4 1 9 12 14 2 0 6 10 13 15 3 5 8 2 1 14 7 4 10 8 13 15 12 9 0 3 5 6 11',
].map(table)

const permuted = (bits, places) => places.map((place) => bits[place - 1])
const bitsOf = (bytes) => Uint8Array.from({ length: bytes.length * 8 }, (_, n) => (bytes[n >> 3] >> (7 - (n & 7))) & 1)

function roundKeys(key) {
  const bits = permuted(bitsOf(key), PC1)
  let [left, right] = [[...bits.subarray(0, 28)], [...bits.subarray(28)]]
  return Array.from(SHIFTS, (shift) => {
    ;[left, right] = [left, right].map((half) => [...half.slice(shift), ...half.slice(0, shift)])
    return permuted(Uint8Array.of(...left, ...right), PC2)
  })
}

function mixed(half, key) {
  const expanded = permuted(half, E)
  const out = new Uint8Array(32)
  for (let box = 0; box < 8; box++) {
    const [a, b, c, d, e, f] = expanded.subarray(box * 6, box * 6 + 6).map((bit, n) => bit ^ key[box * 6 + n])
    const value = S[box][((a * 2 + f) << 4) | (b * 8 + c * 4 + d * 2 + e)]
    for (let n = 0; n < 4; n++) out[box * 4 + n] = (value >> (3 - n)) & 1
  }
  return permuted(out, P)
}

/** One block of DES, as bits; with the round keys in reverse it decrypts. */
function block(bits, keys) {
  const first = permuted(bits, IP)
  let [left, right] = [first.subarray(0, 32), first.subarray(32)]
  for (const key of keys) {
    const next = mixed(right, key)
    ;[left, right] = [right, next.map((bit, n) => bit ^ left[n])]
  }
  return permuted(Uint8Array.of(...right, ...left), FP)
}

/** Decrypts DES-EDE3-CBC, without taking the padding off. */
export function decryptTripleDes(encrypted, key, iv) {
  const [one, two, three] = [0, 8, 16].map((at) => roundKeys(key.subarray(at, at + 8)))
  const plain = new Uint8Array(encrypted.length)
  let before = iv
  for (let at = 0; at < encrypted.length; at += 8) {
    const bytes = encrypted.subarray(at, at + 8)
    const bits = block(block(block(bitsOf(bytes), three.toReversed()), two), one.toReversed())
    for (let n = 0; n < 8; n++) plain[at + n] = Number.parseInt(bits.subarray(n * 8, n * 8 + 8).join(''), 2) ^ before[n]
    before = bytes
  }
  return plain
}

/** The values in DER one after the other: tag, content and all of it. */
function valuesOf(bytes) {
  const values = []
  for (let at = 0; at < bytes.length; ) {
    const start = at
    const tag = bytes[at++]
    let length = bytes[at++]
    if (length > 0x80) {
      const count = length & 0x7f
      length = 0
      for (let n = 0; n < count; n++) length = length * 256 + bytes[at++]
    }
    values.push({ tag, content: bytes.subarray(at, at + length), whole: bytes.subarray(start, at + length) })
    at += length
  }
  return values
}

const inside = (value) => valuesOf(value.content)
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

const HASHES = { '2a864886f70d0207': 'SHA-1', '2a864886f70d0209': 'SHA-256', '2a864886f70d020a': 'SHA-384', '2a864886f70d020b': 'SHA-512' }
const AES_BYTES = { '608648016503040102': 16, '608648016503040116': 24, '60864801650304012a': 32 }
const TRIPLE_DES = '2a864886f70d0307'

/** The bytes of a file in DER or PEM. */
export function bytesOfKey(bytes) {
  const text = new TextDecoder('latin1').decode(bytes)
  const pem = /-----BEGIN [A-Z ]*PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/.exec(text)
  return pem ? Uint8Array.from(atob(pem[1].replace(/\s/g, '')), (one) => one.charCodeAt(0)) : bytes
}

/** Opens a private key of the tax authority (PKCS #8, PBES2). Throws what has `wrongPassword` when the password does not open it. */
export async function openKey(bytes, password) {
  const info = inside(valuesOf(bytesOfKey(bytes))[0])
  if (info[0].tag === 0x02) return valuesOf(bytesOfKey(bytes))[0].whole
  const [derivation, encryption] = inside(inside(info[0])[1])
  const parameters = inside(inside(derivation)[1])
  const salt = parameters[0].content
  const iterations = Number.parseInt(hex(parameters[1].content), 16)
  const prf = parameters.find(({ tag }) => tag === 0x30)
  const hash = prf ? HASHES[hex(inside(prf)[0].content)] : 'SHA-1'
  const [scheme, iv] = inside(encryption).map(({ content }) => content)
  const keyBytes = hex(scheme) === TRIPLE_DES ? 24 : AES_BYTES[hex(scheme)]
  if (!hash || !keyBytes) throw new Error('The key is encrypted in another way.')
  const material = await crypto.subtle.importKey('raw', new TextEncoder().encode(password), 'PBKDF2', false, ['deriveBits'])
  const derived = new Uint8Array(await crypto.subtle.deriveBits({ name: 'PBKDF2', hash, salt, iterations }, material, keyBytes * 8))
  const plain = await decrypted(info[1].content, derived, iv, keyBytes === 24 && hex(scheme) === TRIPLE_DES).catch(() => null)
  // A sequence of so many bytes, and its version: what no other password makes.
  if (plain === null || plain[0] !== 0x30 || plain[1] !== 0x82 || plain[4] !== 0x02)
    throw Object.assign(new Error('The password does not open the key.'), { wrongPassword: true })
  return plain.subarray(0, 4 + plain[2] * 256 + plain[3])
}

async function decrypted(encrypted, key, iv, isTripleDes) {
  if (isTripleDes) return decryptTripleDes(encrypted, key, iv)
  const aes = await crypto.subtle.importKey('raw', key, 'AES-CBC', false, ['decrypt'])
  return new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-CBC', iv }, aes, encrypted))
}

/** Signs a text (RSASSA-PKCS1-v1_5 with SHA-256), in base64. */
export async function sign(pkcs8, message) {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign'])
  const signature = await crypto.subtle.sign(algorithm.name, key, new TextEncoder().encode(message))
  return btoa(String.fromCharCode(...new Uint8Array(signature)))
}

/** What is signed, as the service puts it together. The purposes are in the order in which the link asks for them. */
function messageOf(form) {
  const { consent, purposes, necessary } = form.dataset
  const ticked = new FormData(form).getAll('purposes')
  const granted = purposes.split(',').filter((key) => ticked.includes(key) || necessary.split(',').includes(key))
  return [consent, form.elements.text_sha256.value, granted.join(',')].join('\n')
}

const chosen = (form) => new FormData(form).get('login')

async function prepare(form) {
  if (chosen(form) !== 'efirma' || form.dataset.consent === '') return
  const [file] = form.elements.private_key.files
  if (!file) return
  const key = await openKey(new Uint8Array(await file.arrayBuffer()), form.elements.password.value)
  form.elements.signature.value = await sign(key, messageOf(form))
}

function start(form) {
  const button = form.querySelector('button')
  const live = form.querySelector('#live')
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (button.disabled) return
    button.disabled = true
    live.textContent = form.dataset.asking
    try {
      await prepare(form)
      form.submit()
    } catch (error) {
      live.textContent = error.wrongPassword ? form.dataset.password : form.dataset.unsigned
      button.disabled = false
    }
  })
  // A page that the browser shows again is as it was left.
  addEventListener('pageshow', () => {
    button.disabled = false
    live.textContent = ''
  })
}

if (globalThis.document) {
  const form = document.querySelector('form[data-asking]')
  if (form) start(form)
  document.querySelector('.alert[tabindex]')?.focus()
}
