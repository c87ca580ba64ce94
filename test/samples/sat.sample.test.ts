import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Efirma } from '../../src/authority/efirma/efirma.ts'
import { expressionOf } from '../../src/authority/port/expression.ts'
import { readRequested, readToken, readVerified } from '../../src/authority/sat/answers.ts'
import {
  folioRequest,
  issuedRequest,
  type LoggedIn,
  loginRequest,
  packageRequest,
  readPackage,
  receivedRequest,
  signerOf,
  verificationRequest,
} from '../../src/authority/sat/session.ts'
import { expressionRequest, readStatus } from '../../src/authority/sat/status.ts'
import { readCfdi } from '../../src/cfdi/xml/parse.ts'
import { openFiles } from '../authority/support/open-files.ts'
import { verified } from '../authority/support/signatures.ts'
import { entriesIn } from '../cfdi/support/entries.ts'

const root = process.env['SAMPLES_DIR']
const here = root !== undefined
const text = (path: string): string => readFileSync(join(root ?? '', path), 'utf8')
const base64 = (path: string): string => readFileSync(join(root ?? '', path)).toString('base64')

const efirma = (): Promise<Efirma> => {
  const folder = 'efirma/EKU9003173C9-fiel/EKU9003173C9'
  const files = { certificate: base64(`${folder}.cer`), private_key: base64(`${folder}.key`), password: text(`${folder}-password.txt`) }
  return openFiles(files, 'EKU9003173C9', new Date('2026-11-22'))
}

const caller = async (): Promise<LoggedIn> => ({ signer: await signerOf(await efirma()), family: 'cfdi', token: 'token' })

const period = { FechaInicial: '2019-01-01T00:00:00', FechaFinal: '2019-01-01T00:04:00' }

describe.skipIf(!here)('golden requests of another client, equal but for white space between tags', () => {
  const golden = (path: string): string => text(`soap/descarga-masiva/${path}`).replace(/>\s+</g, '><').trim()

  it('authenticate/request.xml', async () => {
    const { body } = await loginRequest(
      (await caller()).signer,
      'cfdi',
      new Date('2019-08-01T03:38:19Z'),
      'cf6c80fb-00ae-44c0-af56-54ec65decbaa',
    )
    expect(body).toBe(golden('authenticate/request.xml'))
  })

  it('query/request-issued.xml', async () => {
    const { body } = await issuedRequest(await caller(), { ...period, TipoSolicitud: 'Metadata', EstadoComprobante: 'Todos' })
    expect(body).toBe(golden('query/request-issued.xml'))
  })

  it('query/request-received.xml', async () => {
    const { body } = await receivedRequest(await caller(), {
      ...period,
      TipoSolicitud: 'CFDI',
      EstadoComprobante: 'Vigente',
      TipoComprobante: 'N',
      Complemento: 'nomina12',
      RfcACuentaTerceros: 'XXX01010199A',
      RfcEmisor: 'AAA010101AAA',
    })
    expect(body).toBe(golden('query/request-received.xml'))
  })

  it('query/request-item.xml', async () => {
    const { body } = await folioRequest(await caller(), '96623061-61fe-49de-b298-c7156476aa8b')
    expect(body).toBe(golden('query/request-item.xml'))
  })

  it('verify/request.xml', async () => {
    const { body } = await verificationRequest(await caller(), '3f30a4e1-af73-4085-8991-e4d97eef16bd')
    expect(body).toBe(golden('verify/request.xml'))
  })

  it('download/request.xml', async () => {
    const { body } = await packageRequest(await caller(), '4e80345d-917f-40bb-a98f-4a73939343c5_01')
    expect(body).toBe(golden('download/request.xml'))
  })
})

const SOAP = 'soap/descarga-masiva'
const json = <T>(path: string): T => JSON.parse(text(path)) as T
const filesIn = (folder: string): string[] => (here ? readdirSync(join(root, folder)).filter((name) => name.endsWith('.xml')) : [])

/** An answer, or the reason why it is none. */
const outcome = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    return error
  }
}

describe.skipIf(!here)('requests of others', () => {
  it.each([
    ...[
      'authenticate/request.xml',
      'query/request-issued.xml',
      'query/request-received.xml',
      'query/request-item.xml',
      'verify/request.xml',
    ],
    ...['download/request.xml'],
  ])('%s is verified as the tests verify ours', (path) => {
    expect(verified(text(`${SOAP}/${path}`).replace(/>\s+</g, '><').trim()).subject).toContain('EKU9003173C9')
  })

  it('soap/status/soap-request-foobar.xml is ours, but for white space between tags', () => {
    expect(expressionRequest('?a=foo&b=bar').body).toBe(text('soap/status/soap-request-foobar.xml').replace(/>\s+</g, '><').trim())
  })
})

describe.skipIf(!here)('answers', () => {
  const ID = 'd49af78d-1c80-4221-a48d-345ace91626b'

  it('authenticate/response-with-token.xml', () => {
    const answer = text(`${SOAP}/authenticate/response-with-token.xml`)
    const token = /<AutenticaResult>(.*)<\/AutenticaResult>/.exec(answer)![1]
    expect(readToken(answer)).toEqual({ token, life: 300_000 })
  })

  it('authenticate/response-with-error.xml', () => {
    expect(outcome(() => readToken(text(`${SOAP}/authenticate/response-with-error.xml`)))).toMatchObject({
      ...{ kind: 'fault', fault: 'InvalidSecurity' },
    })
  })

  it.each([
    ...['query/response-issued.xml', 'query/response-received.xml', 'query/response-item.xml'],
    ...['python-satcfdi/response-emited-with-id.xml', 'python-satcfdi/response-folio-with-id.xml'],
  ])('%s', (path) => {
    expect(readRequested(text(`${SOAP}/${path}`))).toEqual({
      meaning: 'accepted',
      code: '5000',
      message: 'Solicitud Aceptada',
      request: ID,
    })
  })

  it('verify/response-0-packages.xml and verify/response-2-packages.xml', () => {
    expect(readVerified(text(`${SOAP}/verify/response-0-packages.xml`))).toMatchObject({ meaning: 'nothing', announced: 0, packages: [] })
    expect(readVerified(text(`${SOAP}/verify/response-2-packages.xml`))).toMatchObject({
      ...{ meaning: 'finished', announced: 12345 },
      packages: ['4e80345d-917f-40bb-a98f-4a73939343c5_01', '4e80345d-917f-40bb-a98f-4a73939343c5_02'],
    })
  })

  /** The package of an answer, which comes in small parts. */
  const packageOf = async (path: string) => {
    const bytes = readFileSync(join(root!, SOAP, path))
    async function* parts() {
      for (let at = 0; at < bytes.length; at += 100) yield new Uint8Array(bytes.subarray(at, at + 100))
    }
    const written: Uint8Array[] = []
    const answer = await readPackage(parts(), async (part) => {
      // Its buffer is filled again when this returns.
      written.push(part.slice())
    })
    return { ...answer, bytes: new Uint8Array(Buffer.concat(written)) }
  }

  it('download/response-with-package.xml, with the document in its ZIP', async () => {
    const { meaning, bytes } = await packageOf('download/response-with-package.xml')
    expect(meaning).toBe('accepted')
    const names = (await entriesIn(bytes)).map(({ name }) => name)
    expect(names).toEqual(['4abf0f69-8e7d-42bd-ac5f-787275eb52d2.xml'])
  })

  it('download/response-with-package-template.xml is accepted and has no package', async () => {
    await expect(packageOf('download/response-with-package-template.xml')).rejects.toMatchObject({ kind: 'malformed' })
  })

  /** What each synthetic answer means, by its name. */
  const MEANINGS: Record<string, string> = {
    'download-404': 'failed',
    'download-5004': 'package_gone',
    'download-5007-vencido': 'package_gone',
    'download-5008-maximo': 'package_used_up',
    'fault-ActionNotSupported': 'fault',
    'query-300': 'token_refused',
    'query-301-antiguedad': 'too_old',
    'query-301-cancelados': 'cancelled_refused',
    'query-301': 'request_malformed',
    'query-302': 'signature_refused',
    'query-303': 'signature_refused',
    'query-304': 'certificate_refused',
    'query-305': 'certificate_refused',
    'query-404': 'failed',
    'query-5000': 'accepted',
    'query-5001': 'not_authorized',
    'query-5002': 'parameters_used_up',
    'query-5005': 'duplicate',
    'query-5006': 'failed',
    'query-folio-5012': 'document_cancelled',
    'verify-1-aceptada': 'waiting',
    'verify-2-en-proceso': 'waiting',
    'verify-3-terminada-2paq': 'finished',
    'verify-3-terminada': 'finished',
    'verify-301-id-invalido': 'request_malformed',
    'verify-4-error': 'failed',
    'verify-5-duplicada-5005': 'duplicate',
    'verify-5-rechazada-5002': 'parameters_used_up',
    'verify-5-rechazada-5003': 'too_many',
    'verify-5-sin-info-5004': 'nothing',
    'verify-5004-id-desconocido': 'request_gone',
    'verify-5011': 'daily_limit',
    'verify-6-vencida': 'request_gone',
  }

  it.each(filesIn(`${SOAP}/synthetic`))('synthetic/%s', async (name) => {
    const path = `${SOAP}/synthetic/${name}`
    const read = name.startsWith('verify') ? readVerified : readRequested
    const answer = name.startsWith('download') ? await packageOf(`synthetic/${name}`) : outcome(() => read(text(path)))
    const { meaning, kind } = answer as { meaning?: string; kind?: string }
    expect(meaning ?? kind).toBe(MEANINGS[name.replace('.xml', '')])
  })

  it('of the status service are read to their expected values', () => {
    const expected = json<Record<string, Record<string, string | null>>>('soap/status/synthetic/expected.json')
    expect(filesIn('soap/status/synthetic')).toHaveLength(Object.keys(expected).length)
    for (const [name, fields] of Object.entries(expected)) {
      const { estatus, es_cancelable, estatus_cancelacion } = readStatus(text(`soap/status/synthetic/${name}.xml`))
      const isSaid = [fields['EsCancelable'], fields['EstatusCancelacion']].map(Boolean)
      expect([name, es_cancelable !== null, estatus_cancelacion !== null]).toEqual([name, ...isSaid])
      const states = { Vigente: 'vigente', Cancelado: 'cancelado' } as Record<string, string>
      const wanted = name.includes('601') ? 'unknown' : (states[fields['Estado']!] ?? 'no_encontrado')
      expect({ name, estatus }).toEqual({ name, estatus: wanted })
    }
    expect(readStatus(text('soap/status/soap-response.xml'))).toMatchObject({
      ...{ estatus: 'vigente', es_cancelable: 'cancelable_con_aceptacion', estatus_cancelacion: 'rechazada' },
    })
  })
})

describe.skipIf(!here)('expressions of CFDIs', () => {
  const { derived_same_rules: expected } = here
    ? json<{ derived_same_rules: Record<string, { expression: string; type: string }> }>('cfdi/expected/expressions.json')
    : { derived_same_rules: {} }
  // Retenciones have a page of their own, which is not asked.
  const cfdis = Object.entries(expected).filter(([, { type }]) => !type.startsWith('RET'))

  it.each(cfdis)('%s', (path, { expression }) => {
    expect(
      expressionOf({ ...readCfdi(new Uint8Array(readFileSync(join(root!, 'cfdi', path)))), uuid: /[?&]id=([^&]*)/.exec(expression)![1]! }),
    ).toBe(expression)
  })
})
