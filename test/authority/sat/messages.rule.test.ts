import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readCertificate } from '../../../src/authority/efirma/efirma.ts'
import {
  folioRequest,
  issuedRequest,
  type LoggedIn,
  loginRequest,
  packageRequest,
  receivedRequest,
  type Signer,
  signerOf,
  verificationRequest,
} from '../../../src/authority/sat/session.ts'
import { runs } from '../../support/fuzz.ts'
import { certificateOf, newKey, subjectOf, type TestName } from '../support/certificates.ts'
import { attributeOf, named, parsed, verified } from '../support/signatures.ts'

const key = newKey()
const pkcs8 = new Uint8Array(key.export({ format: 'der', type: 'pkcs8' }))
const signer = (rfc = 'EKU9003173C9', issuer?: TestName): Promise<Signer> => {
  const der = certificateOf(key, { subject: subjectOf(rfc, 'utf8'), ...(issuer && { issuer }) })
  return signerOf({ rfc, certificate: readCertificate(new Uint8Array(der)), pkcs8 })
}
const loggedIn = async (rfc?: string, family: LoggedIn['family'] = 'cfdi'): Promise<LoggedIn> => ({
  signer: await signer(rfc),
  family,
  token: 'eyJ.x-y_z%26wrap_subject%3d33',
})

const QUERY = {
  TipoSolicitud: 'CFDI',
  FechaInicial: '2026-01-01T00:00:00',
  FechaFinal: '2026-06-30T23:59:58',
  EstadoComprobante: 'Vigente',
} as const
const NOW = new Date('2026-11-22T12:00:00.987Z')
const UUID = '96623061-61fe-49de-b298-c7156476aa8b'

const requests = (session: LoggedIn) => ({
  Autentica: loginRequest(session.signer, session.family, NOW, UUID),
  SolicitaDescargaEmitidos: issuedRequest(session, QUERY),
  SolicitaDescargaRecibidos: receivedRequest(session, QUERY),
  SolicitaDescargaFolio: folioRequest(session, UUID),
  VerificaSolicitudDescarga: verificationRequest(session, UUID),
  Descargar: packageRequest(session, `${UUID}_01`),
})

/** The parameters of a request. */
const asked = (body: string): Record<string, string> => {
  const [element] = [...named(parsed(body), 'solicitud'), ...named(parsed(body), 'peticionDescarga')]
  return Object.fromEntries(element!.attributes.map(({ name, value }) => [name, value]))
}

describe('a request', () => {
  it.each(['EKU9003173C9', 'Ñ&A050908GT0'])('of %s is signed so that others verify it, whatever the operation', async (rfc) => {
    const session = await loggedIn(rfc)
    for (const request of Object.values(requests(session))) {
      const certificate = verified((await request).body)
      expect(certificate.raw.toString('base64')).toBe(session.signer.certificate)
    }
  })

  it('goes to the service of its family and operation', async () => {
    const targets = async (family: LoggedIn['family']) =>
      Object.values(requests(await loggedIn(undefined, family))).map(async (one) => {
        const { url, headers } = await one
        return [url, headers['SOAPAction']]
      })
    const des = 'http://DescargaMasivaTerceros.sat.gob.mx'
    const at = (name: string) => [
      [
        `https://${name}solicitud.clouda.sat.gob.mx/Autenticacion/Autenticacion.svc`,
        'http://DescargaMasivaTerceros.gob.mx/IAutenticacion/Autentica',
      ],
      ...['Emitidos', 'Recibidos', 'Folio'].map((kind) => [
        `https://${name}solicitud.clouda.sat.gob.mx/SolicitaDescargaService.svc`,
        `${des}/ISolicitaDescargaService/SolicitaDescarga${kind}`,
      ]),
      [
        `https://${name}solicitud.clouda.sat.gob.mx/VerificaSolicitudDescargaService.svc`,
        `${des}/IVerificaSolicitudDescargaService/VerificaSolicitudDescarga`,
      ],
      [`https://${name}.clouda.sat.gob.mx/DescargaMasivaService.svc`, `${des}/IDescargaMasivaTercerosService/Descargar`],
    ]
    expect(await Promise.all(await targets('cfdi'))).toEqual(at('cfdidescargamasiva'))
    expect(await Promise.all(await targets('retenciones'))).toEqual(at('retendescargamasiva'))
  })

  it('carries the token exactly as the login gave it, and the login carries none', async () => {
    const { Autentica, ...others } = requests(await loggedIn())
    expect((await Autentica).headers).toEqual({
      'Content-Type': 'text/xml;charset="utf-8"',
      Accept: 'text/xml',
      SOAPAction: 'http://DescargaMasivaTerceros.gob.mx/IAutenticacion/Autentica',
    })
    for (const request of Object.values(others))
      expect((await request).headers).toMatchObject({ Authorization: 'WRAP access_token="eyJ.x-y_z%26wrap_subject%3d33"' })
  })

  it('has an element that is named after its operation', async () => {
    for (const [operation, request] of Object.entries(requests(await loggedIn()))) {
      const { body, headers } = await request
      const [element] = named(parsed(body), 'Body')[0]!.children as { local: string; uri: string }[]
      expect(element!.local).toBe(operation === 'Descargar' ? 'PeticionDescargaMasivaTercerosEntrada' : operation)
      expect(headers['SOAPAction']).toContain(`${element!.uri}/I`)
    }
  })

  it('names what the authority named as it is, also when that is markup', async () => {
    const session = await loggedIn()
    const evil = `"/></des:solicitud><x a='&amp;`
    for (const [request, name] of [
      [verificationRequest(session, evil), 'IdSolicitud'],
      [packageRequest(session, evil), 'IdPaquete'],
    ] as const) {
      const { body } = await request
      verified(body)
      expect(asked(body)[name]).toBe(evil)
    }
  })

  it('sends empty elements of its signature as the examples of its operation do', async () => {
    for (const [operation, request] of Object.entries(requests(await loggedIn()))) {
      const { body } = await request
      const names = ['CanonicalizationMethod', 'SignatureMethod', 'Transform', 'DigestMethod']
      const isClosed = operation.startsWith('Solicita')
      for (const name of names)
        expect(body.match(new RegExp(`<${name} Algorithm="[^"]*"(?:/>|></${name}>)`))![0].endsWith('/>')).toBe(!isClosed)
    }
  })

  it('asks for what it says: its own RFC as issuer or receiver, and nothing that is not given', async () => {
    const { SolicitaDescargaEmitidos, SolicitaDescargaRecibidos, SolicitaDescargaFolio, VerificaSolicitudDescarga, Descargar } = requests(
      await loggedIn(),
    )
    const RfcSolicitante = 'EKU9003173C9'
    expect(asked((await SolicitaDescargaEmitidos).body)).toEqual({ ...QUERY, RfcEmisor: RfcSolicitante, RfcSolicitante })
    expect(asked((await SolicitaDescargaRecibidos).body)).toEqual({ ...QUERY, RfcReceptor: RfcSolicitante, RfcSolicitante })
    expect(asked((await SolicitaDescargaFolio).body)).toEqual({ Folio: UUID, RfcSolicitante })
    expect(asked((await VerificaSolicitudDescarga).body)).toEqual({ IdSolicitud: UUID, RfcSolicitante })
    expect(asked((await Descargar).body)).toEqual({ IdPaquete: `${UUID}_01`, RfcSolicitante })
  })

  it('is signed for whatever its parameters contain', async () => {
    const session = await loggedIn()
    const character = fc.constantFrom('&', '<', '>', '"', "'", '\t', '\n', '\r', 'Ñ', '😀', ' ', 'a', ';')
    const value = fc.string({ unit: character, minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(value, value, async (Complemento, RfcEmisor) => {
        const { body } = await receivedRequest(session, { ...QUERY, Complemento, RfcEmisor })
        verified(body)
        expect(asked(body)).toMatchObject({ Complemento, RfcEmisor })
      }),
      { numRuns: runs(60, 2_000) },
    )
  })

  it('names an issuer with special characters so that XML allows it', async () => {
    const odd: TestName = [
      ['2.5.4.10', 'A & B <C>'],
      ['2.5.4.45', 'SAT970701NN3'],
    ]
    const { body } = await verificationRequest({ ...(await loggedIn()), signer: await signer(undefined, odd) }, UUID)
    verified(body)
    expect(named(parsed(body), 'X509IssuerName')[0]!.children).toEqual(['O=A & B \\3cC\\3e,x500UniqueIdentifier=SAT970701NN3'])
  })

  it('to log in is valid for five minutes from the second on, in UTC', async () => {
    const envelope = parsed((await loginRequest(await signer(), 'cfdi', NOW, UUID)).body)
    expect(['Created', 'Expires'].map((name) => named(envelope, name)[0]!.children)).toEqual([
      ['2026-11-22T12:00:00.000Z'],
      ['2026-11-22T12:05:00.000Z'],
    ])
    const [token] = named(envelope, 'BinarySecurityToken')
    expect([attributeOf(token!, 'Id'), attributeOf(named(envelope, 'Reference')[1]!, 'URI')]).toEqual([`uuid-${UUID}-1`, `#uuid-${UUID}-1`])
  })
})

it('a request that was changed on its way is not verified', async () => {
  const { body } = await issuedRequest(await loggedIn(), QUERY)
  expect(() => verified(body.replace('Vigente', 'Todos'))).toThrow('digest')
  expect(() => verified(body.replace(/(<DigestValue>)./, '$1_'))).toThrow()
  const [, signature] = /<SignatureValue>(.{8})/.exec(body)!
  expect(() => verified(body.replace(signature!, [...signature!].reverse().join('')))).toThrow('signature')
})
