/** Documents of every version with the complements of the authority's catalog, written for these tests. */

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
const stamp = (version: string, pac = ' RfcProvCertif="SAT970701NN3"'): string =>
  `<tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" ${version} UUID="5e1f0000-0000-4000-8000-000000000001" FechaTimbrado="2024-05-31T10:01:00"${pac} SelloCFD="c2VsbG8=" NoCertificadoSAT="30001000000500003456" SelloSAT="c2F0"/>`

const ADDENDA = '<cfdi:Addenda><mine Secreto="not of the fiscal document"/></cfdi:Addenda>'

interface Parts {
  tipo?: string
  header?: string
  lines?: string
  complements?: string
}

const LINE40 =
  '<cfdi:Concepto ClaveProdServ="84111505" NoIdentificacion="SKU  7" Cantidad="1" ClaveUnidad="ACT" Unidad="Actividad" Descripcion="Uno &amp; otro" ValorUnitario="100.00" Importe="100.00" Descuento="1.00" ObjetoImp="03">'

/** A CFDI 4.0 or 3.3. */
function modern(version: '3.3' | '4.0', { tipo = 'I', header = '', lines = `${LINE40}</cfdi:Concepto>`, complements = '' }: Parts): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/${version[0]}" ${XSI} xsi:schemaLocation="http://www.sat.gob.mx/cfd/${version[0]} cfdv.xsd" Version="${version}" Serie="S" Folio="12" Fecha="2024-05-31T10:00:00" Sello="QUJD" FormaPago="99" NoCertificado="30001000000500003416" Certificado="TUlJ" CondicionesDePago="30 días" SubTotal="100.00" Descuento="1.00" Moneda="MXN" TipoCambio="1" Total="99.00" TipoDeComprobante="${tipo}" Exportacion="01" MetodoPago="PPD" LugarExpedicion="06600" Confirmacion="ECVH1">
${header}<cfdi:Emisor Rfc="AAA010101AAA" Nombre="Emisora" RegimenFiscal="601" FacAtrAdquirente="1234567890"/>
<cfdi:Receptor Rfc="BBB020202BB1" Nombre="Receptora" DomicilioFiscalReceptor="06601" ResidenciaFiscal="USA" NumRegIdTrib="121585958" RegimenFiscalReceptor="603" UsoCFDI="G03"/>
<cfdi:Conceptos>${lines}</cfdi:Conceptos>
<cfdi:Impuestos TotalImpuestosRetenidos="2.50" TotalImpuestosTrasladados="15.84"><cfdi:Retenciones><cfdi:Retencion Impuesto="001" Importe="2.50"/></cfdi:Retenciones><cfdi:Traslados><cfdi:Traslado Base="99.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="15.84"/></cfdi:Traslados></cfdi:Impuestos>
<cfdi:Complemento>${complements}</cfdi:Complemento><cfdi:Complemento>${stamp('Version="1.1"')}</cfdi:Complemento>${ADDENDA}
</cfdi:Comprobante>`
}

const NOMINA12 = `<nomina12:Nomina xmlns:nomina12="http://www.sat.gob.mx/nomina12" Version="1.2" TipoNomina="E" FechaPago="2024-05-31" FechaInicialPago="2024-05-16" FechaFinalPago="2024-05-30" NumDiasPagados="15.000" TotalPercepciones="55300.00" TotalDeducciones="7100.00" TotalOtrosPagos="820.00">
<nomina12:Emisor Curp="AAAA800101HDFBBB01" RegistroPatronal="E23-12345-12-1" RfcPatronOrigen="CCC030303CC2"><nomina12:EntidadSNCF OrigenRecurso="IM" MontoRecursoPropio="10.01"/></nomina12:Emisor>
<nomina12:Receptor Curp="XEXX010101HNEXXXA4" NumSeguridadSocial="04078873454" FechaInicioRelLaboral="2018-01-01" Antigüedad="P330W" TipoContrato="01" Sindicalizado="No" TipoJornada="03" TipoRegimen="02" NumEmpleado="120" Departamento="Obras" Puesto="Maestro" RiesgoPuesto="5" PeriodicidadPago="04" Banco="002" CuentaBancaria="1111111111" SalarioBaseCotApor="490.22" SalarioDiarioIntegrado="146.47" ClaveEntFed="JAL"><nomina12:SubContratacion RfcLabora="DDD040404DD3" PorcentajeTiempo="100.000"/></nomina12:Receptor>
<nomina12:Percepciones TotalSueldos="5300.00" TotalSeparacionIndemnizacion="30000.00" TotalJubilacionPensionRetiro="20000.00" TotalGravado="54000.00" TotalExento="1300.00">
<nomina12:Percepcion TipoPercepcion="001" Clave="00500" Concepto="Sueldo" ImporteGravado="4000.00" ImporteExento="0.00"/>
<nomina12:Percepcion TipoPercepcion="019" Clave="00501" Concepto="Horas extra" ImporteGravado="500.00" ImporteExento="300.00"><nomina12:HorasExtra Dias="2" TipoHoras="01" HorasExtra="6" ImportePagado="600.00"/><nomina12:HorasExtra Dias="1" TipoHoras="02" HorasExtra="2" ImportePagado="200.00"/></nomina12:Percepcion>
<nomina12:Percepcion TipoPercepcion="045" Clave="00502" Concepto="Acciones" ImporteGravado="500.00" ImporteExento="0.00"><nomina12:AccionesOTitulos ValorMercado="750.000001" PrecioAlOtorgarse="250.00"/></nomina12:Percepcion>
<nomina12:JubilacionPensionRetiro TotalUnaExhibicion="19999.99" TotalParcialidad="0.01" MontoDiario="12.34" IngresoAcumulable="15000.00" IngresoNoAcumulable="5000.00"/>
<nomina12:SeparacionIndemnizacion TotalPagado="30000.00" NumAñosServicio="6" UltimoSueldoMensOrd="8000.00" IngresoAcumulable="7999.00" IngresoNoAcumulable="22001.00"/>
</nomina12:Percepciones>
<nomina12:Deducciones TotalOtrasDeducciones="100.00" TotalImpuestosRetenidos="7000.00"><nomina12:Deduccion TipoDeduccion="002" Clave="00301" Concepto="ISR" Importe="7000.00"/><nomina12:Deduccion TipoDeduccion="001" Clave="00302" Concepto="IMSS" Importe="100.00"/></nomina12:Deducciones>
<nomina12:OtrosPagos><nomina12:OtroPago TipoOtroPago="002" Clave="00801" Concepto="Subsidio" Importe="0.00"><nomina12:SubsidioAlEmpleo SubsidioCausado="407.02"/></nomina12:OtroPago><nomina12:OtroPago TipoOtroPago="004" Clave="00802" Concepto="Compensación" Importe="820.00"><nomina12:CompensacionSaldosAFavor SaldoAFavor="900.00" Año="2023" RemanenteSalFav="80.00"/></nomina12:OtroPago></nomina12:OtrosPagos>
<nomina12:Incapacidades><nomina12:Incapacidad DiasIncapacidad="3" TipoIncapacidad="02" ImporteMonetario="450.00"/></nomina12:Incapacidades>
</nomina12:Nomina>`

const NOMINA11 = `<nomina:Nomina xmlns:nomina="http://www.sat.gob.mx/nomina" Version="1.1" RegistroPatronal="A1" NumEmpleado="77" CURP="XEXX010101HNEXXXA4" TipoRegimen="2" NumSeguridadSocial="04078873454" FechaPago="2015-03-15" FechaInicialPago="2015-03-01" FechaFinalPago="2015-03-15" NumDiasPagados="15" Departamento="Ventas" CLABE="002180000118359719" Banco="002" FechaInicioRelLaboral="2010-01-01" Antiguedad="270" Puesto="Vendedor" TipoContrato="Base" TipoJornada="Diurna" PeriodicidadPago="Quincenal" SalarioBaseCotApor="300.10" RiesgoPuesto="1" SalarioDiarioIntegrado="320.20">
<nomina:Percepciones TotalGravado="4500.00" TotalExento="200.00"><nomina:Percepcion TipoPercepcion="001" Clave="P01" Concepto="Sueldos" ImporteGravado="4500.00" ImporteExento="0.00"/><nomina:Percepcion TipoPercepcion="019" Clave="P19" Concepto="Extra" ImporteGravado="0.00" ImporteExento="200.00"/></nomina:Percepciones>
<nomina:Deducciones TotalGravado="350.00" TotalExento="50.00"><nomina:Deduccion TipoDeduccion="002" Clave="D02" Concepto="ISR" ImporteGravado="350.00" ImporteExento="50.00"/></nomina:Deducciones>
<nomina:Incapacidades><nomina:Incapacidad DiasIncapacidad="1" TipoIncapacidad="2" Descuento="111.00"/></nomina:Incapacidades>
<nomina:HorasExtras><nomina:HorasExtra Dias="1" TipoHoras="Dobles" HorasExtra="2" ImportePagado="200.00"/></nomina:HorasExtras>
</nomina:Nomina>`

const PAGOS20 = `<pago20:Pagos xmlns:pago20="http://www.sat.gob.mx/Pagos20" Version="2.0"><pago20:Totales TotalTrasladosBaseIVA16="100.01" TotalTrasladosImpuestoIVA16="16.01" MontoTotalPagos="116.02"/><pago20:Pago FechaPago="2024-05-30T12:00:00" FormaDePagoP="03" MonedaP="MXN" TipoCambioP="1" Monto="116.02" NumOperacion="OP 1" RfcEmisorCtaOrd="BBA830831LJ2" NomBancoOrdExt="Bank" CtaOrdenante="0123456789" RfcEmisorCtaBen="BSM970519DU8" CtaBeneficiario="9876543210" TipoCadPago="01" CertPago="Q2Vy" CadPago="||1||" SelloPago="U2Vs"><pago20:DoctoRelacionado IdDocumento="0aa5c0de-0000-4000-8000-00000000000a" Serie="A" Folio="3" MonedaDR="MXN" EquivalenciaDR="1" NumParcialidad="1" ImpSaldoAnt="200.00" ImpPagado="116.02" ImpSaldoInsoluto="83.98" ObjetoImpDR="02"><pago20:ImpuestosDR><pago20:RetencionesDR><pago20:RetencionDR BaseDR="100.01" ImpuestoDR="001" TipoFactorDR="Tasa" TasaOCuotaDR="0.012500" ImporteDR="1.25"/></pago20:RetencionesDR><pago20:TrasladosDR><pago20:TrasladoDR BaseDR="100.01" ImpuestoDR="002" TipoFactorDR="Tasa" TasaOCuotaDR="0.160000" ImporteDR="16.01"/></pago20:TrasladosDR></pago20:ImpuestosDR></pago20:DoctoRelacionado><pago20:ImpuestosP><pago20:TrasladosP><pago20:TrasladoP BaseP="100.02" ImpuestoP="002" TipoFactorP="Tasa" TasaOCuotaP="0.160000" ImporteP="16.02"/></pago20:TrasladosP></pago20:ImpuestosP></pago20:Pago></pago20:Pagos>`

const PAGOS10 = `<pago10:Pagos xmlns:pago10="http://www.sat.gob.mx/Pagos" Version="1.0"><pago10:Pago FechaPago="2020-05-30T12:00:00" FormaDePagoP="03" MonedaP="USD" TipoCambioP="20.01" Monto="50.00" CtaOrdenante="0123456789"><pago10:DoctoRelacionado IdDocumento="0AA5C0DE-0000-4000-8000-00000000000B" MonedaDR="MXN" TipoCambioDR="0.0499" MetodoDePagoDR="PPD" NumParcialidad="2" ImpSaldoAnt="1000.00" ImpPagado="999.00" ImpSaldoInsoluto="1.00"/></pago10:Pago></pago10:Pagos>`

const CARTA_PORTE = `<cartaporte31:CartaPorte xmlns:cartaporte31="http://www.sat.gob.mx/CartaPorte31" Version="3.1" IdCCP="CCC5f1c1-0000-4000-8000-000000000001" TranspInternac="No" TotalDistRec="15.5"><cartaporte31:Ubicaciones><cartaporte31:Ubicacion TipoUbicacion="Origen" IDUbicacion="OR101010" RFCRemitenteDestinatario="EKU9003173C9" FechaHoraSalidaLlegada="2024-05-31T08:00:00"><cartaporte31:Domicilio Calle="Calle" NumeroExterior="211" Colonia="1957" Localidad="13" Referencia="casa blanca" Municipio="011" Estado="CMX" Pais="MEX" CodigoPostal="13250"/></cartaporte31:Ubicacion></cartaporte31:Ubicaciones><cartaporte31:Mercancias PesoBrutoTotal="1.001" UnidadPeso="XBX" NumTotalMercancias="1"><cartaporte31:Mercancia BienesTransp="11121900" Descripcion="Accesorios" Cantidad="1.5" ClaveUnidad="XBX" PesoEnKg="1.002" ValorMercancia="100.03" Moneda="MXN"><cartaporte31:CantidadTransporta Cantidad="1.25" IDOrigen="OR101010" IDDestino="DE202020"/></cartaporte31:Mercancia><cartaporte31:Autotransporte PermSCT="TPAF01" NumPermisoSCT="NumPermiso"><cartaporte31:IdentificacionVehicular ConfigVehicular="VL" PesoBrutoVehicular="1.3" PlacaVM="plac892" AnioModeloVM="2020"/></cartaporte31:Autotransporte></cartaporte31:Mercancias></cartaporte31:CartaPorte>`
const COMERCIO_EXTERIOR = `<cce20:ComercioExterior xmlns:cce20="http://www.sat.gob.mx/ComercioExterior20" Version="2.0" ClaveDePedimento="A1" CertificadoOrigen="0" TipoCambioUSD="17.0551" TotalUSD="1000.07"><cce20:Emisor Curp="AAAA010101HDFRRL02"><cce20:Domicilio Calle="Sur" Estado="QUE" Pais="MEX" CodigoPostal="76900"/></cce20:Emisor><cce20:Mercancias><cce20:Mercancia NoIdentificacion="131494-1055" FraccionArancelaria="8507600301" CantidadAduana="10" UnidadAduana="06" ValorUnitarioAduana="100.007" ValorDolares="1000.07"><cce20:DescripcionesEspecificas Marca="M" Modelo="X9" NumeroSerie="N-1"/></cce20:Mercancia></cce20:Mercancias></cce20:ComercioExterior>`
const LOCAL_TAXES = `<implocal:ImpuestosLocales xmlns:implocal="http://www.sat.gob.mx/implocal" version="1.0" TotaldeRetenciones="1.11" TotaldeTraslados="2.22"><implocal:RetencionesLocales ImpLocRetenido="Cinco al millar" TasadeRetencion="0.50" Importe="1.11"/><implocal:TrasladosLocales ImpLocTrasladado="ISH" TasadeTraslado="3.00" Importe="2.22"/></implocal:ImpuestosLocales>`
const DONATIONS = `<donat:Donatarias xmlns:donat="http://www.sat.gob.mx/donat" version="1.1" noAutorizacion="600-04-01" fechaAutorizacion="2010-01-01" leyenda="Este comprobante ampara un donativo"/>`
const INE = `<ine:INE xmlns:ine="http://www.sat.gob.mx/ine" Version="1.1" TipoProceso="Precampaña" TipoComite="Ejecutivo Nacional" IdContabilidad="123456"><ine:Entidad ClaveEntidad="AGU" Ambito="Local"><ine:Contabilidad IdContabilidad="654321"/></ine:Entidad></ine:INE>`
/** In no catalog, with text, a namespace inside, and names that other elements have. */
const UNKNOWN = `<nuevo:Complemento xmlns:nuevo="https://example.org/nuevo" Version="9.9"><nuevo:Nota xmlns="https://example.org/otro" idioma="es">Un <![CDATA[<texto> & más]]></nuevo:Nota><Addenda Secreto="no addenda of the document"/><nuevo:Conceptos><nuevo:Concepto x="y"/></nuevo:Conceptos></nuevo:Complemento>`

const IEDU = `<iedu:instEducativas xmlns:iedu="http://www.sat.gob.mx/iedu" version="1.0" nombreAlumno="Ana" CURP="AAAA010101MDFRRN02" nivelEducativo="Primaria" autRVOE="R-1" rfcPago="CACX7605101P8"/>`
const TERCEROS = `<terceros:PorCuentadeTerceros xmlns:terceros="http://www.sat.gob.mx/terceros" version="1.1" rfc="EEE850505EE4" nombre="Tercero"><terceros:InformacionFiscalTercero calle="Norte" municipio="M" estado="E" pais="México" codigoPostal="01000"/><terceros:CuentaPredial numero="15956011003"/><terceros:Impuestos><terceros:Retenciones><terceros:Retencion impuesto="ISR" importe="10.10"/></terceros:Retenciones><terceros:Traslados><terceros:Traslado impuesto="IVA" tasa="16.00" importe="16.16"/></terceros:Traslados></terceros:Impuestos></terceros:PorCuentadeTerceros>`

const LINES40 = `${LINE40}<cfdi:Impuestos><cfdi:Traslados><cfdi:Traslado Base="99.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="15.84"/></cfdi:Traslados><cfdi:Retenciones><cfdi:Retencion Base="99.00" Impuesto="001" TipoFactor="Tasa" TasaOCuota="0.025253" Importe="2.50"/></cfdi:Retenciones></cfdi:Impuestos><cfdi:ACuentaTerceros RfcACuentaTerceros="JUFA7608212V6" NombreACuentaTerceros="Adriana" RegimenFiscalACuentaTerceros="612" DomicilioFiscalACuentaTerceros="29133"/><cfdi:InformacionAduanera NumeroPedimento="15  48  3009  0001234"/><cfdi:CuentaPredial Numero="15956011002"/><cfdi:ComplementoConcepto>${IEDU}</cfdi:ComplementoConcepto><cfdi:Parte ClaveProdServ="51241201" NoIdentificacion="P-1" Cantidad="2.5" Unidad="Pieza" Descripcion="Parte" ValorUnitario="3.75" Importe="9.375"><cfdi:InformacionAduanera NumeroPedimento="15  48  3009  0009999"/></cfdi:Parte></cfdi:Concepto>
${LINE40.replace('ObjetoImp="03"', 'ObjetoImp="08"')}</cfdi:Concepto>
${LINE40}<cfdi:ComplementoConcepto>${TERCEROS}${UNKNOWN}</cfdi:ComplementoConcepto></cfdi:Concepto>`

const HEADER40 = `<cfdi:InformacionGlobal Periodicidad="04" Meses="05" Año="2024"/><cfdi:CfdiRelacionados TipoRelacion="04"><cfdi:CfdiRelacionado UUID="0aa5c0de-0000-4000-8000-00000000000c"/></cfdi:CfdiRelacionados>`

const ADDRESS =
  'calle="Sur" noExterior="1" noInterior="B" colonia="Centro" localidad="L" referencia="R" municipio="M" estado="E" pais="México" codigoPostal="01000"'

/** A CFDI 3.2, which has other names and addresses. */
const old = (tipo: string, complements: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/3" ${XSI} xsi:schemaLocation="http://www.sat.gob.mx/cfd/3 cfdv32.xsd" version="3.2" serie="A" folio="17" fecha="2015-03-15T10:00:00" sello="QUJD" formaDePago="Pago en una sola exhibición" noCertificado="30001000000400002434" certificado="TUlJ" condicionesDePago="Contado" subTotal="100.00" descuento="1.00" motivoDescuento="Promoción" TipoCambio="1.00" Moneda="Pesos" total="99.00" tipoDeComprobante="${tipo}" metodoDePago="03" LugarExpedicion="Ciudad de México" NumCtaPago="1234" FolioFiscalOrig="F-1" SerieFolioFiscalOrig="S-1" FechaFolioFiscalOrig="2015-03-01T00:00:00" MontoFolioFiscalOrig="1000.01">
<cfdi:Emisor rfc="AAA010101AAA" nombre="Emisora"><cfdi:DomicilioFiscal ${ADDRESS}/><cfdi:ExpedidoEn ${ADDRESS.replace('Sur', 'Oriente')}/><cfdi:RegimenFiscal Regimen="Régimen general"/></cfdi:Emisor>
<cfdi:Receptor rfc="BBB020202BB1" nombre="Receptora"><cfdi:Domicilio ${ADDRESS.replace('Sur', 'Poniente')}/></cfdi:Receptor>
<cfdi:Conceptos><cfdi:Concepto cantidad="1" unidad="Pieza" noIdentificacion="I-1" descripcion="Cosa" valorUnitario="100.00" importe="100.00"><cfdi:InformacionAduanera numero="15483009001234" fecha="2015-01-02" aduana="Nuevo Laredo"/></cfdi:Concepto><cfdi:Concepto cantidad="2" unidad="Pieza" descripcion="Otra" valorUnitario="0.00" importe="0.00"><cfdi:ComplementoConcepto>${TERCEROS}</cfdi:ComplementoConcepto></cfdi:Concepto></cfdi:Conceptos>
<cfdi:Impuestos totalImpuestosRetenidos="2.50" totalImpuestosTrasladados="15.84"><cfdi:Retenciones><cfdi:Retencion impuesto="ISR" importe="2.50"/></cfdi:Retenciones><cfdi:Traslados><cfdi:Traslado impuesto="IVA" tasa="16.00" importe="15.84"/></cfdi:Traslados></cfdi:Impuestos>
<cfdi:Complemento>${complements}${stamp('version="1.0"', '')}</cfdi:Complemento>${ADDENDA}
</cfdi:Comprobante>`

const DIVIDENDS = `<dividendos:Dividendos xmlns:dividendos="http://www.sat.gob.mx/esquemas/retencionpago/1/dividendos" Version="1.0"><dividendos:DividOUtil CveTipDivOUtil="06" MontISRAcredRetMexico="0.12" MontISRAcredRetExtranjero="0.13" TipoSocDistrDiv="Sociedad Nacional" MontISRAcredNal="0.14"/><dividendos:Remanente ProporcionRem="0.33"/></dividendos:Dividendos>`

const RETENCIONES20 = `<retenciones:Retenciones xmlns:retenciones="http://www.sat.gob.mx/esquemas/retencionpago/2" ${XSI} xsi:schemaLocation="x y" Version="2.0" FolioInt="F1" Sello="QUJD" NoCertificado="30001000000500003416" Certificado="TUlJ" FechaExp="2024-01-12T10:00:00" LugarExpRetenc="06600" CveRetenc="14" DescRetenc="Dividendos"><retenciones:CfdiRetenRelacionados TipoRelacion="01" UUID="0aa5c0de-0000-4000-8000-00000000000d"/><retenciones:Emisor RfcE="AAA010101AAA" NomDenRazSocE="Emisora" RegimenFiscalE="601"/><retenciones:Receptor NacionalidadR="Nacional"><retenciones:Nacional RfcR="EEEE850505EE4" NomDenRazSocR="Persona" CurpR="AAAA800101HDFBBB01" DomicilioFiscalR="06601"/></retenciones:Receptor><retenciones:Periodo MesIni="01" MesFin="12" Ejercicio="2023"/><retenciones:Totales MontoTotOperacion="4076.73" MontoTotGrav="4076.72" MontoTotExent="0.01" MontoTotRet="815.35" UtilidadBimestral="0.10" ISRCorrespondiente="0.11"><retenciones:ImpRetenidos BaseRet="4076.72" ImpuestoRet="001" MontoRet="815.35" TipoPagoRet="01"/></retenciones:Totales><retenciones:Complemento>${DIVIDENDS}${stamp('Version="1.1"')}</retenciones:Complemento><retenciones:Addenda><mine Secreto="x"/></retenciones:Addenda></retenciones:Retenciones>`
const RETENCIONES10 = `<retenciones:Retenciones xmlns:retenciones="http://www.sat.gob.mx/esquemas/retencionpago/1" Version="1.0" FolioInt="F2" Sello="QUJD" NumCert="20001000000200001428" Cert="TUlJ" FechaExp="2014-12-12T11:00:00-06:00" CveRetenc="14" DescRetenc="Dividendos"><retenciones:Emisor RFCEmisor="AAA010101AAA" NomDenRazSocE="Emisora" CURPE="AAAA800101HDFBBB01"/><retenciones:Receptor Nacionalidad="Extranjero"><retenciones:Extranjero NumRegIdTrib="12345" NomDenRazSocR="Foreign"/></retenciones:Receptor><retenciones:Periodo MesIni="1" MesFin="12" Ejerc="2013"/><retenciones:Totales montoTotOperacion="100.01" montoTotGrav="99.99" montoTotExent="0.02" montoTotRet="10.10"><retenciones:ImpRetenidos BaseRet="99.99" Impuesto="01" montoRet="10.10" TipoPagoRet="Pago definitivo"/></retenciones:Totales><retenciones:Complemento>${DIVIDENDS}${stamp('version="1.0"', '')}</retenciones:Complemento></retenciones:Retenciones>`

/** Documents by what they have. */
export const DOCUMENTS: Readonly<Record<string, string>> = {
  '4.0, payroll 1.2': modern('4.0', { tipo: 'N', complements: NOMINA12 }),
  '4.0, two payrolls': modern('4.0', {
    tipo: 'N',
    complements:
      NOMINA12 +
      NOMINA12.replaceAll('nomina12:', 'n:').replace('xmlns:nomina12', 'xmlns:n').replace('NumEmpleado="120"', 'NumEmpleado="121"'),
  }),
  '3.2, payroll 1.1': old('egreso', NOMINA11),
  '4.0, payments 2.0': modern('4.0', { tipo: 'P', complements: PAGOS20 }),
  '3.3, payments 1.0': modern('3.3', { tipo: 'P', complements: PAGOS10 }),
  '4.0, complements and parts of lines': modern('4.0', { header: HEADER40, lines: LINES40, complements: LOCAL_TAXES + DONATIONS }),
  '4.0, goods on the way and abroad': modern('4.0', { tipo: 'T', complements: CARTA_PORTE + COMERCIO_EXTERIOR }),
  '3.3, elections and an unknown complement': modern('3.3', { complements: INE + UNKNOWN }),
  '3.2, invoice': old('ingreso', LOCAL_TAXES),
  'retenciones 2.0': RETENCIONES20,
  'retenciones 1.0': RETENCIONES10,
}
