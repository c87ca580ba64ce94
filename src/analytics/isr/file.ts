import type { Ctx } from '../../platform/context.ts'
import { readAll } from '../../platform/db/statement.ts'
import { stepByStep } from '../../platform/work/pause.ts'
import { openLedger, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { IsrFigure, IsrFileQuery } from './contract.ts'
import { getIsrPayment, listIsrEntries } from './isr.ts'
import type { FigureDocuments } from './print.ts'
import { type IsrDocument, namedDocuments } from './store.ts'

/** The documents of a line that a file has. */
const MOST = 2_000

export const FILE_TYPES = { pdf: 'application/pdf', xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' } as const

/** Makes the file of a payment with the latest documents of each line. Throws Failure as `getIsrPayment` does. */
export async function getIsrFile(ctx: Ctx, { format, language, ...query }: IsrFileQuery) {
  const payment = await getIsrPayment(ctx, query)
  const { period, regimen } = payment
  const ledger = openLedger(ctx)
  const documents: FigureDocuments[] = []
  for (const figure of Object.keys(payment.drilldown) as IsrFigure[]) {
    const { data, has_more } = await listIsrEntries(ctx, { fiscal_entity_id: query.fiscal_entity_id, period, regimen, figure, limit: MOST })
    if (data.length === 0) continue
    const uuids = [...new Set(data.flatMap(({ uuid, applies_to }) => (applies_to ? [uuid, applies_to] : [uuid])))]
    const found = await readAll<IsrDocument>(
      ledger.d1,
      partitionsToRead(ledger).map((partition) => namedDocuments(partition, uuids)),
    )
    documents.push({ figure, entries: data, isCut: has_more, named: new Map(found.map((one) => [one.uuid, one])) })
  }
  // Rarely used, and large with its font.
  const { printing, tablesOf } = await import('./print.ts')
  const of = { payment, documents, most: MOST, rfc: ledger.rfc, now: ctx.now, isSandbox: ctx.settings.taxAuthority === 'sandbox' }
  const bytes = format === 'pdf' ? await stepByStep(printing(of, language)) : await tablesOf(of, language)
  return { bytes, type: FILE_TYPES[format], name: `ISR_${ledger.rfc.replace(/[^A-Z\d]/g, '_')}_${period.replace('-', '')}.${format}` }
}
