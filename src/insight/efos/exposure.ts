import type { Measurable } from '../../cfdi/cash/measure.ts'
import type { Micros } from '../../cfdi/money.ts'
import { measureOpen, rateWanted } from '../../cfdi/open/measure-open.ts'
import { parseSum } from '../../cfdi/population/sums.ts'
import type { System } from '../../platform/context.ts'
import { sumAll } from '../common/figures.ts'
import { ivaOf, measurer } from '../common/measured.ts'
import { nameOf } from '../common/names.ts'
import { oddsOf, type UnmatchedRow, unmatchedOf } from '../common/omitted.ts'
import { inPesos, parseUnrated } from '../common/unrated.ts'
import type { DetailRow, IvaRow, ListedOn, NetRow, OpenSum } from './store.ts'

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
}

/** The rows of the statements of the same names. */
export interface FoundRows {
  net: NetRow[]
  detail: DetailRow[]
  open: OpenSum[]
  iva: IvaRow[]
  unmatched: UnmatchedRow[]
}

const listOf = (text: string | null): unknown[] => JSON.parse(`[${text ?? ''}]`) as unknown[]
const NOTHING: Omit<Exposure, 'rfc'> = { name: null, invoices: 0, amount: 0n, before: 0n, after: 0n, iva: 0n, paid: 0n, unpaid: 0n }

/**
 * Adds up what was read of all counterparties (`net`), and of the listed ones. Documents that state no exchange rate are converted at the
 * published one; `omitted` counts these, and what could not be matched with an invoice. At most one D1 call.
 */
export async function exposuresOf(system: System, { net, detail, open, iva, unmatched }: FoundRows, listed: ListedOn) {
  const since = new Map(listed)
  const unrated = net.flatMap((row) => parseUnrated(row.unrated).map((one) => ({ ...one, rfc: row.rfc })))
  const balances = open.flatMap(({ rfc, odd }) => listOf(odd).map((one) => ({ rfc, odd: JSON.stringify(one) })))
  const events = iva.flatMap(({ rfc, odd }) => (listOf(odd) as Measurable[]).map((one) => ({ rfc, ...one })))
  const { outcomeOf, rateOfDay } = await measurer(
    system,
    [...events, ...oddsOf(unmatched).map(([, event]) => event)],
    [...unrated, ...balances.flatMap(({ odd }) => rateWanted(odd) ?? [])],
  )

  const all = new Map<string, Exposure & { documents: number; named: string }>()
  const of = (rfc: string) => {
    const known = all.get(rfc) ?? { rfc, ...NOTHING, documents: 0, named: '' }
    all.set(rfc, known)
    return known
  }
  for (const { rfc, income, credit, invoices, documents, name } of net) {
    const one = of(rfc)
    one.amount += parseSum(income) - parseSum(credit)
    one.invoices += invoices
    one.documents += documents
    if (name !== null && name > one.named) one.named = name
  }
  for (const { rfc, is_before, income, credit, total_income, total_credit } of detail) {
    const one = of(rfc)
    one[is_before === 1 ? 'before' : 'after'] += parseSum(income) - parseSum(credit)
    one.paid += parseSum(total_income) - parseSum(total_credit)
  }
  let dof_rate = 0
  for (const { rfc, tipo, day, currency, net: own, total, issued_at, uuid, name } of unrated) {
    const rate = rateOfDay(currency, day)
    const [amount, whole] = [inPesos(own, rate), inPesos(total, rate)]
    if (amount === null || whole === null) continue
    const [one, sign] = [of(rfc), tipo === 'E' ? -1n : 1n]
    dof_rate++
    one.documents++
    one.amount += amount * sign
    if (tipo === 'I') one.invoices++
    if (name !== null && `${issued_at}${uuid}${name}` > one.named) one.named = `${issued_at}${uuid}${name}`
    one[day < (since.get(rfc) ?? '') ? 'before' : 'after'] += amount * sign
    one.paid += whole * sign
  }
  for (const { rfc, pesos } of open) of(rfc).unpaid += parseSum(pesos)
  for (const { rfc, odd } of balances) of(rfc).unpaid += openPesos(odd, rateOfDay) ?? 0n
  for (const { rfc, iva_16, iva_8, iva_otras } of iva) of(rfc).iva += parseSum(iva_16) + parseSum(iva_8) + parseSum(iva_otras)
  for (const event of events) {
    const outcome = outcomeOf(event)
    if (typeof outcome !== 'string') of(event.rfc).iva += ivaOf(outcome)
  }
  const known = [...all.values()].filter(({ documents }) => documents > 0)
  return {
    total: sumAll(known.map(({ amount }) => amount)),
    omitted: { dof_rate, ...unmatchedOf(unmatched, outcomeOf) },
    exposures: known
      .filter(({ rfc }) => since.has(rfc))
      .map((one) => ({ ...one, name: nameOf(one.named), paid: one.paid - one.unpaid }))
      .sort((a, b) => (a.amount === b.amount ? (a.rfc < b.rfc ? -1 : 1) : a.amount > b.amount ? -1 : 1)),
  }
}

/** The balance of an open invoice in MXN; null when it is not open, or has no rate. */
export function openPesos(odd: string, rateOfDay: (currency: string, day: string) => string | null): Micros | null {
  const wanted = rateWanted(odd)
  return measureOpen(odd, wanted && rateOfDay(wanted.currency, wanted.day))?.pesos ?? null
}
