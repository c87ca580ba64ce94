import type { CfdiDetail } from '../../../api/routes.d.ts'

const PAGE = 'https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx'

/**
 * The address at which a CFDI is verified, as its QR code says it. Null for what the authority's page does not know by such an address: other documents
 * than CFDI 3.3 and 4.0, and those whose XML is not known. Source: Anexo 20.
 */
export function verificationOf({ kind, version, uuid, emisor_rfc, receptor_rfc, total, sello_ultimos_8 }: CfdiDetail): string | null {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d{1,6}))?$/.exec(total ?? '') ?? []
  if (kind !== 'cfdi' || !/^(3\.3|4\.0)$/.test(version ?? '') || !sello_ultimos_8 || whole === undefined) return null
  const shown = `${whole}.${fraction.replace(/0+$/, '') || '0'}`
  const [re, rr, fe] = [emisor_rfc, receptor_rfc, sello_ultimos_8].map(encodeURIComponent)
  return `${PAGE}?id=${uuid}&re=${re}&rr=${rr}&tt=${shown}&fe=${fe}`
}
