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
import { type Plain, packageOf, RFC } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'
import { advanceOf, bundleOf, type History, saleOf } from './support/histories.ts'

/** The IVA that was collected by invoice and day, in millionths; to a ceiling, for a reader whose runs reached no further. */
async function collected({ entity }: IngestTarget, ceiling?: number): Promise<Map<string, [day: string, iva: bigint][]>> {
  const range = ceiling === undefined ? null : (['2018-01-01', ceiling] as const)
  const ledger = openLedger(contextOf({ entity, rfc: RFC, ...reaching(range) }, { extractor_count: range === null ? 0 : 1 }))
  const [partition] = partitionsToRead(ledger)
  const { results } = await prepared(env.LEDGER_0, cashEvents(partition!, 0, { first: '2024-01-01', last: '2027-12-31' })!).all<
    Record<string, string | number | null> & ExactEvent
  >()
  const sums = new Map<string, [string, bigint][]>()
  for (const row of results) {
    if (row['reason'] !== null) continue
    const { iva_16, iva_8 } = row
    const exact = row['needs_exact'] === 1 ? exactAmounts(row, () => null) : { iva_16: BigInt(iva_16!), iva_8: BigInt(iva_8!) }
    if (typeof exact === 'string') throw new Error(exact)
    const invoice = row['invoice'] as string
    sums.set(invoice, [...(sums.get(invoice) ?? []), [row.day, exact.iva_16 + exact.iva_8]])
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

const storyOf = (random: () => number): History => {
  const kind = random()
  return (kind < 0.4 ? saleOf : kind < 0.7 ? advanceOf : bundleOf)(random)
}

describe('over random histories', () => {
  it.each(Array.from({ length: runs(6, 150) }, (_, n) => n + 1))(
    'the IVA collected of a sale is that of what was paid less what was returned, whatever comes first (%i)',
    async (seed) => {
      const random = randomOf(seed)
      const histories = Array.from({ length: 12 }, () => storyOf(random))
      const target = newBook()
      await bring(random, target, histories)
      const found = await collected(target)
      for (const { due, documents } of histories)
        for (const { invoices, iva } of due) {
          const events = invoices.flatMap((uuid) => found.get(uuid) ?? []).sort(([a], [b]) => (a < b ? -1 : 1))
          const sum = events.reduce((all, [, one]) => all + one, 0n)
          // Each event is rounded to millionths.
          const difference = sum - BigInt(Math.round(iva * 1_000_000))
          expect([documents, invoices, difference < 40n && difference > -40n, sum, iva]).toEqual([documents, invoices, true, sum, iva])
          let running = 0n
          for (const day of Map.groupBy(events, ([day]) => day).values()) {
            running += day.reduce((all, [, one]) => all + one, 0n)
            expect(running > -40n).toBe(true)
          }
        }
      // Nothing is counted of any other document.
      const known = new Set(histories.flatMap(({ due }) => due.flatMap(({ invoices }) => invoices)))
      expect([...found.keys()].filter((uuid) => !known.has(uuid))).toEqual([])
    },
  )

  it.each(Array.from({ length: runs(3, 60) }, (_, n) => n + 1))(
    'a reader sees them as if nothing had been issued after the ceiling (%i)',
    async (seed) => {
      const random = randomOf(1_000 + seed)
      const histories = Array.from({ length: 12 }, () => ({ ...storyOf(random), cancelled: [] }))
      const end = `2025-0${1 + Math.floor(random() * 4)}-${10 + Math.floor(random() * 18)}T12:00:00`
      const [whole, until] = [newBook(), newBook()]
      await bring(random, whole, histories)
      const some = histories.map((one) => ({ ...one, documents: one.documents.filter(({ fecha }) => fecha <= end) }))
      await bring(random, until, some)
      const sorted = (found: Awaited<ReturnType<typeof collected>>) =>
        [...found].map(([invoice, events]) => [invoice, events.map(([day, iva]) => `${day} ${iva}`).sort()]).sort()
      // The day ends at its literal time in UTC-6.
      const ceiling = Date.parse(`${end}-06:00`)
      expect(sorted(await collected(whole, ceiling))).toEqual(sorted(await collected(until, ceiling)))
    },
  )
})
