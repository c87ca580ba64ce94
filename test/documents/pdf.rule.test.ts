import { describe, expect, it } from 'vitest'
import { TaxStatus } from '../../src/authority/port/fields-contract.ts'
import { addressAt, isNegative, Layout, obligationsAt, regimesAt } from '../../src/authority/sandbox/documents/constancia.ts'
import { filesOf } from '../../src/authority/sandbox/documents/documents.ts'
import { circleOf } from '../../src/authority/sandbox/world/taxpayers.ts'
import { answer } from '../../src/documents/pdf/answer.ts'
import { dateIn, type PdfLine } from '../../src/documents/pdf/page-lines.ts'
import { regimeCode, rowsOf } from '../../src/documents/pdf/tax-status.ts'

const ask = async (kind: string, body: BodyInit, method = 'POST') => {
  const reply = await answer(new Request(`https://pdf/${kind}`, { method, ...(method === 'POST' && { body }) }))
  return { status: reply.status, ...((await reply.json()) as { fields?: Record<string, unknown>; reason?: string }) }
}

const RFCS = ['EKU9003173C9', 'MISC491214B86', 'P&S850101AB1', 'ÑUGR8001017A2', 'JES900109Q90', 'CACX7605101P8']
const MONTHS = ['2018-03', '2020-01', '2021-12', '2022-01', '2023-08', '2025-11', '2026-05']

describe('a tax status certificate', () => {
  it('is read as the sandbox has written it, for companies and natural persons, over the years', async () => {
    for (const rfc of RFCS)
      for (const month of MONTHS) {
        const { self } = circleOf(rfc)
        const day = `${month}-01`
        const { status, fields } = await ask('csf', filesOf(rfc, 'sat_csf', new Date(`${month}-20T18:00:00Z`))[0]!.bytes)
        expect([rfc, status]).toEqual([rfc, 200])
        const read = TaxStatus.parse(fields)
        const address = addressAt(self, day)
        expect(read).toMatchObject({
          ...{ rfc, name: self.nombre, status: 'ACTIVO', issued_on: day },
          ...{ regimes: regimesAt(self, day), obligations: obligationsAt(self, day) },
          address: {
            ...{ postal_code: address.codigo_postal, street: address.calle, exterior_number: address.numero, locality: null },
            ...{ interior_number: address.interior || null, neighborhood: address.colonia, municipality: address.municipio },
            ...{ state: address.entidad, between_street: address.entre, and_street: address.y },
          },
        })
        const company = [...rfc].length === 12
        expect([read.curp === null, read.capital_regime === null]).toEqual([company, !company])
        expect(read.operations_started_on).toBe(read.obligations[0]!.from)
        expect(read.id_cif).toMatch(/^\d{11}$/)
      }
  })

  it('is read where names and streets take several lines, in either column', async () => {
    const pdf = new Layout()
      .line({ 180: 'CONSTANCIA DE SITUACIÓN FISCAL' })
      .heading('Datos de Identificación del Contribuyente:')
      .line({ 0: 'RFC:', 170: 'EKU9003173C9' })
      .line({ 0: 'Denominación/Razón Social:', 170: 'ESCUELA KEMPER URGATE' })
      .line({ 170: 'DEL CENTRO' })
      .line({ 0: 'Nombre Comercial:' })
      .heading('Datos del domicilio registrado')
      .line({ 0: 'Nombre de la Localidad: SAN JUAN', 270: 'Nombre del Municipio o Demarcación Territorial: DOLORES' })
      .line({ 0: 'DE LOS LAGOS', 270: 'HIDALGO' })
      .line({ 0: 'Número Interior:', 270: 'Número Exterior: 12: PLANTA' })
      .pdf('x')
    const { fields } = await ask('csf', pdf)
    expect(fields).toMatchObject({
      ...{ name: 'ESCUELA KEMPER URGATE DEL CENTRO', commercial_name: null, regimes: [], obligations: [], issued_on: null },
      address: { locality: 'SAN JUAN DE LOS LAGOS', municipality: 'DOLORES HIDALGO', exterior_number: '12: PLANTA', interior_number: null },
    })
  })
})

describe('a compliance opinion', () => {
  it('is read as the sandbox has written it, positive and negative', async () => {
    const senses = new Set<unknown>()
    for (const rfc of RFCS.slice(0, 2))
      for (let n = 0; n < 30; n++) {
        const month = new Date(Date.UTC(2024, n, 5, 18))
        const { status, fields } = await ask('opinion_32d', filesOf(rfc, 'sat_opinion_32d', month)[0]!.bytes)
        const sense = isNegative(circleOf(rfc).self, month.toISOString().slice(0, 7)) ? 'negativo' : 'positivo'
        const date = `${month.toISOString().slice(0, 7)}-01`
        expect([status, fields]).toEqual([
          200,
          { rfc, name: circleOf(rfc).self.nombre, folio: expect.stringMatching(/^\d\dNA\d{7}$/), sense, date },
        ])
        senses.add(fields!['sense'])
      }
    expect([...senses].sort()).toEqual(['negativo', 'positivo'])
  })

  const opinionWith = (...lines: string[]) => {
    const layout = new Layout().line({ 0: 'Opinión del cumplimiento de obligaciones fiscales' })
    for (const line of lines) layout.text(line)
    return ask('opinion_32d', layout.pdf('x'))
  }
  const HEAD = [
    'Folio: 26NA1234567',
    'Clave de R.F.C.: ACM010101AA1',
    'Revisión practicada el día 03 de octubre de 2026, a las 10:15 horas',
  ]

  it.each([
    ['se emite opinión en sentido POSITIVO', 'positivo'],
    ['se emite esta opinión del cumplimiento de obligaciones fiscales, en sentido NEGATIVO', 'negativo'],
    ['El contribuyente se encuentra inscrito sin obligaciones fiscales', 'inscrito_sin_obligaciones'],
    ['El contribuyente se encuentra en suspensión de actividades', 'en_suspension'],
    ['La clave corresponde a un contribuyente no inscrito', 'no_inscrito'],
    ['Sentido: Positivo', 'positivo'],
  ])('%s: %s', async (text, sense) => {
    expect((await opinionWith(...HEAD, text)).fields).toEqual({
      rfc: 'ACM010101AA1',
      name: null,
      folio: '26NA1234567',
      sense,
      date: '2026-10-03',
    })
  })

  it('without a sense or a folio cannot be read, and says what is missing', async () => {
    expect(await opinionWith(...HEAD)).toEqual({ status: 422, reason: 'The compliance opinion has no sense that can be read.' })
    expect((await opinionWith('en sentido POSITIVO')).reason).toBe(
      'The compliance opinion has no folio and no rfc and no date that can be read.',
    )
  })
})

describe('what cannot be read is refused for good, with a reason', () => {
  const csf = () => filesOf('EKU9003173C9', 'sat_csf', new Date('2026-05-20T18:00:00Z'))[0]!.bytes
  it('another document, no text, no PDF, half a PDF and nothing', async () => {
    const opinion = filesOf('EKU9003173C9', 'sat_opinion_32d', new Date('2026-05-20T18:00:00Z'))[0]!.bytes
    expect(await ask('csf', opinion)).toEqual({ status: 422, reason: 'The PDF is not a tax status certificate.' })
    expect(await ask('opinion_32d', csf())).toEqual({ status: 422, reason: 'The PDF is not a compliance opinion.' })
    expect((await ask('csf', new Layout().pdf('scanned'))).status).toBe(422)
    expect((await ask('csf', new Layout().line({ 0: 'CONSTANCIA DE SITUACIÓN FISCAL' }).pdf('x'))).reason).toBe(
      'The tax status certificate names no RFC or no taxpayer.',
    )
    const other = [new TextEncoder().encode('<html>not now</html>'), new Uint8Array(), csf().slice(0, 300), new Uint8Array(5_000).fill(37)]
    for (const bytes of other) expect((await ask('csf', bytes)).status).toBe(422)
  })

  it('what is asked wrongly is no reason to refuse the PDF for good', async () => {
    expect((await ask('rug', csf())).status).toBe(404)
    expect((await ask('csf', '', 'GET')).status).toBe(404)
  })
})

describe('dates and regimes', () => {
  it.each([
    ['28 DE SEPTIEMBRE DE 2005', '2005-09-28'],
    ['a 1 de enero del 2024.', '2024-01-01'],
    ['BENITO JUAREZ , CIUDAD DE MEXICO A 10 DE FEBRERO DE 2022', '2022-02-10'],
    ['05/06/2008', '2008-06-05'],
    ['31/02/2020', null],
    ['30 DE FEBRERO DE 2020', null],
    ['', null],
  ])('%s is %s', (text, day) => {
    expect(dateIn(text)).toBe(day)
  })

  it('regimes get their code by name, however they begin', () => {
    const names = [
      'Régimen General de Ley Personas Morales',
      'Régimen de Incorporación Fiscal',
      'Régimen de Sueldos y Salarios e Ingresos Asimilados a Salarios',
      'Régimen de las Actividades Empresariales con ingresos a través de Plataformas Tecnológicas',
      'RÉGIMEN SIMPLIFICADO DE CONFIANZA',
      'Régimen de Arrendamiento',
      'Régimen de los Unicornios',
    ]
    expect(names.map(regimeCode)).toEqual(['601', '621', '605', '625', '626', '606', null])
  })
})

describe('tables', () => {
  const line = (y: number, ...cells: [number, string][]): PdfLine => ({ y, cells: cells.map(([x, text]) => ({ x, text })) })
  const head = line(0, [0, 'Régimen'], [200, 'Fecha Inicio'], [300, 'Fecha Fin'])
  const rows = (...lines: PdfLine[]) => rowsOf([head, ...lines], ['Régimen', 'Fecha Inicio', 'Fecha Fin'])

  it('have rows with the date first, last, in the middle, and without gaps between rows', () => {
    const expected = [
      ['uno dos', '01/01/2020', ''],
      ['tres cuatro', '02/02/2021', '03/03/2022'],
    ]
    const [a, b, c, d] = (['uno', 'dos', 'tres', 'cuatro'] as const).map((text): [number, string] => [0, text]) as [
      ...[[number, string], [number, string], [number, string], [number, string]],
    ]
    const one: [number, string][] = [[200, '01/01/2020']]
    const two: [number, string][] = [
      [200, '02/02/2021'],
      [300, '03/03/2022'],
    ]
    expect(rows(line(20, a, ...one), line(30, b), line(40, c, ...two), line(50, d))).toEqual(expected)
    expect(rows(line(20, a), line(30, b, ...one), line(40, c), line(50, d, ...two))).toEqual(expected)
    expect(rows(line(20, a), line(25, ...one), line(30, b), line(50, c), line(55, ...two), line(60, d))).toEqual(expected)
  })

  it('go on on the next page', () => {
    expect(rows(line(20, [0, 'uno'], [200, '01/01/2020']), line(100, [0, 'dos'], [200, '02/02/2021']))).toHaveLength(2)
  })
})
