import { addMonths } from '../../../platform/time/months.ts'
import {
  cancellationAt,
  comprobante,
  conceptoOf,
  type Direction,
  type Draft,
  draftAt,
  draftOf,
  hourOf,
  isOld,
  type Rest,
  type SandboxComprobante,
  untaxed,
} from './comprobante.ts'
import { CANCUN, type Locality, later, TIJUANA } from './places.ts'
import { isDue, type Random, random, uuidOf } from './seed.ts'
import { circleOf, isCompany, type Product, productsOf, type Taxpayer, withCheckDigit } from './taxpayers.ts'

type Stamped = Pick<SandboxComprobante, 'uuid' | 'fecha' | 'lugar'>

const HOUR = 3600

/** Seconds between issuing and stamping: up to four minutes, and for one document in thirty from 1 to 72 hours. */
const waitOf = (uuid: string): number =>
  Number.parseInt(uuid.slice(2, 4), 16) % 30 === 0
    ? HOUR + Math.floor((Number.parseInt(uuid.slice(4, 8), 16) * 71 * HOUR) / 0x1_0000)
    : 5 + (Number.parseInt(uuid.slice(0, 2), 16) % 240)

/** When a document was stamped, in the local time of central Mexico. From then on the authority has it. */
export const stampedAt = ({ uuid, fecha, lugar }: Stamped): string => later(fecha, lugar.behind_center * HOUR + waitOf(uuid))

/** Returns a local time some seconds after a document was stamped, at its place. */
export const afterStamp = ({ uuid, fecha }: Stamped, seconds: number): string => later(fecha, waitOf(uuid) + seconds)

/** The RFC of the provider that stamped a document. */
export const pacOf = ({ uuid }: Stamped): string => withCheckDigit(uuid < '8' ? 'SPR190613I5' : 'MAS0810247C')

const PPD_SHARE = 0.46
const CASH_LIKE = ['03', '03', '04', '28', '01'] as const
const TERMS = ['30 días', '15 días', 'Crédito a 60 días', 'Contado', null]
const DAY = 86_400

const TICKETS: Product = {
  ...{ clave: '01010101', clave_unidad: 'ACT', unidad: null, descripcion: 'Venta', most: 1, iva: 'general' },
  price: [8_000, 145_000],
}
const ADVANCE: Product = {
  ...{ clave: '84111506', clave_unidad: 'ACT', unidad: null, descripcion: 'Anticipo del bien o servicio', most: 1, iva: 'general' },
  price: [500_000, 3_000_000],
}

/**
 * Returns the invoices of a month in the order in which they are drawn: sales or purchases with corrections, advances, sales to the public
 * and foreign sales. Payments and credit notes follow from them.
 */
export function invoicesOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  const draws = random(`${rfc}|${direction}|${month}|invoices`)
  const { self } = circleOf(rfc)
  const list: SandboxComprobante[] = []
  const fewer = direction === 'issued' && isCompany(rfc) ? 5 : 0
  const regular = draws.int(20, 25) - fewer
  let substitutions = 0
  for (let i = 0; i < regular; i++) {
    const draft = draftOf(rfc, direction, `${rfc}|${direction}|${month}|${i}`, hourOf(draws, month, 1, 31))
    const lugar = direction === 'issued' ? branchOf(draws, self) : draft.emisor.locality
    const invoice = saleOf(draws, draft, lugar, i === 0 ? manyLines(rfc, direction, month) : null)
    list.push(invoice)
    if (substitutions < 2 && Number(invoice.fecha.slice(8, 10)) <= 22 && draws.chance(0.05)) {
      substitutions++
      list.push(substitute(invoice, draft, draws))
    } else if (draws.chance(0.05))
      invoice.cancellation = cancellationAt(
        afterStamp(invoice, draws.int(1, 20) * DAY + draws.int(0, 7200)),
        draws.pick(['02', '02', '03']),
      )
  }
  if (draws.chance(0.25))
    list.push(...advance(draws, draftOf(rfc, direction, `${rfc}|${direction}|${month}|advance`, hourOf(draws, month, 1, 10))))
  if (direction === 'issued') list.push(...publicSales(draws, self, month), ...exports(draws, rfc, month))
  return list
}

/** Once a year an invoice has many lines. Only the RFCs of the demonstration have really long ones, up to 3,000 lines. */
function manyLines(rfc: string, direction: Direction, month: string): number | null {
  const key = `${rfc}|${direction}|lines`
  if (!isDue(key, month, 12)) return null
  return rfc.startsWith('DEM') ? [300, 1_200, 3_000][Number(month.slice(0, 4)) % 3]! : random(`${key}|${month}`).int(20, 120)
}

const branchOf = (draws: Random, self: Taxpayer): Locality => (draws.chance(0.1) ? draws.pick([TIJUANA, CANCUN]) : self.locality)

function saleOf(draws: Random, draft: Draft, lugar: Locality, lines: number | null = null): SandboxComprobante {
  const products = productsOf(draws.pick(draft.emisor.lines))
  const discounted = draws.chance(0.15)
  const conceptos = Array.from({ length: lines ?? draws.int(1, 3) }, () => {
    const product = draws.pick(products)
    const cantidad = draws.int(1, product.most)
    const valor_unitario = draws.int(...product.price)
    const descuento = discounted ? Math.floor((cantidad * valor_unitario * draws.int(2, 15)) / 100) : 0
    return conceptoOf(draft, lugar, product, {
      cantidad,
      valor_unitario: priceIn(draft, valor_unitario),
      ...inCurrency(draft, descuento),
      no_identificacion: `SKU-${draws.int(100, 999)}`,
    })
  })
  const credit = draws.chance(PPD_SHARE)
  return comprobante(draft, {
    ...{ tipo: 'I', serie: credit ? 'F' : 'A', lugar, conceptos, moneda: currencyOf(draft) },
    metodo: credit ? 'PPD' : 'PUE',
    forma: credit ? '99' : draws.pick(CASH_LIKE),
    condiciones: credit ? draws.pick(TERMS) : null,
  })
}

const currencyOf = ({ emisor, receptor }: Draft): string => (emisor.moneda === 'MXN' ? receptor.moneda : emisor.moneda)

/** Prices are listed in pesos. A unit of a foreign currency is taken to be worth twenty pesos. */
const priceIn = (draft: Draft, cents: number): number => (currencyOf(draft) === 'MXN' ? cents : Math.ceil(cents / 20))
const inCurrency = (draft: Draft, descuento: number) => ({
  descuento: currencyOf(draft) === 'MXN' ? descuento : Math.floor(descuento / 20),
})

/** Returns an invoice that replaces a wrong one a day or more later. The wrong one is cancelled then, or forgotten. */
function substitute(wrong: SandboxComprobante, draft: Draft, draws: Random): SandboxComprobante {
  const fecha = afterStamp(wrong, draws.int(1, 3) * DAY + 600)
  const right = comprobante(
    { ...draft, key: `${draft.key}|substitute`, fecha },
    { ...wrong, uuid: uuidOf(`${draft.key}|substitute`), fecha, folio: `${wrong.folio}1`, relacion: { tipo: '04', uuid: wrong.uuid } },
  )
  wrong.isReplaced = true
  if (!draws.chance(0.25)) wrong.cancellation = cancellationAt(afterStamp(right, 3 * 3600), '01', right.uuid)
  return right
}

/**
 * Returns an advance, the invoice for the whole amount (which refers to the advance), and the credit note that deducts the advance, as the
 * authority's guide prescribes.
 */
function advance(draws: Random, draft: Draft): SandboxComprobante[] {
  const whole = draws.int(...ADVANCE.price)
  const write = (step: number, fecha: string, valor_unitario: number, product: Product, rest: Rest) => {
    const at = { ...draft, key: `${draft.key}|${step}`, fecha }
    const amounts = { cantidad: 1, valor_unitario, descuento: 0, no_identificacion: 'ANT' }
    const conceptos = [conceptoOf(at, draft.emisor.locality, product, amounts)]
    return comprobante(at, { ...{ metodo: 'PUE', forma: '03', moneda: currencyOf(draft) }, conceptos, ...rest })
  }
  const part = priceIn(draft, Math.floor(whole * 0.3))
  const work = { ...productsOf('consultoria')[0]!, price: ADVANCE.price }
  const received = write(0, draft.fecha, part, ADVANCE, { tipo: 'I', serie: 'AN' })
  const relacion = { tipo: '07', uuid: received.uuid }
  const invoice = write(1, later(draft.fecha, 9 * DAY + 600), priceIn(draft, whole), work, { tipo: 'I', serie: 'A', relacion })
  const deduction = { ...ADVANCE, descripcion: 'Aplicación de anticipo' }
  const applied = write(2, afterStamp(invoice, 600), part, deduction, {
    ...{ tipo: 'E', serie: 'NC', forma: '30', relacion: { tipo: '07', uuid: invoice.uuid } },
  })
  return [received, invoice, applied]
}

/** Returns invoices to the general public: for the tickets of a fortnight, and once a quarter for those of the month before. */
function publicSales(draws: Random, self: Taxpayer, month: string): SandboxComprobante[] {
  const receptor: Taxpayer = { ...self, rfc: 'XAXX010101000', nombre: 'PUBLICO EN GENERAL', regimen: '616' }
  return Array.from({ length: draws.int(1, 2) }, (_, i) => {
    const isMonthly = i === 0 && Number(month.slice(5)) % 3 === 1
    const fecha = isMonthly ? hourOf(draws, month, 1, 2) : hourOf(draws, month, i === 0 ? 15 : 28, i === 0 ? 16 : 31)
    const draft = draftAt(`${self.rfc}|${month}|public|${i}`, fecha, self, receptor)
    const conceptos = Array.from({ length: draws.int(2, 6) }, () => {
      const valor_unitario = draws.int(...TICKETS.price)
      return conceptoOf(draft, self.locality, TICKETS, {
        ...{ cantidad: 1, valor_unitario, descuento: 0 },
        no_identificacion: `T${draws.int(10_000, 99_999)}`,
      })
    })
    const of = isMonthly ? addMonths(month, -1) : month
    const global = isOld(fecha) ? null : { periodicidad: isMonthly ? '04' : '03', meses: of.slice(5, 7), anio: of.slice(0, 4) }
    const invoice = comprobante(draft, { tipo: 'I', serie: 'G', metodo: 'PUE', forma: '01', global, conceptos })
    // A customer asked for an invoice of a sale that is in this one.
    if (i === 0 && isDue(`${self.rfc}|nominative`, month, 10)) invoice.cancellation = cancellationAt(afterStamp(invoice, 2 * DAY), '04')
    return invoice
  })
}

function exports(draws: Random, rfc: string, month: string): SandboxComprobante[] {
  const { self, foreigners } = circleOf(rfc)
  return foreigners
    .filter(() => draws.chance(0.4))
    .map((receptor) =>
      saleOf(draws, draftAt(`${rfc}|${month}|export|${receptor.moneda}`, hourOf(draws, month, 1, 28), self, receptor), self.locality),
    )
}

/** Returns the documents of goods that move without a sale. */
export function transfersOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  const draws = random(`${rfc}|${direction}|${month}|transfers`)
  if (!draws.chance(0.4)) return []
  const draft = draftOf(rfc, direction, `${rfc}|${direction}|${month}|transfer`, hourOf(draws, month, 1, 28))
  const conceptos = [untaxed('50221000', 'KGM', 'Traslado de mercancía entre almacenes')]
  return [comprobante(draft, { tipo: 'T', serie: 'T', moneda: 'XXX', conceptos })]
}
