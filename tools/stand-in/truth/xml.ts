import { money, sealOf, tag } from './markup.ts'
import type { Party } from './truth.ts'

/** Documents as providers stamp them: CFDI 4.0 with pagos 2.0 and nómina 1.2, and retenciones 2.0. Simple, and all that has to be there. */

export interface Draft {
  uuid: string
  emisor: Party
  receptor: Party
  fecha: string
  stamped: string
  /** Without tax, in cents. */
  subtotal: number
  folio: string
}

/** VAT of 16 %, in cents. */
const vat = (cents: number): number => Math.round(cents * 0.16)
export const withVat = (cents: number): number => cents + vat(cents)

const TFD = 'http://www.sat.gob.mx/TimbreFiscalDigital'
const XSI = 'http://www.w3.org/2001/XMLSchema-instance'
const POSTCODE = '06000'

const stamp = ({ uuid, stamped }: Draft): string =>
  tag('tfd:TimbreFiscalDigital', {
    'xmlns:tfd': TFD,
    'xsi:schemaLocation': `${TFD} http://www.sat.gob.mx/sitio_internet/cfd/TimbreFiscalDigital/TimbreFiscalDigitalv11.xsd`,
    Version: '1.1',
    UUID: uuid,
    FechaTimbrado: stamped,
    RfcProvCertif: PAC,
    SelloCFD: sealOf(uuid),
    NoCertificadoSAT: '00001000000509846663',
    SelloSAT: sealOf(`${uuid} sat`),
  })

export const PAC = 'SPR190613I52'
const declared = (root: string): string => `<?xml version="1.0" encoding="UTF-8"?>\n${root}`
const signed = (uuid: string) => ({
  Sello: sealOf(uuid),
  NoCertificado: '30001000000500003416',
  Certificado: sealOf('certificate', 12),
})

interface Comprobante {
  type: string
  attributes: Record<string, string | null>
  use: string
  conceptos: string
  taxes?: string
  related?: { type: string; uuid: string }
  namespaces?: Record<string, string>
  complement?: string
  padding?: string
}

function comprobante(
  draft: Draft,
  { type, attributes, use, conceptos, taxes, related, namespaces, complement, padding }: Comprobante,
): string {
  const { uuid, emisor, receptor, fecha, folio } = draft
  return declared(
    tag(
      'cfdi:Comprobante',
      {
        'xmlns:cfdi': 'http://www.sat.gob.mx/cfd/4',
        ...namespaces,
        'xmlns:xsi': XSI,
        'xsi:schemaLocation': 'http://www.sat.gob.mx/cfd/4 http://www.sat.gob.mx/sitio_internet/cfd/4/cfdv40.xsd',
        ...{ Version: '4.0', Serie: 'A', Folio: folio, Fecha: fecha, ...signed(uuid), ...attributes },
        ...{ TipoDeComprobante: type, Exportacion: '01', LugarExpedicion: POSTCODE },
      },
      related ? tag('cfdi:CfdiRelacionados', { TipoRelacion: related.type }, tag('cfdi:CfdiRelacionado', { UUID: related.uuid })) : '',
      tag('cfdi:Emisor', { Rfc: emisor.rfc, Nombre: nameOf(emisor), RegimenFiscal: '601' }),
      tag('cfdi:Receptor', {
        Rfc: receptor.rfc,
        Nombre: nameOf(receptor),
        DomicilioFiscalReceptor: POSTCODE,
        RegimenFiscalReceptor: type === 'N' ? '605' : '601',
        UsoCFDI: use,
      }),
      tag('cfdi:Conceptos', {}, conceptos),
      taxes ?? '',
      tag('cfdi:Complemento', {}, complement ?? '', stamp(draft)),
      padding ? tag('cfdi:Addenda', {}, tag('nota', {}, padding)) : '',
    ),
  )
}

/** A line feed in a name is in metadata only. */
const nameOf = ({ name }: Party): string => name.replace('\n', ' ')

/** An invoice, or a credit note of one. */
export function sale(
  draft: Draft,
  { metodo = 'PUE', credits, padding }: { metodo?: 'PUE' | 'PPD'; credits?: string; padding?: string },
): string {
  const { subtotal } = draft
  const tax = { Base: money(subtotal), Impuesto: '002', TipoFactor: 'Tasa', TasaOCuota: '0.160000', Importe: money(vat(subtotal)) }
  return comprobante(draft, {
    type: credits ? 'E' : 'I',
    attributes: {
      FormaPago: metodo === 'PPD' ? '99' : '03',
      ...{ SubTotal: money(subtotal), Moneda: 'MXN', Total: money(withVat(subtotal)), MetodoPago: metodo },
    },
    use: credits ? 'G02' : 'G03',
    conceptos: tag(
      'cfdi:Concepto',
      {
        ...{ ClaveProdServ: '81112100', Cantidad: '1', ClaveUnidad: 'E48', Descripcion: 'Servicio de acceso', ObjetoImp: '02' },
        ...{ ValorUnitario: money(subtotal), Importe: money(subtotal) },
      },
      tag('cfdi:Impuestos', {}, tag('cfdi:Traslados', {}, tag('cfdi:Traslado', tax))),
    ),
    taxes: tag('cfdi:Impuestos', { TotalImpuestosTrasladados: tax.Importe }, tag('cfdi:Traslados', {}, tag('cfdi:Traslado', tax))),
    ...(credits && { related: { type: '01', uuid: credits } }),
    ...(padding && { padding }),
  })
}

const BARE = { SubTotal: '0', Moneda: 'XXX', Total: '0' }

/** A payment complement, of the whole of one invoice. */
export function payment(draft: Draft, invoice: Draft): string {
  const total = money(withVat(invoice.subtotal))
  const [base, tax] = [money(invoice.subtotal), money(vat(invoice.subtotal))]
  const rate = (suffix: string) => ({
    [`Base${suffix}`]: base,
    [`Impuesto${suffix}`]: '002',
    [`TipoFactor${suffix}`]: 'Tasa',
    [`TasaOCuota${suffix}`]: '0.160000',
    [`Importe${suffix}`]: tax,
  })
  return comprobante(draft, {
    type: 'P',
    attributes: BARE,
    use: 'CP01',
    conceptos: tag('cfdi:Concepto', {
      ...{
        ClaveProdServ: '84111506',
        Cantidad: '1',
        ClaveUnidad: 'ACT',
        Descripcion: 'Pago',
        ValorUnitario: '0',
        Importe: '0',
        ObjetoImp: '01',
      },
    }),
    namespaces: { 'xmlns:pago20': 'http://www.sat.gob.mx/Pagos20' },
    complement: tag(
      'pago20:Pagos',
      { Version: '2.0' },
      tag('pago20:Totales', { TotalTrasladosBaseIVA16: base, TotalTrasladosImpuestoIVA16: tax, MontoTotalPagos: total }),
      tag(
        'pago20:Pago',
        { FechaPago: draft.fecha, FormaDePagoP: '03', MonedaP: 'MXN', TipoCambioP: '1', Monto: total },
        tag(
          'pago20:DoctoRelacionado',
          {
            ...{ IdDocumento: invoice.uuid, Serie: 'A', Folio: invoice.folio, MonedaDR: 'MXN', EquivalenciaDR: '1', NumParcialidad: '1' },
            ...{ ImpSaldoAnt: total, ImpPagado: total, ImpSaldoInsoluto: '0.00', ObjetoImpDR: '02' },
          },
          tag('pago20:ImpuestosDR', {}, tag('pago20:TrasladosDR', {}, tag('pago20:TrasladoDR', rate('DR')))),
        ),
        tag('pago20:ImpuestosP', {}, tag('pago20:TrasladosP', {}, tag('pago20:TrasladoP', rate('P')))),
      ),
    ),
  })
}

/** What a payroll receipt withholds, in cents: a tenth. */
export const paidOut = (salary: number): number => salary - Math.round(salary / 10)

export function payroll(draft: Draft): string {
  const { subtotal: salary, fecha } = draft
  const day = fecha.slice(0, 10)
  const [gross, withheld] = [money(salary), money(salary - paidOut(salary))]
  return comprobante(draft, {
    type: 'N',
    attributes: { SubTotal: gross, Descuento: withheld, Moneda: 'MXN', Total: money(paidOut(salary)), MetodoPago: 'PUE' },
    use: 'CN01',
    conceptos: tag('cfdi:Concepto', {
      ...{ ClaveProdServ: '84111505', Cantidad: '1', ClaveUnidad: 'ACT', Descripcion: 'Pago de nómina', ObjetoImp: '01' },
      ...{ ValorUnitario: gross, Importe: gross, Descuento: withheld },
    }),
    namespaces: { 'xmlns:nomina12': 'http://www.sat.gob.mx/nomina12' },
    complement: tag(
      'nomina12:Nomina',
      {
        ...{ Version: '1.2', TipoNomina: 'O', FechaPago: day, FechaInicialPago: day, FechaFinalPago: day, NumDiasPagados: '15.000' },
        ...{ TotalPercepciones: gross, TotalDeducciones: withheld },
      },
      tag('nomina12:Emisor', { RegistroPatronal: 'Y1234567890' }),
      tag('nomina12:Receptor', {
        ...{
          Curp: 'XAXX010101HDFRRL09',
          TipoContrato: '01',
          TipoRegimen: '02',
          NumEmpleado: '7',
          PeriodicidadPago: '04',
          ClaveEntFed: 'CMX',
        },
      }),
      tag(
        'nomina12:Percepciones',
        { TotalSueldos: gross, TotalGravado: gross, TotalExento: '0.00' },
        tag('nomina12:Percepcion', {
          TipoPercepcion: '001',
          Clave: '001',
          Concepto: 'Sueldo',
          ImporteGravado: gross,
          ImporteExento: '0.00',
        }),
      ),
      tag(
        'nomina12:Deducciones',
        { TotalImpuestosRetenidos: withheld },
        tag('nomina12:Deduccion', { TipoDeduccion: '002', Clave: '002', Concepto: 'ISR', Importe: withheld }),
      ),
    ),
  })
}

export function withholding(draft: Draft): string {
  const { uuid, emisor, receptor, fecha, subtotal, folio } = draft
  const [amount, withheld] = [money(subtotal), money(Math.round(subtotal / 10))]
  const [year, month] = fecha.split('-') as [string, string]
  return declared(
    tag(
      'retenciones:Retenciones',
      {
        'xmlns:retenciones': 'http://www.sat.gob.mx/esquemas/retencionpago/2',
        'xmlns:xsi': XSI,
        ...{ Version: '2.0', FolioInt: folio, ...signed(uuid), FechaExp: fecha, LugarExpRetenc: POSTCODE, CveRetenc: '14' },
      },
      tag('retenciones:Emisor', { RfcE: emisor.rfc, NomDenRazSocE: nameOf(emisor), RegimenFiscalE: '601' }),
      tag(
        'retenciones:Receptor',
        { NacionalidadR: 'Nacional' },
        tag('retenciones:Nacional', { RfcR: receptor.rfc, NomDenRazSocR: nameOf(receptor), DomicilioFiscalR: POSTCODE }),
      ),
      tag('retenciones:Periodo', { MesIni: month, MesFin: month, Ejercicio: year }),
      tag(
        'retenciones:Totales',
        { MontoTotOperacion: amount, MontoTotGrav: amount, MontoTotExent: '0.00', MontoTotRet: withheld },
        tag('retenciones:ImpRetenidos', { BaseRet: amount, ImpuestoRet: '001', MontoRet: withheld, TipoPagoRet: '01' }),
      ),
      tag('retenciones:Complemento', {}, stamp(draft)),
    ),
  )
}
