import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CfdiDetail } from '../../console/api/routes.d.ts'
import { qrCode } from '../../console/pages/work/invoice/qr-code.ts'
import { verificationOf } from '../../console/pages/work/invoice/verification.ts'
import { readQr } from './read-qr.ts'

const PAGE = 'https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx'

describe('the QR code of a CFDI', () => {
  it('holds a text of each length', () => {
    for (let length = 1; length <= 331; length++) {
      const text = Array.from({ length }, (_, n) => String.fromCharCode(33 + ((n * 31 + length) % 90))).join('')
      expect(readQr(qrCode(text)!)).toBe(text)
    }
  })

  it('holds any text of up to 331 bytes, and refuses a longer one', () => {
    const anyText = fc.string({ unit: 'grapheme', maxLength: 120 })
    fc.assert(
      fc.property(anyText, (text) => {
        const rows = qrCode(text)
        if (new TextEncoder().encode(text).length > 331) expect(rows).toBeNull()
        else expect(readQr(rows!)).toBe(text)
      }),
    )
    expect(qrCode('x'.repeat(332))).toBeNull()
  })

  it('a scanner trips over a module that is wrong', () => {
    const rows = qrCode('https://example.com')!
    for (const [row, column] of [
      [0, 0],
      [6, 10],
      [8, 1],
      [12, 12],
      [rows.length - 1, rows.length - 1],
    ] as const) {
      const other = rows.map((one) => [...one])
      other[row]![column] = !other[row]![column]
      expect(() => readQr(other), `${row}, ${column}`).toThrow()
    }
  })
})

const SELLO = 'abcdefghijklmnop/+r8Zw=='
const cfdi = (given: Partial<CfdiDetail>): CfdiDetail =>
  ({
    ...{ kind: 'cfdi', version: '4.0', uuid: '5803eb8d-81cd-4557-8719-26632d2fa434', total: '1234.5' },
    ...{ emisor_rfc: 'EKU9003173C9', receptor_rfc: 'CACX7605101P8', sello_ultimos_8: SELLO.slice(-8) },
    ...given,
  }) as CfdiDetail

describe('the address that the code says', () => {
  it('has the UUID, both RFCs, the total and the last eight characters of the seal, as Anexo 20 orders them', () => {
    expect(verificationOf(cfdi({}))).toBe(
      `${PAGE}?id=5803eb8d-81cd-4557-8719-26632d2fa434&re=EKU9003173C9&rr=CACX7605101P8&tt=1234.5&fe=%2Br8Zw%3D%3D`.replace(
        '%2Br8Zw%3D%3D',
        encodeURIComponent(SELLO.slice(-8)),
      ),
    )
  })

  it('an ampersand and an Ñ of an RFC stay parts of it', () => {
    const found = new URL(verificationOf(cfdi({ emisor_rfc: 'Ñ&A010101AAA' }))!)
    expect([...found.searchParams.keys()]).toEqual(['id', 're', 'rr', 'tt', 'fe'])
    expect(found.searchParams.get('re')).toBe('Ñ&A010101AAA')
  })

  it.each([
    ['100', '100.0'],
    ['100.00', '100.0'],
    ['100.10', '100.1'],
    ['0.000001', '0.000001'],
    ['123456789012345678.123456', '123456789012345678.123456'],
    ['0', '0.0'],
  ])('says the total %s as %s', (total, shown) => {
    expect(new URL(verificationOf(cfdi({ total }))!).searchParams.get('tt')).toBe(shown)
  })

  it.each([
    ['of a retención', { kind: 'retenciones' }],
    ['of CFDI 3.2', { version: '3.2' }],
    ['of which only metadata is known', { sello_ultimos_8: null }],
    ['without a total', { total: null }],
  ] as [string, Partial<CfdiDetail>][])('there is none for a document %s', (_, given) => {
    expect(verificationOf(cfdi(given))).toBeNull()
  })
})
