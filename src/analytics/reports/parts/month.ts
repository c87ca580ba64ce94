import type { SQL } from 'drizzle-orm'
import type { Rules } from '../../../authority/rules/dated.ts'
import { ratesAt } from '../../../authority/rules/rates/rates.ts'
import { operationOf } from '../../../authority/rules/withholding-classes.ts'
import { exactAmounts, type RateOfDay, shareOf } from '../../../cfdi/cash/exact-amounts.ts'
import { chunksOf, partsOf } from '../../../cfdi/chunks/chunks.ts'
import { contentOf } from '../../../cfdi/chunks/content.ts'
import { termDaysOf } from '../../../cfdi/payment-terms.ts'
import { parseSum } from '../../../cfdi/population/population.ts'
import { inMxn, rateOf } from '../../../cfdi/totals.ts'
import type { System } from '../../../platform/context.ts'
import { commit, jsonChunks } from '../../../platform/db/commit.ts'
import { readAll, readRows } from '../../../platform/db/statement.ts'
import { micros } from '../../../platform/money.ts'
import { dayOfEpoch, epochDayOf } from '../../../platform/time/calendar.ts'
import { lastDayOf } from '../../../platform/time/months.ts'
import { type DirectionNumber, type Partition, partitionsToRead, type ScopedLedger } from '../../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTIONS } from '../../../taxpayers/visibility/window.ts'
import {
  type Exclusions,
  excludedPart,
  exclusionsOf,
  outcomeIn,
  parseExactRow,
  rateOfLimit,
  UNKNOWN_SUPPLIERS,
} from '../../vat/exclusions.ts'
import { type Marks, NO_USES } from '../../vat/store.ts'
import {
  CASH_FIGURES,
  type CashRow,
  type CreditInvoiceRow,
  cashStatement,
  chunksStatement,
  type DocumentsRow,
  documentsStatement,
  IVA_FIGURES,
  invoicesStatement,
  PAID_FIGURES,
  RETURNED_FIGURES,
  type ReceiptRow,
  reasonsStatement,
  receiptsStatement,
} from './statements.ts'

const DOCUMENTS = [
  ...(['direction', 'rfc', 'tipo', 'cancelled', 'reason', 'newest', 'first', 'last', 'n', 'lag', 'dated', 'after'] as const),
  'without_amount' as const,
  ...(['net', 'goods', 'iva', 'iva_retenido', 'isr_retenido', 'total'] as const),
] as const

/** The members of a cell of each kind. Amounts are micros of MXN as text. */
const MEMBERS = {
  /** I and E by counterparty; cancelled ones by reason. `newest` is a name behind the position of its document. */
  documents: DOCUMENTS,
  /** The same without counterparties, and with N. */
  sums: DOCUMENTS,
  /** Cash events of received documents, by supplier, kind of operation and border region: what is paid, and apart what is returned and not creditable. */
  cash: ['rfc', 'operacion', 'newest', ...CASH_FIGURES, 'region'] as const,
  /**
   * PPD invoices by counterparty, with their payments, and the open amounts by due date, `[due, micros, day]`, with the day of the invoice
   * only if that was still to come.
   */
  payments: ['direction', 'rfc', 'newest', 'invoices', 'count', 'invoices_paid', 'paid', 'weighted', 'on_time', 'open'] as const,
  /** Receipts by the month of their payment and receiver. */
  payroll: ['month', 'rfc', 'receipts', 'percepciones', 'deducciones', 'otros_pagos', 'isr', 'wages', 'wage_count'] as const,
  /** Omissions: how often the rate of a day was used, and the paid parts without an invoice. */
  quality: ['dof_rate', 'unreconciled_payments', 'other_parties'] as const,
} as const

export type PartKind = keyof typeof MEMBERS
export const KINDS = Object.keys(MEMBERS) as PartKind[]

export type Cell<Kind extends PartKind> = Record<(typeof MEMBERS)[Kind][number], string | number>
export type ReportCells = { [Kind in PartKind]: Cell<Kind>[] }

/** The stored cells of a month: the chunks of each kind. */
export const writeCells = (cells: ReportCells): [kind: PartKind, n: number, data: string][] =>
  KINDS.flatMap((kind) =>
    jsonChunks((cells[kind] as Record<string, unknown>[]).map((cell) => MEMBERS[kind].map((name) => cell[name]))).map(
      (data, n): [PartKind, number, string] => [kind, n, data],
    ),
  )

/** Reads a chunk. */
export const parseCells = <Kind extends PartKind>(kind: Kind, data: string): Cell<Kind>[] =>
  (JSON.parse(data) as unknown[][]).map((values) => Object.fromEntries(MEMBERS[kind].map((name, n) => [name, values[n]])) as Cell<Kind>)

/** Adds up numbers and micros under keys: `amounts` are micros, `counts` are numbers. */
class Grouping<Head extends object, Count extends string, Amount extends string> {
  readonly #rows = new Map<string, Head & Record<Count, number> & Record<Amount, bigint>>()
  readonly #counts: readonly Count[]
  readonly #amounts: readonly Amount[]

  constructor(counts: readonly Count[], amounts: readonly Amount[]) {
    this.#counts = counts
    this.#amounts = amounts
  }

  /** Returns the row of a key. A new row begins with this head, and zeros. */
  at(key: string, head: () => Head): Head & Record<Count, number> & Record<Amount, bigint> {
    const known = this.#rows.get(key)
    if (known) return known
    const zeros = [...this.#counts.map((name) => [name, 0]), ...this.#amounts.map((name) => [name, 0n])]
    const row = { ...head(), ...Object.fromEntries(zeros) } as Head & Record<Count, number> & Record<Amount, bigint>
    this.#rows.set(key, row)
    return row
  }

  /** The rows in the order of their keys. */
  rows(): (Head & Record<Count, number> & Record<Amount, bigint>)[] {
    return [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  }
}

/** The cells of rows: bigints are text. */
const cellsOf = <Cell extends object>(rows: readonly object[]): Cell[] =>
  rows.map(
    (row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value])) as Cell,
  )

/** The later of two names behind the positions of their documents. */
const newestOf = (a: string, b: string | null): string => (b !== null && b > a ? b : a)

/** Chunks that are in memory at once. */
const CHUNKS = 20

const RECEIPTS_AMOUNTS = ['percepciones', 'deducciones', 'otros_pagos', 'isr', 'wages'] as const

/** Adds up receipts: by receiver and month of payment, and for their own month. One call for each 20 chunks. */
async function readReceipts(
  ledger: ScopedLedger,
  receipts: readonly (readonly [Partition, readonly ReceiptRow[]])[],
): Promise<{ payroll: Cell<'payroll'>[]; wages: Cell<'sums'>[] }> {
  const groups = new Grouping<{ month: string; rfc: string }, 'receipts' | 'wage_count', (typeof RECEIPTS_AMOUNTS)[number]>(
    ['receipts', 'wage_count'],
    RECEIPTS_AMOUNTS,
  )
  let [n, net, isr] = [0, 0n, 0n]
  for (const [partition, rows] of receipts)
    for await (const { row, part } of readParts(ledger, partition, rows)) {
      const rate = rateOf(row.currency, row.tipo_cambio)
      if (rate === null) continue
      const pesos = (text: string | null): bigint => inMxn(micros(text) ?? 0n, rate)!
      const { nominas } = contentOf(part)
      const month = (nominas[0]?.fecha_pago ?? row.day).slice(0, 7)
      const into = groups.at(`${month}|${row.rfc}`, () => ({ month, rfc: row.rfc }))
      into.receipts++
      for (const one of nominas) {
        into.percepciones += pesos(one.total_percepciones)
        into.deducciones += pesos(one.total_deducciones)
        into.otros_pagos += pesos(one.total_otros_pagos)
        into.isr += pesos(one.isr_retenido)
        if (one.salario_diario_integrado === null) continue
        into.wages += micros(one.salario_diario_integrado)!
        into.wage_count++
      }
      n++
      net += pesos(row.subtotal)
      isr += inMxn(BigInt(row.isr ?? 0), rate)!
    }
  const sums = { net: `${net}`, isr_retenido: `${isr}`, goods: '0', iva: '0', iva_retenido: '0', total: '0' }
  const wages: Cell<'sums'>[] =
    n === 0
      ? []
      : [
          {
            ...{ direction: 0, rfc: '', tipo: 'N', cancelled: 0, reason: '', newest: '', first: '', last: '' },
            ...{ n, lag: 0, dated: 0, after: 0, without_amount: 0, ...sums },
          },
        ]
  return { payroll: cellsOf(groups.rows()), wages }
}

/** Yields receipts with their parts of their chunks. Some chunks are in memory at once. */
async function* readParts(ledger: ScopedLedger, partition: Partition, rows: readonly ReceiptRow[]) {
  const groups = [...Map.groupBy(rows, ({ chunk }) => chunk).values()]
  for (let at = 0; at < groups.length; at += CHUNKS) {
    const page = groups.slice(at, at + CHUNKS)
    const statement = chunksStatement(partition, chunksOf(page.map(([row]) => row!)))
    const rows = await readRows<{ chunk: number; data: string }>(ledger.d1, statement)
    const data = new Map(rows.map((row) => [row.chunk, row.data]))
    for (const group of page) {
      const parts = partsOf(chunksOf(group.slice(0, 1)).map((chunk) => data.get(chunk)!))
      for (const row of group) yield { row, part: parts[row.chunk_at] }
    }
  }
}

/** The input of reading a month. */
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

function marksOf(rules: Rules, month: string): Marks {
  const days = { first: `${month}-01`, last: lastDayOf(month) }
  return { rules, days, exclusions: exclusionsOf(rules, days), suppliers: UNKNOWN_SUPPLIERS, uses: NO_USES }
}

/** Reads the cash events of received documents of a month alone, as the report has them. One call, and one for rates if any are lacking. */
export async function readCash(reading: MonthReading, month: string): Promise<Cell<'cash'>[]> {
  const { ledger, rules, system } = reading
  const marks = marksOf(rules, month)
  const statements = partitionsToRead(ledger).flatMap((partition) => cashStatement(partition, marks) ?? [])
  const read = [{ documents: [], invoices: [], cash: await readAll<CashRow>(ledger.d1, statements) }]
  const rate = await ratesFor(system, read)
  return cashCells(read, reading, month, marks.exclusions, rate, { dof_rate: 0, unreconciled_payments: 0, other_parties: 0 })
}

/** Reads the documents of a month once, and returns what they add to the reports. One call, and one for rates and for receipts if there are any. */
export async function readMonth(reading: MonthReading, month: string): Promise<ReportCells> {
  const { ledger, today } = reading
  const marks = marksOf(reading.rules, month)
  const { days } = marks
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
    ask<CashRow>(cashStatement(partition, marks), (rows) => into.cash.push(...rows))
    ask<{ reason: string; n: number }>(reasonsStatement(partition, days), (rows) => into.reasons.push(...rows))
    ask<ReceiptRow>(receiptsStatement(partition, days), (rows) => into.receipts.push(...rows))
    return into
  })
  if (statements.length > 0) {
    const results = await commit(ledger.d1, statements)
    for (const take of later) take(results)
  }
  const rate = await ratesFor(reading.system, read)
  const cells = Object.fromEntries(KINDS.map((kind) => [kind, []])) as unknown as ReportCells
  const quality = { dof_rate: 0, unreconciled_payments: 0, other_parties: 0 }
  const documents = groupedDocuments(read, rate, quality)
  cells.documents = cellsOf(documents)
  cells.sums = cellsOf(withoutCounterparties(documents))
  cells.cash = cashCells(read, reading, month, marks.exclusions, rate, quality)
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

/** The rates of the table for documents that do not state theirs. At most one call. */
async function ratesFor(system: System, read: readonly Pick<Read, 'cash' | 'documents' | 'invoices'>[]): Promise<RateOfDay> {
  const exactRows = read.flatMap(({ cash }) => cash.flatMap(({ exactRow }) => (exactRow === null ? [] : [parseExactRow(exactRow)])))
  const exact = [...read.flatMap(({ documents }) => documents.flatMap(([, rows]) => rows)), ...exactRows].filter(
    ({ source }) => source !== null,
  )
  const wanted = [
    ...exactRows.flatMap(rateOfLimit),
    ...exact.flatMap(({ source, day }) => {
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
  const exact = exactAmounts({ tipo: row.tipo, day: row.day, source: row.source }, rate)
  if (typeof exact === 'string') return null
  if (exact.dof && row.cancelled === 0) quality.dof_rate++
  const { net, iva_16, iva_8, iva_otras, iva_retenido, isr_retenido, paid } = exact
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

/** The border regions of the DIOT. */
export const REGIONS = ['norte', 'sur'] as const

function cashCells(
  read: readonly Pick<Read, 'cash'>[],
  { rules }: MonthReading,
  month: string,
  exclusions: Exclusions,
  rate: RateOfDay,
  quality: Quality,
): Cell<'cash'>[] {
  const dated = rules.in('month', `${month}-01`)
  const regions = dated.get('vat.border_regions')
  const groups = new Grouping<{ rfc: string; operacion: string; region: string; newest: string }, never, (typeof CASH_FIGURES)[number]>(
    [],
    CASH_FIGURES,
  )
  for (const row of read.flatMap(({ cash }) => cash)) {
    if (row.reason !== null) {
      countReason(quality, row.reason, row.n)
      continue
    }
    const event = row.exactRow === null ? null : parseExactRow(row.exactRow)
    const exact = event && outcomeIn(event, (one) => exactAmounts(one, rate))
    if (typeof exact === 'string') {
      if (row.tipo === 'P') countReason(quality, exact, 1)
      continue
    }
    if (exact?.dof && row.tipo === 'P') quality.dof_rate++
    const { rfc } = row
    const operacion = operationOf(dated, row)
    const region = REGIONS.find((name) => regions[name].includes(row.place ?? '')) ?? ''
    const into = groups.at(`${rfc}|${operacion}|${region}`, () => ({ rfc, operacion, region, newest: '' }))
    into.newest = newestOf(into.newest, row.newest)
    const amountOf = (name: (typeof PAID_FIGURES)[number]) => (exact === null ? parseSum(row[name]) : exact[name])
    const returned: readonly string[] = row.is_returned === 1 ? RETURNED_FIGURES : []
    for (const name of PAID_FIGURES) if (!returned.includes(name)) into[name] += amountOf(name)
    if (row.is_returned === 1) for (const name of RETURNED_FIGURES) into[`devuelto_${name}`] -= amountOf(name)
    const excluded = event && exact ? excludedPart(event, exact.paid, exclusions, rate).part : null
    for (const name of IVA_FIGURES)
      into[`no_acreditable_${name}`] += excluded === null ? parseSum(row[`excluded_${name}`]) : shareOf(amountOf(name), ...excluded)
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
        // An invoice dated after today is owed from its day on.
        const key = day > today ? `${due}|${day}` : due
        if (left >= LEAST_OPEN) into.due.set(key, (into.due.get(key) ?? 0n) + inMxn(left, mxn)!)
      }
  const openOf = ([key, amount]: [string, bigint]): string[] => {
    const [due = '', from = ''] = key.split('|')
    return from === '' ? [due, `${amount}`] : [due, `${amount}`, from]
  }
  return cellsOf(groups.rows().map(({ due, ...row }) => ({ ...row, open: JSON.stringify([...due].map(openOf)) })))
}
