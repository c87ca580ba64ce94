import { createHash, createSign, type KeyObject } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MetadataLine, MetadataReader } from '../../src/cfdi/package/package.ts'
import { parseCfdi } from '../../src/cfdi/xml/parse.ts'
import { certificateOf, ISSUER, newKey, subjectOf } from '../../test/authority/support/certificates.ts'
import { unzip } from '../../test/authority/support/unzip.ts'
import type { Quirk } from './packages.ts'
import { sendOver } from './send-over.ts'
import { newAuthority, type StandIn, startStandIn } from './stand-in.ts'
import { TROUBLE_NAMES, troubleOf } from './trouble.ts'
import { generate } from './truth/generate.ts'
import { Truth } from './truth/truth.ts'

/** Requests as they stand here: nothing of the service writes, signs or reads them. */

const RFC = 'EKU9003173C9'
const HOST = 'cfdidescargamasivasolicitud.clouda.sat.gob.mx'
const UTILITY = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd'
const DES = 'http://DescargaMasivaTerceros.sat.gob.mx'
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const XMLDSIG = 'http://www.w3.org/2000/09/xmldsig#'

interface Signer {
  key: KeyObject
  certificate: string
}
const signerOf = (rfc: string): Signer => {
  const key = newKey()
  const subject = subjectOf(rfc.length === 12 ? `${rfc} / VADA800927DJ3` : rfc, 'utf8')
  return { key, certificate: certificateOf(key, { subject, issuer: ISSUER }).toString('base64') }
}

function signature({ key }: Signer, canonical: string, uri: string, keyInfo: string): string {
  const info =
    `<CanonicalizationMethod Algorithm="${EXCLUSIVE}"></CanonicalizationMethod><SignatureMethod Algorithm="${XMLDSIG}rsa-sha1"></SignatureMethod>` +
    `<Reference URI="${uri}"><Transforms><Transform Algorithm="${EXCLUSIVE}"></Transform></Transforms>` +
    `<DigestMethod Algorithm="${XMLDSIG}sha1"></DigestMethod>` +
    `<DigestValue>${createHash('sha1').update(canonical).digest('base64')}</DigestValue></Reference>`
  const value = createSign('RSA-SHA1').update(`<SignedInfo xmlns="${XMLDSIG}">${info}</SignedInfo>`).sign(key, 'base64')
  return `<Signature xmlns="${XMLDSIG}"><SignedInfo>${info}</SignedInfo><SignatureValue>${value}</SignatureValue><KeyInfo>${keyInfo}</KeyInfo></Signature>`
}

const envelope = (header: string, body: string): string =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:u="${UTILITY}" xmlns:des="${DES}"><s:Header>${header}</s:Header><s:Body>${body}</s:Body></s:Envelope>`

function login(signer: Signer, from = Date.now()): string {
  const [created, expires] = [from, from + 300_000].map((at) => new Date(at).toISOString())
  const times = `<u:Created>${created}</u:Created><u:Expires>${expires}</u:Expires></u:Timestamp>`
  const signed = signature(signer, `<u:Timestamp xmlns:u="${UTILITY}" u:Id="_0">${times}`, '#_0', '')
  return envelope(
    `<o:Security xmlns:o="urn:o"><u:Timestamp u:Id="_0">${times}<o:BinarySecurityToken u:Id="t">${signer.certificate}</o:BinarySecurityToken>${signed}</o:Security>`,
    '<Autentica xmlns="http://DescargaMasivaTerceros.gob.mx"/>',
  )
}

function business(signer: Signer, operation: string, parameters: Record<string, string>): string {
  const asked = Object.entries(parameters)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ` ${name}="${value}"`)
    .join('')
  const [outer, inner] =
    operation === 'Descargar' ? ['PeticionDescargaMasivaTercerosEntrada', 'peticionDescarga'] : [operation, 'solicitud']
  const canonical = `<des:${outer} xmlns:des="${DES}"><des:${inner}${asked}></des:${inner}></des:${outer}>`
  const signed = signature(signer, canonical, '', `<X509Data><X509Certificate>${signer.certificate}</X509Certificate></X509Data>`)
  return envelope('', `<des:${outer}><des:${inner}${asked}>${signed}</des:${inner}></des:${outer}>`)
}

const PATHS: Record<string, [host: string, path: string, contract: string]> = {
  Autentica: [HOST, 'Autenticacion/Autenticacion', 'http://DescargaMasivaTerceros.gob.mx/IAutenticacion'],
  VerificaSolicitudDescarga: [HOST, 'VerificaSolicitudDescargaService', `${DES}/IVerificaSolicitudDescargaService`],
  Descargar: ['cfdidescargamasiva.clouda.sat.gob.mx', 'DescargaMasivaService', `${DES}/IDescargaMasivaTercerosService`],
}

let standIn: StandIn
const owner = signerOf(RFC)

async function post(operation: string, body: string, token = '', server = standIn): Promise<{ status: number; text: string }> {
  const [host, path, contract] = PATHS[operation] ?? [HOST, 'SolicitaDescargaService', `${DES}/ISolicitaDescargaService`]
  const headers = {
    'Content-Type': 'text/xml;charset="utf-8"',
    SOAPAction: `${contract}/${operation}`,
    Authorization: `WRAP access_token="${token}"`,
  }
  const answer = await sendOver(server.url)(`https://${host}/${path}.svc`, { headers, body })
  return { status: answer.status, text: await answer.text() }
}

const codeOf = ({ text }: { text: string }): string | undefined => /CodEstatus="(\w+)"/.exec(text)?.[1]
const tokenOf = async (signer: Signer, server = standIn): Promise<string> =>
  /<AutenticaResult>(.*)<\/AutenticaResult>/.exec((await post('Autentica', login(signer), '', server)).text)?.[1] ?? ''

let second = 0
const query = (more: Record<string, string> = {}): Record<string, string> => ({
  RfcSolicitante: RFC,
  RfcEmisor: RFC,
  TipoSolicitud: 'Metadata',
  EstadoComprobante: 'Todos',
  FechaInicial: '2026-01-01T00:00:00',
  FechaFinal: `2026-03-31T23:${String(Math.floor(++second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}`,
  ...more,
})
const SOLICITA = 'SolicitaDescargaEmitidos'
const RECEIVED = { RfcReceptor: RFC, RfcEmisor: '' }

beforeAll(async () => {
  standIn = await startStandIn({ truth: generate({ rfc: RFC, from: '2026-01', months: 3 }) })
})
afterAll(() => standIn.close())

describe('the signature of a request', () => {
  it('is accepted when it is right', async () => {
    const token = await tokenOf(owner)
    expect(token).toMatch(/%26wrap_subject%3d33303030/)
    expect(codeOf(await post(SOLICITA, business(owner, SOLICITA, query()), token))).toBe('5000')
  })

  it('is refused when it is wrong in one character, when what it signs is, and when another key made it', async () => {
    const token = await tokenOf(owner)
    const right = business(owner, SOLICITA, query())
    const flipped = right.replace(/(<SignatureValue>)(.)/, (_, tag: string, first: string) => `${tag}${first === 'A' ? 'B' : 'A'}`)
    const other = { key: newKey(), certificate: owner.certificate }
    for (const body of [
      flipped,
      right.replace('Metadata', 'CFDI'),
      right.replace('</s:Body>', '<x/></s:Body>').replace('T00:00:00', 'T00:00:01'),
      business(other, SOLICITA, query()),
    ])
      expect(codeOf(await post(SOLICITA, body, token))).toBe('302')
    for (const body of [
      login(other),
      login(owner)
        .replace('.000Z', '.001Z')
        .replace(/Z<\/u:Expires>/, '1Z</u:Expires>'),
    ]) {
      const { status, text } = await post('Autentica', body)
      expect([status, /InvalidSecurity/.test(text)]).toEqual([500, true])
    }
  })

  it('of a login is refused when its times are not now', async () => {
    for (const from of [Date.now() - 301_000, Date.now() + 120_000])
      expect((await post('Autentica', login(owner, from))).text).toContain('InvalidSecurity')
  })

  it('lets nobody ask for another RFC, with the own or another certificate or token', async () => {
    const stranger = signerOf('JES900109Q90')
    const [token, strange] = [await tokenOf(owner), await tokenOf(stranger)]
    expect(codeOf(await post(SOLICITA, business(owner, SOLICITA, query({ RfcSolicitante: 'JES900109Q90' })), token))).toBe('303')
    expect(codeOf(await post(SOLICITA, business(stranger, SOLICITA, query()), strange))).toBe('303')
    expect(codeOf(await post(SOLICITA, business(stranger, SOLICITA, query()), token))).toBe('300')
    expect(codeOf(await post(SOLICITA, business(owner, SOLICITA, query()), 'invented'))).toBe('300')
  })
})

describe('a request for documents', () => {
  it.each<[string, Record<string, string>, string, RegExp]>([
    ['begins after its end', { FechaInicial: '2026-04-01T00:00:00' }, '301', /Mal Formado/],
    ['has a date with a zone', { FechaInicial: '2026-01-01T00:00:00Z' }, '301', /Mal Formado/],
    ['reaches back more than six years', { FechaInicial: '2019-01-01T00:00:00' }, '301', /antigüedad/],
    ['names another issuer', { RfcEmisor: 'JES900109Q90' }, '301', /./],
    ['wants neither CFDIs nor metadata', { TipoSolicitud: 'PDF' }, '301', /./],
  ])('is refused when it %s', async (_, more, code, message) => {
    const answer = await post(SOLICITA, business(owner, SOLICITA, query(more)), await tokenOf(owner))
    expect([codeOf(answer), message.test(answer.text)]).toEqual([code, true])
  })

  it('of received documents is refused without the receiver, and for XML of cancelled ones', async () => {
    const token = await tokenOf(owner)
    const operation = 'SolicitaDescargaRecibidos'
    const answers = [query({ RfcEmisor: '' }), query({ ...RECEIVED, TipoSolicitud: 'CFDI' })].map((one) =>
      post(operation, business(owner, operation, one), token),
    )
    expect((await Promise.all(answers)).map(({ text }) => /Mensaje="([^"]*)"/.exec(text)?.[1])).toEqual([
      'El atributo RfcReceptor es obligatorio',
      'No se permite la descarga de xml que se encuentren cancelados',
    ])
  })

  it('is a duplicate while an equal one is not done, is accepted once more afterwards, and then never again', async () => {
    const token = await tokenOf(owner)
    const same = query()
    const ask = () => post(SOLICITA, business(owner, SOLICITA, same), token)
    const verify = async (answer: { text: string }) => {
      const IdSolicitud = /IdSolicitud="([^"]*)"/.exec(answer.text)![1]!
      const operation = 'VerificaSolicitudDescarga'
      return post(operation, business(owner, operation, { IdSolicitud, RfcSolicitante: RFC }), token)
    }
    const first = await ask()
    expect([codeOf(first), codeOf(await ask())]).toEqual(['5000', '5005'])
    expect((await verify(first)).text).toContain('EstadoSolicitud="3"')
    const again = await ask()
    expect(codeOf(again)).toBe('5000')
    await verify(again)
    expect([codeOf(await ask()), codeOf(await ask())]).toEqual(['5002', '5002'])
    expect(standIn.log.violations.filter((one) => one.startsWith('Asked again'))).toHaveLength(4)
  })
})

it('two requests of an RFC within two seconds are told, and those of two RFCs are not', () => {
  const authority = newAuthority()
  const at = (rfc: string, milliseconds: number) =>
    authority.log.note({
      at: milliseconds,
      host: HOST,
      operation: 'Descargar',
      family: 'cfdi',
      rfc,
      parameters: {},
      period: null,
      answer: '',
    })
  at(RFC, 0)
  at('JES900109Q90', 500)
  at(RFC, 2_000)
  expect(authority.log.violations).toEqual([])
  at(RFC, 3_999)
  expect(authority.log.violations).toEqual([`Descargar of ${RFC} comes 1999 ms after Descargar.`])
})

describe('the truth', () => {
  const truth = generate({ rfc: RFC, from: '2025-11', months: 4, counts: { issued: 12, received: 12, payroll: 3, retenciones: 4 } })
  const later = new Date('2027-01-01T00:00:00Z')

  it('is the same for the same wish, also where it is a part of a longer one', () => {
    const key = ({ uuid, fecha, total, cancelled, xml }: (typeof truth.documents)[number]) => [uuid, fecha, total, cancelled, xml()]
    const part = generate({ rfc: RFC, from: '2026-01', months: 1, counts: { issued: 12, received: 12, payroll: 3, retenciones: 4 } })
    expect(part.documents.map(key)).toEqual(truth.documents.filter(({ fecha }) => fecha.startsWith('2026-01')).map(key))
    expect(generate({ rfc: RFC, from: '2026-01', months: 1, seed: 'other' }).documents[0]!.uuid).not.toBe(part.documents[0]!.uuid)
    expect(new Set(truth.documents.map(({ uuid }) => uuid)).size).toBe(4 * 31)
  })

  it('says what is announced and what can be obtained, by source and month', () => {
    const [issued, received] = (['sat_cfdi_issued', 'sat_cfdi_received'] as const).map((source) => ({
      announced: truth.announced(RFC, source, '2025-12', later),
      obtainable: truth.obtainable(RFC, source, '2025-12', later),
      cancelled: truth.cancelled(RFC, source, '2025-12', later),
    }))
    expect([issued!.announced.size, issued!.obtainable.size, issued!.cancelled.size]).toEqual([17, 17, 2])
    expect([received!.announced.size, received!.obtainable.size, received!.cancelled.size]).toEqual([14, 12, 2])
    expect(truth.announced(RFC, 'sat_cfdi_issued', '2026-12', later).size).toBe(0)
  })

  it('has what is stamped late only from its stamp on, and what is cancelled later only then', () => {
    const late = truth.documents.find(({ fecha, stamped }) => Date.parse(stamped) - Date.parse(fecha) > 70 * 3_600_000)!
    const source = late.emisor.rfc === RFC ? 'sat_cfdi_issued' : 'sat_cfdi_received'
    const has = (literal: string) => truth.between(RFC, source, late.fecha, late.fecha, literal).some(({ uuid }) => uuid === late.uuid)
    expect([has(late.fecha), has(late.stamped)]).toEqual([false, true])
    truth.cancel(late.uuid.toLowerCase(), later)
    expect(truth.get(late.uuid).cancelled).toBe('2026-12-31T18:00:00')
    expect(() => truth.cancel('x')).toThrow()
  })

  it('begins and ends a month in its first and last second, and has every kind of document, each of which the service can read', () => {
    expect(truth.documents.filter(({ fecha }) => /-01T00:00:00$/.test(fecha)).length).toBe(16)
    expect(truth.documents.filter(({ fecha }) => /-(28|30|31)T23:59:59$/.test(fecha)).length).toBe(16)
    const kinds: Record<string, number> = {}
    for (const { uuid, family, type, emisor, receptor, fecha, total, xml } of truth.documents) {
      const read = parseCfdi(Buffer.from(xml()))
      expect([read.uuid, read.kind, read.tipo_comprobante ?? '', read.fecha]).toEqual([uuid, family, type, fecha])
      const amount = family === 'cfdi' ? read.total : read.retencion?.monto_total_operacion
      expect([read.emisor_rfc, read.receptor_rfc, Number(amount)]).toEqual([emisor.rfc, receptor.rfc, Number(total)])
      expect([uuid, read.repairs]).toEqual([uuid, []])
      kinds[type] = (kinds[type] ?? 0) + 1
    }
    expect(kinds).toEqual({ I: 64, P: 16, E: 16, N: 12, '': 16 })
  })
})

describe('packages', () => {
  const all: Quirk[] = ['duplicated', 'reordered', 'names', 'bom']
  const truth = generate({ rfc: RFC, from: '2026-01', months: 1 })

  it.each<[string, Quirk[]]>([
    ['as they should be', []],
    ['duplicated, reordered, and with odd names', all],
  ])('have the documents, %s', (_, quirks) => {
    const { requests } = newAuthority({ truth, quirks, packageSize: 3, now: () => new Date('2026-06-01T00:00:00Z') })
    for (const kind of ['CFDI', 'Metadata'] as const) {
      const parameters = { ...query({ TipoSolicitud: kind }) }
      const request = requests.take('cfdi', 'sat_cfdi_issued', RFC, parameters, kind)
      if ('code' in request) throw new Error(request.code)
      expect(request.packages.length).toBe(3)
      const found = request.packages.flatMap(({ id }) => {
        const zipped = requests.download('cfdi', RFC, id)
        if ('code' in zipped) throw new Error(zipped.code)
        return kind === 'CFDI' ? inXml(zipped) : inMetadata(zipped)
      })
      expect([...new Set(found)].sort()).toEqual(request.documents.map(({ uuid }) => uuid).sort())
      expect(found.length).toBe(quirks.length === 0 ? 8 : 8 + 3 + 2)
      // The second download is the last.
      const { id } = request.packages[0]!
      expect('code' in requests.download('cfdi', RFC, id)).toBe(false)
      expect(requests.download('cfdi', RFC, id)).toEqual({ code: '5008' })
      expect(requests.download('cfdi', 'JES900109Q90', id)).toEqual({ code: '5007' })
      expect(requests.download('retenciones', RFC, id)).toEqual({ code: '5007' })
    }
  })

  const inXml = (zipped: Uint8Array): string[] =>
    [...unzip(new Uint8Array(zipped)).values()].flatMap((text) =>
      text.includes('Comprobante') ? [parseCfdi(Buffer.from(text)).uuid!] : [],
    )

  const inMetadata = (zipped: Uint8Array): string[] =>
    [...unzip(new Uint8Array(zipped)).values()].flatMap((text) => {
      const reader = new MetadataReader()
      const lines: MetadataLine[] = [...reader.push(text.replace(/^\uFEFF/, '')), ...reader.end()]
      return lines.map(({ row, rejected }) => row?.uuid ?? JSON.stringify(rejected))
    })

  it('lack what is withheld, although it is counted, and only of XML', () => {
    const withheld = new Set([...truth.obtainable(RFC, 'sat_cfdi_issued', '2026-01')].slice(0, 1))
    const { requests } = newAuthority({ truth, withheld })
    const [xml, metadata] = (['CFDI', 'Metadata'] as const).map((kind) => {
      const request = requests.take('cfdi', 'sat_cfdi_issued', RFC, query({ TipoSolicitud: kind }), kind)
      if ('code' in request) throw new Error(request.code)
      return [request.documents.length, request.packages.flatMap(({ documents }) => documents).length]
    })
    expect([xml, metadata]).toEqual([
      [8, 7],
      [8, 8],
    ])
  })

  it('end after their time, and their request with them', async () => {
    let now = Date.now()
    const aged = await startStandIn({ truth, now: () => new Date(now) })
    try {
      const token = await tokenOf(owner, aged)
      const answer = await post(SOLICITA, business(owner, SOLICITA, query()), token, aged)
      const IdSolicitud = /IdSolicitud="([^"]*)"/.exec(answer.text)![1]!
      now += 72 * 3_600_000 + 1
      const late = signerOf(RFC)
      const renewed = /<AutenticaResult>(.*)<\/AutenticaResult>/.exec((await post('Autentica', login(late, now), '', aged)).text)![1]!
      const operation = 'VerificaSolicitudDescarga'
      const verified = await post(operation, business(late, operation, { IdSolicitud, RfcSolicitante: RFC }), renewed, aged)
      expect(verified.text).toContain('EstadoSolicitud="6"')
      const { packages } = aged.authority.requests.all[0]!
      const asked = business(late, 'Descargar', { IdPaquete: packages[0]!.id, RfcSolicitante: RFC })
      expect(codeOf(await post('Descargar', asked, renewed, aged))).toBe('5007')
    } finally {
      await aged.close()
    }
  })
})

it('a script answers so many requests of a kind, after so many have passed', () => {
  const { script } = newAuthority({
    script: [
      { operation: 'Descargar', after: 1, times: 2, answer: { code: '5006' } },
      { source: 'sat_cfdi_issued', kind: 'CFDI', answer: { page: true } },
    ],
  })
  const asked = { operation: 'Descargar', family: 'cfdi', rfc: RFC } as const
  expect([1, 2, 3, 4].map(() => script.answerTo(asked)?.code)).toEqual([undefined, '5006', '5006', undefined])
  expect(script.answerTo({ ...asked, operation: SOLICITA, source: 'sat_cfdi_received', kind: 'CFDI' })).toBeNull()
  expect(script.answerTo({ ...asked, operation: SOLICITA, source: 'sat_cfdi_issued', kind: 'CFDI' })).toEqual({ page: true })
})

it('what is asked elsewhere, or otherwise, gets a page or a fault', async () => {
  const ask = sendOver(standIn.url)
  const soap = { 'Content-Type': 'text/xml', SOAPAction: 'x' }
  const answers = await Promise.all([
    ask('https://example.com/', { headers: soap, body: '' }),
    ask(`https://${HOST}/DescargaMasivaService.svc`, { headers: soap, body: '' }),
    ask(`https://${HOST}/SolicitaDescargaService.svc`, { headers: { ...soap, 'Content-Type': 'text/plain' }, body: '' }),
    ask(`https://${HOST}/SolicitaDescargaService.svc`, {
      headers: { ...soap, SOAPAction: `${DES}/ISolicitaDescargaService/SolicitaDescarga` },
      body: '',
    }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 415, 500])
  expect(await answers[3]!.text()).toContain('ActionNotSupported')
})

it('the truth of several RFCs is one', () => {
  const truths = [generate({ rfc: RFC, from: '2026-01', months: 1 }), generate({ rfc: 'JES900109Q90', from: '2026-01', months: 1 })]
  const both = new Truth(truths.flatMap(({ documents }) => documents))
  expect(both.documents.length).toBe(32)
  expect(both.announced('JES900109Q90', 'sat_cfdi_issued', '2026-01').size).toBeGreaterThan(8)
})

describe('a trouble', () => {
  it('is a step of the script, as often as it says', () => {
    expect(troubleOf(' 304 ')).toMatchObject({ times: 1, answer: { code: '304' } })
    expect(troubleOf('html:5')).toMatchObject({ times: 5, answer: { page: true } })
    for (const name of TROUBLE_NAMES) expect(troubleOf(name)?.times, name).toBe(1)
    for (const none of ['', 'rain', 'html:', 'html:x', 'toString']) expect(troubleOf(none)).toBeNull()
  })
})
