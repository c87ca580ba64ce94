import { describe, expect, it } from 'vitest'
import { contentOf, contentText, lineText } from '../../../src/cfdi/chunks/content.ts'
import { CfdiDetail } from '../../../src/cfdi/detail/contract.ts'
import { statedBy } from '../../../src/cfdi/detail/stated.ts'
import { readCfdi } from '../../../src/cfdi/xml/parse.ts'
import { readTree, type XmlElement } from '../../../src/cfdi/xml/tree.ts'
import { documentsOfAllVersions } from '../../../tools/bench/versions.ts'
import { randomOf } from '../../support/random.ts'
import { DOCUMENTS } from '../support/complements.ts'
import { attributesOf, lacking } from '../support/stated.ts'

const bytesOf = (xml: string): Uint8Array => new TextEncoder().encode(xml)

/** What the detail says of a document, through what is stored of it. */
function detailOf(xml: string | Uint8Array) {
  const bytes = typeof xml === 'string' ? bytesOf(xml) : xml
  const document = readCfdi(bytes)
  const stored = JSON.parse(contentText(document, document.conceptos.map(lineText)))
  return statedBy(contentOf(stored), readTree(bytes))
}

describe('a detail states every attribute and text of the XML but those of its Addenda', () => {
  it.each(Object.entries(DOCUMENTS))('of %s', (_, xml) => {
    expect(attributesOf(xml).length).toBeGreaterThan(30)
    const detail = detailOf(xml)
    expect(lacking(xml, detail)).toEqual([])
    expect(detail.xml_left_out).toEqual({ xml: 0, conceptos: 0, complement_trees: 0 })
    expect(JSON.stringify(detail)).not.toContain('not of the fiscal document')
    const { shape } = CfdiDetail.pick({ conceptos: true, nominas: true, complement_trees: true, xml: true, xml_left_out: true })
    for (const [name, member] of Object.entries(shape))
      expect(member.parse(detail[name as keyof typeof shape])).toEqual(detail[name as keyof typeof shape])
  })

  it('of the documents of the sandbox, in all versions', () => {
    const documents = documentsOfAllVersions()
    expect(documents.length).toBeGreaterThan(300)
    for (const bytes of documents) expect(lacking(new TextDecoder().decode(bytes), detailOf(bytes))).toEqual([])
  })

  it('of complements that nobody knows', () => {
    const random = randomOf(8_18)
    const pick = (n: number) => Math.floor(random() * n)
    const value = () =>
      Array.from({ length: 1 + pick(8) }, () => ['a', 'ñ', '7', '&amp;', '&lt;', '&#233;', '&quot;', ' ', '\n'][pick(9)]).join('')
    const attributes = () => Array.from({ length: pick(5) }, (_, n) => ` ${['a', 'x:b', 'Ño', 'Version', 'c'][n]}="${value()}"`).join('')
    const element = (depth: number): string => {
      const name = ['a', 'x:a', 'cfdi:Concepto', 'x:Nomina', 'Complemento'][pick(5)]
      const inside =
        depth > 4
          ? ''
          : Array.from({ length: pick(4) }, () => [element(depth + 1), 'texto', '<![CDATA[<t>]]>', '<!-- -->'][pick(4)]).join('')
      return inside ? `<${name}${attributes()}>${inside}</${name}>` : `<${name}${attributes()}/>`
    }
    for (let n = 0; n < 200; n++) {
      const trees = () =>
        Array.from({ length: 1 + pick(3) }, () => `<x:Raro xmlns:x="urn:x${pick(2)}" n="${n}">${element(0)}</x:Raro>`).join('')
      const xml = DOCUMENTS['4.0, complements and parts of lines']!.replace(
        '<cfdi:Complemento>',
        () => `<cfdi:Complemento>${trees()}`,
      ).replace('<cfdi:ComplementoConcepto>', () => `<cfdi:ComplementoConcepto>${trees()}`)
      expect(lacking(xml, detailOf(xml))).toEqual([])
    }
  })
})

describe('payroll lines', () => {
  it('of version 1.2 are those of the receipt, with their hours', () => {
    const [nomina] = detailOf(DOCUMENTS['4.0, payroll 1.2']!).nominas
    const none = { valor_mercado: null, precio_al_otorgarse: null }
    expect(nomina).toMatchObject({ version: '1.2', num_empleado: '120', isr_retenido: '7000.00' })
    expect(nomina!.percepciones).toEqual([
      {
        tipo_percepcion: '001',
        clave: '00500',
        concepto: 'Sueldo',
        importe_gravado: '4000.00',
        importe_exento: '0.00',
        ...none,
        horas_extra: [],
      },
      {
        ...{
          tipo_percepcion: '019',
          clave: '00501',
          concepto: 'Horas extra',
          importe_gravado: '500.00',
          importe_exento: '300.00',
          ...none,
        },
        horas_extra: [
          { dias: '2', tipo_horas: '01', horas_extra: '6', importe_pagado: '600.00' },
          { dias: '1', tipo_horas: '02', horas_extra: '2', importe_pagado: '200.00' },
        ],
      },
      {
        ...{ tipo_percepcion: '045', clave: '00502', concepto: 'Acciones', importe_gravado: '500.00', importe_exento: '0.00' },
        ...{ valor_mercado: '750.000001', precio_al_otorgarse: '250.00', horas_extra: [] },
      },
    ])
    expect(nomina!.deducciones.map(({ tipo_deduccion, importe }) => [tipo_deduccion, importe])).toEqual([
      ['002', '7000.00'],
      ['001', '100.00'],
    ])
    expect(nomina!.otros_pagos).toMatchObject([
      { tipo_otro_pago: '002', subsidio_causado: '407.02', saldo_a_favor: null },
      {
        tipo_otro_pago: '004',
        importe: '820.00',
        subsidio_causado: null,
        saldo_a_favor: '900.00',
        anio: '2023',
        remanente_sal_fav: '80.00',
      },
    ])
    expect(nomina!.incapacidades).toEqual([{ dias_incapacidad: '3', tipo_incapacidad: '02', importe_monetario: '450.00', descuento: null }])
    expect(nomina!.separacion_indemnizacion).toMatchObject({
      total_pagado: '30000.00',
      num_anios_servicio: '6',
      ingreso_acumulable: '7999.00',
    })
    expect(nomina!.jubilacion_pension_retiro).toMatchObject({ total_una_exhibicion: '19999.99', monto_diario: '12.34' })
    expect(nomina!.horas_extra).toEqual([])
  })

  it('of version 1.1 say the taxed and the exempt part, and the overtime apart', () => {
    const [nomina] = detailOf(DOCUMENTS['3.2, payroll 1.1']!).nominas
    expect(nomina).toMatchObject({
      ...{ version: '1.1', num_empleado: '77', isr_retenido: '400.00', separacion_indemnizacion: null, jubilacion_pension_retiro: null },
      percepciones: [{ clave: 'P01' }, { clave: 'P19', importe_exento: '200.00', horas_extra: [] }],
      deducciones: [{ tipo_deduccion: '002', importe: null, importe_gravado: '350.00', importe_exento: '50.00' }],
      otros_pagos: [],
      incapacidades: [{ dias_incapacidad: '1', tipo_incapacidad: '2', importe_monetario: null, descuento: '111.00' }],
      horas_extra: [{ dias: '1', tipo_horas: 'Dobles', horas_extra: '2', importe_pagado: '200.00' }],
    })
  })

  it('of two receipts in one document stand with their own', () => {
    const { nominas } = detailOf(DOCUMENTS['4.0, two payrolls']!)
    expect(nominas.map(({ num_empleado, percepciones }) => [num_empleado, percepciones.length])).toEqual([
      ['120', 3],
      ['121', 3],
    ])
  })
})

it('a line has its third party, its complements and its parts, and says whether it is subject to tax', () => {
  const { conceptos } = detailOf(DOCUMENTS['4.0, complements and parts of lines']!)
  expect(conceptos.map((one) => one.objeto_imp)).toEqual(['03', '08', '03'])
  expect(conceptos.map((one) => one.complement_trees.map(({ name }) => name))).toEqual([
    ['instEducativas'],
    [],
    ['PorCuentadeTerceros', 'Complemento'],
  ])
  expect(conceptos.map((one) => one.other_elements.map(({ name }) => name))).toEqual([['InformacionAduanera', 'Parte'], [], []])
  expect(conceptos.map((one) => one.a_cuenta_terceros)).toEqual([
    { rfc: 'JUFA7608212V6', nombre: 'Adriana', regimen_fiscal: '612', domicilio_fiscal: '29133' },
    null,
    null,
  ])
})

it('a complement is a tree with its namespace, and says no namespace twice', () => {
  const { complement_trees: trees } = detailOf(DOCUMENTS['3.3, elections and an unknown complement']!)
  expect(trees.map(({ name, namespace }) => [name, namespace])).toEqual([
    ['INE', 'http://www.sat.gob.mx/ine'],
    ['Complemento', 'https://example.org/nuevo'],
    ['TimbreFiscalDigital', 'http://www.sat.gob.mx/TimbreFiscalDigital'],
  ])
  expect(trees[1]).toEqual({
    ...{ name: 'Complemento', namespace: 'https://example.org/nuevo', attributes: { Version: '9.9' }, text: null },
    children: [
      { name: 'Nota', namespace: null, attributes: { idioma: 'es' }, text: 'Un <texto> & más', children: [] },
      { name: 'Addenda', namespace: '', attributes: { Secreto: 'no addenda of the document' }, text: null, children: [] },
      {
        name: 'Conceptos',
        namespace: null,
        attributes: {},
        text: null,
        children: [{ name: 'Concepto', namespace: null, attributes: { x: 'y' }, text: null, children: [] }],
      },
    ],
  })
})

describe('a hostile document', () => {
  const within = (complements: string, name = '3.3, elections and an unknown complement') =>
    detailOf(DOCUMENTS[name]!.replace('<cfdi:Complemento>', () => `<cfdi:Complemento>${complements}`))
  const count = (nodes: readonly XmlElement[]): number => nodes.reduce((sum, { children }) => sum + 1 + count(children), 0)
  const MIB = 1024 ** 2

  it.each([
    ['100,000 elements', '<x n="1"/>'.repeat(100_000)],
    ['100,000 elements with names of their own', Array.from({ length: 100_000 }, (_, n) => `<x${n}/>`).join('')],
    ['1,000 paths of 50 elements', `${'<x>'.repeat(50)}${'</x>'.repeat(50)}`.repeat(1_000)],
    ['attributes of 3 MiB', `<x a="${'a'.repeat(3 * MIB)}"/>`.repeat(3)],
    ['text of 6 MiB', `<x>${'a'.repeat(6 * MIB)}</x>`],
  ])('with %s gets a bounded answer that says how many it lacks', (_, elements) => {
    const { complement_trees, xml_left_out } = within(`<r:Raro xmlns:r="urn:r">${elements}</r:Raro>`)
    expect(JSON.stringify(complement_trees).length).toBeLessThan(5 * MIB)
    const all = elements.split('<x').length - 1 + 1 + 9
    const isText = elements.startsWith('<x>a')
    expect(count(complement_trees) + xml_left_out!.complement_trees).toBe(all + (isText ? 1 : 0))
    expect(xml_left_out!.complement_trees).toBeGreaterThan(0)
    expect(xml_left_out).toMatchObject({ xml: 0, conceptos: 0 })
  })

  it('with a huge attribute in its root keeps its complements', () => {
    const xml = DOCUMENTS['4.0, payroll 1.2']!.replace('Certificado="TUlJ"', `Certificado="${'a'.repeat(2 * MIB)}"`)
    const { xml: root, xml_left_out, nominas } = detailOf(xml)
    expect([root, xml_left_out, nominas[0]!.percepciones.length]).toEqual([null, { xml: 8, conceptos: 0, complement_trees: 0 }, 3])
  })

  it('with many lines keeps what their complements say up to the limit', () => {
    const line = /<cfdi:Concepto .*?<\/cfdi:Concepto>/s.exec(DOCUMENTS['4.0, complements and parts of lines']!)![0]
    const { conceptos, xml_left_out } = detailOf(
      DOCUMENTS['4.0, complements and parts of lines']!.replace('<cfdi:Conceptos>', () => `<cfdi:Conceptos>${line.repeat(5_000)}`),
    )
    const whole = conceptos.filter(
      ({ other_elements, complement_trees }) => other_elements.length === 2 && complement_trees.length === 1,
    ).length
    expect([conceptos.length, whole > 1_500 && whole < 5_000]).toEqual([5_003, true])
    expect(xml_left_out!.conceptos).toBeGreaterThan(0)
  })
})
