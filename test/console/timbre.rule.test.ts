import { describe, expect, it } from 'vitest'
import { timbreOf } from '../../console/pages/work/invoice/timbre.ts'

const UUID = '19FAE173-B498-424F-AD0F-8FDC78C583AD'
const of = (attributes: string) =>
  `<cfdi:Comprobante><cfdi:Complemento><tfd:TimbreFiscalDigital ${attributes}/></cfdi:Complemento></cfdi:Comprobante>`

describe('the timbre that a printed CFDI shows', () => {
  it('is that of version 1.1, with its original string in the order of the authority', () => {
    const xml = of(
      `xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" SelloSAT="c2F0==" NoCertificadoSAT="00001000000504465028" SelloCFD="Y2Zk+/==" RfcProvCertif="MAS0810247C0" FechaTimbrado="2026-11-24T10:55:10" UUID="${UUID.toLowerCase()}" Version="1.1"`,
    )
    expect(timbreOf(xml, UUID)).toEqual({
      ...{ no_certificado_sat: '00001000000504465028', sello_cfd: 'Y2Zk+/==', sello_sat: 'c2F0==' },
      cadena: `||1.1|${UUID.toLowerCase()}|2026-11-24T10:55:10|MAS0810247C0|Y2Zk+/==|00001000000504465028||`,
    })
  })

  it('has its legend in the original string, as text', () => {
    const xml = of(
      `Version='1.1' UUID='${UUID}' FechaTimbrado='2026-01-01T00:00:00' RfcProvCertif='P&amp;C010101AB1' Leyenda='a &gt; b &#x21;' SelloCFD='x' NoCertificadoSAT='1' SelloSAT='y'`,
    )
    expect(timbreOf(xml, UUID)?.cadena).toBe(`||1.1|${UUID}|2026-01-01T00:00:00|P&C010101AB1|a > b !|x|1||`)
  })

  it('is that of version 1.0, which names no provider', () => {
    const xml = of(`version="1.0" UUID="${UUID}" FechaTimbrado="2014-01-01T00:00:00" selloCFD="x" noCertificadoSAT="1" selloSAT="y"`)
    expect(timbreOf(xml, UUID)?.cadena).toBe(`||1.0|${UUID}|2014-01-01T00:00:00|x|1||`)
  })

  it('is none where the XML has none, or that of another document', () => {
    expect(timbreOf('<cfdi:Comprobante/>', UUID)).toBeNull()
    const other = of('Version="1.1" UUID="00000000-0000-4000-8000-000000000000" SelloCFD="x" NoCertificadoSAT="1" SelloSAT="y"')
    expect(timbreOf(other, UUID)).toBeNull()
  })
})
