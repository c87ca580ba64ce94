import { describe, expect, it } from 'vitest'
import type { CfdiDetail } from '../../console/api/routes.d.ts'
import { verificationOf } from '../../console/pages/work/invoice/verification.ts'

const PAGE = 'https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx'

const SELLO = 'abcdefghijklmnop/+r8Zw=='
const cfdi = (given: Partial<CfdiDetail>): CfdiDetail =>
  ({
    ...{ kind: 'cfdi', version: '4.0', uuid: '5803eb8d-81cd-4557-8719-26632d2fa434', total: '1234.5' },
    ...{ emisor_rfc: 'EKU9003173C9', receptor_rfc: 'CACX7605101P8', sello_ultimos_8: SELLO.slice(-8) },
    ...given,
  }) as CfdiDetail

describe('the address at which a CFDI is verified', () => {
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
