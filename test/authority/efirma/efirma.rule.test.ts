import { createVerify, generateKeyPairSync, X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EfirmaRefused, openPrivateKey, readPrivateKey } from '../../../src/authority/efirma/der.ts'
import { type EfirmaInput, readCertificate, sign, signingKey } from '../../../src/authority/efirma/efirma.ts'
import { runs } from '../../support/fuzz.ts'
import {
  authorityKey,
  certificateOf,
  damaged,
  der,
  HASHES,
  newKey,
  oid,
  opensslKey,
  pem,
  SEQUENCE,
  subjectOf,
  type TestCertificate,
} from '../support/certificates.ts'
import { openFiles } from '../support/open-files.ts'

const NOW = new Date('2026-11-22T12:00:00Z')
const RFC = 'EKU9003173C9'
const PASSWORD = '12345678a'
const key = newKey()
const other = newKey()
const { privateKey: hugeKey } = generateKeyPairSync('rsa', { modulusLength: 4_104 })
const { privateKey: curveKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const certificate = (changes: Partial<TestCertificate> = {}) =>
  certificateOf(key, { subject: subjectOf(`${RFC} / VADA800927DJ3`), ...changes })
const input = (changes: Partial<EfirmaInput> = {}): EfirmaInput => ({
  certificate: base64(certificate()),
  private_key: base64(authorityKey(key, PASSWORD)),
  password: PASSWORD,
  ...changes,
})
const open = (changes: Partial<EfirmaInput> = {}, rfc = RFC, now = NOW) => openFiles(input(changes), rfc, now)
const openKey = async (bytes: Uint8Array, password = PASSWORD) => openPrivateKey(readPrivateKey(bytes), password)
const reason = (opened: Promise<unknown>): Promise<unknown> =>
  opened.then(
    () => 'accepted',
    (error: unknown) => (error instanceof EfirmaRefused ? error.code : error),
  )

describe('an e.firma', () => {
  it('is opened with its password, and signs what its certificate verifies', async () => {
    const { certificate: read, pkcs8 } = await open()
    const x509 = new X509Certificate(read.der)
    expect(read).toMatchObject({
      ...{ rfc: RFC, name: 'PRUEBAS SA DE CV', number: '30001000000500003415', isCsd: false },
      serial: BigInt(`0x${x509.serialNumber}`).toString(),
      valid_from: x509.validFromDate,
      valid_to: x509.validToDate,
    })
    expect(new Uint8Array(x509.publicKey.export({ format: 'der', type: 'spki' }))).toEqual(read.publicKey)
    const text = new TextEncoder().encode('Ñ')
    expect(
      createVerify('RSA-SHA1')
        .update(text)
        .verify(x509.publicKey, await sign(await signingKey(pkcs8), text)),
    ).toBe(true)
  })

  it.each(['des-ede3-cbc', 'aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc'])(
    'is opened when OpenSSL encrypted its key by %s',
    async (cipher) => {
      expect(await reason(open({ private_key: base64(opensslKey(key, cipher, PASSWORD)) }))).toBe('accepted')
      expect(await reason(open({ private_key: base64(opensslKey(key, cipher, PASSWORD)), password: 'other' }))).toBe(
        'efirma.wrong_password',
      )
    },
  )

  it.each(HASHES)('is opened when its password was hashed by %s', async (hash) => {
    expect(await reason(open({ private_key: base64(authorityKey(key, PASSWORD, { hash })) }))).toBe('accepted')
  })

  it('may be in PEM, in base64 of PEM, or in base64 with line breaks, with other text around', async () => {
    const encrypted = opensslKey(key, 'aes-256-cbc', PASSWORD)
    const inPem = {
      certificate: `subject=PRUEBAS\n${pem('PUBLIC KEY', new Uint8Array(9))}${pem('CERTIFICATE', certificate())}${pem('CERTIFICATE', new Uint8Array(9))}`,
      private_key: pem('ENCRYPTED PRIVATE KEY', encrypted),
    }
    expect(await reason(open(inPem))).toBe('accepted')
    const twice = { certificate: base64(Buffer.from(inPem.certificate)), private_key: base64(Buffer.from(inPem.private_key)) }
    expect(await reason(open(twice))).toBe('accepted')
    const broken = (text: string) => text.replace(/.{76}/g, '$&\r\n')
    const { certificate: one, private_key: two } = input()
    expect(await reason(open({ certificate: broken(one), private_key: broken(two) }))).toBe('accepted')
  })

  it('may have a key that states its length, many iterations, or no encryption', async () => {
    expect(await reason(open({ private_key: base64(authorityKey(key, PASSWORD, { keyLength: 24 })) }))).toBe('accepted')
    expect(await reason(open({ private_key: base64(authorityKey(key, PASSWORD, { iterations: 10_000 })) }))).toBe('accepted')
    expect(await reason(open({ private_key: pem('PRIVATE KEY', key.export({ format: 'der', type: 'pkcs8' })) }))).toBe('accepted')
  })

  it('may have a key in PKCS #1, as OpenSSL writes it without a password', async () => {
    expect(await reason(open({ private_key: key.export({ format: 'pem', type: 'pkcs1' }) as string, password: 'x' }))).toBe('accepted')
    expect(await reason(open({ private_key: base64(key.export({ format: 'der', type: 'pkcs1' })) }))).toBe('accepted')
    const another = other.export({ format: 'pem', type: 'pkcs1' }) as string
    expect(await reason(open({ private_key: another }))).toBe('efirma.key_mismatch')
  })

  it('may have a password that a program of Windows wrote', async () => {
    for (const [password, bytes] of [
      ['contraseña1', Buffer.from('contraseña1', 'latin1')],
      ['5 € más', Buffer.from([0x35, 0x20, 0x80, 0x20, 0x6d, 0xe1, 0x73])],
    ] as const) {
      const private_key = base64(authorityKey(key, bytes))
      expect(await reason(open({ private_key, password }))).toBe('accepted')
      expect(await reason(open({ private_key, password: password.normalize('NFD') }))).toBe('accepted')
      expect(await reason(open({ private_key, password: `${password}ñ` }))).toBe('efirma.wrong_password')
    }
  })

  it('may be two data URLs, as a browser reads files', async () => {
    const { certificate: one, private_key: two } = input()
    const files = {
      certificate: `data:application/x-x509-ca-cert;base64,${one}`,
      private_key: `data:application/octet-stream;base64,${two}`,
    }
    expect(await reason(open(files))).toBe('accepted')
    expect(
      await reason(
        open({ private_key: `data:;base64,${base64(Buffer.from(pem('PRIVATE KEY', key.export({ format: 'der', type: 'pkcs8' }))))}` }),
      ),
    ).toBe('accepted')
  })

  it('may have a password in any language', async () => {
    const password = 'contraseña más larga €'
    expect(await reason(open({ private_key: base64(authorityKey(key, password)), password }))).toBe('accepted')
  })

  it.each([
    ['of a person', 'XIQB891116QE4', 'XIQB891116QE4', 'printable'],
    ['of a company with & in UTF-8', 'A&A050908GT0 / VADA800927DJ3', 'A&A050908GT0', 'utf8'],
    ['of a company with Ñ in UTF-8', 'ÑAÑ050908GT0 / VADA800927DJ3', 'ÑAÑ050908GT0', 'utf8'],
    ['with Ñ and & in ISO 8859-1', 'Ñ&A050908GT0 / VADA800927DJ3', 'Ñ&A050908GT0', 't61'],
    ['with Ñ in UTF-8 under a type without it', 'ÑAA050908GT0', 'ÑAA050908GT0', 'printable'],
    ['with a decomposed Ñ', 'N\u0303AA050908GT0', 'ÑAA050908GT0', 'utf8'],
    ['before a CURP, without spaces', `${RFC}/VADA800927HSRSRL05`, RFC, 'printable'],
    ['in lower case, after spaces', ` ${RFC.toLowerCase()} / VADA800927DJ3`, RFC, 'printable'],
  ] as const)('names the RFC %s', async (_, identifier, rfc, string) => {
    expect(await reason(open({ certificate: base64(certificate({ subject: subjectOf(identifier, string) })) }, rfc))).toBe('accepted')
  })

  it('is valid from the first to the last second', async () => {
    const [from, to] = [new Date('2025-03-01T10:00:00Z'), new Date('2029-03-01T10:00:00Z')]
    const at = (now: string) => reason(open({ certificate: base64(certificate({ from, to })) }, RFC, new Date(now)))
    expect(await at('2025-03-01T09:59:59.999Z')).toBe('efirma.not_yet_valid')
    expect(await at('2025-03-01T10:00:00Z')).toBe('accepted')
    expect(await at('2029-03-01T10:00:00Z')).toBe('accepted')
    expect(await at('2029-03-01T10:00:00.001Z')).toBe('efirma.expired')
  })

  it('names its issuer in the order of the certificate, with what RFC 4514 escapes', async () => {
    const { issuer } = (await open()).certificate
    expect(issuer).toBe(
      'CN=AC DE PRUEBAS,O=Servicio de Administración Tributaria,emailAddress=ac@example.com,street=Av. Hidalgo 77\\2c Col. Guerrero,' +
        'x500UniqueIdentifier=SAT970701NN3',
    )
    const odd = await open({
      certificate: base64(
        certificate({
          issuer: [
            ['2.5.4.10', ' #a+b="c"\\; '],
            ['1.2.3.4', '#'],
          ],
        }),
      ),
    })
    expect(odd.certificate.issuer).toBe('O=\\20#a\\2bb\\3d\\22c\\22\\5c\\3b\\20,1.2.3.4=\\23')
  })

  it('that the authority did not issue has its number in hexadecimal', async () => {
    const { number, serial } = (await open({ certificate: base64(certificate({ number: 'Zz' })) })).certificate
    expect([number, serial]).toEqual(['5a7a', String(0x5a7a)])
  })
})

describe('an e.firma is refused', () => {
  const seal = base64(certificate({ subject: subjectOf(RFC, 'printable', [['2.5.4.11', 'Sucursal 1', 'printable']]) }))
  const plain = (one: typeof key) => one.export({ format: 'der', type: 'pkcs8' })

  it.each<[string, Partial<EfirmaInput>, string, string]>([
    ['when the certificate is no base64', { certificate: '¡no!' }, 'efirma.certificate_unreadable', 'certificate'],
    ['when the certificate is empty', { certificate: '' }, 'efirma.certificate_unreadable', 'certificate'],
    [
      'when the certificate is another file',
      { certificate: base64(Buffer.from('%PDF-1.7')) },
      'efirma.certificate_unreadable',
      'certificate',
    ],
    ['when the certificate is the key', { certificate: input().private_key }, 'efirma.certificate_unreadable', 'certificate'],
    ['when the PEM is of a key', { certificate: pem('PRIVATE KEY', certificate()) }, 'efirma.certificate_unreadable', 'certificate'],
    [
      'when the PEM breaks off',
      { certificate: pem('CERTIFICATE', certificate()).slice(0, -10) },
      'efirma.certificate_unreadable',
      'certificate',
    ],
    [
      'when the certificate is followed by more',
      { certificate: base64(Buffer.concat([certificate(), Buffer.from([0])])) },
      'efirma.certificate_unreadable',
      'certificate',
    ],
    ['when the file is far too large', { certificate: base64(Buffer.alloc(20_000)) }, 'efirma.certificate_unreadable', 'certificate'],
    ['when it is a digital seal (CSD)', { certificate: seal }, 'efirma.is_csd', 'certificate'],
    [
      'when the certificate names no RFC',
      { certificate: base64(certificate({ subject: [['2.5.4.3', 'NADIE']] })) },
      'efirma.without_rfc',
      'certificate',
    ],
    [
      'when it belongs to another RFC',
      { certificate: base64(certificate({ subject: subjectOf('XIQB891116QE4') })) },
      'efirma.other_rfc',
      'certificate',
    ],
    ['when the key is no base64', { private_key: '¡no!' }, 'efirma.key_unreadable', 'private_key'],
    ['when the key is the certificate', { private_key: input().certificate }, 'efirma.key_unreadable', 'private_key'],
    [
      'when the key breaks off',
      { private_key: base64(authorityKey(key, PASSWORD).subarray(0, -1)) },
      'efirma.key_unreadable',
      'private_key',
    ],
    [
      'when the key has too many iterations',
      { private_key: base64(authorityKey(key, PASSWORD, { iterations: 1, stated: 10_001 })) },
      'efirma.key_iterations',
      'private_key',
    ],
    [
      'when the key states no iterations',
      { private_key: base64(authorityKey(key, PASSWORD, { stated: 0 })) },
      'efirma.key_unsupported',
      'private_key',
    ],
    [
      'when the key has a huge salt',
      { private_key: base64(authorityKey(key, PASSWORD, { salt: 65 })) },
      'efirma.key_unsupported',
      'private_key',
    ],
    [
      'when the key states another length than its cipher has',
      { private_key: base64(authorityKey(key, PASSWORD, { keyLength: 1_000_000 })) },
      'efirma.key_unsupported',
      'private_key',
    ],
    [
      'when the key is larger than any of the authority',
      { private_key: base64(authorityKey(new Uint8Array(4_100), PASSWORD)) },
      'efirma.key_unreadable',
      'private_key',
    ],
    [
      'when the certificate has a serial number that no authority gives',
      { certificate: base64(certificate({ number: '3'.repeat(22) })) },
      'efirma.certificate_unreadable',
      'certificate',
    ],
    [
      'when the encrypted key is damaged at its end',
      { private_key: base64(damaged(authorityKey(key, PASSWORD), -1)) },
      'efirma.key_damaged',
      'private_key',
    ],
    [
      'when the key takes seconds to sign',
      { private_key: base64(authorityKey(hugeKey, PASSWORD)) },
      'efirma.key_unsupported',
      'private_key',
    ],
    [
      'when the key is of an elliptic curve',
      { private_key: base64(authorityKey(curveKey, PASSWORD)) },
      'efirma.key_unsupported',
      'private_key',
    ],
    [
      'when the key is encrypted by another cipher',
      { private_key: base64(opensslKey(key, 'camellia-256-cbc', PASSWORD)) },
      'efirma.key_unsupported',
      'private_key',
    ],
    ['when the password is another one', { password: '12345678A' }, 'efirma.wrong_password', 'password'],
    ['when the password is empty', { password: '' }, 'efirma.wrong_password', 'password'],
    [
      'when the key is that of another certificate',
      { private_key: base64(authorityKey(other, PASSWORD)) },
      'efirma.key_mismatch',
      'private_key',
    ],
    ['when the key is not encrypted and another one', { private_key: base64(plain(other)) }, 'efirma.key_mismatch', 'private_key'],
  ])('%s', async (_, changes, code, member) => {
    const refused = await open(changes).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(EfirmaRefused)
    expect(refused).toMatchObject({ code, member })
  })

  it.each<[format: string, private_key: string, command: RegExp]>([
    [
      'an encrypted key of OpenSSL in PKCS #1',
      key.export({ format: 'pem', type: 'pkcs1', cipher: 'aes-256-cbc', passphrase: PASSWORD }) as string,
      /openssl pkcs8 -topk8/,
    ],
    [
      'a key encrypted by PBES1',
      base64(
        der(
          SEQUENCE,
          der(SEQUENCE, oid('1.2.840.113549.1.5.3'), der(SEQUENCE, der(0x04, new Uint8Array(8)), der(0x02, new Uint8Array([8])))),
          der(0x04, new Uint8Array(64)),
        ),
      ),
      /openssl pkcs8 -provider legacy/,
    ],
    [
      'a PKCS #12 file (.pfx)',
      base64(der(SEQUENCE, der(0x02, new Uint8Array([3])), der(SEQUENCE, oid('1.2.840.113549.1.7.1')))),
      /openssl pkcs12/,
    ],
    ['a key of OpenSSH', pem('OPENSSH PRIVATE KEY', Buffer.from('openssh-key-v1\0')), /ssh-keygen/],
    ['a key of PuTTY', base64(Buffer.from('PuTTY-User-Key-File-3: ssh-rsa')), /puttygen/],
  ])('with a message that names %s and what converts it', async (format, private_key, command) => {
    const refused = await open({ private_key }).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'efirma.key_unsupported',
      member: 'private_key',
      message: expect.stringContaining(`This is ${format}. `),
    })
    expect((refused as Error).message).toMatch(command)
  })

  it('with a wrong password for the same reason when what it decrypts is padded by chance', async () => {
    for (const bytes of [new Uint8Array(0), new Uint8Array(100).fill(0x30), new Uint8Array(der(SEQUENCE, der(0x02, new Uint8Array(1))))])
      expect(await reason(open({ private_key: base64(authorityKey(bytes, PASSWORD)) }))).toBe('efirma.wrong_password')
  })

  it('without a word of the files or the password', async () => {
    const refused = (await open({ password: 'a secret' }).catch((error: unknown) => error)) as Error
    expect(`${refused.message}${JSON.stringify(refused)}`).not.toContain('secret')
  })
})

describe('a file that is changed anywhere', () => {
  /** Bytes replaced, cut out and put in. */
  const changes = fc.array(fc.record({ at: fc.nat(), removed: fc.nat({ max: 4 }), added: fc.uint8Array({ maxLength: 3 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  type Changes = typeof changes extends fc.Arbitrary<infer T> ? T : never
  const changed = (file: Uint8Array, all: Changes): Uint8Array =>
    all.reduce<Uint8Array>((bytes, { at, removed, added }) => {
      const cursor = at % (bytes.length + 1)
      return new Uint8Array(Buffer.concat([bytes.subarray(0, cursor), added, bytes.subarray(cursor + removed)]))
    }, file)

  it('is a certificate, or refused as unreadable', () => {
    const file = new Uint8Array(certificate())
    fc.assert(
      fc.property(changes, (all) => {
        try {
          readCertificate(changed(file, all))
        } catch (error) {
          expect(error).toMatchObject({ code: 'efirma.certificate_unreadable' })
        }
      }),
      { numRuns: runs(3_000, 100_000) },
    )
  })

  it('is a key, or refused for a reason of keys and passwords', async () => {
    const file = new Uint8Array(authorityKey(key, PASSWORD, { iterations: 1 }))
    const codes = new Set<unknown>()
    await fc.assert(
      fc.asyncProperty(changes, fc.boolean(), async (all, isPlain) => {
        const bytes = changed(isPlain ? new Uint8Array(key.export({ format: 'der', type: 'pkcs8' })) : file, all)
        codes.add(await reason(openKey(bytes)))
      }),
      { numRuns: runs(300, 10_000) },
    )
    const expected = [
      'accepted',
      'efirma.key_unreadable',
      'efirma.key_damaged',
      'efirma.key_unsupported',
      'efirma.key_iterations',
      'efirma.wrong_password',
    ]
    expect([...codes].filter((code) => !expected.includes(code as string))).toEqual([])
  })

  it('of any bytes at all is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ maxLength: 60 }), async (one, two) => {
        const nested = der(SEQUENCE, der(SEQUENCE, one), two)
        for (const bytes of [one, new Uint8Array(nested)]) {
          expect(() => readCertificate(bytes)).toThrow(EfirmaRefused)
          expect(await reason(openKey(bytes, ''))).toMatch(/^efirma\.key_/)
        }
      }),
      { numRuns: runs(500, 20_000) },
    )
  })
})
