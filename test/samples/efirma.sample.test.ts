import { describe, expect, inject, it } from 'vitest'
import { EfirmaRefused } from '../../src/authority/efirma/der.ts'
import { readCertificate, readFile } from '../../src/authority/efirma/efirma.ts'
import { openFiles } from '../authority/support/open-files.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The sample e.firmas in base64, by their paths. */
    efirmas: Record<string, string>
  }
}

/** These run in Node and in workerd. */
const files = inject('efirmas')
const base64 = (path: string): string => files[path]!
const text = (path: string): string => new TextDecoder().decode(Uint8Array.fromBase64(base64(path)))

describe.skipIf(Object.keys(files).length === 0)('certificates of the authority', () => {
  const NOW = new Date('2026-11-22')
  const PASSWORD = '12345678a'
  const open = (certificate: string, key: string, rfc: string, now = NOW, password = PASSWORD): Promise<unknown> =>
    openFiles({ certificate: base64(certificate), private_key: base64(key), password }, rfc, now).then(
      ({ certificate }) => certificate.number,
      (error: unknown) => (error instanceof EfirmaRefused ? error.code : error),
    )
  const ekuFiel = (name: string) => `EKU9003173C9-fiel/EKU9003173C9.${name}`
  const ekuCsd = (name: string) => `EKU9003173C9-csd/EKU9003173C9.${name}`
  const aaa = (name: string) => `FIEL_AAA010101AAA/${name}`
  const jes = '30001000000400002436'

  it('EKU9003173C9-fiel is an e.firma, with its key as it is and in PEM', async () => {
    for (const key of ['key', 'key.pem']) expect(await open(ekuFiel('cer'), ekuFiel(key), 'EKU9003173C9')).toBe('30001000000500003415')
    expect(await open(ekuFiel('cer'), ekuFiel('key'), 'EKU9003173C9', NOW, '12345678b')).toBe('efirma.wrong_password')
    expect(await open(ekuFiel('cer'), ekuCsd('key'), 'EKU9003173C9')).toBe('efirma.key_mismatch')
    expect(await open(ekuFiel('cer'), ekuFiel('key'), 'AAA010101AAA')).toBe('efirma.other_rfc')
    expect(await open(ekuFiel('cer'), ekuFiel('cer'), 'EKU9003173C9')).toBe('efirma.key_unreadable')
    expect(await open(ekuFiel('key'), ekuFiel('key'), 'EKU9003173C9')).toBe('efirma.certificate_unreadable')
    expect(await open(ekuFiel('cer'), ekuFiel('key'), 'EKU9003173C9', new Date('2027-05-18'))).toBe('efirma.expired')
    expect(await open(ekuFiel('cer'), ekuFiel('key'), 'EKU9003173C9', new Date('2023-05-18'))).toBe('efirma.not_yet_valid')
  })

  it('FIEL_AAA010101AAA has expired; before that it was an e.firma in every encoding', async () => {
    expect(await open(aaa('certificate.cer'), aaa('private_key.key'), 'AAA010101AAA')).toBe('efirma.expired')
    const then = new Date('2020-01-01')
    for (const certificate of ['certificate.cer', 'certificate.cer.pem'])
      for (const key of ['private_key.key', 'private_key.key.pem'])
        expect(await open(aaa(certificate), aaa(key), 'AAA010101AAA', then)).toBe('30001000000300023685')
    const input = { certificate: text(aaa('certificate_plain.pem')), private_key: base64(aaa('private_key.key')) }
    expect((await openFiles({ ...input, password: PASSWORD }, 'AAA010101AAA', then)).certificate.number).toBe('30001000000300023685')
    expect(await open(aaa('certificate.cer'), aaa('private_key_protected.key.pem'), 'AAA010101AAA', then)).toBe('efirma.key_unsupported')
    expect(await open(aaa('certificate.cer'), aaa('public_key.pem'), 'AAA010101AAA', then)).toBe('efirma.key_unreadable')
    expect(await open(aaa('public_key.pem'), aaa('private_key.key'), 'AAA010101AAA', then)).toBe('efirma.certificate_unreadable')
  })

  it('those of digital seals are refused as such', async () => {
    expect(await open(ekuCsd('cer'), ekuCsd('key'), 'EKU9003173C9')).toBe('efirma.is_csd')
    expect(await open(`JES900109Q90/${jes}.cer`, `JES900109Q90/${jes}.key`, 'JES900109Q90')).toBe('efirma.is_csd')
  })

  it.each([
    ['00001000000301246267', 'SOMG790807J57', 'GIOVANI SOLIS MUÑOZ'],
    ['00001000000403258748', 'SAT970701NN3', 'SERVICIO DE ADMINISTRACION TRIBUTARIA'],
    ['00001000000413053762', 'SMA0112284B2', 'COMPAÑIA SANTA MARIA SA DE CV'],
    ['00001000000708361114', 'SAT970701NN3', 'SERVICIO DE ADMINISTRACION TRIBUTARIA'],
    ['20001000000300022779', 'SUL010720JN8', 'INDUSTRIAS CON CLASE SA DE CV'],
    ['30001000000500003456', 'SPR190613I52', 'SAT PRUEBAS'],
    ['CSD09_AAA010101AAA', 'AAA010101AAA', 'ACCEM SERVICIOS EMPRESARIALES SC'],
  ])('misc/%s.cer is read', (file, rfc, name) => {
    const bytes = readFile(base64(`misc/${file}.cer`), 'CERTIFICATE')!
    const number = file.startsWith('CSD') ? '30001000000300023705' : file
    expect(readCertificate(bytes)).toMatchObject({ number, rfc, name, isCsd: true })
  })

  it('misc/certificate-with-error.pem is refused', async () => {
    expect(await open('misc/certificate-with-error.pem', ekuFiel('key'), 'EKU9003173C9')).toBe('efirma.certificate_unreadable')
  })
})
