import { exact, type Micros, micros, money, part, quotient, sum } from '../amounts.ts'
import type { VatMonth } from '../analytics-shapes.ts'
import { appliedTo, LEAST_OPEN } from '../balances.ts'
import { type CashEvent, countedOn, figuresOf, ivaOf, movementsOf } from '../cash.ts'
import { inPesos, isToItself, populationOf, rateOf, signOf } from '../counting.ts'
import { excludedOf, questionsOf, REASONS, reasonOf } from '../drilldowns/credit.ts'
import { type LineFigure, lineFiguresOf, netsByClave, OF_LINES, OF_THIRD_PARTIES } from '../lines.ts'
import { hasPrefix, isRepseInvalid, situacionAt } from '../lists.ts'
import type { Direction, Month } from '../shapes.ts'
import { newTally, type Tally } from '../tally.ts'
import { IVA, IVA_FIGURES, ivaFigures, taxesOf, taxSum } from '../taxes.ts'
import { addMonths, type Document, lastDayOf, monthOf, monthsOf, type Range, type World } from '../world.ts'

/** What the taxpayer decides. */
export interface VatChoices {
  terceros?: 'include' | 'exclude'
  /** A number, or `attributed` with uses by supplier. */
  prorrateo?: string
  no_objeto?: 'not_taxed' | 'left_out'
  taxed_suppliers?: readonly string[]
  exempt_suppliers?: readonly string[]
}

const ONE = 1_000_000n
const retained = ({ taxes }: CashEvent): Micros => taxSum(taxes, 'retencion', IVA)
const inMonth = (world: World, month: Month) => movementsOf(world).events.filter(({ day }) => monthOf(day) === month)

/** The part of sales that is taxed, in millionths. */
function prorrateoOf(taxed: Micros, exempt: Micros): Micros {
  if (exempt <= 0n) return ONE
  if (taxed <= 0n) return 0n
  return quotient(taxed * ONE, taxed + exempt)
}

const FIGURES = [...IVA_FIGURES, ...OF_LINES]
const PROPORTION = {
  gravado: ['base_16', 'base_8', 'base_0', 'base_otras'],
  exento: ['base_exento'],
  no_objeto: ['base_no_objeto'],
} satisfies Record<string, LineFigure[]>
const BASES: LineFigure[] = [...PROPORTION.gravado, ...PROPORTION.exento, ...PROPORTION.no_objeto, 'base_sin_traslado']

/** The figures of an event, less what is of third parties where that is left out. */
function shownOf(event: CashEvent, { terceros }: VatChoices): [LineFigure, Micros][] {
  const figures = figuresOf(event)
  if (event.direction === 'received' || terceros !== 'exclude') return figures
  return figures.map(([name, amount]) => (name.startsWith('tercero_') ? [name.slice(8) as LineFigure, -amount] : [name, amount]))
}

/** The parts of the bases of an invoice, of which lines can be told apart when it has one and nothing else. */
function isMixed(document: Document): boolean {
  const stated = [...taxesOf(document).flatMap(ivaFigures), ...lineFiguresOf(document)].filter(([, amount]) => amount !== 0n)
  const has = (names: readonly LineFigure[]) => stated.some(([name]) => names.includes(name))
  const others = stated.some(([name]) => name === 'base_sin_traslado' || name.startsWith('tercero_'))
  return others || Object.values(PROPORTION).filter(has).length > 1
}

/** The part of a sale of what LIVA 5-C leaves out, by its lines, and whether some of it may be of that and nothing tells. */
function outOf(world: World, { document, day }: CashEvent): { part: readonly [out: Micros, of: Micros]; isDoubtful: boolean } {
  const claves = (treatment: string) => world.rules(day).proportion.flatMap((one) => (one.treatment === treatment ? one.claves : []))
  const nets = [...netsByClave(document)]
  const of = (treatment: string) => nets.filter(([clave]) => hasPrefix(clave, claves(treatment)))
  const [out, review] = [of('out'), of('review')]
  if (out.length > 0 && out.length === nets.length) return { part: [1n, 1n], isDoubtful: false }
  const [some, every] = [out, nets].map((list) => sum(list.map(([, net]) => net))) as [Micros, Micros]
  const isTold = review.length === 0 && out.length > 0 && every > 0n && nets.every(([, net]) => net >= 0n) && !isMixed(document)
  return isTold ? { part: [some, every], isDoubtful: false } : { part: [0n, 1n], isDoubtful: out.length + review.length > 0 }
}

/** What a sale adds to the figures of the proportion. */
function inProportion(world: World, event: CashEvent, choices: VatChoices): [figure: string, amount: Micros][] {
  if (event.direction !== 'issued') return []
  const shown = shownOf(event, choices)
  const of = (names: readonly LineFigure[]) => sum(shown.flatMap(([name, amount]) => (names.includes(name) ? [amount] : [])))
  const { part: left, isDoubtful } = outOf(world, event)
  if (left[0] === left[1]) return [['fuera', of(BASES)]]
  const bases = Object.entries(PROPORTION).map(([figure, names]) => ({ figure, base: of(names), out: part(of(names), ...left) }))
  return [
    ...bases.map(({ figure, base, out }): [string, Micros] => [figure, base - out]),
    ['fuera', sum(bases.map(({ out }) => out))],
    ['por_revisar', isDoubtful ? of(BASES) : 0n],
  ]
}

/** The taxed part of what was collected in a month, or what the taxpayer says. */
function proportionOf(world: World, month: Month, choices: VatChoices): Micros {
  const { prorrateo = 'attributed', no_objeto } = choices
  if (prorrateo !== 'attributed') return micros(prorrateo)
  const figures = inMonth(world, month).flatMap((event) => inProportion(world, event, choices))
  const of = (name: string) => sum(figures.flatMap(([figure, amount]) => (figure === name ? [amount] : [])))
  return prorrateoOf(of('gravado'), of('exento') + (no_objeto === 'left_out' ? 0n : of('no_objeto')))
}

/** What is credited of amounts of events: by the proportion of a month, unless their supplier has a use. */
function credited(world: World, month: Month, choices: VatChoices, amountOf: (event: CashEvent) => Micros): Micros {
  const { taxed_suppliers = [], exempt_suppliers = [] } = choices
  const events = inMonth(world, month).filter(({ direction }) => direction === 'received')
  const rfcOf = ({ document }: CashEvent) => document.emisor_rfc
  const of = (is: (event: CashEvent) => boolean) => sum(events.filter(is).map(amountOf))
  const whole = of((event) => taxed_suppliers.includes(rfcOf(event)))
  const rest = of((event) => ![...taxed_suppliers, ...exempt_suppliers].includes(rfcOf(event)))
  return whole + quotient(rest * proportionOf(world, month, choices), ONE)
}

/** The latest visible return for IVA of a month. */
function declaredOf({ returns }: World, month: Month): VatMonth['declarado'] {
  const found = returns
    .filter(
      ({ period_end, attributes }) =>
        monthOf(period_end) === month && attributes['impuesto'] === 'IVA' && attributes['iva_a_cargo'] !== undefined,
    )
    .sort((a, b) => b.version - a.version)[0]
  if (!found) return null
  const { iva_a_cargo = '0', iva_a_favor = '0', numero_operacion = null } = found.attributes
  return { iva_a_cargo: money(micros(iva_a_cargo)), iva_a_favor: money(micros(iva_a_favor)), operation_number: numero_operacion }
}

/** IVA withheld from third parties by an event on what can be credited. */
const creditableRetained = (world: World, event: CashEvent): Micros => retained(event) - excludedOf(world, event, retained(event))

const QUESTIONS: Record<string, string> = {
  cash_in_parts: 'Was it one purchase that was divided into payments of at most 2,000 in cash (LISR 27-III)?',
  vehicle_review: 'Is it a car for up to ten passengers, what did each one cost, and does it have an electric motor (LISR 36-II)?',
  possible_travel: 'Was it consumed on a trip of more than 50 km (LISR 28-V)?',
  car_rental_review: 'Was a car rented, for how many days, and does it have an electric motor (LISR 28-XIII)?',
  restaurant_form_unknown: 'Is it paid by card or electronic wallet (LISR 28-XX)?',
}

function addCash(world: World, month: Month, tally: Tally, choices: VatChoices): void {
  for (const event of inMonth(world, month)) {
    const isIssued = event.direction === 'issued'
    const side = isIssued ? 'cobrado' : 'pagado'
    const add = (figure: string, amount: Micros) => {
      if (amount !== 0n) tally.add(`${figure}|${month}`, event.uuid, amount, event.applies_to)
    }
    for (const [figure, amount] of shownOf(event, choices)) if (!figure.startsWith('tercero')) add(`${side}.${figure}`, amount)
    add(isIssued ? 'cobrado.retenido_por_clientes' : 'pagado.retenido_a_terceros', retained(event))
    if (isIssued) {
      for (const [figure, amount] of figuresOf(event)) if (figure.startsWith('tercero_')) add(`terceros.${figure.slice(8)}`, amount)
      for (const [figure, amount] of inProportion(world, event, choices)) add(`proporcion.${figure}`, amount)
      continue
    }
    const excluded = excludedOf(world, event, ivaOf(event))
    add('no_deducible_excluded', excluded)
    add('retenido_acreditable', creditableRetained(world, event))
    add(`excluded.${reasonOf(world, event)}`, excluded)
    for (const reason of questionsOf(world, event).slice(0, 1)) {
      add('por_revisar', ivaOf(event))
      add(`review.${reason}`, ivaOf(event))
    }
    const rest = ivaOf(event) - excluded
    if (situacionAt(world, event.document.emisor_rfc, world.today) === 'presunto') add('at_risk_69b', rest)
    if (isRepseInvalid(world, event.document, event.day)) add('at_risk_repse', rest)
  }
}

/** The IVA of a part of a document in MXN, each rate converted by itself. */
const ivaOfPart = (world: World, document: Document, paid: Micros, total: Micros): Micros =>
  sum(
    taxesOf(document)
      .filter(({ kind, impuesto }) => kind === 'traslado' && impuesto === IVA)
      .map(({ importe }) => inPesos(world, document, part(importe, paid, total))),
  )

function addAccrued(world: World, month: Month, tally: Tally): void {
  const day = lastDayOf(month) < world.today ? lastDayOf(month) : world.today
  for (const document of populationOf(world, null, ['I', 'E'])) {
    if (monthOf(countedOn(document)) !== month) continue
    const iva = ivaOfPart(world, document, 1n, 1n) * signOf(document)
    const figure = document.direction === 'issued' ? 'devengado.trasladado' : 'devengado.acreditable'
    if (iva !== 0n) tally.add(`${figure}|${month}`, document.uuid, iva)
  }
  for (const invoice of populationOf(world, { from: '0000-01-01', to: day }, ['I'])) {
    if (invoice.metodo_pago !== 'PPD') continue
    const total = micros(invoice.total)
    const balance = total - sum(appliedTo(world, invoice, null).flatMap((one) => (one.day <= day ? [one.amount] : [])))
    if (balance < LEAST_OPEN) continue
    const iva = ivaOfPart(world, invoice, balance, total)
    const figure = invoice.direction === 'issued' ? 'pendiente_por_cobrar_iva' : 'pendiente_por_acreditar_iva'
    if (iva !== 0n) tally.add(`${figure}|${month}`, invoice.uuid, iva)
  }
  for (const { uuid, applies_to, iva, direction, day: paidOn } of movementsOf(world).unreconciled) {
    if (monthOf(paidOn) !== month) continue
    tally.add(`pagos_sin_conciliar|${month}`, uuid, iva, applies_to)
    tally.add(`pagos_sin_conciliar.${direction === 'issued' ? 'iva_cobrado' : 'iva_pagado'}|${month}`, uuid, iva, applies_to)
  }
}

type Computed = Omit<VatMonth, 'drilldown' | 'is_partial' | 'through_date' | 'data_status'>

/** GET /v1/analytics/vat-position: a row for each month, and the entries of `<path of the figure>|<month>`. */
export function vatPositionOf(world: World, range: Range, choices: VatChoices = {}): { head: object; rows: Computed[]; tally: Tally } {
  const tally = newTally()
  const rows = monthsOf(range)
    .filter((month) => month <= monthOf(world.today))
    .map((month) => {
      addCash(world, month, tally, choices)
      addAccrued(world, month, tally)
      return monthRow(world, month, tally, choices)
    })
  return { head: {}, rows, tally }
}

/** Whether anything is known of a month and direction: a document that counts, or a payment. */
const isSeen = (world: World, month: Month, direction: Direction): boolean =>
  populationOf(world, { from: `${month}-01`, to: lastDayOf(month) }, ['I', 'E']).some((one) => one.direction === direction) ||
  [...movementsOf(world).events, ...movementsOf(world).unreconciled].some(
    (one) => one.direction === direction && monthOf(one.day) === month,
  ) ||
  world.documents.some(
    (one) =>
      one.direction === direction &&
      monthOf(one.fecha) === month &&
      ['I', 'E'].includes(one.tipo_comprobante ?? '') &&
      one.has_xml &&
      one.estatus !== 'cancelado' &&
      !one.is_substituted &&
      !isToItself(one) &&
      rateOf(world, one) === null,
  )

function monthRow(world: World, month: Month, tally: Tally, choices: VatChoices): Computed {
  const of = (figure: string) => tally.sum(`${figure}|${month}`)
  const collected = of('cobrado.iva_16') + of('cobrado.iva_8') + of('cobrado.iva_otras')
  const prorrateo = proportionOf(world, month, choices)
  const excluded = of('no_deducible_excluded')
  const own = (event: CashEvent) => ivaOf(event) - excludedOf(world, event, ivaOf(event)) - creditableRetained(world, event)
  const before = addMonths(month, -1)
  const withheld_credited = credited(world, before, choices, (event) => creditableRetained(world, event))
  const acreditable = credited(world, month, choices, own) + withheld_credited
  const saldo = collected - acreditable - of('cobrado.retenido_por_clientes')
  const declarado = declaredOf(world, month)
  const knows = (direction: Direction) => world.isComplete === true || isSeen(world, month, direction)
  const isKnown = knows('issued') && knows('received')
  const textsOf = (side: string, names: readonly string[]) => Object.fromEntries(names.map((name) => [name, money(of(`${side}.${name}`))]))
  const texts = (side: string) => textsOf(side, FIGURES)
  return {
    period: month,
    cobrado: { ...texts('cobrado'), retenido_por_clientes: money(of('cobrado.retenido_por_clientes')) } as VatMonth['cobrado'],
    pagado: { ...texts('pagado'), retenido_a_terceros: money(of('pagado.retenido_a_terceros')) } as VatMonth['pagado'],
    terceros: textsOf('terceros', OF_THIRD_PARTIES) as VatMonth['terceros'],
    proporcion: textsOf('proporcion', [...Object.keys(PROPORTION), 'fuera', 'por_revisar']) as VatMonth['proporcion'],
    devengado: { trasladado: money(of('devengado.trasladado')), acreditable: money(of('devengado.acreditable')) },
    excluded: REASONS.flatMap((reason) => {
      const iva = of(`excluded.${reason}`)
      return iva === 0n ? [] : [{ reason, iva: money(iva) }]
    }),
    por_revisar: money(of('por_revisar')),
    questions: Object.entries(QUESTIONS).flatMap(([reason, question]) => {
      const iva = of(`review.${reason}`)
      return iva === 0n ? [] : [{ reason, question, iva: money(iva) }]
    }),
    retenido_acreditable: money(of('retenido_acreditable')),
    month_before: { period: before, withheld_credited: money(withheld_credited) },
    ...{ no_deducible_excluded: money(excluded), at_risk_69b: money(of('at_risk_69b')), at_risk_repse: money(of('at_risk_repse')) },
    prorrateo: knows('issued') ? exact(prorrateo) : null,
    ...{ acreditable: isKnown ? money(acreditable) : null, saldo: isKnown ? money(saldo) : null },
    resultado: isKnown ? (quotient(saldo, 10_000n) < 0n ? 'a_favor' : 'a_cargo') : null,
    ...{ pendiente_por_cobrar_iva: money(of('pendiente_por_cobrar_iva')) },
    pendiente_por_acreditar_iva: money(of('pendiente_por_acreditar_iva')),
    pagos_sin_conciliar: {
      ...{ count: tally.count(`pagos_sin_conciliar|${month}`), iva: money(of('pagos_sin_conciliar')) },
      ...{ iva_cobrado: money(of('pagos_sin_conciliar.iva_cobrado')), iva_pagado: money(of('pagos_sin_conciliar.iva_pagado')) },
    },
    declarado,
    requires_complementary: inMonth(world, month).some(
      ({ refund, document }) =>
        refund !== null &&
        monthOf(refund.note.fecha) > month &&
        micros(document.iva_retenido) !== 0n &&
        ![refund.note, document].every(({ relacionados }) => relacionados.some(({ tipo_relacion }) => tipo_relacion === '07')),
    ),
    diferencia: !isKnown ? null : declarado && money(saldo - micros(declarado.iva_a_cargo) + micros(declarado.iva_a_favor)),
  }
}
