import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { cashEvents } from '../../../src/cfdi/cash/events.ts'
import { type ExactEvent, exactAmounts } from '../../../src/cfdi/cash/exact-amounts.ts'
import { type IngestTarget, ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import { prepared } from '../../../src/platform/db/statement.ts'
import { openLedger, partitionsToRead } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import { contextOf, reaching } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'
import { all, newBook, reported } from '../support/book.ts'
import { CUSTOMERS, type Plain, packageOf, plainOf, RFC } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'

/**
 * Random histories of sales at 16 %, told twice: as documents, and as what a cashier saw. LIVA 1-B: IVA is due on what is really collected.
 * LIVA 7: on what is returned it is due no more. What a credit note takes off before it is paid was never collected.
 */
interface History {
  documents: Plain[]
  cancelled: Plain[]
  /** The invoices of the sale, and what the till kept of it, in cents. */
  invoices: string[]
  kept: number
}

const text = (cents: number): string => (cents / 100).toFixed(2)
/** An amount in cents as a document states it: a base, IVA of 16 % and their sum. Cents are multiples of 116. */
const amountsOf = (cents: number) => ({ subtotal: text((cents / 116) * 100), iva: text((cents / 116) * 16), total: text(cents) })

function historyOf(random: () => number): History {
  const int = (from: number, to: number) => from + Math.floor(random() * (to - from + 1))
  const chance = (of: number) => random() < of
  const pick = <T>(list: readonly T[]): T => list[int(0, list.length - 1)]!
  const receptor = pick(CUSTOMERS)
  let minute = int(0, 60 * 24 * 20)
  const next = (): string => {
    minute += int(1, 60 * 24 * 12)
    return new Date(Date.UTC(2025, 0, 1, 0, minute)).toISOString().slice(0, 19)
  }
  const documents: Plain[] = []
  const cancelled: Plain[] = []
  const make = (cents: number, more: Partial<Plain>): Plain => {
    const one = plainOf(random, '2025-01', { lines: 1, receptor, ...amountsOf(cents), ...more })
    documents.push(one)
    return one
  }
  // An advance is collected at once. Later it pays for a part of the invoice: its note takes it off.
  const advance = chance(0.3) ? 116 * int(10, 300) : 0
  const paidAhead = advance > 0 ? make(advance, { fecha: next() }) : null
  const whole = advance + 116 * int(10, 900)
  const isAtOnce = chance(0.35)
  const relacion = paidAhead && { tipo: '07', uuids: [paidAhead.uuid] }
  const first = make(whole, { metodo: isAtOnce ? 'PUE' : 'PPD', fecha: next(), relacion })
  let invoice = first
  if (chance(0.2)) {
    // The invoice was wrong. Its substitute says the same; the old one is cancelled, or still valid.
    invoice = make(whole, { metodo: first.metodo, fecha: next(), relacion, sustituye: [first.uuid] })
    if (chance(0.5)) cancelled.push(first)
  }
  let [debt, till] = isAtOnce ? [0, whole] : [whole, 0]
  let moves: { at: string; run: () => void }[] = []
  const takeOff = (cents: number) => {
    const forgiven = Math.min(cents, debt)
    debt -= forgiven
    till -= Math.min(cents - forgiven, till)
  }
  if (paidAhead !== null) {
    const names = chance(0.5) ? invoice : paidAhead
    const note = make(advance, { tipo: 'E', fecha: next(), relacion: { tipo: '07', uuids: [names.uuid] } })
    moves.push({ at: note.fecha, run: () => takeOff(advance) })
  }
  const pay = (cents: number, at: string, stamped: string, more: Partial<Plain> = {}) =>
    make(0, {
      ...{ tipo: 'P', metodo: null, moneda: 'XXX', subtotal: '0', iva: '0', total: '0', fecha: stamped },
      pagos: [{ fecha: at, documentos: [{ uuid: invoice.uuid, pagado: text(cents), moneda: 'MXN' }] }],
      ...more,
    })
  let planned = whole - advance
  for (let n = int(0, 5); n > 0; n--) {
    const at = next()
    if (!isAtOnce && chance(0.6) && planned >= 116) {
      const cents = chance(0.3) ? planned - (planned % 116) : 116 * int(1, Math.floor(planned / 116))
      planned -= cents
      // It is stamped days later, so that a note may come in between.
      const stamped = new Date(Date.parse(`${at}Z`) + int(0, 20) * 86_400_000).toISOString().slice(0, 19)
      const complement = pay(cents, at, stamped)
      const fate = random()
      if (fate < 0.15) {
        // The bank returned it: the complement is cancelled, and nothing was collected.
        cancelled.push(complement)
        planned += cents
        continue
      }
      if (fate < 0.3)
        pay(cents, at, new Date(Date.parse(`${stamped}Z`) + 3_600_000).toISOString().slice(0, 19), { sustituye: [complement.uuid] })
      moves.push({
        at,
        run: () => {
          till += cents
          debt = Math.max(0, debt - cents)
        },
      })
    } else {
      const cents = 116 * int(1, Math.max(1, Math.floor(whole / 232)))
      const note = make(cents, { tipo: 'E', fecha: at, relacion: { tipo: pick(['01', '03']), uuids: [invoice.uuid] } })
      if (chance(0.15)) cancelled.push(note)
      else moves.push({ at, run: () => takeOff(cents) })
    }
  }
  if (chance(0.1)) {
    // The sale is undone. Nothing of it counts any more, but for the advance.
    cancelled.push(invoice)
    if (invoice !== first && !cancelled.includes(first)) cancelled.push(first)
    moves = []
    till = 0
  }
  for (const { run } of moves.sort((a, b) => (a.at < b.at ? -1 : 1))) run()
  return { documents, cancelled, invoices: [first.uuid, invoice.uuid, ...(paidAhead ? [paidAhead.uuid] : [])], kept: till + advance }
}

/** The IVA that was collected by invoice and day, in millionths. */
async function collected({ entity }: IngestTarget): Promise<Map<string, [day: string, iva: bigint][]>> {
  const ledger = openLedger(contextOf({ entity, rfc: RFC, ...reaching(null) }, { extractor_count: 0 }))
  const [partition] = partitionsToRead(ledger)
  const { results } = await prepared(env.LEDGER_0, cashEvents(partition!, 0, { first: '2024-01-01', last: '2027-12-31' })!).all<
    Record<string, string | number | null> & ExactEvent
  >()
  const sums = new Map<string, [string, bigint][]>()
  for (const row of results) {
    if (row['reason'] !== null) continue
    const exact = row['needs_exact'] === 1 ? exactAmounts(row, () => null) : { iva_16: BigInt(row['iva_16']!) }
    if (typeof exact === 'string') throw new Error(exact)
    const invoice = row['invoice'] as string
    sums.set(invoice, [...(sums.get(invoice) ?? []), [row.day, exact.iva_16]])
  }
  return sums
}

/** Brings a book documents and cancellations in any order, some at a time. */
async function bring(random: () => number, target: IngestTarget, histories: readonly History[]): Promise<void> {
  const documents = histories.flatMap((one) => one.documents).sort(() => random() - 0.5)
  const cancelled = histories.flatMap((one) => one.cancelled).sort(() => random() - 0.5)
  const cancel = (list: readonly Plain[]) => all(ingestMetadata(target, () => [list.map((one) => reported(one, true))]))
  const early = cancelled.splice(0, Math.floor(random() * cancelled.length))
  while (documents.length > 0 || early.length > 0) {
    const some = documents.splice(0, 1 + Math.floor(random() * 25))
    if (some.length > 0) await all(ingestZip(target, packageOf(some)))
    if (early.length > 0 && random() < 0.5) await cancel(early.splice(0, 1 + Math.floor(random() * 3)))
  }
  if (cancelled.length > 0) await cancel(cancelled)
}

describe('over random histories', () => {
  it.each(Array.from({ length: runs(6, 150) }, (_, n) => n + 1))(
    'the IVA collected of a sale is that of what was paid less what was returned, whatever comes first (%i)',
    async (seed) => {
      const random = randomOf(seed)
      const histories = Array.from({ length: 12 }, () => historyOf(random))
      const target = newBook()
      await bring(random, target, histories)
      const found = await collected(target)
      for (const { invoices, kept, documents } of histories) {
        const events = [...new Set(invoices)].flatMap((uuid) => found.get(uuid) ?? []).sort(([a], [b]) => (a < b ? -1 : 1))
        const sum = events.reduce((all, [, iva]) => all + iva, 0n)
        const due = (BigInt(kept) * 10_000n * 16n) / 116n
        // Each event is rounded to millionths.
        const difference = sum - due
        expect([documents, difference < 20n && difference > -20n, sum, due]).toEqual([documents, true, sum, due])
        const byDay = Map.groupBy(events, ([day]) => day)
        let running = 0n
        for (const day of byDay.values()) {
          running += day.reduce((all, [, iva]) => all + iva, 0n)
          expect(running > -20n).toBe(true)
        }
      }
      // Nothing is counted of any other document.
      const known = new Set(histories.flatMap(({ invoices }) => invoices))
      expect([...found.keys()].filter((uuid) => !known.has(uuid))).toEqual([])
    },
  )
})
