import { parseSum } from '../../cfdi/population/sums.ts'
import type { System } from '../../platform/context.ts'
import type { Micros } from '../../platform/money.ts'
import { offsetText } from '../../platform/time/zone-of-postcode.ts'
import { sumAll } from '../common/figures.ts'
import { nameOf } from '../common/names.ts'
import { inPesos, parseUnrated, ratesOf, type Unrated } from '../common/unrated.ts'
import type { CancelledRow, CounterpartyRow } from './store.ts'

/** What a counterparty invoiced, or was invoiced, in a range. Amounts are micros of MXN, before taxes. */
export interface Counterparty {
  rfc: string
  name: string | null
  total: Micros
  invoices: number
  cancelled: number
  first_issued_at: string | null
  last_issued_at: string | null
  /** By month, ascending. */
  months: { month: string; total: Micros; invoices: number }[]
}

interface Known {
  months: Map<string, { total: Micros; invoices: number }>
  /** issued_at, UUID and name. */
  name: string
  first: number
  last: number
  cancelled: number
  documents: number
}

const SCALE = 10_000
const HALF = 5_000

const timeOf = (order: number): string => {
  const offset = (order % SCALE) - HALF
  const seconds = Math.floor(order / SCALE)
  return `${new Date((seconds + offset * 60) * 1_000).toISOString().slice(0, 19)}${offsetText(offset)}`
}

function addMonth({ months }: Known, month: string, total: Micros, invoices: number): void {
  const known = months.get(month) ?? { total: 0n, invoices: 0 }
  months.set(month, { total: known.total + total, invoices: known.invoices + invoices })
}

/**
 * Adds up the rows of `counterpartyStatements`. Documents that state no exchange rate are converted at the published one; `dof_rate` is how
 * many these are. At most one D1 call.
 */
export async function addUp(system: System, found: readonly unknown[][]): Promise<{ counterparties: Counterparty[]; dof_rate: number }> {
  const all = new Map<string, Known>()
  const of = (rfc: string): Known => {
    const known = all.get(rfc) ?? { months: new Map(), name: '', first: Number.POSITIVE_INFINITY, last: 0, cancelled: 0, documents: 0 }
    all.set(rfc, known)
    return known
  }
  const unrated: (Unrated & { rfc: string })[] = []
  for (const row of found.flat() as (CounterpartyRow | CancelledRow)[]) {
    const known = of(row.rfc)
    if ('cancelled' in row) known.cancelled += row.cancelled
    else {
      for (const one of parseUnrated(row.unrated)) unrated.push({ ...one, rfc: row.rfc })
      for (const line of row.months?.split(';') ?? []) {
        const [month = '', invoices, income = '0', credit = '0'] = line.split('=')
        addMonth(known, month, parseSum(income) - parseSum(credit), Number(invoices))
      }
      if (row.months !== null) known.documents++
      if (row.name !== null && row.name > known.name) known.name = row.name
      known.first = Math.min(known.first, row.first ?? known.first)
      known.last = Math.max(known.last, row.last ?? 0)
    }
  }
  const rates = await ratesOf(system, unrated)
  let dof_rate = 0
  for (const [n, { rfc, uuid, tipo, day, issued_at, utc_offset, name, net }] of unrated.entries()) {
    const [known, amount, order] = [of(rfc), inPesos(net, rates[n] ?? null), issued_at * SCALE + utc_offset + HALF]
    if (amount === null) continue
    const isInvoice = tipo === 'I'
    dof_rate++
    known.documents++
    addMonth(known, day.slice(0, 7), isInvoice ? amount : -amount, isInvoice ? 1 : 0)
    const named = `${issued_at}${uuid}${name}`
    if (name !== null && named > known.name) known.name = named
    if (isInvoice) [known.first, known.last] = [Math.min(known.first, order), Math.max(known.last, order)]
  }
  const counterparties = [...all].flatMap(([rfc, known]) => (known.documents === 0 ? [] : [counterpartyOf(rfc, known)]))
  return { counterparties: counterparties.sort(byTotal), dof_rate }
}

function counterpartyOf(rfc: string, { months, name, first, last, cancelled }: Known): Counterparty {
  const sorted = [...months].sort(([a], [b]) => (a < b ? -1 : 1)).map(([month, sums]) => ({ month, ...sums }))
  return {
    rfc,
    name: nameOf(name),
    total: sumAll(sorted.map(({ total }) => total)),
    invoices: sorted.reduce((sum, { invoices }) => sum + invoices, 0),
    cancelled,
    first_issued_at: last === 0 ? null : timeOf(first),
    last_issued_at: last === 0 ? null : timeOf(last),
    months: sorted,
  }
}

/** The largest total first, then by RFC. */
const byTotal = (a: Counterparty, b: Counterparty): number => (a.total === b.total ? (a.rfc < b.rfc ? -1 : 1) : a.total > b.total ? -1 : 1)
