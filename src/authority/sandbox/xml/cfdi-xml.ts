import { type SandboxComprobante, type SandboxConcepto, sum, type TaxLine } from '../world/comprobante.ts'
import { later } from '../world/places.ts'
import { base64Of, digitsOf } from '../world/seed.ts'
import { withCheckDigit } from '../world/taxpayers.ts'
import { decimal, element, group, money, rate } from './markup.ts'
import { nominaXml } from './nomina-xml.ts'
import { pagosXml } from './pagos-xml.ts'

const CFD = 'http://www.sat.gob.mx/cfd/4'
const SITE = 'http://www.sat.gob.mx/sitio_internet/cfd'
const COMPLEMENTS = {
  P: { prefix: 'pago20', namespace: 'http://www.sat.gob.mx/Pagos20', schema: `${SITE}/Pagos/Pagos20.xsd` },
  N: { prefix: 'nomina12', namespace: 'http://www.sat.gob.mx/nomina12', schema: `${SITE}/nomina/nomina12.xsd` },
} as const

/** The RFC of the provider that stamped a document. */
export const pacOf = (document: SandboxComprobante): string => withCheckDigit(document.uuid < '8' ? 'SPR190613I5' : 'MAS0810247C')

/** When a document was stamped, in the local time of central Mexico. */
export const stampedAt = (document: SandboxComprobante): string =>
  later(document.fecha, document.lugar.behind_center * 3600 + 5 + (Number.parseInt(document.uuid.slice(0, 2), 16) % 240))

/** Returns a stamped CFDI 4.0. Its seals have the size of real ones and certify nothing. */
export function cfdiXml(document: SandboxComprobante): string {
  const { tipo, amounts, emisor, receptor, moneda, relacion, global } = document
  const complement = tipo === 'P' || tipo === 'N' ? COMPLEMENTS[tipo] : null
  const bare = tipo === 'P' || tipo === 'T'
  const certificate = certificateOf(emisor.rfc)
  const sello = base64Of(`${document.uuid}|sello`, 256)
  const root = element(
    'cfdi:Comprobante',
    {
      'xmlns:cfdi': CFD,
      ...(complement ? { [`xmlns:${complement.prefix}`]: complement.namespace } : {}),
      'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
      'xsi:schemaLocation': `${CFD} ${SITE}/4/cfdv40.xsd${complement ? ` ${complement.namespace} ${complement.schema}` : ''}`,
      Version: '4.0',
      Serie: document.serie,
      Folio: document.folio,
      Fecha: document.fecha,
      Sello: sello,
      FormaPago: document.forma,
      NoCertificado: certificate.number,
      Certificado: certificate.text,
      CondicionesDePago: document.condiciones,
      SubTotal: bare ? '0' : money(amounts.subtotal),
      Descuento: amounts.descuento > 0 ? money(amounts.descuento) : null,
      Moneda: moneda,
      TipoCambio: document.tipo_cambio === null ? null : decimal(document.tipo_cambio, 4),
      Total: bare ? '0' : money(amounts.total),
      TipoDeComprobante: tipo,
      Exportacion: '01',
      MetodoPago: document.metodo,
      LugarExpedicion: document.lugar.codigo_postal,
    },
    global ? element('cfdi:InformacionGlobal', { Periodicidad: global.periodicidad, Meses: global.meses, Año: global.anio }) : '',
    relacion
      ? element('cfdi:CfdiRelacionados', { TipoRelacion: relacion.tipo }, element('cfdi:CfdiRelacionado', { UUID: relacion.uuid }))
      : '',
    element('cfdi:Emisor', { Rfc: emisor.rfc, Nombre: emisor.nombre, RegimenFiscal: emisor.regimen }),
    element('cfdi:Receptor', {
      Rfc: receptor.rfc,
      Nombre: receptor.nombre,
      // With regimen 616, which foreigners and the general public have, it is the postal code of the place of issue.
      DomicilioFiscalReceptor: receptor.regimen === '616' ? document.lugar.codigo_postal : receptor.place.codigo_postal,
      ResidenciaFiscal: receptor.foreign?.pais,
      NumRegIdTrib: receptor.foreign?.registro,
      RegimenFiscalReceptor: receptor.regimen,
      UsoCFDI: document.uso,
    }),
    element('cfdi:Conceptos', {}, ...document.conceptos.map((concepto) => conceptoXml(concepto, bare))),
    taxesXml(document),
    element(
      'cfdi:Complemento',
      {},
      document.pago ? pagosXml(document.pago) : '',
      document.nomina ? nominaXml(document.nomina, emisor, receptor) : '',
      stampXml(document, sello),
    ),
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}`
}

function conceptoXml(concepto: SandboxConcepto, bare: boolean): string {
  const traslados = concepto.traslados.map((tax) => element('cfdi:Traslado', taxAttributes(tax)))
  const retenciones = concepto.retenciones.map((tax) => element('cfdi:Retencion', taxAttributes(tax)))
  return element(
    'cfdi:Concepto',
    {
      ClaveProdServ: concepto.clave,
      NoIdentificacion: concepto.no_identificacion,
      Cantidad: concepto.cantidad,
      ClaveUnidad: concepto.clave_unidad,
      Unidad: concepto.unidad,
      Descripcion: concepto.descripcion,
      ValorUnitario: bare ? '0' : money(concepto.valor_unitario),
      Importe: bare ? '0' : money(concepto.importe),
      Descuento: concepto.descuento > 0 ? money(concepto.descuento) : null,
      ObjetoImp: concepto.objeto_imp,
    },
    group('cfdi:Impuestos', {}, group('cfdi:Traslados', {}, ...traslados), group('cfdi:Retenciones', {}, ...retenciones)),
  )
}

const taxAttributes = ({ base, impuesto, factor, tasa, importe }: TaxLine) => ({
  Base: money(base),
  Impuesto: impuesto,
  TipoFactor: factor,
  TasaOCuota: factor === 'Tasa' ? rate(tasa) : null,
  Importe: factor === 'Tasa' ? money(importe) : null,
})

function taxesXml({ amounts: { traslados, retenciones } }: SandboxComprobante): string {
  const withheld = (['001', '002'] as const)
    .map((impuesto) => ({ impuesto, lines: retenciones.filter((tax) => tax.impuesto === impuesto) }))
    .filter(({ lines }) => lines.length > 0)
    .map(({ impuesto, lines }) => element('cfdi:Retencion', { Impuesto: impuesto, Importe: money(sum(lines, (tax) => tax.importe)) }))
  return group(
    'cfdi:Impuestos',
    {
      TotalImpuestosRetenidos: withheld.length > 0 ? money(sum(retenciones, (tax) => tax.importe)) : null,
      TotalImpuestosTrasladados: traslados.some((tax) => tax.factor === 'Tasa') ? money(sum(traslados, (tax) => tax.importe)) : null,
    },
    group('cfdi:Retenciones', {}, ...withheld),
    group('cfdi:Traslados', {}, ...traslados.map((tax) => element('cfdi:Traslado', taxAttributes(tax)))),
  )
}

const stampXml = (document: SandboxComprobante, sello: string): string =>
  element('tfd:TimbreFiscalDigital', {
    'xmlns:tfd': 'http://www.sat.gob.mx/TimbreFiscalDigital',
    'xsi:schemaLocation': `http://www.sat.gob.mx/TimbreFiscalDigital ${SITE}/TimbreFiscalDigital/TimbreFiscalDigitalv11.xsd`,
    Version: '1.1',
    UUID: document.uuid,
    FechaTimbrado: stampedAt(document),
    RfcProvCertif: pacOf(document),
    SelloCFD: sello,
    NoCertificadoSAT: '00001000000509846663',
    SelloSAT: base64Of(`${document.uuid}|sat`, 256),
  })

const KEPT = 64
const certificates = new Map<string, { number: string; text: string }>()

function certificateOf(rfc: string): { number: string; text: string } {
  const certificate = certificates.get(rfc) ?? { number: `0000100000${digitsOf(`${rfc}|csd`, 10)}`, text: base64Of(`${rfc}|csd`, 700) }
  certificates.delete(rfc)
  certificates.set(rfc, certificate)
  if (certificates.size > KEPT) certificates.delete(certificates.keys().next().value!)
  return certificate
}
