import { uuidFrom } from '../../support/random.ts'
import { zipOf } from '../../support/zip.ts'

/** RFC whose book the fixtures are for. */
export const RFC = 'AAA010101AAA'
export const CUSTOMERS = ['BBB020202BB1', 'CCC030303CC2', 'DDD040404DD3', 'EEE050505EE4'] as const

/** A CFDI 4.0 in plain: what the builder writes and what an oracle adds up. Amounts are decimal text. */
export interface Plain {
  uuid: string
  tipo: 'I' | 'E' | 'P' | 'N' | 'T'
  metodo: 'PUE' | 'PPD' | null
  fecha: string
  emisor: string
  receptor: string
  moneda: string
  tipo_cambio: string | null
  subtotal: string
  descuento: string | null
  iva: string
  total: string
  lugar: string
  relacion: { tipo: string; uuids: string[] } | null
  /** What it substitutes beside another relation, in a second CfdiRelacionados. */
  sustituye?: string[]
  /** FormaPago, instead of 99. */
  forma?: string
  /** CondicionesDePago. */
  condiciones?: string
  /** In MXN, unless the currency of a payment and its exchange rate are said. */
  pagos: {
    fecha: string
    moneda?: [currency: string, tipo_cambio: string]
    forma?: string
    documentos: { uuid: string; pagado: string; moneda: string }[]
  }[]
  lines: number
  /** Its IVA by rate, a line for each, where it is not all alike; and the IVA that is withheld. */
  tasas?: { tasa: string; base: string; iva: string }[]
  retenido?: string
  /** Its lines, where they are not all alike. */
  productos?: { clave: string; importe: string; descuento: string | null }[]
}

export const cents = (amount: number): string => (Math.round(amount) / 100).toFixed(2)
const two = (value: number): string => String(value).padStart(2, '0')
const SEAL = 'bG9yZW0gaXBzdW0gZG9sb3Igc2l0IGFtZXQ'.repeat(9).slice(0, 340)
const CERTIFICATE = 'MIIF+zCCA+OgAwIBAgIUMzAwMDEwMDAwMDA0MDAwMDI0MzQwDQYJKoZIhvcNAQEL'.repeat(24)

/** A document of a month, everything else as said. */
export function plainOf(random: () => number, month: string, given: Partial<Plain>): Plain {
  const subtotal = Math.floor(random() * 1_000_000) + 100
  const iva = Math.round(subtotal * 0.16)
  const tipo = given.tipo ?? 'I'
  const free = tipo === 'P' || tipo === 'T'
  return {
    uuid: uuidFrom(random),
    tipo,
    metodo: tipo === 'I' ? 'PUE' : tipo === 'E' || tipo === 'N' ? 'PUE' : null,
    fecha: `${month}-${two(1 + Math.floor(random() * 28))}T${two(Math.floor(random() * 24))}:${two(Math.floor(random() * 60))}:${two(Math.floor(random() * 60))}`,
    emisor: RFC,
    receptor: CUSTOMERS[Math.floor(random() * CUSTOMERS.length)] ?? CUSTOMERS[0],
    moneda: free ? 'XXX' : 'MXN',
    tipo_cambio: null,
    subtotal: free ? '0' : cents(subtotal),
    descuento: null,
    iva: free || tipo === 'N' ? '0' : cents(iva),
    total: free ? '0' : cents(subtotal + (tipo === 'N' ? 0 : iva)),
    lugar: '06600',
    relacion: null,
    pagos: [],
    lines: tipo === 'I' ? 1 + Math.floor(random() * 3.5) : 1,
    ...given,
  }
}

/** The XML of a document, of about the size of real ones. */
export function xmlOf(document: Plain): string {
  const { tipo, pagos, relacion } = document
  const attribute = (name: string, value: string | null) => (value === null ? '' : ` ${name}="${value}"`)
  const lineOf = (clave: string, importe: string, descuento: string | null) =>
    `<cfdi:Concepto ClaveProdServ="${clave}" NoIdentificacion="A-1" Cantidad="1" ClaveUnidad="E48" Unidad="Servicio" Descripcion="Servicios profesionales de consultoría" ValorUnitario="${importe}" Importe="${importe}"${attribute('Descuento', descuento)} ObjetoImp="02"><cfdi:Impuestos><cfdi:Traslados><cfdi:Traslado Base="${document.subtotal}" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="${document.iva}"/></cfdi:Traslados></cfdi:Impuestos></cfdi:Concepto>`
  const relations = [...(relacion ? [relacion] : []), ...(document.sustituye ? [{ tipo: '04', uuids: document.sustituye }] : [])]
  const related = relations
    .map((one) => {
      const uuids = one.uuids.map((uuid) => `<cfdi:CfdiRelacionado UUID="${uuid}"/>`)
      return `<cfdi:CfdiRelacionados TipoRelacion="${one.tipo}">${uuids.join('')}</cfdi:CfdiRelacionados>`
    })
    .join('')
  const tasas = document.tasas ?? (Number(document.iva) > 0 ? [{ tasa: '0.160000', base: document.subtotal, iva: document.iva }] : [])
  const transferred = tasas.map(
    ({ tasa, base, iva }) => `<cfdi:Traslado Base="${base}" Impuesto="002" TipoFactor="Tasa" TasaOCuota="${tasa}" Importe="${iva}"/>`,
  )
  const retained = document.retenido
    ? `<cfdi:Retenciones><cfdi:Retencion Impuesto="002" Importe="${document.retenido}"/></cfdi:Retenciones>`
    : ''
  const taxes =
    tasas.length > 0
      ? `<cfdi:Impuestos TotalImpuestosTrasladados="${document.iva}">${retained}<cfdi:Traslados>${transferred.join('')}</cfdi:Traslados></cfdi:Impuestos>`
      : ''
  const complement =
    tipo === 'P'
      ? `<pago20:Pagos xmlns:pago20="http://www.sat.gob.mx/Pagos20" Version="2.0"><pago20:Totales MontoTotalPagos="0"/>${pagos.map(pagoOf).join('')}</pago20:Pagos>`
      : ''
  const taxed = document.tasas?.map(
    ({ base }, n) =>
      `<cfdi:Concepto ClaveProdServ="84111506" Cantidad="1" ClaveUnidad="E48" Descripcion="Servicios" ValorUnitario="${base}" Importe="${base}" ObjetoImp="02"><cfdi:Impuestos><cfdi:Traslados>${transferred[n]}</cfdi:Traslados></cfdi:Impuestos></cfdi:Concepto>`,
  )
  const lines = taxed
    ? taxed.join('')
    : document.productos
      ? document.productos.map(({ clave, importe, descuento }) => lineOf(clave, importe, descuento)).join('')
      : lineOf('84111506', document.subtotal, null).repeat(document.lines)
  return `<?xml version="1.0" encoding="UTF-8"?>
<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.sat.gob.mx/cfd/4 http://www.sat.gob.mx/sitio_internet/cfd/4/cfdv40.xsd" Version="4.0" Serie="A" Folio="17" Fecha="${document.fecha}" Sello="${SEAL}" FormaPago="${document.forma ?? '99'}" NoCertificado="30001000000400002434" Certificado="${CERTIFICATE}" SubTotal="${document.subtotal}"${attribute('Descuento', document.descuento)} Moneda="${document.moneda}"${attribute('TipoCambio', document.tipo_cambio)} Total="${document.total}" TipoDeComprobante="${tipo}" Exportacion="01"${attribute('MetodoPago', document.metodo)}${attribute('CondicionesDePago', document.condiciones ?? null)} LugarExpedicion="${document.lugar}">${related}<cfdi:Emisor Rfc="${document.emisor}" Nombre="EMPRESA DE PRUEBA" RegimenFiscal="601"/><cfdi:Receptor Rfc="${document.receptor}" Nombre="CLIENTE DE PRUEBA" DomicilioFiscalReceptor="06600" RegimenFiscalReceptor="601" UsoCFDI="G03"/><cfdi:Conceptos>${lines}</cfdi:Conceptos>${taxes}<cfdi:Complemento>${complement}<tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" UUID="${document.uuid}" FechaTimbrado="${document.fecha}" RfcProvCertif="SPR190613I52" SelloCFD="${SEAL}" NoCertificadoSAT="30001000000500003456" SelloSAT="${SEAL}"/></cfdi:Complemento></cfdi:Comprobante>`
}

const pagoOf = ({ fecha, moneda: [currency, rate] = ['MXN', '1'], forma = '03', documentos }: Plain['pagos'][number]): string =>
  `<pago20:Pago FechaPago="${fecha}" FormaDePagoP="${forma}" MonedaP="${currency}" TipoCambioP="${rate}" Monto="1">${documentos
    .map(
      ({ uuid, pagado, moneda }) =>
        `<pago20:DoctoRelacionado IdDocumento="${uuid}" MonedaDR="${moneda}" EquivalenciaDR="1" NumParcialidad="1" ImpSaldoAnt="${pagado}" ImpPagado="${pagado}" ImpSaldoInsoluto="0" ObjetoImpDR="02"/>`,
    )
    .join('')}</pago20:Pago>`

const utf8 = new TextEncoder()

/** A package as the authority packs it. */
export const packageOf = (documents: readonly Plain[]): Uint8Array =>
  zipOf(documents.map((document) => ({ name: `${document.uuid.toLowerCase()}.xml`, bytes: utf8.encode(xmlOf(document)) })))

/** The parties of the first of these invoices. */
const partiesOf = ([first]: readonly Plain[]): Partial<Plain> => (first ? { emisor: first.emisor, receptor: first.receptor } : {})

/** A payment complement over parts of invoices, by the parties of the first. */
export const paymentOf = (random: () => number, month: string, invoices: readonly Plain[], share = 1): Plain => {
  const fecha = `${month}-${two(1 + Math.floor(random() * 28))}T12:00:00`
  return plainOf(random, month, {
    tipo: 'P',
    ...partiesOf(invoices),
    pagos: [
      { fecha, documentos: invoices.map(({ uuid, total, moneda }) => ({ uuid, moneda, pagado: cents(Number(total) * 100 * share) })) },
    ],
  })
}

/** A credit note of relation 01 over invoices, by the parties of the first. */
export const creditOf = (random: () => number, month: string, invoices: readonly Plain[], given: Partial<Plain> = {}): Plain =>
  plainOf(random, month, {
    ...{ tipo: 'E', ...partiesOf(invoices), relacion: { tipo: '01', uuids: invoices.map(({ uuid }) => uuid) } },
    ...given,
  })

/** A document of relation 04 that substitutes others, otherwise like the first of them a day later. */
export const substituteOf = (random: () => number, documents: readonly [Plain, ...Plain[]], given: Partial<Plain> = {}): Plain => ({
  ...documents[0],
  uuid: uuidFrom(random),
  fecha: new Date(Date.parse(`${documents[0].fecha}Z`) + 86_400_000).toISOString().slice(0, 19),
  relacion: { tipo: '04', uuids: documents.map(({ uuid }) => uuid) },
  ...given,
})

/** 1,000 documents of a month in the usual mix (ingest.md): payments and credit notes refer to invoices of an earlier package. */
export function thousand(random: () => number, month: string, earlier: readonly Plain[], count = 1_000): Plain[] {
  const deferred = earlier.filter(({ tipo, metodo }) => tipo === 'I' && metodo === 'PPD')
  const invoices = (n: number) =>
    Array.from({ length: n }, () => deferred[Math.floor(random() * deferred.length)]).filter((it) => it !== undefined)
  return Array.from({ length: count }, (_, i) => {
    const kind = ((i * 7919) % 1_000) / 1_000
    if (kind < 0.25) return plainOf(random, month, { tipo: 'I', metodo: 'PPD' })
    if (kind < 0.6) return plainOf(random, month, { tipo: 'I', metodo: 'PUE' })
    if (kind < 0.68) return creditOf(random, month, invoices(1))
    if (kind < 0.83) return paymentOf(random, month, invoices(random() < 0.7 ? 1 : random() < 0.7 ? 2 : 3), random() < 0.5 ? 1 : 0.5)
    if (kind < 0.98) return plainOf(random, month, { tipo: 'N' })
    return plainOf(random, month, { tipo: 'T' })
  })
}
