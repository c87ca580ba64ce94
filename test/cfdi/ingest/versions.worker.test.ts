import { describe, expect, it } from 'vitest'
import { getCfdi } from '../../../src/cfdi/detail/detail.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { contextOf, FISCAL_ENTITY } from '../../support/context.ts'
import { zipOf } from '../../support/zip.ts'
import { all, newBook } from '../support/book.ts'
import { ingestZip } from '../support/ingest-zip.ts'

// A document of each version as its own XSD has it, all issued by one RFC, and what the service should answer of each.

const [RFC, WORKER, CLIENT] = ['AAA010101AAA', 'XEXX850101AB1', 'URE180429TM6']
const uuidOf = (n: number): string => `C0FFEE0${n}-1111-4222-8333-44445555666${n}`
const SEAL = 'bG9yZW0gaXBzdW0='.repeat(12)
const stamp10 = (n: number) =>
  `<tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" version="1.0" UUID="${uuidOf(n).toLowerCase()}" FechaTimbrado="2015-04-15T18:01:02" selloCFD="${SEAL}" noCertificadoSAT="20001000000100005761" selloSAT="${SEAL}"/>`
const stamp11 = (n: number) =>
  `<tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" UUID="${uuidOf(n)}" FechaTimbrado="2021-01-13T14:20:00" RfcProvCertif="SAT970701NN3" SelloCFD="${SEAL}" NoCertificadoSAT="20001000000300022323" SelloSAT="${SEAL}"/>`

const head32 = (attributes: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.sat.gob.mx/cfd/3 http://www.sat.gob.mx/sitio_internet/cfd/3/cfdv32.xsd" version="3.2" serie="A" folio="7" fecha="2015-04-15T18:00:00" sello="${SEAL}" noCertificado="20001000000200001428" certificado="${SEAL}" LugarExpedicion="Guadalajara, Jalisco" ${attributes}>` +
  `<cfdi:Emisor rfc="${RFC}" nombre="EMPRESA"><cfdi:DomicilioFiscal calle="X" municipio="Y" estado="JALISCO" pais="MEXICO" codigoPostal="44100"/><cfdi:RegimenFiscal Regimen="General de Ley"/></cfdi:Emisor>`

const DOCUMENTS: { what: string; xml: string; expected: object }[] = [
  {
    what: '3.2, an invoice in words, with an Addenda that holds another document',
    xml: `${head32('formaDePago="Pago en una sola exhibición" metodoDePago="Transferencia electrónica" subTotal="1000.00" descuento="100.00" Moneda="Pesos Mexicanos" TipoCambio="1.00" total="1044.00" tipoDeComprobante="ingreso"')}<cfdi:Receptor rfc="${CLIENT}" nombre="CLIENTE"/><cfdi:Conceptos><cfdi:Concepto cantidad="1" unidad="Pieza" descripcion="Cosa" valorUnitario="1000.00" importe="1000.00"/></cfdi:Conceptos><cfdi:Impuestos totalImpuestosTrasladados="144.00"><cfdi:Traslados><cfdi:Traslado impuesto="IVA" tasa="16.00" importe="144.00"/></cfdi:Traslados></cfdi:Impuestos><cfdi:Complemento>${stamp10(1)}</cfdi:Complemento><cfdi:Addenda><cfdi:Receptor rfc="OTRO010101AA1"/><x:nada/></cfdi:Addenda></cfdi:Comprobante>`,
    // Pesos Mexicanos are MXN; (1000 − 100) × 1.16 = 1044.
    expected: {
      ...{ version: '3.2', tipo_comprobante: 'I', metodo_pago: 'PUE', forma_pago: 'Transferencia electrónica', currency: 'MXN' },
      ...{ total: '1044.00', total_mxn: '1044.00', iva_trasladado: '144.00', isr_retenido: '0.00', payment_status: 'paid' },
      ...{ issued_at: '2015-04-15T18:00:00-05:00', certified_at: '2015-04-15T18:01:02', pac_rfc: null, has_addenda: true, repairs: [] },
    },
  },
  {
    what: '3.2, payroll: an egreso with Nómina 1.1',
    xml: `${head32('formaDePago="Pago en una sola exhibicion" metodoDePago="03" subTotal="10000.00" descuento="300.00" motivoDescuento="Deducciones nómina" Moneda="M.N." TipoCambio="13.2" total="8450.00" tipoDeComprobante="egreso"')}<cfdi:Receptor rfc="${WORKER}" nombre="TRABAJADOR"/><cfdi:Conceptos><cfdi:Concepto cantidad="1" unidad="Servicio" descripcion="Pago de nómina" valorUnitario="10000.00" importe="10000.00"/></cfdi:Conceptos><cfdi:Impuestos totalImpuestosRetenidos="1250.00"><cfdi:Retenciones><cfdi:Retencion impuesto="ISR" importe="1250.00"/></cfdi:Retenciones></cfdi:Impuestos><cfdi:Complemento>${stamp10(2)}<nomina:Nomina xmlns:nomina="http://www.sat.gob.mx/nomina" Version="1.1" RegistroPatronal="Y1" NumEmpleado="17" CURP="XEXX850101HJCXXXA4" TipoRegimen="2" NumSeguridadSocial="12345678901" FechaPago="2015-04-15" FechaInicialPago="2015-04-01" FechaFinalPago="2015-04-15" NumDiasPagados="15" Antiguedad="52" PeriodicidadPago="Quincenal" SalarioDiarioIntegrado="700.10"><nomina:Percepciones TotalGravado="9000.00" TotalExento="1000.00"><nomina:Percepcion TipoPercepcion="001" Clave="001" Concepto="Sueldo" ImporteGravado="9000.00" ImporteExento="1000.00"/></nomina:Percepciones><nomina:Deducciones TotalGravado="1250.00" TotalExento="300.00"><nomina:Deduccion TipoDeduccion="001" Clave="D1" Concepto="IMSS" ImporteGravado="0.00" ImporteExento="300.00"/><nomina:Deduccion TipoDeduccion="002" Clave="D2" Concepto="ISR" ImporteGravado="1250.00" ImporteExento="0.00"/></nomina:Deducciones></nomina:Nomina></cfdi:Complemento></cfdi:Comprobante>`,
    // M.N. is MXN at any rate; the deduction 002 is 1,250.
    expected: {
      ...{ version: '3.2', tipo_comprobante: 'N', currency: 'MXN', total: '8450.00', total_mxn: '8450.00', isr_retenido: '1250.00' },
      ...{ payment_status: 'not_applicable', iva_retenido: '0.00', complementos: ['Nomina:1.1', 'TimbreFiscalDigital:1.0'] },
      nominas: [expect.objectContaining({ version: '1.1', isr_retenido: '1250.00', total_gravado: '9000.00', num_empleado: '17' })],
    },
  },
  {
    what: '3.3, an invoice of 4 × 10^11 USD at 20 pesos, with local taxes and two Complemento',
    xml: `<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/3" Version="3.3" Fecha="2021-01-13T14:15:16" Sello="${SEAL}" NoCertificado="30001000000400002434" Certificado="${SEAL}" FormaPago="99" MetodoPago="PPD" SubTotal="400000000000.00" Moneda="USD" TipoCambio="20.0525" Total="400000000003.00" TipoDeComprobante="I" LugarExpedicion="22000"><cfdi:Emisor Rfc="${RFC}" Nombre="EMPRESA" RegimenFiscal="601"/><cfdi:Receptor Rfc="${CLIENT}" UsoCFDI="G03"/><cfdi:Conceptos><cfdi:Concepto ClaveProdServ="90111800" Cantidad="1" ClaveUnidad="E48" Descripcion="Hospedaje" ValorUnitario="400000000000.00" Importe="400000000000.00"><cfdi:Impuestos><cfdi:Traslados><cfdi:Traslado Base="400000000000.00" Impuesto="002" TipoFactor="Exento"/></cfdi:Traslados></cfdi:Impuestos></cfdi:Concepto></cfdi:Conceptos><cfdi:Complemento><implocal:ImpuestosLocales xmlns:implocal="http://www.sat.gob.mx/implocal" version="1.0" TotaldeRetenciones="0.00" TotaldeTraslados="3.00"><implocal:TrasladosLocales ImpLocTrasladado="ISH" TasadeTraslado="3.00" Importe="3.00"/></implocal:ImpuestosLocales></cfdi:Complemento><cfdi:Complemento>${stamp11(3)}</cfdi:Complemento></cfdi:Comprobante>`,
    // 400,000,000,003 × 20.0525 = 8,021,000,000,060.1575, which has more digits than an integer of SQLite. Tijuana is at −08:00 in January.
    expected: {
      ...{ total: '400000000003.00', total_mxn: '8021000000060.16', iva_trasladado: '0.00', balance: '400000000003.00' },
      ...{
        payment_status: 'unpaid',
        issued_at: '2021-01-13T14:15:16-08:00',
        complementos: ['ImpuestosLocales:1.0', 'TimbreFiscalDigital:1.1'],
      },
    },
  },
  {
    what: '4.0, payroll with two Nómina 1.2',
    xml: `<Comprobante xmlns="http://www.sat.gob.mx/cfd/4" xmlns:n12="http://www.sat.gob.mx/nomina12" Version="4.0" Fecha="2024-02-15T12:00:00" Sello="${SEAL}" NoCertificado="30001000000500003416" Certificado="${SEAL}" SubTotal="999999999999999999.00" Descuento="1550.10" Moneda="MXN" Total="999999999999998448.90" TipoDeComprobante="N" Exportacion="01" MetodoPago="PUE" LugarExpedicion="77500"><Emisor Rfc="${RFC}" Nombre="EMPRESA" RegimenFiscal="601"/><Receptor Rfc="${WORKER}" Nombre="TRABAJADOR" DomicilioFiscalReceptor="77500" RegimenFiscalReceptor="605" UsoCFDI="CN01"/><Conceptos><Concepto ClaveProdServ="84111505" Cantidad="1" ClaveUnidad="ACT" Descripcion="Pago de nómina" ValorUnitario="999999999999999999.00" Importe="999999999999999999.00" Descuento="1550.10" ObjetoImp="01"/></Conceptos><Complemento>${['1250.10', '300.00'].map((isr) => `<n12:Nomina Version="1.2" TipoNomina="O" FechaPago="2024-02-15" FechaInicialPago="2024-02-01" FechaFinalPago="2024-02-15" NumDiasPagados="15.000" TotalPercepciones="1" TotalDeducciones="${isr}"><n12:Receptor Curp="XEXX850101HJCXXXA4" TipoContrato="01" TipoRegimen="02" NumEmpleado="17" PeriodicidadPago="04" ClaveEntFed="ROO" Antigüedad="P52W"/><n12:Deducciones TotalImpuestosRetenidos="${isr}"><n12:Deduccion TipoDeduccion="002" Clave="002" Concepto="ISR" Importe="${isr}"/></n12:Deducciones></n12:Nomina>`).join('')}${stamp11(4)}</Complemento></Comprobante>`,
    // 1,250.10 + 300.00; Quintana Roo is at −05:00 all year.
    expected: {
      ...{
        total: '999999999999998448.90',
        total_mxn: '999999999999998448.90',
        isr_retenido: '1550.10',
        issued_at: '2024-02-15T12:00:00-05:00',
      },
      ...{ tipo_comprobante: 'N', payment_status: 'not_applicable', repairs: [] },
    },
  },
  {
    what: 'retenciones 1.0, with the offset of another summer',
    xml: `\ufeff<?xml version="1.0" encoding="utf-8"?><retenciones:Retenciones xmlns:retenciones="http://www.sat.gob.mx/esquemas/retencionpago/1" xmlns:plataformasTecnologicas="http://www.sat.gob.mx/esquemas/retencionpago/1/PlataformasTecnologicas10" Version="1.0" FolioInt="9" Sello="${SEAL}" NumCert="20001000000300022323" Cert="${SEAL}" FechaExp="2020-07-10T13:11:36-06:00" CveRetenc="26"><retenciones:Emisor RFCEmisor="${RFC}" NomDenRazSocE="EMPRESA"/><retenciones:Receptor Nacionalidad="Nacional"><retenciones:Nacional RFCRecep="${CLIENT}" NomDenRazSocR="CLIENTE"/></retenciones:Receptor><retenciones:Periodo MesIni="6" MesFin="6" Ejerc="2020"/><retenciones:Totales montoTotOperacion="8092.240000" montoTotGrav="8092.240000" montoTotExent="0" montoTotRet="1304.758400"><retenciones:ImpRetenidos BaseRet="8092.240000" Impuesto="01" montoRet="647.379200" TipoPagoRet="Pago provisional"/><retenciones:ImpRetenidos BaseRet="1294.758400" Impuesto="02" montoRet="647.379200" TipoPagoRet="Pago provisional"/><retenciones:ImpRetenidos BaseRet="100" Impuesto="03" montoRet="10" TipoPagoRet="Pago definitivo"/></retenciones:Totales><retenciones:Complemento>${stamp10(5)}</retenciones:Complemento></retenciones:Retenciones>`,
    // Central Mexico was at −05:00 in July of 2020; the document says −06:00.
    expected: {
      ...{ kind: 'retenciones', version: '1.0', tipo_comprobante: null, issued_at: '2020-07-10T13:11:36-06:00', total: '8092.240000' },
      ...{ isr_retenido: '647.38', iva_retenido: '647.38', iva_trasladado: '0.00', payment_status: 'not_applicable', repairs: [] },
    },
  },
  {
    what: 'retenciones 2.0',
    xml: `<r:Retenciones xmlns:r="http://www.sat.gob.mx/esquemas/retencionpago/2" Version="2.0" Sello="${SEAL}" NoCertificado="30001000000400002434" Certificado="${SEAL}" FechaExp="2023-07-02T22:28:50" LugarExpRetenc="45110" CveRetenc="26"><r:Emisor RfcE="${RFC}" NomDenRazSocE="EMPRESA" RegimenFiscalE="601"/><r:Receptor NacionalidadR="Nacional"><r:Nacional RfcR="${CLIENT}" NomDenRazSocR="CLIENTE" DomicilioFiscalR="65000"/></r:Receptor><r:Periodo MesIni="06" MesFin="06" Ejercicio="2023"/><r:Totales MontoTotOperacion="16269.76" MontoTotGrav="16269.76" MontoTotExent="0.00" MontoTotRet="1638.84"><r:ImpRetenidos BaseRet="16269.76" ImpuestoRet="001" MontoRet="341.66" TipoPagoRet="03"/><r:ImpRetenidos BaseRet="2594.36" ImpuestoRet="002" MontoRet="1297.18" TipoPagoRet="01"/></r:Totales><r:Complemento>${stamp11(6)}</r:Complemento></r:Retenciones>`,
    expected: { kind: 'retenciones', isr_retenido: '341.66', iva_retenido: '1297.18', issued_at: '2023-07-02T22:28:50-06:00' },
  },
]

describe('a document of each version', () => {
  const target = newBook()
  const ctx = contextOf({ entity: target.entity })

  it('is ingested', async () => {
    const files = DOCUMENTS.map(({ xml }, n) => ({ name: `${uuidOf(n + 1)}.xml`, bytes: new TextEncoder().encode(xml) }))
    const [outcome] = await all(ingestZip(target, zipOf(files)))
    expect(outcome!.entries.map(({ status, code }) => [status, code])).toEqual(files.map(() => ['created', null]))
  })

  it.each(DOCUMENTS.map(({ what, expected }, n) => [what, uuidOf(n + 1), expected] as const))('%s', async (_, uuid, expected) => {
    const detail = await getCfdi(ctx, uuid)
    expect(detail).toMatchObject(expected)
    const { data } = await searchCfdi(ctx, CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, uuid }))
    expect(detail).toMatchObject(data[0]!)
  })

  it('counts payroll of every version as payroll', async () => {
    const { data } = await searchCfdi(ctx, CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, tipo_comprobante: 'N,E' }))
    expect(data.map(({ uuid, tipo_comprobante }) => [uuid, tipo_comprobante])).toEqual([
      [uuidOf(4), 'N'],
      [uuidOf(2), 'N'],
    ])
  })
})
