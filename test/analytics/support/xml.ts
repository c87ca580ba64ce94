/** A CFDI 4.0 in plain words, for worked examples. */
export interface Written {
  uuid: string
  tipo?: 'I' | 'E' | 'P'
  fecha: string
  emisor: string
  receptor: string
  /** Of the issuer. */
  regimen?: string
  nombre?: string
  /** LugarExpedicion. */
  lugar?: string
  metodo?: 'PUE' | 'PPD'
  forma?: string
  moneda?: [moneda: string, tipo_cambio: string | null]
  relacion?: [tipo: string, ...uuids: string[]]
  /** What it substitutes, in a CfdiRelacionados of its own. */
  sustituye?: string[]
  /** Whether metadata says that it is cancelled. */
  cancelado?: true
  /** InformacionGlobal. */
  global?: [periodicidad: string, meses: string, anio: string]
  lines?: {
    clave?: string
    importe: number
    /** 1 by default. */
    cantidad?: number
    /** ClaveUnidad, a piece by default. */
    unidad?: string
    iva?: '0.16' | '0.08' | '0.00' | 'exento'
    /** ObjetoImp; only 02 has taxes. */
    objeto?: string
    descuento?: number
    /** RfcACuentaTerceros. */
    tercero?: string
    isr?: number
    iva_retenido?: number
    /** Whose tuition it is: CURP and nivelEducativo. */
    iedu?: [curp: string, nivel: string]
  }[]
  uso?: string
  regimenReceptor?: string
  /** In the form of the document. FechaPago, then what is paid of each invoice, with the IVA at 16 % that is stated of it. */
  pago?: [
    fecha: string,
    paid: { uuid: string; pagado: number; moneda?: string; iva?: number; objeto?: string }[],
    moneda?: [moneda: string, tipo_cambio: string],
    monto?: number,
  ]
}

const text = (amount: number): string => amount.toFixed(2)
type Line = NonNullable<Written['lines']>[number]
const isTaxed = ({ objeto = '02' }: Line): boolean => objeto === '02'
const netOf = ({ importe, descuento = 0 }: Line): number => importe - descuento
const ivaOf = (line: Line): number => {
  const { iva = '0.16' } = line
  return iva === 'exento' || !isTaxed(line) ? 0 : Math.round(netOf(line) * Number(iva) * 100) / 100
}
const sum = (lines: readonly Line[], of: (line: Line) => number): number => lines.reduce((all, line) => all + of(line), 0)

function transferred(base: number, iva: NonNullable<Line['iva']>, importe: number): string {
  const rest = iva === 'exento' ? 'TipoFactor="Exento"' : `TipoFactor="Tasa" TasaOCuota="${iva}0000" Importe="${text(importe)}"`
  return `<cfdi:Traslado Base="${text(base)}" Impuesto="002" ${rest}/>`
}

const retained = (impuesto: string, amount: number): string =>
  amount === 0 ? '' : `<cfdi:Retencion Impuesto="${impuesto}" Importe="${text(amount)}"/>`

const schoolOf = ({ iedu }: Line): string =>
  iedu
    ? `<cfdi:ComplementoConcepto><iedu:instEducativas xmlns:iedu="http://www.sat.gob.mx/iedu" version="1.0" nombreAlumno="ALUMNO DE PRUEBA" CURP="${iedu[0]}" nivelEducativo="${iedu[1]}" autRVOE="RVOE 1" rfcPago="EEEE850505EE4"/></cfdi:ComplementoConcepto>`
    : ''

function paymentOf([fecha, paid, [moneda, tipo_cambio] = ['MXN', '1'], monto = 1]: NonNullable<Written['pago']>, forma: string): string {
  const documents = paid.map(({ uuid, pagado, moneda: moneda_dr = 'MXN', iva, objeto = '02' }) => {
    const taxes =
      iva === undefined
        ? ''
        : `<pago20:ImpuestosDR><pago20:TrasladosDR><pago20:TrasladoDR BaseDR="${text(iva / 0.16)}" ImpuestoDR="002" TipoFactorDR="Tasa" TasaOCuotaDR="0.160000" ImporteDR="${text(iva)}"/></pago20:TrasladosDR></pago20:ImpuestosDR>`
    return `<pago20:DoctoRelacionado IdDocumento="${uuid}" MonedaDR="${moneda_dr}" EquivalenciaDR="1" NumParcialidad="1" ImpSaldoAnt="${text(pagado)}" ImpPagado="${text(pagado)}" ImpSaldoInsoluto="0.00" ObjetoImpDR="${objeto}">${taxes}</pago20:DoctoRelacionado>`
  })
  return `<pago20:Pagos xmlns:pago20="http://www.sat.gob.mx/Pagos20" Version="2.0"><pago20:Totales MontoTotalPagos="0"/><pago20:Pago FechaPago="${fecha}T12:00:00" FormaDePagoP="${forma}" MonedaP="${moneda}" TipoCambioP="${tipo_cambio}" Monto="${text(monto)}">${documents.join('')}</pago20:Pago></pago20:Pagos>`
}

const totalOf = (lines: readonly Line[]): number =>
  sum(lines, (line) => netOf(line) + ivaOf(line) - (line.isr ?? 0) - (line.iva_retenido ?? 0))

/** Metadata that says which of the documents are cancelled; null when none is. */
export function metadataOf(documents: readonly Written[]): string | null {
  const rows = documents.flatMap(({ cancelado, uuid, emisor, receptor, fecha, lines = [], tipo = 'I' }) => {
    const at = `${fecha} 10:00:00`
    return cancelado ? [[uuid, emisor, 'E', receptor, 'R', 'SPR190613I52', at, at, text(totalOf(lines)), tipo, '0', at].join('~')] : []
  })
  const head =
    'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion'
  return rows.length === 0 ? null : [head, ...rows, ''].join('\n')
}

/** The XML, with the header that its lines give. */
export function xmlOf(document: Written): string {
  const { uuid, tipo = 'I', fecha, emisor, receptor, regimen = '601', metodo = 'PUE', forma = '03', lines = [], relacion, pago } = document
  const [moneda, tipo_cambio] = tipo === 'P' ? ['XXX', null] : (document.moneda ?? ['MXN', null])
  const [net, isr, iva_retenido] = [
    sum(lines, ({ importe }) => importe),
    sum(lines, (line) => line.isr ?? 0),
    sum(lines, (line) => line.iva_retenido ?? 0),
  ]
  const discount = sum(lines, ({ descuento = 0 }) => descuento)
  const groups = [...Map.groupBy(lines.filter(isTaxed), ({ iva = '0.16' }) => iva)]
  const header = groups.map(([iva, some]) => transferred(sum(some, netOf), iva, sum(some, ivaOf)))
  const conceptos = lines.map(
    (line) =>
      `<cfdi:Concepto ClaveProdServ="${line.clave ?? '43211503'}" Cantidad="${line.cantidad ?? 1}" ClaveUnidad="${line.unidad ?? 'H87'}" Descripcion="Producto" ValorUnitario="${text(line.importe / (line.cantidad ?? 1))}" Importe="${text(line.importe)}"${line.descuento === undefined ? '' : ` Descuento="${text(line.descuento)}"`} ObjetoImp="${line.objeto ?? '02'}">${isTaxed(line) ? `<cfdi:Impuestos><cfdi:Traslados>${transferred(netOf(line), line.iva ?? '0.16', ivaOf(line))}</cfdi:Traslados></cfdi:Impuestos>` : ''}${line.tercero === undefined ? '' : `<cfdi:ACuentaTerceros RfcACuentaTerceros="${line.tercero}" NombreACuentaTerceros="TERCERO" RegimenFiscalACuentaTerceros="601" DomicilioFiscalACuentaTerceros="06600"/>`}${schoolOf(line)}</cfdi:Concepto>`,
  )
  const relations = [relacion, document.sustituye && (['04', ...document.sustituye] as const)].flatMap((one) => {
    if (!one) return []
    const uuids = one.slice(1).map((named) => `<cfdi:CfdiRelacionado UUID="${named}"/>`)
    return [`<cfdi:CfdiRelacionados TipoRelacion="${one[0]}">${uuids.join('')}</cfdi:CfdiRelacionados>`]
  })
  const retenciones = `${retained('001', isr)}${retained('002', iva_retenido)}`
  const attribute = (name: string, value: string | null) => (value === null ? '' : ` ${name}="${value}"`)
  return `<?xml version="1.0" encoding="UTF-8"?>
<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Version="4.0" Fecha="${fecha}T10:00:00" Sello="c2VsbG8=" NoCertificado="30001000000400002434" Certificado="MIIF" SubTotal="${text(net)}"${discount === 0 ? '' : ` Descuento="${text(discount)}"`} Moneda="${moneda}"${attribute('TipoCambio', tipo_cambio)} Total="${text(totalOf(lines))}" TipoDeComprobante="${tipo}" Exportacion="01"${tipo === 'P' ? '' : ` MetodoPago="${metodo}" FormaPago="${metodo === 'PPD' ? '99' : forma}"`} LugarExpedicion="${document.lugar ?? '06600'}">${document.global ? `<cfdi:InformacionGlobal Periodicidad="${document.global[0]}" Meses="${document.global[1]}" Año="${document.global[2]}"/>` : ''}${relations.join('')}<cfdi:Emisor Rfc="${emisor}" Nombre="${document.nombre ?? 'EMISOR'}" RegimenFiscal="${regimen}"/><cfdi:Receptor Rfc="${receptor}" Nombre="RECEPTOR" DomicilioFiscalReceptor="06600" RegimenFiscalReceptor="${document.regimenReceptor ?? '601'}" UsoCFDI="${document.uso ?? 'G03'}"/><cfdi:Conceptos>${conceptos.join('')}</cfdi:Conceptos>${header.length === 0 ? '' : `<cfdi:Impuestos>${retenciones === '' ? '' : `<cfdi:Retenciones>${retenciones}</cfdi:Retenciones>`}<cfdi:Traslados>${header.join('')}</cfdi:Traslados></cfdi:Impuestos>`}<cfdi:Complemento>${pago ? paymentOf(pago, forma) : ''}<tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" UUID="${uuid}" FechaTimbrado="${fecha}T10:00:00" RfcProvCertif="SPR190613I52" SelloCFD="c2VsbG8=" NoCertificadoSAT="30001000000500003456" SelloSAT="c2VsbG8="/></cfdi:Complemento></cfdi:Comprobante>`
}
