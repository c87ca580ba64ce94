import { exact, type Micros, micros, money, quotient, times } from '../amounts.ts'
import { ivaOf, movementsOf } from '../cash.ts'
import { countedAt, inPesos, isToItself, isTooLarge, rateOf } from '../counting.ts'
import { openFrom } from '../obligations.ts'
import type { Impuesto, WithholdingRow, WithholdingTotals } from '../shapes.ts'
import { newTally, type Tally } from '../tally.ts'
import { taxSum } from '../taxes.ts'
import { addMonths, compare, type Document, dayOf, lastDayOf, monthOf, type Range, type World, within } from '../world.ts'
import { classOf, expectedOf } from './expectation.ts'

const CODES: [Impuesto, string][] = [
  ['ISR', '001'],
  ['IVA', '002'],
  ['IEPS', '003'],
]

interface Withheld {
  document: Document
  /** Whose invoice, receipt or constancia it is. */
  party: string
  applies_to: string | null
  source: WithholdingRow['source']
  role: WithholdingRow['role']
  impuesto: Impuesto
  concept_class: string | null
  date: string
  base: Micros
  amount: Micros
  expected: Micros | null
}

function ofEvents(world: World): Withheld[] {
  return movementsOf(world).events.flatMap((event) => {
    const { document, direction, source, applies_to, net } = event
    const role = direction === 'issued' ? ('withheld_from_us' as const) : ('withheld_by_us' as const)
    const expected =
      document.tipo_comprobante === 'I' && event.refund === null
        ? expectedOf(world, document, net, ivaOf(event), event.day)
        : { ISR: null, IVA: null }
    const concept_class = classOf(world, document, event.day)
    return CODES.flatMap(([impuesto, code]) => {
      const amount = taxSum(event.taxes, 'retencion', code)
      const due = impuesto === 'IEPS' ? null : expected[impuesto]
      if (amount === 0n && due === null) return []
      const uuid = world.documents.find((one) => one.uuid === event.uuid)!
      return [
        {
          ...{ document: uuid, party: document.counterparty.rfc, applies_to, source, role, impuesto, concept_class },
          date: event.day,
          base: net,
          amount,
          expected: due,
        },
      ]
    })
  })
}

function ofPayroll(world: World): Withheld[] {
  const counted = countedAt(world, null)
  return world.documents
    .filter(
      (one) =>
        one.tipo_comprobante === 'N' && counted.has(one.uuid) && !isToItself(one) && rateOf(world, one) !== null && !isTooLarge(world, one),
    )
    .flatMap((document) => {
      const amount = inPesos(world, document, micros(document.isr_retenido))
      const gravado = document.nominas.reduce((all, one) => all + micros(one.total_gravado), 0n)
      const common = {
        document,
        party: document.counterparty.rfc,
        applies_to: null,
        source: 'cfdi',
        impuesto: 'ISR',
        concept_class: 'sueldos',
        expected: null,
      } as const
      const role = document.direction === 'issued' ? 'withheld_by_us' : 'withheld_from_us'
      const date = dayOf(document.nominas[0]?.fecha_pago ?? document.fecha)
      return amount === 0n ? [] : [{ ...common, role, date, base: inPesos(world, document, gravado), amount } satisfies Withheld]
    })
}

function ofRetenciones(world: World): Withheld[] {
  return world.documents
    .filter((one) => one.kind === 'retenciones' && one.estatus !== 'cancelado' && !isToItself(one))
    .flatMap((document) => {
      const { retencion } = document
      if (!retencion) return []
      const { ejercicio, mes_final } = retencion
      const date = ejercicio && mes_final ? lastDayOf(`${ejercicio}-${mes_final.padStart(2, '0')}`) : dayOf(document.fecha)
      const role = document.direction === 'issued' ? ('withheld_by_us' as const) : ('withheld_from_us' as const)
      return CODES.flatMap(([impuesto, code]) => {
        const taxes = retencion.impuestos.filter((one) => one.impuesto?.padStart(3, '0') === code)
        const sum = (of: (tax: (typeof taxes)[number]) => string | null) => taxes.reduce((all, tax) => all + micros(of(tax)), 0n)
        const amount = sum(({ monto }) => monto)
        const common = {
          document,
          party: document.counterparty.rfc,
          applies_to: null,
          source: 'retencion_cfdi',
          role,
          impuesto,
          concept_class: null,
        } as const
        return amount === 0n ? [] : [{ ...common, date, base: sum(({ base }) => base), amount, expected: null }]
      })
    })
}

const ratioOf = (amount: Micros, base: Micros): string | null => (base === 0n ? null : exact(quotient(amount * 1_000_000n, base)))

function isMissing({ rules }: World, { amount, expected, date }: Withheld): boolean {
  if (expected === null) return false
  const [difference, tolerance] = [amount - expected, times(expected, rules(date).withholding_tolerance)]
  return difference > tolerance || -difference > tolerance
}

export interface WithholdingQuery extends Range {
  role?: WithholdingRow['role']
  impuesto?: Impuesto
  concept_class?: string
  source?: WithholdingRow['source']
  missing?: boolean
}

/** The rows of GET /v1/cfdi/withholdings in their order, the totals of each month, and their entries (`figure|period`). */
export function withholdingsOf(
  world: World,
  query: WithholdingQuery,
): { rows: WithholdingRow[]; totals: Omit<WithholdingTotals, 'drilldown'>[]; tally: Tally } {
  const tally = newTally()
  const inRange = [...ofEvents(world), ...ofPayroll(world), ...ofRetenciones(world)].filter(({ date }) => within(query, date))
  const found = inRange.filter(
    (one) =>
      (query.role === undefined || one.role === query.role) &&
      (query.impuesto === undefined || one.impuesto === query.impuesto) &&
      (query.concept_class === undefined || one.concept_class === query.concept_class) &&
      (query.source === undefined || one.source === query.source) &&
      (query.missing === undefined || isMissing(world, one) === query.missing),
  )
  const counts: Record<string, number> = {}
  for (const one of inRange) {
    const { document, applies_to, role, impuesto, amount, expected, date } = one
    const period = monthOf(date)
    counts[period] ??= 0
    if (impuesto !== 'IEPS') {
      const figure = `${impuesto.toLowerCase()}_${role === 'withheld_from_us' ? 'a_favor' : 'por_enterar'}|${period}`
      tally.add(figure, document.uuid, amount, applies_to)
    }
    if (!isMissing(world, one)) continue
    counts[period]++
    if (expected! > amount) tally.add(`missing_amount|${period}`, document.uuid, expected! - amount, applies_to)
  }
  const totals = Object.keys(counts)
    .sort()
    .map((period) => {
      const sum = (figure: string) => money(tally.sum(`${figure}|${period}`))
      return {
        ...{ period, isr_a_favor: sum('isr_a_favor'), iva_a_favor: sum('iva_a_favor'), isr_por_enterar: sum('isr_por_enterar') },
        ...{ iva_por_enterar: sum('iva_por_enterar'), missing_count: counts[period]!, missing_amount: sum('missing_amount') },
      }
    })
  const order = (a: Withheld, b: Withheld) =>
    -compare([a.date, a.document.uuid], [b.date, b.document.uuid]) ||
    compare([a.applies_to ?? '', a.impuesto], [b.applies_to ?? '', b.impuesto])
  return { rows: found.sort(order).map((one) => viewOf(world, one)), totals, tally }
}

function viewOf(world: World, one: Withheld): WithholdingRow {
  const { document, applies_to, source, role, impuesto, concept_class, date, base, amount, expected } = one
  const period = monthOf(date)
  const due = openFrom(`${addMonths(period, 1)}-${String(world.rules(lastDayOf(period)).withholding_due_day).padStart(2, '0')}`)
  return {
    ...{ uuid: document.uuid, applies_to, source, role, impuesto, concept_class, date, period },
    due_date: role === 'withheld_by_us' ? due : null,
    ...{ base: money(base), rate: ratioOf(amount, base), amount: money(amount) },
    expected_rate: expected === null ? null : ratioOf(expected, base),
    expected_amount: expected === null ? null : money(expected),
    difference: expected === null ? null : money(amount - expected),
    ...{ missing: isMissing(world, one), counterparty_rfc: one.party },
  }
}
