import { amountsOf, conceptoOf, type SandboxComprobante, untaxed } from './comprobante.ts'
import { exchangeRate } from './exchange.ts'
import { CANCUN, daysIn, type Locality, later, TIJUANA } from './places.ts'
import { type Product, productsOf } from './products.ts'
import { type Random, random, uuidOf } from './seed.ts'
import { type Circle, circleOf, isCompany, type Taxpayer } from './taxpayers.ts'

export type Direction = 'issued' | 'received'

const PPD_SHARE = 0.46
const CASH_LIKE = ['03', '03', '04', '28', '01'] as const
const TERMS = ['30 días', '15 días', 'Crédito a 60 días', 'Contado', null]

const TICKETS: Product = {
  ...{ clave: '01010101', clave_unidad: 'ACT', unidad: 'Actividad', descripcion: 'Venta', most: 1, iva: 'general' },
  price: [8_000, 145_000],
}
const ADVANCE: Product = {
  ...{ clave: '84111506', clave_unidad: 'ACT', unidad: 'Actividad', descripcion: 'Anticipo del bien o servicio', most: 1, iva: 'general' },
  price: [500_000, 3_000_000],
}

/** The key, date and parties of a document to generate. */
interface Draft {
  key: string
  fecha: string
  emisor: Taxpayer
  receptor: Taxpayer
}

/** Returns a document with the given members and common values for the others. */
export function comprobante(
  draft: Draft,
  rest: Partial<SandboxComprobante> & Pick<SandboxComprobante, 'tipo' | 'serie' | 'conceptos'>,
): SandboxComprobante {
  const { key, fecha, emisor, receptor } = draft
  const moneda = rest.moneda ?? 'MXN'
  const uuid = uuidOf(key)
  return {
    ...{ uuid, fecha, emisor, receptor, moneda, lugar: emisor.place, uso: usoOf(emisor, receptor) },
    folio: fecha.slice(2, 4) + fecha.slice(5, 7) + String((Number.parseInt(uuid.slice(0, 6), 16) % 9000) + 1000),
    ...{ metodo: null, forma: null, condiciones: null, relacion: null, global: null, pago: null, nomina: null, cancellation: null },
    tipo_cambio: exchangeRate(moneda, fecha.slice(0, 10)),
    amounts: amountsOf(rest.conceptos),
    ...rest,
  }
}

function usoOf(emisor: Taxpayer, receptor: Taxpayer): string {
  if (receptor.regimen === '616') return 'S01'
  if (emisor.lines.includes('medico') && !isCompany(receptor.rfc)) return 'D01'
  return emisor.lines.includes('computo') ? 'I04' : emisor.lines.includes('papeleria') ? 'G01' : 'G03'
}

/** Returns a local time in working hours on a day of the month. */
export const hourOf = (draws: Random, month: string, first: number, last: number): string =>
  later(`${month}-${String(draws.int(first, Math.min(last, daysIn(month)))).padStart(2, '0')}T08:00:00`, draws.int(0, 43_199))

/**
 * Returns the invoices of a month in the order in which they are drawn: sales or purchases with corrections, advances, sales to the public and
 * foreign sales. Payments and credit notes follow from them (payments.ts).
 */
export function invoicesOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  const draws = random(`${rfc}|${direction}|${month}|invoices`)
  const circle = circleOf(rfc)
  const list: SandboxComprobante[] = []
  const fewer = direction === 'issued' && isCompany(rfc) ? 5 : 0
  const regular = draws.int(21, 26) - fewer
  let substitutions = 0
  for (let i = 0; i < regular; i++) {
    const draft = draftOf(circle, direction, `${rfc}|${direction}|${month}|${i}`, hourOf(draws, month, 1, 31))
    const invoice = saleOf(draws, draft, direction === 'issued' ? branchOf(draws, circle.self) : draft.emisor.place)
    list.push(invoice)
    if (substitutions < 2 && Number(invoice.fecha.slice(8, 10)) <= 25 && draws.chance(0.05)) {
      substitutions++
      list.push(substitute(invoice, draft, draws))
    } else if (draws.chance(0.05)) {
      const at = later(invoice.fecha, draws.int(1, 20) * 86_400 + draws.int(0, 7200))
      invoice.cancellation = { at, motivo: draws.pick(['02', '02', '03']), folio_sustitucion: null }
    }
  }
  if (draws.chance(0.25))
    list.push(...advance(draws, draftOf(circle, direction, `${rfc}|${direction}|${month}|advance`, hourOf(draws, month, 1, 10))))
  if (direction === 'issued') list.push(...publicSales(draws, circle, month), ...exports(draws, circle, month))
  return list
}

function draftOf(circle: Circle, direction: Direction, key: string, fecha: string): Draft {
  const draws = random(`${key}|party`)
  return direction === 'issued'
    ? { key, fecha, emisor: circle.self, receptor: draws.pick(circle.clients) }
    : { key, fecha, emisor: draws.pick(circle.suppliers), receptor: circle.self }
}

const branchOf = (draws: Random, self: Taxpayer): Locality => (draws.chance(0.1) ? draws.pick([TIJUANA, CANCUN]) : self.place)

function saleOf(draws: Random, draft: Draft, lugar: Locality): SandboxComprobante {
  const { emisor, receptor } = draft
  const products = productsOf(draws.pick(emisor.lines))
  const discounted = draws.chance(0.15)
  const conceptos = Array.from({ length: draws.int(1, 3) }, () => {
    const product = draws.pick(products)
    const cantidad = draws.int(1, product.most)
    const valor_unitario = draws.int(...product.price)
    const descuento = discounted ? Math.floor((cantidad * valor_unitario * draws.int(2, 15)) / 100) : 0
    return conceptoOf(emisor, receptor, lugar, product, {
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

/** Returns an invoice that replaces a wrong one a day or more later, and cancels the wrong one. */
function substitute(wrong: SandboxComprobante, draft: Draft, draws: Random): SandboxComprobante {
  const fecha = later(wrong.fecha, draws.int(1, 3) * 86_400 + 600)
  const right = comprobante(
    { ...draft, key: `${draft.key}|substitute`, fecha },
    { ...wrong, uuid: uuidOf(`${draft.key}|substitute`), fecha, folio: `${wrong.folio}1`, relacion: { tipo: '04', uuid: wrong.uuid } },
  )
  wrong.cancellation = { at: later(fecha, 3600), motivo: '01', folio_sustitucion: right.uuid }
  return right
}

/** Returns an advance, the invoice for the whole amount (which refers to the advance), and the credit note that deducts the advance, as the authority's guide prescribes. */
function advance(draws: Random, draft: Draft): SandboxComprobante[] {
  const { emisor, receptor } = draft
  const whole = draws.int(...ADVANCE.price)
  const moneda = currencyOf(draft)
  const write = (
    step: number,
    valor_unitario: number,
    product: Product,
    rest: Partial<SandboxComprobante> & Pick<SandboxComprobante, 'tipo' | 'serie'>,
  ) =>
    comprobante(
      { ...draft, key: `${draft.key}|${step}`, fecha: later(draft.fecha, step === 0 ? 0 : 9 * 86_400 + step * 600) },
      {
        ...{ metodo: 'PUE', forma: '03', moneda },
        conceptos: [
          conceptoOf(emisor, receptor, emisor.place, product, { cantidad: 1, valor_unitario, descuento: 0, no_identificacion: 'ANT' }),
        ],
        ...rest,
      },
    )
  const part = priceIn(draft, Math.floor(whole * 0.3))
  const received = write(0, part, ADVANCE, { tipo: 'I', serie: 'AN' })
  const work = { ...productsOf('consultoria')[0]!, price: ADVANCE.price }
  const invoice = write(1, priceIn(draft, whole), work, { tipo: 'I', serie: 'A', relacion: { tipo: '07', uuid: received.uuid } })
  const applied = write(
    2,
    part,
    { ...ADVANCE, descripcion: 'Aplicación de anticipo' },
    {
      ...{ tipo: 'E', serie: 'NC', forma: '30', uso: 'G02', relacion: { tipo: '07', uuid: invoice.uuid } },
    },
  )
  return [received, invoice, applied]
}

/** Returns invoices to the general public, each for the tickets of a fortnight. */
function publicSales(draws: Random, { self }: Circle, month: string): SandboxComprobante[] {
  const receptor: Taxpayer = { ...self, rfc: 'XAXX010101000', nombre: 'PUBLICO EN GENERAL', regimen: '616' }
  return Array.from({ length: draws.int(1, 2) }, (_, i) => {
    const draft = {
      key: `${self.rfc}|${month}|public|${i}`,
      fecha: hourOf(draws, month, i === 0 ? 15 : 28, i === 0 ? 16 : 31),
      emisor: self,
      receptor,
    }
    const conceptos = Array.from({ length: draws.int(2, 6) }, () => {
      const valor_unitario = draws.int(...TICKETS.price)
      return conceptoOf(self, receptor, self.place, TICKETS, {
        ...{ cantidad: 1, valor_unitario, descuento: 0 },
        no_identificacion: `T${draws.int(10_000, 99_999)}`,
      })
    })
    const global = { periodicidad: '03', meses: month.slice(5, 7), anio: month.slice(0, 4) }
    return comprobante(draft, { tipo: 'I', serie: 'G', metodo: 'PUE', forma: '01', global, conceptos })
  })
}

function exports(draws: Random, { self, foreigners }: Circle, month: string): SandboxComprobante[] {
  return foreigners
    .filter(() => draws.chance(0.4))
    .map((receptor) =>
      saleOf(
        draws,
        { key: `${self.rfc}|${month}|export|${receptor.moneda}`, fecha: hourOf(draws, month, 1, 28), emisor: self, receptor },
        self.place,
      ),
    )
}

/** Returns the documents of goods that move without a sale. */
export function transfersOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  const draws = random(`${rfc}|${direction}|${month}|transfers`)
  if (!draws.chance(0.4)) return []
  const draft = draftOf(circleOf(rfc), direction, `${rfc}|${direction}|${month}|transfer`, hourOf(draws, month, 1, 28))
  const conceptos = [untaxed('50221000', 'KGM', 'Traslado de mercancía entre almacenes')]
  return [comprobante(draft, { tipo: 'T', serie: 'T', moneda: 'XXX', uso: 'S01', conceptos })]
}
