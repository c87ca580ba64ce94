import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Lines } from '../../../src/cfdi/ingest/applications.ts'
import { RowRejected, refuseLongTexts, rowOf, rowOfMetadata, statusOf } from '../../../src/cfdi/ingest/row.ts'
import type { MetadataRow } from '../../../src/cfdi/package/package.ts'
import { parseCfdi } from '../../../src/cfdi/xml/parse.ts'

const [RFC, OTHER] = ['AAA010101AAA', 'URE180429TM6']
const UUID = 'C0FFEE00-1111-4222-8333-444455556666'
const stamp = (uuid = UUID) => `<t:TimbreFiscalDigital xmlns:t="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" UUID="${uuid}"/>`

const row = (xml: string) => {
  const lines = new Lines()
  return rowOf(parseCfdi(new TextEncoder().encode(xml), lines), lines.taxes, RFC, statusOf(undefined), 0)
}

const cfdi = (root: string, inside = '', complemento = '', uuid = UUID) =>
  `<c:Comprobante xmlns:c="http://www.sat.gob.mx/cfd/4" Version="4.0" Fecha="2025-02-03T10:00:00" TipoDeComprobante="I" ${root}>` +
  `<c:Emisor Rfc="${RFC}"/><c:Receptor Rfc="${OTHER}"/><c:Conceptos/>${inside}<c:Complemento>${complemento}${stamp(uuid)}</c:Complemento></c:Comprobante>`

const retenciones = (version: 1 | 2, totales: string, fecha = '2021-01-13T14:15:16') => {
  const [emisor, receptor, checkpoint] = version === 1 ? ['RFCEmisor', 'RFCRecep', ''] : ['RfcE', 'RfcR', 'LugarExpRetenc="22000"']
  return (
    `<r:Retenciones xmlns:r="http://www.sat.gob.mx/esquemas/retencionpago/${version}" Version="${version}.0" FechaExp="${fecha}" CveRetenc="26" ${checkpoint}>` +
    `<r:Emisor ${emisor}="${RFC}"/><r:Receptor><r:Nacional ${receptor}="${OTHER}"/></r:Receptor>${totales}<r:Complemento>${stamp()}</r:Complemento></r:Retenciones>`
  )
}

const code = (work: () => unknown): string => {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof RowRejected)) throw error
    return error.code
  }
}

describe('amounts of any size', () => {
  const largest = '999999999999999999.999999'

  it('are kept to the last digit, with what follows from them', () => {
    const taxes = `<c:Impuestos><c:Traslados><c:Traslado Impuesto="002" Importe="${largest}"/><c:Traslado Impuesto="002" Importe="${largest}"/></c:Traslados></c:Impuestos>`
    expect(row(cfdi(`Moneda="MXN" Total="${largest}" MetodoPago="PUE"`, taxes))).toMatchObject({
      total: largest,
      total_micros: 10n ** 24n - 1n,
      total_mxn: 10n ** 24n - 1n,
      paid: 10n ** 24n - 1n,
      // Twice as much, which has 19 digits before the point.
      iva_trasladado: 2n * 10n ** 24n - 2n,
    })
  })

  // The seven documents that were refused: 10^12 MXN and more, in another currency.
  it.each([
    ['1000000000000.00', '1.000001', 1_000_001_000_000_000_000n],
    ['99999999999.99', '19.8765', 1_987_649_999_999_801_235n],
    ['500000000000000000.00', '1.999999', 999_999_500_000_000_000_000_000n],
    // 18 digits before the point still fit, 19 do not, and a total of 19 digits is stored as it is.
    ['500000000000000000.00', '2', null],
    ['999999999999999999.99', '999999999999.999999', null],
    ['1000000000000000000', '1', null],
  ])('a total of %s at a rate of %s', (total, rate, total_mxn) => {
    expect(row(cfdi(`Moneda="USD" TipoCambio="${rate}" Total="${total}"`))).toMatchObject({ total, total_mxn })
  })

  it('total_mxn is the exact product, rounded at the sixth decimal, as long as it fits', () => {
    const digits = (min: number, max: number) => fc.stringMatching(new RegExp(`^[1-9]\\d{${min},${max}}$`))
    fc.assert(
      fc.property(digits(0, 17), digits(5, 5), digits(0, 5), digits(5, 5), (whole, fraction, rate, part) => {
        const product = BigInt(whole + fraction) * BigInt(rate + part)
        const expected = (product + 500_000n) / 1_000_000n
        const read = row(cfdi(`Moneda="USD" TipoCambio="${rate}.${part}" Total="${whole}.${fraction}"`))
        expect(read.total_mxn).toBe(expected < 10n ** 24n ? expected : null)
      }),
      { numRuns: 200 },
    )
  })

  it('without a rate have no total_mxn, not even nothing', () => {
    for (const total of ['0', '1']) expect(row(cfdi(`Moneda="USD" Total="${total}"`)).total_mxn).toBeNull()
    expect(row(cfdi('Moneda="XXX" Total="0"')).total_mxn).toBe(0n)
  })

  it('of metadata are kept too', () => {
    expect(rowOfMetadata(metadata({ total: '1000000000000.01' }), RFC, 0)).toMatchObject({ total_micros: 1_000_000_000_000_010_000n })
  })
})

const metadata = (given: Partial<MetadataRow>): MetadataRow => ({
  ...{ uuid: UUID, emisor_rfc: RFC, emisor_nombre: null, receptor_rfc: OTHER, receptor_nombre: null, pac_rfc: null },
  ...{
    fecha: '2025-02-03T10:00:00',
    certified_at: null,
    total: '1',
    kind: 'cfdi',
    tipo_comprobante: 'I',
    cancelled: false,
    cancelled_at: null,
  },
  ...{ cancellation_reason: null, folio_sustitucion: null, ...given },
})

describe('what cannot be a document is refused', () => {
  it('the nil UUID', () => {
    const nil = '00000000-0000-0000-0000-000000000000'
    expect(code(() => row(cfdi('Moneda="MXN" Total="1"', '', '', nil)))).toBe('cfdi.invalid_uuid')
    expect(code(() => row(cfdi('Moneda="MXN" Total="1"', '', '', nil.replace(/0$/, '1'))))).toBe('accepted')
  })

  it('metadata of a year without CFDIs, with the reason', () => {
    for (const fecha of ['2003-12-31T23:59:59', '2101-01-01T00:00:00']) {
      expect(code(() => rowOfMetadata(metadata({ fecha }), RFC, 0))).toBe('cfdi.invalid_date')
      expect(() => rowOfMetadata(metadata({ fecha }), RFC, 0)).toThrow('FechaEmision is not in the years 2004 to 2100.')
    }
    expect(code(() => rowOfMetadata(metadata({ fecha: null }), RFC, 0))).toBe('cfdi.invalid_date')
  })
})

describe('retenciones', () => {
  // 1.0 calls the taxes 01, 02 and 03, its own monto montoRet; 2.0 calls them 001, 002 and 003.
  const taxes = (version: 1 | 2) => {
    const [mont, name, monto] = version === 1 ? ['mont', 'Impuesto', 'montoRet'] : ['Mont', 'ImpuestoRet', 'MontoRet']
    const zeros = version === 1 ? '0' : '00'
    const of = (tax: number, amount: string) => `<r:ImpRetenidos BaseRet="1" ${name}="${zeros}${tax}" ${monto}="${amount}"/>`
    return `<r:Totales ${mont}oTotOperacion="8092.24" ${mont}oTotRet="1304.7584">${of(1, '647.379200')}${of(2, '647.3792')}${of(3, '10')}${of(1, '.000001')}</r:Totales>`
  }

  it.each([1, 2] as const)('%s.0: what was withheld of ISR and IVA', (version) => {
    expect(row(retenciones(version, taxes(version)))).toMatchObject({
      isr_retenido: 647_379_201n,
      iva_retenido: 647_379_200n,
      iva_trasladado: 0n,
      total: '8092.24',
    })
    const { retencion } = parseCfdi(new TextEncoder().encode(retenciones(version, taxes(version))))
    const zeros = version === 1 ? '0' : '00'
    expect(retencion?.impuestos.map(({ impuesto, monto }) => [impuesto, monto])).toEqual([
      [`${zeros}1`, '647.379200'],
      [`${zeros}2`, '647.3792'],
      [`${zeros}3`, '10'],
      [`${zeros}1`, '.000001'],
    ])
  })

  // 14:15:16 at 7 hours behind UTC is 21:15:16 in UTC. Without an offset it is the time of Tijuana, 8 hours behind in January.
  it.each([
    ['2021-01-13T14:15:16-07:00', '2021-01-13T21:15:16Z', -420],
    ['2021-07-13T14:15:16-06:00', '2021-07-13T20:15:16Z', -360],
    ['2021-01-13T14:15:16', '2021-01-13T22:15:16Z', -480],
    ['2021-01-13T14:15:16Z', '2021-01-13T14:15:16Z', 0],
    // At an offset that no place in Mexico has, the instant stays among those of its day there, where searches by days look.
    ['2021-01-13T01:00:00+02:00', '2021-01-13T05:00:00Z', 120],
    ['2021-01-13T23:00:00-12:00', '2021-01-14T07:59:59Z', -720],
  ])('a FechaExp of %s is %s', (fecha, instant, utc_offset) => {
    expect(row(retenciones(2, '', fecha))).toMatchObject({ issued_at: Date.parse(instant) / 1_000, utc_offset, fecha: fecha.slice(0, 19) })
  })
})

describe('payroll', () => {
  const nomina = (...isr: string[]) =>
    `<n:Nomina xmlns:n="http://www.sat.gob.mx/nomina12" Version="1.2"><n:Deducciones>${isr.map((importe) => `<n:Deduccion TipoDeduccion="002" Importe="${importe}"/>`).join('')}<n:Deduccion TipoDeduccion="001" Importe="99"/></n:Deducciones></n:Nomina>`
  const paid = (complemento: string, inside = '') =>
    row(cfdi('Moneda="MXN" Total="1"', inside, complemento).replace('"I"', '"N"')).isr_retenido

  it('has the ISR that its Nóminas withhold', () => {
    expect(paid(nomina('100.50', '0.25'))).toBe(100_750_000n)
    expect(paid(nomina('100.50') + nomina('1'))).toBe(101_500_000n)
    expect(paid(nomina())).toBe(0n)
  })

  it('has that of its taxes only when no Nómina states any', () => {
    const taxes = '<c:Impuestos><c:Retenciones><c:Retencion Impuesto="001" Importe="7"/></c:Retenciones></c:Impuestos>'
    expect(paid(nomina(), taxes)).toBe(7_000_000n)
    expect(paid(nomina('3'), taxes)).toBe(3_000_000n)
  })

  it('of 3.2 is payroll with its ISR', () => {
    const old =
      `<c:Comprobante xmlns:c="http://www.sat.gob.mx/cfd/3" version="3.2" fecha="2015-02-03T10:00:00" total="10" tipoDeComprobante="egreso" Moneda="Pesos">` +
      `<c:Emisor rfc="${RFC}"/><c:Receptor rfc="${OTHER}"/><c:Conceptos/><c:Complemento><n:Nomina xmlns:n="http://www.sat.gob.mx/nomina" Version="1.1"><n:Deducciones>` +
      `<n:Deduccion TipoDeduccion="002" ImporteGravado="1.00" ImporteExento="0.25"/></n:Deducciones></n:Nomina>${stamp()}</c:Complemento></c:Comprobante>`
    expect(row(old)).toMatchObject({ tipo_comprobante: 'N', isr_retenido: 1_250_000n, currency: 'MXN', total_mxn: 10_000_000n })
  })
})

describe('a text that is longer than any of a real document', () => {
  it('is refused, whatever column it is in, and what we make of many members of a document is not', () => {
    for (const name of ['condiciones_pago', 'emisor_nombre', 'serie', 'metodo_pago'] as const) {
      expect(() => refuseLongTexts({ total: 1n, serie: null, [name]: 'A'.repeat(2_000) })).not.toThrow()
      expect(() => refuseLongTexts({ total: 1n, serie: null, [name]: 'A'.repeat(2_001) })).toThrow(RowRejected)
    }
    const texts = (count: number, length: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [n, 'A'.repeat(length)]))
    expect(() => refuseLongTexts(texts(4, 2_000))).not.toThrow()
    expect(() => refuseLongTexts(texts(9, 889))).toThrow(RowRejected)
    for (const name of ['related', 'products', 'taxes'])
      expect(() => refuseLongTexts({ total: 1n, serie: null, [name]: 'A'.repeat(9_000) })).not.toThrow()
  })
})
