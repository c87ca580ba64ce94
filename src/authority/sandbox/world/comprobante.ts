import type { Day } from '../../../platform/time/calendar.ts'
import { addBusinessDays } from '../../port/business-days.ts'
import { daysIn, type Locality, later } from './places.ts'
import { type Random, random, uuidOf } from './seed.ts'
import { circleOf, isCompany, type Product, type Taxpayer, withholdings } from './taxpayers.ts'

/**
 * Since 2022 documents are CFDI 4.0 with Pagos 2.0 (and retenciones 2.0), and cancellations have a reason. Before, they are 3.3, 1.0 and
 * 1.0.
 */
export const isOld = (fecha: string): boolean => fecha < '2022'

/** Returns the rate of IVA in millionths. In the northern border region it is lower since 2019. */
const ivaAt = ({ border }: Locality, fecha: string): number => (border && fecha >= '2019' ? 80_000 : 160_000)

/** Returns a party under the regime that it had then. The regime 626 exists since 2022. */
const partyAt = (party: Taxpayer, fecha: string): Taxpayer =>
  party.regimen === '626' && isOld(fecha) ? { ...party, regimen: isCompany(party.rfc) ? '601' : '612' } : party

const USES = { P: 'CP01', N: 'CN01', T: 'S01', E: 'G02' } as const

/** Returns a use of the catalog c_UsoCFDI that the receiver's regime and the version of the document allow. */
function usoOf(tipo: 'I' | 'E' | 'P' | 'N' | 'T' | null, fecha: string, emisor: Taxpayer, receptor: Taxpayer): string {
  const uso = tipo === 'I' || tipo === null ? saleUse(emisor, receptor) : USES[tipo]
  // 3.3 has one code, “por definir”, for what 4.0 distinguishes.
  return isOld(fecha) && !/^[GID]/.test(uso) ? 'P01' : uso
}

function saleUse({ lines }: Taxpayer, receptor: Taxpayer): string {
  if (receptor.regimen === '616') return 'S01'
  if (lines.includes('medico') && !isCompany(receptor.rfc)) return receptor.regimen === '626' ? 'S01' : 'D01'
  return lines.includes('computo') ? 'I04' : lines.includes('papeleria') ? 'G01' : 'G03'
}

/** Returns a cancellation, with a reason and a substitute if there were such then. `at` is a local time of central Mexico. */
export const cancellationAt = (at: string, motivo: string, folio_sustitucion: string | null = null) => ({
  ...{ at, motivo: isOld(at) ? null : motivo },
  folio_sustitucion: isOld(at) ? null : folio_sustitucion,
})

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
  amounts: ReturnType<typeof amountsOf>
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

/** The sums of a document's lines, with its taxes by tax and rate. */
export function amountsOf(conceptos: SandboxConcepto[]) {
  const subtotal = sum(conceptos, (c) => c.importe)
  const descuento = sum(conceptos, (c) => c.descuento)
  const traslados = byRate(conceptos.flatMap((c) => c.traslados))
  const retenciones = byRate(conceptos.flatMap((c) => c.retenciones))
  const locales = byName(conceptos.flatMap((c) => c.local ?? []))
  const total = subtotal - descuento + sum(traslados, (t) => t.importe) - sum(retenciones, (r) => r.importe) + sum(locales, signed)
  return { subtotal, descuento, traslados, retenciones, locales, total }
}

export type Direction = 'issued' | 'received'

/** The key, date and parties of a document to generate. */
export interface Draft {
  key: string
  fecha: string
  emisor: Taxpayer
  receptor: Taxpayer
}

/** The differences from a document's common values. */
export type Rest = Partial<SandboxComprobante> & Pick<SandboxComprobante, 'tipo' | 'serie'>

/** Returns a draft whose parties are under the regimes that they had then. */
export const draftAt = (key: string, fecha: string, emisor: Taxpayer, receptor: Taxpayer): Draft => ({
  ...{ key, fecha },
  emisor: partyAt(emisor, fecha),
  receptor: partyAt(receptor, fecha),
})

/** Returns a draft between the taxpayer and a client or supplier. */
export function draftOf(rfc: string, direction: Direction, key: string, fecha: string): Draft {
  const draws = random(`${key}|party`)
  const { self, clients, suppliers } = circleOf(rfc)
  return direction === 'issued' ? draftAt(key, fecha, self, draws.pick(clients)) : draftAt(key, fecha, draws.pick(suppliers), self)
}

/** Returns a document with the given members and common values for the others. */
export function comprobante({ key, fecha, ...parties }: Draft, rest: Rest & Pick<SandboxComprobante, 'conceptos'>): SandboxComprobante {
  const { emisor, receptor } = draftAt(key, fecha, parties.emisor, parties.receptor)
  const moneda = rest.moneda ?? 'MXN'
  const uuid = uuidOf(key)
  return {
    ...{ uuid, fecha, emisor, receptor, moneda, lugar: emisor.locality, uso: usoOf(rest.tipo, fecha, emisor, receptor) },
    folio: fecha.slice(2, 4) + fecha.slice(5, 7) + String((Number.parseInt(uuid.slice(0, 6), 16) % 9000) + 1000),
    ...{ metodo: null, forma: null, condiciones: null, relacion: null, global: null, pago: null, nomina: null, retencion: null },
    ...{ cancellation: null, isReplaced: false, tipo_cambio: exchangeRate(moneda, fecha.slice(0, 10)) },
    amounts: amountsOf(rest.conceptos),
    ...rest,
  }
}

/** Returns a local time in working hours on a day of the month. */
export const hourOf = (draws: Random, month: string, first: number, last: number): string =>
  later(`${month}-${String(draws.int(first, Math.min(last, daysIn(month)))).padStart(2, '0')}T08:00:00`, draws.int(0, 43_199))

const AROUND: Record<string, number> = { USD: 185_000, EUR: 203_000 }

/** Returns the pesos for one unit of a foreign currency on a day, in ten-thousandths; null for MXN and for XXX. */
export function exchangeRate(moneda: string, day: string): number | null {
  const around = AROUND[moneda]
  if (around === undefined) return null
  const month = random(`${moneda}|${day.slice(0, 7)}`).int(-9_000, 9_000)
  return around + month + random(`${moneda}|${day}`).int(-900, 900)
}

/** Returns the rate that the sandbox's Diario Oficial published last before a day; null of a currency that the sandbox does not know. */
export function sandboxRate(currency: string, day: Day): { date: Day; rate: string } | null {
  const date = addBusinessDays(day, -1)
  const rate = exchangeRate(currency, date)
  return rate === null ? null : { date, rate: (rate / 10_000).toFixed(4) }
}
