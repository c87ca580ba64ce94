import {
  isOld,
  type LocalTax,
  type SandboxComprobante,
  type SandboxConcepto,
  type SandboxNomina,
  type SandboxRetencion,
  signed,
  sum,
  type TaxLine,
} from '../world/comprobante.ts'
import { pacOf, stampedAt } from '../world/invoices.ts'
import { withOffset } from '../world/places.ts'
import { base64Of, digitsOf, remembering } from '../world/seed.ts'
import { isCompany, type Taxpayer } from '../world/taxpayers.ts'
import { decimal, element, group, money, rate } from './markup.ts'
import { pagosXml } from './pagos-xml.ts'

const WEEK = 7 * 86_400_000

/** Returns the nómina 1.2 complement of an ordinary fortnightly payroll receipt. */
function nominaXml(nomina: SandboxNomina, emisor: Taxpayer, receptor: Taxpayer): string {
  const earned = nomina.sueldo + nomina.puntualidad
  const weeks = Math.floor((Date.parse(nomina.final) - Date.parse(nomina.inicio_relacion) + 86_400_000) / WEEK)
  const perception = (tipo: string, concepto: string, gravado: number) =>
    gravado > 0
      ? element('nomina12:Percepcion', {
          TipoPercepcion: tipo,
          Clave: tipo,
          Concepto: concepto,
          ImporteGravado: money(gravado),
          ImporteExento: '0.00',
        })
      : ''
  const deduction = (tipo: string, concepto: string, importe: number) =>
    element('nomina12:Deduccion', { TipoDeduccion: tipo, Clave: tipo, Concepto: concepto, Importe: money(importe) })
  return element(
    'nomina12:Nomina',
    {
      Version: '1.2',
      TipoNomina: 'O',
      FechaPago: nomina.fecha_pago,
      FechaInicialPago: nomina.inicial,
      FechaFinalPago: nomina.final,
      NumDiasPagados: `${nomina.dias}.000`,
      TotalPercepciones: money(earned),
      TotalDeducciones: money(nomina.imss + nomina.isr),
      TotalOtrosPagos: nomina.subsidio > 0 ? money(nomina.subsidio) : null,
    },
    element('nomina12:Emisor', {
      Curp: isCompany(emisor.rfc) ? null : curpOf(emisor.rfc),
      RegistroPatronal: `Y${digitsOf(`${emisor.rfc}|imss`, 10)}`,
    }),
    element('nomina12:Receptor', {
      Curp: curpOf(receptor.rfc),
      NumSeguridadSocial: digitsOf(`${receptor.rfc}|nss`, 11),
      FechaInicioRelLaboral: nomina.inicio_relacion,
      Antigüedad: `P${Math.max(weeks, 0)}W`,
      TipoContrato: '01',
      Sindicalizado: 'No',
      TipoJornada: '01',
      TipoRegimen: '02',
      NumEmpleado: nomina.num_empleado,
      Departamento: 'Administración',
      Puesto: 'Analista',
      RiesgoPuesto: '1',
      PeriodicidadPago: '04',
      SalarioBaseCotApor: money(nomina.salario_diario),
      SalarioDiarioIntegrado: money(Math.floor((nomina.salario_diario * 10_493) / 10_000)),
      ClaveEntFed: 'CMX',
    }),
    element(
      'nomina12:Percepciones',
      { TotalSueldos: money(earned), TotalGravado: money(earned), TotalExento: '0.00' },
      perception('001', 'Sueldos, salarios, rayas y jornales', nomina.sueldo),
      perception('010', 'Premio por puntualidad', nomina.puntualidad),
    ),
    element(
      'nomina12:Deducciones',
      { TotalOtrasDeducciones: money(nomina.imss), TotalImpuestosRetenidos: money(nomina.isr) },
      deduction('001', 'Seguridad social', nomina.imss),
      deduction('002', 'ISR', nomina.isr),
    ),
    group('nomina12:OtrosPagos', {}, nomina.subsidio > 0 ? subsidy(money(nomina.subsidio)) : ''),
  )
}

const subsidy = (importe: string): string =>
  element(
    'nomina12:OtroPago',
    { TipoOtroPago: '002', Clave: '002', Concepto: 'Subsidio para el empleo', Importe: importe },
    element('nomina12:SubsidioAlEmpleo', { SubsidioCausado: importe }),
  )

/** Returns a text in the format of a CURP, derived from the RFC. Its second letter is a vowel or X. */
const curpOf = (rfc: string): string => {
  const letters = rfc.replaceAll(/[Ñ&]/g, 'X').replace(/^(.)[^AEIOUX]/, '$1X')
  const digits = digitsOf(`${rfc}|curp`, 2)
  return `${letters.slice(0, 10)}${Number(digits) % 2 === 0 ? 'H' : 'M'}DFRRL0${digits[1]}`
}

const TFD = 'http://www.sat.gob.mx/TimbreFiscalDigital'

/** Returns the issuer's seal of a document. It has the size of a real one and certifies nothing. */
const selloOf = ({ uuid }: SandboxComprobante): string => base64Of(`${uuid}|sello`, 256)

/** Returns the complement with which a provider stamped a document. */
const stampXml = (document: SandboxComprobante): string =>
  element('tfd:TimbreFiscalDigital', {
    'xmlns:tfd': TFD,
    'xsi:schemaLocation': `${TFD} http://www.sat.gob.mx/sitio_internet/cfd/TimbreFiscalDigital/TimbreFiscalDigitalv11.xsd`,
    Version: '1.1',
    UUID: document.uuid,
    FechaTimbrado: stampedAt(document),
    RfcProvCertif: pacOf(document),
    SelloCFD: selloOf(document),
    NoCertificadoSAT: '00001000000509846663',
    SelloSAT: base64Of(`${document.uuid}|sat`, 256),
  })

const certificateOf = remembering(64, (rfc) => ({
  number: `0000100000${digitsOf(`${rfc}|csd`, 10)}`,
  text: base64Of(`${rfc}|csd`, 700),
}))

/** Returns a stamped CFDI de retenciones e información de pagos 2.0, or 1.0 before 2022. The two name nearly everything differently. */
function retencionesXml(document: SandboxComprobante, retencion: SandboxRetencion): string {
  const { emisor, receptor, fecha, lugar, amounts } = document
  const old = isOld(fecha)
  const version = old ? 1 : 2
  const namespace = `http://www.sat.gob.mx/esquemas/retencionpago/${version}`
  const certificate = certificateOf(emisor.rfc)
  const [mont, month] = [old ? 'mont' : 'Mont', Number(retencion.month.slice(5))]
  const period = old ? month : retencion.month.slice(5)
  const total = money(amounts.total)
  const tax = (impuesto: string, importe: number, provisional: boolean) =>
    element('retenciones:ImpRetenidos', {
      BaseRet: total,
      [old ? 'Impuesto' : 'ImpuestoRet']: old ? impuesto.slice(1) : impuesto,
      [`${mont}oRet`]: money(importe),
      TipoPagoRet: old ? `Pago ${provisional ? 'provisional' : 'definitivo'}` : provisional ? '04' : '01',
    })
  const root = element(
    'retenciones:Retenciones',
    {
      'xmlns:retenciones': namespace,
      'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
      'xsi:schemaLocation': `${namespace} ${namespace}/retencionpagov${version}.xsd`,
      Version: `${version}.0`,
      FolioInt: document.folio,
      Sello: selloOf(document),
      [old ? 'NumCert' : 'NoCertificado']: certificate.number,
      [old ? 'Cert' : 'Certificado']: certificate.text,
      FechaExp: old ? withOffset(fecha, lugar.zone) : fecha,
      LugarExpRetenc: old ? null : lugar.codigo_postal,
      CveRetenc: retencion.clave,
      DescRetenc: retencion.descripcion,
    },
    element('retenciones:Emisor', {
      [old ? 'RFCEmisor' : 'RfcE']: emisor.rfc,
      NomDenRazSocE: emisor.nombre,
      RegimenFiscalE: old ? null : emisor.regimen,
    }),
    element(
      'retenciones:Receptor',
      { [old ? 'Nacionalidad' : 'NacionalidadR']: receptor.foreign ? 'Extranjero' : 'Nacional' },
      receptor.foreign
        ? element('retenciones:Extranjero', {
            [old ? 'NumRegIdTrib' : 'NumRegIdTribR']: receptor.foreign.registro,
            NomDenRazSocR: receptor.nombre,
          })
        : element('retenciones:Nacional', {
            [old ? 'RFCRecep' : 'RfcR']: receptor.rfc,
            NomDenRazSocR: receptor.nombre,
            DomicilioFiscalR: old ? null : receptor.locality.codigo_postal,
          }),
    ),
    element('retenciones:Periodo', { MesIni: period, MesFin: period, [old ? 'Ejerc' : 'Ejercicio']: retencion.month.slice(0, 4) }),
    element(
      'retenciones:Totales',
      {
        [`${mont}oTotOperacion`]: total,
        [`${mont}oTotGrav`]: total,
        [`${mont}oTotExent`]: '0.00',
        [`${mont}oTotRet`]: money(retencion.isr + retencion.iva),
      },
      tax('001', retencion.isr, true),
      retencion.iva > 0 ? tax('002', retencion.iva, false) : '',
    ),
    element('retenciones:Complemento', {}, stampXml(document)),
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}`
}

/** Returns the complement implocal, or nothing without local taxes. Its rates are in percent. */
function localTaxesXml(taxes: LocalTax[]): string {
  if (taxes.length === 0) return ''
  const total = (isWithheld: boolean) =>
    money(
      Math.abs(
        sum(
          taxes.filter((tax) => tax.isWithheld === isWithheld),
          signed,
        ),
      ),
    )
  const one = ({ nombre, tasa, importe, isWithheld }: LocalTax): string =>
    isWithheld
      ? element('implocal:RetencionesLocales', { ImpLocRetenido: nombre, TasadeRetencion: money(tasa), Importe: money(importe) })
      : element('implocal:TrasladosLocales', { ImpLocTrasladado: nombre, TasadeTraslado: money(tasa), Importe: money(importe) })
  return element(
    'implocal:ImpuestosLocales',
    { version: '1.0', TotaldeRetenciones: total(true), TotaldeTraslados: total(false) },
    ...taxes.map(one),
  )
}

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
      DomicilioFiscalReceptor: old ? null : receptor.regimen === '616' ? document.lugar.codigo_postal : receptor.locality.codigo_postal,
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
