import { type SandboxComprobante, type SandboxConcepto, sum, type TaxLine } from '../world/comprobante.ts'
import { isOld } from '../world/eras.ts'
import { localTaxesXml } from './local-taxes-xml.ts'
import { decimal, element, group, money, rate } from './markup.ts'
import { nominaXml } from './nomina-xml.ts'
import { pagosXml } from './pagos-xml.ts'
import { retencionesXml } from './retenciones-xml.ts'
import { certificateOf, selloOf, stampXml } from './stamp-xml.ts'

const SITE = 'http://www.sat.gob.mx/sitio_internet/cfd'

interface Complement {
  prefix: string
  namespace: string
  schema: string
}

const complementOf = ({ tipo, fecha, amounts }: SandboxComprobante): Complement | null => {
  const at = (prefix: string, name: string, schema: string) => ({ prefix, namespace: `http://www.sat.gob.mx/${name}`, schema })
  if (tipo === 'P') return isOld(fecha) ? at('pago10', 'Pagos', 'Pagos/Pagos10') : at('pago20', 'Pagos20', 'Pagos/Pagos20')
  if (tipo === 'N') return at('nomina12', 'nomina12', 'nomina/nomina12')
  return amounts.locales.length > 0 ? at('implocal', 'implocal', 'implocal/implocal') : null
}

/** Returns a stamped CFDI 4.0, or 3.3 before 2022, or a CFDI de retenciones. */
export function cfdiXml(document: SandboxComprobante): string {
  const { tipo, fecha, amounts, emisor, receptor, moneda, relacion, global, retencion } = document
  if (retencion) return retencionesXml(document, retencion)
  const complement = complementOf(document)
  const old = isOld(fecha)
  const bare = tipo === 'P' || tipo === 'T'
  const certificate = certificateOf(emisor.rfc)
  const namespace = `http://www.sat.gob.mx/cfd/${old ? 3 : 4}`
  const schema = `${namespace} ${SITE}/${old ? '3/cfdv33' : '4/cfdv40'}.xsd`
  const root = element(
    'cfdi:Comprobante',
    {
      'xmlns:cfdi': namespace,
      ...(complement ? { [`xmlns:${complement.prefix}`]: complement.namespace } : {}),
      'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
      'xsi:schemaLocation': `${schema}${complement ? ` ${complement.namespace} ${SITE}/${complement.schema}.xsd` : ''}`,
      Version: old ? '3.3' : '4.0',
      Serie: document.serie,
      Folio: document.folio,
      Fecha: fecha,
      Sello: selloOf(document),
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
      Exportacion: old ? null : '01',
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
      DomicilioFiscalReceptor: old ? null : receptor.regimen === '616' ? document.lugar.codigo_postal : receptor.place.codigo_postal,
      ResidenciaFiscal: receptor.foreign?.pais,
      NumRegIdTrib: receptor.foreign?.registro,
      RegimenFiscalReceptor: old ? null : receptor.regimen,
      UsoCFDI: document.uso,
    }),
    element('cfdi:Conceptos', {}, ...document.conceptos.map((concepto) => conceptoXml(concepto, bare, old))),
    taxesXml(document, old),
    element(
      'cfdi:Complemento',
      {},
      localTaxesXml(amounts.locales),
      document.pago ? pagosXml(document.pago, old) : '',
      document.nomina ? nominaXml(document.nomina, emisor, receptor) : '',
      stampXml(document),
    ),
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}`
}

function conceptoXml(concepto: SandboxConcepto, bare: boolean, old: boolean): string {
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
      ObjetoImp: old ? null : concepto.objeto_imp,
    },
    group('cfdi:Impuestos', {}, group('cfdi:Traslados', {}, ...traslados), group('cfdi:Retenciones', {}, ...retenciones)),
  )
}

const taxAttributes = ({ base, impuesto, factor, tasa, importe }: TaxLine) => ({
  Base: money(base),
  Impuesto: impuesto,
  TipoFactor: factor,
  TasaOCuota: factor === 'Exento' ? null : rate(tasa),
  Importe: factor === 'Exento' ? null : money(importe),
})

function taxesXml({ amounts: { traslados, retenciones } }: SandboxComprobante, old: boolean): string {
  const taxed = traslados.filter((tax) => tax.factor !== 'Exento')
  const withheld = (['001', '002'] as const)
    .map((impuesto) => ({ impuesto, lines: retenciones.filter((tax) => tax.impuesto === impuesto) }))
    .filter(({ lines }) => lines.length > 0)
    .map(({ impuesto, lines }) => element('cfdi:Retencion', { Impuesto: impuesto, Importe: money(sum(lines, (tax) => tax.importe)) }))
  return group(
    'cfdi:Impuestos',
    {
      TotalImpuestosRetenidos: withheld.length > 0 ? money(sum(retenciones, (tax) => tax.importe)) : null,
      TotalImpuestosTrasladados: taxed.length > 0 ? money(sum(taxed, (tax) => tax.importe)) : null,
    },
    group('cfdi:Retenciones', {}, ...withheld),
    // 3.3 sums up neither bases nor what is exempt.
    group(
      'cfdi:Traslados',
      {},
      ...(old ? taxed : traslados).map((tax) => element('cfdi:Traslado', { ...taxAttributes(tax), ...(old && { Base: null }) })),
    ),
  )
}
