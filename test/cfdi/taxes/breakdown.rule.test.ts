import { describe, expect, it } from 'vitest'
import { Lines } from '../../../src/cfdi/ingest/applications.ts'
import { documentOf } from '../../../src/cfdi/ingest/read-entries.ts'
import { statusOf } from '../../../src/cfdi/ingest/row.ts'
import { BREAKDOWN, type Breakdown, parseBreakdown } from '../../../src/cfdi/taxes/breakdown.ts'
import { parseCfdi } from '../../../src/cfdi/xml/parse.ts'

const [RFC, OTHER] = ['AAA010101AAA', 'URE180429TM6']
const STAMP =
  '<t:TimbreFiscalDigital xmlns:t="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" UUID="C0FFEE00-1111-4222-8333-444455556666"/>'

/** What is stored of a CFDI 4.0 with these attributes, lines, taxes and complement. */
const stored = (
  root: string,
  { lines = '', header = '', complement = '' }: { lines?: string; header?: string; complement?: string } = {},
) => {
  const xml =
    `<c:Comprobante xmlns:c="http://www.sat.gob.mx/cfd/4" Version="4.0" Fecha="2025-02-03T10:00:00" ${root}>` +
    `<c:Emisor Rfc="${RFC}"/><c:Receptor Rfc="${OTHER}"/><c:Conceptos>${lines}</c:Conceptos>` +
    `${header && `<c:Impuestos>${header}</c:Impuestos>`}<c:Complemento>${complement}${STAMP}</c:Complemento></c:Comprobante>`
  const taken = new Lines()
  const parsed = parseCfdi(new TextEncoder().encode(xml), taken)
  return documentOf(parsed, taken, RFC, statusOf(undefined), 0, { xml_length: 1, xml_method: 0, xml_size: 1, xml_crc: 1 })
}

const traslado = (rate: string, base: string, importe: string, impuesto = '002') =>
  `<c:Traslado Impuesto="${impuesto}" TipoFactor="Tasa" TasaOCuota="${rate}" Base="${base}" Importe="${importe}"/>`
const exempt = (base: string) => `<c:Traslado Impuesto="002" TipoFactor="Exento" Base="${base}"/>`
const withheld = (impuesto: string, importe: string) => `<c:Retencion Impuesto="${impuesto}" Importe="${importe}"/>`
const line = (importe: string, taxes: string) =>
  `<c:Concepto ClaveProdServ="84111506" Cantidad="1" ValorUnitario="${importe}" Importe="${importe}"><c:Impuestos><c:Traslados>${taxes}</c:Traslados></c:Impuestos></c:Concepto>`

const pesos = (amount: number): bigint => BigInt(Math.round(amount * 1e6))
const NOTHING = Object.fromEntries(BREAKDOWN.map((name) => [name, 0n])) as Breakdown

describe('the taxes of an invoice by rate', () => {
  it('are not stored when all of it has the general rate', () => {
    const { row } = stored('TipoDeComprobante="I" Moneda="MXN" SubTotal="1100" Descuento="100" Total="1160"', {
      header: `<c:Traslados>${traslado('0.160000', '1000', '160')}</c:Traslados>`,
    })
    expect([row.net_mxn, row.taxes, row.iva_trasladado]).toEqual([pesos(1_000), null, pesos(160)])
  })

  it('are those of its header, and the bases of exempt goods those of its lines', () => {
    const { row } = stored('TipoDeComprobante="I" Moneda="MXN" SubTotal="1000" Total="1073.34"', {
      lines: line('400', exempt('400')) + line('600', traslado('0.160000', '100', '16')),
      header:
        `<c:Retenciones>${withheld('001', '10')}${withheld('002', '10.66')}</c:Retenciones>` +
        `<c:Traslados>${traslado('0.160000', '100', '16')}${traslado('0.080000', '200', '16')}${traslado('0.000000', '300', '0')}${traslado('0.08', '100', '8', '003')}</c:Traslados>`,
    })
    expect(row.net_mxn).toBe(pesos(1_000))
    expect(parseBreakdown(row.taxes!)).toEqual({
      ...NOTHING,
      ...{ base_16: pesos(100), iva_16: pesos(16), base_8: pesos(200), iva_8: pesos(16), base_0: pesos(300), base_exento: pesos(400) },
      ...{ iva_retenido: pesos(10.66), isr_retenido: pesos(10), ieps: pesos(8), base_otras: 0n, iva_otras: 0n, ieps_retenido: 0n },
    })
  })

  it('of former rates are those of other rates, with bases that follow from the amounts', () => {
    const former = '<c:Traslado Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.110000" Importe="22"/>'
    const { row } = stored('TipoDeComprobante="I" Moneda="MXN" SubTotal="200" Total="222"', {
      header: `<c:Traslados>${former}</c:Traslados>`,
    })
    expect(parseBreakdown(row.taxes!)).toEqual({ ...NOTHING, base_otras: pesos(200), iva_otras: pesos(22) })
  })

  it('are an empty list when it is subject to no IVA', () => {
    expect(stored('TipoDeComprobante="I" Moneda="MXN" SubTotal="10" Total="10"').row.taxes).toBe('[]')
  })

  it('are in MXN at the rate that it states, and in its own currency without one', () => {
    const header = `<c:Traslados>${traslado('0.160000', '100', '16')}</c:Traslados>`
    const { row } = stored('TipoDeComprobante="I" Moneda="USD" TipoCambio="17.5" SubTotal="100" Total="116"', { header })
    expect([row.net_mxn, parseBreakdown(row.taxes!)]).toEqual([pesos(1_750), { ...NOTHING, base_16: pesos(1_750), iva_16: pesos(280) }])
    // At its end are the same amounts in its own currency, and what it is worth before taxes there.
    expect(JSON.parse(row.taxes!)[BREAKDOWN.length]).toEqual([100e6, 16e6, ...BREAKDOWN.slice(2).map(() => 0), 100e6])
    const unrated = stored('TipoDeComprobante="I" Moneda="USD" SubTotal="100" Total="116"', { header }).row
    expect([unrated.net_mxn, parseBreakdown(unrated.taxes!)]).toEqual([null, { ...NOTHING, base_16: pesos(100), iva_16: pesos(16) }])
  })

  it('have apart what lines say is not subject, transfers nothing, or is of third parties', () => {
    const of = (importe: string, objeto: string, inside = '', more = '') =>
      `<c:Concepto ClaveProdServ="84111506" Cantidad="1" ValorUnitario="${importe}" Importe="${importe}" ObjetoImp="${objeto}" ${more}>${inside}</c:Concepto>`
    const third = '<c:ACuentaTerceros RfcACuentaTerceros="BBB020202BB1"/>'
    const taxed = `<c:Impuestos><c:Traslados>${traslado('0.160000', '50', '8')}</c:Traslados></c:Impuestos>`
    const { row } = stored('TipoDeComprobante="I" Moneda="MXN" SubTotal="500" Descuento="100" Total="408"', {
      lines:
        of('50', '02', `${taxed}${third}`) +
        of('30', '01', third) +
        of('100', '01', '', 'Descuento="100"') +
        of('20', '01') +
        // Its only tax is IEPS.
        of(
          '100',
          '02',
          '<c:Impuestos><c:Traslados><c:Traslado Base="100" Impuesto="003" TipoFactor="Cuota" TasaOCuota="0.5" Importe="50"/></c:Traslados></c:Impuestos>',
        ) +
        of('200', '04'),
      header: `<c:Traslados>${traslado('0.160000', '50', '8')}</c:Traslados>`,
    })
    expect(parseBreakdown(row.taxes!)).toEqual({
      ...NOTHING,
      ...{ base_16: pesos(50), iva_16: pesos(8), base_no_objeto: pesos(50), base_sin_traslado: pesos(300) },
      ...{ tercero: pesos(80), tercero_base_16: pesos(50), tercero_iva_16: pesos(8), tercero_base_no_objeto: pesos(30) },
    })
  })

  it('include IEPS that is withheld', () => {
    const { row } = stored('TipoDeComprobante="I" Moneda="MXN" SubTotal="100" Total="113"', {
      header: `<c:Retenciones>${withheld('003', '3')}</c:Retenciones><c:Traslados>${traslado('0.160000', '100', '16')}</c:Traslados>`,
    })
    expect(parseBreakdown(row.taxes!)).toEqual({ ...NOTHING, base_16: pesos(100), iva_16: pesos(16), ieps_retenido: pesos(3) })
  })

  it('of a payroll receipt are what it withholds and of what, on the day of payment', () => {
    const nomina = (isr: string) =>
      `<n:Nomina xmlns:n="http://www.sat.gob.mx/nomina12" Version="1.2" FechaPago="2025-01-31"><n:Percepciones TotalGravado="900" TotalExento="100"/><n:Deducciones><n:Deduccion TipoDeduccion="002" Importe="${isr}"/></n:Deducciones></n:Nomina>`
    const receipt = (isr: string) =>
      stored('TipoDeComprobante="N" Moneda="MXN" SubTotal="1000" Descuento="90" Total="910"', { complement: nomina(isr) }).row
    const row = receipt('90')
    expect([row.taxes, row.first_paid_on, row.last_paid_on]).toEqual(['[900000000,90000000]', '2025-01-31', '2025-01-31'])
    expect(receipt('0').taxes).toBeNull()
  })

  it('are of no sum when an amount does not fit', () => {
    const { row } = stored('TipoDeComprobante="I" Moneda="USD" TipoCambio="20" SubTotal="100000000000000000" Total="1"')
    expect([row.net_mxn, row.taxes]).toEqual([null, null])
  })
})

describe('a payment complement', () => {
  const pago = (attributes: string, doctos: string) =>
    `<p:Pagos xmlns:p="http://www.sat.gob.mx/Pagos20" Version="2.0"><p:Pago ${attributes}>${doctos}</p:Pago></p:Pagos>`
  const docto = (attributes: string, inside = '') =>
    `<p:DoctoRelacionado IdDocumento="C0FFEE00-1111-4222-8333-000000000001" NumParcialidad="1" ${attributes}>${inside}</p:DoctoRelacionado>`
  const IVA =
    '<p:ImpuestosDR><p:RetencionesDR><p:RetencionDR BaseDR="50" ImpuestoDR="001" TipoFactorDR="Tasa" TasaOCuotaDR="0.1" ImporteDR="5"/></p:RetencionesDR>' +
    '<p:TrasladosDR><p:TrasladoDR BaseDR="50" ImpuestoDR="002" TipoFactorDR="Tasa" TasaOCuotaDR="0.160000" ImporteDR="8"/></p:TrasladosDR></p:ImpuestosDR>'
  const applied = (attributes: string, dr: string, inside = '') =>
    stored('TipoDeComprobante="P" Moneda="XXX" SubTotal="0" Total="0"', { complement: pago(attributes, docto(dr, inside)) })

  it('keeps what is paid in MXN at the rate of the payment, with its taxes', () => {
    // 58 USD for pesos, of which one is 0.0575 USD: 58 ÷ 0.0575 = 1,008.695652 MXN, and likewise 50, 8 and 5 USD.
    const { applications, row } = applied(
      'FechaPago="2025-02-01T12:00:00" FormaDePagoP="03" MonedaP="MXN" TipoCambioP="1" Monto="1008.70"',
      'MonedaDR="USD" EquivalenciaDR="0.0575" ImpPagado="58"',
      IVA,
    )
    expect(applications[0]).toMatchObject({ amount: pesos(58), amount_mxn: 1_008_695_652n })
    expect(parseBreakdown(applications[0]!.taxes!)).toEqual({
      ...NOTHING,
      ...{ base_16: 869_565_217n, iva_16: 139_130_435n, isr_retenido: 86_956_522n },
    })
    expect([row.first_paid_on, row.last_paid_on]).toEqual(['2025-02-01', '2025-02-01'])
  })

  it.each([
    ['01', '[]'],
    ['02', null],
    ['03', null],
    ['04', '[]'],
    ['05', null],
    ['06', '[]'],
    ['07', '[]'],
    ['08', '[]'],
  ])('that states no tax of ObjetoImpDR %s transfers none, or in proportion', (objeto, taxes) => {
    const { applications } = applied(
      'FechaPago="2025-02-01T12:00:00" MonedaP="MXN"',
      `MonedaDR="MXN" ImpPagado="10" ObjetoImpDR="${objeto}"`,
    )
    expect(applications[0]!.taxes).toBe(taxes)
  })

  it.each([
    ['pesos, which need no other amount', 'MonedaP="USD" TipoCambioP="20"', 'MonedaDR="MXN" EquivalenciaDR="20"', null],
    ['the currency of the payment', 'MonedaP="USD" TipoCambioP="20"', 'MonedaDR="USD" EquivalenciaDR="1"', pesos(200)],
    ['another currency', 'MonedaP="USD" TipoCambioP="20"', 'MonedaDR="EUR" EquivalenciaDR="0.8"', pesos(250)],
    ['a currency whose rate is not stated', 'MonedaP="USD"', 'MonedaDR="USD" EquivalenciaDR="1"', null],
  ])('converts what is paid in %s', (_, pagoOf, dr, expected) => {
    const { applications } = applied(`FechaPago="2025-02-01T12:00:00" FormaDePagoP="03" Monto="1" ${pagoOf}`, `${dr} ImpPagado="10"`)
    expect([applications[0]!.amount_mxn, applications[0]!.taxes]).toEqual([expected, null])
  })
})
