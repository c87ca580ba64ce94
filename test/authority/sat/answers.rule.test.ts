import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readRequested, readToken, readVerified, Unanswered } from '../../../src/authority/sat/answers.ts'
import { readStatus } from '../../../src/authority/sat/status.ts'
import { runs } from '../../support/fuzz.ts'
import { envelope, faultAnswer, PAGE, requestAnswer, statusAnswer, tokenAnswer, verificationAnswer } from '../support/sat-answers.ts'

const ID = 'd49af78d-1c80-4221-a48d-345ace91626b'
const readers = { readToken, readRequested, readVerified, readStatus }

/** Why a text is no answer. */
const kindOf = (read: (text: string) => unknown, text: string): unknown => {
  try {
    return read(text)
  } catch (error) {
    if (error instanceof Unanswered) return error.kind
    throw error
  }
}

describe('the answer to a login', () => {
  const token = 'eyJhbGciOiJodHRwOi8v.eyJuYmYi.NGZM3-_K927Do%26wrap_subject%3d3330'

  it('has a token that is kept as it is, and its life', () => {
    expect(readToken(tokenAnswer(token, ['2019-08-01T03:38:20.044Z', '2019-08-01T03:42:20.044Z']))).toEqual({ token, life: 240_000 })
  })

  it.each([
    ['says nothing of it', undefined],
    ['promises more', ['2019-08-01T03:38:20Z', '2019-08-01T03:48:20Z']],
    ['promises none', ['2019-08-01T03:38:20Z', '2019-08-01T03:38:20Z']],
    ['ends before it begins', ['2019-08-01T03:38:20Z', '2019-08-01T03:38:19Z']],
    ['has no times', ['soon', 'later']],
  ] as const)('counts as valid for five minutes when the authority %s', (_, times) => {
    expect(readToken(tokenAnswer(token, times)).life).toBe(300_000)
  })

  it.each(['a"b', 'a b', 'a\nAuthorization: b', 'ñ'])('whose token cannot go into a header, %j, is none', (one) => {
    expect(kindOf(readToken, tokenAnswer(one))).toBe('malformed')
  })

  it('without a token is none', () => {
    for (const text of [tokenAnswer(''), tokenAnswer(' \n'), requestAnswer({ CodEstatus: '5000' })])
      expect(kindOf(readToken, text)).toBe('malformed')
  })
})

describe('the answer to a request for documents', () => {
  it.each([
    ['5000', 'Solicitud Aceptada', 'accepted'],
    ['300', 'Usuario No Válido', 'token_refused'],
    ['301', 'XML Mal Formado', 'request_malformed'],
    ['301', 'No se permite la descarga de xml que se encuentren cancelados.', 'cancelled_refused'],
    ['301', 'La solicitud de Xml no puede contener información mayor a 6 años de ANTIGÜEDAD', 'too_old'],
    ['301', 'XML Mal Formado: RfcReceptor es requerido', 'receiver_missing'],
    ['302', 'Sello Mal Formado', 'signature_refused'],
    ['303', 'Sello no corresponde con RfcSolicitante', 'signature_refused'],
    ['304', 'Certificado Revocado o Caduco', 'certificate_refused'],
    ['305', 'Certificado Inválido', 'certificate_refused'],
    ['404', 'Error no controlado.', 'failed'],
    ['5001', 'Tercero no autorizado', 'not_authorized'],
    ['5002', 'Se han agotado las solicitudes de por vida', 'parameters_used_up'],
    ['5003', 'Tope máximo', 'too_many'],
    ['5004', 'No se encontró la información', 'nothing'],
    ['5005', 'Ya se tiene una solicitud registrada', 'duplicate'],
    ['5006', 'Error interno en el proceso', 'failed'],
    ['5011', 'Límite de descargas por folio por día', 'daily_limit'],
    ['5012', 'No se permite la descarga de xml que se encuentren cancelados', 'document_cancelled'],
    ['9999', 'Algo nuevo', 'unknown'],
  ])('%s (%s) means %s', (CodEstatus, Mensaje, meaning) => {
    for (const operation of ['SolicitaDescargaEmitidos', 'SolicitaDescargaRecibidos', 'SolicitaDescargaFolio'])
      expect(readRequested(requestAnswer({ IdSolicitud: ID, RfcSolicitante: 'EKU9003173C9', CodEstatus, Mensaje }, operation))).toEqual({
        ...{ meaning, code: CodEstatus, message: Mensaje, request: ID },
      })
  })

  it('is kept up to a length that a log and a row bear', () => {
    const { code, message } = readRequested(requestAnswer({ CodEstatus: '9'.repeat(5_000), Mensaje: 'x'.repeat(50_000) }))
    expect([code.length, message.length]).toEqual([16, 500])
  })

  it('names its request in lower case, and need not name one that was refused', () => {
    expect(readRequested(requestAnswer({ CodEstatus: '5000', IdSolicitud: ID.toUpperCase() })).request).toBe(ID)
    expect(readRequested(requestAnswer({ CodEstatus: '5005', Mensaje: 'Ya' })).request).toBeNull()
  })

  it('that was accepted without a request, or has no code, is none', () => {
    expect(kindOf(readRequested, requestAnswer({ CodEstatus: '5000' }))).toBe('malformed')
    expect(kindOf(readRequested, requestAnswer({ IdSolicitud: ID }))).toBe('malformed')
  })
})

describe('the answer to a verification', () => {
  it.each([
    ['1', '5000', 'waiting'],
    ['2', '5000', 'waiting'],
    ['3', '5000', 'finished'],
    ['4', '404', 'failed'],
    ['5', '5002', 'parameters_used_up'],
    ['5', '5003', 'too_many'],
    ['5', '5004', 'nothing'],
    ['5', '5005', 'duplicate'],
    ['5', '5011', 'daily_limit'],
    ['5', '5000', 'unknown'],
    ['5', '', 'unknown'],
    ['6', '5000', 'request_gone'],
    ['0', '', 'unknown'],
    ['7', '5000', 'unknown'],
  ])('in state %s with code %s means %s', (EstadoSolicitud, CodigoEstadoSolicitud, meaning) => {
    const stated = { CodEstatus: '5000', EstadoSolicitud, CodigoEstadoSolicitud, NumeroCFDIs: '12', Mensaje: 'Solicitud Aceptada' }
    expect(readVerified(verificationAnswer(stated))).toEqual({
      ...{ meaning, code: '5000', message: 'Solicitud Aceptada', state: EstadoSolicitud, stateCode: CodigoEstadoSolicitud },
      ...{ announced: 12, packages: [] },
    })
  })

  it('says of its own code that the token, the request or the authority is not right, whatever the state', () => {
    const meaning = (CodEstatus: string, EstadoSolicitud: string) =>
      readVerified(verificationAnswer({ CodEstatus, EstadoSolicitud, Mensaje: 'x' })).meaning
    expect(['300', '301', '305', '404'].map((code) => meaning(code, '0'))).toEqual([
      ...['token_refused', 'request_malformed', 'certificate_refused', 'failed'],
    ])
    expect(meaning('5004', '0')).toBe('request_gone')
    expect(meaning('5004', '5')).toBe('nothing')
  })

  it('lists its packages as the authority names them', () => {
    const packages = ['D49AF78D-1C80-4221-A48D-345ACE91626B_01', '4e80345d-917f-40bb-a98f-4a73939343c5_02']
    const stated = { CodEstatus: '5000', EstadoSolicitud: '3', CodigoEstadoSolicitud: '5000', NumeroCFDIs: '250000' }
    expect(readVerified(verificationAnswer(stated, [packages[0]!, ' ', packages[1]!]))).toMatchObject({ packages, announced: 250_000 })
  })

  it('lists a package once, however often the authority names it', () => {
    const stated = { CodEstatus: '5000', EstadoSolicitud: '3', CodigoEstadoSolicitud: '5000', NumeroCFDIs: '9' }
    expect(readVerified(verificationAnswer(stated, ['A_01', 'A_02', 'A_01', 'A_01'])).packages).toEqual(['A_01', 'A_02'])
  })

  it('means nothing when it is finished, says that nothing matches, and lists no package', () => {
    const stated = { CodEstatus: '5000', EstadoSolicitud: '3', CodigoEstadoSolicitud: '5004', NumeroCFDIs: '' }
    expect(readVerified(verificationAnswer(stated)).meaning).toBe('nothing')
    expect(readVerified(verificationAnswer(stated, ['A_01'])).meaning).toBe('finished')
  })

  it.each(['', '-1', '1e3', 'muchos', '12345678901'])('announces nothing with %j', (NumeroCFDIs) => {
    expect(readVerified(verificationAnswer({ CodEstatus: '5000', EstadoSolicitud: '1', NumeroCFDIs })).announced).toBeNull()
  })
})

describe('what is no answer', () => {
  it.each([
    ['a page', PAGE, 'html'],
    ['a page in XHTML', `<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><head/><body/></html>`, 'html'],
    ['a page that breaks off', PAGE.slice(0, 60), 'html'],
    ['a fault', faultAnswer('InvalidSecurity', 'An error occurred when verifying security for the message.'), 'fault'],
    ['nothing', '', 'truncated'],
    ['white space', ' \r\n', 'truncated'],
    ['a text', 'Service Unavailable', 'malformed'],
    ['JSON', '{"error":"x"}', 'malformed'],
    ['another document', '<Comprobante/>', 'malformed'],
    ['an envelope with another content', envelope('<Otro/>'), 'malformed'],
    ['an envelope that is not well formed', envelope('<a></b>'), 'malformed'],
    ['an envelope with a document type', `<!DOCTYPE x [<!ENTITY a "b">]>${envelope('&a;')}`, 'malformed'],
  ])('%s is told apart, whoever reads it', (_, text, kind) => {
    for (const read of Object.values(readers)) expect(kindOf(read, text)).toBe(kind)
  })

  it('includes answers with too many elements or levels', () => {
    const stated = { CodEstatus: '5000', EstadoSolicitud: '3' }
    const answer = verificationAnswer(
      stated,
      Array.from({ length: 9_000 }, (_, n) => `${ID}_${n}`),
    )
    expect(readVerified(answer).packages).toHaveLength(9_000)
    expect(kindOf(readVerified, verificationAnswer(stated, new Array(10_000).fill(`${ID}_01`)))).toBe('malformed')
    const deep = (levels: number) =>
      verificationAnswer(stated).replace('</VerificaSolicitudDescargaResult>', `${'<a>'.repeat(levels)}${'</a>'.repeat(levels)}$&`)
    expect(readVerified(deep(20)).meaning).toBe('finished')
    expect(kindOf(readVerified, deep(40))).toBe('malformed')
  })

  it('is a fault with its code, without prefix and white space', () => {
    const read = (code: string) => {
      try {
        return readToken(faultAnswer(code, 'Why.'))
      } catch (error) {
        return error
      }
    }
    expect(read('InvalidSecurity')).toMatchObject({
      fault: 'InvalidSecurity',
      message: 'The tax authority answered with a fault: InvalidSecurity. Why.',
    })
    expect(read('ActionNotSupported')).toMatchObject({ fault: 'ActionNotSupported' })
  })

  it('includes every answer that breaks off, wherever', () => {
    const whole = [
      tokenAnswer('token', ['2019-08-01T03:38:20Z', '2019-08-01T03:43:20Z']),
      requestAnswer({ IdSolicitud: ID, CodEstatus: '5000', Mensaje: 'Solicitud Aceptada' }),
      verificationAnswer({ CodEstatus: '5000', EstadoSolicitud: '3' }, [`${ID}_01`]),
      statusAnswer({ CodigoEstatus: 'S - Comprobante obtenido satisfactoriamente.', Estado: 'Vigente' }),
    ]
    for (const [n, read] of Object.values(readers).entries())
      for (let end = 12; end < whole[n]!.length; end++) expect(kindOf(read, whole[n]!.slice(0, end))).toBe('truncated')
  })

  it('is refused as such when an answer is changed anywhere, or still read', () => {
    const answers = fc.constantFrom(
      tokenAnswer('token'),
      requestAnswer({ IdSolicitud: ID, CodEstatus: '5000' }),
      verificationAnswer({ CodEstatus: '5000', EstadoSolicitud: '3' }, [`${ID}_01`]),
      statusAnswer({ CodigoEstatus: 'S - x', Estado: 'Vigente', ValidacionEFOS: '200' }),
    )
    const part = fc.constantFrom('<', '>', '/', '"', '&', '=', ' ', '</s:Body>', '<a>', '\0', 'constructor', '__proto__', ':')
    const change = fc.tuple(fc.nat(), fc.nat({ max: 8 }), part)
    fc.assert(
      fc.property(
        answers,
        fc.array(change, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(...Object.values(readers)),
        (text, changes, read) => {
          const changed = changes.reduce((one, [cursor, removed, added]) => {
            const at = cursor % (one.length + 1)
            return one.slice(0, at) + added + one.slice(at + removed)
          }, text)
          // It throws whatever is no Unanswered.
          kindOf(read, changed)
        },
      ),
      { numRuns: runs(1_000, 50_000) },
    )
  })
})
