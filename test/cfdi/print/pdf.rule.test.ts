import { createHash } from 'node:crypto'
import { extractText, getDocumentProxy } from 'unpdf'
import { describe, expect, it } from 'vitest'
import { codeNameOf } from '../../../src/cfdi/print/catalogs.ts'
import { amountInWords, labelOf } from '../../../src/cfdi/print/labels.ts'
import { makingPdf, pdfOf } from '../../../src/cfdi/print/pdf.ts'
import { Glyphs } from '../../../src/platform/pdf/glyphs.ts'
import { DOCUMENTS } from '../support/complements.ts'
import { attributesOf } from '../support/stated.ts'
import { VALID } from './support/printed.ts'
import { codesOf, solid, streamsOf, textOf } from './support/read-pdf.ts'

const bytesOf = (xml: string): Uint8Array => new TextEncoder().encode(xml)

describe.each(Object.entries(DOCUMENTS))('%s', (_, xml) => {
  const pdf = pdfOf(bytesOf(xml), VALID, 'es')

  it('every attribute and text of the XML can be copied out of its PDF', async () => {
    const text = solid(await textOf(pdf))
    expect(attributesOf(xml).filter(([, value]) => !text.includes(solid(value)))).toEqual([])
    expect(text).not.toContain('SECRETO="NOT')
  })

  it('has the same bytes again, and others in another language', () => {
    const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
    expect(hash(pdfOf(bytesOf(xml), VALID, 'es'))).toBe(hash(pdf))
    expect(hash(pdfOf(bytesOf(xml), VALID, 'en'))).not.toBe(hash(pdf))
  })

  it('carries its XML byte for byte, and has a QR code that a camera reads', () => {
    expect(streamsOf(pdf)).toContain(Buffer.from(xml).toString('latin1'))
    expect(codesOf(pdf).at(-1)).toMatch(/5e1f0000-0000-4000-8000-000000000001/)
  })

  it('takes at most 120 KB', () => {
    expect(pdf.length).toBeLessThan(120_000)
  })
})

describe('the QR code', () => {
  it.each([
    [
      '4.0, payroll 1.2',
      'https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx?id=5e1f0000-0000-4000-8000-000000000001&re=AAA010101AAA&rr=BBB020202BB1&tt=99.0&fe=QUJD',
    ],
    [
      '3.3, payments 1.0',
      'https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx?id=5e1f0000-0000-4000-8000-000000000001&re=AAA010101AAA&rr=BBB020202BB1&tt=99.0&fe=QUJD',
    ],
    ['3.2, invoice', '?re=AAA010101AAA&rr=BBB020202BB1&tt=0000000099.000000&id=5e1f0000-0000-4000-8000-000000000001'],
    [
      'retenciones 2.0',
      'https://prodretencionverificacion.clouda.sat.gob.mx/?id=5e1f0000-0000-4000-8000-000000000001&re=AAA010101AAA&rr=EEEE850505EE4&tt=4076.73&fe=QUJD',
    ],
    ['retenciones 1.0', '?re=AAA010101AAA&nr=00000000000000012345&tt=0000000100.010000&id=5e1f0000-0000-4000-8000-000000000001'],
  ])('of %s says what SAT verifies', (name, expected) => {
    expect(codesOf(pdfOf(bytesOf(DOCUMENTS[name]!), VALID, 'es')).at(-1)).toBe(expected)
  })

  it('of a Carta Porte names its IdCCP and its times', () => {
    const [first] = codesOf(pdfOf(bytesOf(DOCUMENTS['4.0, goods on the way and abroad']!), VALID, 'es'))
    expect(first).toBe(
      'https://verificacfdi.facturaelectronica.sat.gob.mx/verificaccp/default.aspx?IdCCP=CCC5f1c1-0000-4000-8000-000000000001&FechaOrig=2024-05-31T08:00:00&FechaTimb=2024-05-31T10:01:00',
    )
  })
})

it('what no QR code has room for is told without one', async () => {
  const long = `CCC${'0'.repeat(3_000)}`
  const xml = DOCUMENTS['4.0, goods on the way and abroad']!.replace(/IdCCP="[^"]*"/, `IdCCP="${long}"`)
  const pdf = pdfOf(bytesOf(xml), VALID, 'es')
  expect(codesOf(pdf)).toHaveLength(1)
  expect(solid(await textOf(pdf))).toContain(solid(`IdCCP=${long.slice(0, 100)}`))
})

describe('the sheet', () => {
  const invoice = DOCUMENTS['4.0, complements and parts of lines']!

  it('says what codes mean, and the total in words', async () => {
    const text = await textOf(pdfOf(bytesOf(invoice), VALID, 'es'))
    for (const expected of ['99 – Por definir', 'PPD – Pago en parcialidades o diferido', '002 – IVA', 'NOVENTA Y NUEVE PESOS 00/100 M.N.'])
      expect(text.replace(/\s+/g, ' ')).toContain(expected)
    expect(text).toContain('Este documento es una representación impresa de un CFDI.')
  })

  it('of a cancelled document says so on every page, with the day, the reason and the substitute as a link', async () => {
    const substitute = '0AA5C0DE-0000-4000-8000-00000000000F'
    const cancelled = { ...VALID, estatus: 'cancelado', cancelled_on: '2026-01-02', cancellation_reason: '01', substitute } as const
    const pdf = pdfOf(bytesOf(invoice), cancelled, 'es')
    const { totalPages, text } = await extractText(await getDocumentProxy(pdf.slice()))
    expect(totalPages).toBeGreaterThan(1)
    for (const page of text) expect(page).toContain('CANCELADO')
    const english = await extractText(await getDocumentProxy(pdfOf(bytesOf(invoice), cancelled, 'en')))
    for (const page of english.text) expect(page).toContain('CANCELLED')
    expect(text[0]).toContain('CANCELADO el 2026-01-02. Motivo: 01 – Comprobante emitido con errores con relación.')
    expect(streamsOf(pdf).join('\n')).toContain(`/URI(https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx?id=${substitute})`)
  })

  it('of 5,000 lines goes on over pages that repeat the head of the table and are numbered', async () => {
    const line = (n: number) =>
      `<cfdi:Concepto ClaveProdServ="84111505" Cantidad="${n}" ClaveUnidad="ACT" Descripcion="Renglón número ${n}" ValorUnitario="1.00" Importe="${n}.00" ObjetoImp="02"/>`
    const lines = Array.from({ length: 5_000 }, (_, n) => line(n + 1)).join('')
    const xml = DOCUMENTS['3.3, elections and an unknown complement']!.replace(
      /<cfdi:Conceptos>.*?<\/cfdi:Conceptos>/s,
      `<cfdi:Conceptos>${lines}</cfdi:Conceptos>`,
    )
    const making = makingPdf(bytesOf(xml), VALID, 'es')
    let steps = 0
    let made = making.next()
    for (; made.done !== true; made = making.next()) steps++
    // Others go on in between.
    expect(steps).toBeGreaterThan(bytesOf(xml).length / 64 / 1024)
    const { totalPages, text } = await extractText(await getDocumentProxy(made.value))
    expect(totalPages).toBeGreaterThan(100)
    expect(text[60]).toMatch(/Valor\s+unitario/)
    for (const [n, page] of text.entries()) expect(page).toContain(`Página ${n + 1} de ${totalPages}`)
    const all = text.join('\n')
    for (const n of [1, 2_500, 5_000]) expect(all).toContain(`Renglón número ${n}`)
  }, 60_000)

  it('shows characters that its font lacks, and whoever copies them gets them whole', async () => {
    const value = 'Łódź “naïve” ½ – 日本語 Ж 🚀 Ω ﬁ'
    const text = await textOf(pdfOf(bytesOf(invoice.replace('Nombre="Emisora"', `Nombre="${value}"`)), VALID, 'es'))
    expect(solid(text.normalize('NFKC'))).toContain(solid(value.normalize('NFKC')))
  })
})

it('every character has a code of two bytes, however many there are', () => {
  const many = String.fromCodePoint(...Array.from({ length: 66_000 }, (_, n) => 0x20000 + n))
  expect(new Glyphs().encode(many)).toHaveLength(2 + 4 * 66_000)
})

describe('amounts in words', () => {
  it.each([
    ['0', 'CERO PESOS 00/100 M.N.'],
    ['1.5', 'UN PESO 50/100 M.N.'],
    ['21.99', 'VEINTIÚN PESOS 99/100 M.N.'],
    ['100', 'CIEN PESOS 00/100 M.N.'],
    ['116.02', 'CIENTO DIECISÉIS PESOS 02/100 M.N.'],
    ['1001', 'MIL UN PESOS 00/100 M.N.'],
    ['31000', 'TREINTA Y UN MIL PESOS 00/100 M.N.'],
    ['1000000', 'UN MILLÓN DE PESOS 00/100 M.N.'],
    ['2345678.90', 'DOS MILLONES TRESCIENTOS CUARENTA Y CINCO MIL SEISCIENTOS SETENTA Y OCHO PESOS 90/100 M.N.'],
    ['1000000000000', 'UN BILLÓN DE PESOS 00/100 M.N.'],
  ])('%s: %s', (amount, words) => {
    expect(amountInWords(amount, 'MXN', 'es')).toBe(words)
  })

  it('name another currency, and are English in an English sheet', () => {
    expect(amountInWords('116.02', 'USD', 'es')).toBe('CIENTO DIECISÉIS 02/100 USD')
    expect(amountInWords('2345116.02', 'MXN', 'en')).toBe(
      'TWO MILLION THREE HUNDRED FORTY-FIVE THOUSAND ONE HUNDRED SIXTEEN PESOS 02/100 MXN',
    )
    expect(amountInWords('-1', 'MXN', 'es')).toBeNull()
  })
})

it('an attribute that nobody knows is called by the words of its name', () => {
  expect(['NumeroPedimento', 'TotalDistRec', 'RFCRemitente', 'toString'].map((name) => labelOf(name, 'es'))).toEqual([
    'Número de pedimento',
    'Total distancia recorrida',
    'RFC remitente',
    'To string',
  ])
})

describe('what a code or name is called', () => {
  it.each([
    ['Moneda', 'USD', 'USD – dólar estadounidense', 'USD – US Dollar'],
    ['MonedaP', 'XXX', 'XXX – Sin moneda', 'XXX – No currency'],
    ['Moneda', 'Peso', 'Peso', 'Peso'],
    ['ResidenciaFiscal', 'DEU', 'DEU – Alemania', 'DEU – Germany'],
    ['pais', 'México', 'México', 'México'],
    ['Banco', '072', '072 – BANORTE', '072 – BANORTE'],
    ['Banco', '999', '999', '999'],
  ])('%s %s is named in both languages', (name, code, es, en) => {
    const said = (language: 'es' | 'en') => [code, codeNameOf(name, code, language)].filter(Boolean).join(' – ')
    expect([said('es'), said('en')]).toEqual([es, en])
  })

  it('a name is English in an English PDF, whatever the document', () => {
    const names = Object.values(DOCUMENTS).flatMap((xml) => [
      ...[...xml.matchAll(/\s([\wÀ-ÿ]+)="/g)].map(([, name]) => name!),
      ...[...xml.matchAll(/<(?:\w+:)?([\wÀ-ÿ]+)/g)].map(([, name]) => name!),
    ])
    const same = new Set(names.filter((name) => labelOf(name, 'en') === labelOf(name, 'es')).map((name) => name.toLowerCase()))
    const alike = [
      'addenda',
      'base',
      'clabe',
      'curp',
      'curpe',
      'encoding',
      'folio',
      'ine',
      'mine',
      'rfc',
      'subtotal',
      'total',
      'x',
      'xmlns',
    ]
    expect([...same].filter((name) => !alike.includes(name))).toEqual([])
    expect(['NumPermisoSCT', 'FechaInicialPago', 'ImporteDR', 'RfcE'].map((name) => labelOf(name, 'en'))).toEqual([
      ...['SCT permit number', 'Payment initial date', 'Document amount', 'Issuer RFC'],
    ])
    expect(labelOf('PesoDeAlgoNuevo', 'en')).toBe('Peso de algo nuevo')
  })
})
