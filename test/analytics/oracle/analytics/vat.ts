import { exact, type Micros, micros, money, part, quotient, sum } from '../amounts.ts'
import type { VatMonth } from '../analytics-shapes.ts'
import { appliedTo, LEAST_OPEN } from '../balances.ts'
import { type CashEvent, countedOn, figuresOf, ivaOf, movementsOf } from '../cash.ts'
import { inPesos, isToItself, populationOf, rateOf, signOf } from '../counting.ts'
import { exclusionsOf, isInParts, lostOf, paymentsOf, wrongsOf } from '../drilldowns/deduction-reasons.ts'
import { isRepseInvalid, situacionAt } from '../lists.ts'
import type { Direction, Month } from '../shapes.ts'
import { newTally, type Tally } from '../tally.ts'
import { IVA, IVA_FIGURES, taxesOf, taxSum } from '../taxes.ts'
import { addMonths, type Document, lastDayOf, monthOf, monthsOf, type Range, type World } from '../world.ts'

const ONE = 1_000_000n
const retained = ({ taxes }: CashEvent): Micros => taxSum(taxes, 'retencion', IVA)
const inMonth = (world: World, month: Month) => movementsOf(world).events.filter(({ day }) => monthOf(day) === month)

/** The part of sales that is taxed, in millionths. */
function prorrateoOf(taxed: Micros, exempt: Micros): Micros {
  if (exempt <= 0n) return ONE
  if (taxed <= 0n) return 0n
  return quotient(taxed * ONE, taxed + exempt)
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

/** What of an amount of an event cannot be credited: what is out of a payment, and of a refund the part that its payments were. */
function excludedOf(world: World, { document, refund, forma, pesos, day }: CashEvent): (amount: Micros) => Micros {
  if (exclusionsOf(world, document).length > 0) return (amount) => amount
  if (refund === null) return (amount) => lostOf(world, document, { forma, pesos }, day, amount)
  const out = sum(refund.of.map((one) => lostOf(world, document, one, day, one.amount)))
  const all = sum(refund.of.map(({ amount }) => amount))
  return (amount) => part(amount, out, all)
}

/** IVA withheld from third parties in a month on what can be credited. */
const creditableRetained = (world: World, month: Month): Micros =>
  sum(
    inMonth(world, month)
      .filter(({ direction }) => direction === 'received')
      .map((event) => retained(event) - excludedOf(world, event)(retained(event))),
  )

/** The taxed part of what was collected in a month. */
function proportionOf(world: World, month: Month): Micros {
  const figures = inMonth(world, month)
    .filter(({ direction }) => direction === 'issued')
    .flatMap(figuresOf)
  const of = (...names: string[]) => sum(figures.flatMap(([name, amount]) => (names.includes(name) ? [amount] : [])))
  return prorrateoOf(of('base_16', 'base_8', 'base_0', 'base_otras'), of('base_exento'))
}

const REASONS = ['uso_s01', 'issuer_69b_definitivo', 'cash_over_2000', 'fuel_not_electronic', 'bar', 'restaurant_not_by_card']
const QUESTION = 'Was it one purchase that was divided into payments of at most 2,000 in cash (LISR 27-III)?'

function addCash(world: World, month: Month, tally: Tally): void {
  for (const event of inMonth(world, month)) {
    const isIssued = event.direction === 'issued'
    const side = isIssued ? 'cobrado' : 'pagado'
    const add = (figure: string, amount: Micros) => {
      if (amount !== 0n) tally.add(`${figure}|${month}`, event.uuid, amount, event.applies_to)
    }
    for (const [figure, amount] of figuresOf(event)) add(`${side}.${figure}`, amount)
    add(isIssued ? 'cobrado.retenido_por_clientes' : 'pagado.retenido_a_terceros', retained(event))
    if (isIssued) continue
    const excluded = excludedOf(world, event)
    add('no_deducible_excluded', excluded(ivaOf(event)))
    const { document, refund, forma, pesos, day } = event
    const payments = refund?.of ?? [{ forma, pesos }]
    const reasons = [...exclusionsOf(world, document), ...payments.flatMap((one) => wrongsOf(world, document, one, day))]
    const reason = REASONS.find((one) => reasons.includes(one))
    if (reason) add(`excluded.${reason}`, excluded(ivaOf(event)))
    const all = refund?.of ?? (event.source === 'pago' ? paymentsOf(world, document) : payments)
    const isOpen = payments.some((one) => isInParts(world, document, one, day, all))
    if (isOpen && reasons.length === 0) {
      add('por_revisar', ivaOf(event))
      add('review.cash_in_parts', ivaOf(event))
    }
    const rest = ivaOf(event) - excluded(ivaOf(event))
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
export function vatPositionOf(world: World, range: Range): { rows: Computed[]; tally: Tally } {
  const tally = newTally()
  const rows = monthsOf(range)
    .filter((month) => month <= monthOf(world.today))
    .map((month) => {
      addCash(world, month, tally)
      addAccrued(world, month, tally)
      return monthRow(world, month, tally)
    })
  return { rows, tally }
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

function monthRow(world: World, month: Month, tally: Tally): Computed {
  const of = (figure: string) => tally.sum(`${figure}|${month}`)
  const ivas = (side: string) => of(`${side}.iva_16`) + of(`${side}.iva_8`) + of(`${side}.iva_otras`)
  const [prorrateo, before] = [proportionOf(world, month), addMonths(month, -1)]
  const excluded = of('no_deducible_excluded')
  const acreditable =
    quotient((ivas('pagado') - excluded - creditableRetained(world, month)) * prorrateo, ONE) +
    quotient(creditableRetained(world, before) * proportionOf(world, before), ONE)
  const saldo = ivas('cobrado') - acreditable - of('cobrado.retenido_por_clientes')
  const declarado = declaredOf(world, month)
  const knows = (direction: Direction) => world.isComplete === true || isSeen(world, month, direction)
  const isKnown = knows('issued') && knows('received')
  const texts = (side: string) => Object.fromEntries(IVA_FIGURES.map((figure) => [figure, money(of(`${side}.${figure}`))]))
  return {
    period: month,
    cobrado: { ...texts('cobrado'), retenido_por_clientes: money(of('cobrado.retenido_por_clientes')) } as VatMonth['cobrado'],
    pagado: { ...texts('pagado'), retenido_a_terceros: money(of('pagado.retenido_a_terceros')) } as VatMonth['pagado'],
    devengado: { trasladado: money(of('devengado.trasladado')), acreditable: money(of('devengado.acreditable')) },
    excluded: REASONS.flatMap((reason) => {
      const iva = of(`excluded.${reason}`)
      return iva === 0n ? [] : [{ reason, iva: money(iva) }]
    }),
    por_revisar: money(of('por_revisar')),
    questions:
      of('review.cash_in_parts') === 0n ? [] : [{ reason: 'cash_in_parts', question: QUESTION, iva: money(of('review.cash_in_parts')) }],
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
