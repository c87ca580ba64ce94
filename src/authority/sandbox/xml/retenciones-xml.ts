import type { SandboxComprobante, SandboxRetencion } from '../world/comprobante.ts'
import { isOld } from '../world/eras.ts'
import { withOffset } from '../world/places.ts'
import { element, money } from './markup.ts'
import { certificateOf, selloOf, stampXml } from './stamp-xml.ts'

/** Returns a stamped CFDI de retenciones e información de pagos 2.0, or 1.0 before 2022. The two name nearly everything differently. */
export function retencionesXml(document: SandboxComprobante, retencion: SandboxRetencion): string {
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
            DomicilioFiscalR: old ? null : receptor.place.codigo_postal,
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
