import type { SQL } from 'drizzle-orm'
import type { Rules } from '../../../authority/rules/dated.ts'
import { ratesAt } from '../../../authority/rules/rates/rates.ts'
import { type Measurable, measure, type RateOfDay } from '../../../cfdi/cash/measure.ts'
import { termDaysOf } from '../../../cfdi/payment-terms.ts'
import { parseSum } from '../../../cfdi/population/sums.ts'
import { inMxn, rateOf } from '../../../cfdi/totals.ts'
import type { System } from '../../../platform/context.ts'
import { prepared } from '../../../platform/db/statement.ts'
import { dayOfEpoch, epochDayOf } from '../../../platform/time/calendar.ts'
import { lastDayOf } from '../../../platform/time/months.ts'
import { type DirectionNumber, type Partition, partitionsToRead, type ScopedLedger } from '../../../taxpayers/visibility/scoped-ledger.ts'
import { type Cell, KINDS, type ReportCells } from './cells.ts'
import { cellsOf, Grouping, newestOf } from './grouping.ts'
import { operationOf } from './operation.ts'
import { readReceipts } from './receipts.ts'
import {
  CASH_FIGURES,
  type CashRow,
  type CreditInvoiceRow,
  cashStatement,
  type DocumentsRow,
  documentsStatement,
  invoicesStatement,
  type ReceiptRow,
  reasonsStatement,
  receiptsStatement,
} from './statements.ts'

/** What a month is read for. */
export interface MonthReading {
  system: System
  ledger: ScopedLedger
  rules: Rules
  today: string
}

interface Read {
  partition: Partition
  documents: [DirectionNumber, DocumentsRow[]][]
  cash: CashRow[]
  reasons: { reason: string; n: number }[]
  invoices: [DirectionNumber, CreditInvoiceRow[]][]
  receipts: ReceiptRow[]
}

const DIRECTIONS: readonly DirectionNumber[] = [0, 1]

/** Reads the documents of a month once, and returns what they add to the reports. One call, and one for rates and for receipts if there are any. */
export async function readMonth(reading: MonthReading, month: string): Promise<ReportCells> {
  const { ledger, today } = reading
  const days = { first: `${month}-01`, last: lastDayOf(month) }
  const statements: SQL[] = []
  const later: ((results: D1Result[]) => void)[] = []
  const ask = <Row>(statement: SQL | null, take: (rows: Row[]) => void): void => {
    if (statement === null) return
    const n = statements.push(statement) - 1
    later.push((results) => take(results[n]!.results as Row[]))
  }
  const read = partitionsToRead(ledger).map((partition): Read => {
    const into: Read = { partition, documents: [], cash: [], reasons: [], invoices: [], receipts: [] }
    for (const direction of DIRECTIONS) {
      ask<DocumentsRow>(documentsStatement(partition, direction, days), (rows) => into.documents.push([direction, rows]))
      ask<CreditInvoiceRow>(invoicesStatement(partition, direction, days, today), (rows) => into.invoices.push([direction, rows]))
    }
    ask<CashRow>(cashStatement(partition, days), (rows) => into.cash.push(...rows))
    ask<{ reason: string; n: number }>(reasonsStatement(partition, days), (rows) => into.reasons.push(...rows))
    ask<ReceiptRow>(receiptsStatement(partition, days), (rows) => into.receipts.push(...rows))
    return into
  })
  if (statements.length > 0) {
    const results = await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, one)))
    for (const take of later) take(results)
  }
  const rate = await ratesFor(reading.system, read)
  const cells = Object.fromEntries(KINDS.map((kind) => [kind, []])) as unknown as ReportCells
  const quality = { dof_rate: 0, unreconciled_payments: 0, other_parties: 0 }
  const documents = groupedDocuments(read, rate, quality)
  cells.documents = cellsOf(documents)
  cells.sums = cellsOf(withoutCounterparties(documents))
  cells.cash = cashCells(read, reading, month, rate, quality)
  cells.payments = paymentCells(read, reading, rate)
  for (const { reasons } of read) for (const { reason, n } of reasons) countReason(quality, reason, n)
  const { payroll, wages } = await readReceipts(
    ledger,
    read.map(({ partition, receipts }) => [partition, receipts]),
  )
  cells.payroll = payroll
  cells.sums.push(...wages)
  if (Object.values(quality).some((n) => n > 0)) cells.quality = [quality]
  return cells
}

type Quality = Cell<'quality'> & Record<'dof_rate' | 'unreconciled_payments' | 'other_parties', number>

function countReason(quality: Quality, reason: string, n: number): void {
  if (reason !== 'not_counted') quality.unreconciled_payments += n
  if (reason === 'other_parties') quality.other_parties += n
}

/** The rates of the table that documents need which do not state theirs. At most one call. */
async function ratesFor(system: System, read: readonly Read[]): Promise<RateOfDay> {
  const odd = read
    .flatMap(({ documents, cash }) => [...documents.flatMap(([, rows]) => rows), ...cash])
    .filter(({ source }) => source !== null)
  const wanted = [
    ...odd.flatMap(({ source, day }) => {
      const [, currency, conversion, , invoice] = JSON.parse(source!) as (string | null)[]
      const paid = conversion?.split(' ')[1]
      return [currency, invoice, paid].flatMap((code) => (code && /^[A-Z]{3}$/.test(code) ? [{ currency: code, day }] : []))
    }),
    ...read
      .flatMap(({ invoices }) => invoices.flatMap(([, rows]) => rows))
      .flatMap(({ currency, tipo_cambio, day }) =>
        currency !== null && rateOf(currency, tipo_cambio) === null ? [{ currency, day }] : [],
      ),
  ]
  const found = wanted.length === 0 ? [] : await ratesAt(system, wanted)
  const rates = new Map(wanted.map(({ currency, day }, n) => [`${currency} ${day}`, found[n]?.rate ?? null]))
  return (currency, day) => rates.get(`${currency} ${day}`) ?? null
}

const AMOUNTS = ['net', 'goods', 'iva', 'iva_retenido', 'isr_retenido', 'total'] as const

/** The amounts of a group of documents. Null when its one document is in no amount. */
function amountsOf(row: DocumentsRow, rate: RateOfDay, quality: Quality): Record<(typeof AMOUNTS)[number], bigint> | null {
  if (row.source === null) {
    const sign = row.tipo === 'E' ? -1n : 1n
    return Object.fromEntries(AMOUNTS.map((name) => [name, sign * parseSum(row[name])])) as Record<(typeof AMOUNTS)[number], bigint>
  }
  const measured = measure({ tipo: row.tipo, day: row.day, source: row.source }, rate)
  if (typeof measured === 'string') return null
  if (measured.dof && row.cancelled === 0) quality.dof_rate++
  const { net, iva_16, iva_8, iva_otras, iva_retenido, isr_retenido, paid } = measured
  return { net, goods: row.is_goods ? net : 0n, iva: iva_16 + iva_8 + iva_otras, iva_retenido, isr_retenido, total: paid }
}

type Head = Pick<DocumentsRow, 'rfc' | 'tipo' | 'cancelled' | 'reason' | 'first' | 'last'> & { direction: DirectionNumber; newest: string }
const COUNTS = ['n', 'lag', 'dated', 'after', 'without_amount'] as const
const newGrouping = () => new Grouping<Head, (typeof COUNTS)[number], (typeof AMOUNTS)[number]>(COUNTS, AMOUNTS)
type DocumentSums = ReturnType<ReturnType<typeof newGrouping>['rows']>

function groupedDocuments(read: readonly Read[], rate: RateOfDay, quality: Quality): DocumentSums {
  const groups = newGrouping()
  for (const { documents } of read)
    for (const [direction, rows] of documents)
      for (const row of rows) {
        const amounts = amountsOf(row, rate, quality)
        if (amounts === null && row.cancelled === 0) continue
        const { rfc, tipo, cancelled, reason, first, last } = row
        const into = groups.at([direction, rfc, tipo, cancelled, reason].join('|'), () => ({
          ...{ direction, rfc, tipo, cancelled, reason, first, last, newest: '' },
        }))
        if (first < into.first) into.first = first
        if (last > into.last) into.last = last
        if (cancelled === 0) into.newest = newestOf(into.newest, row.newest)
        for (const name of COUNTS) into[name] += row[name]
        if (amounts === null) into.without_amount += row.n
        else for (const name of AMOUNTS) into[name] += amounts[name]
      }
  return groups.rows()
}

function withoutCounterparties(rows: DocumentSums): DocumentSums {
  const groups = newGrouping()
  for (const row of rows) {
    const { direction, tipo, cancelled, reason } = row
    const head = { direction, tipo, cancelled, reason, rfc: '', newest: '', first: '', last: '' }
    const into = groups.at([direction, tipo, cancelled, reason].join('|'), () => head)
    for (const name of COUNTS) into[name] += row[name]
    for (const name of AMOUNTS) into[name] += row[name]
  }
  return groups.rows()
}

function cashCells(
  read: readonly Read[],
  { ledger, rules }: MonthReading,
  month: string,
  rate: RateOfDay,
  quality: Quality,
): Cell<'cash'>[] {
  const dated = rules.in('month', `${month}-01`)
  const groups = new Grouping<{ rfc: string; operacion: string; newest: string }, never, (typeof CASH_FIGURES)[number]>([], CASH_FIGURES)
  for (const row of read.flatMap(({ cash }) => cash)) {
    if (row.reason !== null) {
      countReason(quality, row.reason, row.n)
      continue
    }
    const measured = row.source === null ? null : measure(row as Measurable, rate)
    if (typeof measured === 'string') {
      if (row.tipo === 'P') countReason(quality, measured, 1)
      continue
    }
    if (measured?.dof && row.tipo === 'P') quality.dof_rate++
    const { rfc } = row
    const operacion = operationOf(dated, ledger.rfc, row)
    const into = groups.at(`${rfc}|${operacion}`, () => ({ rfc, operacion, newest: '' }))
    into.newest = newestOf(into.newest, row.newest)
    for (const name of CASH_FIGURES) into[name] += measured === null ? parseSum(row[name]) : measured[name]
  }
  return cellsOf(groups.rows())
}

/** Less than half a cent is nothing. */
const LEAST_OPEN = 5_000n

function paymentCells(read: readonly Read[], { rules, today }: MonthReading, rate: RateOfDay): Cell<'payments'>[] {
  type Head = { direction: DirectionNumber; rfc: string; newest: string; due: Map<string, bigint> }
  const groups = new Grouping<Head, 'invoices' | 'count' | 'invoices_paid', 'paid' | 'weighted' | 'on_time'>(
    ['invoices', 'count', 'invoices_paid'],
    ['paid', 'weighted', 'on_time'],
  )
  for (const { invoices } of read)
    for (const [direction, rows] of invoices)
      for (const { rfc, day, terms, currency, tipo_cambio, newest, total, paid, credited, net, payments } of rows) {
        const stated = rateOf(currency, tipo_cambio)
        const mxn = stated ?? rate(currency!, day)
        if (mxn === null || (stated !== null && net === null)) continue
        const into = groups.at(`${direction}|${rfc}`, () => ({ direction, rfc, newest: '', due: new Map() }))
        into.invoices++
        into.newest = newestOf(into.newest, newest)
        const due = dayOfEpoch(epochDayOf(day) + (termDaysOf(terms) ?? rules.on(day).get('financing.default_terms_days')))
        const parts = JSON.parse(payments ?? '[]') as [string, string][]
        if (parts.length > 0) into.invoices_paid++
        into.count += parts.length
        for (const [on, amount] of parts) {
          const pesos = inMxn(BigInt(amount), mxn)!
          into.paid += pesos
          into.weighted += pesos * BigInt(epochDayOf(on) - epochDayOf(day))
          if (on <= due) into.on_time += pesos
        }
        const left = BigInt(total) - BigInt(paid) - BigInt(credited)
        // What is dated after today is owed from its day on.
        const key = day > today ? `${due}|${day}` : due
        if (left >= LEAST_OPEN) into.due.set(key, (into.due.get(key) ?? 0n) + inMxn(left, mxn)!)
      }
  const openOf = ([key, amount]: [string, bigint]): string[] => {
    const [due = '', from = ''] = key.split('|')
    return from === '' ? [due, `${amount}`] : [due, `${amount}`, from]
  }
  return cellsOf(groups.rows().map(({ due, ...row }) => ({ ...row, open: JSON.stringify([...due].map(openOf)) })))
}
