import type { SandboxComprobante } from '../../../src/authority/sandbox/world/comprobante.ts'
import { decimal, element, group, money } from '../../../src/authority/sandbox/xml/markup.ts'

const NAMES = { '001': 'ISR', '002': 'IVA', '003': 'IEPS' } as const

/** An invoice as CFDI 3.2, which knows no codes of products, and states what is paid in words. */
export function cfdi32Xml(document: SandboxComprobante): string {
  const { fecha, amounts, emisor, receptor, conceptos, uuid, moneda, tipo_cambio } = document
  const taxes = amounts.traslados.filter(({ factor }) => factor === 'Tasa')
  const inner = [
    element('cfdi:Emisor', { rfc: emisor.rfc, nombre: emisor.nombre }, element('cfdi:RegimenFiscal', { Regimen: 'Régimen general' })),
    element('cfdi:Receptor', { rfc: receptor.rfc, nombre: receptor.nombre }),
    element(
      'cfdi:Conceptos',
      {},
      ...conceptos.map(({ cantidad, descripcion, valor_unitario, importe }) =>
        element('cfdi:Concepto', { cantidad, unidad: 'PIEZA', descripcion, valorUnitario: money(valor_unitario), importe: money(importe) }),
      ),
    ),
    element(
      'cfdi:Impuestos',
      {},
      group(
        'cfdi:Retenciones',
        {},
        ...amounts.retenciones.map((tax) => element('cfdi:Retencion', { impuesto: NAMES[tax.impuesto], importe: money(tax.importe) })),
      ),
      group(
        'cfdi:Traslados',
        {},
        ...taxes.map((tax) =>
          element('cfdi:Traslado', { impuesto: NAMES[tax.impuesto], tasa: decimal(tax.tasa, 4), importe: money(tax.importe) }),
        ),
      ),
    ),
    element(
      'cfdi:Complemento',
      {},
      element('tfd:TimbreFiscalDigital', {
        ...{ 'xmlns:tfd': 'http://www.sat.gob.mx/TimbreFiscalDigital', version: '1.0', UUID: uuid, FechaTimbrado: fecha },
        ...{ selloCFD: 'c2VsbG8=', noCertificadoSAT: '00001000000509846663', selloSAT: 'c2VsbG8=' },
      }),
    ),
  ]
  const root = element(
    'cfdi:Comprobante',
    {
      ...{ 'xmlns:cfdi': 'http://www.sat.gob.mx/cfd/3', version: '3.2', fecha, sello: 'c2VsbG8=', serie: 'V', folio: document.folio },
      ...{ formaDePago: document.metodo === 'PPD' ? 'Pago en parcialidades' : 'Pago en una sola exhibición', metodoDePago: '03' },
      ...{ noCertificado: '00001000000509846663', certificado: 'Y2VydA==', subTotal: money(amounts.subtotal), total: money(amounts.total) },
      ...{ descuento: amounts.descuento > 0 ? money(amounts.descuento) : null, tipoDeComprobante: 'ingreso', LugarExpedicion: 'México' },
      ...{ Moneda: moneda, TipoCambio: tipo_cambio === null ? null : decimal(tipo_cambio, 4) },
    },
    ...inner,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}`
}
