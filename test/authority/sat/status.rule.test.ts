import { describe, expect, it } from 'vitest'
import { expressionOf } from '../../../src/authority/port/expression.ts'
import type { PrintedCfdi } from '../../../src/authority/port/status.ts'
import { readStatus, statusRequest } from '../../../src/authority/sat/status.ts'
import { statusAnswer } from '../support/sat-answers.ts'
import { named, parsed } from '../support/signatures.ts'

const DOCUMENT: PrintedCfdi = {
  ...{ version: '4.0', uuid: 'CEE4BE01-ADFA-4DEB-8421-ADD60F0BEDAC', emisor_rfc: 'POT9207213D6', receptor_rfc: 'DIM8701081LA' },
  ...{ total: '2010.01', sello_ultimos_8: '/OAgdg==' },
}
const PAGE = 'https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx'

describe('the expression of a CFDI', () => {
  it('has its UUID, RFCs, total and the end of its signature, as printed', () => {
    expect(expressionOf(DOCUMENT)).toBe(
      `${PAGE}?id=CEE4BE01-ADFA-4DEB-8421-ADD60F0BEDAC&re=POT9207213D6&rr=DIM8701081LA&tt=2010.01&fe=/OAgdg==`,
    )
    expect(expressionOf({ ...DOCUMENT, version: '3.3' })).toBe(expressionOf(DOCUMENT))
  })

  it('has no signature when only metadata is known', () => {
    expect(expressionOf({ ...DOCUMENT, version: null, sello_ultimos_8: null })).toMatch(/&tt=2010\.01$/)
    expect(expressionOf({ ...DOCUMENT, sello_ultimos_8: null })).toMatch(/&tt=2010\.01&fe=$/)
  })

  it('of version 3.2 has another form', () => {
    expect(expressionOf({ ...DOCUMENT, version: '3.2', total: '4685' })).toBe(
      '?re=POT9207213D6&rr=DIM8701081LA&tt=0000004685.000000&id=CEE4BE01-ADFA-4DEB-8421-ADD60F0BEDAC',
    )
  })

  it.each([
    ['1000.00000', '1000.0', '0000001000.000000'],
    ['123.45', '123.45', '0000000123.450000'],
    ['0.1234565', '0.123457', '0000000000.123457'],
    ['0.1234564999', '0.123456', '0000000000.123456'],
    ['9.9999995', '10.0', '0000000010.000000'],
    ['', '0.0', '0000000000.000000'],
    ['0', '0.0', '0000000000.000000'],
    ['.5', '0.5', '0000000000.500000'],
    ['007.10', '7.1', '0000000007.100000'],
    ['100', '100.0', '0000000100.000000'],
    ['999999999999999999.999999', '999999999999999999.999999', '999999999999999999.999999'],
  ])('writes a total of %j as %s, and in 3.2 as %s', (total, tt, old) => {
    expect(expressionOf({ ...DOCUMENT, total })).toContain(`&tt=${tt}&`)
    expect(expressionOf({ ...DOCUMENT, version: '3.2', total })).toContain(`&tt=${old}&`)
  })

  it('is not made of a total that no CFDI has', () => {
    for (const total of ['-1', '1e3', '1,000.00', 'NaN']) expect(() => expressionOf({ ...DOCUMENT, total })).toThrow(TypeError)
  })

  it('escapes RFCs as XML does, and a request escapes all of it again', () => {
    const document = { ...DOCUMENT, emisor_rfc: 'Ñ&A010101AAA' }
    expect(expressionOf(document)).toContain('&re=Ñ&amp;A010101AAA&rr=')
    const { body } = statusRequest(document)
    expect(body).toContain('&amp;re=Ñ&amp;amp;A010101AAA&amp;rr=')
    expect(named(parsed(body), 'expresionImpresa')[0]!.children).toEqual([expressionOf(document)])
  })
})

it('a request for a status goes to the service without a login', () => {
  const { url, headers } = statusRequest(DOCUMENT)
  expect(url).toBe('https://consultaqr.facturaelectronica.sat.gob.mx/ConsultaCFDIService.svc')
  expect(headers).toEqual({
    'Content-Type': 'text/xml;charset="utf-8"',
    Accept: 'text/xml',
    SOAPAction: 'http://tempuri.org/IConsultaCFDIService/Consulta',
  })
})

describe('the status', () => {
  const found = 'S - Comprobante obtenido satisfactoriamente.'
  const read = (CodigoEstatus: string | null, Estado: string | null, others: Record<string, string | null> = {}) =>
    readStatus(statusAnswer({ CodigoEstatus, Estado, ...others }))

  it.each([
    [found, 'Vigente', 'vigente'],
    [found, 'VIGENTE ', 'vigente'],
    [found, 'Cancelado', 'cancelado'],
    [found, 'No Encontrado', 'unknown'],
    [found, 'Otro', 'unknown'],
    [found, null, 'unknown'],
    ['N - 602: Comprobante no encontrado.', 'No Encontrado', 'no_encontrado'],
    ['N - 602: Comprobante no encontrado.', '', 'no_encontrado'],
    ['N - 602: Comprobante no encontrado.', 'Vigente', 'unknown'],
    ['N - 601: La expresión impresa proporcionada no es válida.', 'No Encontrado', 'unknown'],
    ['N 601 - La expresión impresa proporcionada no es válida.', 'Vigente', 'unknown'],
    ['N 601 - La expresión impresa proporcionada no es válida.', 'Cancelado', 'unknown'],
    ['Servicio no disponible', 'Vigente', 'unknown'],
    [null, 'Vigente', 'unknown'],
    [null, null, 'unknown'],
  ])('of %j and %j is %s', (code, estado, estatus) => {
    expect(read(code, estado).estatus).toBe(estatus)
  })

  it.each([
    ...['100', '101', '102', '103', '104', '200', '201'].map((code) => [code, code] as const),
    [' 200 ', '200'],
    ['300', null],
    ['', null],
    [null, null],
  ] as [string | null, string | null][])('%j of ValidacionEFOS is %s', (ValidacionEFOS, validacion_efos) => {
    expect(read(found, 'Vigente', { ValidacionEFOS }).validacion_efos).toBe(validacion_efos)
  })

  it.each([
    ['Cancelable sin aceptación', 'cancelable_sin_aceptacion'],
    ['CANCELABLE CON ACEPTACION', 'cancelable_con_aceptacion'],
    ['No  cancelable', 'no_cancelable'],
    ['', null],
    [null, null],
    ['constructor', null],
  ])('%j is cancelable as %s', (EsCancelable, es_cancelable) => {
    expect(read(found, 'Vigente', { EsCancelable }).es_cancelable).toBe(es_cancelable)
  })

  it.each([
    ['En proceso', 'en_proceso'],
    ['Solicitud rechazada', 'rechazada'],
    ['Cancelado sin aceptación', 'cancelado_sin_aceptacion'],
    ['Cancelado con aceptación', 'cancelado_con_aceptacion'],
    ['Plazo vencido', 'plazo_vencido'],
    ['', null],
    [null, null],
    ['Algo nuevo', null],
  ])('%j of a cancellation is %s', (EstatusCancelacion, estatus_cancelacion) => {
    expect(read(found, 'Vigente', { EstatusCancelacion }).estatus_cancelacion).toBe(estatus_cancelacion)
  })

  it('of a contradiction is unknown, and two results are no answer', () => {
    const [code, vigente, cancelado] = [found, 'Vigente', 'Cancelado'].map(
      (text, n) => `<a:${n === 0 ? 'CodigoEstatus' : 'Estado'}>${text}</a:${n === 0 ? 'CodigoEstatus' : 'Estado'}>`,
    )
    const twice = (...stated: string[]) =>
      statusAnswer({ EsCancelable: '' }).replace(/<a:EsCancelable.*?<\/a:EsCancelable>/, stated.join(''))
    expect(readStatus(twice(code!, vigente!, cancelado!)).estatus).toBe('unknown')
    expect(readStatus(twice(code!, code!.replace('S - ', 'N - 602'), cancelado!)).estatus).toBe('unknown')
    expect(readStatus(twice(code!, cancelado!, cancelado!.replace('Cancelado', 'CANCELADO '))).estatus).toBe('cancelado')
    const one = twice(code!, cancelado!)
    const [result] = /<(?:\w+:)?ConsultaResult[ >].*<\/(?:\w+:)?ConsultaResult>/s.exec(one)!
    expect(() => readStatus(one.replace(result, result + result))).toThrow('lacks a required part')
  })

  it('is read by local names, without prefixes too', () => {
    expect(readStatus(statusAnswer({ CodigoEstatus: found, Estado: 'Vigente' }, '')).estatus).toBe('vigente')
    expect(readStatus(statusAnswer({}))).toEqual({
      estatus: 'unknown',
      es_cancelable: null,
      estatus_cancelacion: null,
      validacion_efos: null,
    })
  })
})
