import type { Measurable } from '../../cfdi/cash/measure.ts'
import { measureOpen, rateWanted } from '../../cfdi/open/measure-open.ts'
import { parseSum } from '../../cfdi/population/sums.ts'
import type { System } from '../../platform/context.ts'
import type { Micros } from '../../platform/money.ts'
import { sumAll } from '../common/figures.ts'
import { ivaOf, measurer } from '../common/measured.ts'
import { nameOf } from '../common/names.ts'
import { oddsOf, type UnmatchedRow, unmatchedOf } from '../common/omitted.ts'
import { inPesos, parseUnrated, type Unrated } from '../common/unrated.ts'
import type { DetailRow, IvaRow, OpenSum, TotalRow } from './store.ts'

/** What a counterparty invoiced, or was invoiced, in micros of MXN. */
export interface Exposure {
  rfc: string
  name: string | null
  invoices: number
  amount: Micros
  before: Micros
  after: Micros
  iva: Micros
  paid: Micros
  unpaid: Micros
  /** The amount by the rate of ISR of the years of its documents, as decimal text. */
  taxed: Map<string, Micros>
}

/** The rows of the statements of the same names. */
export interface FoundRows {
  total: TotalRow[]
  detail: DetailRow[]
  open: OpenSum[]
  iva: IvaRow[]
  unmatched: UnmatchedRow[]
}

const listOf = (text: string | null): unknown[] => JSON.parse(`[${text ?? ''}]`) as unknown[]
const NOTHING: Omit<Exposure, 'rfc' | 'taxed'> = {
  name: null,
  invoices: 0,
  amount: 0n,
  before: 0n,
  after: 0n,
  iva: 0n,
  paid: 0n,
  unpaid: 0n,
}

/**
 * Adds up what was read of all counterparties (`total`), and of the listed ones. Documents that state no exchange rate are converted at the
 * published one; `omitted` counts these, and what could not be matched with an invoice. `isrOn` is the rate of ISR of the year of a day. At most one D1
 * call.
 */
export async function exposuresOf(
  system: System,
  { total: rows, unmatched, detail, open, iva }: FoundRows,
  isrOn: (day: string | null) => string,
) {
  const all = rows.flatMap((row) => parseUnrated(row.unrated))
  const unrated = detail.flatMap((row) => parseUnrated(row.unrated).map((one) => ({ ...one, rfc: row.rfc, is_before: row.is_before })))
  const balances = open.flatMap(({ rfc, odd }) => listOf(odd).map((one) => ({ rfc, odd: JSON.stringify(one) })))
  const events = iva.flatMap(({ rfc, odd }) => (listOf(odd) as Measurable[]).map((one) => ({ rfc, ...one })))
  const { outcomeOf, rateOfDay } = await measurer(
    system,
    [...events, ...oddsOf(unmatched).map(([, event]) => event)],
    [...all, ...balances.flatMap(({ odd }) => rateWanted(odd) ?? [])],
  )

  const found = new Map<string, Exposure & { documents: number; named: string }>()
  const of = (rfc: string) => {
    const known = found.get(rfc) ?? { rfc, ...NOTHING, taxed: new Map(), documents: 0, named: '' }
    found.set(rfc, known)
    return known
  }
  const add = (one: Exposure, amount: Micros, isr: string): void => {
    one.amount += amount
    one.taxed.set(isr, (one.taxed.get(isr) ?? 0n) + amount)
  }
  for (const { rfc, is_before, isr_rate, income, credit, total_income, total_credit, invoices, documents, name } of detail) {
    const one = of(rfc)
    const amount = parseSum(income) - parseSum(credit)
    add(one, amount, isr_rate ?? isrOn(null))
    one[is_before === 1 ? 'before' : 'after'] += amount
    one.paid += parseSum(total_income) - parseSum(total_credit)
    one.invoices += invoices
    one.documents += documents
    if (name !== null && name > one.named) one.named = name
  }
  const inMxn = ({ tipo, day, currency, net, total: own }: Unrated): { amount: Micros; whole: Micros } | null => {
    const rate = rateOfDay(currency, day)
    const [amount, whole] = [inPesos(net, rate), inPesos(own, rate)]
    return amount === null || whole === null ? null : tipo === 'E' ? { amount: -amount, whole: -whole } : { amount, whole }
  }
  for (const document of unrated) {
    const { rfc, is_before, tipo, issued_at, uuid, name, day } = document
    const pesos = inMxn(document)
    if (pesos === null) continue
    const one = of(rfc)
    one.documents++
    add(one, pesos.amount, isrOn(day))
    if (tipo === 'I') one.invoices++
    if (name !== null && `${issued_at}${uuid}${name}` > one.named) one.named = `${issued_at}${uuid}${name}`
    one[is_before === 1 ? 'before' : 'after'] += pesos.amount
    one.paid += pesos.whole
  }
  const converted = all.flatMap((document) => inMxn(document) ?? [])
  for (const { rfc, pesos } of open) of(rfc).unpaid += parseSum(pesos)
  for (const { rfc, odd } of balances) of(rfc).unpaid += openPesos(odd, rateOfDay) ?? 0n
  for (const { rfc, iva_16, iva_8, iva_otras } of iva) of(rfc).iva += parseSum(iva_16) + parseSum(iva_8) + parseSum(iva_otras)
  for (const event of events) {
    const outcome = outcomeOf(event)
    if (typeof outcome !== 'string') of(event.rfc).iva += ivaOf(outcome)
  }
  return {
    total: sumAll([...rows.map(({ income, credit }) => parseSum(income) - parseSum(credit)), ...converted.map(({ amount }) => amount)]),
    omitted: { dof_rate: converted.length, ...unmatchedOf(unmatched, outcomeOf) },
    exposures: [...found.values()]
      .filter(({ documents }) => documents > 0)
      .map((one) => ({ ...one, name: nameOf(one.named), paid: one.paid - one.unpaid }))
      .sort((a, b) => (a.amount === b.amount ? (a.rfc < b.rfc ? -1 : 1) : a.amount > b.amount ? -1 : 1)),
  }
}

/** The balance of an open invoice in MXN; null when it is not open, or has no rate. */
export function openPesos(odd: string, rateOfDay: (currency: string, day: string) => string | null): Micros | null {
  const wanted = rateWanted(odd)
  return measureOpen(odd, wanted && rateOfDay(wanted.currency, wanted.day))?.pesos ?? null
}
