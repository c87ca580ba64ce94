import type { Language } from './catalogs.ts'

/** Words of attributes that are written otherwise than in the XML. */
const ACCENTED: Readonly<Record<string, string>> = Object.fromEntries(
  (
    'régimen número código información descripción identificación razón relación nómina percepción percepciones deducción deducciones ' +
    'exportación versión expedición operación mercancía mercancías ubicación ubicaciones país vehículo días máximo público retención ' +
    'autorización fracción arancelaria categoría aérea marítimo marítima tránsito guía vía póliza ambiental médico cédula jubilación pensión ' +
    'separación indemnización último antigüedad línea periodo situación recepción emisión teléfono certificación distribución logística ' +
    'técnica química cancelación ordinaria extranjero obtención exhibición compensación contratación subcontratación dirección figura ' +
    'confirmación participación enajenación básico título títulos crédito'
  )
    .split(' ')
    .map((word) => [word.normalize('NFD').replace(/\p{M}/gu, ''), word]),
)
const SHORT: Readonly<Record<string, string>> = {
  ...{
    imp: 'importe',
    num: 'número',
    no: 'No.',
    cta: 'cuenta',
    ord: 'del ordenante',
    ben: 'del beneficiario',
    nom: 'nombre',
    prod: 'producto',
  },
  ...{ serv: 'servicio', dr: 'del documento', p: 'del pago', rfc: 'RFC', uuid: 'UUID', curp: 'CURP', iva: 'IVA', isr: 'ISR', ieps: 'IEPS' },
  ...{
    sat: 'SAT',
    cfdi: 'CFDI',
    id: 'ID',
    cad: 'cadena',
    cert: 'certificado',
    prov: 'proveedor',
    certif: 'de certificación',
    ret: 'retención',
  },
  ...{
    tot: 'total',
    mont: 'monto',
    cve: 'clave',
    desc: 'descripción',
    sct: 'SCT',
    ccp: 'CCP',
    trib: 'tributaria',
    reg: 'registro',
    ext: 'exterior',
  },
  ...{ perm: 'permiso', aseg: 'asegurado', resp: 'responsable', civil: 'civil', vm: 'del vehículo', dist: 'distancia', rec: 'recorrida' },
  ...{
    ini: 'inicial',
    fin: 'final',
    exped: 'expedición',
    retenc: 'retención',
    grav: 'gravado',
    exent: 'exento',
    den: 'denominación',
    soc: 'social',
  },
  ...{ raz: 'razón', r: 'del receptor', e: 'del emisor', exp: 'expedición', int: 'interno', usd: 'USD', ent: 'entidad', fed: 'federativa' },
  ...{
    ref: 'referencia',
    dias: 'días',
    unid: 'unidad',
    bruto: 'bruto',
    kg: 'kg',
    ser: 'serie',
    aut: 'autorización',
    rvoe: 'RVOE',
    de: 'de',
  },
}

/** The words of names in English: what stands behind in Spanish stands before. An empty one is left out, and `_` stands for a space. */
const ENGLISH = new Map(
  (
    'tipo:type nomina:payroll fecha:date inicial:initial final:final pago:payment pagos:payments num:number no:not dias:days ' +
    'total:total percepciones:earnings percepcion:earning deducciones:deductions deduccion:deduction otros:other otras:other ' +
    'otro:other registro:registration patronal:employer patron:employer origen:origin recurso:funds monto:amount propio:own ' +
    'seguridad:security social:social inicio:start rel:relation laboral:employment antiguedad:seniority contrato:contract ' +
    'sindicalizado:unionized jornada:shift regimen:regime empleado:employee departamento:department puesto:position riesgo:risk ' +
    'periodicidad:periodicity banco:bank cuenta:account bancaria:bank salario:salary base:base cot:contribution apor: diario:daily ' +
    'integrado:integrated clave:key ent:state fed: labora:workplace porcentaje:percentage tiempo:time sueldos:wages sueldo:salary ' +
    'separacion:separation indemnizacion:severance jubilacion:retirement pension:pension retiro:withdrawal gravado:taxed grav:taxed ' +
    'exento:exempt exent:exempt horas:hours hora:time importe:amount imp:amount pagado:paid pagados:paid valor:value mercado:market precio:price ' +
    'otorgarse:granting una:one exhibicion:payment parcialidad:part ingreso:income acumulable:accumulable anos:years años:years ' +
    'anio:year año:year servicio:service ultimo:last mens:monthly causado:caused remanente:remainder rem:remainder sal:balance ' +
    'fav:favourable incapacidad:incapacity incapacidades:incapacities monetario:monetary complemento:complement entidad:entity ' +
    'sub:sub contratacion:contracting acciones:shares titulos:titles subsidio:subsidy empleo:employment compensacion:compensation ' +
    'saldos:balances saldo:balance folio:folio fiscal:tax orig:original serie:series calle:street exterior:external ' +
    'interior:internal colonia:neighbourhood localidad:town referencia:reference municipio:municipality estado:state pais:country ' +
    'codigo:code postal:postal numero:number aduana:customs tasa:rate domicilio:address expedido:issued concepto:item ' +
    'terceros:third_parties tercero:third_party informacion:information extras:extra extra:extra traslados:charged_taxes ' +
    'traslado:charged_tax impuesto:tax impuestos:taxes emisor:issuer receptor:receiver cta:account ord:payer ordenante:payer ' +
    'ben:payee beneficiario:payee nom:name nombre:name ext:foreign cad:string cadena:string cert:certificate ' +
    'certificado:certificate sello:seal dr:document p:payment e:issuer r:receiver factor:factor cuota:quota ' +
    'retenciones:withheld_taxes retencion:withheld_tax ret:withheld reten:withheld alumno:student nivel:level educativo:education ' +
    'aut:authorization autorizacion:authorization idioma:language leyenda:legend inst:institutions educativas:educational nota:note ' +
    'texto:text locales:local id:ID dist:distance rec:covered ubicacion:location ubicaciones:locations remitente:sender ' +
    'destinatario:recipient salida:departure llegada:arrival peso:weight bruto:gross neto:net unidad:unit mercancias:goods ' +
    'mercancia:goods bienes:goods transp:transported kg:kg destino:destination perm:permit permiso:permit config:configuration ' +
    'vehicular:vehicle vehiculo:vehicle placa:plate vm:vehicle modelo:model marca:brand asegura:insurer aseg:insurer poliza:policy ' +
    'resp:liability civil:civil med:environment ambiente: pedimento:customs_declaration cambio:exchange fraccion:code ' +
    'arancelaria:tariff cantidad:quantity unitario:unit dolares:dollars transporta:transported autotransporte:road_transport ' +
    'identificacion:identification descripciones:descriptions especificas:specific descripcion:description proceso:process ' +
    'comite:committee contabilidad:accounting ambito:scope den: raz: soc:company nacionalidad:nationality mes:month ini:initial ' +
    'fin:final ejercicio:fiscal_year ejerc:fiscal_year tot:total operacion:operation utilidad:profit bimestral:two-monthly ' +
    'correspondiente:corresponding cve:key tip:type div:dividend distr:distributing mont:amount acred:creditable mexico:Mexico ' +
    'extranjero:abroad nal:national proporcion:proportion relacionados:related dividendos:dividends figura:figure figuras:figures ' +
    'transporte:transport operador:driver licencia:licence partes:parts parte:part remolque:trailer remolques:trailers ' +
    'subtipo:subtype material:material peligroso:dangerous embalaje:packaging entrada:entry via:route logistica:logistics ' +
    'inversa:reverse recoleccion:collection devolucion:return propietario:owner adicional:additional motivo:reason numeros:numbers ' +
    'observaciones:remarks incoterm:Incoterm subdivision:subdivision exportador:exporter confiable:reliable ' +
    'confirmacion:confirmation prima:premium seguro:insurance maritimo:sea maritima:sea aereo:air aerea:air ferroviario:rail ' +
    'carro:car contenedor:container contenedores:containers guia:waybill matricula:registration estacion:station nav:navigation ' +
    'trafico:traffic certific:certificate viaje:trip tarifa:fare documento:document documentos:documents ' +
    'documentacion:documentation aduanera:customs aduanero:customs regimenes:regimes sector:sector cofepris:COFEPRIS forma:form ' +
    'farmaceutica:pharmaceutical condiciones:conditions esp:special lote:lot fabricante:manufacturer caducidad:expiry ' +
    'ingrediente:ingredient activo:active quimico:chemical predial:property cuentapredial:property_account unidades:units unid:unit ' +
    'conciliacion:reconciliation intereses:interest interes:interest nominal:nominal real:real perdida:loss enajenacion:sale ' +
    'pagador:payer efectivo:cash premio:prize premios:prizes plataformas:platforms tecnologicas:technological servicios:services ' +
    'comision:commission costo:cost prestador:provider secreto:secret estimulo:incentive establecimiento:establishment ' +
    'comprobante:receipt sucursal:branch conductor:driver usuario:user tarjeta:card monedero:purse combustible:fuel litros:litres'
  )
    .split(' ')
    .map((pair) => pair.replaceAll('_', ' ').split(':') as [string, string]),
)
/** Words that join others. */
const JOINING = ['de', 'del', 'al', 'la', 'el', 'los', 'las', 'en', 'por', 'y']

/** What attributes and elements are called where their names do not say it well: in Spanish and in English. */
const LABELS: Readonly<Record<string, readonly [es: string | null, en: string]>> = {
  ...{ comprobante: [null, 'Document'], emisor: [null, 'Issuer'], receptor: [null, 'Receiver'], conceptos: [null, 'Line items'] },
  ...{
    tipodecomprobante: ['Tipo de comprobante', 'Type'],
    serie: [null, 'Series'],
    folio: [null, 'Folio'],
    uuid: ['Folio fiscal (UUID)', 'UUID'],
  },
  ...{
    fecha: ['Fecha y hora de emisión', 'Issued'],
    fechatimbrado: ['Fecha y hora de certificación', 'Certified'],
    lugarexpedicion: ['Lugar de expedición', 'Place of issue'],
  },
  ...{
    nocertificado: ['Serie del certificado del emisor', 'Certificate of the issuer'],
    nocertificadosat: ['Serie del certificado del SAT', 'Certificate of SAT'],
  },
  ...{
    rfcprovcertif: ['RFC del proveedor de certificación', 'RFC of the certification provider'],
    exportacion: ['Exportación', 'Export'],
    version: ['Versión', 'Version'],
  },
  ...{
    rfc: ['RFC', 'RFC'],
    nombre: ['Nombre', 'Name'],
    regimenfiscal: ['Régimen fiscal', 'Tax regime'],
    regimenfiscalreceptor: ['Régimen fiscal', 'Tax regime'],
  },
  ...{
    domiciliofiscalreceptor: ['Domicilio fiscal', 'Tax address'],
    usocfdi: ['Uso del CFDI', 'Use of the CFDI'],
    residenciafiscal: ['Residencia fiscal', 'Tax residence'],
  },
  ...{
    numregidtrib: ['Registro de identidad tributaria', 'Tax identity'],
    informacionglobal: ['Información global', 'Global invoice'],
    periodicidad: [null, 'Periodicity'],
  },
  ...{
    meses: [null, 'Months'],
    año: [null, 'Year'],
    cfdirelacionados: ['CFDI relacionados', 'Related CFDIs'],
    cfdirelacionado: ['CFDI relacionado', 'Related CFDI'],
  },
  ...{
    tiporelacion: ['Tipo de relación', 'Relation'],
    claveprodserv: ['Clave', 'Key'],
    noidentificacion: ['No. de identificación', 'Identification'],
    cantidad: [null, 'Quantity'],
  },
  ...{
    claveunidad: ['Unidad', 'Unit'],
    unidad: ['Nombre de la unidad', 'Name of the unit'],
    descripcion: ['Descripción', 'Description'],
    valorunitario: ['Valor unitario', 'Unit price'],
  },
  ...{
    importe: [null, 'Amount'],
    descuento: [null, 'Discount'],
    objetoimp: ['Objeto de impuesto', 'Taxable'],
    impuestos: [null, 'Taxes'],
    traslados: [null, 'Taxes charged'],
  },
  ...{
    traslado: [null, 'Tax charged'],
    retenciones: [null, 'Taxes withheld'],
    retencion: ['Retención', 'Tax withheld'],
    base: [null, 'Base'],
    impuesto: [null, 'Tax'],
  },
  ...{
    tipofactor: ['Tipo de factor', 'Factor'],
    tasaocuota: ['Tasa o cuota', 'Rate'],
    totalimpuestostrasladados: ['Total de impuestos trasladados', 'Total of taxes charged'],
  },
  ...{
    totalimpuestosretenidos: ['Total de impuestos retenidos', 'Total of taxes withheld'],
    subtotal: ['Subtotal', 'Subtotal'],
    total: [null, 'Total'],
  },
  ...{
    formapago: ['Forma de pago', 'Payment form'],
    metodopago: ['Método de pago', 'Payment method'],
    condicionesdepago: ['Condiciones de pago', 'Payment terms'],
  },
  ...{
    moneda: [null, 'Currency'],
    tipocambio: ['Tipo de cambio', 'Exchange rate'],
    informacionaduanera: ['Información aduanera', 'Customs document'],
    numeropedimento: ['Número de pedimento', 'Number of the customs document'],
  },
  ...{
    cuentapredial: ['Cuenta predial', 'Property tax account'],
    parte: [null, 'Part'],
    acuentaterceros: ['A cuenta de terceros', 'On behalf of a third party'],
  },
  ...{
    formadepago: ['Forma de pago', 'Payment form'],
    metododepago: ['Método de pago', 'Payment method'],
    motivodescuento: ['Motivo del descuento', 'Reason of the discount'],
  },
  ...{
    pagos: [null, 'Payments'],
    pago: [null, 'Payment'],
    totales: [null, 'Totals'],
    fechapago: ['Fecha de pago', 'Date of payment'],
    formadepagop: ['Forma de pago', 'Payment form'],
  },
  ...{
    monedap: ['Moneda', 'Currency'],
    tipocambiop: ['Tipo de cambio', 'Exchange rate'],
    monto: [null, 'Amount'],
    numoperacion: ['Número de operación', 'Number of the operation'],
  },
  ...{
    doctorelacionado: ['Documentos relacionados', 'Related documents'],
    iddocumento: ['UUID del documento', 'UUID of the document'],
    monedadr: ['Moneda', 'Currency'],
  },
  ...{
    equivalenciadr: ['Equivalencia', 'Equivalence'],
    tipocambiodr: ['Tipo de cambio', 'Exchange rate'],
    metododepagodr: ['Método de pago', 'Payment method'],
    numparcialidad: ['Parcialidad', 'Part'],
  },
  ...{
    impsaldoant: ['Saldo anterior', 'Balance before'],
    imppagado: ['Pagado', 'Paid'],
    impsaldoinsoluto: ['Saldo insoluto', 'Balance after'],
    objetoimpdr: ['Objeto de impuesto', 'Taxable'],
  },
  ...{
    nomina: ['Nómina', 'Payroll'],
    percepciones: [null, 'Earnings'],
    percepcion: ['Percepción', 'Earning'],
    deducciones: [null, 'Deductions'],
    deduccion: ['Deducción', 'Deduction'],
  },
  ...{
    otrospagos: ['Otros pagos', 'Other payments'],
    otropago: ['Otro pago', 'Other payment'],
    incapacidades: [null, 'Incapacities'],
    horasextra: ['Horas extra', 'Overtime'],
  },
  ...{
    clave: [null, 'Key'],
    concepto: [null, 'Line item'],
    importegravado: ['Importe gravado', 'Taxed'],
    importeexento: ['Importe exento', 'Exempt'],
  },
  ...{
    cartaporte: ['Carta Porte', 'Waybill'],
    comercioexterior: ['Comercio exterior', 'Foreign trade'],
    impuestoslocales: ['Impuestos locales', 'Local taxes'],
    donatarias: ['Donativo', 'Donation'],
  },
  ...{
    timbrefiscaldigital: ['Timbre fiscal digital', 'Tax stamp'],
    sello: ['Sello digital del emisor', 'Digital seal of the issuer'],
    sellocfd: ['Sello digital del CFDI', 'Digital seal of the CFDI'],
    sellosat: ['Sello digital del SAT', 'Digital seal of SAT'],
  },
  ...{
    certificado: ['Certificado del emisor', 'Certificate of the issuer'],
    cert: ['Certificado del emisor', 'Certificate of the issuer'],
    numcert: ['Serie del certificado del emisor', 'Certificate of the issuer'],
  },
  ...{
    'xsi:schemalocation': ['Esquemas del XML', 'Schemas of the XML'],
    periodo: [null, 'Period'],
    impretenidos: ['Impuestos retenidos', 'Taxes withheld'],
    nacional: [null, 'National'],
    extranjero: [null, 'Foreign'],
  },
  ...{
    saldoafavor: ['Saldo a favor', 'Balance in favour'],
    compensacionsaldosafavor: ['Compensación de saldos a favor', 'Offsetting of balances in favour'],
    accionesotitulos: ['Acciones o títulos', 'Shares or titles'],
    tasaocuotadr: ['Tasa o cuota del documento', 'Document rate'],
    tasaocuotap: ['Tasa o cuota del pago', 'Payment rate'],
  },
  ...{
    totalotrospagos: ['Total de otros pagos', 'Total of other payments'],
    tipootropago: ['Tipo de otro pago', 'Type of other payment'],
    totalotrasdeducciones: ['Total de otras deducciones', 'Total of other deductions'],
    totalunaexhibicion: ['Total en una exhibición', 'Total in one payment'],
    ultimosueldomensord: ['Último sueldo mensual ordinario', 'Last ordinary monthly salary'],
    separacionindemnizacion: ['Separación e indemnización', 'Separation and severance'],
    totalseparacionindemnizacion: ['Total de separación e indemnización', 'Total of separation and severance'],
    jubilacionpensionretiro: ['Jubilación, pensión o retiro', 'Retirement or pension'],
    totaljubilacionpensionretiro: ['Total de jubilación, pensión o retiro', 'Total of retirement or pension'],
    remanentesalfav: ['Remanente del saldo a favor', 'Remainder of the balance in favour'],
    subcontratacion: ['Subcontratación', 'Subcontracting'],
  },
  ...{
    tipocambiousd: ['Tipo de cambio del dólar', 'Exchange rate of the US dollar'],
    numeroserie: ['Número de serie', 'Serial number'],
    fechahorasalidallegada: ['Fecha y hora de salida o llegada', 'Time of departure or arrival'],
    rfcremitentedestinatario: ['RFC del remitente o destinatario', 'RFC of the sender or recipient'],
  },
  ...{
    rfcacuentaterceros: ['RFC del tercero', 'RFC of the third party'],
    nombreacuentaterceros: ['Nombre del tercero', 'Name of the third party'],
    regimenfiscalacuentaterceros: ['Régimen fiscal del tercero', 'Tax regime of the third party'],
    domiciliofiscalacuentaterceros: ['Domicilio fiscal del tercero', 'Tax address of the third party'],
    porcuentadeterceros: ['Por cuenta de terceros', 'On behalf of third parties'],
  },
  ...{
    nomdenrazsoce: ['Nombre o razón social', 'Name'],
    nomdenrazsocr: ['Nombre o razón social', 'Name'],
    divid: [null, 'Dividend'],
    dividoutil: ['Dividendo o utilidad', 'Dividend or profit'],
    cvetipdivoutil: ['Clave del dividendo o utilidad', 'Key of the dividend or profit'],
  },
  ...{
    confirmacion: [null, 'Confirmation'],
    noautorizacion: ['No. de autorización', 'Authorization number'],
    noexterior: ['No. exterior', 'External number'],
    nointerior: ['No. interior', 'Internal number'],
    expedidoen: ['Expedido en', 'Issued at'],
    ingresonoacumulable: ['Ingreso no acumulable', 'Income that does not accumulate'],
  },
  ...{ totalderetenciones: ['Total de retenciones', 'Total withheld'], totaldetraslados: ['Total de traslados', 'Total charged'] },
  ...{
    imploctrasladado: ['Impuesto', 'Tax'],
    implocretenido: ['Impuesto', 'Tax'],
    tasadetraslado: ['Tasa', 'Rate'],
    tasaderetencion: ['Tasa', 'Rate'],
  },
  ...{
    transpinternac: ['Transporte internacional', 'International transport'],
    facatradquirente: ['Operación del adquirente', 'Operation of the acquirer'],
  },
  ...{
    folioint: ['Folio interno', 'Folio'],
    fechaexp: ['Fecha y hora de expedición', 'Issued'],
    cveretenc: ['Clave de retención', 'Key of the withholding'],
    descretenc: ['Descripción', 'Description'],
    lugarexpretenc: ['Lugar de expedición', 'Place of issue'],
  },
}

const known = new Map<string, string>()

/** What an attribute or element is called: its own label, else its name as words. */
export function labelOf(name: string, language: Language): string {
  const key = `${language}${name}`
  const label = known.get(key) ?? newLabel(name, language)
  // There are as many names as documents invent.
  if (known.size < 2_000) known.set(key, label)
  return label
}

const isAcronym = (word: string): boolean => /^[A-Z][A-Z\d]+$/.test(word)

/** A name in English; null when one of its words has none. */
function englishOf(parts: readonly string[]): string | null {
  const plain = (word: string) => word.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')
  const kept = parts.filter((word) => !JOINING.includes(plain(word)))
  const said = kept.map(
    (word) =>
      ENGLISH.get(plain(word)) ?? (/^(rfc|curp|cfdi|isr|iva|ieps|sat|sct|usd)$/i.test(word) || isAcronym(word) ? word.toUpperCase() : null),
  )
  return said.includes(null) ? null : said.toReversed().filter(Boolean).join(' ')
}

function newLabel(name: string, language: Language): string {
  const own = Object.hasOwn(LABELS, name.toLowerCase()) ? LABELS[name.toLowerCase()] : undefined
  if (own && language === 'en') return own[1]
  if (own && own[0] !== null) return own[0]
  const parts = name
    .replace(/^.*:/, '')
    .replace(/([a-zà-ÿ\d])([A-ZÀ-Ý])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[\s_.-]+/)
    .filter(Boolean)
  const words =
    (language === 'en' && englishOf(parts)) ||
    parts
      .map((word) => SHORT[word.toLowerCase()] ?? ACCENTED[word.toLowerCase()] ?? (isAcronym(word) ? word : word.toLowerCase()))
      .join(' ')
  return words === '' ? name : words[0]!.toUpperCase() + words.slice(1)
}

const UNITS =
  'cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve'.split(
    ' ',
  )
const TENS = ['', '', '', 'treinta', 'cuarenta', 'cincuenta', 'sesenta', 'setenta', 'ochenta', 'noventa']
const HUNDREDS = [
  '',
  'ciento',
  'doscientos',
  'trescientos',
  'cuatrocientos',
  'quinientos',
  'seiscientos',
  'setecientos',
  'ochocientos',
  'novecientos',
]

/** A number below a thousand. Before a noun `uno` is `un`. */
function smallInSpanish(n: number): string {
  if (n === 100) return 'cien'
  const [hundreds, rest] = [Math.floor(n / 100), n % 100]
  const below =
    rest === 0 ? '' : rest < 30 ? UNITS[rest]! : `${TENS[Math.floor(rest / 10)]}${rest % 10 === 0 ? '' : ` y ${UNITS[rest % 10]}`}`
  return [HUNDREDS[hundreds], below]
    .filter(Boolean)
    .join(' ')
    .replace(/veintiuno$/, 'veintiún')
    .replace(/uno$/, 'un')
}

/** Groups of six digits, each by its thousands. */
const MILLIONS = [null, ['millón', 'millones'], ['billón', 'billones'], ['trillón', 'trillones']] as const

function inSpanish(whole: string): string {
  const groups = (whole.padStart(Math.ceil(whole.length / 6) * 6, '0').match(/\d{6}/g) ?? []).reverse()
  const said = groups.map((group, n) => {
    const [thousands, rest] = [Number(group.slice(0, 3)), Number(group.slice(3))]
    const words = [
      thousands === 0 ? '' : thousands === 1 ? 'mil' : `${smallInSpanish(thousands)} mil`,
      rest === 0 ? '' : smallInSpanish(rest),
    ]
    const name = MILLIONS[n]
    const number = words.filter(Boolean).join(' ')
    return number && name ? `${number} ${number === 'un' ? name[0] : name[1]}` : number
  })
  return said.reverse().filter(Boolean).join(' ') || 'cero'
}

const EN_UNITS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const EN_TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']
const EN_GROUPS = ['', 'thousand', 'million', 'billion', 'trillion', 'quadrillion', 'quintillion']

function smallInEnglish(n: number): string {
  const [hundreds, rest] = [Math.floor(n / 100), n % 100]
  const below = rest < 20 ? EN_UNITS[rest]! : `${EN_TENS[Math.floor(rest / 10)]}${rest % 10 === 0 ? '' : `-${EN_UNITS[rest % 10]}`}`
  return [hundreds > 0 && `${EN_UNITS[hundreds]} hundred`, rest > 0 && below].filter(Boolean).join(' ')
}

function inEnglish(whole: string): string {
  const groups = (whole.padStart(Math.ceil(whole.length / 3) * 3, '0').match(/\d{3}/g) ?? []).reverse()
  const said = groups.map((group, n) => (group === '000' ? '' : `${smallInEnglish(Number(group))} ${EN_GROUPS[n]}`.trim()))
  return said.reverse().filter(Boolean).join(' ') || 'zero'
}

/** An amount in words, as an invoice has it: `CIENTO DIECISÉIS PESOS 00/100 M.N.` Null for what is no amount. */
export function amountInWords(amount: string, currency: string | undefined, language: Language): string | null {
  const [, whole, fraction = ''] = /^\s*0*(\d{1,20})(?:\.(\d*))?\s*$/.exec(amount) ?? []
  if (whole === undefined) return null
  const cents = `${fraction.slice(0, 2).padEnd(2, '0')}/100`
  const isMxn = currency === undefined || /^(MXN|M\.?N\.?|pesos?|peso mexicano)$/i.test(currency.trim())
  const isOne = whole === '1'
  if (language === 'en')
    return `${inEnglish(whole)} ${isMxn ? `${isOne ? 'peso' : 'pesos'} ${cents} MXN` : `${cents} ${currency}`}`.toUpperCase()
  const of = isMxn && /(?:llón|llones)$/.test(inSpanish(whole)) ? 'de ' : ''
  return `${inSpanish(whole)} ${isMxn ? `${of}${isOne ? 'peso' : 'pesos'} ${cents} M.N.` : `${cents} ${currency}`}`.toUpperCase()
}

/** What the sheet says itself. */
const es = {
  tipo: { I: 'Factura', E: 'Nota de crédito', P: 'Recibo de pago', N: 'Recibo de nómina', T: 'Traslado' } as Record<string, string>,
  retenciones: 'Constancia de retenciones',
  representation: 'Este documento es una representación impresa de un CFDI.',
  representationOfRetenciones: 'Este documento es una representación impresa de un CFDI que ampara retenciones e información de pagos.',
  sandbox: 'Pruebas: sin validez fiscal.',
  valid: 'Estado en el SAT: vigente.',
  validOn: (day: string) => `Estado en el SAT al ${day}: vigente.`,
  cancelled: (day: string | null) => (day === null ? 'CANCELADO.' : `CANCELADO el ${day}.`),
  reason: (why: string) => `Motivo: ${why}.`,
  substitute: (uuid: string) => `Lo sustituye el CFDI ${uuid}`,
  watermark: 'CANCELADO',
  totals: 'Totales',
  inWords: 'Total con letra',
  payment: 'Pago',
  certification: 'Certificación',
  cadena: 'Cadena original del complemento de certificación digital del SAT',
  verifyAt: 'Se verifica en',
  qr: 'Código QR con el que se verifica este CFDI en el SAT',
  qrOfCartaPorte: 'Código QR con el que se verifica la Carta Porte en el SAT',
  leftOut: (elements: number) => `Este documento es muy grande: aquí faltan ${elements} elementos. El XML adjunto los tiene todos.`,
  page: (page: number, pages: number) => `Página ${page} de ${pages}`,
  attached: 'El XML del CFDI',
}
const en: typeof es = {
  tipo: { I: 'Invoice', E: 'Credit note', P: 'Payment receipt', N: 'Payroll receipt', T: 'Transfer' },
  retenciones: 'Certificate of withholdings',
  representation: 'This document is a printed representation of a CFDI.',
  representationOfRetenciones: 'This document is a printed representation of a CFDI of withholdings and payments.',
  sandbox: 'Test: not valid for tax purposes.',
  valid: 'State at SAT: valid.',
  validOn: (day) => `State at SAT on ${day}: valid.`,
  cancelled: (day) => (day === null ? 'CANCELLED.' : `CANCELLED on ${day}.`),
  reason: (why) => `Reason: ${why}.`,
  substitute: (uuid) => `The CFDI ${uuid} substitutes it`,
  watermark: 'CANCELLED',
  totals: 'Totals',
  inWords: 'Total in words',
  payment: 'Payment',
  certification: 'Certification',
  cadena: 'Original string of the certification by SAT',
  verifyAt: 'It is verified at',
  qr: 'QR code with which this CFDI is verified at SAT',
  qrOfCartaPorte: 'QR code with which the waybill is verified at SAT',
  leftOut: (elements) => `This document is very large: ${elements} elements are missing here. The attached XML has all of them.`,
  page: (page, pages) => `Page ${page} of ${pages}`,
  attached: 'The XML of the CFDI',
}
export const WORDS = { es, en }
