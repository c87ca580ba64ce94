import {
  comprobante,
  conceptoOf,
  draftAt,
  hourOf,
  type Rest,
  type SandboxComprobante,
  untaxed,
} from '../../../src/authority/sandbox/world/comprobante.ts'
import { CANCUN, TIJUANA } from '../../../src/authority/sandbox/world/places.ts'
import { isCompany, productsOf, type Taxpayer } from '../../../src/authority/sandbox/world/taxpayers.ts'
import type { Draws } from './draws.ts'
import { globalOf, withKinds } from './kinds.ts'

const TERMS = [null, '30 días', 'Contado', 'Net 45', '15 dias', 'Crédito a 60 días', 'Según contrato']
const USES = ['G01', 'G03', 'I04', 'D01', 'D10', 'S01', 'D05']
const PERSONAL_USES = ['D01', 'D01', 'D02', 'D03', 'D04', 'D06', 'D07', 'D10']

/** The parties of an invoice: a sale to a client, the public or a foreigner, a purchase, or seldom neither. */
function partiesOf({ circle, publico, chance, pick }: Draws): [emisor: Taxpayer, receptor: Taxpayer] {
  const { self, clients, suppliers, foreigners } = circle
  if (chance(0.02)) return [self, self]
  if (chance(0.5)) return [pick(suppliers), self]
  // Few of them, so that they come back.
  return [self, chance(0.1) ? publico : chance(0.1) ? pick(foreigners) : pick(clients.slice(0, 6))]
}

/** An invoice of a month, with the taxes that follow from its parties and products. */
export function invoiceIn(draws: Draws, month: string, rest: Partial<Rest> = {}): SandboxComprobante {
  const { chance, pick, int } = draws
  const [emisor, buyer] = partiesOf(draws)
  // What a person buys for itself, mostly not under the regime of its business.
  const isPersonal = buyer === draws.circle.self && !isCompany(buyer.rfc) && chance(0.4)
  const receptor = isPersonal ? { ...buyer, regimen: pick(['605', '612', buyer.regimen]) } : buyer
  const draft = draftAt(draws.key(), hourOf(draws, month, 1, 31), emisor, receptor)
  const lugar = chance(0.1) ? pick([TIJUANA, CANCUN]) : emisor.locality
  const products = productsOf(pick(emisor.lines.length > 0 ? emisor.lines : (['consultoria'] as const)))
  const forgets = chance(0.2)
  const plain = Array.from({ length: int(1, 3) }, () => {
    const product = pick(products)
    const [cantidad, valor_unitario] = [int(1, product.most), int(...product.price)]
    const descuento = chance(0.2) ? Math.floor((cantidad * valor_unitario * int(1, 20)) / 100) : 0
    const line = conceptoOf(draft, lugar, product, { cantidad, valor_unitario, descuento, no_identificacion: `SKU-${int(100, 999)}` })
    return { ...line, clave: chance(0.04) ? '01010101' : line.clave, ...(forgets && { retenciones: [] }) }
  })
  const conceptos = withKinds(draft, lugar, plain, emisor === draws.circle.self)
  const isCredit = chance(isPersonal ? 0.2 : 0.5)
  const moneda = chance(0.15) ? pick(['USD', 'EUR']) : emisor.moneda === 'MXN' ? receptor.moneda : emisor.moneda
  const forma = isCredit ? (chance(0.1) ? '03' : '99') : pick(['03', '03', '04', '28', '01', '01', '05', '99'])
  const document = comprobante(draft, {
    ...{ tipo: 'I', serie: isCredit ? 'F' : 'A', lugar, moneda, conceptos, metodo: isCredit ? 'PPD' : 'PUE', forma },
    condiciones: pick(TERMS),
    ...(receptor.rfc === 'XAXX010101000' && { global: globalOf(draft) }),
    ...(chance(0.15) && { uso: pick(USES) }),
    ...(isPersonal && { uso: pick(PERSONAL_USES) }),
    ...rest,
  })
  // Some state no rate; the table has one for USD.
  return moneda !== 'MXN' && chance(0.12) ? { ...document, tipo_cambio: null } : document
}

/** An advance, the invoice of the whole amount, and the credit note that deducts the advance; or the form 30 says it, of all of the invoice. */
export function advanceIn(draws: Draws, month: string): SandboxComprobante[] {
  const whole = invoiceIn(draws, month, { metodo: 'PUE', forma: '03' })
  const kind = Number.parseInt(whole.uuid.slice(0, 1), 16) % 3
  const { emisor, receptor, lugar, moneda, tipo_cambio } = whole
  const part = (tipo: 'I' | 'E', day: number, uuid: string | null) => {
    const draft = draftAt(draws.key(), hourOf(draws, month, day, day), emisor, receptor)
    const product = { ...productsOf('consultoria')[0]!, clave: '84111506', descripcion: 'Anticipo del bien o servicio' }
    const conceptos = [conceptoOf(draft, lugar, product, { cantidad: 1, valor_unitario: 150_000, descuento: 0, no_identificacion: 'ANT' })]
    const relacion = uuid === null ? null : { tipo: '07', uuid }
    return comprobante(draft, { ...{ tipo, serie: 'AN', lugar, moneda, tipo_cambio, conceptos, metodo: 'PUE', forma: '30', relacion } })
  }
  const advance = part('I', 2, null)
  const relacion = { tipo: '07', uuid: advance.uuid }
  if (kind === 0) return [advance, { ...whole, relacion }, part('E', 28, whole.uuid)]
  if (kind === 1) return [advance, { ...whole, forma: '30', relacion }]
  const invoice = { ...whole, metodo: 'PPD' as const, forma: '99', relacion }
  const draft = draftAt(draws.key(), hourOf(draws, month, 28, 28), emisor, receptor)
  const documentos = [{ invoice, parcialidad: 1, saldo_anterior: invoice.amounts.total, pagado: invoice.amounts.total }]
  const pago = { fecha: draft.fecha, forma: '30', num_operacion: '30', moneda, tipo_cambio: tipo_cambio ?? 10_000, documentos }
  return [
    ...[advance, invoice],
    comprobante(draft, { tipo: 'P', serie: 'P', moneda: 'XXX', tipo_cambio: null, pago, conceptos: [untaxed('84111506', 'ACT', 'Pago')] }),
  ]
}
