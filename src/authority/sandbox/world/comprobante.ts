import { ivaAt } from './eras.ts'
import type { Locality } from './places.ts'
import { type Product, withholdings } from './products.ts'
import { isCompany, type Taxpayer } from './taxpayers.ts'

/**
 * A tax of a line or document. Amounts are integer cents of the document's currency, rates integer millionths. The base of a `Cuota` is
 * hundredths of a litre.
 */
export interface TaxLine {
  impuesto: '001' | '002' | '003'
  factor: 'Tasa' | 'Cuota' | 'Exento'
  tasa: number
  base: number
  importe: number
}

/** A local tax of the complement implocal. The rate is in hundredths of a percent. */
export interface LocalTax {
  nombre: string
  isWithheld: boolean
  tasa: number
  importe: number
}

export interface SandboxConcepto {
  clave: string
  no_identificacion: string | null
  cantidad: number
  clave_unidad: string
  unidad: string | null
  descripcion: string
  valor_unitario: number
  importe: number
  descuento: number
  objeto_imp: '01' | '02'
  traslados: TaxLine[]
  retenciones: TaxLine[]
  local: LocalTax | null
}

interface Amounts {
  subtotal: number
  descuento: number
  /** One per tax and rate. */
  traslados: TaxLine[]
  retenciones: TaxLine[]
  locales: LocalTax[]
  total: number
}

export interface SandboxCancellation {
  /** Local time of central Mexico. */
  at: string
  motivo: string | null
  folio_sustitucion: string | null
}

/** A generated CFDI, from which the XML and the metadata are written. */
export interface SandboxComprobante {
  uuid: string
  /** Null for a CFDI de retenciones. */
  tipo: 'I' | 'E' | 'P' | 'N' | 'T' | null
  fecha: string
  lugar: Locality
  serie: string
  folio: string
  emisor: Taxpayer
  receptor: Taxpayer
  uso: string
  metodo: 'PUE' | 'PPD' | null
  forma: string | null
  condiciones: string | null
  moneda: string
  /** Ten-thousandths of a peso; null when the currency is the peso or none. */
  tipo_cambio: number | null
  relacion: { tipo: string; uuid: string } | null
  global: { periodicidad: string; meses: string; anio: string } | null
  conceptos: SandboxConcepto[]
  amounts: Amounts
  pago: SandboxPago | null
  nomina: SandboxNomina | null
  retencion: SandboxRetencion | null
  cancellation: SandboxCancellation | null
  /** Whether a later document replaces it (relation 04), also when it was not cancelled. */
  isReplaced: boolean
}

export interface SandboxPago {
  fecha: string
  forma: string
  num_operacion: string
  moneda: string
  tipo_cambio: number
  documentos: SandboxDoctoRelacionado[]
}

export interface SandboxDoctoRelacionado {
  invoice: SandboxComprobante
  parcialidad: number
  saldo_anterior: number
  pagado: number
}

export interface SandboxNomina {
  fecha_pago: string
  inicial: string
  final: string
  dias: number
  inicio_relacion: string
  salario_diario: number
  num_empleado: string
  sueldo: number
  puntualidad: number
  imss: number
  isr: number
  subsidio: number
}

export interface SandboxRetencion {
  clave: '01' | '25'
  descripcion: string | null
  /** The month of the operations. */
  month: string
  isr: number
  iva: number
}

/** Returns `amount * numerator / denominator`, computed exactly and rounded half up. */
export const share = (amount: number, numerator: number, denominator: number): number =>
  Number((2n * BigInt(amount) * BigInt(numerator) + BigInt(denominator)) / (2n * BigInt(denominator)))

const taxOn = (base: number, tasa: number): number => share(base, tasa, 1_000_000)

/** Returns the tax on a part of its base. */
export const shareOf = (tax: TaxLine, numerator: number, denominator: number): TaxLine => {
  const base = share(tax.base, numerator, denominator)
  return { ...tax, base, importe: tax.factor === 'Exento' ? 0 : taxOn(base, tax.tasa) }
}

const line = (impuesto: TaxLine['impuesto'], base: number, tasa: number, factor: TaxLine['factor'] = 'Tasa'): TaxLine => ({
  ...{ impuesto, factor, tasa, base },
  importe: factor === 'Exento' ? 0 : taxOn(base, tasa),
})

/** Returns a line of an invoice with the taxes that follow from its parties, its product, its day and its place of issue. */
export function conceptoOf(
  { fecha, emisor, receptor }: { fecha: string; emisor: Taxpayer; receptor: Taxpayer },
  lugar: Locality,
  product: Product,
  amounts: { cantidad: number; valor_unitario: number; descuento: number; no_identificacion: string },
): SandboxConcepto {
  const importe = amounts.cantidad * amounts.valor_unitario
  const net = importe - amounts.descuento
  const traslados: TaxLine[] = []
  if (product.ieps !== undefined) traslados.push(line('003', net, product.ieps))
  if (product.cuota !== undefined) traslados.push(line('003', amounts.cantidad * product.cuota.litres * 100, product.cuota.tasa, 'Cuota'))
  const base = net + (traslados[0]?.importe ?? 0)
  const iva = receptor.foreign || product.iva !== 'general' ? 0 : ivaAt(lugar, fecha)
  traslados.push(line('002', base, iva, product.iva === 'exento' ? 'Exento' : 'Tasa'))
  const withholds = isCompany(receptor.rfc) && (product.withheld === 'autotransporte' || !isCompany(emisor.rfc))
  const { clave, clave_unidad, unidad, descripcion, local } = product
  return {
    ...{ clave, clave_unidad, unidad, descripcion, importe, objeto_imp: '02' },
    ...amounts,
    traslados,
    retenciones: withholds ? withholdings(emisor.regimen, product, iva).map(({ impuesto, tasa }) => line(impuesto, net, tasa)) : [],
    local: local ? { ...local, importe: share(net, local.tasa, 10_000) } : null,
  }
}

/** Returns a line without taxes, as payments, payroll receipts and transfers have. */
export const untaxed = (clave: string, clave_unidad: string, descripcion: string, importe = 0, descuento = 0): SandboxConcepto => ({
  ...{ clave, clave_unidad, descripcion, importe, descuento },
  ...{ no_identificacion: null, cantidad: 1, unidad: null, valor_unitario: importe, objeto_imp: '01' },
  ...{ traslados: [], retenciones: [], local: null },
})

const byRate = (lines: TaxLine[]): TaxLine[] => {
  const groups = new Map<string, TaxLine>()
  for (const tax of lines) {
    const key = `${tax.impuesto}|${tax.factor}|${tax.tasa}`
    const group = groups.get(key)
    groups.set(key, group ? { ...group, base: group.base + tax.base, importe: group.importe + tax.importe } : tax)
  }
  return [...groups.values()]
}

export const sum = <T>(list: readonly T[], amount: (item: T) => number): number => list.reduce((total, item) => total + amount(item), 0)

const byName = (taxes: LocalTax[]): LocalTax[] => {
  const groups = new Map<string, LocalTax>()
  for (const tax of taxes) groups.set(tax.nombre, { ...tax, importe: tax.importe + (groups.get(tax.nombre)?.importe ?? 0) })
  return [...groups.values()]
}

export const signed = ({ isWithheld, importe }: LocalTax): number => (isWithheld ? -importe : importe)

export function amountsOf(conceptos: SandboxConcepto[]): Amounts {
  const subtotal = sum(conceptos, (c) => c.importe)
  const descuento = sum(conceptos, (c) => c.descuento)
  const traslados = byRate(conceptos.flatMap((c) => c.traslados))
  const retenciones = byRate(conceptos.flatMap((c) => c.retenciones))
  const locales = byName(conceptos.flatMap((c) => c.local ?? []))
  const total = subtotal - descuento + sum(traslados, (t) => t.importe) - sum(retenciones, (r) => r.importe) + sum(locales, signed)
  return { subtotal, descuento, traslados, retenciones, locales, total }
}
