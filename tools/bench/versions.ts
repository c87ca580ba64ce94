import { documentsOf } from '../../src/authority/sandbox/world/month.ts'
import { cfdiXml } from '../../src/authority/sandbox/xml/cfdi-xml.ts'
import { type Plain, plainOf, RFC, xmlOf } from '../../test/cfdi/support/documents.ts'
import { randomOf } from '../../test/support/random.ts'

/** A CFDI 4.0 as 3.3 would have said it. */
const as33 = (xml: string): string =>
  xml
    .replaceAll('http://www.sat.gob.mx/cfd/4', 'http://www.sat.gob.mx/cfd/3')
    .replaceAll('sitio_internet/cfd/4/cfdv40.xsd', 'sitio_internet/cfd/3/cfdv33.xsd')
    .replace('Version="4.0"', 'Version="3.3"')
    .replaceAll('http://www.sat.gob.mx/Pagos20', 'http://www.sat.gob.mx/Pagos')
    .replace('Version="2.0"', 'Version="1.0"')
    .replace(/<pago20:Totales[^>]*>/, '')
    .replaceAll('pago20', 'pago10')
    .replace(/ (?:ObjetoImp|ObjetoImpDR|Exportacion|DomicilioFiscalReceptor|RegimenFiscalReceptor)="[^"]*"/g, '')

/** An invoice as 3.2 said it: in lower case and in words, with the seals of the same document. */
function as32(document: Plain): string {
  const [sello, certificado, stamp] = [/ Sello="(.+?)"/, / Certificado="(.+?)"/, /<tfd:.+?\/>/].map(
    (part) => part.exec(xmlOf(document))!.at(-1)!,
  ) as [string, string, string]
  const { emisor, receptor, fecha, subtotal, iva, total, lines } = document
  const cursor = 'calle="Reforma" noExterior="1" municipio="Cuauhtémoc" estado="Ciudad de México" pais="México" codigoPostal="06600"'
  const line = `<cfdi:Concepto cantidad="1" unidad="Servicio" noIdentificacion="A-1" descripcion="Servicios profesionales de consultoría" valorUnitario="${subtotal}" importe="${subtotal}"/>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.sat.gob.mx/cfd/3 http://www.sat.gob.mx/sitio_internet/cfd/3/cfdv32.xsd" version="3.2" serie="A" folio="17" fecha="${fecha}" sello="${sello}" formaDePago="Pago en una sola exhibición" noCertificado="30001000000400002434" certificado="${certificado}" subTotal="${subtotal}" Moneda="MXN" total="${total}" tipoDeComprobante="ingreso" metodoDePago="03" LugarExpedicion="Ciudad de México"><cfdi:Emisor rfc="${emisor}" nombre="EMPRESA DE PRUEBA"><cfdi:DomicilioFiscal ${cursor}/><cfdi:RegimenFiscal Regimen="601"/></cfdi:Emisor><cfdi:Receptor rfc="${receptor}" nombre="CLIENTE DE PRUEBA"><cfdi:Domicilio ${cursor}/></cfdi:Receptor><cfdi:Conceptos>${line.repeat(lines)}</cfdi:Conceptos><cfdi:Impuestos totalImpuestosTrasladados="${iva}"><cfdi:Traslados><cfdi:Traslado impuesto="IVA" tasa="16.00" importe="${iva}"/></cfdi:Traslados></cfdi:Impuestos><cfdi:Complemento>${stamp.replace(/ RfcProvCertif="[^"]*"/, '').replace('Version="1.1"', 'version="1.0"')}</cfdi:Complemento></cfdi:Comprobante>`
}

/** What the sandbox's taxpayer issued and received in half a year, every fourth as 3.3, and a tenth as many invoices of 3.2. */
export function documentsOfAllVersions(): Uint8Array[] {
  const random = randomOf(32_33_40)
  const months = ['2024-01', '2024-02', '2024-03', '2024-04', '2024-05', '2024-06']
  const recent = months
    .flatMap((month) => [...documentsOf(RFC, 'issued', month), ...documentsOf(RFC, 'received', month)])
    .map((document, n) => (n % 4 === 0 ? as33(cfdiXml(document)) : cfdiXml(document)))
  const old = Array.from({ length: Math.ceil(recent.length / 10) }, () => as32(plainOf(random, '2016-05', {})))
  return [...recent, ...old].map((xml) => Buffer.from(xml))
}
