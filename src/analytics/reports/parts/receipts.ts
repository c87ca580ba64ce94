import { chunksOf, partsOf } from '../../../cfdi/chunks/chunks.ts'
import { contentOf } from '../../../cfdi/chunks/content.ts'
import { inMxn, rateOf } from '../../../cfdi/totals.ts'
import { prepared } from '../../../platform/db/statement.ts'
import { micros } from '../../../platform/money.ts'
import type { Partition, ScopedLedger } from '../../../taxpayers/visibility/scoped-ledger.ts'
import type { Cell } from './cells.ts'
import { cellsOf, Grouping } from './grouping.ts'
import { chunksStatement, type ReceiptRow } from './statements.ts'

/** Chunks that are in memory at once. */
const CHUNKS = 20

const AMOUNTS = ['percepciones', 'deducciones', 'otros_pagos', 'isr', 'wages'] as const

/** Adds receipts up: by the month of their payment and receiver, and as what they add to their own month. One call for each 20 chunks. */
export async function readReceipts(
  ledger: ScopedLedger,
  receipts: readonly (readonly [Partition, readonly ReceiptRow[]])[],
): Promise<{ payroll: Cell<'payroll'>[]; wages: Cell<'sums'>[] }> {
  const groups = new Grouping<{ month: string; rfc: string }, 'receipts' | 'wage_count', (typeof AMOUNTS)[number]>(
    ['receipts', 'wage_count'],
    AMOUNTS,
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
    const { results } = await prepared(ledger.d1, statement).all<{ chunk: number; data: string }>()
    const data = new Map(results.map((row) => [row.chunk, row.data]))
    for (const group of page) {
      const parts = partsOf(chunksOf(group.slice(0, 1)).map((chunk) => data.get(chunk)!))
      for (const row of group) yield { row, part: parts[row.chunk_at] }
    }
  }
}
